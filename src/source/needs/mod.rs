//! From what a file imports to the files of the tree that it may need (protocol section 1, "witness").
//!
//! Over-approximate when in doubt: a file too many makes a test local, one too few could pass a patch
//! that changes what a test asserts.

mod go;
mod javascript;
mod python;
mod rust;

use std::collections::BTreeSet;

use super::Language;
use crate::model::SourceFacts;

/// The tree as import resolution sees it; paths are canonical, from the repository's root.
pub trait Files {
    fn is_file(&self, path: &str) -> bool;
    /// The regular files directly in `dir` (empty for the root), as full paths.
    fn files_in(&self, dir: &str) -> Vec<String>;
    fn has_dir(&self, dir: &str) -> bool;
}

/// Files of the tree that the file at `path` may need, by its imports; sorted, without `path` itself.
pub fn needs(
    language: Language,
    path: &str,
    facts: &SourceFacts,
    files: &dyn Files,
) -> Vec<String> {
    let mut found = Found {
        files,
        paths: BTreeSet::new(),
    };
    match language {
        Language::Python => python::add(&mut found, path, facts),
        Language::Rust => rust::add(&mut found, path, facts),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            javascript::add(&mut found, path, facts);
        }
        Language::Go => go::add(&mut found, path, facts),
    }
    found.paths.remove(path);
    found.paths.into_iter().collect()
}

/// The files found so far.
struct Found<'f> {
    files: &'f dyn Files,
    paths: BTreeSet<String>,
}

impl Found<'_> {
    /// Adds `path` when the tree has it as a file; says whether it has.
    fn try_add(&mut self, path: String) -> bool {
        let is_file = self.files.is_file(&path);
        if is_file {
            self.paths.insert(path);
        }
        is_file
    }
}

/// The directory of `path`; empty for the root.
fn dir_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// `name` below `dir`.
fn below(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

/// `dir` and every directory above it, the root included; nearest first.
fn ancestors(dir: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(dir), |dir| (!dir.is_empty()).then(|| dir_of(dir)))
}

/// `relative` as seen from `dir`, with `.` and `..` taken out; `None` when it leads out of the tree.
fn joined(dir: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
