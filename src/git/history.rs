//! Merge bases, and whether the history that is there is enough to be sure of them.

use std::collections::{BinaryHeap, HashMap, HashSet};

use gix::ObjectId;

use super::error::GitError;

/// All merge bases of two commits, best first; empty when their histories are unrelated.
///
/// # Errors
/// When a shallow boundary, or a missing commit, could hide a further merge base.
pub(super) fn merge_bases(
    repo: &gix::Repository,
    base: ObjectId,
    head: ObjectId,
) -> Result<Vec<ObjectId>, GitError> {
    let bases = bases_of(repo, head, &[base])?;
    check_whole(repo, &[base, head], &bases)?;
    Ok(bases)
}

/// Merge bases of `one` and the hypothetical merge of `others`.
pub(super) fn bases_of(
    repo: &gix::Repository,
    one: ObjectId,
    others: &[ObjectId],
) -> Result<Vec<ObjectId>, GitError> {
    let unreadable = |error| GitError::object("the history of base and head", error);
    // A commit-graph file knows nothing of a shallow boundary; git leaves it aside there as well.
    let cache = if repo.is_shallow().map_err(unreadable)? {
        None
    } else {
        repo.commit_graph_if_enabled().map_err(unreadable)?
    };
    let mut graph = repo.revision_graph(cache.as_ref());
    let bases = repo
        .merge_bases_many_with_graph(one, others, &mut graph)
        .map_err(unreadable)?;
    Ok(bases.into_iter().map(gix::Id::detach).collect())
}

/// A commit that waits to be visited, newest first.
type Waiting = BinaryHeap<(i64, ObjectId)>;

/// Walks what base and head have beyond the merge bases: a missing parent there, or the edge of a
/// shallow history, means that the merge bases may be others.
fn check_whole(
    repo: &gix::Repository,
    tips: &[ObjectId],
    bases: &[ObjectId],
) -> Result<(), GitError> {
    let shallow: HashSet<ObjectId> = repo
        .shallow_commits()
        .map_err(|error| GitError::object("the shallow boundary", error))?
        .map(|commits| commits.iter().copied().collect())
        .unwrap_or_default();
    let mut below: HashMap<ObjectId, bool> = HashMap::new();
    let mut waiting = Waiting::new();
    let mut beyond = 0_usize;
    for (ids, is_below) in [(bases, true), (tips, false)] {
        for id in ids {
            if let std::collections::hash_map::Entry::Vacant(entry) = below.entry(*id) {
                entry.insert(is_below);
                beyond += usize::from(!is_below);
                waiting.push((commit(repo, *id, &shallow)?.0, *id));
            }
        }
    }
    let mut done = HashSet::new();
    while beyond > 0 {
        let Some((_, id)) = waiting.pop() else { break };
        if !done.insert(id) {
            continue;
        }
        let is_below = below.get(&id).copied().unwrap_or(false);
        if !is_below {
            beyond -= 1;
            if shallow.contains(&id) {
                return Err(GitError::Shallow {
                    boundary: id.to_hex_with_len(12).to_string(),
                });
            }
        }
        for parent in commit(repo, id, &shallow)?.1 {
            match below.get(&parent).copied() {
                None => {
                    below.insert(parent, is_below);
                    beyond += usize::from(!is_below);
                }
                Some(false) if is_below => {
                    below.insert(parent, true);
                    beyond -= usize::from(!done.contains(&parent));
                }
                Some(_) => continue,
            }
            if is_below && shallow.contains(&id) {
                continue;
            }
            waiting.push((commit(repo, parent, &shallow)?.0, parent));
        }
    }
    Ok(())
}

/// Time and parents of a commit; a commit at the shallow boundary has none.
fn commit(
    repo: &gix::Repository,
    id: ObjectId,
    shallow: &HashSet<ObjectId>,
) -> Result<(i64, Vec<ObjectId>), GitError> {
    let unreadable = |error| GitError::object(format!("commit {id}"), error);
    let commit = repo.find_commit(id).map_err(unreadable)?;
    let time = commit.time().map_err(unreadable)?.seconds;
    let parents = if shallow.contains(&id) {
        Vec::new()
    } else {
        commit.parent_ids().map(gix::Id::detach).collect()
    };
    Ok((time, parents))
}
