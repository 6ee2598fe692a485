//! Whether a decision read what a push to its base branch changed (protocol 5.5). PURE.
//!
//! Invariant: when in doubt it did. A decision that is not looked at again must be what it would be on
//! the new base tip.

use std::collections::BTreeSet;

use super::facts::{Listed, Plan};
use crate::model::{Change, Class, EntryKind, Snapshot};

/// A path that a push changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pushed {
    pub path: String,
    pub how: How,
}

/// How a push changed a path; both sides of a rename are paths of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    Added,
    Removed,
    /// Any other change: of content, mode or type.
    Changed,
}

/// Whether the decision on `snapshot` could be another one now that `pushed` changed on its base branch.
pub fn reads(snapshot: &Snapshot, pushed: &[Pushed]) -> bool {
    let (Some(write_set), Some(tree)) = (snapshot.write_set.known(), snapshot.tree.known()) else {
        return true;
    };
    let is_whole = snapshot.merged_tree.known().is_some()
        && snapshot.merge_bases.known().is_some()
        && snapshot.sources.known().is_some();
    if !is_whole {
        return true;
    }
    let plan = Plan::new(&snapshot.contract);
    let patch = Patch::of(write_set);
    let scopes = plan.scopes();
    let is_read = |one: &Pushed| {
        let class = plan.class(&one.path);
        let by_class = match class {
            // Sources, fixtures, the contract, and what decides how they are read.
            Class::Contract
            | Class::Fixture
            | Class::Property
            | Class::Harness
            | Class::Golden
            | Class::Test
            | Class::Note => true,
            // The last file of a rule may be gone, or the first one come.
            Class::Production => {
                one.how == How::Removed || (one.how == How::Added && !tree.has_production)
            }
            Class::Other => false,
        };
        let first_of_a_rule = one.how == How::Added
            && tree
                .prefixes
                .iter()
                .any(|(prefix, has_files)| !has_files && one.path.starts_with(prefix.as_str()));
        by_class
            || first_of_a_rule
            || !scopes.matching(&one.path, &mut 0).is_empty()
            || tree.files.contains_key(&one.path)
            || patch.meets(one)
    };
    pushed.iter().any(is_read) || collides(&plan, write_set, pushed)
}

/// Where a patch is at work.
struct Patch<'a> {
    paths: BTreeSet<&'a str>,
    /// Folders that hold one of them; the root is none.
    folders: BTreeSet<&'a str>,
    at_root: bool,
}

impl<'a> Patch<'a> {
    fn of(write_set: &'a [Change]) -> Self {
        let paths: BTreeSet<&str> = write_set
            .iter()
            .flat_map(|change| [Some(change.path.as_str()), change.old_path.as_deref()])
            .flatten()
            .collect();
        let folders = paths.iter().filter_map(|path| folder(path)).collect();
        let at_root = paths.iter().any(|path| folder(path).is_none());
        Self {
            paths,
            folders,
            at_root,
        }
    }

    /// The same path, a file in a folder's place, or a path that came or went where the patch is at work:
    /// git may take that for a renamed folder.
    fn meets(&self, pushed: &Pushed) -> bool {
        let path = pushed.path.as_str();
        let above = || std::iter::successors(folder(path), |above| folder(above));
        if self.paths.contains(path) || above().any(|above| self.paths.contains(above)) {
            return true;
        }
        let below = format!("{path}/");
        let next = self.paths.range(below.as_str()..).next();
        if next.is_some_and(|next| next.starts_with(&below)) {
            return true;
        }
        pushed.how != How::Changed
            && (above().any(|above| self.folders.contains(above))
                || (folder(path).is_none() && self.at_root))
    }
}

fn folder(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder)
}

/// Whether a path that came is another spelling of one of the patch's.
fn collides(plan: &Plan, write_set: &[Change], pushed: &[Pushed]) -> bool {
    let mut added: Vec<&str> = pushed
        .iter()
        .filter(|one| one.how == How::Added)
        .map(|one| one.path.as_str())
        .collect();
    added.sort_unstable();
    let listing: Vec<Listed<'_>> = added
        .into_iter()
        .map(|path| Listed {
            path,
            kind: EntryKind::File,
        })
        .collect();
    let mut noted = write_set.to_vec();
    for change in &mut noted {
        change.collides_with = None;
    }
    plan.note_collisions(&mut noted, &listing);
    noted
        .iter()
        .zip(write_set)
        .any(|(now, before)| now.collides_with.is_some() && before.collides_with.is_none())
}
