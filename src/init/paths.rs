//! Globs for production code and for tests, where the built-in ones do not cover what is there.

use std::collections::{BTreeMap, BTreeSet};

use super::layout::Layout;
use super::tree::{Tree, above, extension, inside, is_aside, join, name, parent};
use crate::config::repo::{Paths, RepoConfig};
use crate::contract::glob::GlobList;
use crate::gate::classes::{Classifier, PRODUCTION, is_code};
use crate::model::Class;

/// Prose is no production code; the built-in list says so by itself.
pub const NO_PROSE: &str = "!**/*.{md,rst,adoc}";

const TEST_DIRECTORIES: &[&str] = &["__tests__", "e2e", "spec", "specs", "test", "tests"];
/// Files at a Python project's root that are no part of it.
const PYTHON_TOOLS: &[&str] = &[
    "conftest.py",
    "fabfile.py",
    "manage.py",
    "noxfile.py",
    "setup.py",
    "tasks.py",
];

/// The globs of `paths.production`: empty when the built-in list is right, else the whole list that
/// replaces it.
pub fn production(tree: &Tree, layout: &Layout) -> Vec<String> {
    let classes = Classifier::new(&RepoConfig::default(), Vec::new(), None);
    let mut added = BTreeSet::new();
    let mut has_production = false;
    for path in tree.files().filter(|path| is_code(path)) {
        match classes.classify(path) {
            Class::Production => has_production = true,
            Class::Other if !is_aside(path) => added.extend(unit(tree, layout, path)),
            _ => {}
        }
    }
    if added.is_empty() && !has_production {
        added = any_code(tree, &classes);
    }
    if added.is_empty() {
        return Vec::new();
    }
    let mut globs: Vec<String> = PRODUCTION
        .iter()
        .filter(|glob| matches_any(tree, glob))
        .map(|glob| (*glob).to_owned())
        .collect();
    globs.extend(collapsed(added));
    globs.push(NO_PROSE.to_owned());
    globs
}

fn matches_any(tree: &Tree, glob: &str) -> bool {
    GlobList::new([glob]).is_ok_and(|list| tree.files().any(|path| list.is_match(path)))
}

/// The glob that makes a code file of no class production, when its project says that it is.
fn unit(tree: &Tree, layout: &Layout, path: &str) -> Option<String> {
    match extension(path) {
        "py" | "pyi" | "pyx" | "pxd" => python_unit(layout, path),
        "go" => layout
            .is_in_go_module(path)
            .then(|| first_directory(path, "*.go")),
        "rs" => rust_unit(layout, path),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
            script_unit(tree, layout, path)
        }
        _ => None,
    }
}

fn python_unit(layout: &Layout, path: &str) -> Option<String> {
    let package = above(path).find(|dir| layout.python_packages.contains(*dir));
    if let Some(package) = package {
        return Some(format!("{package}/**"));
    }
    if layout.python_modules.contains(path) {
        return Some(path.to_owned());
    }
    // A project of single modules.
    let is_module = parent(path).is_empty()
        && layout.python_packages.is_empty()
        && layout.python_modules.is_empty()
        && !PYTHON_TOOLS.contains(&path);
    is_module.then(|| path.to_owned())
}

fn rust_unit(layout: &Layout, path: &str) -> Option<String> {
    let found = layout.crate_of(path)?;
    let rest = inside(path, &found.dir)?;
    if rest.starts_with("src/") {
        return Some(join(&found.dir, "src/**"));
    }
    let root = found.root.as_deref()?;
    let dir = parent(root);
    if dir == found.dir {
        return (parent(path) == dir).then(|| join(dir, "*.rs"));
    }
    inside(path, dir).map(|_| format!("{dir}/**"))
}

fn script_unit(tree: &Tree, layout: &Layout, path: &str) -> Option<String> {
    let package = layout.node_package_of(path)?;
    let rest = inside(path, &package.dir)?;
    let sources = ["src", "lib", "app"];
    if let Some(dir) = sources.iter().find(|dir| inside(rest, dir).is_some()) {
        return Some(format!("{}/**", join(&package.dir, dir)));
    }
    if sources
        .iter()
        .any(|dir| tree.has_below(&join(&package.dir, dir)))
    {
        return package
            .entry
            .as_deref()
            .filter(|entry| *entry == path)
            .map(str::to_owned);
    }
    if rest.contains('/') {
        let dir = first_directory(rest, "");
        return Some(join(&package.dir, &dir));
    }
    let is_settings = rest.starts_with('.') || rest.contains(".config.") || rest.contains("file.");
    (!is_settings).then(|| path.to_owned())
}

/// `first/**`, or `otherwise` for a file at the root.
fn first_directory(path: &str, otherwise: &str) -> String {
    match path.split_once('/') {
        Some((first, _)) => format!("{first}/**"),
        None => otherwise.to_owned(),
    }
}

/// Where no project says what is production: the directories that hold code.
fn any_code(tree: &Tree, classes: &Classifier) -> BTreeSet<String> {
    tree.files()
        .filter(|path| is_code(path) && path.contains('/') && !is_aside(path))
        .filter(|path| classes.classify(path) == Class::Other)
        .map(|path| first_directory(path, ""))
        .collect()
}

/// `a/*/src/**` in place of three or more of its kind.
fn collapsed(globs: BTreeSet<String>) -> Vec<String> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for glob in globs {
        kinds.entry(starred(&glob)).or_default().push(glob);
    }
    let mut out: Vec<String> = kinds
        .into_iter()
        .flat_map(|(kind, globs)| match globs.len() {
            0..3 => globs,
            _ => vec![kind],
        })
        .collect();
    out.sort();
    out
}

/// The glob with its second component as a wildcard, when more follow.
fn starred(glob: &str) -> String {
    let parts: Vec<&str> = glob.split('/').collect();
    match parts.as_slice() {
        [first, _, rest @ ..] if rest.len() > 1 || (rest.len() == 1 && rest[0] == "**") => {
            if rest == ["**"] {
                return glob.to_owned();
            }
            format!("{first}/*/{}", rest.join("/"))
        }
        _ => glob.to_owned(),
    }
}

/// The globs of `paths.tests`: directories of tests that would be production, or of no class.
pub fn tests(tree: &Tree, production: &[String]) -> Vec<String> {
    let config = RepoConfig {
        paths: Paths {
            production: production.to_vec(),
            ..Paths::default()
        },
        ..RepoConfig::default()
    };
    let classes = Classifier::new(&config, Vec::new(), None);
    let mut found = BTreeSet::new();
    for path in tree.files().filter(|path| is_code(path)) {
        let class = classes.classify(path);
        if !matches!(class, Class::Other | Class::Production) {
            continue;
        }
        let Some(dir) = above(path).find(|dir| is_named_like_tests(name(dir))) else {
            continue;
        };
        // A package may be called `test` and be what users import.
        let holds_tests = || {
            tree.below(dir)
                .any(|file| classes.is_named_like_a_test(file))
        };
        if class == Class::Other || name(dir) == "tests" || holds_tests() {
            found.insert(format!("{dir}/**"));
        }
    }
    collapsed(found)
}

fn is_named_like_tests(name: &str) -> bool {
    TEST_DIRECTORIES.contains(&name) || name.ends_with("_tests") || name.ends_with("-tests")
}
