//! What a tree holds: fetched whole, kept by the tree's id.

use std::collections::VecDeque;

use crate::forge::ForgeError;
use crate::gate::facts::Listed;
use crate::model::{BlobFact, Entry, EntryKind, Fact, Sha};

use super::super::wire::{Tree, TreeItem};
use super::{GatherError, Gatherer};

/// Requests for one tree that is too large for a single answer.
const WALK_REQUESTS: usize = 300;
/// Some forges do not have it as an object.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A file, link or submodule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub path: String,
    pub kind: EntryKind,
    pub id: Sha,
    /// Bytes of a blob, where the forge said.
    pub size: Option<u64>,
}

impl Item {
    pub fn entry(&self) -> Entry {
        Entry {
            kind: self.kind,
            id: self.id.clone(),
        }
    }
}

/// What a path is in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    Nothing,
    Directory,
    Item(&'a Item),
}

impl Place<'_> {
    /// The fact about what is no regular file; `None` for one that is.
    pub fn irregular(self) -> Option<BlobFact> {
        match self {
            Self::Nothing => Some(BlobFact::Absent),
            Self::Directory => Some(BlobFact::NotRegular("a directory".to_owned())),
            Self::Item(item) => match item.kind {
                EntryKind::Symlink => Some(BlobFact::NotRegular("a symlink".to_owned())),
                EntryKind::Submodule => Some(BlobFact::NotRegular("a submodule".to_owned())),
                EntryKind::File | EntryKind::Executable => None,
            },
        }
    }
}

/// Every item of a tree, sorted by path; each path once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing {
    items: Vec<Item>,
}

impl Listing {
    /// `Err` names a path that stands twice: two names that are shown as the same text.
    fn new(mut items: Vec<Item>) -> Result<Self, String> {
        items.sort_by(|a, b| a.path.cmp(&b.path));
        match items.windows(2).find(|pair| pair[0].path == pair[1].path) {
            Some(pair) => Err(pair[0].path.clone()),
            None => Ok(Self { items }),
        }
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn get(&self, path: &str) -> Option<&Item> {
        let at = self
            .items
            .binary_search_by(|item| item.path.as_str().cmp(path));
        at.ok().map(|at| &self.items[at])
    }

    pub fn place(&self, path: &str) -> Place<'_> {
        match self.get(path) {
            Some(item) => Place::Item(item),
            None if self.below(path).next().is_some() => Place::Directory,
            None => Place::Nothing,
        }
    }

    /// What lies below a directory (without a final `/`), or the item of that name.
    pub fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = &'a Item> {
        let start = self
            .items
            .partition_point(|item| item.path.as_str() < directory);
        self.items[start..]
            .iter()
            .take_while(move |item| item.path.starts_with(directory))
            .filter(move |item| {
                item.path.len() == directory.len()
                    || item.path.as_bytes().get(directory.len()) == Some(&b'/')
            })
    }

    pub fn listed(&self) -> Vec<Listed<'_>> {
        self.items
            .iter()
            .map(|item| Listed {
                path: &item.path,
                kind: item.kind,
            })
            .collect()
    }

    /// One text an item: kind, id, size or nothing, path; each ends at NUL, which no path holds.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.items.len() * 96);
        for item in &self.items {
            let kind = match item.kind {
                EntryKind::File => 'f',
                EntryKind::Executable => 'x',
                EntryKind::Symlink => 'l',
                EntryKind::Submodule => 's',
            };
            let size = item.size.map_or_else(String::new, |size| size.to_string());
            let line = format!("{kind}{}{size} {}\0", item.id, item.path);
            bytes.extend_from_slice(line.as_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut items = Vec::new();
        for line in text.split_terminator('\0') {
            let kind = match line.as_bytes().first()? {
                b'f' => EntryKind::File,
                b'x' => EntryKind::Executable,
                b'l' => EntryKind::Symlink,
                b's' => EntryKind::Submodule,
                _ => return None,
            };
            let (size, path) = line.get(41..)?.split_once(' ')?;
            items.push(Item {
                path: path.to_owned(),
                kind,
                id: line.get(1..41)?.parse().ok()?,
                size: match size {
                    "" => None,
                    size => Some(size.parse().ok()?),
                },
            });
        }
        Self::new(items).ok()
    }
}

