//! How a claimed job ends: done, back in the queue, or dead. Each way checks the fence.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{Row as _, Sqlite, Transaction};

use super::queue::{Coalesce, JobPayload, Lease, millis};
use super::{Store, StoreError};

/// Longest reason that is kept with a job, in characters.
const REASON: usize = 1_000;

/// Why a job is back whose holder is gone.
pub(super) const RAN_OUT: &str = "the lease ran out: the process was killed or stood still";

/// Where a job is after it was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Done,
    /// It waits until then for its next attempt.
    Queued(DateTime<Utc>),
    /// A newer event had queued another job of the key; that one goes on in its stead.
    Superseded,
    /// Its attempts are used up, or it can never succeed. It is kept, and logged once.
    Dead,
    /// The lease was lost before: nothing was changed.
    Lost,
}

/// A job that died; logged after its transaction is committed.
pub(super) struct DeadJob {
    job: i64,
    kind: String,
    key: String,
    attempts: u32,
    why: String,
}

impl DeadJob {
    pub(super) fn log(&self) {
        tracing::error!(
            job = self.job,
            kind = self.kind,
            key = self.key,
            attempts = self.attempts,
            why = self.why,
            "job is dead"
        );
    }
}

/// A job on its way out of `running`.
struct Leaving<'a> {
    id: i64,
    kind: &'a str,
    key: &'a str,
    attempts: u32,
    max_attempts: u32,
    /// The least time until the next attempt.
    after: Duration,
    /// An attempt that was given back counts for nothing.
    count: bool,
    why: &'a str,
}

