//! How each runner names a test in its own words.

use crate::model::NodeId;

/// What follows the path of a node id, without its parameter.
fn names(id: &NodeId) -> &str {
    let names = id.function().get(id.path().len()..).unwrap_or_default();
    names.trim_start_matches("::")
}

/// The path of a test's function: module names may stand before those of the id, which start in its file.
pub(super) fn selects_rust(id: &NodeId, word: &str) -> bool {
    let names = names(id);
    let is_function = |text: &str| {
        let before = text.strip_suffix(names);
        let is_path = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_:".contains(&b))
        };
        !names.is_empty()
            && before.is_some_and(|before| {
                before.is_empty() || (before.ends_with("::") && is_path(before))
            })
    };
    let inside = || {
        let (before, test) = word.strip_suffix(')')?.split_once("test(=")?;
        let binary = before.strip_suffix(" & ").map(|binary| {
            let name = binary
                .strip_prefix("binary_id(")
                .and_then(|name| name.strip_suffix(')'));
            name.is_some_and(|name| !name.contains(['(', ')', '&', '|', ' ']))
        });
        Some(is_function(test) && (before.is_empty() || binary == Some(true)))
    };
    is_function(word) || inside() == Some(true)
}

/// `^TestX$/^sub$`.
pub(super) fn selects_go(id: &NodeId, word: &str) -> bool {
    let names = names(id);
    let pattern: Vec<String> = names
        .split("::")
        .map(|name| format!("^{}$", literal(name)))
        .collect();
    !names.is_empty() && word == pattern.join("/")
}

/// The titles of a JavaScript test, the outermost suite's first; none where the id names a file.
pub fn titles(id: &NodeId) -> Vec<String> {
    // What is in brackets is part of a title.
    let names = id.as_str().get(id.path().len()..).unwrap_or_default();
    let names = names.replace(r"\:\:", "\u{0}");
    let titles = names.split("::").filter(|title| !title.is_empty());
    titles.map(|title| title.replace('\u{0}', "::")).collect()
}

/// What `@fast-check/vitest` and `@fast-check/jest` put behind a title.
const SEED: &str = r"( \(with seed=-?\d+\))?";

/// The regular expression by which vitest and jest select the test of these titles; `seeded` where a seed may
/// stand behind the last.
pub fn title_pattern(titles: &[String], seeded: bool) -> String {
    pattern(titles, " ", if seeded { SEED } else { "" })
}

fn pattern(titles: &[String], between: &str, behind: &str) -> String {
    let titles: Vec<String> = titles.iter().map(|title| literal(title)).collect();
    format!("^{}{behind}$", titles.join(between))
}

/// `^outer inner sum$`, or with ` > ` between the titles, or with a seed behind them.
pub(super) fn selects_titles(id: &NodeId, word: &str) -> bool {
    let titles = titles(id);
    !titles.is_empty()
        && [(" ", ""), (" > ", ""), (" ", SEED)]
            .iter()
            .any(|(between, behind)| word == pattern(&titles, between, behind))
}

/// `^sum$`: older versions of Node look at a test's own title alone, newer ones at all of them.
pub(super) fn selects_own_title(id: &NodeId, word: &str) -> bool {
    let titles = titles(id);
    let own = titles.last().map(std::slice::from_ref);
    own.is_some_and(|own| word == title_pattern(own, false)) || selects_titles(id, word)
}

/// A text as a regular expression that means it.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '_' | '-' | ' ') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
