//! The write-set (protocol section 1) from listings and from the rows of a comparison.
//!
//! The forge tells one merge base; [`super::history`] makes sure that there is no other.

use std::collections::BTreeMap;

use crate::gate::facts::Plan;
use crate::model::{Change, ChangeStatus, Entry, Sha};

use super::super::patch::hunks;
use super::super::wire::ListedFile;
use super::listing::{Item, Listing};

/// What changed at one path between the merge base and head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Blob or submodule commit at head; `None` when head has nothing there.
    pub new: Option<Sha>,
    pub status: ChangeStatus,
    pub old_path: Option<String>,
    /// Unified hunks.
    pub text: Option<String>,
}

/// Rows by path; both sides of a rename have one.
pub(super) type Patch = BTreeMap<String, Row>;

/// The rows that a comparison lists.
pub(super) fn patch_of(files: Vec<ListedFile>) -> Patch {
    let mut patch = Patch::new();
    for file in files {
        let status = match file.status.as_str() {
            "added" | "copied" => ChangeStatus::Added,
            "removed" => ChangeStatus::Removed,
            "renamed" => ChangeStatus::Renamed,
            "changed" => ChangeStatus::TypeChanged,
            "unchanged" => continue,
            _ => ChangeStatus::Modified,
        };
        let old_path = file
            .previous_filename
            .filter(|_| status == ChangeStatus::Renamed);
        if let Some(old) = &old_path {
            patch.entry(old.clone()).or_insert(Row {
                new: None,
                status: ChangeStatus::Removed,
                old_path: None,
                text: None,
            });
        }
        let row = Row {
            new: file.sha.filter(|_| status != ChangeStatus::Removed),
            status,
            old_path,
            text: file.patch,
        };
        patch.insert(file.filename, row);
    }
    patch
}

/// Every path whose entry differs between two listings, with `texts` for what they tell of it.
pub(super) fn patch_between(old: &Listing, new: &Listing, texts: &Patch) -> Patch {
    differences(old, new)
        .into_iter()
        .map(|(path, (before, after))| {
            let told = texts.get(path);
            let row = Row {
                new: after.map(|item| item.id.clone()),
                status: status(before, after),
                old_path: told.and_then(|row| row.old_path.clone()),
                text: told.and_then(|row| row.text.clone()),
            };
            (path.to_owned(), row)
        })
        .collect()
}

type Sides<'a> = (Option<&'a Item>, Option<&'a Item>);

fn same(a: Option<&Item>, b: Option<&Item>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.kind == b.kind && a.id == b.id,
        (None, None) => true,
        _ => false,
    }
}

pub(super) fn differences<'a>(old: &'a Listing, new: &'a Listing) -> BTreeMap<&'a str, Sides<'a>> {
    let mut found = BTreeMap::new();
    let (mut left, mut right) = (old.items().iter().peekable(), new.items().iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return found,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.path.cmp(&b.path),
        };
        let sides = (
            left.next_if(|_| order.is_le()),
            right.next_if(|_| order.is_ge()),
        );
        if let (Some(item), _) | (_, Some(item)) = sides
            && !same(sides.0, sides.1)
        {
            found.insert(item.path.as_str(), sides);
        }
    }
}

fn status(old: Option<&Item>, new: Option<&Item>) -> ChangeStatus {
    match (old, new) {
        (None, _) => ChangeStatus::Added,
        (Some(_), None) => ChangeStatus::Removed,
        (Some(old), Some(new)) => {
            let alike = old.kind.is_regular() && new.kind.is_regular() || old.kind == new.kind;
            if old.id == new.id || !alike {
                ChangeStatus::TypeChanged
            } else {
                ChangeStatus::Modified
            }
        }
    }
}

/// What the write-set is made from.
pub(super) struct Sources<'a> {
    pub base: &'a Listing,
    /// `None` when there is no merged tree.
    pub merged: Option<&'a Listing>,
    /// Head's own tree, where [`needs_head`] asks for it.
    pub head: Option<&'a Listing>,
    /// From the merge base to head.
    pub patch: &'a Patch,
}

/// Whether the rows alone leave open what stands at head: they tell no mode.
pub(super) fn needs_head(base: &Listing, merged: Option<&Listing>, patch: &Patch) -> bool {
    let Some(merged) = merged else {
        return !patch.is_empty();
    };
    patch.iter().any(|(path, row)| {
        let before = base.get(path);
        same(before, merged.get(path))
            && before.is_some_and(|item| row.new.as_ref() == Some(&item.id))
    })
}

