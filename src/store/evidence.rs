//! Evidence that a pull request is an agent's: it stays, for the pull request and for every pull request
//! that has had the head, until a maintainer lifts it (protocol 5.4).

use std::collections::BTreeSet;

use sqlx::Row as _;

use crate::model::{PrNumber, RepoName, Sha};

use super::asks::{AskResult, AskedOn};
use super::cache::repo_key;
use super::{Acceptance, RunKey, Store, StoreError};

/// What was lifted from a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifted {
    /// Who did, last.
    pub actor: Option<String>,
    /// Names of evidence that does not count.
    pub evidence: BTreeSet<String>,
}

impl Store {
    /// Evidence that this pull request, or any that has had one of its heads, is an agent's; the oldest.
    pub async fn agent_evidence(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        head: &Sha,
    ) -> Result<Option<(PrNumber, String)>, StoreError> {
        let row = sqlx::query(
            "SELECT pull, evidence FROM agent_evidence
             WHERE repository = ?1 AND (pull = ?2 OR (
                 (head = ?3
                  OR head IN (SELECT head FROM shown WHERE repository = ?1 AND pull = ?2))
                 AND head NOT IN (SELECT head FROM lifted WHERE repository = ?1 AND pull = ?2)))
             ORDER BY seen_at, pull LIMIT 1",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(head.as_str())
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| {
            let pull: i64 = row.try_get("pull")?;
            Ok((PrNumber(pull.cast_unsigned()), row.try_get("evidence")?))
        })
        .transpose()
    }

    pub async fn put_agent_evidence(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        head: &Sha,
        evidence: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO agent_evidence (repository, pull, head, evidence, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(head.as_str())
        .bind(evidence)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// What was lifted from a pull request.
    pub async fn lifted(&self, repo: &RepoName, pull: PrNumber) -> Result<Lifted, StoreError> {
        let rows = sqlx::query(
            "SELECT actor, evidence FROM lifted WHERE repository = ?1 AND pull = ?2 ORDER BY id",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .fetch_all(self.reader())
        .await?;
        let mut lifted = Lifted::default();
        for row in rows {
            lifted.actor = Some(row.try_get("actor")?);
            let names: String = row.try_get("evidence")?;
            // What can't be read lifts nothing.
            lifted
                .evidence
                .extend(serde_json::from_str::<Vec<String>>(&names).unwrap_or_default());
        }
        Ok(lifted)
    }

    /// Lifts evidence from a pull request, together with the result of its command. What is seen of an
    /// agent from then on counts again.
    pub async fn lift(
        &self,
        key: &RunKey,
        evidence: &BTreeSet<String>,
        by: &Acceptance,
        (ask, on, place): (i64, AskedOn<'_>, usize),
    ) -> Result<(), StoreError> {
        let names =
            serde_json::to_string(evidence).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO lifted
                 (repository, pull, head, actor, actor_id, reason, evidence, lifted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )
        .bind(repo_key(&key.repo))
        .bind(key.pull.0.cast_signed())
        .bind(key.head.as_str())
        .bind(&by.actor)
        .bind(by.actor_id.cast_signed())
        .bind(&by.reason)
        .bind(names)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        sqlx::query("DELETE FROM agent_evidence WHERE repository = ?1 AND pull = ?2")
            .bind(repo_key(&key.repo))
            .bind(key.pull.0.cast_signed())
            .execute(&mut *tx)
            .await?;
        let done = [(place, AskResult::Done, String::new())];
        self.put_results_in(&mut tx, ask, on, &done).await?;
        tx.commit().await?;
        Ok(())
    }
}
