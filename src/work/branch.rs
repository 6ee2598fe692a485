//! The job "a guarded branch may have moved": judges again what the move changed, and has the contract
//! audited.
//!
//! Level, not edge: what is out of date is told by the base tip that each pull request was judged on, so
//! that a lost webhook is made up for by the next look. Broken off anywhere, the next attempt goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::forge::ForgeError;
use crate::forge::github::gather::{ContractAt, Gatherer};
use crate::forge::github::{App, Client, ListedFile};
use crate::gate::reads::{How, Pushed, reads};
use crate::model::{Sha, Snapshot};
use crate::publish::apply::{PublishError, Publisher};
use crate::publish::plan::{self, Run};
use crate::store::{Lease, PullState, RepoKey, RunKey, Store, Task};

use super::Outcome;
use super::stop::Stop;

/// Evaluations that may start at once, and how far the others are apart: at about ten requests each they
/// take half of what an installation may ask in an hour.
const AT_ONCE: u32 = 20;
const APART: Duration = Duration::from_secs(15);
/// A contract holds dates: it is audited at least this often, in milliseconds.
const AUDIT_EVERY: i64 = 24 * 60 * 60 * 1_000;
/// Files that a comparison tells of; as many may be more.
const COMPARED_FILES: usize = 300;

/// Which branch.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub repo: &'a RepoKey,
    pub branch: &'a str,
    pub default_branch: &'a str,
}

pub(super) async fn attempt(app: &App, store: &Store, place: Place<'_>, lease: &Lease) -> Outcome {
    let client = app
        .client(place.repo.installation, place.repo.repo.clone())
        .fenced(store.clone(), lease.clone());
    let look = Look {
        client: &client,
        store,
        place,
        lease,
    };
    let looked = look.look().await;
    tracing::Span::current().record("requests", client.requests());
    match looked {
        Ok(()) => Outcome::Done,
        Err(stop) => stop.settle(store, lease).await,
    }
}

struct Look<'a> {
    client: &'a Client,
    store: &'a Store,
    place: Place<'a>,
    lease: &'a Lease,
}

