//! How a tree's listing is had: from the store, whole in one answer, or by walking those of its subtrees
//! that no listing knows.

use std::collections::HashMap;

use crate::forge::ForgeError;
use crate::model::{EntryKind, Fact, Sha};

use super::super::wire::{Tree, TreeItem};
use super::listing::{Directory, Item, Listing};
use super::{GatherError, Gatherer};

/// Requests for one tree that is too large for a single answer.
const WALK_REQUESTS: usize = 1_000;
/// A directory that had more items than this is not asked for whole: only what changed in it is. The forge
/// gives at most 100,000 entries, or 7 MB, at once.
const LARGE: usize = 20_000;
/// Some forges do not have it as an object.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// Stands for what was seen of a tree whose walk broke off; no tree has this id.
const UNFINISHED: &str = "0000000000000000000000000000000000000000";
/// Kept listings that a new one is compared with: the newest, and one that was broken off.
const KEPT: u32 = 2;

impl Gatherer<'_> {
    /// The listing of a tree, from the store or the forge. A tree that can't be had whole is a fact.
    /// `known` are listings that are likely to have much in common with it.
    pub(super) async fn listing(
        &self,
        tree: &Sha,
        known: &[&Listing],
    ) -> Result<Fact<Listing>, GatherError> {
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
        let fetched = if known.is_empty() {
            let kept: Vec<Listing> = self
                .store
                .newest_listings(repo, KEPT)
                .await?
                .iter()
                .filter_map(|bytes| Listing::decode(bytes))
                .collect();
            let kept: Vec<&Listing> = kept.iter().collect();
            self.fetch_tree(tree, &kept).await?
        } else {
            self.fetch_tree(tree, known).await?
        };
        let (items, directories) = match fetched {
            Fact::Known(parts) => parts,
            other => return Ok(super::not_known(&other)),
        };
        match Listing::new(items, directories) {
            Ok(listing) => {
                let bytes = listing.encode();
                self.store.put_listing(repo, tree, &bytes).await?;
                Ok(Fact::Known(listing))
            }
            Err(path) => Ok(Fact::Unavailable(format!(
                "tree {tree} has two entries that the forge shows as {path:?}"
            ))),
        }
    }

    async fn fetch_tree(&self, root: &Sha, known: &[&Listing]) -> Result<Fact<Parts>, GatherError> {
        let mut walk = Walk::new(known);
        match self.walk(root, &mut walk).await {
            Ok(true) => Ok(Fact::Known((walk.items, walk.directories))),
            Ok(false) => Ok(Fact::Truncated(format!(
                "tree {root} is larger than {WALK_REQUESTS} requests can list"
            ))),
            Err(ForgeError::NotFound(_)) => Ok(Fact::Missing(format!(
                "the forge does not have tree {root}"
            ))),
            Err(error @ ForgeError::TooLarge { .. }) => {
                Ok(Fact::Truncated(format!("tree {root}: {error}")))
            }
            Err(error) => {
                self.keep_unfinished(walk).await?;
                Err(error.into())
            }
        }
    }

    /// The next attempt goes on where this one broke off.
    async fn keep_unfinished(&self, walk: Walk<'_>) -> Result<(), GatherError> {
        let seen = Listing::new(walk.items, walk.directories);
        if let (Ok(seen), Ok(id)) = (seen, UNFINISHED.parse())
            && !seen.directories().is_empty()
        {
            let repo = self.client.repo();
            self.store.put_listing(repo, &id, &seen.encode()).await?;
        }
        Ok(())
    }

    /// False when it takes too many requests.
    async fn walk(&self, root: &Sha, walk: &mut Walk<'_>) -> Result<bool, ForgeError> {
        let mut rest = vec![(String::new(), root.clone())];
        let mut requests = 0;
        let mut entered = Vec::new();
        while let Some((path, id)) = rest.pop() {
            if walk.copy(&path, &id) {
                continue;
            }
            if !walk.was_large(&path) {
                requests += 1;
                let whole = self.client.tree(&id, true).await?;
                if !whole.truncated {
                    walk.add(&path, whole, None)?;
                    walk.directory(path, id);
                    continue;
                }
            }
            requests += 1;
            let level = self.client.tree(&id, false).await?;
            if level.truncated || requests >= WALK_REQUESTS {
                return Ok(false);
            }
            walk.add(&path, level, Some(&mut rest))?;
            entered.push((path, id));
        }
        // These are whole only now.
        for (path, id) in entered {
            walk.directory(path, id);
        }
        Ok(true)
    }
}

/// Items and directories.
type Parts = (Vec<Item>, Vec<Directory>);

/// What was found so far, and what is known beforehand.
struct Walk<'a> {
    /// By the tree's id: a listing that has it, and where.
    known: HashMap<&'a Sha, (&'a Listing, &'a str)>,
    listings: &'a [&'a Listing],
    items: Vec<Item>,
    directories: Vec<Directory>,
}

