//! The write-set (protocol section 1).

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice as _};

use super::error::GitError;
use super::tree::{Differences, Leaf, Sides, Tree, differences};
use super::{hunks, parallel, renames};
use crate::gate::facts::Plan;
use crate::model::{Change, ChangeStatus};

/// What the write-set is made from.
pub(super) struct WriteSet<'a, 'repo> {
    pub repo: &'repo gix::Repository,
    pub plan: &'a Plan,
    pub base: &'a Tree<'repo>,
    /// Head's own tree.
    pub head: ObjectId,
    /// The trees of all merge bases, the best first.
    pub bases: &'a [ObjectId],
    pub merged: Option<&'a Tree<'repo>>,
}

/// A path of the write-set.
#[derive(Debug, Clone, Copy)]
struct Place {
    base: Option<Leaf>,
    /// In the merged tree; at head when there is none.
    merged: Option<Leaf>,
    /// The sides by which its status is told.
    told: Sides,
}

/// A blob larger than this is taken for one that begins with `#!`: it is not read for two bytes.
const LARGEST_PROBE: u64 = 64 * 1024 * 1024;

impl WriteSet<'_, '_> {
    /// Every change, sorted by path; collisions are not noted yet.
    pub fn changes(&self) -> Result<Vec<Change>, GitError> {
        let patch = match self.bases.first() {
            Some(base) => differences(self.repo, *base, self.head)?,
            None => Differences::new(),
        };
        let places = self.places(&patch)?;
        let old_paths = self.renames(&places)?;
        let rows: Vec<(&BString, &Place)> = places.iter().collect();
        let details = Details {
            plan: self.plan,
            patch: &patch,
            old_paths: &old_paths,
        };
        let changes = parallel::map_blobs(
            self.repo,
            &rows,
            |(_, place)| place.told.new.or(place.told.old).map(|leaf| leaf.id),
            |repo, (path, place)| details.change(repo, path, place),
        );
        let mut changes = changes.into_iter().collect::<Result<Vec<_>, _>>()?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    fn places(&self, patch: &Differences) -> Result<BTreeMap<BString, Place>, GitError> {
        let mut places = BTreeMap::new();
        if let Some(merged) = self.merged {
            for (path, sides) in differences(self.repo, self.base.id, merged.id)? {
                let place = Place {
                    base: sides.old,
                    merged: sides.new,
                    told: sides,
                };
                places.insert(path, place);
            }
        }
        self.add(patch, &mut places)?;
        for base in self.bases.iter().skip(1) {
            self.add(&differences(self.repo, *base, self.head)?, &mut places)?;
        }
        Ok(places)
    }

    /// Adds what differs between a merge base and head and is not at head as it is at the base tip.
    fn add(
        &self,
        differences: &Differences,
        places: &mut BTreeMap<BString, Place>,
    ) -> Result<(), GitError> {
        for (path, sides) in differences {
            if places.contains_key(path) {
                continue;
            }
            let base = self.base.at(path.as_bstr())?.leaf();
            if base == sides.new {
                continue;
            }
            let merged = match self.merged {
                Some(tree) => tree.at(path.as_bstr())?.leaf(),
                None => sides.new,
            };
            let told = if base == merged {
                *sides
            } else {
                Sides {
                    old: base,
                    new: merged,
                }
            };
            let place = Place { base, merged, told };
            places.insert(path.clone(), place);
        }
        Ok(())
    }

    /// New path → old path.
    fn renames(
        &self,
        places: &BTreeMap<BString, Place>,
    ) -> Result<BTreeMap<BString, BString>, GitError> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (path, place) in places {
            match (place.told.old, place.told.new) {
                (Some(old), None) => removed.push((path, old)),
                (None, Some(new)) => added.push((path, new)),
                _ => {}
            }
        }
        renames::find(self.repo, &removed, &added)
    }
}

/// What is looked up for each path on its own, on any thread.
struct Details<'a> {
    plan: &'a Plan,
    /// From the first merge base to head.
    patch: &'a Differences,
    /// New path → old path.
    old_paths: &'a BTreeMap<BString, BString>,
}

impl Details<'_> {
    fn change(
        &self,
        repo: &gix::Repository,
        path: &BString,
        place: &Place,
    ) -> Result<Change, GitError> {
        let (patch, old_path) = (self.patch, self.old_paths.get(path));
        let text = path.to_str_lossy().into_owned();
        let hunks = if self.plan.needs_hunks(&text) {
            let old = patch
                .get(old_path.unwrap_or(path))
                .and_then(|sides| sides.old);
            let new = patch.get(path).and_then(|sides| sides.new);
            hunks::between(repo, old, new)?
        } else {
            Vec::new()
        };
        let shebang = match place.merged {
            Some(leaf) if leaf.kind.is_regular() && self.plan.needs_shebang(&text) => {
                begins_with_shebang(repo, leaf.id)?
            }
            _ => false,
        };
        let mut change = Change {
            raw_path_hex: path.to_str().is_err().then(|| hex::encode(path.as_slice())),
            old_path: old_path.map(|old| old.to_str_lossy().into_owned()),
            status: status(place.told, old_path.is_some()),
            base: place.base.map(Leaf::to_entry),
            merged: place.merged.map(Leaf::to_entry),
            hunks,
            shebang,
            only: None,
            collides_with: None,
            path: text,
        };
        if self.plan.needs_texts(&change)
            && let (Some(old), Some(new)) = (
                hunks::text(repo, place.base)?,
                hunks::text(repo, place.merged)?,
            )
        {
            change.only = self.plan.only(&change.path, &old, &new);
        }
        Ok(change)
    }
}

fn status(sides: Sides, is_renamed: bool) -> ChangeStatus {
    match (sides.old, sides.new) {
        (None, Some(_)) if is_renamed => ChangeStatus::Renamed,
        (None, _) => ChangeStatus::Added,
        (Some(_), None) => ChangeStatus::Removed,
        (Some(old), Some(new)) => {
            let same_sort = old.kind.is_regular() && new.kind.is_regular() || old.kind == new.kind;
            if old.id == new.id || !same_sort {
                ChangeStatus::TypeChanged
            } else {
                ChangeStatus::Modified
            }
        }
    }
}

fn begins_with_shebang(repo: &gix::Repository, id: ObjectId) -> Result<bool, GitError> {
    let unreadable = |error| GitError::object(format!("blob {id}"), error);
    if repo.find_header(id).map_err(unreadable)?.size() > LARGEST_PROBE {
        return Ok(true);
    }
    let blob = repo.find_blob(id).map_err(unreadable)?;
    Ok(blob.data.starts_with(b"#!"))
}
