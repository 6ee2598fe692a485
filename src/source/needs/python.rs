//! Python: modules looked for from the root, from the file's directory and each one above, and from a
//! `src` below those; nobody knows what `sys.path` will be.

use super::{Found, ancestors, below, dir_of};
use crate::model::SourceFacts;

pub(super) fn add(found: &mut Found<'_>, path: &str, facts: &SourceFacts) {
    let mut starts: Vec<String> = Vec::new();
    for dir in ancestors(dir_of(path)) {
        starts.push(dir.to_owned());
        starts.push(below(dir, "src"));
    }
    starts.retain(|dir| dir.is_empty() || found.files.has_dir(dir));
    for import in &facts.imports {
        let dots = import.target.chars().take_while(|c| *c == '.').count();
        let module: Vec<&str> = import.target[dots..]
            .split('.')
            .filter(|name| !name.is_empty())
            .collect();
        if dots > 0 {
            if let Some(dir) = ancestors(dir_of(path)).nth(dots - 1) {
                add_module(found, dir, &module, &import.names);
            }
        } else {
            for start in &starts {
                add_module(found, start, &module, &import.names);
            }
        }
    }
}

/// The module, the packages on the way to it, and the modules that its names could be.
fn add_module(found: &mut Found<'_>, start: &str, module: &[&str], names: &[String]) {
    let mut dir = start.to_owned();
    if module.is_empty() {
        add_package(found, &dir);
    }
    for name in module {
        dir = below(&dir, name);
        let is_module = add_one(found, &dir);
        if !is_module && !found.files.has_dir(&dir) {
            return;
        }
    }
    for name in names {
        add_one(found, &below(&dir, name));
    }
}

/// `path` as a module or as a package.
fn add_one(found: &mut Found<'_>, path: &str) -> bool {
    let module = found.try_add(format!("{path}.py"));
    let stub = found.try_add(format!("{path}.pyi"));
    let package = add_package(found, path);
    module || stub || package
}

fn add_package(found: &mut Found<'_>, dir: &str) -> bool {
    let package = found.try_add(below(dir, "__init__.py"));
    found.try_add(below(dir, "__init__.pyi")) || package
}
