//! JavaScript and TypeScript: relative paths, and the names of the repository's own packages.

use std::collections::BTreeSet;

use super::{FURTHEST, Hit, Resolver, is_passage};
use crate::init::layout::{NodePackage, script};
use crate::init::properties::PropertyFile;
use crate::init::tree::{inside, join, parent};
use crate::model::Import;

impl Resolver<'_> {
    pub(super) fn node(&self, file: &PropertyFile) -> BTreeSet<Hit> {
        let mut hits = BTreeSet::new();
        for import in &file.imports {
            if let Some(path) = self.node_path(&file.path, &import.target) {
                self.node_file(path, import, &mut hits, FURTHEST);
            }
        }
        hits
    }

    /// A file, or what it takes from others when it only passes names on or helps tests.
    fn node_file(&self, path: String, import: &Import, hits: &mut BTreeSet<Hit>, left: usize) {
        let is_production = self.is_production(&path);
        if is_production && !is_passage(&path) {
            hits.insert(Hit::File(path));
            return;
        }
        let facts = self.facts(&path);
        let imports = facts.iter().flat_map(|facts| &facts.imports);
        let wanted = |inner: &&Import| {
            !is_production
                || inner.names.is_empty()
                || inner.names.iter().any(|name| import.names.contains(name))
        };
        let mut found = false;
        if left > 0 {
            for inner in imports.filter(wanted) {
                if let Some(next) = self
                    .node_path(&path, &inner.target)
                    .filter(|next| *next != path)
                {
                    found = true;
                    self.node_file(next, inner, hits, left - 1);
                }
            }
        }
        if is_production {
            match found {
                true => hits.insert(Hit::File(path)),
                false => hits.insert(Hit::Package {
                    dir: parent(&path).to_owned(),
                    first: path,
                }),
            };
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
