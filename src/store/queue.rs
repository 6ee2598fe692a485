//! The job queue: enqueue, claim, extend.
//!
//! A job is a [`Task`], for example "bring this pull request up to date". Invariants:
//! - At most one job of a kind and key is queued and at most one is running, by unique indexes. A queued
//!   one is not claimed while one of its key runs, so a pull request is served serially.
//! - Claiming counts the attempt and takes a lease and a new fence in one transaction. Whoever holds
//!   the fence of a running job holds the job; an expired lease goes back to the queue or to `dead`.
//! - A job leaves `running` only with its fence (see `settle`) or by expiry.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::{Row as _, Sqlite, SqliteConnection, Transaction};

use crate::model::{DeliveryId, InstallationId, PullKey};

use super::settle::RAN_OUT;
use super::{Store, StoreError, Task};

/// How the queue treats its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSettings {
    /// How long a claim lasts unless it is extended.
    pub lease: Duration,
    /// Claims of a job before it is given up as dead.
    pub max_attempts: u32,
    /// Wait after the first failed attempt; doubled for each further one.
    pub backoff_base: Duration,
    /// The longest such wait.
    pub backoff_cap: Duration,
}

impl Default for QueueSettings {
    /// With these a job that keeps failing is tried for about four hours.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            max_attempts: 15,
            backoff_base: Duration::from_secs(5),
            backoff_cap: Duration::from_secs(30 * 60),
        }
    }
}

impl QueueSettings {
    /// Wait after `attempts` failed attempts: exponential, between half and the whole of it, so that
    /// jobs that failed together do not come back together.
    pub(super) fn backoff(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(30);
        let full = self
            .backoff_base
            .saturating_mul(1 << doublings)
            .min(self.backoff_cap);
        full.mul_f64(rand::random_range(0.5..=1.0))
    }
}

/// What a job knows; JSON in the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JobPayload {
    pub task: Task,
    pub delivery: Option<DeliveryId>,
}

/// What happens to the payload of a job that waits already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coalesce {
    /// The event is newer: its payload replaces the job's.
    Replace,
    /// The event is not known to be newer.
    Keep,
}

/// A claimed job. Its holder may work on the task until the lease ends or is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub job_id: i64,
    /// Greater than the fence of every earlier claim in this database.
    pub fence: i64,
    /// 1 for the first attempt.
    pub attempt: u32,
    pub max_attempts: u32,
    /// The attempt before this one ended with its process, or stood still until its lease ran out.
    pub after_crash: bool,
    pub task: Task,
    /// The newest delivery that asked for the job; `None` when none did.
    pub delivery: Option<DeliveryId>,
}

impl Lease {
    /// The last attempt at what may kill its process each time: only to tell people so.
    pub fn is_poison(&self) -> bool {
        self.after_crash && self.attempt >= self.max_attempts
    }
}

/// How many jobs are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounts {
    pub queued: u64,
    pub running: u64,
    pub done: u64,
    pub dead: u64,
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

impl Store {
    /// Asks for the pull request to be brought up to date, without a delivery.
    pub async fn enqueue(&self, pull: &PullKey) -> Result<(), StoreError> {
        self.enqueue_task(pull.into(), Duration::ZERO).await
    }

    /// Asks for a task to be done, not before `after` from now, without a delivery. A task of its key
    /// that waits already stays as it is, and is due at the earlier of the two times.
    pub async fn enqueue_task(&self, task: Task, after: Duration) -> Result<(), StoreError> {
        let payload = JobPayload {
            task,
            delivery: None,
        };
        let due = self.now_ms().saturating_add(millis(after));
        let mut tx = self.begin().await?;
        self.enqueue_in(&mut tx, &[payload], Coalesce::Keep, due)
            .await?;
        tx.commit().await?;
        self.wake();
        Ok(())
    }

