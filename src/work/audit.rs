//! The job "audit the tip of a guarded branch" (protocol 5.6): its outcome is a check-run on that commit.

use std::time::Instant;

use crate::config::repo::RepoConfig;
use crate::forge::ForgeError;
use crate::forge::github::gather::Gatherer;
use crate::forge::github::{App, Branch, Client};
use crate::gate::{self, numbers};
use crate::model::{Layer, PrNumber};
use crate::publish::apply::{Publisher, Record, cancel_evaluations};
use crate::publish::plan;
use crate::store::{Lease, RunKey, Store};

use super::Outcome;
use super::branch::{Place, audit_check};
use super::stop::Stop;
use super::tracking::Tracking;

/// The number under which evaluations of branches and merge groups are kept: no pull request has it.
pub(super) const NO_PULL: PrNumber = PrNumber(0);

pub(super) async fn attempt(app: &App, store: &Store, place: Place<'_>, lease: &Lease) -> Outcome {
    let client = app
        .client(place.repo.installation, place.repo.repo.clone())
        .fenced(store.clone(), lease.clone());
    let audit = Audit {
        client: &client,
        store,
        place,
        lease,
    };
    let done = match lease.is_poison() {
        true => Err(Stop::Poison),
        false => audit.run().await,
    };
    tracing::Span::current().record("requests", client.requests());
    let stop = match done {
        Ok(()) => return Outcome::Done,
        Err(stop) => stop,
    };
    let outcome = stop.settle(store, lease).await;
    if outcome.is_last(lease)
        && let Err(error) = audit.give_up(&stop.to_string()).await
    {
        tracing::warn!(%error, "the audit's check-run could not be ended");
    }
    outcome
}

struct Audit<'a> {
    client: &'a Client,
    store: &'a Store,
    place: Place<'a>,
    lease: &'a Lease,
}

impl<'a> Audit<'a> {
    async fn run(&self) -> Result<(), Stop> {
        let started = Instant::now();
        let (branch, default_branch) = (self.place.branch, self.place.default_branch);
        let Some(tip) = self.tip().await? else {
            return Ok(());
        };
        let gatherer = Gatherer {
            client: self.client,
            store: self.store,
        };
        tracing::Span::current().record("head", tip.commit.sha.as_str());
        let contract = gatherer.contract_at(&tip).await?;
        let mut publisher = self.publisher(&tip).await?;
        let now = self.store.now();
        let snapshot = gatherer.audit(branch, default_branch, &tip, now).await?;
        let mut decision = gate::decide(&snapshot);
        decision.stats.forge_requests = self.client.requests();
        decision.stats.elapsed_ms =
            u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let json = serde_json::to_string(&decision).unwrap_or_default();
        let record = Record {
            decision: &json,
            snapshot: None,
        };
        for action in plan::plan(publisher.published(), &decision, false) {
            if action.is_of_run() {
                publisher.apply(&action, Some(record)).await?;
            }
        }
        tracing::Span::current().record("verdict", decision.verdict.name());
        let is_readable = !gate::file_states(&snapshot.contract)
            .iter()
            .any(|(_, _, state)| state.refuses());
        // Rows of a file that cannot be read are not closed: what was known of them stands.
        if is_readable {
            let rows = decision.freezes.as_deref().unwrap_or_default();
            let corpus = numbers::corpus(&snapshot.contract);
            let repo = self.client.repo();
            let since = self.store.put_rows(repo, branch, rows, corpus).await?;
            let config = snapshot.contract.get(&Layer::Config);
            let config = config.map_or_else(Default::default, |file| RepoConfig::of(&file.base));
            if branch == default_branch && !config.no_audit_issue {
                let (client, store) = (self.client, self.store);
                let tracking = Tracking { client, store };
                tracking.follow(&decision, &since).await?;
            }
        }
        Ok(self
            .store
            .put_audited(self.client.repo(), branch, &contract.digest)
            .await?)
    }

    /// The branch's tip; runs that were opened for earlier tips are ended.
    async fn tip(&self) -> Result<Option<Branch>, Stop> {
        let tip = match self.client.branch(self.place.branch).await {
            Ok(tip) => Some(tip),
            Err(ForgeError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let name = audit_check(self.place.branch, self.place.default_branch);
        let head = tip.as_ref().map(|tip| &tip.commit.sha);
        let key = (self.client.repo(), NO_PULL);
        cancel_evaluations(self.client, self.store, key, |evaluation| {
            (evaluation.check_name == name && Some(&evaluation.head) != head).then(|| match head {
                Some(head) => format!("superseded by {head}"),
                None => "The branch was deleted.".to_owned(),
            })
        })
        .await?;
        Ok(tip)
    }

    async fn publisher(&self, tip: &Branch) -> Result<Publisher<'a>, Stop> {
        let key = RunKey {
            repo: self.client.repo().clone(),
            pull: NO_PULL,
            head: tip.commit.sha.clone(),
            check_name: audit_check(self.place.branch, self.place.default_branch),
        };
        if !self.store.take_head(&key, self.lease).await? {
            return Err(Stop::HeadTaken);
        }
        Ok(Publisher::resume(self.client, self.store, key).await?)
    }

    async fn give_up(&self, reason: &str) -> Result<(), Stop> {
        if let Some(tip) = self.tip().await? {
            self.publisher(&tip).await?.fail(reason).await?;
        }
        Ok(())
    }
}
