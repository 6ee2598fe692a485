//! Renames in a write-set, for what people read: both sides of a rename are in it either way.
//!
//! As in git: equal content first (the same file name preferred), then by likeness from 50 % on, the
//! most alike first. Never quadratic: past a limit what is not equal stays added and removed.

use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice as _};

use super::error::GitError;
use super::parallel;
use super::similarity::{Pieces, RENAME};
use super::tree::Leaf;

/// git's own limit: no more than so many removed × so many added files are compared.
const LIMIT: usize = 1000;
/// Larger files are only compared by id; bytes.
const LARGEST: u64 = 1024 * 1024;

/// A path and what stood, or stands, there.
pub(super) type Side<'a> = (&'a BString, Leaf);

/// New path → old path.
pub(super) fn find(
    repo: &gix::Repository,
    removed: &[Side<'_>],
    added: &[Side<'_>],
) -> Result<BTreeMap<BString, BString>, GitError> {
    let mut found = BTreeMap::new();
    let mut used: HashSet<&BString> = HashSet::new();
    let mut by_id: HashMap<ObjectId, Vec<&BString>> = HashMap::new();
    for (path, leaf) in removed {
        by_id.entry(leaf.id).or_default().push(path);
    }
    for same_name in [true, false] {
        for (path, leaf) in added {
            if found.contains_key(*path) {
                continue;
            }
            let sources = by_id.get(&leaf.id).map_or(&[][..], Vec::as_slice);
            let source = sources.iter().find(|old| {
                !used.contains(*old) && (!same_name || name(old.as_bstr()) == name(path.as_bstr()))
            });
            if let Some(old) = source {
                used.insert(old);
                found.insert((*path).clone(), (*old).clone());
            }
        }
    }
    let rest = |side: &Side<'_>| side.1.kind.is_regular();
    let removed: Vec<_> = removed
        .iter()
        .filter(|side| rest(side) && !used.contains(side.0))
        .collect();
    let added: Vec<_> = added
        .iter()
        .filter(|side| rest(side) && !found.contains_key(side.0))
        .collect();
    if removed.len() * added.len() <= LIMIT * LIMIT {
        for (old, new) in alike(repo, &removed, &added)? {
            found.insert(new.clone(), old.clone());
        }
    }
    Ok(found)
}

/// Pairs by likeness; each path is in one pair at most.
fn alike<'a>(
    repo: &gix::Repository,
    removed: &[&Side<'a>],
    added: &[&Side<'a>],
) -> Result<Vec<(&'a BString, &'a BString)>, GitError> {
    if removed.is_empty() || added.is_empty() {
        return Ok(Vec::new());
    }
    let (old, new) = (pieces(repo, removed)?, pieces(repo, added)?);
    let rows: Vec<usize> = (0..new.len()).collect();
    let scores = parallel::map(repo, &rows, |_, at| {
        let Some(new) = &new[*at] else {
            return Vec::new();
        };
        let mut row: Vec<(u64, bool, usize)> = old
            .iter()
            .enumerate()
            .filter_map(|(from, old)| Some((old.as_ref()?.score(new), from)))
            .filter(|(score, _)| *score >= RENAME)
            .map(|(score, from)| {
                let same_name = name(removed[from].0.as_bstr()) == name(added[*at].0.as_bstr());
                (score, same_name, from)
            })
            .collect();
        row.sort_unstable_by(|a, b| b.cmp(a));
        // git keeps four candidates for each added file too.
        row.truncate(4);
        row
    });
    let mut all: Vec<_> = scores
        .into_iter()
        .enumerate()
        .flat_map(|(to, row)| {
            row.into_iter()
                .map(move |(score, same, from)| (score, same, from, to))
        })
        .collect();
    all.sort_unstable_by(|a, b| {
        (b.0, b.1)
            .cmp(&(a.0, a.1))
            .then((a.2, a.3).cmp(&(b.2, b.3)))
    });
    let (mut from_used, mut to_used) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::new();
    for (_, _, from, to) in all {
        if !from_used.contains(&from) && !to_used.contains(&to) {
            from_used.insert(from);
            to_used.insert(to);
            pairs.push((removed[from].0, added[to].0));
        }
    }
    Ok(pairs)
}

fn pieces(repo: &gix::Repository, sides: &[&Side<'_>]) -> Result<Vec<Option<Pieces>>, GitError> {
    let read = |repo: &gix::Repository, (_, leaf): &&Side<'_>| {
        let unreadable = |error| GitError::object(format!("blob {}", leaf.id), error);
        if repo.find_header(leaf.id).map_err(unreadable)?.size() > LARGEST {
            return Ok(None);
        }
        let blob = repo.find_blob(leaf.id).map_err(unreadable)?;
        Ok(Some(Pieces::of(&blob.data)))
    };
    let found = parallel::map_blobs(repo, sides, |(_, leaf)| Some(leaf.id), read);
    found.into_iter().collect()
}

fn name(path: &BStr) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
