//! Directories that one side renamed while the other added to them.
//!
//! git's default calls that a conflict, so it is enough to see that it may be the case.

use std::collections::BTreeSet;

use gix::bstr::{BStr, BString, ByteSlice as _};

use super::{Sure, TreeMerge};
use crate::git::error::GitError;
use crate::git::likeness::Likeness;
use crate::git::tree::{Differences, Leaf, Place, Tree};

/// `Err` when a file that one side added lies in a directory that the other side may have renamed.
pub(super) fn check(
    merge: &TreeMerge<'_, '_>,
    repo: &gix::Repository,
) -> Result<Sure<()>, GitError> {
    for (mover, after, adder) in [
        (merge.by_us, &merge.ours, merge.by_them),
        (merge.by_them, &merge.theirs, merge.by_us),
    ] {
        let gone = gone_directories(&merge.ancestor, after, adder)?;
        if let Some((directory, added)) = renamed(repo, &gone, mover)? {
            return Ok(Err(format!(
                "{directory:?} may have been renamed on one side, and the other side added {added:?} to it"
            )));
        }
    }
    Ok(Ok(()))
}

/// (directory of the ancestor that `after` has no more, a file that `adder` added below it); for each
/// file the outermost such directory.
fn gone_directories(
    ancestor: &Tree<'_>,
    after: &Tree<'_>,
    adder: &Differences,
) -> Result<BTreeSet<(BString, BString)>, GitError> {
    let mut gone = BTreeSet::new();
    let added = adder.iter().filter(|(_, sides)| sides.old.is_none());
    for (path, _) in added {
        for at in path.find_iter(b"/") {
            let directory: &BStr = path[..at].as_bstr();
            let was = matches!(ancestor.at(directory)?, Place::Directory(_));
            if !was {
                break;
            }
            if !matches!(after.at(directory)?, Place::Directory(_)) {
                gone.insert((directory.to_owned(), path.clone()));
                break;
            }
        }
    }
    Ok(gone)
}

/// The first of those directories from which `mover` may have renamed a file.
fn renamed(
    repo: &gix::Repository,
    gone: &BTreeSet<(BString, BString)>,
    mover: &Differences,
) -> Result<Option<(BString, BString)>, GitError> {
    let mut likeness = Likeness::new(repo);
    let added: Vec<Leaf> = mover
        .values()
        .filter(|sides| sides.old.is_none())
        .filter_map(|sides| sides.new)
        .collect();
    let mut last: Option<&BString> = None;
    for (directory, file) in gone {
        if last == Some(directory) {
            continue;
        }
        last = Some(directory);
        let mut prefix = directory.clone();
        prefix.push(b'/');
        let removed = mover
            .range(prefix.clone()..)
            .take_while(|(path, _)| path.starts_with(&prefix))
            .filter(|(_, sides)| sides.new.is_none())
            .filter_map(|(_, sides)| sides.old);
        for old in removed {
            for new in &added {
                if likeness.alike(old, *new)? || likeness.exhausted {
                    return Ok(Some((directory.clone(), file.clone())));
                }
            }
        }
    }
    Ok(None)
}
