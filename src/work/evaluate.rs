//! The job "bring pull request n up to date": gather, decide, publish.
//!
//! Invariants: a run that was opened is ended, also when the attempts are used up; a verdict is
//! published for the head that it was made for or not at all; broken off anywhere, the next attempt
//! finishes the work without a second check-run or comment. That the lease still stood after the last
//! write is checked when the job is settled.

use std::time::Instant;

use chrono::Utc;

use crate::forge::github::gather::{Gatherer, Patience, Survey};
use crate::forge::github::{App, Client, Pull};
use crate::gate;
use crate::model::{AuthorKind, Decision, PullKey, Snapshot};
use crate::publish::apply::{Publisher, Record, cancel_evaluations};
use crate::publish::plan::{self, Run};
use crate::store::{Lease, OpenEvaluation, RunKey, Store};

use super::Outcome;
use super::stop::Stop;

/// Attempts that wait for the forge's test merge before the decision is *undetermined*.
const ATTEMPTS_FOR_MERGE: u32 = 5;
/// A Snapshot whose JSON is larger is not kept; bytes.
const LARGEST_SNAPSHOT: usize = 32 << 20;

/// Brings `pull` up to date.
pub(super) async fn attempt(app: &App, store: &Store, pull: &PullKey, lease: &Lease) -> Outcome {
    let client = app.client(pull.installation, pull.repo.clone());
    let work = Work {
        client: &client,
        store,
        pull,
        lease,
        started: Instant::now(),
    };
    let stop = match work.bring_up_to_date().await {
        Ok(()) => return Outcome::Done,
        Err(stop) => stop,
    };
    let outcome = stop.outcome(Utc::now());
    let is_last = matches!(outcome, Outcome::Dead { .. }) || lease.attempt >= lease.max_attempts;
    if is_last && let Err(error) = work.give_up(&stop.to_string()).await {
        tracing::warn!(%error, "the check-run could not be ended");
    }
    outcome
}

/// One attempt.
struct Work<'a> {
    client: &'a Client,
    store: &'a Store,
    pull: &'a PullKey,
    lease: &'a Lease,
    started: Instant,
}

impl<'a> Work<'a> {
    async fn bring_up_to_date(&self) -> Result<(), Stop> {
        let pull = self.client.pull(self.pull.number).await?;
        self.end_overtaken(&pull).await?;
        if pull.state != "open" {
            return Ok(());
        }
        // "In progress" at once where it is known that there will be a check and by what name.
        let mut early = None;
        if default_branch(&pull) == Some(pull.base.branch.as_str())
            && self.store.opted_in(self.client.repo()).await? == Some(true)
        {
            early = Some(self.publisher(&pull, "frostline".to_owned(), true).await?);
        }
        let gatherer = Gatherer {
            client: self.client,
            store: self.store,
        };
        let survey = gatherer.survey(&pull).await?;
        self.remember(&survey).await?;
        let mut publisher = match early {
            Some(publisher) => publisher,
            None => {
                let name = plan::check_name(&survey.guard.branch, &survey.guard.default_branch);
                self.publisher(&pull, name, survey.opted_in).await?
            }
        };
        let nobody_asked = !survey.opted_in && survey.author.kind == AuthorKind::Person;
        if nobody_asked && !matches!(publisher.published().run, Run::Open { .. }) {
            return Ok(());
        }
        let patience = if self.lease.attempt < ATTEMPTS_FOR_MERGE {
            Patience::Wait
        } else {
            Patience::Settle
        };
        let now = self.store.now();
        let snapshot = gatherer.snapshot(&pull, survey, now, patience).await?;
        let decision = gate::decide(&snapshot);
        let current = self.client.pull(self.pull.number).await?;
        if is_overtaken(&pull, &current) {
            publisher.cancel(&superseded(&pull, &current)).await?;
            self.store.enqueue(self.pull).await?;
            return Ok(());
        }
        self.publish(&mut publisher, snapshot, decision, current.draft)
            .await
    }

