//! Commits: the base tip, the merge base, what lies between, and the merged tree's id.

use std::collections::BTreeSet;

use crate::forge::ForgeError;
use crate::gate::kind::{Account, CommitFacts, Identity};
use crate::model::{Fact, Sha};

use super::super::wire::{self, Commit, Comparison, ListedFile, Pull};
use super::{GatherError, Gatherer, Guard, Patience};

/// Commits that are looked at; past it a patch is taken for an agent's, and its merge base for unknown.
const MOST_COMMITS: usize = 2_500;
const COMMIT_PAGE: usize = 100;
/// Files that a comparison tells, and that a pull request's own list tells.
const COMPARED_FILES: usize = 300;
const LISTED_FILES: usize = 3_000;
/// Merges of the base branch into head whose ancestry is asked for.
const MOST_MERGES: usize = 25;

/// A commit and its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Point {
    pub commit: Sha,
    pub tree: Sha,
}

impl Point {
    pub fn of(commit: &Commit) -> Self {
        Self {
            commit: commit.sha.clone(),
            tree: commit.commit.tree.sha.clone(),
        }
    }
}

/// What lies between the base tip and head.
#[derive(Debug)]
pub(super) struct History {
    pub base: Point,
    /// `None` without a common ancestor.
    pub merge_base: Option<Point>,
    pub merge_bases: Fact<Vec<Sha>>,
    pub head: Sha,
    /// Where a commit of the comparison told it.
    pub head_tree: Option<Sha>,
    pub commits: Vec<CommitFacts>,
    pub all_commits: bool,
    /// Rows from merge base to head.
    pub files: Vec<ListedFile>,
    pub all_files: bool,
}

