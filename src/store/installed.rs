//! Which repositories are known of which installation, and how a repository is forgotten.

use crate::model::{DeliveryId, InstallationId, PrNumber, RepoName};

use super::cache::{damaged, repo_key};
use super::{Store, StoreError};

impl Store {
    /// Whether the delivery was stored.
    pub async fn has_delivery(&self, id: &DeliveryId) -> Result<bool, StoreError> {
        Ok(
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM delivery WHERE id = ?1)")
                .bind(&id.0)
                .fetch_one(self.reader())
                .await?,
        )
    }

    /// Installations with open pull requests that were seen.
    pub async fn installations(&self) -> Result<Vec<InstallationId>, StoreError> {
        let ids: Vec<i64> = sqlx::query_scalar(
            "SELECT DISTINCT installation FROM pull_state ORDER BY installation",
        )
        .fetch_all(self.reader())
        .await?;
        Ok(ids
            .into_iter()
            .map(|id| InstallationId(id.cast_unsigned()))
            .collect())
    }

    /// Repositories of an installation with open pull requests that were seen.
    pub async fn repositories_of(
        &self,
        installation: InstallationId,
    ) -> Result<Vec<RepoName>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT DISTINCT repository FROM pull_state WHERE installation = ?1 ORDER BY repository",
        )
        .bind(installation.0.cast_signed())
        .fetch_all(self.reader())
        .await?;
        names
            .iter()
            .map(|name| name.parse().map_err(|_| damaged("a repository's name")))
            .collect()
    }

    /// The pull requests of a repository that an evaluation is open for.
    pub async fn pulls_in_progress(&self, repo: &RepoName) -> Result<Vec<PrNumber>, StoreError> {
        let numbers: Vec<i64> = sqlx::query_scalar(
            "SELECT DISTINCT pull FROM evaluation
             WHERE repository = ?1 AND state = 'open' AND pull > 0",
        )
        .bind(repo_key(repo))
        .fetch_all(self.reader())
        .await?;
        Ok(numbers
            .into_iter()
            .map(|number| PrNumber(number.cast_unsigned()))
            .collect())
    }

    /// Drops what is waiting for a repository and what is known of its pull requests and branches. Its
    /// runs can't be reached any more; evidence stays, for the day that it comes back.
    pub async fn forget_repository(&self, repo: &RepoName) -> Result<(), StoreError> {
        let (key, now) = (repo_key(repo), self.now_ms());
        let mut tx = self.begin().await?;
        for statement in [
            "DELETE FROM job WHERE state = 'queued' AND kind IN ('pull', 'head', 'group', 'branch', 'audit', 'repository')
                 AND (key = ?1 OR substr(key, 1, length(?1) + 1) IN (?1 || '#', ?1 || '@', ?1 || ':'))",
            "DELETE FROM pull_state WHERE repository = ?1",
            "DELETE FROM branch_state WHERE repository = ?1",
            "DELETE FROM merge_group WHERE repository = ?1",
            "DELETE FROM merge_group_member WHERE repository = ?1",
            "DELETE FROM branch_rule WHERE repository = ?1",
            "DELETE FROM ledger_size WHERE repository = ?1",
            "DELETE FROM void_row WHERE repository = ?1",
            "DELETE FROM repository WHERE name = ?1",
            "DELETE FROM tree_listing WHERE repository = ?1",
        ] {
            sqlx::query(statement).bind(&key).execute(&mut *tx).await?;
        }
        sqlx::query(
            "UPDATE evaluation SET state = 'done', conclusion = 'cancelled', updated_at = ?2
             WHERE repository = ?1 AND state = 'open'",
        )
        .bind(&key)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }
}
