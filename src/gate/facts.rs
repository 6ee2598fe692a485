//! What a gatherer has to look up, and the facts that are computed from a whole listing. PURE.
//!
//! Both gatherers (local git, the forge) use these, so that a Snapshot means the same from either.
//! Order: [`layers`] from the base tip's configuration, then the contract files, then a [`Plan`] of them,
//! and with it the fixtures, the write-set and what hangs on the merged tree's listing.

mod scopes;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use caseless::default_case_fold_str;
use unicode_normalization::UnicodeNormalization as _;

use super::classes::{Classifier, is_code};
use super::manifest;
use super::reading::Reading;
use crate::config::repo::{self, RepoConfig};
pub use scopes::{LARGEST_NOTES, MOST_NOTES, seed_files};

use crate::model::{
    BlobFact, Change, Class, ContractFile, Decision, EntryKind, Layer, NodeId, Only, Snapshot,
    TreeFacts,
};

/// A file of the merged tree. Listings are sorted by path bytes and hold no directories.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// From the repository root, lossily decoded.
    pub path: &'a str,
    pub kind: EntryKind,
}

fn config_of(config: &BlobFact) -> RepoConfig {
    match config {
        BlobFact::Content { bytes, .. } => {
            repo::parse(Layer::Config.default_path(), &bytes.0).unwrap_or_default()
        }
        _ => RepoConfig::default(),
    }
}

/// Where each layer lives according to the base tip's configuration: the keys and paths of
/// [`crate::model::Snapshot::contract`]. A layer that is off is at its default path, where it is
/// still guarded. An unreadable configuration gives the defaults (it refuses later).
pub fn layers(config: &BlobFact) -> BTreeMap<Layer, String> {
    let config = config_of(config);
    Layer::ALL
        .into_iter()
        .map(|layer| (layer, config.guarded_path(layer).to_owned()))
        .collect()
}

/// Whether a default branch's tip has opted in (protocol 3): `config` is its configuration, `exists`
/// tells whether its tree has an entry at a path. What can't be looked up counts as there.
pub fn is_opted_in(config: &BlobFact, exists: impl Fn(&str) -> bool) -> bool {
    if *config != BlobFact::Absent {
        return true;
    }
    [Layer::Lock, Layer::Freezes, Layer::Map, Layer::Ledger]
        .iter()
        .any(|layer| exists(layer.default_path()))
}

/// What to look up for one set of contract files.
pub struct Plan {
    reading: Reading,
    classes: Classifier,
}

impl Plan {
    pub fn new(contract: &BTreeMap<Layer, ContractFile>) -> Self {
        let reading = Reading::new(contract);
        let classes = reading.classifier();
        Self { reading, classes }
    }

    /// [`super::decide`] with the contract that this plan was made from, read once for both.
    pub fn decide(&self, snapshot: &Snapshot) -> Decision {
        if self.reading.by_proposed_globs && snapshot.opted_in {
            // A guarded branch without a contract, where the default branch has opted in.
            let reading = Reading::strict(&snapshot.contract);
            let classes = reading.classifier();
            return super::decide_by(&reading, &classes, snapshot);
        }
        super::decide_by(&self.reading, &self.classes, snapshot)
    }

    /// The class of a path.
    pub fn class(&self, path: &str) -> Class {
        self.classes.classify(path)
    }

    /// Whether a path is named like a test of some framework.
    pub fn is_named_like_a_test(&self, path: &str) -> bool {
        self.classes.is_named_like_a_test(path)
    }

    /// Every property that a readable map lists.
    pub fn listed_properties(&self) -> BTreeSet<&NodeId> {
        let rules = self.reading.map.readable().flat_map(|map| &map.rules);
        rules.flat_map(|rule| &rule.live_properties).collect()
    }

    /// Whether the bytes of both sides have to be looked at by [`Plan::only`].
    pub fn needs_texts(&self, change: &Change) -> bool {
        let (Some(base), Some(merged)) = (&change.base, &change.merged) else {
            return false;
        };
        manifest::is_manifest(&change.path)
            && base.id != merged.id
            && base.kind == merged.kind
            && base.kind.is_regular()
            && self.class(&change.path) == Class::Harness
    }

    /// What the bytes of both sides of a change say, for [`Change::only`].
    pub fn only(&self, path: &str, old: &[u8], new: &[u8]) -> Option<Only> {
        manifest::changes_only_other_keys(path, old, new).then_some(Only::OtherKeys)
    }

    /// The fixtures roots to list in the merged tree: those of the base tip's lock and of the merged
    /// tree's, sorted; the default root when neither can be read; none when the layer is off.
    pub fn fixture_roots(&self) -> Vec<String> {
        self.reading.roots()
    }

    /// Whether a change of this path needs its blob's first two bytes looked at (`#!`).
    pub fn needs_shebang(&self, path: &str) -> bool {
        matches!(self.classes.classify(path), Class::Other | Class::Note) && !is_code(path)
    }

    /// Whether an audit looks at this path of the tree: it is of class production, or code that no
    /// class but *other* holds (protocol 5.6).
    pub fn is_audited(&self, path: &str) -> bool {
        match self.classes.classify(path) {
            Class::Production => true,
            Class::Other => is_code(path) && !self.classes.is_ignored(path),
            _ => false,
        }
    }

    /// Whether hunks of this path are worth computing: it is of class production.
    pub fn needs_hunks(&self, path: &str) -> bool {
        self.classes.classify(path) == Class::Production
    }

