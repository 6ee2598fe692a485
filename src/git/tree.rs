//! Trees: what differs between two, what one holds, and one entry of one.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind as GitKind;
use gix::objs::tree::EntryMode;

use super::error::GitError;
use crate::gate::facts::Listed;
use crate::model::{Entry, EntryKind, Sha};

/// A tree with more files is not read: a few small objects can stand for billions of files.
const MOST_FILES: usize = 2_000_000;
/// Nor one with more directories than this.
const MOST_DIRECTORIES: usize = 100_000;
/// Nor is a patch judged that changes more entries than this.
const MOST_CHANGES: usize = 300_000;
/// Nor one whose paths are longer than this together; bytes.
const MOST_PATH_BYTES: usize = 512 * 1024 * 1024;

/// A tree entry that is no directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub kind: EntryKind,
    pub id: ObjectId,
}

impl Leaf {
    fn new(mode: EntryMode, id: ObjectId) -> Option<Self> {
        let kind = kind_of(mode)?;
        Some(Self { kind, id })
    }

    pub fn git_kind(self) -> GitKind {
        match self.kind {
            EntryKind::File => GitKind::Blob,
            EntryKind::Executable => GitKind::BlobExecutable,
            EntryKind::Symlink => GitKind::Link,
            EntryKind::Submodule => GitKind::Commit,
        }
    }

    pub fn to_entry(self) -> Entry {
        Entry {
            kind: self.kind,
            id: sha(self.id),
        }
    }
}

fn kind_of(mode: EntryMode) -> Option<EntryKind> {
    match mode.kind() {
        GitKind::Tree => None,
        GitKind::Blob => Some(EntryKind::File),
        GitKind::BlobExecutable => Some(EntryKind::Executable),
        GitKind::Link => Some(EntryKind::Symlink),
        GitKind::Commit => Some(EntryKind::Submodule),
    }
}

/// The shared form of an object id.
pub(super) fn sha(id: ObjectId) -> Sha {
    // Only SHA-1 repositories are opened.
    let bytes = id.as_bytes().try_into();
    Sha::from_bytes(bytes.unwrap_or_else(|_| unreachable!("an object id of another kind")))
}

/// The two sides of one path; at least one is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sides {
    pub old: Option<Leaf>,
    pub new: Option<Leaf>,
}

/// What differs between two trees, by path bytes.
pub(super) type Differences = BTreeMap<BString, Sides>;

/// Every path whose entry differs between two trees; no rename detection.
pub(super) fn differences(
    repo: &gix::Repository,
    old: ObjectId,
    new: ObjectId,
) -> Result<Differences, GitError> {
    use gix::diff::tree::recorder::Change;
    let mut found = Differences::new();
    if old == new {
        return Ok(found);
    }
    let (old_tree, new_tree) = (tree(repo, old)?, tree(repo, new)?);
    let mut recorder = Limited::default();
    gix::diff::tree(
        gix::objs::TreeRefIter::from_bytes(&old_tree.data, repo.object_hash()),
        gix::objs::TreeRefIter::from_bytes(&new_tree.data, repo.object_hash()),
        gix::diff::tree::State::default(),
        &repo.objects,
        &mut recorder,
    )
    .map_err(|error| match recorder.is_full() {
        true => GitError::TooManyFiles {
            limit: MOST_CHANGES,
        },
        false => GitError::object(format!("the trees {old} and {new}"), error),
    })?;
    for change in recorder.changes.records {
        let (path, old, new) = match change {
            Change::Addition {
                entry_mode,
                oid,
                path,
                ..
            } => (path, None, Leaf::new(entry_mode, oid)),
            Change::Deletion {
                entry_mode,
                oid,
                path,
                ..
            } => (path, Leaf::new(entry_mode, oid), None),
            Change::Modification {
                previous_entry_mode,
                previous_oid,
                entry_mode,
                oid,
                path,
            } => (
                path,
                Leaf::new(previous_entry_mode, previous_oid),
                Leaf::new(entry_mode, oid),
            ),
        };
        if old.is_none() && new.is_none() {
            continue;
        }
        // A file that became a directory is reported as two changes of one path.
        let sides = found.entry(path).or_insert(Sides {
            old: None,
            new: None,
        });
        sides.old = sides.old.or(old);
        sides.new = sides.new.or(new);
    }
    found.retain(|_, sides| sides.old != sides.new);
    Ok(found)
}

