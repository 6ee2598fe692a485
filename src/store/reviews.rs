//! What approvals rest on: what was shown and when, who accepted, who pushed.

use chrono::{DateTime, Utc};
use sqlx::Row as _;

use crate::model::Sha;

use super::asks::{AskResult, AskedOn};
use super::cache::repo_key;
use super::{RunKey, Store, StoreError};

/// What a check-run showed when it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub head: Sha,
    /// `None` where nothing could be decided.
    pub base: Option<Sha>,
    /// `None` where no person has to approve.
    pub key: Option<String>,
}

/// A `/frostline accept`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub actor: String,
    pub actor_id: u64,
    pub reason: Option<String>,
    /// When the command was given, by the forge's clock.
    pub accepted_at: DateTime<Utc>,
}

/// A push to a pull request; an account of 0 is one that the event did not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    pub head: Sha,
    pub account: u64,
}

/// Rows of one kind of check that are looked at.
const LOOKED_AT: i64 = 64;

impl Store {
    /// The run of an evaluation has ended at `at`, by the forge's clock: notes what it shows.
    pub async fn end_shown(
        &self,
        evaluation: &str,
        conclusion: &str,
        at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        // Without a time no approval could be told to come after it.
        if let Some(at) = at {
            sqlx::query(
                "INSERT INTO shown (repository, pull, head, check_name, base, decision_key, published_at)
                 SELECT repository, pull, head, check_name, json_extract(decision, '$.base'),
                        json_extract(decision, '$.decision_key'), ?2
                 FROM evaluation WHERE id = ?1 AND state = 'open'",
            )
            .bind(evaluation)
            .bind(at.timestamp_millis())
            .execute(&mut *tx)
            .await?;
        }
        sqlx::query(
            "UPDATE evaluation SET state = 'done', conclusion = ?2, updated_at = ?3 WHERE id = ?1",
        )
        .bind(evaluation)
        .bind(conclusion)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// What may have been on show for a pull request at `at`: what was shown last before that second, and
    /// all that came within it. Empty when nothing was.
    pub async fn shown_at(
        &self,
        key: &RunKey,
        at: DateTime<Utc>,
    ) -> Result<Vec<Shown>, StoreError> {
        self.shown_where("(pull = ?2 OR head = ?3)", key, at).await
    }

    /// The same for one head, whatever else was shown.
    pub async fn shown_of_head(
        &self,
        key: &RunKey,
        at: DateTime<Utc>,
    ) -> Result<Vec<Shown>, StoreError> {
        self.shown_where("(?2 = ?2 AND head = ?3)", key, at).await
    }

    async fn shown_where(
        &self,
        which: &'static str,
        key: &RunKey,
        at: DateTime<Utc>,
    ) -> Result<Vec<Shown>, StoreError> {
        let query = format!(
            "SELECT head, base, decision_key, published_at / 1000 AS second FROM shown
             WHERE repository = ?1 AND {which} AND check_name = ?4 AND published_at / 1000 <= ?5
             ORDER BY second DESC, id DESC LIMIT ?6"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(repo_key(&key.repo))
            .bind(key.pull.0.cast_signed())
            .bind(key.head.as_str())
            .bind(&key.check_name)
            .bind(at.timestamp())
            .bind(LOOKED_AT)
            .fetch_all(self.reader())
            .await?;
        let mut shown = Vec::new();
        for row in rows {
            let decode = |text: String| {
                text.parse()
                    .map_err(|error: crate::model::IdError| sqlx::Error::Decode(error.into()))
            };
            shown.push(Shown {
                head: decode(row.try_get("head")?)?,
                base: row
                    .try_get::<Option<String>, _>("base")?
                    .map(decode)
                    .transpose()?,
                key: row.try_get("decision_key")?,
            });
            if row.try_get::<i64, _>("second")? < at.timestamp() {
                break;
            }
        }
        Ok(shown)
    }

    /// Keeps an acceptance of a decision together with the result of its command.
    pub async fn accept(
        &self,
        (key, decision_key): (&RunKey, &str),
        acceptance: &Acceptance,
        (ask, on, place): (i64, AskedOn<'_>, usize),
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO acceptance
                 (repository, decision_key, pull, head, actor, actor_id, reason, accepted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )
        .bind(repo_key(&key.repo))
        .bind(decision_key)
        .bind(key.pull.0.cast_signed())
        .bind(key.head.as_str())
        .bind(&acceptance.actor)
        .bind(acceptance.actor_id.cast_signed())
        .bind(&acceptance.reason)
        .bind(acceptance.accepted_at.timestamp_millis())
        .execute(&mut *tx)
        .await?;
        let done = [(place, AskResult::Done, String::new())];
        self.put_results_in(&mut tx, ask, on, &done).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Acceptances of a decision, by its key, for this pull request or this head.
    pub async fn acceptances(
        &self,
        key: &RunKey,
        decision_key: &str,
    ) -> Result<Vec<Acceptance>, StoreError> {
        sqlx::query(
            "SELECT actor, actor_id, reason, accepted_at FROM acceptance
             WHERE repository = ?1 AND decision_key = ?2 AND (pull = ?3 OR head = ?4)
             ORDER BY accepted_at, actor_id",
        )
        .bind(repo_key(&key.repo))
        .bind(decision_key)
        .bind(key.pull.0.cast_signed())
        .bind(key.head.as_str())
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(|row| {
            let at: i64 = row.try_get("accepted_at")?;
            Ok(Acceptance {
                actor: row.try_get("actor")?,
                actor_id: row.try_get::<i64, _>("actor_id")?.cast_unsigned(),
                reason: row.try_get("reason")?,
                accepted_at: DateTime::from_timestamp_millis(at).unwrap_or_default(),
            })
        })
        .collect()
    }

    /// Pushes to a pull request that events told of, oldest first, each with the newest key that was
    /// shown for its head.
    pub async fn pushes(&self, key: &RunKey) -> Result<Vec<(Pushed, Option<String>)>, StoreError> {
        sqlx::query(
            "SELECT head, account,
                    (SELECT decision_key FROM shown
                     WHERE shown.repository = pusher.repository AND shown.head = pusher.head
                       AND check_name = ?3 ORDER BY shown.id DESC LIMIT 1) AS decision_key
             FROM pusher WHERE repository = ?1 AND pull = ?2 ORDER BY id",
        )
        .bind(repo_key(&key.repo))
        .bind(key.pull.0.cast_signed())
        .bind(&key.check_name)
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(|row| {
            let head: String = row.try_get("head")?;
            let pushed = Pushed {
                head: head
                    .parse()
                    .map_err(|error: crate::model::IdError| sqlx::Error::Decode(error.into()))?,
                account: row.try_get::<i64, _>("account")?.cast_unsigned(),
            };
            Ok((pushed, row.try_get("decision_key")?))
        })
        .collect()
    }
}
