//! Open pull requests as they were seen last, and which job publishes for a head.
//!
//! Invariant: at most one running job holds the lease of a (repository, head, check-run name).

use chrono::{DateTime, Utc};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::model::{InstallationId, PrNumber, PullKey, RepoName, Sha};

use super::cache::{damaged, repo_key};
use super::{Lease, RunKey, Store, StoreError};

/// An open pull request as it was seen last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullState {
    pub key: PullKey,
    pub head: Sha,
    pub base_branch: String,
    /// The guarded branch by whose contract it is judged.
    pub guarded: String,
    /// Name of that branch's check-run.
    pub check_name: String,
    /// The base tip with which what is published for the head is up to date (also when nobody asked for
    /// a check); `None` when it is not.
    pub base: Option<Sha>,
}

impl PullState {
    /// Whether it goes into a branch that is not guarded.
    pub fn is_stacked(&self) -> bool {
        self.base_branch != self.guarded
    }
}

fn state_of(row: &SqliteRow, repo: &RepoName) -> Result<PullState, StoreError> {
    let number = |column| Ok::<u64, StoreError>(row.try_get::<i64, _>(column)?.cast_unsigned());
    Ok(PullState {
        key: PullKey {
            installation: InstallationId(number("installation")?),
            repo: repo.clone(),
            number: PrNumber(number("pull")?),
        },
        head: row
            .try_get::<String, _>("head")?
            .parse()
            .map_err(|_| damaged("a pull request's head"))?,
        base_branch: row.try_get("base_branch")?,
        guarded: row.try_get("guarded")?,
        check_name: row.try_get("check_name")?,
        base: row
            .try_get::<Option<String>, _>("base")?
            .map(|base| base.parse().map_err(|_| damaged("a pull request's base")))
            .transpose()?,
    })
}

