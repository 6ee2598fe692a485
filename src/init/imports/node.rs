//! JavaScript and TypeScript: relative paths, and the names of the repository's own packages.

use std::collections::BTreeSet;

use super::{FURTHEST, Hit, Resolver, is_passage};
use crate::init::layout::{NodePackage, script};
use crate::init::properties::PropertyFile;
use crate::init::tree::{inside, join, parent};

/// A file that passes on no more files than this stands for all of them.
const CLEAR_FILES: usize = 6;

impl Resolver<'_> {
    pub(super) fn node(&self, file: &PropertyFile) -> BTreeSet<Hit> {
        let mut hits = BTreeSet::new();
        for import in &file.imports {
            if let Some(path) = self.node_path(&file.path, &import.target) {
                self.node_file(path, &mut hits, FURTHEST);
            }
        }
        hits
    }

    /// A file, or what it takes from others when it only passes names on or helps tests.
    fn node_file(&self, path: String, hits: &mut BTreeSet<Hit>, left: usize) {
        let is_production = self.is_production(&path);
        if is_production && !is_passage(&path) {
            hits.insert(Hit::File(path));
            return;
        }
        let facts = self.facts(&path).filter(|_| left > 0);
        let mut inner = BTreeSet::new();
        for further in facts.iter().flat_map(|facts| &facts.imports) {
            let next = self.node_path(&path, &further.target);
            if let Some(next) = next.filter(|next| *next != path) {
                self.node_file(next, &mut inner, left - 1);
            }
        }
        // Which of many is meant, the import does not say.
        let is_clear = (1..=CLEAR_FILES).contains(&inner.len());
        if !is_production {
            hits.extend(inner);
        } else if is_clear {
            hits.extend(inner);
            hits.insert(Hit::File(path));
        } else {
            hits.insert(Hit::Package {
                dir: parent(&path).to_owned(),
                first: path,
            });
        }
    }

    fn node_path(&self, from: &str, target: &str) -> Option<String> {
        if target.starts_with('.') {
            return script(self.tree, &normalised(parent(from), target)?);
        }
        let is_named = |package: &&NodePackage| {
            target == package.name || inside(target, &package.name).is_some()
        };
        let package = self
            .layout
            .node
            .iter()
            .filter(is_named)
            .max_by_key(|package| package.name.len())?;
        match inside(target, &package.name) {
            None => package.entry.clone(),
            Some(rest) => ["", "src", "lib"]
                .iter()
                .find_map(|dir| script(self.tree, &join(&join(&package.dir, dir), rest))),
        }
    }
}

/// `target` from `dir`; `None` when it leaves the repository.
fn normalised(dir: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
