//! From a node id to the item that it names (protocol section 1, "node id").

use std::collections::HashSet;

use super::Language;
use crate::model::{ItemSort, NodeId, SourceFacts, TestItem};

/// Where the facts hold what the names of a node id say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    Item(&'a TestItem),
    /// Only an item whose title is computed could be it.
    Computed,
    Nothing,
}

/// The item that `names` name: unescaped and without a parameter, as [`names_of`] gives them.
///
/// Of several the first that runs, else the last: in Python the last definition is the one that counts.
pub fn find<'a>(facts: &'a SourceFacts, names: &[&str]) -> Found<'a> {
    let mut found: Option<&TestItem> = None;
    let mut computed = false;
    for item in &facts.items {
        if item.sort == ItemSort::Computed {
            computed |= item.names.len() <= names.len()
                && item.names.iter().zip(names).all(|(own, name)| own == name);
        } else if item.names.len() == names.len()
            && item.names.iter().zip(names).all(|(own, name)| own == name)
        {
            if item.disabled.is_none() {
                return Found::Item(item);
            }
            found = Some(item);
        }
    }
    match found {
        Some(item) => Found::Item(item),
        None if computed => Found::Computed,
        None => Found::Nothing,
    }
}

/// All that a text holds, by name: for many look-ups in one file.
pub struct Held<'f> {
    items: HashSet<&'f [String]>,
    tests: HashSet<&'f [String]>,
    computed: HashSet<&'f [String]>,
    makes_more: bool,
}

/// Names that lie deeper, and bytes of a name in which a number is looked for: bounds on work.
const MOST_NAMES: usize = 64;
const LONGEST_NAME: usize = 256;

impl<'f> Held<'f> {
    /// What `facts`, of a text without syntax errors, say.
    pub fn new(facts: &'f SourceFacts) -> Self {
        let of = |wanted: &dyn Fn(ItemSort) -> bool| {
            let items = facts.items.iter().filter(|item| wanted(item.sort));
            items.map(|item| item.names.as_slice()).collect()
        };
        Self {
            items: of(&|sort| sort != ItemSort::Computed),
            tests: of(&|sort| sort == ItemSort::Test),
            computed: of(&|sort| sort == ItemSort::Computed),
            makes_more: facts.makes_more,
        }
    }

    /// Whether the text holds what `names`, as [`names_of`] gives them, name; `None` where it does not tell:
    /// a computed title, a test inside another one, one numbered after an item (`parameterized`, `ddt`), or
    /// any where the text does not say all that it makes.
    pub fn has(&self, names: &[String]) -> Option<bool> {
        if self.items.contains(names) {
            return Some(true);
        }
        if self.makes_more || names.len() > MOST_NAMES {
            return None;
        }
        let mut enclosing = (0..names.len()).map(|depth| &names[..depth]);
        let may_be = self.computed.contains(names)
            || enclosing.any(|outer| self.computed.contains(outer) || self.tests.contains(outer))
            || (0..names.len()).any(|depth| self.is_numbered(&names[..=depth]));
        (!may_be).then_some(false)
    }

    /// Whether the last of the names is an item's and a number, as `test_x_0_words` is.
    fn is_numbered(&self, names: &[String]) -> bool {
        let Some((last, outer)) = names.split_last() else {
            return false;
        };
        let digits = last.match_indices(|c: char| c.is_ascii_digit());
        let mut cuts = digits
            .map(|(at, _)| &last[..at])
            .filter(|cut| !cut.ends_with(|c: char| c.is_ascii_digit()))
            .take_while(|cut| cut.len() < LONGEST_NAME)
            .flat_map(|cut| [Some(cut), cut.strip_suffix('_')])
            .flatten();
        cuts.any(|cut| {
            let item: Vec<String> = outer.iter().cloned().chain([cut.to_owned()]).collect();
            self.items.contains(item.as_slice())
        })
    }
}

/// Splits what follows the path in a node id: `TestX::test_y[param]` is (`TestX`, `test_y`) and
/// `param`; `\:` in a title is `:`.
///
/// Parameters are pytest's. A title in JavaScript or a subtest's name in Go may end with a bracket, so
/// nothing is cut off there; in a subtest's name Go writes `_` for a space, and so does this.
pub fn names_of(id: &NodeId) -> (Vec<String>, Option<String>) {
    let language = Language::of_path(id.path());
    let brackets_are_names = !matches!(language, None | Some(Language::Python));
    let (whole, param) = if brackets_are_names {
        (id.as_str(), None)
    } else {
        (id.function(), id.param().map(str::to_owned))
    };
    let Some((_, names)) = whole.split_once("::") else {
        return (Vec::new(), param);
    };
    let names = names.split("::").map(|name| {
        let name = name.replace("\\:", ":");
        if language == Some(Language::Go) {
            name.replace(' ', "_")
        } else {
            name
        }
    });
    (names.collect(), param)
}

/// Is `item` a test in what the language's frameworks collect by default? In Python any function and
/// class is an item, because the names that pytest collects can be configured.
pub fn is_test(language: Language, item: &TestItem) -> bool {
    if item.sort != ItemSort::Test {
        return false;
    }
    language != Language::Python
        || item.generator.is_some()
        || item
            .names
            .last()
            .is_some_and(|name| name.strip_prefix("test").is_some() || name == "runTest")
}

/// Why the name of the file at `path` keeps it from being built everywhere: Go's `_linux_test.go`, or
/// a Go test in a file that is no `_test.go`. What a text says of itself does not depend on its path,
/// so this is asked apart.
pub fn conditional_by_name(path: &str) -> Option<String> {
    if Language::of_path(path) != Some(Language::Go) {
        return None;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let hidden = |part: &str| part.starts_with('_') || part.starts_with('.') || part == "testdata";
    if path.split('/').any(hidden) {
        return Some("in a file or directory that go leaves out by its name".to_owned());
    }
    let Some(stem) = name.strip_suffix("_test.go") else {
        return Some(
            "in a file that go does not take for a test: its name does not end with _test.go"
                .to_owned(),
        );
    };
    let (_, target) = stem.rsplit_once('_')?;
    let constrains = SYSTEMS.contains(&target) || MACHINES.contains(&target);
    constrains.then(|| format!("built only for {target}, by its file's name"))
}

/// Operating systems that a Go file's name can ask for.
const SYSTEMS: &[&str] = &[
    "aix",
    "android",
    "darwin",
    "dragonfly",
    "freebsd",
    "hurd",
    "illumos",
    "ios",
    "js",
    "linux",
    "nacl",
    "netbsd",
    "openbsd",
    "plan9",
    "solaris",
    "wasip1",
    "windows",
    "zos",
];

/// Architectures that a Go file's name can ask for.
const MACHINES: &[&str] = &[
    "386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64",
    "ppc64le", "riscv64", "s390x", "sparc64", "wasm",
];
