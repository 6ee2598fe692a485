//! From a local repository to a Snapshot.

use std::path::PathBuf;
use std::time::Instant;

use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::bstr::BStr;

use super::cache::Cache;
use super::error::GitError;
use super::merge::merge;
use super::scopes::Merged;
use super::tree::{Listing, Place, Tree, sha, tree_of};
use super::write_set::WriteSet;
use super::{contract, digests, fixtures, history, open, sources, work_tree};
use crate::gate::facts;
use crate::model::{
    Author, Change, Decision, Fact, LaneFact, SNAPSHOT_SCHEMA, ScopeFacts, Snapshot, Stats, Subject,
};

/// Objects kept in memory while gathering; bytes.
const TREE_CACHE: usize = 16 * 1024 * 1024;

/// What to judge: one patch in a local repository.
#[derive(Debug, Clone)]
pub struct Request {
    /// The repository, or any folder inside its work tree.
    pub repo: PathBuf,
    /// The guarded branch; `None` is the upstream default branch.
    pub base: Option<String>,
    /// The patch's tip; usually `HEAD`.
    pub head: Head,
    pub author: Author,
    /// Evaluation time.
    pub now: DateTime<Utc>,
    /// Read and write digests of blobs already seen.
    pub cache: bool,
    /// The results of a lane, where one ran.
    pub lane: Option<LaneFact>,
}

/// Where a patch ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Revision(String),
    /// What the work tree holds, as a commit on top of `HEAD` that exists nowhere.
    WorkTree,
}

impl From<&str> for Head {
    fn from(revision: &str) -> Self {
        Self::Revision(revision.to_owned())
    }
}

/// Reads everything that the gate needs to judge the commits `base..head`.
///
/// # Errors
/// When there is nothing to judge: no repository, an unknown revision, too shallow a history, a tree
/// or a commit that cannot be read. A merge conflict is a fact in the Snapshot.
pub fn gather(request: &Request) -> Result<Snapshot, GitError> {
    gather_by_plan(request).map(|(snapshot, _)| snapshot)
}

/// [`gather`] and [`crate::gate::decide`], with the contract read only once.
///
/// # Errors
/// Those of [`gather`].
pub fn judge(request: &Request) -> Result<(Snapshot, Decision), GitError> {
    let (snapshot, plan) = gather_by_plan(request)?;
    let decision = plan.decide(&snapshot);
    Ok((snapshot, decision))
}

fn gather_by_plan(request: &Request) -> Result<(Snapshot, facts::Plan), GitError> {
    let started = Instant::now();
    let mut repo = open::open(&request.repo)?;
    // Each tree is read by several steps.
    repo.object_cache_size_if_unset(TREE_CACHE);
    let base = open::base(&repo, request.base.as_deref())?;
    let (head, subject) = match &request.head {
        Head::Revision(revision) => (open::commit(&repo, revision)?, Subject::Patch),
        Head::WorkTree => {
            let user = open::open_as_user(&request.repo)?;
            let commit = work_tree::commit(&mut repo, user)?;
            // A clean work tree is what HEAD holds.
            let subject = match repo.head_id() {
                Ok(head) if head == commit => Subject::Patch,
                _ => Subject::WorkTree,
            };
            (commit, subject)
        }
    };
    let bases = history::merge_bases(&repo, base.commit, head)?;
    let merged = merged_tree(&repo, base.commit, head, &bases)?;
    let (base_tree, head_tree) = (tree_of(&repo, base.commit)?, tree_of(&repo, head)?);

    let base_files = Tree::new(&repo, base_tree);
    let merged_files = merged.known().map(|id| Tree::new(&repo, *id));
    let config = contract::config(&repo, &base_files)?;
    let opted_in = opted_in(&config, &base_files)?;
    let contract = contract::files(&repo, config, &base_files, merged_files.as_ref())?;
    let plan = facts::Plan::new(&contract);

    let listing = match merged.known() {
        Some(id) => Some(Listing::of(&repo, *id)?),
        None => None,
    };
    let listed = listing.as_ref().map(Listing::listed);
    let fixtures = match (&merged, &listing) {
        (Fact::Known(tree), Some(listing)) => Fact::Known(fixtures::list(
            &repo,
            *tree,
            listing,
            &plan.fixture_roots(),
        )?),
        _ => not_known(&merged),
    };
    let known = fixtures.known().map_or(&[][..], Vec::as_slice);
    let own = repo.clone();
    let write_set = || -> Result<_, GitError> {
        if bases.is_empty() {
            let why = "base and head have no merge base";
            return Ok(Fact::Unavailable(why.to_owned()));
        }
        let write_set = WriteSet {
            repo: &repo,
            plan: &plan,
            base: &base_files,
            head: head_tree,
            bases: &trees_of(&repo, &bases)?,
            merged: merged_files.as_ref(),
        };
        let mut changes = write_set.changes()?;
        if let Some(listed) = &listed {
            plan.note_collisions(&mut changes, listed);
        }
        Ok(Fact::Known(changes))
    };
    let sources = |write_set: &mut Fact<Vec<Change>>| match (write_set, &merged_files, &listed) {
        (Fact::Known(changes), Some(merged), Some(listed)) => {
            let answers = sources::survey(&repo, &plan, changes, merged, listed, request.cache);
            answers.note(changes);
            Fact::Known(answers.sources)
        }
        _ => not_known(&merged),
    };
    // The digests hang on nothing that is looked up meanwhile.
    let ((mut digests, mut stats), looked_up) = std::thread::scope(|scope| {
        let digests = scope.spawn(move || {
            let mut cache = Cache::open(&own, request.cache);
            let found = digests::of(&own, known, &mut cache);
            cache.save();
            found
        });
        let looked_up = write_set().map(|mut write_set| {
            let sources = sources(&mut write_set);
            (write_set, sources)
        });
        let digests = digests.join();
        (
            digests.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            looked_up,
        )
    });
    let (write_set, sources) = looked_up?;
    let scopes = match (&merged, &listing, &listed, &write_set) {
        (Fact::Known(tree), Some(listing), Some(listed), Fact::Known(changes)) => Merged {
            repo: &repo,
            tree: *tree,
            listing,
            listed,
            fixtures: known,
        }
        .scopes(&plan, changes, &mut digests, request.cache)?,
        _ => ScopeFacts::default(),
    };
    let tree = match &listed {
        Some(listed) => Fact::Known(plan.tree_facts(listed)),
        None => not_known(&merged),
    };
    stats.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let snapshot = Snapshot {
        schema: SNAPSHOT_SCHEMA.to_owned(),
        repository: open::repository_name(&repo),
        branch: base.branch,
        subject,
        into_unguarded: None,
        reviews: None,
        proposed_by: None,
        foreign_checks: None,
        required: None,
        lane: request.lane.clone(),
        base: sha(base.commit),
        head: sha(head),
        merge_bases: merge_bases_fact(&bases),
        now: request.now,
        opted_in,
        author: request.author.clone(),
        contract,
        merged_tree: map(&merged, |id| sha(*id)),
        write_set,
        fixtures,
        digests,
        tree,
        sources,
        scopes,
        stats,
    };
    Ok((snapshot, plan))
}