/// Records changes, up to a limit.
#[derive(Default)]
struct Limited {
    changes: gix::diff::tree::Recorder,
    path_bytes: usize,
}

impl Limited {
    fn is_full(&self) -> bool {
        self.changes.records.len() > MOST_CHANGES || self.path_bytes > MOST_PATH_BYTES
    }
}

impl gix::diff::tree::Visit for Limited {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.changes.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.changes.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.changes.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.changes.pop_path_component();
    }

    fn visit(&mut self, change: gix::diff::tree::visit::Change) -> gix::diff::tree::visit::Action {
        self.path_bytes += self.changes.path().len();
        if self.is_full() {
            return std::ops::ControlFlow::Break(());
        }
        self.changes.visit(change)
    }
}

/// What a path is in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Nothing,
    Directory(ObjectId),
    Leaf(Leaf),
}

impl Place {
    pub fn leaf(self) -> Option<Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Nothing | Self::Directory(_) => None,
        }
    }
}

/// One tree, with the directories that were read kept, so that many look-ups read each only once.
pub(super) struct Tree<'repo> {
    repo: &'repo gix::Repository,
    pub id: ObjectId,
    directories: std::cell::RefCell<std::collections::HashMap<BString, Directory>>,
}

type Directory = std::rc::Rc<Vec<(BString, EntryMode, ObjectId)>>;

impl<'repo> Tree<'repo> {
    pub fn new(repo: &'repo gix::Repository, id: ObjectId) -> Self {
        Self {
            repo,
            id,
            directories: std::cell::RefCell::default(),
        }
    }

    /// What `path` is in this tree.
    pub fn at(&self, path: &BStr) -> Result<Place, GitError> {
        let (parent, name) = match path.rfind_byte(b'/') {
            Some(at) => (path[..at].as_bstr(), path[at + 1..].as_bstr()),
            None => (BStr::new(""), path),
        };
        let Some(directory) = self.directory(parent)? else {
            return Ok(Place::Nothing);
        };
        // A name stands twice in a malformed tree only; git takes the first as well.
        let start = directory.partition_point(|(entry, _, _)| entry.as_bstr() < name);
        let found = directory.get(start).filter(|(entry, _, _)| entry == name);
        Ok(match found {
            None => Place::Nothing,
            Some((_, mode, id)) => Leaf::new(*mode, *id).map_or(Place::Directory(*id), Place::Leaf),
        })
    }

    /// The entries of a directory; `None` when `path` is no directory.
    fn directory(&self, path: &BStr) -> Result<Option<Directory>, GitError> {
        if let Some(known) = self.directories.borrow().get(path) {
            return Ok(Some(known.clone()));
        }
        let id = if path.is_empty() {
            self.id
        } else {
            match self.at(path)? {
                Place::Directory(id) => id,
                Place::Nothing | Place::Leaf(_) => return Ok(None),
            }
        };
        let tree = tree(self.repo, id)?;
        let mut entries = Vec::new();
        for entry in gix::objs::TreeRefIter::from_bytes(&tree.data, self.repo.object_hash()) {
            let entry = entry.map_err(|error| GitError::object(format!("tree {id}"), error))?;
            entries.push((entry.filename.to_owned(), entry.mode, entry.oid.to_owned()));
        }
        // git sorts a directory as if its name ended in a slash; look-ups need plain order.
        entries.sort_by(|(a, _, _): &(BString, _, _), (b, _, _)| a.cmp(b));
        let entries = Directory::new(entries);
        self.directories
            .borrow_mut()
            .insert(path.to_owned(), entries.clone());
        Ok(Some(entries))
    }
}

pub(super) fn tree(repo: &gix::Repository, id: ObjectId) -> Result<gix::Tree<'_>, GitError> {
    repo.find_tree(id)
        .map_err(|error| GitError::object(format!("tree {id}"), error))
}

