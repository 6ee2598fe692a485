//! The contract files at the base tip and in the merged tree.

use std::collections::BTreeMap;

use gix::bstr::BStr;

use super::error::{GitError, one_line};
use super::tree::{Place, Tree, sha};
use crate::gate::facts;
use crate::model::{BlobFact, ContractFile, EntryKind, FileBytes, Layer};

/// A contract file may not be larger (protocol section 3); bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The configuration at the base tip.
pub(super) fn config(repo: &gix::Repository, base: &Tree<'_>) -> Result<BlobFact, GitError> {
    let place = base.at(BStr::new(Layer::Config.default_path()))?;
    Ok(blob(repo, place))
}

/// Every layer that the base tip's configuration leaves on, and default paths of those that are off.
pub(super) fn files(
    repo: &gix::Repository,
    config: BlobFact,
    base: &Tree<'_>,
    merged: Option<&Tree<'_>>,
) -> Result<BTreeMap<Layer, ContractFile>, GitError> {
    let mut files = BTreeMap::new();
    for (layer, path) in facts::layers(&config) {
        let before = base.at(BStr::new(&path))?;
        let merged = match merged {
            Some(tree) => {
                let after = tree.at(BStr::new(&path))?;
                (after != before).then(|| blob(repo, after))
            }
            None => None,
        };
        let base = match layer {
            Layer::Config => config.clone(),
            _ => blob(repo, before),
        };
        files.insert(layer, ContractFile { path, base, merged });
    }
    Ok(files)
}

/// What stands at a place; its size is known before it is read.
pub(super) fn blob(repo: &gix::Repository, place: Place) -> BlobFact {
    let leaf = match place {
        Place::Nothing => return BlobFact::Absent,
        Place::Directory(_) => return BlobFact::NotRegular("a directory".to_owned()),
        Place::Leaf(leaf) => leaf,
    };
    match leaf.kind {
        EntryKind::Symlink => return BlobFact::NotRegular("a symlink".to_owned()),
        EntryKind::Submodule => return BlobFact::NotRegular("a submodule".to_owned()),
        EntryKind::File | EntryKind::Executable => {}
    }
    match repo.find_header(leaf.id) {
        Ok(header) if header.size() > LARGEST => return BlobFact::TooLarge(header.size()),
        Ok(_) => {}
        Err(error) => return BlobFact::Unavailable(one_line(error)),
    }
    match repo.find_blob(leaf.id) {
        Ok(blob) => BlobFact::Content {
            id: sha(leaf.id),
            bytes: FileBytes(blob.detach().data),
        },
        Err(error) => BlobFact::Unavailable(one_line(error)),
    }
}
