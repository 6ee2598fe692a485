//! Digests of blobs already seen.

use super::keep::{Kept, key, take};
use crate::model::{BlobDigest, FileDigest, Sha};

const MAGIC: &str = "frostline digests 2\n";
const FILE: &str = "digests";
/// A larger file is not ours; bytes.
const LARGEST_FILE: u64 = 160 * 1024 * 1024;

const HAS_LF: u8 = 1;
const HAS_LFS: u8 = 2;

/// Digests by blob id.
pub(super) struct Cache(Kept);

impl Cache {
    /// The repository's cache; an empty one that is never written when it is not `enabled`.
    pub fn open(repo: &gix::Repository, enabled: bool) -> Self {
        Self(Kept::open(repo, enabled, FILE, MAGIC, LARGEST_FILE))
    }

    pub fn get(&self, id: &Sha) -> Option<BlobDigest> {
        decode(self.0.get(&key(id, 0))?)
    }

    pub fn put(&mut self, id: &Sha, digest: &BlobDigest) {
        self.0.put(key(id, 0), encode(digest));
    }

    /// Writes what is new, in one piece.
    pub fn save(self) {
        self.0.save();
    }
}

fn decode(mut value: &[u8]) -> Option<BlobDigest> {
    let [flags] = take::<1>(&mut value)?;
    let sha256 = FileDigest::from_bytes(take(&mut value)?);
    let mut optional = |flag: u8| -> Option<Option<FileDigest>> {
        if flags & flag == 0 {
            return Some(None);
        }
        take(&mut value).map(|bytes| Some(FileDigest::from_bytes(bytes)))
    };
    Some(BlobDigest {
        sha256,
        lf_sha256: optional(HAS_LF)?,
        lfs_oid: optional(HAS_LFS)?,
    })
}

fn encode(digest: &BlobDigest) -> Vec<u8> {
    let lf = digest.lf_sha256.as_ref().map_or(0, |_| HAS_LF);
    let lfs = digest.lfs_oid.as_ref().map_or(0, |_| HAS_LFS);
    let mut value = vec![lf | lfs];
    let optional = digest.lf_sha256.iter().chain(&digest.lfs_oid);
    for part in std::iter::once(&digest.sha256).chain(optional) {
        value.extend_from_slice(&part.to_bytes());
    }
    value
}
