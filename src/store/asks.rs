//! What people asked for in comments and by buttons.
//!
//! Invariants: an ask is stored in the transaction of its delivery, once for each comment; a line has a
//! result or waits for one; an ask is done once its sender was answered.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, Sqlite, Transaction};

use crate::model::{DeliveryId, PrNumber, RepoName, Sha};

use super::cache::repo_key;
use super::{Store, StoreError};

/// Where something was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskSource {
    Comment(u64),
    /// The delivery that told of the press.
    Button(DeliveryId),
}

/// What an event brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAsk {
    pub source: AskSource,
    pub actor: String,
    pub actor_id: u64,
    /// By the forge's clock; `None` where the event does not tell.
    pub created_at: Option<DateTime<Utc>>,
    /// As written; at least one.
    pub lines: Vec<String>,
}

/// What came of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskResult {
    Done,
    /// Its sender may not, or there is nothing that it could be done to.
    Refused,
    /// It is no command.
    Mistake,
    /// Too many came before it.
    Limited,
    /// Head or base tip moved since it was given.
    Moved,
    /// Its comment is gone.
    Withdrawn,
}

impl AskResult {
    const ALL: [Self; 6] = [
        Self::Done,
        Self::Refused,
        Self::Mistake,
        Self::Limited,
        Self::Moved,
        Self::Withdrawn,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Mistake => "mistake",
            Self::Limited => "limited",
            Self::Moved => "moved",
            Self::Withdrawn => "withdrawn",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.name() == name)
    }
}

/// One line of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedLine {
    pub line: String,
    /// `None` until it was carried out.
    pub result: Option<AskResult>,
    /// Markdown.
    pub answer: String,
}

/// A comment with commands, or a press of a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub id: i64,
    /// `None` for a button.
    pub comment: Option<u64>,
    pub actor: String,
    pub actor_id: u64,
    pub created_at: DateTime<Utc>,
    /// Head of the pull request when it was carried out.
    pub head: Option<Sha>,
    /// The answer belongs into the one comment; `None` until that is known.
    pub quiet: Option<bool>,
    /// A reply may have been posted already.
    pub replying: bool,
    pub done: bool,
    /// In their order.
    pub lines: Vec<AskedLine>,
}

/// On what an ask was carried out, and how it is answered.
#[derive(Debug, Clone, Copy)]
pub struct AskedOn<'a> {
    pub head: &'a Sha,
    pub base: Option<&'a Sha>,
    pub quiet: bool,
}

const COLUMNS: &str =
    "SELECT id, comment_id, actor, actor_id, created_at, head, quiet, replying, done
                       FROM ask ";