impl<'a> Walk<'a> {
    fn new(listings: &'a [&'a Listing]) -> Self {
        let known = listings.iter().flat_map(|listing| {
            let directories = listing.directories().iter();
            directories.map(|directory| (&directory.id, (*listing, directory.path.as_str())))
        });
        Self {
            known: known.collect(),
            listings,
            items: Vec::new(),
            directories: Vec::new(),
        }
    }

    /// The root is no directory of the listing.
    fn directory(&mut self, path: String, id: Sha) {
        if !path.is_empty() {
            self.directories.push(Directory { path, id });
        }
    }

    fn was_large(&self, path: &str) -> bool {
        self.listings.iter().any(|listing| match path {
            "" => listing.items().len() > LARGE,
            path => listing.below(path).nth(LARGE).is_some(),
        })
    }

    /// Takes a subtree from a listing that has one of the same id.
    fn copy(&mut self, path: &str, id: &Sha) -> bool {
        let found = self.known.get(id).copied().filter(|_| !path.is_empty());
        let Some((listing, from)) = found else {
            return false;
        };
        for item in listing.below(from).filter(|item| item.path != from) {
            self.items.push(Item {
                path: format!("{path}{}", &item.path[from.len()..]),
                ..item.clone()
            });
        }
        for directory in listing.directories() {
            let below = directory.path.strip_prefix(from);
            if let Some(below) = below.filter(|rest| rest.starts_with('/')) {
                self.directory(format!("{path}{below}"), directory.id.clone());
            }
        }
        self.directory(path.to_owned(), id.clone());
        true
    }

    /// Adds the files of the tree at `path`. Its directories go to `rest`, or were listed with it.
    fn add(
        &mut self,
        path: &str,
        tree: Tree,
        mut rest: Option<&mut Vec<(String, Sha)>>,
    ) -> Result<(), ForgeError> {
        let prefix = match path {
            "" => String::new(),
            path => format!("{path}/"),
        };
        for item in tree.tree {
            let path = format!("{prefix}{}", item.path);
            if path.contains('\0') {
                let why = format!("tree {}: a path with NUL", tree.sha);
                return Err(ForgeError::Malformed(why));
            }
            match kind(&item, &tree.sha)? {
                Some(kind) => self.items.push(Item {
                    path,
                    kind,
                    id: item.sha,
                    size: item.size,
                }),
                None => match rest.as_deref_mut() {
                    Some(rest) => rest.push((path, item.sha)),
                    None => self.directory(path, item.sha),
                },
            }
        }
        Ok(())
    }
}

/// `None` for a directory.
fn kind(item: &TreeItem, tree: &Sha) -> Result<Option<EntryKind>, ForgeError> {
    let mode = &item.mode;
    match u32::from_str_radix(mode, 8).map(|mode| mode & 0o170_000) {
        Ok(0o040_000) => Ok(None),
        Ok(0o100_000) if mode.ends_with("755") => Ok(Some(EntryKind::Executable)),
        Ok(0o100_000) => Ok(Some(EntryKind::File)),
        Ok(0o120_000) => Ok(Some(EntryKind::Symlink)),
        Ok(0o160_000) => Ok(Some(EntryKind::Submodule)),
        _ => Err(ForgeError::Malformed(format!(
            "tree {tree}: mode {mode:?} of {:?}",
            item.path
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::tests::listing;
    use super::*;

    fn id(n: u8) -> Sha {
        format!("{n:040x}").parse().expect("an id")
    }

    fn tree(rows: &[(&str, &str, u8)]) -> Tree {
        Tree {
            sha: id(0),
            tree: rows
                .iter()
                .map(|(mode, path, n)| TreeItem {
                    path: (*path).to_owned(),
                    mode: (*mode).to_owned(),
                    sha: id(*n),
                    size: None,
                })
                .collect(),
            truncated: false,
        }
    }

    fn paths(walk: &Walk<'_>) -> Vec<String> {
        walk.items.iter().map(|item| item.path.clone()).collect()
    }

    #[test]
    fn a_known_subtree_is_copied_to_wherever_it_stands_now() {
        let items = listing(&[('f', "a", 1), ('f', "a-b", 2), ('f', "a.d/x", 3)])
            .items()
            .to_vec();
        let mut all = items;
        all.extend(
            listing(&[('f', "lib/sub/y", 4), ('f', "lib/x", 5), ('f', "lib0", 6)])
                .items()
                .to_vec(),
        );
        let directories = [("lib", 10), ("lib/sub", 11), ("a.d", 12)].map(|(path, n)| Directory {
            path: path.to_owned(),
            id: id(n),
        });
        let known = Listing::new(all, directories.to_vec()).expect("each path once");
        let listings = [&known];
        let mut walk = Walk::new(&listings);
        assert!(walk.copy("moved/deep", &id(10)));
        assert!(!walk.copy("other", &id(13)));
        assert_eq!(paths(&walk), ["moved/deep/sub/y", "moved/deep/x"]);
        let directories: Vec<_> = walk.directories.iter().map(|d| d.path.as_str()).collect();
        assert_eq!(directories, ["moved/deep/sub", "moved/deep"]);
    }

    #[test]
    fn directories_of_a_level_are_walked_and_those_of_a_whole_answer_are_not() {
        let rows = [("100644", "f", 1), ("040000", "d", 2), ("160000", "m", 3)];
        let mut walk = Walk::new(&[]);
        let mut rest = Vec::new();
        walk.add("p", tree(&rows), Some(&mut rest))
            .expect("good modes");
        assert_eq!(rest, [("p/d".to_owned(), id(2))]);
        assert_eq!(
            (paths(&walk), walk.directories.len()),
            (vec!["p/f".to_owned(), "p/m".to_owned()], 0)
        );
        walk.add("", tree(&rows), None).expect("good modes");
        assert_eq!(walk.directories.len(), 1);
        let bad = walk.add("", tree(&[("120755x", "f", 1)]), None);
        assert!(matches!(bad, Err(ForgeError::Malformed(_))));
    }
}