impl Store {
    /// The job is done.
    pub async fn ack(&self, lease: &Lease) -> Result<Settled, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        if !held(&mut tx, lease).await? {
            return Ok(Settled::Lost);
        }
        end(&mut tx, lease.job_id, "done", None, now).await?;
        tx.commit().await?;
        Ok(Settled::Done)
    }

    /// The attempt failed; the next one is not before `after` from now, and not before the backoff.
    /// `why` is for people and must hold no secret.
    pub async fn retry(
        &self,
        lease: &Lease,
        after: Duration,
        why: &str,
    ) -> Result<Settled, StoreError> {
        self.give_back(lease, after, true, why).await
    }

    /// The attempt was broken off by a shutdown. It does not count, and the job is due at once.
    pub async fn release(&self, lease: &Lease) -> Result<Settled, StoreError> {
        self.give_back(lease, Duration::ZERO, false, "released at shutdown")
            .await
    }

    async fn give_back(
        &self,
        lease: &Lease,
        after: Duration,
        count: bool,
        why: &str,
    ) -> Result<Settled, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        if !held(&mut tx, lease).await? {
            return Ok(Settled::Lost);
        }
        let leaving = Leaving {
            id: lease.job_id,
            kind: lease.task.kind(),
            key: &lease.task.key(),
            attempts: lease.attempt,
            max_attempts: lease.max_attempts,
            after,
            count,
            why,
        };
        let (settled, dead) = self.leave_in(&mut tx, &leaving, now).await?;
        tx.commit().await?;
        if let Some(dead) = dead {
            dead.log();
        }
        self.wake();
        Ok(settled)
    }

    /// The job can never succeed.
    pub async fn dead(&self, lease: &Lease, why: &str) -> Result<Settled, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        if !held(&mut tx, lease).await? {
            return Ok(Settled::Lost);
        }
        let dead = DeadJob {
            job: lease.job_id,
            kind: lease.task.kind().to_owned(),
            key: lease.task.key(),
            attempts: lease.attempt,
            why: clip(why),
        };
        end(&mut tx, lease.job_id, "dead", Some(&dead.why), now).await?;
        tx.commit().await?;
        dead.log();
        Ok(Settled::Dead)
    }

    /// After a lost lease: what its holder wrote last may stand over what the next holder wrote, so
    /// the task must be done once more. The attempts go on counting, so that this ends.
    pub async fn requeue_lost(&self, lease: &Lease) -> Result<(), StoreError> {
        if lease.attempt >= lease.max_attempts {
            return Ok(());
        }
        let now = self.now_ms();
        let payload = JobPayload {
            task: lease.task.clone(),
            delivery: lease.delivery.clone(),
        };
        let (kind, key) = (lease.task.kind(), lease.task.key());
        let mut tx = self.begin().await?;
        let waits: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM job WHERE kind = ?1 AND key = ?2 AND state = 'queued')",
        )
        .bind(kind)
        .bind(&key)
        .fetch_one(&mut *tx)
        .await?;
        if !waits {
            self.enqueue_in(&mut tx, &[payload], Coalesce::Keep, now)
                .await?;
            sqlx::query(
                "UPDATE job SET attempts = ?3 WHERE kind = ?1 AND key = ?2 AND state = 'queued'",
            )
            .bind(kind)
            .bind(&key)
            .bind(lease.attempt)
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        self.wake();
        Ok(())
    }

    /// Gives back every job whose lease has run out: its holder is gone.
    pub(super) async fn expire_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        now: i64,
    ) -> Result<Vec<DeadJob>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, kind, key, attempts, max_attempts FROM job
             WHERE state = 'running' AND lease_until <= ?1",
        )
        .bind(now)
        .fetch_all(&mut **tx)
        .await?;
        let mut died = Vec::new();
        for row in rows {
            let kind: String = row.try_get("kind")?;
            let key: String = row.try_get("key")?;
            let leaving = Leaving {
                id: row.try_get("id")?,
                kind: &kind,
                key: &key,
                attempts: row.try_get("attempts")?,
                max_attempts: row.try_get("max_attempts")?,
                after: Duration::ZERO,
                count: true,
                why: RAN_OUT,
            };
            let (_, dead) = self.leave_in(tx, &leaving, now).await?;
            died.extend(dead);
        }
        Ok(died)
    }

    /// Takes a job out of `running`, whose attempt did not succeed.
    async fn leave_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        job: &Leaving<'_>,
        now: i64,
    ) -> Result<(Settled, Option<DeadJob>), StoreError> {
        let why = clip(job.why);
        let floor = now.saturating_add(millis(job.after));
        let follow_up = sqlx::query(
            "UPDATE job SET not_before = max(not_before, ?3), run_at = max(run_at, ?3), updated_at = ?4
             WHERE kind = ?1 AND key = ?2 AND state = 'queued'",
        )
        .bind(job.kind)
        .bind(job.key)
        .bind(floor)
        .bind(now)
        .execute(&mut **tx)
        .await?;
        if follow_up.rows_affected() > 0 {
            let why = format!("superseded by a newer event; before: {why}");
            end(tx, job.id, "done", Some(&why), now).await?;
            return Ok((Settled::Superseded, None));
        }
        if job.count && job.attempts >= job.max_attempts {
            end(tx, job.id, "dead", Some(&why), now).await?;
            let dead = DeadJob {
                job: job.id,
                kind: job.kind.to_owned(),
                key: job.key.to_owned(),
                attempts: job.attempts,
                why,
            };
            return Ok((Settled::Dead, Some(dead)));
        }
        let run_at = if job.count {
            let backoff = millis(self.inner.queue.backoff(job.attempts));
            floor.max(now.saturating_add(backoff))
        } else {
            floor
        };
        sqlx::query(
            "UPDATE job SET state = 'queued', lease_until = NULL, attempts = ?2, run_at = ?3,
                 not_before = ?4, err = ?5, updated_at = ?6
             WHERE id = ?1",
        )
        .bind(job.id)
        .bind(job.attempts - u32::from(!job.count && job.attempts > 0))
        .bind(run_at)
        .bind(floor)
        .bind(&why)
        .bind(now)
        .execute(&mut **tx)
        .await?;
        let at = DateTime::<Utc>::from_timestamp_millis(run_at).unwrap_or(DateTime::<Utc>::MAX_UTC);
        Ok((Settled::Queued(at), None))
    }
}

async fn held(tx: &mut Transaction<'static, Sqlite>, lease: &Lease) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM job WHERE id = ?1 AND fence = ?2 AND state = 'running')",
    )
    .bind(lease.job_id)
    .bind(lease.fence)
    .fetch_one(&mut **tx)
    .await?)
}

async fn end(
    tx: &mut Transaction<'static, Sqlite>,
    job: i64,
    state: &'static str,
    err: Option<&str>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE job SET state = ?2, lease_until = NULL, err = ?3, updated_at = ?4 WHERE id = ?1",
    )
    .bind(job)
    .bind(state)
    .bind(err)
    .bind(now)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn clip(why: &str) -> String {
    why.chars().take(REASON).collect()
}
