//! The texts of the contract files.

use super::map::Proposed;
use super::properties::Globs;
use crate::contract::document::{Kind, Node};
use crate::contract::json;

/// What the configuration says beyond the mode; empty lists leave their key out.
#[derive(Debug, Default)]
pub struct Settings {
    pub production: Vec<String>,
    pub globs: Globs,
    pub tests: Vec<String>,
    /// No fixtures can be pinned.
    pub lock_off: bool,
}

/// A freeze list without rows.
pub const NO_FREEZES: &str = "{\n  \"version\": 1,\n  \"entries\": []\n}\n";

/// `.github/frostline.yml`, with only the keys that are needed.
pub fn config(settings: &Settings) -> String {
    let mut text = String::from(
        "\
# Frostline: which live property guards each change? Read from the base branch, never from a patch.
version: 1

# Everything is judged and shown, nothing is blocked. Change it to enforce when the verdicts are right.
mode: observe

# Uncomment where agents push under people's accounts: else only those that are recognised are bound.
# apply_to: all
",
    );
    let lists = [
        (
            "production",
            "What properties have to guard. Replaces the built-in list.",
            &settings.production,
        ),
        (
            "properties",
            "Files that hold tests of invariants, beside tests/properties/**.",
            &settings.globs.properties,
        ),
        (
            "inline_properties",
            "Production files with such tests beside the code.",
            &settings.globs.inline,
        ),
        (
            "tests",
            "Directories of tests that are not known by their place or name.",
            &settings.tests,
        ),
    ];
    let lists: Vec<_> = lists
        .iter()
        .filter(|(_, _, globs)| !globs.is_empty())
        .collect();
    if !lists.is_empty() {
        text.push_str("\npaths:\n");
    }
    for (key, comment, globs) in lists {
        text.push_str(&format!("  # {comment}\n  {key}:\n"));
        for glob in *globs {
            text.push_str(&format!("    - {}\n", quoted(glob)));
        }
    }
    if settings.lock_off {
        text.push_str(
            "\n# No directory holds fixtures that could be pinned.\ncontract:\n  lock: off\n",
        );
    }
    text
}

/// A YAML string in double quotes; JSON's escapes are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A map of these rules.
pub fn map(rules: &[Proposed]) -> String {
    let style = Style::default();
    let rules: Vec<String> = rules.iter().map(|rule| style.rule(rule)).collect();
    let rules = match rules.is_empty() {
        true => "[]".to_owned(),
        false => format!("[\n    {}\n  ]", rules.join(",\n    ")),
    };
    format!("{{\n  \"version\": 1,\n  \"rules\": {rules}\n}}\n")
}

/// How rules of a map are laid out.
struct Style {
    newline: &'static str,
    /// Of the rule, and one step more inside it.
    indent: String,
    step: String,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            newline: "\n",
            indent: "    ".to_owned(),
            step: "  ".to_owned(),
        }
    }
}

impl Style {
    /// Without the indentation of its first line.
    fn rule(&self, rule: &Proposed) -> String {
        let key = format!("{}{}{}", self.newline, self.indent, self.step);
        let item = format!("{key}{}", self.step);
        let ids: Vec<String> = rule
            .live_properties
            .iter()
            .map(|id| format!("{item}{}", quoted(id.as_str())))
            .collect();
        format!(
            "{{{key}\"path_prefix\": {},{key}\"live_properties\": [{}{key}]{}{}}}",
            quoted(&rule.path_prefix),
            ids.join(","),
            self.newline,
            self.indent,
        )
    }
}

/// The map of `text` with rules appended, and everything else left as it is. `None` when `text` is no
/// map.
pub fn appended(text: &str, rules: &[Proposed]) -> Option<String> {
    let root = json::parse(text.as_bytes()).ok()?;
    let Kind::Object(members) = &root.kind else {
        return None;
    };
    let list = &members.iter().find(|member| member.key == "rules")?.value;
    let Kind::List(items) = &list.kind else {
        return None;
    };
    let end = closing_bracket(text, offset(text, list)?)?;
    let newline = match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    };
    let indent = items
        .last()
        .and_then(|item| indent_of(text, offset(text, item)?));
    let is_own_line = indent.is_some() || items.is_empty();
    let style = Style {
        newline,
        step: step_of(text, items).unwrap_or(Style::default().step),
        indent: indent.unwrap_or(Style::default().indent),
    };
    let head = text[..end].trim_end();
    let mut out = head.to_owned();
    for (position, rule) in rules.iter().enumerate() {
        if position > 0 || !items.is_empty() {
            out.push(',');
        }
        match is_own_line {
            true => out.push_str(&format!("{newline}{}", style.indent)),
            false => out.push(' '),
        }
        out.push_str(&style.rule(rule));
    }
    match items.is_empty() {
        true => out.push_str(&format!("{newline}{}{}", style.step, &text[end..])),
        false => out.push_str(&text[head.len()..]),
    }
    Some(out)
}

