//! The one issue that says what a repository's audit found.

use sqlx::Row as _;

use crate::model::RepoName;

use super::cache::repo_key;
use super::{Store, StoreError};

/// The issue as it was written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackingIssue {
    pub number: u64,
    /// SHA-256 of its text.
    pub body: String,
    pub is_open: bool,
}

impl Store {
    pub async fn tracking_issue(
        &self,
        repo: &RepoName,
    ) -> Result<Option<TrackingIssue>, StoreError> {
        let row =
            sqlx::query("SELECT number, body, is_open FROM tracking_issue WHERE repository = ?1")
                .bind(repo_key(repo))
                .fetch_optional(self.reader())
                .await?;
        row.map(|row| {
            Ok(TrackingIssue {
                number: row.try_get::<i64, _>("number")?.cast_unsigned(),
                body: row.try_get("body")?,
                is_open: row.try_get("is_open")?,
            })
        })
        .transpose()
    }

    /// `None`: there is no such issue any more.
    pub async fn put_tracking_issue(
        &self,
        repo: &RepoName,
        issue: Option<&TrackingIssue>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let query = match issue {
            Some(issue) => sqlx::query(
                "INSERT INTO tracking_issue (repository, number, body, is_open)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (repository) DO UPDATE SET number = excluded.number,
                     body = excluded.body, is_open = excluded.is_open",
            )
            .bind(repo_key(repo))
            .bind(issue.number.cast_signed())
            .bind(&issue.body)
            .bind(issue.is_open),
            None => {
                sqlx::query("DELETE FROM tracking_issue WHERE repository = ?1").bind(repo_key(repo))
            }
        };
        query.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }
}
