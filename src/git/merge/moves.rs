//! Renames that decide where a merge puts the other side's change.
//!
//! git pairs removed with added files by likeness; ties and competing candidates are settled by the
//! order of its tables. Only pairs that no other pair competes with are taken here.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BStr, BString, ByteSlice as _};

use super::Sure;
use crate::git::error::GitError;
use crate::git::likeness::Likeness;
use crate::git::tree::{Differences, Leaf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// The renames that matter: the source is changed or removed on the other side.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Made by one side: (side, old path) → new path.
    found: BTreeMap<(Side, BString), BString>,
    /// Made by both sides alike: new path → the file that was there before both.
    shared: BTreeMap<BString, (BString, Leaf)>,
}

impl Moves {
    /// Finds them; `Err` when a rename that matters is not certain.
    pub fn between(
        repo: &gix::Repository,
        by_us: &Differences,
        by_them: &Differences,
    ) -> Result<Sure<Self>, GitError> {
        let mut likeness = Likeness::new(repo);
        let (ours, theirs) = (Candidates::of(by_us), Candidates::of(by_them));
        if let Err(why) = both_added(&mut likeness, &ours, &theirs)? {
            return Ok(Err(why));
        }
        let mut moves = Self::default();
        for (side, here, there, changed) in [
            (Side::Ours, &ours, &theirs, by_them),
            (Side::Theirs, &theirs, &ours, by_us),
        ] {
            for (path, leaf) in &here.removed {
                if !changed.contains_key(*path) {
                    continue;
                }
                let target = match here.target_of(&mut likeness, path, *leaf)? {
                    Ok(target) => target,
                    Err(why) => return Ok(Err(why)),
                };
                let Some(target) = target else { continue };
                let other = match there.removed.get(*path) {
                    Some(_) => there.target_of(&mut likeness, path, *leaf)?,
                    None => Ok(None),
                };
                match other {
                    Err(why) => return Ok(Err(why)),
                    Ok(Some(other)) if other == target => {
                        let source = ((*path).to_owned(), *leaf);
                        moves.shared.insert(target.to_owned(), source);
                    }
                    Ok(_) => {
                        moves
                            .found
                            .insert((side, (*path).to_owned()), target.to_owned());
                    }
                }
            }
        }
        Ok(Ok(moves))
    }

    pub fn goes_to(&self, side: Side, path: &BStr) -> Option<&BString> {
        self.found.get(&(side, path.to_owned()))
    }

    /// What a path that both sides added was before both renamed it.
    pub fn shared(&self, path: &BStr) -> Option<(&BStr, Leaf)> {
        let (from, leaf) = self.shared.get(path)?;
        Some((from.as_bstr(), *leaf))
    }

    /// Side, old path, new path.
    pub fn iter(&self) -> impl Iterator<Item = (Side, &BString, &BString)> {
        self.found
            .iter()
            .map(|((side, from), to)| (*side, from, to))
    }
}

/// A file that both sides added alike may also be the target of a rename that only one side made.
fn both_added(
    likeness: &mut Likeness<'_>,
    ours: &Candidates<'_>,
    theirs: &Candidates<'_>,
) -> Result<Sure<()>, GitError> {
    for (path, leaf) in &ours.added {
        if theirs.added.get(path) != Some(leaf) {
            continue;
        }
        let one = ours.sources_of(likeness, *leaf)?;
        let two = theirs.sources_of(likeness, *leaf)?;
        if likeness.exhausted || one != two {
            return Ok(Err(format!(
                "{path:?} was added on both sides and may have been renamed on one"
            )));
        }
    }
    Ok(Ok(()))
}

/// What one side removed and added.
struct Candidates<'a> {
    removed: BTreeMap<&'a BStr, Leaf>,
    added: BTreeMap<&'a BStr, Leaf>,
}

impl<'a> Candidates<'a> {
    fn of(differences: &'a Differences) -> Self {
        let mut candidates = Self {
            removed: BTreeMap::new(),
            added: BTreeMap::new(),
        };
        for (path, sides) in differences {
            match (sides.old, sides.new) {
                (Some(old), None) => candidates.removed.insert(path.as_bstr(), old),
                (None, Some(new)) => candidates.added.insert(path.as_bstr(), new),
                _ => None,
            };
        }
        candidates
    }

    /// Where a removed file went, if anywhere.
    fn target_of(
        &self,
        likeness: &mut Likeness<'_>,
        path: &BStr,
        leaf: Leaf,
    ) -> Result<Sure<Option<&'a BStr>>, GitError> {
        if let Some(target) = self.exact(likeness, leaf)? {
            return Ok(Ok(Some(target)));
        }
        let mut targets = Vec::new();
        for (target, new) in &self.added {
            if likeness.alike(leaf, *new)? {
                targets.push((*target, *new));
            }
        }
        let ambiguous = || {
            Ok(Err(format!(
                "{path:?} may have been renamed to more than one path"
            )))
        };
        if likeness.exhausted {
            return ambiguous();
        }
        let (target, new) = match targets.as_slice() {
            [] => return Ok(Ok(None)),
            [one] => *one,
            _ => return ambiguous(),
        };
        let sources = self.sources_of(likeness, new)?;
        if likeness.exhausted || sources.len() != 1 {
            return ambiguous();
        }
        Ok(Ok(Some(target)))
    }

    /// The added file with the very bytes of a removed one, when each is the only one of its bytes.
    fn exact(&self, likeness: &mut Likeness<'_>, leaf: Leaf) -> Result<Option<&'a BStr>, GitError> {
        let same =
            |other: &Leaf| other.id == leaf.id && other.kind.is_regular() == leaf.kind.is_regular();
        if !leaf.kind.is_regular() || likeness.size(leaf.id)? == 0 {
            return Ok(None);
        }
        let mut targets = self.added.iter().filter(|(_, new)| same(new));
        let target = targets.next().map(|(path, _)| *path);
        let alone =
            targets.next().is_none() && self.removed.values().filter(|old| same(old)).count() == 1;
        Ok(target.filter(|_| alone))
    }

    /// Removed files that an added one may have been.
    fn sources_of(
        &self,
        likeness: &mut Likeness<'_>,
        new: Leaf,
    ) -> Result<BTreeSet<&'a BStr>, GitError> {
        let mut sources = BTreeSet::new();
        for (path, old) in &self.removed {
            if likeness.alike(*old, new)? {
                sources.insert(*path);
            }
        }
        Ok(sources)
    }
}
