//! Merge groups that a check was asked for.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::model::{MergeGroup, PrNumber, RepoName, Sha};

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
            "SELECT head, base, branch, default_branch, queue_branch FROM merge_group
             WHERE repository = ?1 AND head = ?2",
        )
        .bind(repo_key(repo))
        .bind(head.as_str())
        .fetch_optional(self.reader())
        .await?;
        row.as_ref().map(group_of).transpose()
    }

    /// Notes which pull requests a group holds.
    pub async fn put_members(
        &self,
        repo: &RepoName,
        head: &Sha,
        members: &[PrNumber],
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for member in members {
            sqlx::query(
                "INSERT INTO merge_group_member (repository, head, pull) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO NOTHING",
            )
            .bind(repo_key(repo))
            .bind(head.as_str())
            .bind(member.0.cast_signed())
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// The groups that hold a pull request.
    pub async fn groups_of(
        &self,
        repo: &RepoName,
        pull: PrNumber,
    ) -> Result<Vec<MergeGroup>, StoreError> {
        sqlx::query(
            "SELECT one.head, base, branch, default_branch, queue_branch
             FROM merge_group_member AS member JOIN merge_group AS one
             ON one.repository = member.repository AND one.head = member.head
             WHERE member.repository = ?1 AND member.pull = ?2 ORDER BY one.seen_at",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(group_of)
        .collect()
    }

    /// The queue has done with the group.
    pub async fn forget_group(&self, repo: &RepoName, head: &Sha) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for statement in [
            "DELETE FROM merge_group_member WHERE repository = ?1 AND head = ?2",
            "DELETE FROM merge_group WHERE repository = ?1 AND head = ?2",
        ] {
            sqlx::query(statement)
                .bind(repo_key(repo))
                .bind(head.as_str())
                .execute(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

fn group_of(row: &SqliteRow) -> Result<MergeGroup, StoreError> {
    let commit = |column| -> Result<Sha, StoreError> {
        let text: String = row.try_get(column)?;
        text.parse()
            .map_err(|_| damaged("a commit of a merge group"))
    };
    Ok(MergeGroup {
        head: commit("head")?,
        base: commit("base")?,
        branch: row.try_get("branch")?,
        default_branch: row.try_get("default_branch")?,
        queue_branch: row.try_get("queue_branch")?,
    })
}