/// The tree of a commit.
pub(super) fn tree_of(repo: &gix::Repository, commit: ObjectId) -> Result<ObjectId, GitError> {
    let unreadable = |error| GitError::object(format!("commit {commit}"), error);
    let commit = repo.find_commit(commit).map_err(unreadable)?;
    Ok(commit.tree_id().map_err(unreadable)?.detach())
}

/// Every file of a tree, in one buffer, in the order of the path bytes.
#[derive(Default)]
pub(super) struct Listing {
    text: Vec<u8>,
    items: Vec<(u32, u32, Leaf)>,
    directories: usize,
    /// Decoded paths, only for those whose bytes are not UTF-8.
    decoded: BTreeMap<usize, String>,
}

impl Listing {
    pub fn of(repo: &gix::Repository, root: ObjectId) -> Result<Self, GitError> {
        let mut listing = Self::default();
        listing.add(repo, root, &mut BString::default(), 0)?;
        Ok(listing)
    }

    fn add(
        &mut self,
        repo: &gix::Repository,
        id: ObjectId,
        path: &mut BString,
        depth: usize,
    ) -> Result<(), GitError> {
        // git itself stops at 2,048 components.
        if depth > 2048 {
            return Err(GitError::object(
                format!("tree {id}"),
                "it is nested deeper than 2048 directories",
            ));
        }
        self.directories += 1;
        if self.directories > MOST_DIRECTORIES {
            return Err(GitError::TooManyFiles {
                limit: MOST_DIRECTORIES,
            });
        }
        let tree = tree(repo, id)?;
        let len = path.len();
        for entry in gix::objs::TreeRefIter::from_bytes(&tree.data, repo.object_hash()) {
            let entry = entry.map_err(|error| GitError::object(format!("tree {id}"), error))?;
            path.truncate(len);
            if len > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(entry.filename);
            match Leaf::new(entry.mode, entry.oid.to_owned()) {
                Some(_) if self.len() == MOST_FILES || self.text.len() > MOST_PATH_BYTES => {
                    return Err(GitError::TooManyFiles { limit: MOST_FILES });
                }
                Some(leaf) => self.push(path.as_bstr(), leaf),
                None => self.add(repo, entry.oid.to_owned(), path, depth + 1)?,
            }
        }
        path.truncate(len);
        Ok(())
    }

    fn push(&mut self, path: &BStr, leaf: Leaf) {
        let start = self.text.len();
        self.text.extend_from_slice(path);
        if std::str::from_utf8(path).is_err() {
            self.decoded
                .insert(self.items.len(), path.to_str_lossy().into_owned());
        }
        let end = self.text.len();
        // The limit on all paths keeps the offsets in range.
        let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        self.items.push((at(start), at(end), leaf));
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    fn get(&self, at: usize) -> (&BStr, Leaf) {
        let (start, end, leaf) = self.items[at];
        (self.text[start as usize..end as usize].as_bstr(), leaf)
    }

    /// The part of the listing below a directory (without a final `/`), or the file of that name; all of
    /// it for the empty path.
    pub fn below(&self, directory: &BStr) -> impl Iterator<Item = (&BStr, Leaf)> {
        let start = self.items.partition_point(|item| {
            self.text[item.0 as usize..item.1 as usize].as_bstr() < directory
        });
        (start..self.len())
            .map(|at| self.get(at))
            .take_while(move |(path, _)| path.starts_with(directory))
            .filter(move |(path, _)| {
                directory.is_empty()
                    || path.len() == directory.len()
                    || path.get(directory.len()) == Some(&b'/')
            })
    }

    /// The form that the gate reads, sorted by decoded path.
    pub fn listed(&self) -> Vec<Listed<'_>> {
        let mut listed: Vec<Listed<'_>> = (0..self.len())
            .map(|at| {
                let (path, leaf) = self.get(at);
                let path = match self.decoded.get(&at) {
                    Some(text) => text,
                    None => std::str::from_utf8(path).unwrap_or_default(),
                };
                Listed {
                    path,
                    kind: leaf.kind,
                }
            })
            .collect();
        if !self.decoded.is_empty() {
            listed.sort_by(|a, b| a.path.cmp(b.path));
        }
        listed
    }
}
