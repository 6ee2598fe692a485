//! What a tree holds: every file by its path, every directory by its tree's id.

use crate::gate::facts::Listed;
use crate::model::{BlobFact, Entry, EntryKind, Sha};

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

/// A directory; its path has no final `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directory {
    pub path: String,
    /// Of its tree, every item of which is in the listing.
    pub id: Sha,
}

/// Every item of a tree, sorted by path; each path once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing {
    items: Vec<Item>,
    /// In no order. Listings that were kept by an older version have none.
    directories: Vec<Directory>,
}

impl Listing {
    /// `Err` names a path that stands twice: two names that are shown as the same text.
    pub fn new(mut items: Vec<Item>, directories: Vec<Directory>) -> Result<Self, String> {
        items.sort_by(|a, b| a.path.cmp(&b.path));
        match items.windows(2).find(|pair| pair[0].path == pair[1].path) {
            Some(pair) => Err(pair[0].path.clone()),
            None => Ok(Self { items, directories }),
        }
    }

    pub fn directories(&self) -> &[Directory] {
        &self.directories
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
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.items.len() * 96);
        for Directory { path, id } in &self.directories {
            bytes.extend_from_slice(format!("d{id} {path}\0").as_bytes());
        }
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

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (mut items, mut directories) = (Vec::new(), Vec::new());
        for line in text.split_terminator('\0') {
            let (size, path) = line.get(41..)?.split_once(' ')?;
            let (id, path) = (line.get(1..41)?.parse().ok()?, path.to_owned());
            let kind = match line.as_bytes().first()? {
                b'd' => {
                    directories.push(Directory { path, id });
                    continue;
                }
                b'f' => EntryKind::File,
                b'x' => EntryKind::Executable,
                b'l' => EntryKind::Symlink,
                b's' => EntryKind::Submodule,
                _ => return None,
            };
            items.push(Item {
                path,
                kind,
                id,
                size: match size {
                    "" => None,
                    size => Some(size.parse().ok()?),
                },
            });
        }
        Self::new(items, directories).ok()
    }
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
        Listing::new(items, Vec::new()).expect("each path once")
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
        let path = "a".to_owned();
        let id = all.items[1].id.clone();
        all.directories.push(Directory { path, id });
        assert_eq!(Listing::decode(&all.encode()), Some(all.clone()));
        assert_eq!(Listing::decode(&[]), Some(Listing::default()));
        let cut = &all.encode()[..100];
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
        assert_eq!(Listing::new(twice, Vec::new()), Err("a\u{fffd}".to_owned()));
    }
}
