//! What was published, and what is about to be: evaluations with their check-runs, the one comment,
//! and what stays known of a pull request.
//!
//! Invariant: a row is written before the forge is asked to create what it stands for.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::model::{PrNumber, RepoName, Sha};

use super::cache::repo_key;
use super::{Store, StoreError};

/// What one check-run speaks for: a head, under the name of a guarded branch's check. The pull request
/// is the one that is judged for it, and whose comment is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    pub repo: RepoName,
    pub pull: PrNumber,
    pub head: Sha,
    pub check_name: String,
}

/// An evaluation that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEvaluation {
    /// The check-run's `external_id`.
    pub id: String,
    pub head: Sha,
    pub check_name: String,
    pub run_id: Option<u64>,
    /// Of the decision that was being published when the work broke off.
    pub fingerprint: Option<String>,
    pub conclusion: Option<String>,
    /// An earlier attempt wrote it: the forge may know more than the row.
    pub resumed: bool,
}

/// How the newest ended evaluation of a head ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedEvaluation {
    pub fingerprint: Option<String>,
    pub conclusion: String,
    /// It was asked for again since then: at the forge it counts no more.
    pub set_back: bool,
}

/// The comment as it was posted last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredComment {
    pub id: u64,
    pub node_id: String,
    /// SHA-256 of its body.
    pub body: String,
    pub minimized: bool,
}

fn open_of(row: &SqliteRow, resumed: bool) -> Result<OpenEvaluation, StoreError> {
    let head: String = row.try_get("head")?;
    Ok(OpenEvaluation {
        id: row.try_get("id")?,
        head: head
            .parse()
            .map_err(|error: crate::model::IdError| sqlx::Error::Decode(error.into()))?,
        check_name: row.try_get("check_name")?,
        run_id: row
            .try_get::<Option<i64>, _>("run_id")?
            .map(i64::cast_unsigned),
        fingerprint: row.try_get("fingerprint")?,
        conclusion: row.try_get("conclusion")?,
        resumed,
    })
}

impl Store {
    /// Whether the repository had opted in when it was last looked at; `None` before that.
    pub async fn opted_in(&self, repo: &RepoName) -> Result<Option<bool>, StoreError> {
        Ok(
            sqlx::query_scalar("SELECT opted_in FROM repository WHERE name = ?1")
                .bind(repo_key(repo))
                .fetch_optional(self.reader())
                .await?,
        )
    }

    /// Keeps what a repository was seen to be. `is_public`: anybody may read it.
    pub async fn set_repository(
        &self,
        repo: &RepoName,
        opted_in: bool,
        is_public: bool,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO repository (name, opted_in, is_public) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET opted_in = excluded.opted_in, is_public = excluded.is_public",
        )
        .bind(repo_key(repo))
        .bind(opted_in)
        .bind(is_public)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The open evaluation of `key`, made if there is none. `id` is the new one's.
    pub async fn open_evaluation(
        &self,
        key: &RunKey,
        id: &str,
    ) -> Result<OpenEvaluation, StoreError> {
        let repo = repo_key(&key.repo);
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        let found = sqlx::query(
            "SELECT id, head, check_name, run_id, fingerprint, conclusion FROM evaluation
             WHERE repository = ?1 AND head = ?2 AND check_name = ?3 AND state = 'open'",
        )
        .bind(&repo)
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .fetch_optional(&mut *tx)
        .await?;
        if let Some(row) = found {
            return open_of(&row, true);
        }
        sqlx::query(
            "INSERT INTO evaluation
                 (id, repository, pull, head, check_name, state, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6, ?6)",
        )
        .bind(id)
        .bind(&repo)
        .bind(key.pull.0.cast_signed())
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(OpenEvaluation {
            id: id.to_owned(),
            head: key.head.clone(),
            check_name: key.check_name.clone(),
            run_id: None,
            fingerprint: None,
            conclusion: None,
            resumed: false,
        })
    }

    /// The evaluation of a head under a name that has not ended, of whichever pull request.
    pub async fn evaluation_at(&self, key: &RunKey) -> Result<Option<OpenEvaluation>, StoreError> {
        sqlx::query(
            "SELECT id, head, check_name, run_id, fingerprint, conclusion FROM evaluation
             WHERE repository = ?1 AND head = ?2 AND check_name = ?3 AND state = 'open'",
        )
        .bind(repo_key(&key.repo))
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .fetch_optional(self.reader())
        .await?
        .map(|row| open_of(&row, true))
        .transpose()
    }

