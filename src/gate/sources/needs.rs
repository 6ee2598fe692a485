//! Which files the listed properties need beyond their own, by what the texts import. PURE.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::{Survey, Wanted, conftests};
use crate::model::{Class, Entry, Import, SourceFacts};
use crate::source::{self, Files as _, Language};

impl<F: Fn(&str) -> Option<Entry>> Survey<'_, F> {
    /// Follows imports as far as sources were read; gives what has to be read to go on.
    pub(super) fn follow(&mut self) -> BTreeSet<Wanted> {
        let mut wanted = BTreeSet::new();
        let files = self.property_files();
        let mut seen: BTreeSet<String> = files.into_iter().map(str::to_owned).collect();
        let mut open: Vec<String> = seen.iter().cloned().collect();
        let mut all_seen = false;
        while let Some(path) = open.pop() {
            let Some(source) = self.merged(&path) else {
                continue;
            };
            let Some(read) = self.read.get(&source) else {
                wanted.insert(source);
                continue;
            };
            if !self.needs.contains_key(&path) {
                let mut needed = read.whole().map_or_else(Vec::new, |facts| {
                    source::needs(source.language, &path, facts, &self.tree)
                });
                if let Some(facts) = read.whole() {
                    needed.extend(self.namesakes(source.language, facts));
                    // One stands for all, lest this be files times files.
                    let mut changed = self.loadable.iter().filter(|file| **file != path);
                    if loads_anything(facts)
                        && let Some(file) = changed.next()
                    {
                        needed.push((*file).to_owned());
                        self.loads_anything = true;
                    }
                }
                if source.language == Language::Python {
                    needed.extend(conftests(&path).filter(|file| self.tree.is_file(file)));
                }
                needed.retain(|file| is_support(self.plan.class(file), file));
                self.needs.insert(path.clone(), needed);
            }
            let all: &[&str] = match self.loads_anything && !std::mem::replace(&mut all_seen, true)
            {
                true => &self.loadable,
                false => &[],
            };
            let needed = self.needs[&path].iter().map(String::as_str);
            for needed in needed.chain(all.iter().copied()) {
                if seen.insert(needed.to_owned()) {
                    open.push(needed.to_owned());
                }
            }
        }
        self.reached = seen;
        wanted
    }

    /// Files of the write-set that bear the name of a module that is imported, wherever they lie: where
    /// Python looks for modules is decided when it runs, and what `#name` is in JavaScript a manifest says.
    /// Elsewhere tests are often named after the production module that they import.
    fn namesakes(&self, language: Language, facts: &SourceFacts) -> Vec<String> {
        let imports = facts.imports.iter().filter(|import| match language {
            Language::Python => true,
            Language::Rust | Language::Go => false,
            _ => import.target.starts_with('#'),
        });
        let names = imports.flat_map(|import| {
            let own = import.target.rsplit(['.', '/', '#']).next();
            own.into_iter()
                .chain(import.names.iter().map(String::as_str))
        });
        let files = names.filter_map(|name| self.by_stem.get(name));
        files.flatten().map(|path| (*path).to_owned()).collect()
    }

    /// For each file, a file of the write-set that it needs; what can't be read needs itself.
    pub(super) fn needs_of_all(&self) -> HashMap<&str, &str> {
        let mut needed_by: HashMap<&str, Vec<&str>> = HashMap::new();
        for (path, needs) in &self.needs {
            for needed in needs {
                needed_by.entry(needed).or_default().push(path);
            }
        }
        let mut found: HashMap<&str, &str> = HashMap::new();
        let mut open: VecDeque<(&str, &str)> = VecDeque::new();
        for (path, needs) in &self.needs {
            let unread = self.merged_facts(path).is_none();
            if unread {
                found.insert(path, path);
                open.push_back((path, path));
            }
            for needed in needs.iter().filter(|needed| self.change(needed).is_some()) {
                open.push_back((needed, needed));
            }
        }
        while let Some((path, source)) = open.pop_front() {
            for user in needed_by.get(path).into_iter().flatten() {
                if !found.contains_key(user) {
                    found.insert(user, source);
                    open.push_back((user, source));
                }
            }
        }
        found
    }
}

/// The text loads code by something that no path can be read from: it may need every changed file.
fn loads_anything(facts: &SourceFacts) -> bool {
    let mut imports = facts.imports.iter();
    imports.any(|import| import.target == Import::ANYTHING)
}

/// Names that files have for their directory's sake.
pub(super) const PACKAGE_FILES: &[&str] = &["__init__", "index", "mod", "main", "lib"];

/// Whether a test may need the file beyond its own: no production (that is what it tests), no fixture and
/// no contract (they have rules of their own).
pub(super) fn is_support(class: Class, path: &str) -> bool {
    !matches!(class, Class::Production | Class::Fixture | Class::Contract)
        && (Language::of_path(path).is_some() || path.ends_with(".json"))
}
