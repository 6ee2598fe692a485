//! What the pages show. Nothing here writes, but for the key that is made once.

use sqlx::Row as _;

use crate::model::{PrNumber, RepoName, Sha};

use super::cache::repo_key;
use super::{Store, StoreError};

/// A decision that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedDecision {
    pub pull: PrNumber,
    /// As JSON.
    pub decision: String,
    /// When it was published; Unix milliseconds.
    pub at: i64,
}

impl Store {
    /// The key of the pages' capabilities: made at the first start, the same for every process.
    pub async fn page_key(&self) -> Result<[u8; 64], StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query("INSERT INTO page_key (only, key) VALUES (1, ?1) ON CONFLICT DO NOTHING")
            .bind(&rand::random::<[u8; 64]>()[..])
            .execute(&mut *tx)
            .await?;
        let key: Vec<u8> = sqlx::query_scalar("SELECT key FROM page_key")
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        let wrong = |_| sqlx::Error::Decode("the page key does not have 64 bytes".into());
        Ok(key.try_into().map_err(wrong)?)
    }

    /// Whether anybody may read the repository, as far as is known: what is not known is not public.
    pub async fn is_public(&self, repo: &RepoName) -> Result<bool, StoreError> {
        let found: Option<bool> =
            sqlx::query_scalar("SELECT is_public FROM repository WHERE name = ?1")
                .bind(repo_key(repo))
                .fetch_optional(self.reader())
                .await?;
        Ok(found.unwrap_or(false))
    }

    /// The newest published decision of a pull request; of one head, where it is given.
    pub async fn published_decision(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        head: Option<&Sha>,
    ) -> Result<Option<PublishedDecision>, StoreError> {
        let row = sqlx::query(
            "SELECT pull, decision, updated_at FROM evaluation
             WHERE repository = ?1 AND pull = ?2 AND (?3 IS NULL OR head = ?3)
               AND state = 'done' AND decision IS NOT NULL
             ORDER BY created_at DESC, id DESC LIMIT 1",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(head.map(Sha::as_str))
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| decision_of(&row)).transpose()
    }

    /// The newest published decision of each of the repository's pull requests, the newest first, at most
    /// `most`.
    pub async fn published_decisions(
        &self,
        repo: &RepoName,
        most: u32,
    ) -> Result<Vec<PublishedDecision>, StoreError> {
        let rows = sqlx::query(
            "SELECT pull, decision, updated_at FROM evaluation AS one
             WHERE repository = ?1 AND state = 'done' AND decision IS NOT NULL
               AND NOT EXISTS (
                   SELECT 1 FROM evaluation AS other
                   WHERE other.repository = one.repository AND other.pull = one.pull
                     AND other.state = 'done' AND other.decision IS NOT NULL
                     AND (other.created_at, other.id) > (one.created_at, one.id))
             ORDER BY updated_at DESC, id DESC LIMIT ?2",
        )
        .bind(repo_key(repo))
        .bind(most)
        .fetch_all(self.reader())
        .await?;
        rows.iter().map(decision_of).collect()
    }
}

fn decision_of(row: &sqlx::sqlite::SqliteRow) -> Result<PublishedDecision, StoreError> {
    let pull: i64 = row.try_get("pull")?;
    Ok(PublishedDecision {
        pull: PrNumber(pull.cast_unsigned()),
        decision: row.try_get("decision")?,
        at: row.try_get("updated_at")?,
    })
}
