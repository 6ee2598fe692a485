//! Numbers worth watching (protocol 7): what pull requests void, how ledgers and corpora grow, how long
//! rows have been void.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Row as _;

use crate::gate::numbers::{OVERDUE, RowKey, is_void, keyed, void_by_date};
use crate::metrics::LedgerLevels;
use crate::model::{FreezeRow, FreezeState, PrNumber, RepoName};

use super::cache::repo_key;
use super::{Store, StoreError};

const DAY: i64 = 24 * 60 * 60 * 1_000;
/// The window of what is counted for 100 patches, and of growth: 30 days.
const WINDOW: i64 = 30 * DAY;

impl Store {
    /// The newest decision on a pull request voids so many freezes.
    pub async fn count_patch(
        &self,
        repo: &RepoName,
        pull: PrNumber,
        voided: usize,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO patch (repository, pull, voided, judged_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repository, pull) DO UPDATE SET
                 voided = excluded.voided, judged_at = excluded.judged_at",
        )
        .bind(repo_key(repo))
        .bind(pull.0.cast_signed())
        .bind(i64::try_from(voided).unwrap_or(i64::MAX))
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// What an audit found in a guarded branch: its rows, in the order of the decision, and the seeds of
    /// its corpus. Gives since when each void row is.
    pub async fn put_rows(
        &self,
        repo: &RepoName,
        branch: &str,
        rows: &[FreezeRow],
        corpus: Option<u64>,
    ) -> Result<BTreeMap<RowKey, DateTime<Utc>>, StoreError> {
        let (repo, now) = (repo_key(repo), self.now_ms());
        let known = self.void_rows(&repo, branch).await?;
        let void: BTreeMap<RowKey, DateTime<Utc>> = keyed(rows)
            .into_iter()
            .filter(|(_, row)| is_void(row))
            .map(|(key, row)| {
                let since = void_by_date(row).or_else(|| known.get(&key).copied());
                let since = since.unwrap_or_else(|| self.now());
                (key, since)
            })
            .collect();
        let of = |state| {
            let count = rows.iter().filter(|row| row.state == state).count();
            i64::try_from(count).unwrap_or(i64::MAX)
        };
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT OR REPLACE INTO ledger_size
                 (repository, branch, day, open, void, invalid, expired, unbound, corpus)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )
        .bind(&repo)
        .bind(branch)
        .bind(now / DAY)
        .bind(of(FreezeState::Open))
        .bind(of(FreezeState::Void))
        .bind(of(FreezeState::Invalid))
        .bind(of(FreezeState::Expired))
        .bind(of(FreezeState::Unbound))
        .bind(corpus.map(|seeds| i64::try_from(seeds).unwrap_or(i64::MAX)))
        .execute(&mut *tx)
        .await?;
        sqlx::query("DELETE FROM void_row WHERE repository = ?1 AND branch = ?2")
            .bind(&repo)
            .bind(branch)
            .execute(&mut *tx)
            .await?;
        for (key, since) in &void {
            sqlx::query(
                "INSERT INTO void_row (repository, branch, source, nodeid, nth, since)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .bind(&repo)
            .bind(branch)
            .bind(&key.source)
            .bind(&key.nodeid)
            .bind(key.nth)
            .bind(since.timestamp_millis())
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        Ok(void)
    }

    async fn void_rows(
        &self,
        repo: &str,
        branch: &str,
    ) -> Result<BTreeMap<RowKey, DateTime<Utc>>, StoreError> {
        let rows = sqlx::query(
            "SELECT source, nodeid, nth, since FROM void_row WHERE repository = ?1 AND branch = ?2",
        )
        .bind(repo)
        .bind(branch)
        .fetch_all(self.reader())
        .await?;
        rows.iter()
            .map(|row| {
                let key = RowKey {
                    source: row.try_get("source")?,
                    nodeid: row.try_get("nodeid")?,
                    nth: row.try_get("nth")?,
                };
                let since = DateTime::from_timestamp_millis(row.try_get("since")?);
                Ok((key, since.unwrap_or(DateTime::<Utc>::MIN_UTC)))
            })
            .collect()
    }

    /// What all of it comes to.
    pub async fn ledger_levels(&self) -> Result<LedgerLevels, StoreError> {
        let now = self.now_ms();
        let patches = sqlx::query(
            "SELECT count(*) AS patches, coalesce(sum(voided), 0) AS voided FROM patch
             WHERE judged_at > ?1",
        )
        .bind(now - WINDOW)
        .fetch_one(self.reader())
        .await?;
        let rows = sqlx::query(
            "SELECT coalesce(sum(open), 0) AS open, coalesce(sum(void), 0) AS void,
                 coalesce(sum(invalid), 0) AS invalid, coalesce(sum(expired), 0) AS expired,
                 coalesce(sum(unbound), 0) AS unbound
             FROM ledger_size AS newest
             WHERE day = (SELECT max(day) FROM ledger_size AS one
                 WHERE one.repository = newest.repository AND one.branch = newest.branch)",
        )
        .fetch_one(self.reader())
        .await?;
        let void = sqlx::query(
            "SELECT min(since) AS oldest, count(*) FILTER (WHERE since <= ?1) AS overdue
             FROM void_row",
        )
        .bind(now - OVERDUE.num_milliseconds())
        .fetch_one(self.reader())
        .await?;
        let oldest: Option<i64> = void.try_get("oldest")?;
        let age = oldest.map_or(0, |since| now.saturating_sub(since));
        let count = |row: &sqlx::sqlite::SqliteRow, name| {
            row.try_get::<i64, _>(name).map(i64::cast_unsigned)
        };
        let mut by_state = BTreeMap::new();
        for state in FreezeState::ALL {
            by_state.insert(state.name(), count(&rows, state.name())?);
        }
        Ok(LedgerLevels {
            patches: count(&patches, "patches")?,
            voided: count(&patches, "voided")?,
            rows: by_state,
            growth: self.growth(now).await?,
            oldest_void: Duration::from_millis(u64::try_from(age).unwrap_or(0)),
            overdue: count(&void, "overdue")?,
        })
    }

    /// By how much rows and seeds grew in the window, over the branches that keep a corpus.
    async fn growth(&self, now: i64) -> Result<Option<(i64, i64)>, StoreError> {
        let row = sqlx::query(
            "WITH size AS (
                 SELECT repository, branch, day, open + void + invalid + expired + unbound AS entries,
                     corpus
                 FROM ledger_size WHERE day >= ?1),
             ends AS (
                 SELECT repository, branch, min(day) AS first, max(day) AS last FROM size
                 GROUP BY repository, branch)
             SELECT sum(newest.entries - oldest.entries) AS entries,
                 sum(newest.corpus - coalesce(oldest.corpus, 0)) AS corpus
             FROM ends
             JOIN size AS oldest ON oldest.repository = ends.repository
                 AND oldest.branch = ends.branch AND oldest.day = ends.first
             JOIN size AS newest ON newest.repository = ends.repository
                 AND newest.branch = ends.branch AND newest.day = ends.last
             WHERE newest.corpus IS NOT NULL",
        )
        .bind((now - WINDOW) / DAY)
        .fetch_one(self.reader())
        .await?;
        let entries: Option<i64> = row.try_get("entries")?;
        let corpus: Option<i64> = row.try_get("corpus")?;
        Ok(entries.zip(corpus))
    }
}
