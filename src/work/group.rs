//! The job "judge a merge group" (protocol 5.5): its outcome is a check-run on the group's head.
//!
//! Invariants: the run is opened before anything is looked at, and ended; a member, a commit or a path that
//! can't be accounted for is failure.

mod members;
mod outside;

use crate::forge::github::gather::{Gatherer, GroupFacts};
use crate::forge::github::{App, Client};
use crate::model::{Decision, ForeignCheck, MergeGroup, PrNumber, Requirement, Sha};
use crate::publish::apply::Publisher;
use crate::publish::plan::{self, Run};
use crate::render;
use crate::store::{Lease, RepoKey, RunKey, Store};

use super::Outcome;
use super::audit::NO_PULL;
use super::stop::Stop;

pub(super) async fn attempt(
    app: &App,
    store: &Store,
    (repo, group): (&RepoKey, &MergeGroup),
    lease: &Lease,
) -> Outcome {
    let client = app
        .client(repo.installation, repo.repo.clone())
        .fenced(store.clone(), lease.clone());
    let work = GroupWork {
        client: &client,
        store,
        group,
        lease,
    };
    let ended = match lease.is_poison() {
        true => Err(Stop::Poison),
        false => work.run().await,
    };
    tracing::Span::current().record("requests", client.requests());
    let stop = match ended {
        Ok(()) => return Outcome::Done,
        Err(stop) => stop,
    };
    let outcome = stop.settle(store, lease).await;
    if outcome.is_last(lease)
        && let Err(error) = work.give_up(&stop.to_string()).await
    {
        tracing::warn!(%error, "the merge group's check-run could not be ended");
    }
    outcome
}

/// One attempt.
struct GroupWork<'a> {
    client: &'a Client,
    store: &'a Store,
    group: &'a MergeGroup,
    lease: &'a Lease,
}

/// What came of a group's members.
#[derive(Debug, Default)]
struct Judged {
    members: Vec<(PrNumber, Decision)>,
    /// What could not be accounted for, a sentence each.
    unresolved: Vec<String>,
    /// Other Apps' check-runs under our name.
    foreign: Vec<ForeignCheck>,
    /// What the branch's rules say of our check.
    required: Option<Requirement>,
}

impl<'a> GroupWork<'a> {
    async fn run(&self) -> Result<(), Stop> {
        self.store.put_group(self.client.repo(), self.group).await?;
        let key = self.key().await?;
        let mut publisher = self.publisher(&key).await?;
        if publisher.has_ended() && self.is_over().await? {
            let repo = self.client.repo();
            return Ok(self.store.forget_group(repo, &self.group.head).await?);
        }
        if publisher.published().run == Run::None {
            publisher.start().await?;
        }
        let gatherer = self.gatherer();
        let facts = gatherer.group(self.group).await?;
        let mut judged = match &facts.problem {
            None if facts.opted_in => self.judge(&gatherer, &facts).await?,
            problem => Judged {
                unresolved: problem.iter().cloned().collect(),
                ..Judged::default()
            },
        };
        if facts.opted_in {
            self.look_around(&key, &mut judged).await?;
            judged.required = Some(self.requirement(&key).await?);
        }
        self.publish(&mut publisher, &facts, &judged).await
    }

    async fn publish(
        &self,
        publisher: &mut Publisher<'a>,
        facts: &GroupFacts,
        judged: &Judged,
    ) -> Result<(), Stop> {
        let (opted_in, observe) = (facts.opted_in, facts.observe);
        let output = render::group(&render::Group {
            group: self.group,
            opted_in,
            observe,
            members: &judged.members,
            unresolved: &judged.unresolved,
            foreign: &judged.foreign,
            required: judged.required,
        });
        let whole = judged.unresolved.is_empty() && judged.foreign.is_empty();
        let conclusion = match opted_in {
            true => plan::group_conclusion(&judged.members, whole, observe),
            false => plan::Conclusion::Neutral,
        };
        let run = &publisher.published().run;
        if let Some(action) = plan::plan_group(run, conclusion, output) {
            publisher.apply(&action, None).await?;
        }
        tracing::Span::current().record("verdict", conclusion.name());
        Ok(())
    }

    /// The check-run of the group's head, whose lease this job has from then on.
    async fn publisher(&self, key: &RunKey) -> Result<Publisher<'a>, Stop> {
        if !self.store.take_head(key, self.lease).await? {
            return Err(Stop::HeadTaken);
        }
        Ok(Publisher::resume(self.client, self.store, key.clone()).await?)
    }

    async fn key(&self) -> Result<RunKey, Stop> {
        let name = self.check_name().await?;
        Ok(self.run_key(NO_PULL, &self.group.head, &name))
    }

    /// A branch that is not guarded has the default branch's check.
    async fn check_name(&self) -> Result<String, Stop> {
        let MergeGroup {
            branch,
            default_branch,
            ..
        } = self.group;
        if branch == default_branch || self.gatherer().guards(self.group).await? {
            return Ok(plan::check_name(branch, default_branch));
        }
        Ok(plan::check_name(default_branch, default_branch))
    }

    fn gatherer(&self) -> Gatherer<'a> {
        Gatherer {
            client: self.client,
            store: self.store,
        }
    }

    fn run_key(&self, pull: PrNumber, head: &Sha, check_name: &str) -> RunKey {
        RunKey {
            repo: self.client.repo().clone(),
            pull,
            head: head.clone(),
            check_name: check_name.to_owned(),
        }
    }

    async fn give_up(&self, reason: &str) -> Result<(), Stop> {
        self.publisher(&self.key().await?)
            .await?
            .fail(reason)
            .await?;
        Ok(())
    }
}