impl Look<'_> {
    async fn look(&self) -> Result<(), Stop> {
        let (repo, branch) = (self.client.repo(), self.place.branch);
        let is_default = branch == self.place.default_branch;
        let seen = self.store.branch_state(repo, branch).await?;
        if !is_default && seen.is_none() && !self.is_guarded().await? {
            return Ok(());
        }
        let tip = match self.client.branch(branch).await {
            Ok(tip) => tip,
            Err(ForgeError::NotFound(_)) => return self.gone().await,
            Err(error) => return Err(error.into()),
        };
        tracing::Span::current().record("head", tip.commit.sha.as_str());
        let gatherer = Gatherer {
            client: self.client,
            store: self.store,
        };
        let contract = gatherer.contract_at(&tip).await?;
        let seen = seen.unwrap_or_default();
        let is_new = seen.contract.as_ref() != Some(&contract.digest);
        if is_default {
            let was = self.store.opted_in(repo).await?;
            if was == Some(false) && !contract.opted_in {
                return Ok(());
            }
            if was != Some(contract.opted_in) {
                let is_public = self.store.is_public(repo).await?;
                self.store
                    .set_repository(repo, contract.opted_in, is_public)
                    .await?;
            }
            if is_new {
                self.other_branches(&contract).await?;
            }
        }
        let stale = self.stale(&tip.commit.sha, is_default && is_new).await?;
        self.judge_again(&stale).await?;
        let is_due = match &seen.audited {
            Some((digest, at)) => {
                *digest != contract.digest || self.store.now_ms() - at >= AUDIT_EVERY
            }
            None => true,
        };
        let opted_in = contract.opted_in || self.store.opted_in(repo).await? == Some(true);
        if opted_in && is_due {
            let task = Task::Audit {
                repo: self.place.repo.clone(),
                branch: branch.to_owned(),
                default_branch: self.place.default_branch.to_owned(),
            };
            self.store.enqueue_task(task, Duration::ZERO).await?;
        }
        Ok(self
            .store
            .see_contract(repo, branch, &contract.digest)
            .await?)
    }

    async fn is_guarded(&self) -> Result<bool, Stop> {
        let pulls = self.store.seen_pulls(self.client.repo()).await?;
        Ok(pulls.iter().any(|pull| pull.guarded == self.place.branch))
    }

    /// Pull requests into a branch that is gone are told so by their own evaluation.
    async fn gone(&self) -> Result<(), Stop> {
        let repo = self.client.repo();
        for pull in self.store.seen_pulls(repo).await? {
            if pull.guarded == self.place.branch || pull.base_branch == self.place.branch {
                self.store.enqueue(&pull.key).await?;
            }
        }
        Ok(self.store.forget_branch(repo, self.place.branch).await?)
    }

    /// The default branch's configuration says which others are guarded.
    async fn other_branches(&self, contract: &ContractAt) -> Result<(), Stop> {
        for branch in &contract.branches {
            let task = Task::Branch {
                repo: self.place.repo.clone(),
                branch: branch.clone(),
                default_branch: self.place.default_branch.to_owned(),
            };
            if branch != self.place.branch {
                self.store.see_branch(self.client.repo(), branch).await?;
                self.store.enqueue_task(task, Duration::ZERO).await?;
            }
        }
        Ok(())
    }

    /// The pull requests whose decision read what changed, the newest first. What is told of the others
    /// is up to date with `tip`. `all`: those into other branches too, which may be guarded otherwise now.
    async fn stale(&self, tip: &Sha, all: bool) -> Result<Vec<PullState>, Stop> {
        let repo = self.client.repo();
        let mut pushed: BTreeMap<Sha, Option<Vec<Pushed>>> = BTreeMap::new();
        let mut stale = Vec::new();
        for pull in self.store.seen_pulls(repo).await? {
            let ours = pull.guarded == self.place.branch;
            if !ours {
                if all {
                    stale.push(pull);
                }
                continue;
            }
            let Some(base) = pull.base.clone() else {
                stale.push(pull);
                continue;
            };
            if base == *tip {
                continue;
            }
            if !pushed.contains_key(&base) {
                pushed.insert(base.clone(), self.pushed(&base, tip).await?);
            }
            let rows = pushed.get(&base).and_then(Option::as_deref);
            if self.has_read(&pull, rows).await? {
                stale.push(pull);
            } else {
                let number = pull.key.number;
                self.store
                    .settle_pull(repo, number, &pull.head, Some(tip))
                    .await?;
            }
        }
        Ok(stale)
    }

    /// What changed between two tips; `None` when it cannot be told whole.
    async fn pushed(&self, old: &Sha, new: &Sha) -> Result<Option<Vec<Pushed>>, Stop> {
        let comparison = match self.client.compare(old.as_str(), new).await {
            Ok(comparison) => comparison,
            // A forced push, and the old tip is gone.
            Err(ForgeError::NotFound(_) | ForgeError::Validation(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let files = comparison.files.unwrap_or_default();
        if comparison.merge_base_commit.sha != *old || files.len() >= COMPARED_FILES {
            return Ok(None);
        }
        Ok(Some(files.into_iter().flat_map(pushed_by).collect()))
    }

    async fn has_read(&self, pull: &PullState, pushed: Option<&[Pushed]>) -> Result<bool, Stop> {
        let Some(pushed) = pushed else {
            return Ok(true);
        };
        let repo = self.client.repo();
        let stored = self.store.newest_decision(repo, pull.key.number).await?;
        let snapshot = stored
            .and_then(|(_, snapshot)| serde_json::from_str::<Snapshot>(&snapshot?).ok())
            .filter(|snapshot| snapshot.head == pull.head);
        Ok(snapshot.is_none_or(|snapshot| reads(&snapshot, pushed)))
    }

    /// Shows at each head that it is being judged, then has them judged, the newest first.
    async fn judge_again(&self, stale: &[PullState]) -> Result<(), Stop> {
        for (at, pull) in (0_u32..).zip(stale) {
            self.store
                .settle_pull(&pull.key.repo, pull.key.number, &pull.head, None)
                .await?;
            // What was never settled is being judged for the first time: its own job shows that, and a
            // run that it may have ended before it was killed stands.
            if pull.base.is_some() {
                self.show_in_progress(pull).await?;
            }
            let after = APART * at.saturating_sub(AT_ONCE - 1);
            self.store.enqueue_task((&pull.key).into(), after).await?;
        }
        Ok(())
    }

    async fn show_in_progress(&self, pull: &PullState) -> Result<(), Stop> {
        let key = RunKey {
            repo: self.client.repo().clone(),
            pull: pull.key.number,
            head: pull.head.clone(),
            check_name: pull.check_name.clone(),
        };
        let speaker = self.store.pulls_at(&key).await?;
        let speaks = speaker.first().is_some_and(|first| first.key == pull.key);
        // Whose job is at work shows so already.
        if !speaks || !self.store.take_head(&key, self.lease).await? {
            return Ok(());
        }
        let shown = async {
            let mut publisher = Publisher::resume(self.client, self.store, key.clone()).await?;
            if matches!(publisher.published().run, Run::Completed { .. }) {
                publisher.start().await?;
            }
            Ok(())
        };
        let shown = shown.await;
        self.store.leave_head(&key, self.lease).await?;
        match shown {
            // The head is gone; its own job will see.
            Err(PublishError::Forge(ForgeError::NotFound(_) | ForgeError::Validation(_))) => Ok(()),
            other => Ok(other?),
        }
    }
}

fn pushed_by(file: ListedFile) -> Vec<Pushed> {
    let one = |path: String, how| Pushed { path, how };
    match file.status.as_str() {
        "added" | "copied" => vec![one(file.filename, How::Added)],
        "removed" => vec![one(file.filename, How::Removed)],
        "renamed" => {
            let mut both = vec![one(file.filename, How::Added)];
            both.extend(file.previous_filename.map(|old| one(old, How::Removed)));
            both
        }
        _ => vec![one(file.filename, How::Changed)],
    }
}

/// Name of the check-run of an audit.
pub(super) fn audit_check(branch: &str, default_branch: &str) -> String {
    plan::check_name(branch, default_branch).replacen("frostline", "frostline audit", 1)
}

/// The branch whose audit has a check-run of that name.
pub(super) fn audited_branch<'a>(check_name: &'a str, default_branch: &'a str) -> Option<&'a str> {
    match check_name.strip_prefix("frostline audit")? {
        "" => Some(default_branch),
        rest => rest.strip_prefix(" (")?.strip_suffix(')'),
    }
}
