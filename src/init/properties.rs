//! Files that hold properties: tests with a generator of inputs, or marked as properties.

use std::collections::BTreeMap;

use super::tree::{Tree, above, extension, name, parent};
use crate::config::repo::RepoConfig;
use crate::contract::glob::GlobList;
use crate::gate::classes::{Classifier, is_at_or_below, property_globs};
use crate::model::{Class, Generator, Import, NodeId, SourceFacts};
use crate::source::{self, Language};

/// So many exact paths stand in the configuration before directories take their place.
const MOST_EXACT: usize = 400;

/// A file with at least one property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyFile {
    pub path: String,
    pub language: Language,
    /// In the order of the text.
    pub ids: Vec<NodeId>,
    pub generators: Vec<Generator>,
    /// Every test of the file is a property.
    pub is_pure: bool,
    pub imports: Vec<Import>,
    /// What the text takes from a module by its name: (`pkg`, `parse`) for `pkg.parse`.
    pub mentions: Vec<(String, String)>,
}

/// What became of looking at one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    Nothing,
    Found(PropertyFile),
    /// It may hold properties, and could not be read; why.
    Unread(String),
}

/// Files that can hold properties, with their language. Fixtures and what others wrote are left out.
pub fn candidates<'t>(tree: &'t Tree, classes: &Classifier) -> Vec<(&'t str, Language)> {
    tree.files()
        .filter_map(|path| Some((path, Language::of_path(path)?)))
        .filter(|(path, language)| *language == Language::Rust || is_test_file(path, *language))
        .filter(|(path, _)| {
            let foreign = ["node_modules", "vendor", "third_party", "target"];
            !parent(path).split('/').any(|part| foreign.contains(&part))
                && classes.classify(path) != Class::Fixture
        })
        .collect()
}

/// Whether the runner of the language collects the file.
fn is_test_file(path: &str, language: Language) -> bool {
    let in_tests = |names: &[&str]| above(path).any(|dir| names.contains(&name(dir)));
    match language {
        Language::Python => {
            let name = name(path);
            (name.starts_with("test_") || name.ends_with("_test.py"))
                || in_tests(&["properties", "tests", "test"])
        }
        Language::Go => path.ends_with("_test.go"),
        _ => {
            let name = name(path);
            name.contains(".test.")
                || name.contains(".spec.")
                || in_tests(&["__tests__", "properties", "tests", "test"])
        }
    }
}

/// Words without which a file holds no property; looked for before anything is parsed.
pub fn may_hold(language: Language, bytes: &[u8]) -> bool {
    let words: &[&str] = match language {
        Language::Python => &["hypothesis", "mark.property", "mark.properties"],
        Language::Rust => &["proptest", "quickcheck"],
        Language::Go => &["rapid", "testing.F", "testing/quick", "gopter"],
        _ => &["fast-check"],
    };
    let mut words = words.iter();
    words.any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some())
}

/// The properties of one file.
pub fn look(path: &str, language: Language, bytes: &[u8], facts: SourceFacts) -> Looked {
    if let Some(why) = source::conditional_by_name(path) {
        return Looked::Unread(why);
    }
    if let Some(line) = facts.broken {
        return Looked::Unread(format!("it has a syntax error in line {line}"));
    }
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let marks = Marks::of(language, &lines);
    let mut found = PropertyFile {
        path: path.to_owned(),
        language,
        ids: Vec::new(),
        generators: Vec::new(),
        is_pure: true,
        imports: Vec::new(),
        mentions: Vec::new(),
    };
    let marked: Vec<&[String]> = facts
        .items
        .iter()
        .filter(|item| marks.marks(item.line))
        .map(|item| item.names.as_slice())
        .collect();
    let tests = facts
        .items
        .iter()
        .filter(|item| source::is_test(language, item));
    for item in tests {
        let is_marked =
            marks.whole_file || marked.iter().any(|names| item.names.starts_with(names));
        if item.generator.is_none() && !is_marked {
            found.is_pure = false;
            continue;
        }
        if item.disabled.is_some() {
            continue;
        }
        let names: Vec<String> = item
            .names
            .iter()
            .map(|name| name.replace("::", "\\:\\:"))
            .collect();
        let Ok(id) = format!("{path}::{}", names.join("::")).parse::<NodeId>() else {
            continue;
        };
        if !found.ids.contains(&id) {
            found.ids.push(id);
        }
        found.generators.extend(item.generator);
    }
    if found.ids.is_empty() {
        return Looked::Nothing;
    }
    found.generators.sort_unstable();
    found.generators.dedup();
    found.mentions = mentions(language, &facts.imports, &text);
    found.imports = facts.imports;
    Looked::Found(found)
}

