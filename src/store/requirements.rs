//! What the rules of a branch said of our check, and when.

use chrono::{DateTime, Utc};
use sqlx::Row as _;

use crate::model::{RepoName, Requirement};

use super::cache::{damaged, repo_key};
use super::{Store, StoreError};

impl Store {
    /// What was read last, and when.
    pub async fn requirement(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Option<(Requirement, DateTime<Utc>)>, StoreError> {
        let row = sqlx::query(
            "SELECT says, read_at FROM branch_rule WHERE repository = ?1 AND branch = ?2",
        )
        .bind(repo_key(repo))
        .bind(branch)
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| {
            let says: String = row.try_get("says")?;
            let says = serde_json::from_str(&says).map_err(|_| damaged("a branch's rule"))?;
            let at = DateTime::from_timestamp_millis(row.try_get("read_at")?)
                .ok_or_else(|| damaged("the time of a branch's rule"))?;
            Ok((says, at))
        })
        .transpose()
    }

    pub async fn put_requirement(
        &self,
        repo: &RepoName,
        branch: &str,
        says: Requirement,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO branch_rule (repository, branch, says, read_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repository, branch) DO UPDATE SET
                 says = excluded.says, read_at = excluded.read_at",
        )
        .bind(repo_key(repo))
        .bind(branch)
        .bind(serde_json::to_string(&says).unwrap_or_default())
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }
}
