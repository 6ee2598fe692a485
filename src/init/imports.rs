//! From what a property file imports to the production files that it exercises.
//!
//! A package that is imported as a whole is looked into: where it takes the imported name from another
//! file, that file is the target. What stays a whole package is told, and guarded as one only when it is
//! not all production there is.

mod go;
mod node;
mod python;
mod rust;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::layout::Layout;
use super::properties::PropertyFile;
use super::tree::{Tree, inside, name, stem};
use crate::model::SourceFacts;
use crate::source::Language;

/// How far imports are followed through files that only pass names on.
const FURTHEST: usize = 4;
/// A package with no more files than this is listed file by file.
const FEW_FILES: usize = 3;

/// Reads a source file of the listing; `None` when it cannot be read whole.
pub trait Sources {
    fn facts(&self, path: &str) -> Option<SourceFacts>;
}

/// What a property file guards.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Targets {
    pub files: BTreeSet<String>,
    /// The only clue for some of them is that the names of test and file agree.
    pub by_name: bool,
    /// Why there are none.
    pub why_not: Option<String>,
}

/// What one import leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Hit {
    File(String),
    /// A package as a whole: its first file, and its directory.
    Package {
        first: String,
        dir: String,
    },
}

/// Resolves imports in one repository.
pub struct Resolver<'a> {
    tree: &'a Tree,
    layout: &'a Layout,
    /// Files of class production, sorted.
    production: &'a [&'a str],
    sources: &'a dyn Sources,
    seen: RefCell<BTreeMap<String, Option<Rc<SourceFacts>>>>,
}

impl<'a> Resolver<'a> {
    pub fn new(
        tree: &'a Tree,
        layout: &'a Layout,
        production: &'a [&'a str],
        sources: &'a dyn Sources,
    ) -> Self {
        Self {
            tree,
            layout,
            production,
            sources,
            seen: RefCell::default(),
        }
    }

    /// The production files that the properties of `file` are proposed to guard.
    pub fn targets(&self, file: &PropertyFile) -> Targets {
        if self.is_production(&file.path) {
            return Targets {
                files: BTreeSet::from([file.path.clone()]),
                ..Targets::default()
            };
        }
        let hits = match file.language {
            Language::Python => self.python(file),
            Language::Rust => self.rust(file),
            Language::Go => self.go(file),
            Language::JavaScript | Language::TypeScript | Language::Tsx => self.node(file),
        };
        self.settle(file, &hits)
    }

    fn settle(&self, file: &PropertyFile, hits: &BTreeSet<Hit>) -> Targets {
        let mut targets = Targets::default();
        let mut whole = Vec::new();
        for hit in hits {
            match hit {
                Hit::File(path) if self.is_production(path) => {
                    targets.files.insert(path.clone());
                }
                Hit::File(_) => {}
                Hit::Package { first, dir } => whole.push((first, dir)),
            }
        }
        let precise: Vec<String> = targets
            .files
            .iter()
            .filter(|path| !is_passage(path))
            .cloned()
            .collect();
        for (first, dir) in &whole {
            // A file that only passes names on is no reason to look no further.
            if !precise.iter().any(|path| inside(path, dir).is_some()) {
                self.package(file, first, dir, &mut targets);
            }
        }
        if targets.files.is_empty() {
            targets.why_not = Some(match whole.first() {
                Some((first, _)) => format!(
                    "it imports {first} as a whole, and that is all production code there is"
                ),
                None => "it imports no production file of this repository".to_owned(),
            });
        }
        targets
    }

    /// A package that is imported as a whole.
    fn package(&self, file: &PropertyFile, first: &str, dir: &str, targets: &mut Targets) {
        let below: Vec<&str> = self.production_below(dir).collect();
        let wanted = tested_name(&file.path);
        let named: Vec<&str> = below
            .iter()
            .filter(|path| stem(path) == wanted)
            .copied()
            .collect();
        if !named.is_empty() {
            targets.by_name = true;
            targets.files.extend(named.into_iter().map(str::to_owned));
        } else if below.len() < self.production.len() || below.len() <= FEW_FILES {
            targets.files.extend(below.into_iter().map(str::to_owned));
        }
        if self.is_production(first) && !targets.files.is_empty() {
            targets.files.insert(first.to_owned());
        }
    }

    fn is_production(&self, path: &str) -> bool {
        self.production.binary_search(&path).is_ok()
    }

    fn production_below<'s>(&'s self, dir: &'s str) -> impl Iterator<Item = &'s str> {
        let start = self.production.partition_point(|path| *path < dir);
        self.production[start..]
            .iter()
            .take_while(move |path| path.starts_with(dir))
            .filter(move |path| inside(path, dir).is_some())
            .copied()
    }

    /// What a file says; read once.
    fn facts(&self, path: &str) -> Option<Rc<SourceFacts>> {
        if let Some(known) = self.seen.borrow().get(path) {
            return known.clone();
        }
        let facts = self
            .sources
            .facts(path)
            .filter(|facts| facts.broken.is_none())
            .map(Rc::new);
        self.seen
            .borrow_mut()
            .insert(path.to_owned(), facts.clone());
        facts
    }
}

/// A file whose text mostly passes on what others define.
fn is_passage(path: &str) -> bool {
    matches!(
        name(path),
        "__init__.py" | "lib.rs" | "mod.rs" | "index.js" | "index.ts" | "index.tsx" | "index.mjs"
    )
}

/// `parse` for `test_parse.py`, `parse_test.go`, `parse.spec.ts`, `prop_parse.rs`.
fn tested_name(path: &str) -> &str {
    let name = name(path);
    let bare = name.split('.').next().unwrap_or(name);
    let starts = [
        "test_",
        "tests_",
        "prop_",
        "props_",
        "property_",
        "proptest_",
        "fuzz_",
    ];
    let ends = [
        "_test",
        "_tests",
        "_prop",
        "_props",
        "_properties",
        "_property",
        "_proptest",
    ];
    let bare = starts
        .iter()
        .find_map(|start| bare.strip_prefix(start))
        .unwrap_or(bare);
    ends.iter()
        .find_map(|end| bare.strip_suffix(end))
        .unwrap_or(bare)
}
