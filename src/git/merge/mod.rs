//! The merged tree (protocol section 1): what git's default merge of head into the base tip gives.
//!
//! Invariant: a tree is only given where git gives the same one. The tree level is decided here, in
//! the cases that are certain; anything else (a conflict, an ambiguous rename, a directory that was
//! renamed, a merge driver of the repository's own) is *undetermined*, with the path that made it so.

mod content;
mod directories;
mod moves;

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use self::content::Contents;
use self::moves::{Moves, Side};
use super::attributes::MergeAttributes;
use super::error::GitError;
use super::history::bases_of;
use super::tree::{Differences, Leaf, Place, Sides, Tree, differences, tree_of};

/// A merged tree, or why there is none; the reason is a clause fit for a sentence.
pub(super) type Merged = Result<ObjectId, String>;

/// Merges `head` into `base`, given all their merge bases, best first.
///
/// New trees and blobs are kept in the memory of `repo`.
pub(super) fn merge(
    repo: &gix::Repository,
    base: ObjectId,
    head: ObjectId,
    bases: &[ObjectId],
) -> Result<Merged, GitError> {
    if bases.contains(&head) {
        return tree_of(repo, base).map(Ok);
    }
    if bases.contains(&base) {
        return tree_of(repo, head).map(Ok);
    }
    let attributes = MergeAttributes::of(repo, tree_of(repo, base)?);
    let ancestor = match virtual_base(repo, bases, &attributes, 0)? {
        Ok(tree) => tree,
        Err(why) => return Ok(Err(format!("among several merge bases, {why}"))),
    };
    let (ours, theirs) = (tree_of(repo, base)?, tree_of(repo, head)?);
    merge_trees(repo, ancestor, ours, theirs, &attributes)
}

/// Merge bases are merged into one, oldest first, as git's recursive strategies do. Where that is not
/// clean git goes on with conflict markers in the text; here it is undetermined.
fn virtual_base<'repo>(
    repo: &'repo gix::Repository,
    bases: &[ObjectId],
    attributes: &MergeAttributes<'repo>,
    depth: usize,
) -> Result<Merged, GitError> {
    const DEEPEST: usize = 16;
    let mut bases = bases.iter().rev().copied();
    let Some(first) = bases.next() else {
        return Ok(Err("the histories are unrelated".to_owned()));
    };
    let mut tree = tree_of(repo, first)?;
    let mut merged = vec![first];
    for next in bases {
        if depth == DEEPEST {
            return Ok(Err(format!("merges cross more than {DEEPEST} times")));
        }
        let below = bases_of(repo, next, &merged)?;
        let ancestor = if below.is_empty() {
            repo.empty_tree().id
        } else {
            match virtual_base(repo, &below, attributes, depth + 1)? {
                Ok(tree) => tree,
                Err(why) => return Ok(Err(why)),
            }
        };
        match merge_trees(repo, ancestor, tree, tree_of(repo, next)?, attributes)? {
            Ok(both) => tree = both,
            Err(why) => return Ok(Err(why)),
        }
        merged.push(next);
    }
    Ok(Ok(tree))
}

/// What becomes of a path of the result; `None`: it is gone.
type Edits = BTreeMap<BString, Option<Leaf>>;

/// A three-way merge of trees: `theirs` is brought into `ours`.
fn merge_trees<'repo>(
    repo: &'repo gix::Repository,
    ancestor: ObjectId,
    ours: ObjectId,
    theirs: ObjectId,
    attributes: &MergeAttributes<'repo>,
) -> Result<Merged, GitError> {
    if ours == theirs || ancestor == theirs {
        return Ok(Ok(ours));
    }
    if ancestor == ours {
        return Ok(Ok(theirs));
    }
    let by_us = differences(repo, ancestor, ours)?;
    let by_them = differences(repo, ancestor, theirs)?;
    let merge = TreeMerge {
        repo,
        ancestor: Tree::new(repo, ancestor),
        ours: Tree::new(repo, ours),
        theirs: Tree::new(repo, theirs),
        by_us: &by_us,
        by_them: &by_them,
        attributes,
    };
    let edits = match merge.edits()? {
        Ok(edits) => edits,
        Err(why) => return Ok(Err(why)),
    };
    write(repo, ours, &edits).map(Ok)
}

struct TreeMerge<'a, 'repo> {
    repo: &'repo gix::Repository,
    ancestor: Tree<'repo>,
    ours: Tree<'repo>,
    theirs: Tree<'repo>,
    by_us: &'a Differences,
    by_them: &'a Differences,
    attributes: &'a MergeAttributes<'repo>,
}

/// `Err`: undetermined, and why.
type Sure<T> = Result<T, String>;