    /// Finds out what is published, and opens a run if `start` and no run of this head has ended.
    async fn publisher(
        &self,
        pull: &Pull,
        check_name: String,
        start: bool,
    ) -> Result<Publisher<'a>, Stop> {
        let key = RunKey {
            repo: self.client.repo().clone(),
            pull: self.pull.number,
            head: pull.head.sha.clone(),
            check_name,
        };
        let mut publisher = Publisher::resume(self.client, self.store, key).await?;
        if start && publisher.published().run == Run::None {
            publisher.start().await?;
        }
        Ok(publisher)
    }

    async fn remember(&self, survey: &Survey) -> Result<(), Stop> {
        let repo = self.client.repo();
        if self.store.opted_in(repo).await? != Some(survey.opted_in) {
            self.store.set_opted_in(repo, survey.opted_in).await?;
        }
        Ok(())
    }

    async fn publish(
        &self,
        publisher: &mut Publisher<'a>,
        snapshot: Snapshot,
        mut decision: Decision,
        draft: bool,
    ) -> Result<(), Stop> {
        decision.stats.forge_requests = self.client.requests();
        decision.stats.elapsed_ms =
            u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let snapshot = serde_json::to_string(&snapshot)
            .ok()
            .filter(|json| json.len() <= LARGEST_SNAPSHOT);
        let json = serde_json::to_string(&decision).unwrap_or_default();
        let record = Record {
            decision: &json,
            snapshot: snapshot.as_deref(),
        };
        for action in plan::plan(publisher.published(), &decision, draft) {
            publisher.apply(&action, Some(record)).await?;
        }
        tracing::info!(
            verdict = decision.verdict.name(),
            requests = self.client.requests(),
            "decided"
        );
        Ok(())
    }

    /// Ends the runs that earlier attempts left open on heads that no longer count.
    async fn end_overtaken(&self, pull: &Pull) -> Result<(), Stop> {
        let key = (self.client.repo(), self.pull.number);
        let why = |evaluation: &OpenEvaluation| {
            if pull.state != "open" {
                Some("The pull request was closed.".to_owned())
            } else if evaluation.head != pull.head.sha {
                Some(format!("superseded by {}", pull.head.sha))
            } else {
                None
            }
        };
        Ok(cancel_evaluations(self.client, self.store, key, why).await?)
    }

    /// The last attempt failed: what is open must not stay so, and an opted-in repository must not
    /// take silence for consent.
    async fn give_up(&self, reason: &str) -> Result<(), Stop> {
        let pull = self.client.pull(self.pull.number).await?;
        self.end_overtaken(&pull).await?;
        if pull.state != "open" {
            return Ok(());
        }
        let (repo, number) = (self.client.repo(), self.pull.number);
        let mut names: Vec<String> = self
            .store
            .open_evaluations(repo, number)
            .await?
            .into_iter()
            .map(|evaluation| evaluation.check_name)
            .collect();
        let is_guarded = default_branch(&pull) == Some(pull.base.branch.as_str())
            && self.store.opted_in(repo).await? == Some(true);
        if names.is_empty() && is_guarded {
            names.push("frostline".to_owned());
        }
        for name in names {
            self.publisher(&pull, name, false)
                .await?
                .fail(reason)
                .await?;
        }
        Ok(())
    }
}

fn default_branch(pull: &Pull) -> Option<&str> {
    let repo = pull.base.repo.as_ref()?;
    Some(&repo.default_branch)
}

/// The pull request is no longer what was judged.
fn is_overtaken(judged: &Pull, current: &Pull) -> bool {
    current.state != "open"
        || current.head.sha != judged.head.sha
        || current.base.branch != judged.base.branch
}

fn superseded(judged: &Pull, current: &Pull) -> String {
    if current.head.sha != judged.head.sha {
        format!("superseded by {}", current.head.sha)
    } else if current.state != "open" {
        "The pull request was closed.".to_owned()
    } else {
        "The pull request goes into another branch now.".to_owned()
    }
}