    /// Every evaluation of a pull request that has not ended, oldest first.
    pub async fn open_evaluations(
        &self,
        repo: &RepoName,
        pull: PrNumber,
    ) -> Result<Vec<OpenEvaluation>, StoreError> {
        sqlx::query(
            "SELECT id, head, check_name, run_id, fingerprint, conclusion FROM evaluation
             WHERE repository = ?1 AND pull = ?2 AND state = 'open' ORDER BY created_at, id",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(|row| open_of(row, true))
        .collect()
    }

    /// The newest ended evaluation of a head under a name, of whichever pull request.
    pub async fn ended_evaluation(
        &self,
        key: &RunKey,
    ) -> Result<Option<EndedEvaluation>, StoreError> {
        let row = sqlx::query(
            "SELECT fingerprint, conclusion, created_at < coalesce((
                 SELECT max(asked_at) FROM rerun
                 WHERE rerun.repository = ?1 AND rerun.head = ?2 AND rerun.check_name IN ('', ?3)), 0)
                 AS set_back
             FROM evaluation
             WHERE repository = ?1 AND head = ?2 AND check_name = ?3 AND state = 'done'
                   AND run_id IS NOT NULL
             ORDER BY updated_at DESC, run_id DESC LIMIT 1",
        )
        .bind(repo_key(&key.repo))
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| {
            Ok(EndedEvaluation {
                fingerprint: row.try_get("fingerprint")?,
                conclusion: row.try_get("conclusion")?,
                set_back: row.try_get("set_back")?,
            })
        })
        .transpose()
    }

    pub async fn set_run_id(&self, evaluation: &str, run: u64) -> Result<(), StoreError> {
        self.update_evaluation(
            sqlx::query("UPDATE evaluation SET run_id = ?2, updated_at = ?3 WHERE id = ?1")
                .bind(evaluation.to_owned())
                .bind(run.cast_signed())
                .bind(self.now_ms()),
        )
        .await
    }

    /// Notes what is about to be published; `fingerprint` tells it from other decisions. Snapshots of
    /// the pull request's earlier evaluations are dropped.
    pub async fn begin_publishing(
        &self,
        evaluation: &str,
        fingerprint: &str,
        conclusion: &str,
        (decision, snapshot): (Option<&str>, Option<&str>),
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "UPDATE evaluation SET fingerprint = ?2, conclusion = ?3, decision = ?4, snapshot = ?5,
                                   updated_at = ?6 WHERE id = ?1",
        )
        .bind(evaluation)
        .bind(fingerprint)
        .bind(conclusion)
        .bind(decision)
        .bind(snapshot)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        sqlx::query(
            "UPDATE evaluation SET snapshot = NULL
             WHERE id <> ?1 AND snapshot IS NOT NULL AND (repository, pull) =
                   (SELECT repository, pull FROM evaluation WHERE id = ?1)",
        )
        .bind(evaluation)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// The run is completed. An evaluation whose run was never created ends as well.
    pub async fn end_evaluation(
        &self,
        evaluation: &str,
        conclusion: &str,
    ) -> Result<(), StoreError> {
        self.update_evaluation(
            sqlx::query(
                "UPDATE evaluation SET state = 'done', conclusion = ?2, updated_at = ?3 WHERE id = ?1",
            )
            .bind(evaluation.to_owned())
            .bind(conclusion.to_owned())
            .bind(self.now_ms()),
        )
        .await
    }

    async fn update_evaluation(
        &self,
        query: sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        query.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Snapshot and decision, as JSON, of the pull request's newest evaluation that has them.
    pub async fn newest_decision(
        &self,
        repo: &RepoName,
        pull: PrNumber,
    ) -> Result<Option<(String, Option<String>)>, StoreError> {
        let row = sqlx::query(
            "SELECT decision, snapshot FROM evaluation
             WHERE repository = ?1 AND pull = ?2 AND decision IS NOT NULL
             ORDER BY created_at DESC, id DESC LIMIT 1",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| Ok((row.try_get("decision")?, row.try_get("snapshot")?)))
            .transpose()
    }

    pub async fn comment(
        &self,
        repo: &RepoName,
        pull: PrNumber,
    ) -> Result<Option<StoredComment>, StoreError> {
        let row = sqlx::query(
            "SELECT comment_id, node_id, body, minimized FROM pull_comment
             WHERE repository = ?1 AND pull = ?2",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .fetch_optional(self.reader())
        .await?;
        row.map(|row| {
            Ok(StoredComment {
                id: row.try_get::<i64, _>("comment_id")?.cast_unsigned(),
                node_id: row.try_get("node_id")?,
                body: row.try_get("body")?,
                minimized: row.try_get("minimized")?,
            })
        })
        .transpose()
    }

    /// `None`: the comment is gone.
    pub async fn put_comment(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        comment: Option<&StoredComment>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let query = match comment {
            Some(comment) => sqlx::query(
                "INSERT INTO pull_comment (repository, pull, comment_id, node_id, body, minimized)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (repository, pull) DO UPDATE SET
                     comment_id = excluded.comment_id, node_id = excluded.node_id,
                     body = excluded.body, minimized = excluded.minimized",
            )
            .bind(repo_key(repo))
            .bind(pull.0.cast_signed())
            .bind(comment.id.cast_signed())
            .bind(&comment.node_id)
            .bind(&comment.body)
            .bind(comment.minimized),
            None => sqlx::query("DELETE FROM pull_comment WHERE repository = ?1 AND pull = ?2")
                .bind(repo_key(repo))
                .bind(pull.0.cast_signed()),
        };
        query.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }
}