impl<'repo> TreeMerge<'_, 'repo> {
    /// The edits that bring `theirs` into `ours`.
    fn edits(&self) -> Result<Sure<Edits>, GitError> {
        let moves = match Moves::between(self.repo, self.by_us, self.by_them)? {
            Ok(moves) => moves,
            Err(why) => return Ok(Err(why)),
        };
        if let Err(why) = directories::check(self, self.repo)? {
            return Ok(Err(why));
        }
        let mut edits = Edits::new();
        for (path, theirs) in self.by_them {
            let edit = match self.by_us.get(path) {
                None => Ok(Some(theirs.new)),
                Some(ours) => self.both_changed(path.as_bstr(), *ours, *theirs, &moves)?,
            };
            match edit {
                Ok(None) => {}
                Ok(Some(leaf)) => {
                    edits.insert(path.clone(), leaf);
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        if let Err(why) = self.follow_moves(&moves, &mut edits)? {
            return Ok(Err(why));
        }
        if let Err(why) = self.check_places(&edits)? {
            return Ok(Err(why));
        }
        Ok(Ok(edits))
    }

    /// A path that both sides changed; `None`: ours stands as it is.
    fn both_changed(
        &self,
        path: &BStr,
        ours: Sides,
        theirs: Sides,
        moves: &Moves,
    ) -> Result<Sure<Option<Option<Leaf>>>, GitError> {
        if ours.new == theirs.new {
            return Ok(Ok(None));
        }
        match (ours.old, ours.new, theirs.new) {
            (Some(old), Some(one), Some(two)) => {
                let merged = self.contents(path, path).merge(old, one, two)?;
                Ok(merged.map(|leaf| Some(Some(leaf))))
            }
            (None, Some(one), Some(two)) => match moves.shared(path) {
                Some((from, old)) => {
                    let merged = self.contents(from, path).merge(old, one, two)?;
                    Ok(merged.map(|leaf| Some(Some(leaf))))
                }
                None => Ok(Err(format!("both sides added {path:?}"))),
            },
            // The content follows the rename; nothing is left at the old path (ours has nothing there).
            (_, None, Some(_)) if moves.goes_to(Side::Ours, path).is_some() => Ok(Ok(None)),
            (_, Some(_), None) if moves.goes_to(Side::Theirs, path).is_some() => Ok(Ok(Some(None))),
            _ => Ok(Err(format!(
                "one side changed {path:?} and the other removed it"
            ))),
        }
    }

    /// Renamed on one side, changed on the other: the change goes to the new path.
    fn follow_moves(&self, moves: &Moves, edits: &mut Edits) -> Result<Sure<()>, GitError> {
        for (side, from, to) in moves.iter() {
            let (mover, other, other_tree) = match side {
                Side::Ours => (self.by_us, self.by_them, &self.theirs),
                Side::Theirs => (self.by_them, self.by_us, &self.ours),
            };
            let source = mover.get(from).and_then(|sides| sides.old);
            let moved = mover.get(to).and_then(|sides| sides.new);
            let stayed = other.get(from).and_then(|sides| sides.new);
            let (Some(source), Some(moved), Some(stayed)) = (source, moved, stayed) else {
                return Ok(Err(format!(
                    "{from:?} was renamed on one side and removed on the other"
                )));
            };
            if ![source, moved, stayed]
                .iter()
                .all(|leaf| leaf.kind.is_regular())
            {
                return Ok(Err(format!(
                    "{from:?} was renamed on one side and is no regular file on the other"
                )));
            }
            if other_tree.at(to.as_bstr())? != Place::Nothing {
                return Ok(Err(format!(
                    "{from:?} was renamed to {to:?}, which the other side has too"
                )));
            }
            let (one, two) = match side {
                Side::Ours => (moved, stayed),
                Side::Theirs => (stayed, moved),
            };
            match self
                .contents(from.as_bstr(), to.as_bstr())
                .merge(source, one, two)?
            {
                Ok(leaf) => edits.insert(to.clone(), Some(leaf)),
                Err(why) => return Ok(Err(why)),
            };
        }
        Ok(Ok(()))
    }

    fn contents<'b>(&'b self, from: &'b BStr, to: &'b BStr) -> Contents<'b, 'repo> {
        Contents {
            repo: self.repo,
            attributes: self.attributes,
            from,
            to,
        }
    }

    /// No file may come to lie where a directory is, nor below a file.
    fn check_places(&self, edits: &Edits) -> Result<Sure<()>, GitError> {
        for (path, edit) in edits {
            if edit.is_none() {
                continue;
            }
            let clash = || {
                Ok(Err(format!(
                    "{path:?} is a file on one side and a directory on the other"
                )))
            };
            if let Place::Directory(id) = self.ours.at(path.as_bstr())? {
                // Their file stands in for a directory that we left as it was.
                let untouched = self.ancestor.at(path.as_bstr())? == Place::Directory(id);
                if !untouched {
                    return clash();
                }
            }
            for at in path.find_iter(b"/") {
                let above = path[..at].as_bstr();
                let is_file = matches!(self.ours.at(above)?, Place::Leaf(_));
                let goes = edits.get(above).is_some_and(Option::is_none);
                if is_file && !goes {
                    return clash();
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Applies the edits to a tree: removals first, so that a directory can take a file's place.
fn write(repo: &gix::Repository, tree: ObjectId, edits: &Edits) -> Result<ObjectId, GitError> {
    let failed = |error| GitError::object(format!("tree {tree}"), error);
    let mut editor = super::tree::tree(repo, tree)?
        .edit()
        .map_err(failed)?
        .detach();
    for (path, _) in edits.iter().filter(|(_, leaf)| leaf.is_none()) {
        editor.remove_leaf(components(path)).map_err(failed)?;
    }
    for (path, leaf) in edits {
        if let Some(leaf) = leaf {
            editor
                .upsert(components(path), leaf.git_kind(), leaf.id)
                .map_err(failed)?;
        }
    }
    editor
        .write(|tree| repo.write_object(tree).map(gix::Id::detach))
        .map_err(failed)
}

fn components(path: &BString) -> impl Iterator<Item = &BStr> {
    path.split_str(b"/").map(ByteSlice::as_bstr)
}
