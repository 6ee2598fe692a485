//! Blobs: contract files by their bytes, fixtures by their digests.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::BStr;

use crate::digest;
use crate::gate::facts;
use crate::git::GitError;
use crate::git::attributes::{Attributes, Files};
use crate::git::fixtures::{by_path, outermost};
use crate::model::{
    BlobDigest, BlobFact, ContractFile, EntryKind, Fact, FileBytes, FixtureEntry, Layer, Sha, Stats,
};
use crate::store::BlobFacts;

use super::super::blobs::{Fetched, Wanted};
use super::listing::{Item, Listing, Place};
use super::{GatherError, Gatherer};

/// A contract file may not be larger (protocol section 3); bytes.
const LARGEST_CONTRACT: usize = 64 << 20;
/// The forge gives out no larger blob; bytes.
const LARGEST_BLOB: usize = 100 << 20;

fn wanted(item: &Item) -> Wanted {
    Wanted {
        id: item.id.clone(),
        size: item.size,
    }
}

/// What one round of fetching brought.
#[derive(Debug, Default)]
pub(super) struct Objects {
    bytes: BTreeMap<Sha, BlobFact>,
    facts: BTreeMap<Sha, Fact<BlobFacts>>,
    /// Bytes of each blob that had to be read.
    read: BTreeMap<Sha, u64>,
}

impl Objects {
    pub fn digest(&self, id: &Sha) -> Fact<BlobDigest> {
        match self.facts.get(id) {
            Some(Fact::Known(facts)) => Fact::Known(facts.digest.clone()),
            Some(Fact::Missing(why)) => Fact::Missing(why.clone()),
            Some(Fact::Unavailable(why)) => Fact::Unavailable(why.clone()),
            Some(Fact::Truncated(why)) => Fact::Truncated(why.clone()),
            None => Fact::Missing(format!("blob {id} was not asked for")),
        }
    }

    /// Counts for [`Stats`]: what had to be read of these fixtures.
    pub fn stats(&self, fixtures: &[&Item]) -> Stats {
        let ids: BTreeSet<&Sha> = fixtures.iter().map(|item| &item.id).collect();
        let read: Vec<u64> = ids
            .into_iter()
            .filter_map(|id| self.read.get(id))
            .copied()
            .collect();
        Stats {
            fixtures: fixtures.len() as u64,
            fixtures_hashed: read.len() as u64,
            bytes_hashed: read.iter().sum(),
            ..Stats::default()
        }
    }

    /// What can't be looked at is taken for a program.
    pub fn has_shebang(&self, id: &Sha) -> bool {
        self.facts
            .get(id)
            .and_then(Fact::known)
            .is_none_or(|facts| facts.shebang)
    }

    /// What was fetched whole.
    pub fn content(&self, id: &Sha) -> Option<&BlobFact> {
        self.bytes.get(id)
    }

    /// The fact about what stands at a place.
    pub fn blob(&self, place: Place<'_>) -> BlobFact {
        if let Some(fact) = place.irregular() {
            return fact;
        }
        let Place::Item(item) = place else {
            return BlobFact::Absent;
        };
        self.bytes
            .get(&item.id)
            .cloned()
            .unwrap_or_else(|| BlobFact::Unavailable(format!("blob {} was not asked for", item.id)))
    }
}