    /// Enqueues jobs in their order, by one statement, within a transaction of the caller's, who calls
    /// [`Store::wake`] after the commit.
    ///
    /// A job of the key that waits already is due at `due` if that is earlier (but not before the floor
    /// the forge set) and has all its attempts again: the event may have removed the cause of its failures.
    pub(super) async fn enqueue_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        jobs: &[JobPayload],
        coalesce: Coalesce,
        due: i64,
    ) -> Result<(), StoreError> {
        let rows = Rows {
            jobs: job_rows(jobs)?,
            ..Rows::default()
        };
        self.insert(tx, insert_jobs!(), &rows, (coalesce, due))
            .await
    }

    /// Executes one or more of the inserts that take [`Rows`].
    pub(super) async fn insert(
        &self,
        writer: &mut SqliteConnection,
        statements: &'static str,
        rows: &Rows<'_>,
        (coalesce, due): (Coalesce, i64),
    ) -> Result<(), StoreError> {
        sqlx::query(statements)
            .bind(json(rows)?)
            .bind(self.now_ms())
            .bind(self.inner.queue.max_attempts)
            .bind(due)
            .bind(coalesce == Coalesce::Replace)
            .execute(writer)
            .await?;
        Ok(())
    }

    /// Takes the job that has been due longest, if any is. Expired leases are given back first.
    pub async fn claim(&self) -> Result<Option<Lease>, StoreError> {
        self.claim_fairly(u32::MAX).await
    }

    /// [`Store::claim`], but of no repository of which `most` jobs run already: one that is slow must not
    /// take the places of the others.
    pub async fn claim_fairly(&self, most: u32) -> Result<Option<Lease>, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        let died = self.expire_in(&mut tx, now).await?;
        let lease = loop {
            let Some(claimed) = self.claim_in(&mut tx, now, most).await? else {
                break None;
            };
            match claimed {
                Ok(lease) => break Some(lease),
                // A payload of another version. Left in the queue it would stop all others.
                Err(job) => {
                    sqlx::query(
                        "UPDATE job SET state = 'dead', lease_until = NULL, updated_at = ?2,
                             err = 'the payload cannot be read'
                         WHERE id = ?1",
                    )
                    .bind(job)
                    .bind(now)
                    .execute(&mut *tx)
                    .await?;
                    tracing::error!(job, "job is dead: its payload cannot be read");
                }
            }
        };
        tx.commit().await?;
        for dead in died {
            dead.log();
        }
        Ok(lease)
    }

    /// `Err` holds the id of a job whose payload cannot be read.
    async fn claim_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        now: i64,
        most: u32,
    ) -> Result<Option<Result<Lease, i64>>, StoreError> {
        let due: Option<i64> = sqlx::query_scalar(
            "SELECT id FROM job AS next
             WHERE state = 'queued' AND run_at <= ?1
               AND NOT EXISTS (
                   SELECT 1 FROM job AS other
                   WHERE other.kind = next.kind AND other.key = next.key AND other.state = 'running')
               AND ?2 > (
                   SELECT count(*) FROM job AS other
                   WHERE other.state = 'running'
                     AND substr(other.key, 1, instr(replace(other.key, '@', '#'), '#'))
                       = substr(next.key, 1, instr(replace(next.key, '@', '#'), '#')))
             ORDER BY run_at, id LIMIT 1",
        )
        .bind(now)
        .bind(most)
        .fetch_optional(&mut **tx)
        .await?;
        let Some(id) = due else {
            return Ok(None);
        };
        let fence: i64 = sqlx::query_scalar("UPDATE fence SET value = value + 1 RETURNING value")
            .fetch_one(&mut **tx)
            .await?;
        let row = sqlx::query(
            "UPDATE job SET state = 'running', attempts = attempts + 1, fence = ?2,
                 lease_until = ?3, not_before = 0, updated_at = ?4
             WHERE id = ?1
             RETURNING attempts, max_attempts, payload, err",
        )
        .bind(id)
        .bind(fence)
        .bind(now.saturating_add(millis(self.inner.queue.lease)))
        .bind(now)
        .fetch_one(&mut **tx)
        .await?;
        let payload: String = row.try_get("payload")?;
        let Ok(payload) = serde_json::from_str::<JobPayload>(&payload) else {
            return Ok(Some(Err(id)));
        };
        Ok(Some(Ok(Lease {
            job_id: id,
            fence,
            attempt: row.try_get("attempts")?,
            max_attempts: row.try_get("max_attempts")?,
            after_crash: row.try_get::<Option<String>, _>("err")?.as_deref() == Some(RAN_OUT),
            task: payload.task,
            delivery: payload.delivery,
        })))
    }

    /// Lengthens the lease, counted from now. False if the lease was lost.
    pub async fn extend(&self, lease: &Lease) -> Result<bool, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        let done = sqlx::query(
            "UPDATE job SET lease_until = ?3, updated_at = ?4
             WHERE id = ?1 AND fence = ?2 AND state = 'running'",
        )
        .bind(lease.job_id)
        .bind(lease.fence)
        .bind(now.saturating_add(millis(self.inner.queue.lease)))
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(done.rows_affected() == 1)
    }

    /// Is the lease still this holder's? Read it again after the last write to the outside: if it
    /// was lost meanwhile, another may have written in between (see [`Store::requeue_lost`]).
    pub async fn holds(&self, lease: &Lease) -> Result<bool, StoreError> {
        let held: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM job WHERE id = ?1 AND fence = ?2 AND state = 'running')",
        )
        .bind(lease.job_id)
        .bind(lease.fence)
        .fetch_one(self.reader())
        .await?;
        Ok(held)
    }

    /// Puts off every waiting job of an installation: the forge answers none of them for so long. Events
    /// that come later are not put off.
    pub async fn hold_back(
        &self,
        installation: InstallationId,
        after: Duration,
    ) -> Result<(), StoreError> {
        let floor = self.now_ms().saturating_add(millis(after));
        let mut tx = self.begin().await?;
        sqlx::query(
            "UPDATE job SET not_before = max(not_before, ?2), run_at = max(run_at, ?2)
             WHERE state = 'queued' AND CASE WHEN json_valid(payload) THEN EXISTS (
                 SELECT 1 FROM json_tree(payload) AS field
                 WHERE field.key = 'installation' AND field.value = ?1) ELSE FALSE END",
        )
        .bind(installation.0.cast_signed())
        .bind(floor)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// How long a claim lasts unless it is extended.
    pub fn lease_time(&self) -> Duration {
        self.inner.queue.lease
    }

    /// Resolves when a job was enqueued by this process since the last time it resolved.
    pub async fn enqueued(&self) {
        self.inner.enqueued.notified().await;
    }

    pub(super) fn wake(&self) {
        self.inner.enqueued.notify_one();
    }

    pub async fn queue_counts(&self) -> Result<QueueCounts, StoreError> {
        let rows = sqlx::query("SELECT state, count(*) AS jobs FROM job GROUP BY state")
            .fetch_all(self.reader())
            .await?;
        let mut counts = QueueCounts::default();
        for row in rows {
            let jobs = row.try_get::<i64, _>("jobs")?.cast_unsigned();
            match row.try_get::<String, _>("state")?.as_str() {
                "queued" => counts.queued = jobs,
                "running" => counts.running = jobs,
                "done" => counts.done = jobs,
                _ => counts.dead = jobs,
            }
        }
        Ok(counts)
    }
}

