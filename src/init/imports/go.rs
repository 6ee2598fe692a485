//! Go: a test tests the package of its directory.

use std::collections::BTreeSet;

use super::{Hit, Resolver};
use crate::init::properties::PropertyFile;
use crate::init::tree::{inside, join, parent};

impl Resolver<'_> {
    pub(super) fn go(&self, file: &PropertyFile) -> BTreeSet<Hit> {
        let own = self.go_package(parent(&file.path));
        if !own.is_empty() {
            return own;
        }
        // A directory of tests alone: the packages that it imports.
        file.imports
            .iter()
            .filter_map(|import| self.go_directory(&import.target))
            .flat_map(|dir| self.go_package(&dir))
            .collect()
    }

    fn go_package(&self, dir: &str) -> BTreeSet<Hit> {
        let files = self.tree.below(dir);
        files
            .filter(|path| parent(path) == dir && path.ends_with(".go"))
            .filter(|path| self.is_production(path))
            .map(|path| Hit::File(path.to_owned()))
            .collect()
    }

    /// The directory of an import path of one of the repository's modules.
    fn go_directory(&self, target: &str) -> Option<String> {
        let mut modules = self.layout.go.iter();
        modules.find_map(|module| {
            let rest = if target == module.path {
                ""
            } else {
                inside(target, &module.path)?
            };
            Some(join(&module.dir, rest))
        })
    }
}
