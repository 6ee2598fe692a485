//! A branch's first-parent line: what was merged, one commit a patch.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};
use sha2::{Digest as _, Sha256};

use super::error::GitError;
use super::open;
use super::tree::{Listing, tree_of};

/// Commits of one line at most: a bound on time.
const MOST_COMMITS: usize = 100_000;

/// A commit of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub commit: String,
    /// When it was committed.
    pub at: DateTime<Utc>,
    tree: ObjectId,
}

/// What there is before the first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Earlier commits: the first step is the last one before the time asked for.
    More,
    /// Nothing: the first step began the history.
    Nothing,
    /// It cannot be told: the history is cut off there.
    Unknown,
}

/// The first-parent line of a revision, from some time on.
pub struct Line {
    repo: gix::Repository,
    /// Oldest first; never empty.
    pub steps: Vec<Step>,
    pub before: Before,
}

impl Line {
    /// The line of `revision` back to the last commit before `since`.
    ///
    /// # Errors
    /// When there is no repository, the revision names no commit, or an object cannot be read.
    pub fn of(folder: &Path, revision: &str, since: DateTime<Utc>) -> Result<Self, GitError> {
        let repo = open::open(folder)?;
        let unreadable = |error| GitError::object("the shallow boundary", error);
        let shallow = repo.shallow_commits().map_err(unreadable)?;
        let shallow: HashSet<ObjectId> = shallow
            .map(|commits| commits.iter().copied().collect())
            .unwrap_or_default();
        let mut next = Some(open::commit(&repo, revision)?);
        let (mut steps, mut before) = (Vec::new(), Before::Nothing);
        while let Some(id) = next {
            let step = step(&repo, id)?;
            let is_earlier = step.at < since || steps.len() >= MOST_COMMITS;
            steps.push(step);
            if is_earlier {
                before = Before::More;
                break;
            }
            if shallow.contains(&id) {
                before = Before::Unknown;
                break;
            }
            next = parent(&repo, id)?;
        }
        steps.reverse();
        Ok(Self {
            repo,
            steps,
            before,
        })
    }

    /// The places of the steps that change a path which `matters`; the first one always is.
    ///
    /// # Errors
    /// When a tree cannot be read.
    pub fn changes(&self, matters: impl Fn(&str) -> bool) -> Result<Vec<usize>, GitError> {
        let mut known: HashMap<Vec<u8>, bool> = HashMap::new();
        let mut last = None;
        let mut changes = Vec::new();
        for (place, step) in self.steps.iter().enumerate() {
            if place > 0 && self.steps[place - 1].tree == step.tree {
                continue;
            }
            let mut print = Sha256::new();
            for (path, leaf) in Listing::of(&self.repo, step.tree)?.below(BStr::new("")) {
                let counts = match known.get(path.as_bytes()) {
                    Some(counts) => *counts,
                    None => {
                        let counts = matters(&path.to_str_lossy());
                        known.insert(path.to_vec(), counts);
                        counts
                    }
                };
                if counts {
                    print.update(path);
                    print.update([0]);
                    print.update(format!("{:?}", leaf.kind));
                    print.update(leaf.id.as_bytes());
                }
            }
            let print = print.finalize();
            if last != Some(print) {
                changes.push(place);
            }
            last = Some(print);
        }
        Ok(changes)
    }
}

fn step(repo: &gix::Repository, id: ObjectId) -> Result<Step, GitError> {
    let unreadable = |error| GitError::object(format!("commit {id}"), error);
    let commit = repo.find_commit(id).map_err(unreadable)?;
    let seconds = commit
        .time()
        .map_err(|error| GitError::object(format!("commit {id}"), error))?
        .seconds;
    Ok(Step {
        commit: id.to_string(),
        // A time that is none is before every other.
        at: DateTime::from_timestamp(seconds, 0).unwrap_or(DateTime::<Utc>::MIN_UTC),
        tree: tree_of(repo, id)?,
    })
}

fn parent(repo: &gix::Repository, id: ObjectId) -> Result<Option<ObjectId>, GitError> {
    let commit = repo
        .find_commit(id)
        .map_err(|error| GitError::object(format!("commit {id}"), error))?;
    Ok(commit.parent_ids().next().map(gix::Id::detach))
}
