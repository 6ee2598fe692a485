//! Digests of blobs already seen, kept under `<git dir>/frostline/`.
//!
//! The key is the blob's id, so an entry never grows stale; the file lies in the git directory, where no
//! pull request can write. A file that is not whole (its own checksum says so) or of another version is
//! ignored and written anew; that it cannot be written is no error.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::model::{BlobDigest, FileDigest, Sha};

/// First bytes of the file: what it is, and the version of its form.
const MAGIC: &[u8] = b"frostline digests 1\n";
const FILE: &str = "digests";
/// With more entries, only those of the last run are kept.
const MOST_ENTRIES: usize = 1_000_000;
/// A larger file is not ours; bytes.
const LARGEST_FILE: u64 = 160 * 1024 * 1024;

const HAS_LF: u8 = 1;
const HAS_LFS: u8 = 2;

/// Digests by blob id.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// `None`: neither read nor written.
    path: Option<PathBuf>,
    known: HashMap<[u8; 20], BlobDigest>,
    new: HashMap<[u8; 20], BlobDigest>,
}

impl Cache {
    /// The repository's cache; an empty one that is never written when it is not `enabled`.
    pub fn open(repo: &gix::Repository, enabled: bool) -> Self {
        if !enabled {
            return Self::default();
        }
        let path = repo.common_dir().join("frostline").join(FILE);
        let known = read(&path).unwrap_or_default();
        Self {
            path: Some(path),
            known,
            new: HashMap::new(),
        }
    }

    pub fn get(&self, id: &Sha) -> Option<BlobDigest> {
        self.known.get(&key(id)?).cloned()
    }

    pub fn put(&mut self, id: &Sha, digest: &BlobDigest) {
        if let (Some(_), Some(key)) = (&self.path, key(id)) {
            self.new.insert(key, digest.clone());
        }
    }

    /// Writes what is new, in one piece.
    pub fn save(self) {
        let Some(path) = self.path.filter(|_| !self.new.is_empty()) else {
            return;
        };
        let mut all = self.new;
        if all.len() + self.known.len() <= MOST_ENTRIES {
            all.extend(self.known);
        }
        // A repository that cannot be written to is judged all the same.
        let _ = write(&path, &all);
    }
}

fn key(id: &Sha) -> Option<[u8; 20]> {
    let mut key = [0; 20];
    hex::decode_to_slice(id.as_str(), &mut key).ok()?;
    Some(key)
}

/// The entries of a whole file of our version; `None` for any other.
fn read(path: &Path) -> Option<HashMap<[u8; 20], BlobDigest>> {
    if std::fs::symlink_metadata(path).ok()?.len() > LARGEST_FILE {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let (body, checksum) = bytes.split_last_chunk::<32>()?;
    if Sha256::digest(body).as_slice() != checksum {
        return None;
    }
    let mut rest = body.strip_prefix(MAGIC)?;
    let mut known = HashMap::with_capacity(rest.len() / 53);
    while !rest.is_empty() {
        let id = take::<20>(&mut rest)?;
        let [flags] = take::<1>(&mut rest)?;
        let sha256 = FileDigest::from_bytes(take(&mut rest)?);
        let mut optional = |flag: u8| -> Option<Option<FileDigest>> {
            if flags & flag == 0 {
                return Some(None);
            }
            take(&mut rest).map(|bytes| Some(FileDigest::from_bytes(bytes)))
        };
        let digest = BlobDigest {
            sha256,
            lf_sha256: optional(HAS_LF)?,
            lfs_oid: optional(HAS_LFS)?,
        };
        known.insert(id, digest);
    }
    Some(known)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(*first)
}

/// Writes a file beside the cache and renames it, so that a reader sees a whole one or none.
fn write(path: &Path, all: &HashMap<[u8; 20], BlobDigest>) -> Option<()> {
    let folder = path.parent()?;
    std::fs::create_dir_all(folder).ok()?;
    let mut body = MAGIC.to_vec();
    for (id, digest) in all {
        let flags = if digest.lf_sha256.is_some() {
            HAS_LF
        } else {
            0
        } | if digest.lfs_oid.is_some() { HAS_LFS } else { 0 };
        body.extend_from_slice(id);
        body.push(flags);
        let optional = digest.lf_sha256.iter().chain(&digest.lfs_oid);
        for part in std::iter::once(&digest.sha256).chain(optional) {
            body.extend_from_slice(&hex::decode(part.as_str()).ok()?);
        }
    }
    let checksum = Sha256::digest(&body);
    body.extend_from_slice(&checksum);
    let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
    file.write_all(&body).ok()?;
    file.persist(path).ok()?;
    Some(())
}