/// The merged tree's id, or why there is none.
pub(super) fn merged_tree(
    repo: &gix::Repository,
    base: ObjectId,
    head: ObjectId,
    bases: &[ObjectId],
) -> Result<Fact<ObjectId>, GitError> {
    if bases.is_empty() {
        return Ok(Fact::Missing(
            "base and head have no merge base: their histories are unrelated".to_owned(),
        ));
    }
    Ok(match merge(repo, base, head, bases)? {
        Ok(tree) => Fact::Known(tree),
        Err(why) => Fact::Unavailable(format!(
            "head cannot be merged into the base tip for certain: {why}; merge the base into the branch, or rebase it"
        )),
    })
}

fn merge_bases_fact(bases: &[ObjectId]) -> Fact<Vec<crate::model::Sha>> {
    if bases.is_empty() {
        Fact::Missing("the histories of base and head are unrelated".to_owned())
    } else {
        Fact::Known(bases.iter().map(|id| sha(*id)).collect())
    }
}

fn trees_of(repo: &gix::Repository, commits: &[ObjectId]) -> Result<Vec<ObjectId>, GitError> {
    commits.iter().map(|id| tree_of(repo, *id)).collect()
}

/// The reason of one fact, for another that hangs on it.
fn not_known<T>(merged: &Fact<ObjectId>) -> Fact<T> {
    let why = merged.why_not().unwrap_or_default();
    Fact::Unavailable(format!("there is no merged tree: {why}"))
}

fn map<T, U>(fact: &Fact<T>, with: impl FnOnce(&T) -> U) -> Fact<U> {
    match fact {
        Fact::Known(value) => Fact::Known(with(value)),
        Fact::Missing(why) => Fact::Missing(why.clone()),
        Fact::Unavailable(why) => Fact::Unavailable(why.clone()),
        Fact::Truncated(why) => Fact::Truncated(why.clone()),
    }
}

/// Whether the base tip has opted in; its own tree is the default branch's tip here.
fn opted_in(config: &crate::model::BlobFact, base: &Tree<'_>) -> Result<bool, GitError> {
    let failed = std::cell::RefCell::new(None);
    let answer = facts::is_opted_in(config, |path| match base.at(BStr::new(path)) {
        Ok(place) => place != Place::Nothing,
        Err(error) => {
            failed.replace(Some(error));
            false
        }
    });
    failed.into_inner().map_or(Ok(answer), Err)
}

/// Counts for [`Snapshot::stats`] as far as gathering knows them.
pub(super) fn stats(fixtures: usize, hashed: usize, bytes: u64) -> Stats {
    Stats {
        fixtures: fixtures as u64,
        fixtures_hashed: hashed as u64,
        bytes_hashed: bytes,
        ..Stats::default()
    }
}
