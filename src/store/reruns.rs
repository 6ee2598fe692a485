//! Check-runs that were asked for again: the forge set their suite back, so that a new run has to end.

use sqlx::{Sqlite, Transaction};

use crate::model::{RepoName, Sha};

use super::cache::repo_key;
use super::{Store, StoreError};

/// What is to be run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    pub head: Sha,
    /// Empty: all of the head's.
    pub check_name: String,
}

impl Store {
    /// Names of the check-runs that audits and merge groups had on a commit.
    pub async fn runs_without_pull(
        &self,
        repo: &RepoName,
        head: &Sha,
    ) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT DISTINCT check_name FROM evaluation
             WHERE repository = ?1 AND head = ?2 AND pull = 0 AND state = 'done'",
        )
        .bind(repo_key(repo))
        .bind(head.as_str())
        .fetch_all(self.reader())
        .await?)
    }

    pub(super) async fn put_rerun_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        repo: &RepoName,
        rerun: &Rerun,
        now: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO rerun (repository, head, check_name, asked_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repository, head, check_name) DO UPDATE SET asked_at = excluded.asked_at",
        )
        .bind(repo_key(repo))
        .bind(rerun.head.as_str())
        .bind(&rerun.check_name)
        .bind(now)
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}
