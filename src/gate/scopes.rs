//! Fixture scopes: which files a property reads, and their digest (protocol 3.6 and 4). PURE.
//!
//! Each distinct scope is digested once, from digests of blobs. A file meets only globs whose
//! wildcard-free beginning lies above it, so that the cost is in files plus what they belong to.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::reading::{Judge, Reading};
use crate::contract::catalog::{Catalog, Property};
use crate::contract::glob::{GlobList, wildcard_free_beginning};
use crate::digest;
use crate::model::{BlobDigest, Fact, FileDigest, FixtureEntry, NodeId, Sha, Snapshot};

/// Comparisons of one file with one glob, and lines of manifests, that one evaluation makes.
const WORK: usize = 20_000_000;
/// Bytes of a folder whose seed form is computed; every one of them is read each time.
pub const LARGEST_SEED_FORM: u64 = 64 << 20;

/// Globs by their beginnings.
pub struct GlobIndex {
    globs: Vec<Shape>,
    by_beginning: HashMap<String, Vec<usize>>,
}

enum Shape {
    /// No wildcard.
    Exact,
    /// `DIR/**`.
    Below,
    Other(GlobList),
}

impl GlobIndex {
    /// `globs` are valid; one that is not matches nothing.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Self {
        let mut index = Self {
            globs: Vec::new(),
            by_beginning: HashMap::new(),
        };
        for glob in globs {
            let beginning = wildcard_free_beginning(glob);
            let shape = match glob.strip_prefix(beginning) {
                Some("") => Shape::Exact,
                Some("/**") => Shape::Below,
                _ => Shape::Other(GlobList::new([glob]).unwrap_or_default()),
            };
            let same = index.by_beginning.entry(beginning.to_owned()).or_default();
            same.push(index.globs.len());
            index.globs.push(shape);
        }
        index
    }

    /// Positions of the globs that match a path. `work` counts the comparisons.
    pub fn matching(&self, path: &str, work: &mut usize) -> Vec<usize> {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let beginnings = std::iter::once("").chain(above).chain([path]);
        let mut found = Vec::new();
        for beginning in beginnings {
            for at in self.by_beginning.get(beginning).into_iter().flatten() {
                *work += 1;
                let is_match = match &self.globs[*at] {
                    Shape::Exact => beginning == path,
                    Shape::Below => true,
                    Shape::Other(glob) => *work <= WORK && glob.is_match(path),
                };
                if is_match {
                    found.push(*at);
                }
            }
        }
        found
    }

    /// Which of the globs match one of the paths; `None` when that is too much to find out.
    pub fn used<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Option<Vec<bool>> {
        let mut used = vec![false; self.globs.len()];
        let mut work = 0;
        for path in paths {
            for at in self.matching(path, &mut work) {
                used[at] = true;
            }
        }
        (work <= WORK).then_some(used)
    }
}

/// A digest, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Digest {
    Is(String),
    /// No digest stands for these bytes, however often one looks.
    Never(String),
    /// It could not be had now.
    Unknown(String),
}

impl Digest {
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Is(digest) => Some(digest),
            _ => None,
        }
    }
}

/// The digest of one scope at both ends of the patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// At the base tip.
    pub before: Digest,
    /// In the merged tree.
    pub after: Digest,
}

/// Globs of a node's scope.
pub fn globs_of<'s>(
    nodeid: &NodeId,
    catalog: &HashMap<&str, &'s Property>,
    default: &'s [String],
) -> &'s [String] {
    let row = catalog
        .get(nodeid.as_str())
        .or_else(|| catalog.get(nodeid.function()));
    row.map_or(default, |row| row.fixtures.as_slice())
}

/// The digest of a node's scope by the base tip's contract, on both ends of the patch; `None` when the
/// fixtures could not be had.
pub fn of_node(snapshot: &Snapshot, nodeid: &NodeId) -> Option<Digests> {
    let reading = Reading::strict(&snapshot.contract);
    let catalog = by_node(reading.catalog.base.ready());
    let default = reading.default_scope(Judge::BaseTip);
    let globs = globs_of(nodeid, &catalog, &default);
    Files::new(snapshot)?
        .digests(&BTreeSet::from([globs]))
        .remove(globs)
}

/// The base tip's row of the catalog for a node.
pub fn property_of(snapshot: &Snapshot, nodeid: &NodeId) -> Option<Property> {
    let reading = Reading::strict(&snapshot.contract);
    let catalog = by_node(reading.catalog.base.ready());
    let row = catalog
        .get(nodeid.as_str())
        .or_else(|| catalog.get(nodeid.function()));
    row.map(|row| (*row).clone())
}

/// The properties of a catalog by node id.
pub fn by_node(catalog: Option<&Catalog>) -> HashMap<&str, &Property> {
    let rows = catalog.map_or(&[][..], |catalog| catalog.properties.as_slice());
    rows.iter().map(|row| (row.nodeid.as_str(), row)).collect()
}

