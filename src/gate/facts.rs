//! What a gatherer has to look up, and the facts that are computed from a whole listing. PURE.
//!
//! Both gatherers (local git, the forge) call these, so that a Snapshot means the same from either.
//! Order: [`layers`] from the base tip's configuration, the contract files, [`fixture_roots`], the
//! fixtures and the write-set, then [`tree_facts`] and [`note_collisions`].

use std::collections::BTreeMap;

use crate::model::{BlobFact, Change, ContractFile, EntryKind, Layer, TreeFacts};

/// A file of the merged tree. Listings are sorted by path bytes and hold no directories.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// From the repository root, lossily decoded.
    pub path: &'a str,
    pub kind: EntryKind,
}

/// Where each layer lives according to the base tip's configuration: the keys and paths of
/// [`crate::model::Snapshot::contract`]. An unreadable configuration gives the defaults (it refuses later).
pub fn layers(config: &BlobFact) -> BTreeMap<Layer, String> {
    let _ = config;
    todo!()
}

/// Whether a default branch's tip has opted in (protocol 3): `config` is its configuration, `exists`
/// tells whether its tree has an entry at a path.
pub fn is_opted_in(config: &BlobFact, exists: impl Fn(&str) -> bool) -> bool {
    let _ = (config, exists);
    todo!()
}

/// The fixtures roots to list in the merged tree: those of the base tip's lock and of the merged
/// tree's, sorted; the default root when neither can be read; none when the layer is off.
pub fn fixture_roots(contract: &BTreeMap<Layer, ContractFile>) -> Vec<String> {
    let _ = contract;
    todo!()
}

/// Whether a change of this path needs its blob's first two bytes looked at (`#!`).
pub fn needs_shebang(contract: &BTreeMap<Layer, ContractFile>, path: &str) -> bool {
    let _ = (contract, path);
    todo!()
}

/// Whether hunks of this path are worth computing: it is of class production.
pub fn needs_hunks(contract: &BTreeMap<Layer, ContractFile>, path: &str) -> bool {
    let _ = (contract, path);
    todo!()
}

/// Facts about the merged tree; one pass over the listing.
pub fn tree_facts(contract: &BTreeMap<Layer, ContractFile>, listing: &[Listed<'_>]) -> TreeFacts {
    let _ = (contract, listing);
    todo!()
}

/// Fills in [`Change::collides_with`]; one pass over the listing.
pub fn note_collisions(
    contract: &BTreeMap<Layer, ContractFile>,
    write_set: &mut [Change],
    listing: &[Listed<'_>],
) {
    let _ = (contract, write_set, listing);
    todo!()
}