impl Gatherer<'_> {
    /// Brings the bytes of `whole` and the facts of `hashed`: from the store what it has, the rest from
    /// the forge in one round. What came is kept even when the round breaks off.
    pub(super) async fn objects(
        &self,
        whole: &[&Item],
        hashed: &[&Item],
    ) -> Result<Objects, GatherError> {
        let mut objects = Objects::default();
        let mut missing: BTreeMap<Sha, Wanted> = BTreeMap::new();
        let mut keep = BTreeSet::new();
        for item in whole.iter().filter(|item| item.kind.is_regular()) {
            if objects.bytes.contains_key(&item.id) {
                continue;
            }
            match self.store.blob_bytes(&item.id).await? {
                Some(bytes) => {
                    objects
                        .bytes
                        .insert(item.id.clone(), content(&item.id, bytes));
                }
                None => {
                    keep.insert(item.id.clone());
                    missing.insert(item.id.clone(), wanted(item));
                }
            }
        }
        let ids: BTreeSet<&Sha> = hashed.iter().map(|item| &item.id).collect();
        let ids: Vec<Sha> = ids.into_iter().cloned().collect();
        let known = self.store.blob_facts(&ids).await?;
        for item in hashed.iter().filter(|item| !known.contains_key(&item.id)) {
            missing.insert(item.id.clone(), wanted(item));
        }
        objects.facts = known
            .into_iter()
            .map(|(id, facts)| (id, Fact::Known(facts)))
            .collect();
        self.fetch(&missing, &keep, &mut objects).await?;
        Ok(objects)
    }

    async fn fetch(
        &self,
        missing: &BTreeMap<Sha, Wanted>,
        keep: &BTreeSet<Sha>,
        objects: &mut Objects,
    ) -> Result<(), GatherError> {
        let list: Vec<Wanted> = missing.values().cloned().collect();
        let mut hashed = Vec::new();
        let ended = self
            .client
            .blobs(&list, LARGEST_BLOB, |id, fetched| {
                objects.take(id, fetched, keep.contains(id), &mut hashed);
            })
            .await;
        self.store.put_blob_facts(&hashed).await?;
        for id in keep {
            if let Some(BlobFact::Content { bytes, .. }) = objects.bytes.get(id) {
                self.store.put_blob_bytes(id, &bytes.0).await?;
            }
        }
        Ok(ended?)
    }

    /// The contract's blobs that a listing holds at the layers' paths.
    pub(super) fn contract_items<'a>(
        listing: &'a Listing,
        layers: &BTreeMap<Layer, String>,
    ) -> Vec<&'a Item> {
        layers
            .values()
            .filter_map(|path| listing.get(path))
            .collect()
    }
}

fn content(id: &Sha, bytes: Vec<u8>) -> BlobFact {
    BlobFact::Content {
        id: id.clone(),
        bytes: FileBytes(bytes),
    }
}

impl Objects {
    fn take(&mut self, id: &Sha, fetched: Fetched, keep: bool, hashed: &mut Vec<(Sha, BlobFacts)>) {
        let (fact, blob) = match fetched {
            Fetched::Bytes(bytes) => {
                let facts = BlobFacts {
                    digest: digest::blob(&bytes),
                    shebang: bytes.starts_with(b"#!"),
                };
                self.read.insert(id.clone(), bytes.len() as u64);
                hashed.push((id.clone(), facts.clone()));
                let blob = if bytes.len() > LARGEST_CONTRACT {
                    BlobFact::TooLarge(bytes.len() as u64)
                } else if keep {
                    content(id, bytes)
                } else {
                    BlobFact::Unavailable(format!("blob {id} was not kept"))
                };
                (Fact::Known(facts), blob)
            }
            Fetched::TooLarge(size) => {
                let size = size.unwrap_or(LARGEST_BLOB as u64 + 1);
                let why = format!("blob {id} has {size} bytes, more than the forge gives out");
                (Fact::Unavailable(why), BlobFact::TooLarge(size))
            }
            Fetched::Unavailable(why) => {
                (Fact::Unavailable(why.clone()), BlobFact::Unavailable(why))
            }
        };
        self.facts.insert(id.clone(), fact);
        if keep {
            self.bytes.insert(id.clone(), blob);
        }
    }
}

/// The contract files from what was fetched at the base tip and in the merged tree.
pub(super) fn contract_files(
    layers: &BTreeMap<Layer, String>,
    base: (&Listing, &Objects),
    merged: Option<(&Listing, &Objects)>,
) -> BTreeMap<Layer, ContractFile> {
    layers
        .iter()
        .map(|(layer, path)| {
            let before = base.0.place(path);
            let merged = merged.and_then(|(listing, objects)| {
                let after = listing.place(path);
                (!same_place(before, after)).then(|| objects.blob(after))
            });
            let file = ContractFile {
                path: path.clone(),
                base: base.1.blob(before),
                merged,
            };
            (*layer, file)
        })
        .collect()
}

fn same_place(a: Place<'_>, b: Place<'_>) -> bool {
    match (a, b) {
        (Place::Item(a), Place::Item(b)) => a.id == b.id && a.kind == b.kind,
        (a, b) => a == b,
    }
}

/// Contract blobs of the merged tree that the base tip does not have at their places.
pub(super) fn changed_contract<'a>(
    layers: &BTreeMap<Layer, String>,
    base: &Listing,
    merged: &'a Listing,
) -> Vec<&'a Item> {
    layers
        .values()
        .filter_map(|path| match merged.place(path) {
            after @ Place::Item(item) if !same_place(base.place(path), after) => Some(item),
            _ => None,
        })
        .collect()
}

