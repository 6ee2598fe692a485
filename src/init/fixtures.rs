//! Directories of fixtures that the lock can pin.

use std::collections::BTreeMap;

use super::tree::{Tree, above, name};
use crate::config::repo::RepoConfig;
use crate::contract::glob::GlobList;
use crate::contract::lock::{self, Guarded, Lock};
use crate::gate::classes::{
    GOLDEN, is_at_or_below, is_code, is_prose, production_globs, property_globs,
};
use crate::model::{FixtureEntry, Layer};

/// Where fixtures are when nothing says otherwise.
pub const DEFAULT_ROOT: &str = "tests/fixtures";

const TEST_DIRECTORIES: &[&str] = &["__tests__", "test", "tests"];
/// Directories of input data by their names.
const NAMES: &[&str] = &[
    "__fixtures__",
    "corpora",
    "corpus",
    "data",
    "fixture",
    "fixtures",
    "resources",
    "samples",
    "test_data",
];

/// Directories that are fixtures by their place and name, and those left out with the reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pub roots: Vec<String>,
    pub left_out: BTreeMap<String, String>,
}

/// Proposes roots below directories of tests; `config` has the globs of the other classes.
pub fn roots(tree: &Tree, config: &RepoConfig) -> Roots {
    let golden = GlobList::new(GOLDEN.iter().copied()).unwrap_or_default();
    let mut found = Roots::default();
    for path in tree.files() {
        let Some(dir) = fixture_directory(path) else {
            continue;
        };
        let known = |other: &String| is_at_or_below(dir, other);
        if found.roots.iter().any(known) || found.left_out.keys().any(known) {
            continue;
        }
        match why_not(tree, &golden, dir).or_else(|| overlap(config, dir)) {
            None => found.roots.push(dir.to_owned()),
            Some(why) => {
                found.left_out.insert(dir.to_owned(), why);
            }
        }
    }
    found
}

/// The outermost directory above `path` that is named like fixtures, below one of tests.
fn fixture_directory(path: &str) -> Option<&str> {
    let mut in_tests = false;
    above(path).find(|dir| {
        let is_fixture = in_tests && NAMES.contains(&name(dir));
        in_tests |= TEST_DIRECTORIES.contains(&name(dir));
        is_fixture
    })
}

fn why_not(tree: &Tree, golden: &GlobList, dir: &str) -> Option<String> {
    let files = || tree.below(dir);
    let code = files().filter(|path| is_code(path)).count();
    let data = files()
        .filter(|path| !is_code(path) && !is_prose(path))
        .count();
    let is_package = files().any(|path| path == format!("{dir}/__init__.py"));
    if data == 0 || (is_package && code > data) {
        return Some("it holds code; the lock pins data".to_owned());
    }
    let records = files().find(|path| golden.is_match(path));
    match records {
        Some(path) if name(dir) != "fixtures" => Some(format!(
            "it holds recorded outputs ({path}), which stay goldens"
        )),
        _ => None,
    }
}

/// Why the directory is not disjoint from contract, properties and production.
pub fn overlap(config: &RepoConfig, dir: &str) -> Option<String> {
    let lock = Lock {
        roots: vec![dir.to_owned()],
        root_places: vec![(1, 1)],
        ..Lock::default()
    };
    let contract: Vec<&str> = Layer::ALL
        .iter()
        .map(|layer| config.guarded_path(*layer))
        .collect();
    let guarded = Guarded {
        contract: &contract,
        properties: &property_globs(config),
        production: &production_globs(config),
    };
    let fault = lock::check_roots(&lock, guarded, "").err()?;
    Some(fault.message)
}

impl Roots {
    /// Takes out the roots with an entry that cannot be pinned.
    pub fn drop_opaque(&mut self, entries: &[FixtureEntry]) {
        for entry in entries {
            let Some(why) = &entry.opaque else { continue };
            let holds = |root: &String| is_at_or_below(&entry.path, root);
            if let Some(at) = self.roots.iter().position(holds) {
                let root = self.roots.remove(at);
                let why = format!("{} cannot be pinned: {why}", entry.path);
                self.left_out.insert(root, why);
            }
        }
    }

    /// The roots of a fresh lock; `None` when none can be had, not even an empty one.
    pub fn of_fresh_lock(&self, tree: &Tree, config: &RepoConfig) -> Option<Vec<String>> {
        if !self.roots.is_empty() {
            return Some(self.roots.clone());
        }
        let is_free = !tree.has_below(DEFAULT_ROOT) && overlap(config, DEFAULT_ROOT).is_none();
        is_free.then(|| vec![DEFAULT_ROOT.to_owned()])
    }
}
