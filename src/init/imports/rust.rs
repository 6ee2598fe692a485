//! Rust: paths through crates and modules.

use std::collections::BTreeSet;

use super::{FURTHEST, Hit, Resolver};
use crate::init::layout::Crate;
use crate::init::properties::PropertyFile;
use crate::init::tree::{inside, join, parent};
use crate::model::Import;

impl Resolver<'_> {
    pub(super) fn rust(&self, file: &PropertyFile) -> BTreeSet<Hit> {
        let mut hits = BTreeSet::new();
        let own = self.layout.crate_of(&file.path);
        let in_sources = own.is_some_and(|own| {
            inside(&file.path, &source_dir(own)).is_some()
                && own.root.as_deref() != Some(&file.path)
        });
        if in_sources && let Some(module) = self.rust_parent(&file.path) {
            hits.insert(Hit::File(module));
        }
        for import in &file.imports {
            self.rust_import(&file.path, import, &mut hits, FURTHEST);
        }
        hits
    }

    /// `src/lex.rs` or `src/lex/mod.rs` for `src/lex/tests.rs`.
    fn rust_parent(&self, path: &str) -> Option<String> {
        let dir = parent(path);
        let beside = format!("{dir}.rs");
        let candidates = [
            beside,
            join(dir, "mod.rs"),
            join(dir, "lib.rs"),
            join(dir, "main.rs"),
        ];
        candidates.into_iter().find(|path| self.tree.has(path))
    }

    fn rust_import(&self, from: &str, import: &Import, hits: &mut BTreeSet<Hit>, left: usize) {
        for path in paths_of(import) {
            let mut parts = path.as_slice();
            if let [first, rest @ ..] = parts
                && (first == "crate" || first == "self" || first == "super")
            {
                if first == "crate"
                    && let Some(own) = self.layout.crate_of(from)
                {
                    self.rust_path(own, rest, hits, left);
                }
                continue;
            }
            let Some(first) = parts.first() else { continue };
            if let Some(support) = first.strip_prefix("mod ") {
                self.rust_support(from, support, hits, left);
                continue;
            }
            // A test of the crate may be named like it; the library is meant.
            let Some(found) = self.layout.crates.iter().find(|krate| krate.name == *first) else {
                continue;
            };
            parts = &parts[1..];
            self.rust_path(found, parts, hits, left);
        }
    }

    /// A module file of tests: what it imports is what they need.
    fn rust_support(&self, from: &str, module: &str, hits: &mut BTreeSet<Hit>, left: usize) {
        let dir = parent(from);
        let module = module.replace("::", "/");
        let candidates = [format!("{module}.rs"), format!("{module}/mod.rs")];
        let found = candidates
            .iter()
            .map(|path| join(dir, path))
            .find(|path| self.tree.has(path) && !self.is_production(path));
        let Some(path) = found.filter(|_| left > 0) else {
            return;
        };
        let facts = self.facts(&path);
        for import in facts.iter().flat_map(|facts| &facts.imports) {
            self.rust_import(&path, import, hits, left - 1);
        }
    }

    /// The file of the innermost module that `parts` lead to, or of what the crate's root re-exports.
    fn rust_path(&self, krate: &Crate, parts: &[String], hits: &mut BTreeSet<Hit>, left: usize) {
        let Some(root) = &krate.root else { return };
        let sources = source_dir(krate);
        let mut dir = sources.clone();
        let mut file = root.clone();
        for part in parts {
            let below = join(&dir, part);
            let candidates = [format!("{below}.rs"), join(&below, "mod.rs")];
            let Some(next) = candidates.into_iter().find(|path| self.tree.has(path)) else {
                break;
            };
            (file, dir) = (next, below);
        }
        if file != *root {
            hits.insert(Hit::File(file));
            return;
        }
        let name = parts.first();
        let facts = self.facts(root).filter(|_| left > 0);
        let mut found = false;
        if let (Some(facts), Some(name)) = (facts, name) {
            for import in &facts.imports {
                for path in paths_of(import)
                    .iter()
                    .filter(|path| path.last() == Some(name))
                {
                    let inner = match path.first().map(String::as_str) {
                        Some("crate" | "self") => &path[1..],
                        _ => path.as_slice(),
                    };
                    if inner.len() > 1 && self.has_module(&sources, &inner[0]) {
                        found = true;
                        self.rust_path(krate, inner, hits, left - 1);
                    }
                }
            }
        }
        match found {
            true => hits.insert(Hit::File(root.clone())),
            false => hits.insert(Hit::Package {
                first: root.clone(),
                dir: sources,
            }),
        };
    }

    fn has_module(&self, sources: &str, module: &str) -> bool {
        let base = join(sources, module);
        self.tree.has(&format!("{base}.rs")) || self.tree.has(&join(&base, "mod.rs"))
    }
}

fn source_dir(krate: &Crate) -> String {
    krate
        .root
        .as_deref()
        .map_or_else(|| join(&krate.dir, "src"), |root| parent(root).to_owned())
}

/// The paths that an import stands for, in components. A glob ends a path, and so does a name that
/// stands for what is before it.
fn paths_of(import: &Import) -> Vec<Vec<String>> {
    let target = import.target.as_str();
    if target.starts_with("mod ") {
        return vec![vec![target.to_owned()]];
    }
    let (base, group) = match target.split_once('{') {
        Some((base, group)) => (base, group.trim_end_matches('}')),
        None => (target, ""),
    };
    let base: Vec<String> = components(base);
    let names = import.names.iter().map(String::as_str);
    let ends: Vec<&str> = group.split(',').chain(names).collect();
    let paths: Vec<Vec<String>> = ends
        .iter()
        .map(|end| components(end))
        .filter(|end| !end.is_empty())
        .map(|end| [base.clone(), end].concat())
        .collect();
    match paths.is_empty() {
        true => vec![base],
        false => paths,
    }
}

fn components(path: &str) -> Vec<String> {
    path.split(" as ")
        .next()
        .unwrap_or_default()
        .split("::")
        .map(|part| part.trim().trim_start_matches("r#"))
        .filter(|part| !matches!(*part, "" | "*" | "self"))
        .map(str::to_owned)
        .collect()
}
