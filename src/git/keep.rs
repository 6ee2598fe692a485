//! What was found out about blobs, kept in files under `<git dir>/frostline/`.
//!
//! A key holds the blob's id, so an entry never grows stale; the files lie in the git directory, where no
//! pull request can write. A file that is not whole (its checksum says so) or of another version is
//! ignored and written anew; that it cannot be written is no error.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::model::Sha;

/// With more entries, only those of the last run are kept.
const MOST_ENTRIES: usize = 1_000_000;

/// What an entry is about: a blob's id, and one byte for the way in which it was read.
pub(super) type Key = [u8; 21];

/// The key of a blob.
pub(super) fn key(id: &Sha, way: u8) -> Key {
    let mut key = [way; 21];
    key[..20].copy_from_slice(&id.to_bytes());
    key
}

/// One file of entries. Values are bytes; what they mean is their owner's to say.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// `None`: neither read nor written.
    path: Option<PathBuf>,
    /// First bytes of the file: what it is, and the version of its form.
    magic: String,
    body: Vec<u8>,
    known: HashMap<Key, Range<usize>>,
    new: HashMap<Key, Vec<u8>>,
}

impl Kept {
    /// The repository's file of that name; an empty one that is never written when it is not `enabled`.
    /// A file of more than `largest` bytes is not ours.
    pub fn open(
        repo: &gix::Repository,
        enabled: bool,
        name: &str,
        magic: &str,
        largest: u64,
    ) -> Self {
        if !enabled {
            return Self::default();
        }
        let path = repo.common_dir().join("frostline").join(name);
        let (body, known) = read(&path, magic, largest).unwrap_or_default();
        Self {
            path: Some(path),
            magic: magic.to_owned(),
            body,
            known,
            new: HashMap::new(),
        }
    }

    pub fn get(&self, key: &Key) -> Option<&[u8]> {
        self.body.get(self.known.get(key)?.clone())
    }

    pub fn put(&mut self, key: Key, value: Vec<u8>) {
        if self.path.is_some() {
            self.new.insert(key, value);
        }
    }

    /// Writes what is new, in one piece.
    pub fn save(mut self) {
        let Some(path) = self.path.take().filter(|_| !self.new.is_empty()) else {
            return;
        };
        if self.new.len() + self.known.len() > MOST_ENTRIES {
            self.known.clear();
        }
        // A repository that cannot be written to is judged all the same.
        let _ = self.write(&path);
    }

    /// Writes a file beside the old one and renames it, so that a reader sees a whole one or none.
    fn write(&self, path: &Path) -> Option<()> {
        let folder = path.parent()?;
        std::fs::create_dir_all(folder).ok()?;
        let mut text = self.magic.clone().into_bytes();
        let old = self
            .known
            .iter()
            .filter(|(key, _)| !self.new.contains_key(*key));
        let old = old.filter_map(|(key, range)| Some((key, self.body.get(range.clone())?)));
        let new = self.new.iter().map(|(key, value)| (key, value.as_slice()));
        for (key, value) in old.chain(new) {
            text.extend_from_slice(key);
            text.extend_from_slice(&u32::try_from(value.len()).ok()?.to_le_bytes());
            text.extend_from_slice(value);
        }
        text.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
        let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
        file.write_all(&text).ok()?;
        file.persist(path).ok()?;
        Some(())
    }
}

type Entries = (Vec<u8>, HashMap<Key, Range<usize>>);

/// The entries of a whole file of our version; `None` for any other.
fn read(path: &Path, magic: &str, largest: u64) -> Option<Entries> {
    // A link or a pipe is not ours either, and reading it might not end.
    let found = std::fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > largest {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(largest).read_to_end(&mut bytes).ok()?;
    let (body, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(body).to_le_bytes() != *checksum {
        return None;
    }
    let mut rest = body.strip_prefix(magic.as_bytes())?;
    let mut known = HashMap::new();
    while !rest.is_empty() {
        let key = take::<21>(&mut rest)?;
        let length = usize::try_from(u32::from_le_bytes(take(&mut rest)?)).ok()?;
        let start = body.len() - rest.len();
        rest = rest.get(length..)?;
        known.insert(key, start..start + length);
    }
    Some((bytes, known))
}

/// Takes the first bytes off.
pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(*first)
}