/// The byte offset of a value.
fn offset(text: &str, node: &Node<'_>) -> Option<usize> {
    let line = usize::try_from(node.place.line).ok()?;
    let column = usize::try_from(node.place.column).ok()?;
    let start = match line {
        1 => 0,
        _ => text.match_indices('\n').nth(line - 2)?.0 + 1,
    };
    let (at, _) = text[start..].char_indices().nth(column - 1)?;
    Some(start + at)
}

/// What stands before `at` in its line, when that is only white space.
fn indent_of(text: &str, at: usize) -> Option<String> {
    let start = text[..at].rfind('\n')? + 1;
    let indent = &text[start..at];
    indent.trim().is_empty().then(|| indent.to_owned())
}

/// By how much the keys of the last rule are indented beyond it.
fn step_of(text: &str, items: &[Node<'_>]) -> Option<String> {
    let last = items.last()?;
    let Kind::Object(members) = &last.kind else {
        return None;
    };
    let outer = indent_of(text, offset(text, last)?)?;
    let key = members.first()?;
    let place = Node {
        kind: Kind::Null,
        place: key.place,
    };
    let inner = indent_of(text, offset(text, &place)?)?;
    inner.strip_prefix(&outer).map(str::to_owned)
}

/// Where the list that opens at `open` closes.
fn closing_bracket(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::repo;
    use crate::contract::map as hunk_map;

    fn rule(prefix: &str) -> Proposed {
        Proposed {
            path_prefix: prefix.to_owned(),
            live_properties: vec!["tests/a\"b.py::test [x]".parse().expect("a node id")],
        }
    }

    #[test]
    fn a_map_is_read_back_and_rules_are_appended_to_any_layout() {
        let rules = [rule("src/a"), rule("src/b/")];
        let own = map(&rules[..1]);
        for text in [
            own.as_str(),
            "{\"version\": 1, \"rules\": []}",
            "{\"rules\": [ ], \"version\": 1}\n",
            "{\"version\": 1, \"rules\": [{\"path_prefix\": \"x]\", \"live_properties\": []}]}",
            "{\r\n \"version\": 1,\r\n \"rules\": [\r\n  {\r\n   \"path_prefix\": \"é\",\r\n   \"live_properties\": []\r\n  }\r\n ]\r\n}",
        ] {
            let old = hunk_map::parse("m", text.as_bytes()).expect("a map").rules;
            let new = appended(text, &rules).expect("an extended map");
            let read = hunk_map::parse("m", new.as_bytes()).expect(&new).rules;
            assert_eq!(read[..old.len()], old, "{new}");
            let added: Vec<_> = read[old.len()..]
                .iter()
                .map(|rule| (rule.path_prefix.as_str(), rule.live_properties.as_slice()))
                .collect();
            let expected: Vec<_> = rules
                .iter()
                .map(|rule| (rule.path_prefix.as_str(), rule.live_properties.as_slice()))
                .collect();
            assert_eq!(added, expected, "{new}");
        }
    }

    #[test]
    fn the_configuration_is_read_back_whatever_is_in_a_path() {
        let settings = Settings {
            production: vec!["a: b #c/**".to_owned(), "!x".to_owned()],
            tests: vec!["\"quoted\" 'é'/**".to_owned()],
            lock_off: true,
            ..Settings::default()
        };
        let config = repo::parse("c", config(&settings).as_bytes()).expect("a configuration");
        assert_eq!(config.paths.production, settings.production);
        assert_eq!(config.paths.tests, settings.tests);
        assert!(config.is_off(crate::model::Layer::Lock));
        assert_eq!(config.mode, repo::Mode::Observe);
    }
}
