//! Rules of the hunk map, from what each property file imports.

use std::collections::{BTreeMap, BTreeSet};

use super::properties::PropertyFile;
use super::tree::{above, inside, parent};
use crate::model::NodeId;
use crate::source::Language;

/// A rule lists no more properties than fill it up to here; whole files are kept together.
const ENOUGH_PROPERTIES: usize = 24;
/// So many files of one directory with the same properties become one rule.
const MANY_FILES: usize = 8;

/// A proposed rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    pub path_prefix: String,
    pub live_properties: Vec<NodeId>,
}

/// A property file with the production files that it is proposed to guard.
pub struct Guard<'a> {
    pub file: &'a PropertyFile,
    pub targets: BTreeSet<String>,
}

/// Rules for those of `production` that `is_wanted`. A directory takes the place of its files when all
/// production files below it have the same properties, and never when that is all production there is.
/// `production` is sorted.
pub fn rules(
    guards: &[Guard<'_>],
    production: &[&str],
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Proposed> {
    let properties = by_file(guards, &is_wanted);
    let directories = directories(guards, &properties, production);
    let mut rules = Vec::new();
    let mut done = BTreeSet::new();
    for (path, ids) in &properties {
        let whole = above(path).find(|dir| directories.contains(*dir));
        let path_prefix = match whole {
            Some(dir) => format!("{dir}/"),
            None => (*path).to_owned(),
        };
        if !done.insert(path_prefix.clone()) {
            continue;
        }
        rules.push(Proposed {
            path_prefix,
            live_properties: ids.iter().map(|id| (*id).clone()).collect(),
        });
    }
    rules
}

/// The properties of each wanted file: those of the property files with the fewest targets first.
fn by_file<'g>(
    guards: &'g [Guard<'g>],
    is_wanted: &impl Fn(&str) -> bool,
) -> BTreeMap<&'g str, Vec<&'g NodeId>> {
    let mut files: BTreeMap<&str, Vec<&Guard<'_>>> = BTreeMap::new();
    for guard in guards {
        for target in guard.targets.iter().filter(|path| is_wanted(path)) {
            files.entry(target).or_default().push(guard);
        }
    }
    files
        .into_iter()
        .map(|(path, mut guards)| {
            guards.sort_by_key(|guard| (guard.targets.len(), guard.file.path.as_str()));
            let mut ids = Vec::new();
            for guard in guards {
                if ids.len() < ENOUGH_PROPERTIES {
                    ids.extend(&guard.file.ids);
                }
            }
            ids.sort_unstable();
            ids.dedup();
            (path, ids)
        })
        .collect()
}

/// Directories whose files all have the same properties, outermost only.
fn directories<'g>(
    guards: &[Guard<'_>],
    properties: &BTreeMap<&'g str, Vec<&'g NodeId>>,
    production: &[&str],
) -> BTreeSet<&'g str> {
    // In Go the directory is the package, and a test is a test of all of it.
    let packages: BTreeSet<&str> = guards
        .iter()
        .filter(|guard| guard.file.language == Language::Go)
        .map(|guard| parent(&guard.file.path))
        .collect();
    let mut candidates: BTreeMap<&str, usize> = BTreeMap::new();
    for path in properties.keys() {
        for dir in above(path) {
            *candidates.entry(dir).or_default() += 1;
        }
    }
    let is_whole = |dir: &str, mapped: usize| {
        let start = production.partition_point(|path| *path < dir);
        let below: Vec<&&str> = production[start..]
            .iter()
            .take_while(|path| path.starts_with(dir))
            .filter(|path| inside(path, dir).is_some())
            .collect();
        let Some(first) = below.first().and_then(|path| properties.get(**path)) else {
            return false;
        };
        below.len() == mapped
            && below.len() < production.len()
            && (mapped >= MANY_FILES || packages.contains(dir))
            && below
                .iter()
                .all(|path| properties.get(**path) == Some(first))
    };
    let whole: BTreeSet<&str> = candidates
        .iter()
        .filter(|(dir, mapped)| is_whole(dir, **mapped))
        .map(|(dir, _)| *dir)
        .collect();
    let outermost = |dir: &&&str| !above(dir).any(|outer| whole.contains(outer));
    whole.iter().filter(outermost).copied().collect()
}