impl Store {
    /// Stores an ask in the delivery's transaction; one that is known already stays as it is.
    pub(super) async fn put_ask_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        (repo, pull): (&RepoName, PrNumber),
        ask: &NewAsk,
        now: i64,
    ) -> Result<(), StoreError> {
        let (source, comment) = match &ask.source {
            AskSource::Comment(id) => (format!("comment:{id}"), Some(id.cast_signed())),
            AskSource::Button(delivery) => (format!("button:{}", delivery.0), None),
        };
        let id: Option<i64> = sqlx::query_scalar(
            "INSERT INTO ask (repository, pull, source, comment_id, actor, actor_id, created_at, received_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (repository, source) DO NOTHING
             RETURNING id",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(source)
        .bind(comment)
        .bind(&ask.actor)
        .bind(ask.actor_id.cast_signed())
        .bind(ask.created_at.map_or(now, |at| at.timestamp_millis()))
        .bind(now)
        .fetch_optional(&mut **tx)
        .await?;
        let Some(id) = id else {
            return Ok(());
        };
        for (place, line) in (0_i64..).zip(&ask.lines) {
            sqlx::query("INSERT INTO command (ask, place, line) VALUES (?1, ?2, ?3)")
                .bind(id)
                .bind(place)
                .bind(line)
                .execute(&mut **tx)
                .await?;
        }
        Ok(())
    }

    /// What is not done yet of a pull request, oldest first.
    pub async fn open_asks(&self, repo: &RepoName, pull: PrNumber) -> Result<Vec<Ask>, StoreError> {
        let query =
            format!("{COLUMNS} WHERE repository = ?1 AND pull = ?2 AND done = 0 ORDER BY id");
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(repo_key(repo))
            .bind(pull.0.cast_signed())
            .fetch_all(self.reader())
            .await?;
        self.asks_of(rows).await
    }

    /// The newest asks that were carried out on `head` and are answered in the one comment; oldest first.
    pub async fn quiet_asks(
        &self,
        (repo, pull): (&RepoName, PrNumber),
        head: &Sha,
        most: u32,
    ) -> Result<Vec<Ask>, StoreError> {
        let query = format!(
            "{COLUMNS} WHERE repository = ?1 AND pull = ?2 AND head = ?3 AND quiet = 1
               AND EXISTS (SELECT 1 FROM command WHERE ask = ask.id AND answer <> '')
             ORDER BY id DESC LIMIT ?4"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(repo_key(repo))
            .bind(pull.0.cast_signed())
            .bind(head.as_str())
            .bind(most)
            .fetch_all(self.reader())
            .await?;
        let mut asks = self.asks_of(rows).await?;
        asks.reverse();
        Ok(asks)
    }

    /// Every ask of a pull request, oldest first.
    pub async fn asks(&self, repo: &RepoName, pull: PrNumber) -> Result<Vec<Ask>, StoreError> {
        let query = format!("{COLUMNS} WHERE repository = ?1 AND pull = ?2 ORDER BY id");
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(repo_key(repo))
            .bind(pull.0.cast_signed())
            .fetch_all(self.reader())
            .await?;
        self.asks_of(rows).await
    }

    async fn asks_of(&self, rows: Vec<SqliteRow>) -> Result<Vec<Ask>, StoreError> {
        let mut asks = Vec::with_capacity(rows.len());
        for row in rows {
            let id: i64 = row.try_get("id")?;
            let lines = sqlx::query(
                "SELECT line, result, answer FROM command WHERE ask = ?1 ORDER BY place",
            )
            .bind(id)
            .fetch_all(self.reader())
            .await?;
            let lines: Result<_, StoreError> = lines.iter().map(line_of).collect();
            let created_at: i64 = row.try_get("created_at")?;
            let head: Option<String> = row.try_get("head")?;
            asks.push(Ask {
                id,
                comment: row
                    .try_get::<Option<i64>, _>("comment_id")?
                    .map(i64::cast_unsigned),
                actor: row.try_get("actor")?,
                actor_id: row.try_get::<i64, _>("actor_id")?.cast_unsigned(),
                created_at: DateTime::from_timestamp_millis(created_at).unwrap_or_default(),
                head: head.and_then(|head| head.parse().ok()),
                quiet: row.try_get("quiet")?,
                replying: row.try_get("replying")?,
                done: row.try_get("done")?,
                lines: lines?,
            });
        }
        Ok(asks)
    }

    /// Commands of the hour before now in a repository, of one account or of all, that were carried out
    /// or refused; those that a limit held back do not count.
    pub async fn commands_of_the_hour(
        &self,
        repo: &RepoName,
        actor: Option<u64>,
    ) -> Result<usize, StoreError> {
        let count: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM ask JOIN command ON command.ask = ask.id
             WHERE repository = ?1 AND received_at > ?2 AND (?3 IS NULL OR actor_id = ?3)
               AND result IS NOT NULL AND result <> 'limited'",
        )
        .bind(repo_key(repo))
        .bind(self.now_ms() - 60 * 60 * 1_000)
        .bind(actor.map(u64::cast_signed))
        .fetch_one(self.reader())
        .await?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Keeps what came of lines of an ask, by their place. A line that has a result keeps it.
    pub async fn put_results(
        &self,
        ask: i64,
        on: AskedOn<'_>,
        results: &[(usize, AskResult, String)],
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        self.put_results_in(&mut tx, ask, on, results).await?;
        tx.commit().await?;
        Ok(())
    }

    pub(super) async fn put_results_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        ask: i64,
        on: AskedOn<'_>,
        results: &[(usize, AskResult, String)],
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE ask SET head = ?2, base = coalesce(?3, base), quiet = ?4 WHERE id = ?1",
        )
        .bind(ask)
        .bind(on.head.as_str())
        .bind(on.base.map(Sha::as_str))
        .bind(on.quiet)
        .execute(&mut **tx)
        .await?;
        for (place, result, answer) in results {
            sqlx::query(
                "UPDATE command SET result = ?3, answer = ?4
                 WHERE ask = ?1 AND place = ?2 AND result IS NULL",
            )
            .bind(ask)
            .bind(i64::try_from(*place).unwrap_or(i64::MAX))
            .bind(result.name())
            .bind(answer)
            .execute(&mut **tx)
            .await?;
        }
        Ok(())
    }

    /// A reply is about to be posted.
    pub async fn begin_reply(&self, ask: i64) -> Result<(), StoreError> {
        self.mark_ask("UPDATE ask SET replying = 1 WHERE id = ?1", ask)
            .await
    }

    /// Its sender was answered.
    pub async fn end_ask(&self, ask: i64) -> Result<(), StoreError> {
        self.mark_ask("UPDATE ask SET done = 1 WHERE id = ?1", ask)
            .await
    }

    async fn mark_ask(&self, query: &'static str, ask: i64) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(query).bind(ask).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }
}

fn line_of(row: &SqliteRow) -> Result<AskedLine, StoreError> {
    let result: Option<String> = row.try_get("result")?;
    let result = result
        .map(|name| {
            AskResult::of(&name).ok_or_else(|| {
                sqlx::Error::Decode(format!("no result of a command: {name}").into())
            })
        })
        .transpose()?;
    Ok(AskedLine {
        line: row.try_get("line")?,
        result,
        answer: row.try_get("answer")?,
    })
}