/// pytest's marker `property`.
struct Marks {
    whole_file: bool,
    /// 1-based lines of the decorators.
    lines: Vec<u32>,
    /// 1-based lines of decorators and what they belong to, by where they begin.
    ends: BTreeMap<u32, u32>,
}

impl Marks {
    fn of(language: Language, lines: &[&str]) -> Self {
        let mut marks = Self {
            whole_file: false,
            lines: Vec::new(),
            ends: BTreeMap::new(),
        };
        if language != Language::Python {
            return marks;
        }
        let mut start = None;
        for (number, line) in (1u32..).zip(lines) {
            let code = line.trim_start();
            let is_mark =
                code.contains("pytest.mark.property") || code.contains("pytest.mark.properties");
            if line.starts_with("pytestmark") && is_mark {
                marks.whole_file = true;
            }
            if code.starts_with('@') {
                start.get_or_insert(number);
                if is_mark {
                    marks.lines.push(number);
                }
            } else if ["def ", "class ", "async def "]
                .iter()
                .any(|word| code.starts_with(word))
                && let Some(first) = start.take()
            {
                marks.ends.insert(first, number);
            }
        }
        marks
    }

    /// Whether the item whose decorators begin in `line` is marked.
    fn marks(&self, line: u32) -> bool {
        let end = self.ends.get(&line).copied().unwrap_or(line);
        self.lines.iter().any(|mark| (line..end).contains(mark))
    }
}

/// `pkg.name` where `pkg` is imported as a whole.
fn mentions(language: Language, imports: &[Import], text: &str) -> Vec<(String, String)> {
    if language != Language::Python {
        return Vec::new();
    }
    let mut found = Vec::new();
    for import in imports.iter().filter(|import| import.names.is_empty()) {
        let dotted = format!("{}.", import.target);
        for (at, _) in text.match_indices(&dotted) {
            let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            if text[..at].ends_with(is_inside) {
                continue;
            }
            let attribute: String = text[at + dotted.len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            found.push((import.target.clone(), attribute));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What makes the files of properties class property.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Globs {
    pub properties: Vec<String>,
    pub inline: Vec<String>,
}

/// Globs for the property files that `config` does not make class property: exact paths, or a
/// directory when everything in it is a property file and no fixtures root is near.
pub fn globs(
    tree: &Tree,
    config: &RepoConfig,
    classes: &Classifier,
    found: &[PropertyFile],
    roots: &[String],
) -> Globs {
    let known = GlobList::new(property_globs(config)).unwrap_or_default();
    let mut globs = Globs::default();
    let mut exact: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in found {
        let path = file.path.as_str();
        if known.is_match(path) || classes.holds_inline_properties(path) {
            continue;
        }
        match classes.classify(path) {
            Class::Production => globs.inline.push(path.to_owned()),
            _ => exact.entry(parent(path)).or_default().push(path),
        }
    }
    let count: usize = exact.values().map(Vec::len).sum();
    for (dir, paths) in exact {
        let is_near_fixtures = || {
            let near = |root: &String| is_at_or_below(root, dir) || is_at_or_below(dir, root);
            roots.iter().any(near)
        };
        let holds_nothing_else = || {
            tree.below(dir)
                .filter(|path| !is_support(path))
                .all(|path| paths.contains(&path))
        };
        let is_whole = !dir.is_empty()
            && !is_near_fixtures()
            && (count > MOST_EXACT || (paths.len() > 2 && holds_nothing_else()));
        if is_whole {
            globs.properties.push(format!("{dir}/**"));
        } else {
            globs
                .properties
                .extend(paths.into_iter().map(str::to_owned));
        }
    }
    globs
}

/// Files without tests that stand beside properties.
fn is_support(path: &str) -> bool {
    ["__init__.py", "conftest.py", "mod.rs"].contains(&name(path))
        || matches!(extension(path), "md" | "rst" | "adoc")
}
