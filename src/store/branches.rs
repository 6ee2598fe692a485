//! Guarded branches: the contract that was seen there last, and the one that was audited last.

use sqlx::Row as _;

use crate::model::RepoName;

use super::cache::repo_key;
use super::{Store, StoreError};

/// A guarded branch as it was looked at last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchState {
    /// What tells its contract from another; `None` before the first look.
    pub contract: Option<String>,
    /// The contract that was audited last, and when (Unix milliseconds).
    pub audited: Option<(String, i64)>,
}

impl Store {
    /// `None`: the branch was never taken for a guarded one.
    pub async fn branch_state(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Option<BranchState>, StoreError> {
        let row = sqlx::query(
            "SELECT contract, audited, audited_at FROM branch_state
             WHERE repository = ?1 AND branch = ?2",
        )
        .bind(repo_key(repo))
        .bind(branch)
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| {
            let audited: Option<String> = row.try_get("audited")?;
            let at: Option<i64> = row.try_get("audited_at")?;
            Ok(BranchState {
                contract: row.try_get("contract")?,
                audited: audited.zip(at),
            })
        })
        .transpose()
    }

    /// Notes that the branch is guarded.
    pub async fn see_branch(&self, repo: &RepoName, branch: &str) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO branch_state (repository, branch) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )
        .bind(repo_key(repo))
        .bind(branch)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Notes the contract that the branch has.
    pub async fn see_contract(
        &self,
        repo: &RepoName,
        branch: &str,
        contract: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO branch_state (repository, branch, contract) VALUES (?1, ?2, ?3)
             ON CONFLICT (repository, branch) DO UPDATE SET contract = excluded.contract",
        )
        .bind(repo_key(repo))
        .bind(branch)
        .bind(contract)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The audit of the branch with this contract is published.
    pub async fn put_audited(
        &self,
        repo: &RepoName,
        branch: &str,
        contract: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO branch_state (repository, branch, audited, audited_at)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repository, branch) DO UPDATE SET
                 audited = excluded.audited, audited_at = excluded.audited_at",
        )
        .bind(repo_key(repo))
        .bind(branch)
        .bind(contract)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The branch is gone, or guarded no longer.
    pub async fn forget_branch(&self, repo: &RepoName, branch: &str) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for statement in [
            "DELETE FROM branch_state WHERE repository = ?1 AND branch = ?2",
            "DELETE FROM ledger_size WHERE repository = ?1 AND branch = ?2",
            "DELETE FROM void_row WHERE repository = ?1 AND branch = ?2",
        ] {
            sqlx::query(statement)
                .bind(repo_key(repo))
                .bind(branch)
                .execute(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// The branches that were taken for guarded ones.
    pub async fn seen_branches(&self, repo: &RepoName) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT branch FROM branch_state WHERE repository = ?1 ORDER BY branch",
        )
        .bind(repo_key(repo))
        .fetch_all(self.reader())
        .await?)
    }
}