/// Items below the fixtures roots.
pub(super) fn fixture_items<'a>(listing: &'a Listing, roots: &[String]) -> Vec<&'a Item> {
    let mut items: Vec<&Item> = Vec::new();
    for root in outermost(roots) {
        let below = listing
            .items()
            .iter()
            .filter(|item| is_below(&item.path, root));
        items.extend(below);
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    items
}

fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The attribute files that have a say about `fixtures`.
pub(super) fn attribute_items<'a>(listing: &'a Listing, fixtures: &[&Item]) -> Vec<&'a Item> {
    let mut directories = BTreeSet::from([""]);
    for item in fixtures {
        let ends = item.path.match_indices('/');
        directories.extend(ends.map(|(at, _)| &item.path[..=at]));
    }
    directories
        .into_iter()
        .filter_map(|directory| listing.get(&format!("{directory}.gitattributes")))
        .filter(|item| item.kind.is_regular())
        .collect()
}

struct Fetchables<'a> {
    listing: &'a Listing,
    objects: &'a Objects,
}

impl Files for Fetchables<'_> {
    fn regular(&self, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
        let path = path.to_string();
        let place = self.listing.place(&path);
        match self.objects.blob(place) {
            BlobFact::Absent | BlobFact::NotRegular(_) => Ok(None),
            BlobFact::Content { bytes, .. } => Ok(Some(bytes.0)),
            BlobFact::TooLarge(size) => Err(GitError::object(path, format!("{size} bytes"))),
            BlobFact::Unavailable(why) => Err(GitError::object(path, why)),
        }
    }
}

/// The fixtures with what the merged tree's attributes say of them.
pub(super) fn fixtures(
    listing: &Listing,
    items: &[&Item],
    objects: &Objects,
) -> Fact<Vec<FixtureEntry>> {
    match fixture_entries(listing, items, objects) {
        Ok(entries) => Fact::Known(entries),
        Err(error) => Fact::Unavailable(format!("attributes of fixtures: {error}")),
    }
}

fn fixture_entries(
    listing: &Listing,
    items: &[&Item],
    objects: &Objects,
) -> Result<Vec<FixtureEntry>, GitError> {
    let mut attributes = Attributes::from_files(Fetchables { listing, objects })?;
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        let path = BStr::new(&item.path);
        let by_attributes = attributes.fixture(path)?;
        let opaque = match item.kind {
            EntryKind::Symlink => Some("it is a symlink".to_owned()),
            EntryKind::Submodule => Some("it is a submodule".to_owned()),
            // The forge replaces bytes that are not UTF-8.
            EntryKind::File | EntryKind::Executable if item.path.contains('\u{fffd}') => {
                Some("its path is not UTF-8".to_owned())
            }
            EntryKind::File | EntryKind::Executable => by_path(path).or(by_attributes.opaque),
        };
        entries.push(FixtureEntry {
            path: item.path.clone(),
            kind: item.kind,
            id: item.id.clone(),
            lfs: by_attributes.lfs,
            opaque,
        });
    }
    Ok(entries)
}

/// Digests of every regular fixture that is not opaque.
pub(super) fn digests(
    fixtures: &Fact<Vec<FixtureEntry>>,
    objects: &Objects,
) -> BTreeMap<Sha, Fact<BlobDigest>> {
    fixtures
        .known()
        .into_iter()
        .flatten()
        .filter(|fixture| fixture.kind.is_regular() && fixture.opaque.is_none())
        .map(|fixture| (fixture.id.clone(), objects.digest(&fixture.id)))
        .collect()
}

/// Whether any file of the contract is there, at the base tip or in the merged tree.
pub(super) fn has_contract(contract: &BTreeMap<Layer, ContractFile>) -> bool {
    contract.values().any(|file| {
        file.base != BlobFact::Absent
            || file.merged.as_ref().is_some_and(|m| *m != BlobFact::Absent)
    })
}

/// The layers' paths if nothing is known of the base tip.
pub(super) fn unknown_contract(why: &str) -> BTreeMap<Layer, ContractFile> {
    facts::layers(&BlobFact::Absent)
        .into_iter()
        .map(|(layer, path)| {
            let base = BlobFact::Unavailable(why.to_owned());
            let file = ContractFile {
                path,
                base,
                merged: None,
            };
            (layer, file)
        })
        .collect()
}