impl Store {
    /// Notes an open pull request; its `base` stays as it was while head, base branch and check stay.
    pub async fn see_pull(&self, state: &PullState) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO pull_state (repository, pull, installation, head, base_branch, guarded,
                                     check_name, base, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (repository, pull) DO UPDATE SET
                 installation = excluded.installation,
                 base = CASE WHEN head = excluded.head AND base_branch = excluded.base_branch
                     AND check_name = excluded.check_name THEN base ELSE excluded.base END,
                 head = excluded.head, base_branch = excluded.base_branch,
                 guarded = excluded.guarded, check_name = excluded.check_name,
                 seen_at = excluded.seen_at",
        )
        .bind(repo_key(&state.key.repo))
        .bind(state.key.number.0.cast_signed())
        .bind(state.key.installation.0.cast_signed())
        .bind(state.head.as_str())
        .bind(&state.base_branch)
        .bind(&state.guarded)
        .bind(&state.check_name)
        .bind(state.base.as_ref().map(Sha::as_str))
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The pull request is closed, or no longer seen.
    pub async fn forget_pull(&self, repo: &RepoName, pull: PrNumber) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query("DELETE FROM pull_state WHERE repository = ?1 AND pull = ?2")
            .bind(repo_key(repo))
            .bind(pull.0.cast_signed())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Notes the base tip with which what is published for `head` is up to date (`None`: it is not);
    /// nothing happens when the pull request has another head by now.
    pub async fn settle_pull(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        head: &Sha,
        base: Option<&Sha>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "UPDATE pull_state SET base = ?4 WHERE repository = ?1 AND pull = ?2 AND head = ?3",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(head.as_str())
        .bind(base.map(Sha::as_str))
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// When a freeze on which the newest decision on `head` rests becomes void by date; `None`: none does.
    pub async fn note_expiry(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        head: &Sha,
        at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "UPDATE pull_state SET expires_at = ?4
             WHERE repository = ?1 AND pull = ?2 AND head = ?3",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(head.as_str())
        .bind(at.map(|at| at.timestamp_millis()))
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Open pull requests whose decision rests on a freeze that has become void by date since.
    pub async fn expired_pulls(&self, repo: &RepoName) -> Result<Vec<PrNumber>, StoreError> {
        let numbers: Vec<i64> = sqlx::query_scalar(
            "SELECT pull FROM pull_state WHERE repository = ?1 AND expires_at <= ?2",
        )
        .bind(repo_key(repo))
        .bind(self.now_ms())
        .fetch_all(self.reader())
        .await?;
        Ok(numbers
            .into_iter()
            .map(|number| PrNumber(number.cast_unsigned()))
            .collect())
    }

    /// Open pull requests of a repository, the newest first.
    pub async fn seen_pulls(&self, repo: &RepoName) -> Result<Vec<PullState>, StoreError> {
        sqlx::query(
            "SELECT pull, installation, head, base_branch, guarded, check_name, base
             FROM pull_state WHERE repository = ?1 ORDER BY pull DESC",
        )
        .bind(repo_key(repo))
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(|row| state_of(row, repo))
        .collect()
    }

    /// The open pull requests that have this head and are judged under this name; those that go into
    /// the guarded branch itself first, then by number.
    pub async fn pulls_at(&self, key: &RunKey) -> Result<Vec<PullState>, StoreError> {
        sqlx::query(
            "SELECT pull, installation, head, base_branch, guarded, check_name, base
             FROM pull_state WHERE repository = ?1 AND head = ?2 AND check_name = ?3
             ORDER BY base_branch <> guarded, pull",
        )
        .bind(repo_key(&key.repo))
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(|row| state_of(row, &key.repo))
        .collect()
    }

    /// The pull request that speaks for the head of an open one, if that is another; with that head.
    pub async fn speaker(
        &self,
        repo: &RepoName,
        pull: PrNumber,
    ) -> Result<Option<(PrNumber, Sha)>, StoreError> {
        let row = sqlx::query(
            "SELECT other.pull, other.head FROM pull_state AS one JOIN pull_state AS other
             ON other.repository = one.repository AND other.head = one.head
               AND other.check_name = one.check_name
             WHERE one.repository = ?1 AND one.pull = ?2
             ORDER BY other.base_branch <> other.guarded, other.pull LIMIT 1",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .fetch_optional(self.reader())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let speaker = PrNumber(row.try_get::<i64, _>("pull")?.cast_unsigned());
        let head = row.try_get::<String, _>("head")?;
        let head = head.parse().map_err(|_| damaged("a pull request's head"))?;
        Ok((speaker != pull).then_some((speaker, head)))
    }

    /// Takes the right to publish under `key`. False while another job that runs has it.
    pub async fn take_head(&self, key: &RunKey, lease: &Lease) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let taken = sqlx::query(
            "INSERT INTO head_lease (repository, head, check_name, job, fence)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (repository, head, check_name) DO UPDATE SET
                 job = excluded.job, fence = excluded.fence
             WHERE (job = excluded.job AND fence = excluded.fence) OR NOT EXISTS (
                 SELECT 1 FROM job AS holder WHERE holder.id = head_lease.job
                   AND holder.fence = head_lease.fence AND holder.state = 'running')",
        )
        .bind(repo_key(&key.repo))
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .bind(lease.job_id)
        .bind(lease.fence)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(taken.rows_affected() == 1)
    }

    /// Gives back what [`Store::take_head`] took.
    pub async fn leave_head(&self, key: &RunKey, lease: &Lease) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "DELETE FROM head_lease WHERE repository = ?1 AND head = ?2 AND check_name = ?3
                 AND job = ?4 AND fence = ?5",
        )
        .bind(repo_key(&key.repo))
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .bind(lease.job_id)
        .bind(lease.fence)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Gives an open evaluation to another pull request with the same head.
    pub async fn hand_over(&self, evaluation: &str, to: PrNumber) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query("UPDATE evaluation SET pull = ?2 WHERE id = ?1")
            .bind(evaluation)
            .bind(to.0.cast_signed())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(())
    }
}
