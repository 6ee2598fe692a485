//! Webhook deliveries, stored together with the jobs they ask for.

use std::collections::HashMap;

use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, Transaction};

use crate::model::{DeliveryId, PrNumber, PullKey, RepoName, Sha};

use super::cache::repo_key;
use super::queue::{Coalesce, JobPayload, Rows, insert_jobs, job_rows, json};
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

    /// Whether it holds what [`Store::put_rest_in`] stores.
    fn has_rest(&self) -> bool {
        self.foreign.is_some() || self.rerun.is_some() || self.ask.is_some()
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

/// Inserts [`Rows::deliveries`]; fails when one of them is there already.
macro_rules! insert_deliveries {
    () => {
        "INSERT INTO delivery
             (id, event, action, installation, repository, pull_request, head, received_at)
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
                value ->> 6, ?2
         FROM json_each(?1, '$.deliveries') AS row WHERE TRUE ORDER BY row.key"
    };
}

/// Inserts [`Rows::pushes`].
macro_rules! insert_pushes {
    () => {
        "INSERT INTO pusher (repository, pull, head, account, seen_at)
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, ?2
         FROM json_each(?1, '$.pushes') AS row WHERE TRUE ORDER BY row.key
         ON CONFLICT DO NOTHING;"
    };
}

/// All of [`Rows`], of deliveries that are all new.
macro_rules! insert_new {
    () => {
        concat!(
            insert_deliveries!(),
            "; ",
            insert_jobs!(),
            " ",
            insert_pushes!()
        )
    };
}

/// The rows of deliveries that are all new, or all not.
fn rows<'a>(deliveries: &[&'a Delivery], received: Received) -> Result<Rows<'a>, StoreError> {
    let mut rows = Rows::default();
    let mut jobs = Vec::new();
    for delivery in deliveries {
        let first = delivery.tasks.first();
        let installation = first.and_then(Task::installation);
        rows.deliveries.push((
            &delivery.id.0,
            &delivery.event,
            &delivery.action,
            installation.map_or(0, |id| id.0.cast_signed()),
            first.and_then(Task::repo).map_or("", RepoName::as_str),
            // 0: it is about no one pull request.
            first
                .and_then(Task::number)
                .map_or(0, |number| number.0.cast_signed()),
            first.and_then(Task::head).map(Sha::as_str),
        ));
        jobs.extend(delivery.jobs(received));
        if let (Some((repo, pull)), Some(pushed)) = (delivery.place(), &delivery.pushed) {
            let (pull, account) = (pull.0.cast_signed(), pushed.account.cast_signed());
            let push = (repo_key(repo), pull, pushed.head.as_str(), account);
            rows.pushes.push(push);
        }
    }
    rows.jobs = job_rows(&jobs)?;
    Ok(rows)
}

impl Store {
    /// Stores the deliveries, no two of one id, and enqueues their tasks in one transaction. Takes the
    /// connection of the call before, if there is one, and leaves it for the next where that is sound.
    pub(super) async fn receive_all(
        &self,
        deliveries: &[&Delivery],
        writer: &mut Option<PoolConnection<Sqlite>>,
    ) -> Result<Vec<Received>, StoreError> {
        let now = self.now_ms();
        let received = match self.receive_new(deliveries, writer, now).await? {
            true => vec![Received::New; deliveries.len()],
            false => self.receive_some_again(deliveries, now).await?,
        };
        self.wake();
        Ok(received)
    }

    /// The usual case, in one call: every id is new. False, and nothing is stored, when one is not.
    async fn receive_new(
        &self,
        deliveries: &[&Delivery],
        writer: &mut Option<PoolConnection<Sqlite>>,
        now: i64,
    ) -> Result<bool, StoreError> {
        let rows = rows(deliveries, Received::New)?;
        let held = writer.take();
        let stored = match deliveries.iter().any(|delivery| delivery.has_rest()) {
            true => {
                // There is but one: others wait for it.
                drop(held);
                self.put_new_with_rest(deliveries, &rows, now).await
            }
            false => self
                .put_new(&rows, held, now)
                .await
                .map(|held| *writer = Some(held)),
        };
        match stored {
            Err(StoreError::Database(sqlx::Error::Database(error)))
                if error.is_unique_violation() =>
            {
                Ok(false)
            }
            stored => stored.map(|()| true),
        }
    }

    /// The whole transaction is one call, since each call waits for the thread of the connection. Has to be
    /// awaited to its end: broken off, it could leave the transaction open.
    async fn put_new(
        &self,
        rows: &Rows<'_>,
        held: Option<PoolConnection<Sqlite>>,
        now: i64,
    ) -> Result<PoolConnection<Sqlite>, StoreError> {
        const ALL: &str = concat!("BEGIN IMMEDIATE; ", insert_new!(), " COMMIT;");
        let mut writer = match held {
            Some(writer) => writer,
            None => self.inner.writer.acquire().await?,
        };
        let stored = self
            .insert(&mut writer, ALL, rows, (Coalesce::Replace, now))
            .await;
        if let Err(error) = stored {
            if sqlx::query("ROLLBACK").execute(&mut *writer).await.is_err() {
                // It may not have begun, or may be open still: only a new connection is sure to hold nothing.
                writer.close_on_drop();
            }
            return Err(error);
        }
        Ok(writer)
    }

    async fn put_new_with_rest(
        &self,
        deliveries: &[&Delivery],
        rows: &Rows<'_>,
        now: i64,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        self.insert(&mut tx, insert_new!(), rows, (Coalesce::Replace, now))
            .await?;
        for delivery in deliveries {
            self.put_rest_in(&mut tx, (delivery, Received::New), now)
                .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    async fn receive_some_again(
        &self,
        deliveries: &[&Delivery],
        now: i64,
    ) -> Result<Vec<Received>, StoreError> {
        const ALL_BUT_DELIVERIES: &str = concat!(insert_jobs!(), " ", insert_pushes!());
        let mut tx = self.begin().await?;
        let received = put_all(&mut tx, deliveries, now).await?;
        let of = |wanted: Received| -> Vec<&Delivery> {
            let both = deliveries.iter().zip(&received);
            both.filter(|(_, received)| **received == wanted)
                .map(|(delivery, _)| *delivery)
                .collect()
        };
        // An old delivery sent again knows nothing newer than a job that waits already.
        for (part, coalesce) in [
            (Received::New, Coalesce::Replace),
            (Received::Duplicate, Coalesce::Keep),
        ] {
            let rows = rows(&of(part), part)?;
            self.insert(&mut tx, ALL_BUT_DELIVERIES, &rows, (coalesce, now))
                .await?;
        }
        for (delivery, received) in deliveries.iter().zip(&received) {
            self.put_rest_in(&mut tx, (delivery, *received), now)
                .await?;
        }
        tx.commit().await?;
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
    let times: HashMap<String, i64> = sqlx::query_as(concat!(
        insert_deliveries!(),
        " ON CONFLICT (id) DO UPDATE SET times = times + 1 RETURNING id, times"
    ))
    .bind(json(&rows(deliveries, Received::New)?)?)
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