/// Every change, sorted by path; shebangs and collisions are not looked up yet.
pub(super) fn changes(sources: &Sources<'_>, plan: &Plan) -> Vec<Change> {
    let mut places: BTreeMap<&str, Place<'_>> = BTreeMap::new();
    if let Some(merged) = sources.merged {
        for (path, (old, new)) in differences(sources.base, merged) {
            let place = Place {
                base: old,
                merged: new.map(Item::entry),
                status: status(old, new),
            };
            places.insert(path, place);
        }
    }
    for (path, row) in sources.patch {
        if let Some(place) = beyond(sources, path, row) {
            places.entry(path).or_insert(place);
        }
    }
    let renames = renames(&places, sources.patch);
    places
        .iter()
        .map(|(path, place)| {
            let old_path = renames.get(path);
            let text = sources.patch.get(*path).and_then(|row| row.text.as_deref());
            Change {
                path: (*path).to_owned(),
                raw_path_hex: None,
                old_path: old_path.map(|old| (*old).to_owned()),
                status: match old_path {
                    Some(_) => ChangeStatus::Renamed,
                    None => place.status,
                },
                base: place.base.map(Item::entry),
                merged: place.merged.clone(),
                hunks: match text {
                    Some(text) if place.is_text() && plan.needs_hunks(path) => hunks(text),
                    _ => Vec::new(),
                },
                only: None,
                shebang: false,
                collides_with: None,
            }
        })
        .collect()
}

struct Place<'a> {
    base: Option<&'a Item>,
    merged: Option<Entry>,
    status: ChangeStatus,
}

impl Place<'_> {
    /// Neither a link nor a submodule on either side: their patches are no text edits.
    fn is_text(&self) -> bool {
        self.base.is_none_or(|item| item.kind.is_regular())
            && self
                .merged
                .as_ref()
                .is_none_or(|entry| entry.kind.is_regular())
    }
}

/// A path that differs between merge base and head, if it is not at head as it is at the base tip.
fn beyond<'a>(sources: &Sources<'a>, path: &str, row: &Row) -> Option<Place<'a>> {
    let before = sources.base.get(path);
    let at_head = sources.head.map(|head| head.get(path));
    let unchanged = match at_head {
        Some(item) => same(before, item),
        None => row.new.is_none() && before.is_none(),
    };
    if unchanged {
        return None;
    }
    let merged = match sources.merged {
        Some(merged) => merged.get(path),
        None => at_head.flatten(),
    };
    Some(Place {
        base: before,
        merged: merged.map(Item::entry),
        status: match row.status {
            // Without its other side it is an addition.
            ChangeStatus::Renamed => ChangeStatus::Added,
            other => other,
        },
    })
}

