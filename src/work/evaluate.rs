//! The job "bring pull request n up to date": gather, decide, publish.
//!
//! Invariants: a run that was opened is ended, also when the attempts are used up; a verdict is
//! published for the head that it was made for or not at all; broken off anywhere, the next attempt
//! finishes the work without a second check-run or comment. That the lease still stood after the last
//! write is checked when the job is settled.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::config::repo::RepoConfig;
use crate::forge::github::gather::{GatherError, Gatherer, Patience, Survey};
use crate::forge::github::{App, Client, Pull};
use crate::gate;
use crate::gate::kind::lifted_by;
use crate::model::{AuthorKind, Decision, Layer, PullKey, Sha, Snapshot, Verdict};
use crate::publish::apply::{Publisher, Record, cancel_evaluations};
use crate::publish::links::{Links, Page};
use crate::publish::plan::{self, Run};
use crate::store::{Lease, OpenEvaluation, Store};

use super::Outcome;
use super::bound::Judged;
use super::commands::Commands;
use super::foreign;
use super::moved;
use super::overtaken::{default_branch, is_overtaken, superseded};
use super::required;
use super::reviews::ReviewFacts;
use super::seat::Seat;
use super::stop::Stop;

/// Attempts that wait for the API to show the head that the event told. After them what the API shows is
/// believed: the event was an old one that came late.
const ATTEMPTS_FOR_HEAD: u32 = 3;
/// Attempts that wait for the forge's test merge before the decision is *undetermined*.
const ATTEMPTS_FOR_MERGE: u32 = 6;
/// A Snapshot whose JSON is larger is not kept; bytes.
const LARGEST_SNAPSHOT: usize = 32 << 20;

/// Brings `pull` up to date.
pub(super) async fn attempt(
    app: &App,
    (store, links): (&Store, Option<&Links>),
    pull: &PullKey,
    lease: &Lease,
) -> Outcome {
    let client = app
        .client(pull.installation, pull.repo.clone())
        .fenced(store.clone(), lease.clone());
    let work = Work {
        client: &client,
        store,
        links,
        pull,
        lease,
        started: Instant::now(),
    };
    let ended = match lease.is_poison() {
        true => Err(Stop::Poison),
        false => work.bring_up_to_date().await,
    };
    tracing::Span::current().record("requests", client.requests());
    let stop = match ended {
        Ok(None) => return Outcome::Done,
        // The verdict stands; commands wait for their turn.
        Ok(Some(stop)) => return stop.settle(store, lease).await,
        Err(stop) => stop,
    };
    let outcome = stop.settle(store, lease).await;
    if outcome.is_last(lease)
        && let Err(error) = work.give_up(&stop.to_string()).await
    {
        tracing::warn!(%error, "the check-run could not be ended");
    }
    outcome
}

/// One attempt.
pub(super) struct Work<'a> {
    pub client: &'a Client,
    pub store: &'a Store,
    links: Option<&'a Links>,
    pub pull: &'a PullKey,
    pub lease: &'a Lease,
    started: Instant,
}

/// Where the outcome goes.
pub(super) struct Post<'a> {
    pub publisher: Publisher<'a>,
    pub seat: Seat,
}

impl<'a> Work<'a> {
    /// Carries out commands, then judges. What keeps a command from being carried out keeps no verdict
    /// back; it is given at the end.
    async fn bring_up_to_date(&self) -> Result<Option<Stop>, Stop> {
        let pull = self.client.pull(self.pull.number).await?;
        self.is_up_to_date(&pull)?;
        moved::note(self.store, self.pull, &pull, self.lease).await?;
        let asked = match self.commands().run(&pull).await {
            Err(stop) if stop.ends_all() => return Err(stop),
            asked => asked.err(),
        };
        self.judge(&pull).await?;
        match self.commands().answer_all().await {
            Ok(()) => Ok(asked),
            Err(stop) => Ok(Some(stop)),
        }
    }

