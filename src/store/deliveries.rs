//! Webhook deliveries, stored together with the jobs they ask for.

use std::collections::HashMap;

use serde::Serialize;
use sqlx::{Sqlite, Transaction};

use crate::model::{DeliveryId, PrNumber, PullKey, RepoName, Sha};

use super::cache::repo_key;
use super::queue::{Coalesce, JobPayload, json};
use super::{ForeignRun, NewAsk, Pushed, RepoKey, Rerun, Store, StoreError, Task};

/// What is kept of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub event: String,
    pub action: String,
    /// What it asks for; at least one task, all of one installation.
    pub tasks: Vec<Task>,
    /// Who pushed to the pull request of the first task.
    pub pushed: Option<Pushed>,
    /// A check-run of another App under our name, in the repository of the first task.
    pub foreign: Option<ForeignRun>,
    /// Check-runs in the repository of the first task that have to be made again.
    pub rerun: Option<Rerun>,
    /// What a person asks for with it.
    pub ask: Option<(AskedOf, NewAsk)>,
}

/// The pull request that an ask is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedOf {
    Pull(PullKey),
    /// The one whose evaluation this is.
    Evaluation(RepoKey, String),
}

/// Whether the delivery's id was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    New,
    /// Seen before: a person pressed *Redeliver*, or the forge did.
    Duplicate,
}

impl Delivery {
    fn place(&self) -> Option<(&RepoName, PrNumber)> {
        let first = self.tasks.first()?;
        Some((first.repo()?, first.number()?))
    }

    /// The columns of its row, but for the time.
    fn row(&self) -> impl Serialize {
        let first = self.tasks.first();
        let installation = first.and_then(Task::installation);
        (
            &self.id.0,
            &self.event,
            &self.action,
            installation.map_or(0, |id| id.0.cast_signed()),
            first.and_then(Task::repo).map_or("", RepoName::as_str),
            // 0: it is about no one pull request.
            first
                .and_then(Task::number)
                .map_or(0, |n| n.0.cast_signed()),
            first.and_then(Task::head).map(Sha::as_str),
        )
    }

    fn jobs(&self, received: Received) -> impl Iterator<Item = JobPayload> {
        self.tasks.iter().map(move |task| JobPayload {
            task: match (received, task) {
                // Its head may be an old one.
                (Received::Duplicate, Task::Pull { pull, .. }) => Task::from(pull),
                _ => task.clone(),
            },
            delivery: Some(self.id.clone()),
        })
    }
}

impl Store {
    /// Stores the deliveries, no two of one id, and enqueues their tasks in one transaction.
    pub(super) async fn receive_all(
        &self,
        deliveries: &[&Delivery],
    ) -> Result<Vec<Received>, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        let received = put_all(&mut tx, deliveries, now).await?;
        let with = deliveries.iter().copied().zip(received.iter().copied());
        let (new, again): (Vec<_>, Vec<_>) =
            with.partition(|(_, received)| *received == Received::New);
        // An old delivery sent again knows nothing newer than a job that waits already.
        for (part, coalesce) in [(new, Coalesce::Replace), (again, Coalesce::Keep)] {
            let jobs: Vec<_> = part.iter().flat_map(|(one, is)| one.jobs(*is)).collect();
            if !jobs.is_empty() {
                self.enqueue_in(&mut tx, &jobs, coalesce, now).await?;
            }
        }
        let pushes: Vec<_> = deliveries
            .iter()
            .filter_map(|one| Some((one.place()?, one.pushed.as_ref()?)))
            .collect();
        if !pushes.is_empty() {
            self.put_pushers_in(&mut tx, &pushes).await?;
        }
        for (delivery, received) in deliveries.iter().zip(&received) {
            self.put_rest_in(&mut tx, (delivery, *received), now)
                .await?;
        }
        tx.commit().await?;
        self.wake();
        Ok(received)
    }

    /// What few deliveries hold.
    async fn put_rest_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        (delivery, received): (&Delivery, Received),
        now: i64,
    ) -> Result<(), StoreError> {
        let repo = delivery.tasks.first().and_then(Task::repo);
        if let (Some(repo), Some(run)) = (repo, &delivery.foreign) {
            self.put_foreign_in(tx, repo, run, now).await?;
        }
        // Sent again, it asks for nothing new.
        if let (Some(repo), Some(rerun), Received::New) = (repo, &delivery.rerun, received) {
            self.put_rerun_in(tx, repo, rerun, now).await?;
        }
        if let Some((of, ask)) = &delivery.ask
            && let Some(pull) = pull_of(tx, of).await?
        {
            let key = (&pull.repo, pull.number);
            self.put_ask_in(tx, key, ask, now).await?;
            let payload = JobPayload {
                task: Task::from(&pull),
                delivery: Some(delivery.id.clone()),
            };
            self.enqueue_in(tx, &[payload], Coalesce::Keep, now).await?;
        }
        Ok(())
    }
}

/// Stores the deliveries' rows; tells of each whether its id was new.
async fn put_all(
    tx: &mut Transaction<'static, Sqlite>,
    deliveries: &[&Delivery],
    now: i64,
) -> Result<Vec<Received>, StoreError> {
    let rows: Vec<_> = deliveries.iter().map(|delivery| delivery.row()).collect();
    let times: HashMap<String, i64> = sqlx::query_as(
        "INSERT INTO delivery
             (id, event, action, installation, repository, pull_request, head, received_at)
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
                value ->> 6, ?2
         FROM json_each(?1) WHERE TRUE
         ON CONFLICT (id) DO UPDATE SET times = times + 1
         RETURNING id, times",
    )
    .bind(json(&rows)?)
    .bind(now)
    .fetch_all(&mut **tx)
    .await?
    .into_iter()
    .collect();
    let is_new = |delivery: &&Delivery| times.get(&delivery.id.0) == Some(&1);
    Ok(deliveries
        .iter()
        .map(|delivery| match is_new(delivery) {
            true => Received::New,
            false => Received::Duplicate,
        })
        .collect())
}

/// `None`: the evaluation is not known here, or is no pull request's.
async fn pull_of(
    tx: &mut Transaction<'static, Sqlite>,
    of: &AskedOf,
) -> Result<Option<PullKey>, StoreError> {
    let (repo, evaluation) = match of {
        AskedOf::Pull(pull) => return Ok(Some(pull.clone())),
        AskedOf::Evaluation(repo, evaluation) => (repo, evaluation),
    };
    let number: Option<i64> =
        sqlx::query_scalar("SELECT pull FROM evaluation WHERE id = ?1 AND repository = ?2")
            .bind(evaluation)
            .bind(repo_key(&repo.repo))
            .fetch_optional(&mut **tx)
            .await?;
    // 0: the evaluation was of a branch or a merge group.
    Ok(number.filter(|number| *number > 0).map(|number| PullKey {
        installation: repo.installation,
        repo: repo.repo.clone(),
        number: PrNumber(number.cast_unsigned()),
    }))
}