/// A job as a row of a statement: kind, key, payload.
type JobRow = (&'static str, String, String);

pub(super) fn job_rows(jobs: &[JobPayload]) -> Result<Vec<JobRow>, StoreError> {
    let row = |job: &JobPayload| Ok((job.task.kind(), job.task.key(), json(job)?));
    jobs.iter().map(row).collect()
}

/// id, event, action, installation, repository, pull request, head.
pub(super) type DeliveryRow<'a> = (
    &'a str,
    &'a str,
    &'a str,
    i64,
    &'a str,
    i64,
    Option<&'a str>,
);

/// Rows of several tables for one call: each is a message to the connection's thread and back, which costs
/// more than the rows.
#[derive(Default, Serialize)]
pub(super) struct Rows<'a> {
    pub deliveries: Vec<DeliveryRow<'a>>,
    pub jobs: Vec<JobRow>,
    /// repository, pull request, head, account.
    pub pushes: Vec<(String, i64, &'a str, i64)>,
}

/// Inserts [`Rows::jobs`]. As the other statements that take rows: ?1 the rows, ?2 now, ?3 the most attempts,
/// ?4 when the jobs are due, ?5 whether they replace payloads. None leaves out a number below its greatest:
/// several in one call would bind the wrong values.
macro_rules! insert_jobs {
    () => {
        "INSERT INTO job (kind, key, payload, state, max_attempts, run_at, created_at, updated_at)
         SELECT value ->> 0, value ->> 1, value ->> 2, 'queued', ?3, ?4, ?2, ?2
         FROM json_each(?1, '$.jobs') AS row WHERE TRUE ORDER BY row.key
         ON CONFLICT (kind, key) WHERE state = 'queued' DO UPDATE SET
             payload = CASE WHEN ?5 THEN excluded.payload ELSE payload END,
             attempts = 0,
             run_at = max(not_before, min(run_at, excluded.run_at)),
             updated_at = excluded.updated_at;"
    };
}
pub(super) use insert_jobs;

/// What goes into a statement as JSON.
pub(super) fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Database(sqlx::Error::Encode(e.into())))
}