    /// Facts about the merged tree; one pass over the listing.
    pub fn tree_facts(&self, listing: &[Listed<'_>]) -> TreeFacts {
        let mut paths: Vec<(&str, EntryKind)> =
            listing.iter().map(|file| (file.path, file.kind)).collect();
        // Lossy decoding can break the order of what git sorted.
        paths.sort_unstable_by_key(|(path, _)| *path);
        let find = |wanted: &str| {
            let at = paths.partition_point(|(path, _)| *path < wanted);
            paths
                .get(at)
                .filter(|(path, _)| *path == wanted)
                .map(|(_, kind)| *kind)
        };
        let any_below = |prefix: &str| {
            let at = paths.partition_point(|(path, _)| *path < prefix);
            paths
                .get(at)
                .is_some_and(|(path, _)| path.starts_with(prefix))
        };
        let is_production = |path: &str| self.classes.classify(path) == Class::Production;
        let (asked, dirs) = self.asked_files();
        let production = if self.contract_is_proposed() {
            paths
                .iter()
                .filter(|(path, _)| is_production(path))
                .map(|(path, _)| (*path).to_owned())
                .collect()
        } else {
            Vec::new()
        };
        TreeFacts {
            files: asked
                .iter()
                .map(|path| ((*path).to_owned(), find(path)))
                .collect(),
            prefixes: self
                .asked_prefixes()
                .into_iter()
                .map(str::to_owned)
                .chain(dirs)
                .map(|prefix| {
                    let found = any_below(&prefix);
                    (prefix, found)
                })
                .collect(),
            globs: self.used_globs(listing),
            has_production: !production.is_empty()
                || paths
                    .iter()
                    .any(|(path, kind)| kind.is_regular() && is_production(path)),
            production,
        }
    }

    /// A map, or what takes votes away, is proposed: its holes are looked for everywhere.
    fn contract_is_proposed(&self) -> bool {
        let reading = &self.reading;
        reading.map.proposed.is_some()
            || reading.freezes.proposed.is_some()
            || reading.ledger.proposed.is_some()
            || reading.catalog.proposed.is_some()
            || reading.evidence.proposed.is_some()
            || reading.frozen_tests.proposed.is_some()
    }

    fn asked_files(&self) -> (BTreeSet<&str>, BTreeSet<String>) {
        let mut files = BTreeSet::new();
        let mut dirs = BTreeSet::new();
        for map in self.reading.map.readable() {
            files.extend(
                map.rules
                    .iter()
                    .flat_map(|rule| &rule.live_properties)
                    .map(NodeId::path),
            );
        }
        for nodeid in self.row_nodes() {
            files.insert(nodeid.path());
            dirs.insert(format!("{}/", nodeid.path()));
        }
        (files, dirs)
    }

    fn asked_prefixes(&self) -> BTreeSet<&str> {
        self.reading
            .map
            .readable()
            .flat_map(|map| &map.rules)
            .map(|rule| rule.path_prefix.as_str())
            .collect()
    }

    /// Fills in [`Change::collides_with`]; one pass over the listing (protocol 5.2, `path-collision`).
    pub fn note_collisions(&self, write_set: &mut [Change], listing: &[Listed<'_>]) {
        let mut wanted: HashMap<String, Vec<Spelling>> = HashMap::new();
        let mut folded = String::new();
        for (position, change) in write_set.iter().enumerate() {
            if change.merged.is_none() {
                continue;
            }
            for prefix in directories_and_self(&change.path) {
                let spelling = Spelling {
                    prefix: prefix.to_owned(),
                    position,
                };
                fold_into(&mut folded, prefix);
                wanted.entry(folded.clone()).or_default().push(spelling);
            }
        }
        if wanted.is_empty() {
            return;
        }
        let mut found: Vec<Option<String>> = vec![None; write_set.len()];
        let mut look_at = |path: &str| {
            fold_into(&mut folded, path);
            for spelling in wanted.get(&folded).into_iter().flatten() {
                if spelling.prefix != path && found[spelling.position].is_none() {
                    found[spelling.position] = Some(path.to_owned());
                }
            }
        };
        for path in self.classes.contract_paths() {
            look_at(path);
        }
        for root in self.reading.roots() {
            look_at(&root);
        }
        let mut previous = "";
        for file in listing {
            for path in directories_and_self(file.path) {
                let seen = previous.starts_with(path)
                    && previous.as_bytes().get(path.len()) == Some(&b'/');
                if !seen {
                    look_at(path);
                }
            }
            previous = file.path;
        }
        for (change, other) in write_set.iter_mut().zip(found) {
            change.collides_with = other;
        }
    }
}

struct Spelling {
    prefix: String,
    position: usize,
}

/// `a`, `a/b`, `a/b/c` for `a/b/c`.
fn directories_and_self(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(at, _)| &path[..at])
        .chain(std::iter::once(path))
}

/// Writes to `folded` what a path becomes on file systems that do not tell spellings apart: per component
/// NFKC, case folded, trailing dots and spaces dropped, `\` as `/`.
fn fold_into(folded: &mut String, path: &str) {
    folded.clear();
    for (number, part) in path.split(['/', '\\']).enumerate() {
        if number > 0 {
            folded.push('/');
        }
        let start = folded.len();
        if part.is_ascii() {
            folded.push_str(part);
            folded[start..].make_ascii_lowercase();
        } else {
            let normal: String = part.nfkc().collect();
            folded.extend(default_case_fold_str(&normal).nfkc());
        }
        let kept = folded[start..].trim_end_matches(['.', ' ']).len();
        folded.truncate(start + kept);
    }
}

#[cfg(test)]
mod tests;
