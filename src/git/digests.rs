//! Digests of fixtures, by blob id.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::cache::Cache;
use super::error::one_line;
use super::gather::stats;
use super::open::LARGEST_OBJECT;
use super::parallel;
use crate::model::{BlobDigest, Fact, FixtureEntry, Sha, Stats};

/// The digest of every regular fixture that is not opaque, and what it cost.
pub(super) fn of(
    repo: &gix::Repository,
    fixtures: &[FixtureEntry],
    cache: &mut Cache,
) -> (BTreeMap<Sha, Fact<BlobDigest>>, Stats) {
    let wanted: BTreeSet<&Sha> = fixtures
        .iter()
        .filter(|fixture| fixture.kind.is_regular() && fixture.opaque.is_none())
        .map(|fixture| &fixture.id)
        .collect();
    let mut digests = BTreeMap::new();
    let mut unseen = Vec::new();
    for id in wanted {
        match cache.get(id) {
            Some(digest) => {
                digests.insert(id.clone(), Fact::Known(digest));
            }
            None => unseen.push(id),
        }
    }
    let object = |id: &&Sha| ObjectId::Sha1(id.to_bytes());
    let found = parallel::map_blobs(
        repo,
        &unseen,
        |id| Some(object(id)),
        |repo, id| read(repo, object(id)),
    );
    let (mut hashed, mut bytes) = (0, 0);
    for (id, result) in unseen.into_iter().zip(found) {
        let fact = match result {
            Ok((digest, size)) => {
                hashed += 1;
                bytes += size;
                cache.put(id, &digest);
                Fact::Known(digest)
            }
            Err(why) => Fact::Unavailable(why),
        };
        digests.insert(id.clone(), fact);
    }
    (digests, stats(fixtures.len(), hashed, bytes))
}

/// Digest and size of a blob, or why it could not be had.
fn read(repo: &gix::Repository, id: ObjectId) -> Result<(BlobDigest, u64), String> {
    let blob = repo
        .find_blob(id)
        .map_err(|error| match repo.find_header(id) {
            Ok(header) if header.size() > LARGEST_OBJECT => format!(
                "it has {} bytes, more than the {LARGEST_OBJECT} that are read; keep it in Git LFS",
                header.size()
            ),
            _ => one_line(error),
        })?;
    Ok((crate::digest::blob(&blob.data), blob.data.len() as u64))
}