impl Gatherer<'_> {
    /// The listing of a tree, from the store or the forge. A tree that can't be had whole is a fact.
    pub(super) async fn listing(&self, tree: &Sha) -> Result<Fact<Listing>, GatherError> {
        if tree.as_str() == EMPTY_TREE {
            return Ok(Fact::Known(Listing::default()));
        }
        let repo = self.client.repo();
        if let Some(listing) = self
            .store
            .listing(repo, tree)
            .await?
            .and_then(|bytes| Listing::decode(&bytes))
        {
            return Ok(Fact::Known(listing));
        }
        let items = match self.fetch_tree(tree).await {
            Ok(Some(items)) => items,
            Ok(None) => {
                return Ok(Fact::Truncated(format!(
                    "tree {tree} is larger than {WALK_REQUESTS} requests can list"
                )));
            }
            Err(ForgeError::NotFound(_)) => {
                return Ok(Fact::Missing(format!(
                    "the forge does not have tree {tree}"
                )));
            }
            Err(error @ ForgeError::TooLarge { .. }) => {
                return Ok(Fact::Truncated(format!("tree {tree}: {error}")));
            }
            Err(error) => return Err(error.into()),
        };
        match Listing::new(items) {
            Ok(listing) => {
                self.store
                    .put_listing(repo, tree, &listing.encode())
                    .await?;
                Ok(Fact::Known(listing))
            }
            Err(path) => Ok(Fact::Unavailable(format!(
                "tree {tree} has two entries that the forge shows as {path:?}"
            ))),
        }
    }

    /// `None` when it takes too many requests.
    async fn fetch_tree(&self, root: &Sha) -> Result<Option<Vec<Item>>, ForgeError> {
        let mut items = Vec::new();
        let mut rest = VecDeque::from([(String::new(), root.clone())]);
        let mut requests = 0;
        while let Some((prefix, id)) = rest.pop_front() {
            requests += 2;
            if requests > WALK_REQUESTS {
                return Ok(None);
            }
            let whole = self.client.tree(&id, true).await?;
            if !whole.truncated {
                add(&prefix, whole, &mut items, None)?;
                continue;
            }
            let level = self.client.tree(&id, false).await?;
            if level.truncated {
                return Ok(None);
            }
            add(&prefix, level, &mut items, Some(&mut rest))?;
        }
        Ok(Some(items))
    }
}

/// Adds a tree's files. Its directories go to `rest`, or were listed with it.
fn add(
    prefix: &str,
    tree: Tree,
    items: &mut Vec<Item>,
    mut rest: Option<&mut VecDeque<(String, Sha)>>,
) -> Result<(), ForgeError> {
    for TreeItem {
        path,
        mode,
        sha,
        size,
    } in tree.tree
    {
        let path = format!("{prefix}{path}");
        let kind = match u32::from_str_radix(&mode, 8).map(|mode| mode & 0o170_000) {
            Ok(0o040_000) => {
                if let Some(rest) = rest.as_deref_mut() {
                    rest.push_back((format!("{path}/"), sha));
                }
                continue;
            }
            Ok(0o100_000) if mode.ends_with("755") => EntryKind::Executable,
            Ok(0o100_000) => EntryKind::File,
            Ok(0o120_000) => EntryKind::Symlink,
            Ok(0o160_000) => EntryKind::Submodule,
            _ => {
                return Err(ForgeError::Malformed(format!(
                    "tree {}: mode {mode:?} of {path:?}",
                    tree.sha
                )));
            }
        };
        if path.contains('\0') {
            return Err(ForgeError::Malformed(format!(
                "tree {}: a path with NUL",
                tree.sha
            )));
        }
        items.push(Item {
            path,
            kind,
            id: sha,
            size,
        });
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `kind path n`, one a word group: `f a/b 1`.
    pub fn listing(rows: &[(char, &str, u8)]) -> Listing {
        let items = rows
            .iter()
            .map(|(kind, path, n)| Item {
                path: (*path).to_owned(),
                kind: match kind {
                    'x' => EntryKind::Executable,
                    'l' => EntryKind::Symlink,
                    's' => EntryKind::Submodule,
                    _ => EntryKind::File,
                },
                id: format!("{n:040x}").parse().expect("an id"),
                size: Some(u64::from(*n)),
            })
            .collect();
        Listing::new(items).expect("each path once")
    }

    #[test]
    fn a_listing_comes_back_from_its_bytes() {
        let mut all = listing(&[
            ('f', "a b", 1),
            ('x', "a/b", 2),
            ('l', "link\n", 3),
            ('s', "sub", 4),
            ('f', "ümläut", 5),
        ]);
        all.items[0].size = None;
        assert_eq!(Listing::decode(&all.encode()), Some(all.clone()));
        assert_eq!(Listing::decode(&[]), Some(Listing::default()));
        let cut = &all.encode()[..60];
        assert_ne!(Listing::decode(cut), Some(all));
        assert_eq!(Listing::decode(b"q"), None);
    }

    #[test]
    fn a_directory_is_told_from_a_file_whose_name_begins_alike() {
        let all = listing(&[('f', "a-b", 1), ('f', "a/b", 2), ('f', "a0", 3)]);
        assert_eq!(all.place("a"), Place::Directory);
        assert_eq!(all.place("a/"), Place::Nothing);
        assert_eq!(all.place("b"), Place::Nothing);
        assert!(matches!(all.place("a0"), Place::Item(_)));
        let below: Vec<_> = all.below("a").map(|item| item.path.as_str()).collect();
        assert_eq!(below, ["a/b"]);
    }

    #[test]
    fn two_names_that_look_the_same_are_no_listing() {
        let twice = vec![
            listing(&[('f', "a\u{fffd}", 1)]).items[0].clone(),
            listing(&[('f', "a\u{fffd}", 2)]).items[0].clone(),
        ];
        assert_eq!(Listing::new(twice), Err("a\u{fffd}".to_owned()));
    }
}
