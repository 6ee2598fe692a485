//! Merge groups that a check was asked for.

use sqlx::Row as _;

use crate::model::{MergeGroup, RepoName, Sha};

use super::cache::{damaged, repo_key};
use super::{Store, StoreError};

impl Store {
    /// Keeps the group, so that its head can be judged again.
    pub async fn put_group(&self, repo: &RepoName, group: &MergeGroup) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO merge_group (repository, head, base, branch, default_branch, queue_branch, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (repository, head) DO UPDATE SET
                 base = excluded.base, branch = excluded.branch,
                 default_branch = excluded.default_branch,
                 queue_branch = excluded.queue_branch, seen_at = excluded.seen_at",
        )
        .bind(repo_key(repo))
        .bind(group.head.as_str())
        .bind(group.base.as_str())
        .bind(&group.branch)
        .bind(&group.default_branch)
        .bind(&group.queue_branch)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The group whose head a commit is.
    pub async fn group_at(
        &self,
        repo: &RepoName,
        head: &Sha,
    ) -> Result<Option<MergeGroup>, StoreError> {
        let row = sqlx::query(
            "SELECT base, branch, default_branch, queue_branch FROM merge_group
             WHERE repository = ?1 AND head = ?2",
        )
        .bind(repo_key(repo))
        .bind(head.as_str())
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| {
            Ok(MergeGroup {
                head: head.clone(),
                base: row
                    .try_get::<String, _>("base")?
                    .parse()
                    .map_err(|_| damaged("a merge group's base"))?,
                branch: row.try_get("branch")?,
                default_branch: row.try_get("default_branch")?,
                queue_branch: row.try_get("queue_branch")?,
            })
        })
        .transpose()
    }
}