/// New path → old path, where both sides are in the write-set as such.
fn renames<'a>(
    places: &BTreeMap<&'a str, Place<'_>>,
    patch: &'a Patch,
) -> BTreeMap<&'a str, &'a str> {
    let is = |path: &str, status| places.get(path).is_some_and(|place| place.status == status);
    patch
        .iter()
        .filter_map(|(path, row)| Some((path.as_str(), row.old_path.as_deref()?)))
        .filter(|(new, old)| is(new, ChangeStatus::Added) && is(old, ChangeStatus::Removed))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::listing::tests::listing;
    use super::*;
    use crate::model::{BlobFact, ContractFile, Layer};

    fn file(status: &str, name: &str, old: Option<&str>, n: u8) -> ListedFile {
        ListedFile {
            sha: Some(format!("{n:040x}").parse().expect("an id")),
            filename: name.to_owned(),
            status: status.to_owned(),
            previous_filename: old.map(str::to_owned),
            patch: Some("@@ -1 +1 @@\n-a\n+b".to_owned()),
        }
    }

    fn found(
        base: &Listing,
        merged: Option<&Listing>,
        head: Option<&Listing>,
        files: Vec<ListedFile>,
    ) -> Vec<(String, ChangeStatus, Option<String>)> {
        let contract: BTreeMap<Layer, ContractFile> = Layer::ALL
            .into_iter()
            .map(|layer| {
                let file = ContractFile {
                    path: layer.default_path().to_owned(),
                    base: BlobFact::Absent,
                    merged: None,
                };
                (layer, file)
            })
            .collect();
        let plan = Plan::new(&contract);
        let patch = patch_of(files);
        assert_eq!(
            needs_head(base, merged, &patch),
            head.is_some(),
            "the test gives what is asked for"
        );
        let sources = Sources {
            base,
            merged,
            head,
            patch: &patch,
        };
        changes(&sources, &plan)
            .into_iter()
            .map(|change| (change.path, change.status, change.old_path))
            .collect()
    }

    fn row(path: &str, status: ChangeStatus) -> (String, ChangeStatus, Option<String>) {
        (path.to_owned(), status, None)
    }

    #[test]
    fn both_sides_of_a_rename_are_in_it() {
        let base = listing(&[('f', "src/a.py", 1)]);
        let merged = listing(&[('f', "src/b.py", 2)]);
        let files = vec![file("renamed", "src/b.py", Some("src/a.py"), 2)];
        assert_eq!(
            found(&base, Some(&merged), None, files),
            [
                row("src/a.py", ChangeStatus::Removed),
                (
                    "src/b.py".to_owned(),
                    ChangeStatus::Renamed,
                    Some("src/a.py".to_owned())
                ),
            ]
        );
    }

    #[test]
    fn a_mode_change_and_a_link_in_a_files_place_change_the_type() {
        let base = listing(&[('f', "a", 1), ('f', "b", 2), ('s', "c", 3)]);
        let merged = listing(&[('x', "a", 1), ('l', "b", 4), ('s', "c", 5)]);
        let found = found(&base, Some(&merged), None, Vec::new());
        assert_eq!(
            found,
            [
                row("a", ChangeStatus::TypeChanged),
                row("b", ChangeStatus::TypeChanged),
                row("c", ChangeStatus::Modified),
            ]
        );
    }

    #[test]
    fn what_the_merge_undoes_is_in_it() {
        // Head changed `a`, the base tip reverted it; the merge keeps the base tip's.
        let base = listing(&[('f', "a", 1)]);
        let files = vec![file("modified", "a", None, 9)];
        assert_eq!(
            found(&base, Some(&base), None, files),
            [row("a", ChangeStatus::Modified)]
        );
        // Head removed what the base tip still has.
        let files = vec![file("removed", "a", None, 1)];
        assert_eq!(
            found(&base, Some(&base), None, files),
            [row("a", ChangeStatus::Removed)]
        );
    }

    #[test]
    fn what_is_at_head_as_at_the_base_tip_is_not_in_it_unless_its_mode_differs() {
        let base = listing(&[('f', "a", 1)]);
        let files = || vec![file("modified", "a", None, 1)];
        assert_eq!(found(&base, Some(&base), Some(&base), files()), []);
        let executable = listing(&[('x', "a", 1)]);
        assert_eq!(
            found(&base, Some(&base), Some(&executable), files()),
            [row("a", ChangeStatus::Modified)]
        );
        // Both have removed it.
        let files = vec![file("removed", "gone", None, 1)];
        assert_eq!(found(&base, Some(&base), None, files), []);
    }

    #[test]
    fn without_a_merged_tree_heads_own_entries_stand() {
        let base = listing(&[('f', "a", 1)]);
        let head = listing(&[('f', "a", 2), ('x', "new", 3)]);
        let files = vec![
            file("modified", "a", None, 2),
            file("added", "new", None, 3),
        ];
        assert_eq!(
            found(&base, None, Some(&head), files),
            [
                row("a", ChangeStatus::Modified),
                row("new", ChangeStatus::Added)
            ]
        );
    }

    #[test]
    fn trees_tell_what_a_cut_list_leaves_out() {
        let old = listing(&[('f', "a", 1), ('f', "b", 2)]);
        let new = listing(&[('f', "a", 1), ('x', "b", 2), ('f', "c", 3)]);
        let patch = patch_between(&old, &new, &Patch::new());
        let rows: Vec<_> = patch
            .iter()
            .map(|(path, row)| (path.as_str(), row.status))
            .collect();
        assert_eq!(
            rows,
            [("b", ChangeStatus::TypeChanged), ("c", ChangeStatus::Added)]
        );
    }
}