/// The folder that a scope is, where it is one: only such a scope has a seed form.
pub fn folder(globs: &[String]) -> Option<&str> {
    match globs {
        [glob] => glob
            .strip_suffix("/**")
            .filter(|folder| wildcard_free_beginning(folder) == *folder),
        _ => None,
    }
}

/// Every file that a scope may hold, of the merged tree and, where they differ, of the base tip.
pub struct Files<'a> {
    after: Vec<&'a FixtureEntry>,
    before: Vec<&'a FixtureEntry>,
    changed: HashSet<&'a str>,
    unread: Option<&'a str>,
    digests: &'a BTreeMap<Sha, Fact<BlobDigest>>,
}

impl<'a> Files<'a> {
    /// `None` when the fixtures could not be had: then the case is undetermined anyway.
    pub fn new(snapshot: &'a Snapshot) -> Option<Self> {
        let scopes = &snapshot.scopes;
        let mut after: Vec<&FixtureEntry> = snapshot.fixtures.known()?.iter().collect();
        after.extend(&scopes.files);
        after.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        after.dedup_by(|a, b| a.path == b.path);
        let changes = snapshot.write_set.known()?.iter();
        let changes = changes.filter(|change| change.base != change.merged);
        let changed: HashSet<&str> = changes.map(|change| change.path.as_str()).collect();
        let kept = after.iter().copied();
        let kept = kept.filter(|file| !changed.contains(file.path.as_str()));
        let mut before: Vec<&FixtureEntry> = kept.chain(&scopes.before).collect();
        before.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Some(Self {
            after,
            before,
            changed,
            unread: scopes.unread.as_deref(),
            digests: &snapshot.digests,
        })
    }

    /// The digest of a file of the merged tree.
    pub fn digest_of(&self, path: &str) -> Option<Result<&'a FileDigest, Digest>> {
        let at = self.after.binary_search_by(|file| (*file.path).cmp(path));
        Some(self.digest(self.after[at.ok()?]))
    }

    fn digest(&self, file: &'a FixtureEntry) -> Result<&'a FileDigest, Digest> {
        if let Some(why) = &file.opaque {
            return Err(Digest::Never(format!("{} is opaque: {why}", file.path)));
        }
        match self.digests.get(&file.id) {
            Some(Fact::Known(digest)) => Ok(digest.of_file(file.lfs)),
            other => {
                let why = other
                    .and_then(Fact::why_not)
                    .unwrap_or("it was not computed");
                let what = format!("the digest of {}: {why}", file.path);
                Err(Digest::Unknown(what))
            }
        }
    }

    /// The manifest form of each scope, by its globs.
    pub fn digests<'s>(&self, scopes: &BTreeSet<&'s [String]>) -> HashMap<&'s [String], Digests> {
        let after = self.manifests(scopes, &self.after);
        let before = match self.changed.is_empty() {
            true => after.clone(),
            false => self.manifests(scopes, &self.before),
        };
        let pairs = scopes.iter().zip(before.into_iter().zip(after));
        pairs
            .map(|(scope, (before, after))| (*scope, Digests { before, after }))
            .collect()
    }

    /// In the order of `scopes`.
    fn manifests(&self, scopes: &BTreeSet<&[String]>, files: &[&'a FixtureEntry]) -> Vec<Digest> {
        if let Some(why) = self.unread {
            return vec![Digest::Unknown(why.to_owned()); scopes.len()];
        }
        let globs: BTreeSet<&str> = scopes
            .iter()
            .flat_map(|scope| scope.iter().map(String::as_str))
            .collect();
        let places: HashMap<&str, usize> = globs.iter().copied().zip(0..).collect();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); globs.len()];
        for (scope, globs) in scopes.iter().enumerate() {
            let distinct: BTreeSet<&String> = globs.iter().collect();
            for glob in distinct {
                users[places[glob.as_str()]].push(scope);
            }
        }
        let index = GlobIndex::new(globs);
        let mut held: Vec<Vec<&FixtureEntry>> = vec![Vec::new(); scopes.len()];
        let mut work = 0;
        for file in files {
            for glob in index.matching(&file.path, &mut work) {
                for scope in &users[glob] {
                    work += 1;
                    let held = &mut held[*scope];
                    // Several globs of a scope may match: the file is its last one then.
                    if work <= WORK && held.last().is_none_or(|last| last.path != file.path) {
                        held.push(file);
                    }
                }
            }
        }
        if work > WORK {
            let why = format!("the scopes hold more than {WORK} files together");
            return vec![Digest::Unknown(why); scopes.len()];
        }
        held.iter().map(|files| self.manifest(files)).collect()
    }

    fn manifest(&self, files: &[&'a FixtureEntry]) -> Digest {
        let mut lines = Vec::with_capacity(files.len());
        let mut never = None;
        for file in files {
            match self.digest(file) {
                Ok(digest) => lines.push((file.path.as_bytes(), digest)),
                Err(unknown @ Digest::Unknown(_)) => return unknown,
                Err(other) => never = never.or(Some(other)),
            }
        }
        never.unwrap_or_else(|| Digest::Is(digest::manifest(lines)))
    }
}
