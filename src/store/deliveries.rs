//! Webhook deliveries, stored together with the jobs they ask for.

use sqlx::{Sqlite, Transaction};

use crate::model::{DeliveryId, PrNumber, PullKey, RepoName, Sha};

use super::cache::repo_key;
use super::queue::{Coalesce, JobPayload};
use super::{ForeignRun, NewAsk, Pushed, RepoKey, Store, StoreError, Task};

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

impl Store {
    /// Stores the deliveries and enqueues their tasks in one transaction.
    pub(super) async fn receive_all(
        &self,
        deliveries: &[&Delivery],
    ) -> Result<Vec<Received>, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        let mut received = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            received.push(self.receive_in(&mut tx, delivery, now).await?);
        }
        tx.commit().await?;
        self.wake();
        Ok(received)
    }

    async fn receive_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        delivery: &Delivery,
        now: i64,
    ) -> Result<Received, StoreError> {
        let first = delivery.tasks.first();
        let times: i64 = sqlx::query_scalar(
            "INSERT INTO delivery
                 (id, event, action, installation, repository, pull_request, head, received_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET times = times + 1
             RETURNING times",
        )
        .bind(&delivery.id.0)
        .bind(&delivery.event)
        .bind(&delivery.action)
        .bind(
            first
                .and_then(Task::installation)
                .map_or(0, |id| id.0.cast_signed()),
        )
        .bind(first.and_then(Task::repo).map_or("", RepoName::as_str))
        // 0: it is about no one pull request.
        .bind(
            first
                .and_then(Task::number)
                .map_or(0, |n| n.0.cast_signed()),
        )
        .bind(first.and_then(Task::head).map(Sha::as_str))
        .bind(now)
        .fetch_one(&mut **tx)
        .await?;
        // An old delivery sent again knows nothing newer than a job that waits already.
        let (received, coalesce) = if times == 1 {
            (Received::New, Coalesce::Replace)
        } else {
            (Received::Duplicate, Coalesce::Keep)
        };
        for task in &delivery.tasks {
            let payload = JobPayload {
                task: match (received, task) {
                    // Its head may be an old one.
                    (Received::Duplicate, Task::Pull { pull, .. }) => Task::from(pull),
                    _ => task.clone(),
                },
                delivery: Some(delivery.id.clone()),
            };
            self.enqueue_in(tx, &payload, coalesce, now).await?;
        }
        if let (Some(repo), Some(run)) = (first.and_then(Task::repo), &delivery.foreign) {
            self.put_foreign_in(tx, repo, run, now).await?;
        }
        let first = first.and_then(|task| Some((task.repo()?, task.number()?)));
        if let (Some(key), Some(pushed)) = (first, &delivery.pushed) {
            self.put_pusher_in(tx, key, pushed).await?;
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
            self.enqueue_in(tx, &payload, Coalesce::Keep, now).await?;
        }
        Ok(received)
    }
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
