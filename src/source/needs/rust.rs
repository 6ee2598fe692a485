//! Rust: module files beside and below a file, the files that declare it, and the modules that its
//! paths lead to, under every directory that could be the root of its crate.

use super::{Found, ancestors, below, dir_of, joined};
use crate::model::SourceFacts;

/// Directories above a file in which its crate may start.
const HIGHEST: usize = 16;

pub(super) fn add(found: &mut Found<'_>, path: &str, facts: &SourceFacts) {
    let dir = dir_of(path);
    let stem = path[dir.len()..].trim_start_matches('/');
    let own = below(dir, stem.strip_suffix(".rs").unwrap_or(stem));
    let roots = declaring(found, path);
    for import in &facts.imports {
        if let Some(file) = import.target.strip_prefix('"') {
            for start in [dir, own.as_str()] {
                if let Some(path) = joined(start, file.trim_end_matches('"')) {
                    found.try_add(path);
                }
            }
            continue;
        }
        let (declared, target) = match import.target.strip_prefix("mod ") {
            Some(name) => (true, name),
            None => (false, import.target.as_str()),
        };
        let mut names: Vec<&str> = target.split("::").filter(|name| !name.is_empty()).collect();
        let starts: Vec<&str> = match names.first().copied() {
            Some("crate") => roots.iter().map(String::as_str).collect(),
            Some("super") => vec![dir, dir_of(dir), &own],
            // `use super::*` may bring a module that lies beside the parent.
            _ => vec![dir, &own, dir_of(dir)],
        };
        names.retain(|name| !matches!(*name, "crate" | "super" | "self"));
        let last: &[String] = if declared { &[] } else { &import.names };
        let names: Vec<&str> = names.into_iter().map(plain).collect();
        for start in starts {
            add_modules(found, start, &names, last);
        }
    }
}

/// Adds the files that may declare the one at `path` as a module; gives the directories in which its
/// crate may start.
fn declaring(found: &mut Found<'_>, path: &str) -> Vec<String> {
    let mut roots = Vec::new();
    for dir in ancestors(dir_of(path)).take(HIGHEST) {
        roots.push(dir.to_owned());
        found.try_add(below(dir, "mod.rs"));
        if !dir.is_empty() {
            found.try_add(format!("{dir}.rs"));
        }
        let main = found.try_add(below(dir, "main.rs"));
        let lib = found.try_add(below(dir, "lib.rs"));
        let name = dir.rsplit('/').next().unwrap_or(dir);
        // Each file of these directories is a crate of its own.
        let targets = matches!(name, "tests" | "benches" | "examples");
        if main || lib || targets || found.files.is_file(&below(dir, "Cargo.toml")) {
            break;
        }
    }
    roots
}

/// The files of each module on the way, and of the names at its end.
fn add_modules(found: &mut Found<'_>, start: &str, names: &[&str], last: &[String]) {
    let mut dir = start.to_owned();
    for name in names {
        dir = below(&dir, name);
        let file = found.try_add(format!("{dir}.rs"));
        let module = found.try_add(below(&dir, "mod.rs"));
        if !file && !module && !found.files.has_dir(&dir) {
            return;
        }
    }
    for name in last {
        let path = below(&dir, plain(name));
        found.try_add(format!("{path}.rs"));
        found.try_add(below(&path, "mod.rs"));
    }
}

/// A raw identifier's name.
fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}
