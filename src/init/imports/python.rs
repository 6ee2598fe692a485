//! Python: modules below the directories that packages are imported from.

use std::collections::BTreeSet;

use super::{FURTHEST, Hit, Resolver};
use crate::init::properties::PropertyFile;
use crate::init::tree::{join, name, parent};
use crate::model::Import;

impl Resolver<'_> {
    pub(super) fn python(&self, file: &PropertyFile) -> BTreeSet<Hit> {
        let mut hits = BTreeSet::new();
        for import in &file.imports {
            let mentioned: Vec<String> = file
                .mentions
                .iter()
                .filter(|(target, _)| *target == import.target)
                .map(|(_, attribute)| attribute.clone())
                .collect();
            let names = match import.names.is_empty() {
                true => &mentioned,
                false => &import.names,
            };
            for module in self.python_modules(&file.path, &import.target) {
                self.python_names(&module, names, &mut hits, FURTHEST);
            }
        }
        hits
    }

    /// What `names`, taken from `module`, lead to.
    fn python_names(
        &self,
        module: &Module,
        names: &[String],
        hits: &mut BTreeSet<Hit>,
        left: usize,
    ) {
        let (file, dir) = match module {
            Module::File(path) if self.is_production(path) => {
                hits.insert(Hit::File(path.clone()));
                return;
            }
            // What helps tests is followed.
            Module::File(path) => {
                self.python_follow(path, |_| true, hits, left);
                return;
            }
            Module::Package { file, dir } => (file, dir),
        };
        let mut unresolved = names.is_empty();
        for name in names {
            let submodule = self.python_at(&join(dir, name));
            let found = match (submodule, file) {
                (Some(inner), _) => {
                    self.python_names(&inner, &[], hits, left.saturating_sub(1));
                    true
                }
                (None, Some(file)) => {
                    let wanted = |import: &Import| import.names.contains(name);
                    self.python_follow(file, wanted, hits, left)
                }
                (None, None) => false,
            };
            unresolved |= !found;
        }
        let Some(file) = file else { return };
        if unresolved {
            hits.insert(Hit::Package {
                first: file.clone(),
                dir: dir.clone(),
            });
        } else {
            hits.insert(Hit::File(file.clone()));
        }
    }

    /// Follows those imports of `path` that are wanted; whether any led somewhere.
    fn python_follow(
        &self,
        path: &str,
        wanted: impl Fn(&Import) -> bool,
        hits: &mut BTreeSet<Hit>,
        left: usize,
    ) -> bool {
        let Some(facts) = self.facts(path).filter(|_| left > 0) else {
            return false;
        };
        let mut found = false;
        for import in facts.imports.iter().filter(|import| wanted(import)) {
            for module in self.python_modules(path, &import.target) {
                found = true;
                self.python_names(&module, &import.names, hits, left - 1);
            }
        }
        found
    }

    /// The modules that `target` can mean in the file at `from`.
    fn python_modules(&self, from: &str, target: &str) -> Vec<Module> {
        let bare = target.trim_start_matches('.');
        let below = bare.replace('.', "/");
        let dots = target.len() - bare.len();
        if dots == 0 {
            let roots = self.layout.python_roots.iter().map(String::as_str);
            // pytest puts the directory of a test file outside of packages on the path.
            let own = [parent(from)];
            let mut found: Vec<Module> = roots
                .chain(own)
                .filter_map(|root| self.python_at(&join(root, &below)))
                .collect();
            found.dedup();
            return found;
        }
        let mut dir = parent(from);
        for _ in 1..dots {
            dir = parent(dir);
        }
        self.python_at(&join(dir, &below)).into_iter().collect()
    }

    /// The module at a path without extension.
    fn python_at(&self, path: &str) -> Option<Module> {
        if path.is_empty() || name(path).is_empty() {
            return None;
        }
        let file = format!("{path}.py");
        if self.tree.has(&file) {
            return Some(Module::File(file));
        }
        let init = join(path, "__init__.py");
        if self.tree.has(&init) {
            return Some(Module::Package {
                file: Some(init),
                dir: path.to_owned(),
            });
        }
        let mut below = self.tree.below(path);
        below
            .any(|file| file.ends_with(".py"))
            .then(|| Module::Package {
                file: None,
                dir: path.to_owned(),
            })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Module {
    File(String),
    /// A package, or a directory without `__init__.py`.
    Package {
        file: Option<String>,
        dir: String,
    },
}
