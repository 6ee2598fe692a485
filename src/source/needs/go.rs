//! Go: the other test files of the package, and the directories that an import path could be.

use super::{Found, dir_of};
use crate::model::SourceFacts;

/// Names at the end of an import path that are looked for as a directory.
const LONGEST: usize = 16;

pub(super) fn add(found: &mut Found<'_>, path: &str, facts: &SourceFacts) {
    // One package: any of its test files may hold a helper, or a `TestMain`.
    for file in found.files.files_in(dir_of(path)) {
        if file.ends_with("_test.go") {
            found.try_add(file);
        }
    }
    for import in &facts.imports {
        let names: Vec<&str> = import.target.split('/').collect();
        let from = names.len().saturating_sub(LONGEST);
        let longest = (from..names.len())
            .map(|start| names[start..].join("/"))
            .find(|dir| is_package(found, dir));
        if let Some(dir) = longest {
            for file in found.files.files_in(&dir) {
                if file.ends_with(".go") {
                    found.try_add(file);
                }
            }
        }
    }
}

fn is_package(found: &Found<'_>, dir: &str) -> bool {
    let canonical = dir.split('/').all(|part| !matches!(part, "" | "." | ".."));
    canonical
        && found.files.has_dir(dir)
        && found
            .files
            .files_in(dir)
            .iter()
            .any(|file| file.ends_with(".go"))
}
