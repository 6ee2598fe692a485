//! The fixtures of the merged tree, with what its attributes say about them.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};

use super::attributes::{Attributes, TreeFiles};
use super::error::GitError;
use super::tree::{Leaf, Listing, sha};
use crate::model::{Change, EntryKind, FixtureEntry, is_canonical_path};

/// Every entry below the roots, sorted by path.
pub(super) fn list(
    repo: &gix::Repository,
    tree: ObjectId,
    listing: &Listing,
    roots: &[String],
) -> Result<Vec<FixtureEntry>, GitError> {
    let mut attributes = Attributes::of(repo, tree)?;
    let mut fixtures = Vec::new();
    for root in outermost(roots) {
        for (path, leaf) in listing.below(BStr::new(root)) {
            fixtures.push(entry(&mut attributes, path, leaf)?);
        }
    }
    fixtures.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(fixtures)
}

/// The entries of a tree at some paths, lossily decoded; sorted by path.
pub(super) fn picked(
    repo: &gix::Repository,
    tree: ObjectId,
    listing: &Listing,
    wanted: &BTreeSet<&str>,
) -> Result<Vec<FixtureEntry>, GitError> {
    let mut attributes = Attributes::of(repo, tree)?;
    let mut found = Vec::new();
    for (path, leaf) in listing.below(BStr::new("")) {
        if wanted.contains(&*path.to_str_lossy()) {
            found.push(entry(&mut attributes, path, leaf)?);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// What the base tip has at the paths of some changes, with what the attributes of `tree` say of them.
pub(super) fn replaced(
    repo: &gix::Repository,
    tree: ObjectId,
    changes: &[&Change],
) -> Result<Vec<FixtureEntry>, GitError> {
    let mut attributes = Attributes::of(repo, tree)?;
    let mut found = Vec::new();
    for change in changes {
        if let Some(base) = &change.base {
            let leaf = Leaf {
                kind: base.kind,
                id: ObjectId::Sha1(base.id.to_bytes()),
            };
            found.push(entry(&mut attributes, BStr::new(&change.path), leaf)?);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The roots without those that lie below another, so that no fixture is listed twice.
pub(crate) fn outermost(roots: &[String]) -> impl Iterator<Item = &str> {
    let inside = |root: &str, other: &str| {
        root.len() > other.len()
            && root.starts_with(other)
            && root.as_bytes().get(other.len()) == Some(&b'/')
    };
    let mut seen = std::collections::BTreeSet::new();
    roots
        .iter()
        .map(|root| root.trim_end_matches('/'))
        .filter(move |root| {
            let covered = roots
                .iter()
                .any(|other| inside(root, other.trim_end_matches('/')));
            !covered && seen.insert(*root)
        })
}

fn entry(
    attributes: &mut Attributes<TreeFiles<'_>>,
    path: &BStr,
    leaf: Leaf,
) -> Result<FixtureEntry, GitError> {
    let by_attributes = attributes.fixture(path)?;
    let opaque = match leaf.kind {
        EntryKind::Symlink => Some("it is a symlink".to_owned()),
        EntryKind::Submodule => Some("it is a submodule".to_owned()),
        EntryKind::File | EntryKind::Executable => by_path(path).or(by_attributes.opaque),
    };
    Ok(FixtureEntry {
        path: path.to_str_lossy().into_owned(),
        kind: leaf.kind,
        id: sha(leaf.id),
        lfs: by_attributes.lfs,
        opaque,
    })
}

/// Why a path is opaque by itself, whatever stands there.
pub(crate) fn by_path(path: &BStr) -> Option<String> {
    match path.to_str() {
        Err(_) => Some("its path is not UTF-8".to_owned()),
        Ok(text) if !is_canonical_path(text) => {
            Some("its path has a control character or a backslash".to_owned())
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_below_another_is_listed_once() {
        let roots = ["a/", "a/b", "a-b", "a"].map(str::to_owned);
        assert_eq!(outermost(&roots).collect::<Vec<_>>(), ["a", "a-b"]);
    }
}