impl Gatherer<'_> {
    pub(super) async fn history(&self, pull: &Pull, guard: &Guard) -> Result<History, GatherError> {
        // The pull request's own list of files is against its own base branch.
        let own_list = guard.into_unguarded.is_none();
        match self.history_from(&guard.branch, pull, own_list).await? {
            Some(history) => Ok(history),
            None => self.unrelated(pull, guard).await,
        }
    }

    /// What lies between `base` (a branch or a commit) and the pull request's head; `None` without a
    /// comparison. `own_list`: the pull request's list of files is against `base`.
    pub(super) async fn history_from(
        &self,
        base: &str,
        pull: &Pull,
        own_list: bool,
    ) -> Result<Option<History>, GatherError> {
        let head = &pull.head.sha;
        let comparison = match self.client.compare(base, head).await {
            Ok(comparison) => comparison,
            Err(ForgeError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let base = Point::of(&comparison.base_commit);
        let merge_base = Point::of(&comparison.merge_base_commit);
        let (commits, all_commits) = self.commits(&comparison, &base.commit, head).await?;
        let merge_bases = self
            .merge_bases(&commits, all_commits, &base, &merge_base)
            .await?;
        let (files, all_files) = self.files(comparison.files, pull, own_list).await?;
        let head_tree = match commits.iter().find(|commit| commit.sha == *head) {
            Some(commit) => Some(commit.commit.tree.sha.clone()),
            None if *head == merge_base.commit => Some(merge_base.tree.clone()),
            None => None,
        };
        Ok(Some(History {
            base,
            merge_base: Some(merge_base),
            merge_bases,
            head: head.clone(),
            head_tree,
            commits: commits.into_iter().map(facts_of).collect(),
            all_commits,
            files,
            all_files,
        }))
    }

    /// No comparison: if the branch is there, the histories have nothing in common.
    async fn unrelated(&self, pull: &Pull, guard: &Guard) -> Result<History, GatherError> {
        let tip = match self.client.branch(&guard.branch).await {
            Ok(branch) => branch.commit,
            Err(ForgeError::NotFound(_)) => {
                let guard = guard.clone();
                return Err(GatherError::NoBase {
                    guard,
                    opted_in: None,
                });
            }
            Err(error) => return Err(error.into()),
        };
        let why = "the histories of base and head are unrelated".to_owned();
        Ok(History {
            base: Point::of(&tip),
            merge_base: None,
            merge_bases: Fact::Missing(why),
            head: pull.head.sha.clone(),
            head_tree: None,
            commits: Vec::new(),
            all_commits: false,
            files: Vec::new(),
            all_files: false,
        })
    }

    pub(super) async fn commits(
        &self,
        first: &Comparison,
        base: &Sha,
        head: &Sha,
    ) -> Result<(Vec<Commit>, bool), GatherError> {
        let total = usize::try_from(first.total_commits).unwrap_or(usize::MAX);
        if first.commits.len() >= total {
            return Ok((first.commits.clone(), true));
        }
        let mut commits = Vec::new();
        for page in 1..=MOST_COMMITS / COMMIT_PAGE {
            let next = self
                .client
                .compare_page(base, head, COMMIT_PAGE, page)
                .await?;
            let got = next.commits.len();
            commits.extend(next.commits);
            if got == 0 || commits.len() >= total {
                break;
            }
        }
        let all = commits.len() >= total;
        Ok((commits, all))
    }

    /// The forge tells one merge base. Every way from head to the base branch leads through a parent of
    /// `commits` that is none of them; if each such parent is an ancestor of that merge base, there is no
    /// other.
    async fn merge_bases(
        &self,
        commits: &[Commit],
        all_commits: bool,
        base: &Point,
        merge_base: &Point,
    ) -> Result<Fact<Vec<Sha>>, GatherError> {
        let one = Fact::Known(vec![merge_base.commit.clone()]);
        // Everything in the base branch is an ancestor of its own tip.
        if merge_base.commit == base.commit {
            return Ok(one);
        }
        if !all_commits {
            return Ok(Fact::Truncated(format!(
                "head is more than {MOST_COMMITS} commits ahead of the base; split the patch"
            )));
        }
        let inside: BTreeSet<&Sha> = commits.iter().map(|commit| &commit.sha).collect();
        let entries: BTreeSet<&Sha> = commits
            .iter()
            .flat_map(|commit| &commit.parents)
            .map(|parent| &parent.sha)
            .filter(|parent| !inside.contains(parent) && **parent != merge_base.commit)
            .collect();
        if entries.len() > MOST_MERGES {
            return Ok(Fact::Unavailable(format!(
                "the base was merged into head more than {MOST_MERGES} times; rebase the patch"
            )));
        }
        for entry in entries {
            // The second page has no files.
            let between = self
                .client
                .compare_page(entry, &merge_base.commit, 1, 2)
                .await?;
            if between.merge_base_commit.sha != *entry {
                return Ok(Fact::Unavailable(
                    "head and base have several merge bases, of which the forge tells one; merge the base into the branch".to_owned(),
                ));
            }
        }
        Ok(one)
    }

    async fn files(
        &self,
        compared: Option<Vec<ListedFile>>,
        pull: &Pull,
        own_list: bool,
    ) -> Result<(Vec<ListedFile>, bool), GatherError> {
        let compared = compared.unwrap_or_default();
        if compared.len() < COMPARED_FILES {
            return Ok((compared, true));
        }
        if !own_list {
            return Ok((compared, false));
        }
        let number = crate::model::PrNumber(pull.number);
        let (files, ended) = self.client.pull_files(number, LISTED_FILES).await?;
        let all = ended && files.len() as u64 >= pull.changed_files;
        Ok((files, all))
    }

    /// The merged tree's id. A test merge that the forge has not made yet is an error as long as
    /// waiting for it helps.
    pub(super) async fn merged_tree(
        &self,
        pull: &Pull,
        guard: &Guard,
        history: &History,
        patience: Patience,
    ) -> Result<Fact<Sha>, GatherError> {
        let Some(merge_base) = &history.merge_base else {
            return Ok(Fact::Missing(
                "base and head have no merge base: their histories are unrelated".to_owned(),
            ));
        };
        if merge_base.commit == history.head {
            return Ok(Fact::Known(history.base.tree.clone()));
        }
        if merge_base.commit == history.base.commit {
            return Ok(Fact::Known(self.head_tree(history).await?));
        }
        if guard.into_unguarded.is_some() {
            return Ok(Fact::Unavailable(format!(
                "head and {} have diverged, and the forge tests no merge into it for this pull request; merge {} into the branch",
                guard.branch, guard.branch
            )));
        }
        if pull.mergeable == Some(false) {
            return Ok(Fact::Unavailable(
                "head cannot be merged into the base tip: there is a conflict; merge the base into the branch, or rebase it".to_owned(),
            ));
        }
        let why = match self.test_merge(pull, history).await? {
            Ok(tree) => return Ok(Fact::Known(tree)),
            Err(why) => why,
        };
        match patience {
            Patience::Wait => Err(GatherError::MergePending(why)),
            Patience::Settle => Ok(Fact::Unavailable(why)),
        }
    }

    pub(super) async fn head_tree(&self, history: &History) -> Result<Sha, GatherError> {
        match &history.head_tree {
            Some(tree) => Ok(tree.clone()),
            None => Ok(self.client.git_commit(&history.head).await?.tree.sha),
        }
    }

    /// The tree of the forge's test merge if it is of exactly base tip and head.
    async fn test_merge(
        &self,
        pull: &Pull,
        history: &History,
    ) -> Result<Result<Sha, String>, GatherError> {
        let (Some(merge), Some(true)) = (&pull.merge_commit_sha, pull.mergeable) else {
            return Ok(Err("the forge has not tested the merge yet".to_owned()));
        };
        let commit = match self.client.git_commit(merge).await {
            Ok(commit) => commit,
            Err(ForgeError::NotFound(_)) => {
                return Ok(Err(format!("the forge's test merge {merge} is gone")));
            }
            Err(error) => return Err(error.into()),
        };
        let parents: Vec<&Sha> = commit.parents.iter().map(|parent| &parent.sha).collect();
        if parents == [&history.base.commit, &history.head] {
            Ok(Ok(commit.tree.sha))
        } else {
            Ok(Err(format!(
                "the forge's test merge {} is not of the base tip and head",
                merge.short()
            )))
        }
    }
}

fn account_of(account: Option<wire::Account>) -> Option<Account> {
    account
        .filter(|account| account.id != 0)
        .map(|account| super::account(&account))
}

fn facts_of(commit: Commit) -> CommitFacts {
    let identity = |signature: Option<wire::Signature>, account| {
        let signature = signature.unwrap_or_default();
        Identity {
            name: signature.name,
            email: signature.email,
            account: account_of(account),
        }
    };
    CommitFacts {
        sha: Some(commit.sha),
        is_merge: commit.parents.len() > 1,
        author: identity(commit.commit.author, commit.author),
        committer: identity(commit.commit.committer, commit.committer),
        message: commit.commit.message,
    }
}