    pub(super) fn commands(&self) -> Commands<'a> {
        Commands {
            client: self.client,
            store: self.store,
            number: self.pull.number,
        }
    }

    async fn judge(&self, pull: &Pull) -> Result<(), Stop> {
        self.end_overtaken(pull, None).await?;
        if pull.state != "open" {
            self.commands().refuse_waiting(&pull.head.sha).await?;
            let (repo, number) = (self.client.repo(), self.pull.number);
            return Ok(self.store.forget_pull(repo, number).await?);
        }
        // "In progress" at once where it is known that there will be a check and by what name.
        let mut early = None;
        if default_branch(pull) == Some(pull.base.branch.as_str())
            && self.store.opted_in(self.client.repo()).await? == Some(true)
        {
            early = Some(self.post(pull, &pull.base.branch, true).await?);
        }
        let gatherer = Gatherer {
            client: self.client,
            store: self.store,
        };
        let survey = match gatherer.survey(pull).await {
            Err(GatherError::NoBase { guard, opted_in }) => {
                return self.no_base(pull, &guard, opted_in).await;
            }
            survey => survey?,
        };
        self.remember(pull, &survey).await?;
        let base = survey.base_tip().clone();
        let mut post = match early {
            Some(post) => post,
            None => {
                self.post(pull, &survey.guard.branch, survey.opted_in)
                    .await?
            }
        };
        let nobody_asked = !survey.opted_in && survey.author.kind == AuthorKind::Person;
        if nobody_asked && !matches!(post.publisher.published().run, Run::Open { .. }) {
            self.commands().refuse_waiting(&pull.head.sha).await?;
            return self.settled(pull, &base).await;
        }
        let patience = if self.lease.attempt < ATTEMPTS_FOR_MERGE {
            Patience::Wait
        } else {
            Patience::Settle
        };
        let now = self.store.now();
        let name = plan::check_name(&survey.guard.branch, &survey.guard.default_branch);
        let people = survey.commit_authors();
        let evidence = survey.evidence.clone();
        let snapshot = gatherer.snapshot(pull, survey, now, patience).await?;
        let facts = ReviewFacts {
            client: self.client,
            store: self.store,
            pull,
            key: &self.run_key(&pull.head.sha, &name),
            commit_authors: &people,
        };
        let (snapshot, decision) = self
            .decide(snapshot, &facts, (post.seat, &evidence))
            .await?;
        let current = self.client.pull_now(self.pull.number).await?;
        if is_overtaken(pull, &current) {
            if post.seat == Seat::Speaks {
                let why = superseded(pull, &current);
                post.publisher.cancel(&why).await?;
            }
            self.store.enqueue(self.pull).await?;
            return Ok(());
        }
        self.publish(&mut post, snapshot, decision, current.draft)
            .await?;
        self.groups_again().await?;
        self.settled(pull, &base).await
    }

    /// Decides, with what people said where a person has to approve, and carries out the commands that
    /// waited for it.
    async fn decide(
        &self,
        mut snapshot: Snapshot,
        facts: &ReviewFacts<'_>,
        (seat, evidence): (Seat, &BTreeSet<String>),
    ) -> Result<(Snapshot, Decision), Stop> {
        let (client, store) = (self.client, self.store);
        snapshot.foreign_checks = foreign::checks(client, store, facts.key).await?;
        if snapshot.opted_in {
            let check = (snapshot.branch.as_str(), facts.key.check_name.as_str());
            snapshot.required = Some(required::requirement(client, store, check).await?);
        }
        let mut decision = with_reviews(&mut snapshot, facts).await?;
        let config = snapshot.contract.get(&Layer::Config);
        let config = config.map_or_else(Default::default, |file| RepoConfig::of(&file.base));
        let judged = Judged {
            key: facts.key,
            decision: &decision,
            snapshot: &snapshot,
            config: &config,
            evidence,
        };
        let carried = self.commands().on_decision(&judged).await?;
        if let Some(actor) = &carried.lifted {
            snapshot.author.kind = AuthorKind::Person;
            snapshot.author.evidence = lifted_by(actor);
        }
        if carried.accepted || carried.lifted.is_some() {
            decision = with_reviews(&mut snapshot, facts).await?;
            if let Seat::Listens(number) = seat {
                let speaker = PullKey {
                    number,
                    ..self.pull.clone()
                };
                self.store.enqueue(&speaker).await?;
            }
        }
        Ok((snapshot, decision))
    }

    /// What is published for the pull request's head is up to date with this base tip.
    async fn settled(&self, pull: &Pull, base: &Sha) -> Result<(), Stop> {
        let (repo, number) = (self.client.repo(), self.pull.number);
        Ok(self
            .store
            .settle_pull(repo, number, &pull.head.sha, Some(base))
            .await?)
    }

    /// The head that the API shows must be the event's: webhooks run ahead of the API.
    fn is_up_to_date(&self, pull: &Pull) -> Result<(), Stop> {
        match self.lease.task.head() {
            Some(told) if *told != pull.head.sha && self.lease.attempt < ATTEMPTS_FOR_HEAD => {
                Err(Stop::Behind {
                    shown: pull.head.sha.clone(),
                    told: told.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Finds the pull request's seat and what is published for its head under the check of `guarded`.
    /// Opens a run if `start` and no run of this head has ended.
    pub(super) async fn post(
        &self,
        pull: &Pull,
        guarded: &str,
        start: bool,
    ) -> Result<Post<'a>, Stop> {
        let name = plan::check_name(guarded, default_branch(pull).unwrap_or(guarded));
        self.end_overtaken(pull, Some(&name)).await?;
        let seat = self.seat(pull, guarded, &name).await?;
        let key = self.run_key(&pull.head.sha, &name);
        let page = Page {
            repo: &key.repo,
            pull: key.pull,
            head: &key.head,
        };
        let today = self.store.now().date_naive();
        let details = self.links.and_then(|links| links.to(page, today));
        let publisher = Publisher::resume(self.client, self.store, key).await?;
        let mut publisher = publisher.with_details(details);
        if start && seat == Seat::Speaks && publisher.published().run == Run::None {
            publisher.start().await?;
        }
        Ok(Post { publisher, seat })
    }

    async fn remember(&self, pull: &Pull, survey: &Survey) -> Result<(), Stop> {
        let repo = self.client.repo();
        let seen = pull.base.repo.as_ref();
        let is_public = seen.is_some_and(|repo| repo.private == Some(false));
        if self.store.opted_in(repo).await? != Some(survey.opted_in)
            || self.store.is_public(repo).await? != is_public
        {
            let opted_in = survey.opted_in;
            self.store.set_repository(repo, opted_in, is_public).await?;
        }
        Ok(())
    }

    async fn publish(
        &self,
        post: &mut Post<'a>,
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
        let answers = self.commands().shown(&decision.head).await?;
        for action in plan::plan_answering(post.publisher.published(), &decision, draft, &answers) {
            if post.seat == Seat::Speaks || !action.is_of_run() {
                post.publisher.apply(&action, Some(record)).await?;
            }
        }
        if let Seat::Listens(speaker) = post.seat {
            self.tell(speaker, decision.author.kind).await?;
        }
        let metrics = self.client.metrics();
        metrics.evaluation(&decision, self.started.elapsed());
        tracing::Span::current().record("verdict", decision.verdict.name());
        self.count(&decision).await
    }

    /// Ends the runs that earlier attempts left open on heads that no longer count, and under names other
    /// than `check_name`, once that is known.
    async fn end_overtaken(&self, pull: &Pull, check_name: Option<&str>) -> Result<(), Stop> {
        self.hand_over(pull, check_name).await?;
        let key = (self.client.repo(), self.pull.number);
        let why = |evaluation: &OpenEvaluation| {
            if pull.state != "open" {
                Some("The pull request was closed.".to_owned())
            } else if evaluation.head != pull.head.sha {
                Some(format!("superseded by {}", pull.head.sha))
            } else {
                check_name
                    .filter(|name| *name != evaluation.check_name)
                    .map(|_| "Another guarded branch judges the pull request now.".to_owned())
            }
        };
        Ok(cancel_evaluations(self.client, self.store, key, why).await?)
    }

    /// The last attempt failed: what is open must not stay so, and an opted-in repository must not
    /// take silence for consent.
    async fn give_up(&self, reason: &str) -> Result<(), Stop> {
        let pull = self.client.pull(self.pull.number).await?;
        self.end_overtaken(&pull, None).await?;
        if pull.state != "open" {
            return Ok(());
        }
        let Some(guarded) = self.guarded(&pull).await? else {
            return Ok(());
        };
        let mut post = self.post(&pull, &guarded, false).await?;
        let name = plan::check_name(&guarded, default_branch(&pull).unwrap_or(&guarded));
        let key = self.run_key(&pull.head.sha, &name);
        let is_awaited = self.store.evaluation_at(&key).await?.is_some()
            || self.store.opted_in(self.client.repo()).await? == Some(true);
        if is_awaited && post.seat == Seat::Speaks {
            post.publisher.fail(reason).await?;
        }
        Ok(())
    }

    /// The guarded branch that judges the pull request, as far as it can be told without the contract.
    async fn guarded(&self, pull: &Pull) -> Result<Option<String>, Stop> {
        let seen = self.store.seen_pulls(self.client.repo()).await?;
        let seen = seen.into_iter().find(|seen| {
            seen.key.number == self.pull.number && seen.base_branch == pull.base.branch
        });
        let is_default = default_branch(pull) == Some(&pull.base.branch);
        Ok(match seen {
            Some(seen) => Some(seen.guarded),
            None => is_default.then(|| pull.base.branch.clone()),
        })
    }
}

/// Decides, with what people said where a person has to approve.
async fn with_reviews(snapshot: &mut Snapshot, facts: &ReviewFacts<'_>) -> Result<Decision, Stop> {
    snapshot.reviews = None;
    let decision = gate::decide(snapshot);
    if decision.verdict != Verdict::HumanReview {
        return Ok(decision);
    }
    let key = decision.decision_key.as_deref();
    snapshot.reviews = Some(facts.gather(key).await?);
    Ok(gate::decide(snapshot))
}
