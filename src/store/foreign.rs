//! Check-runs of other Apps under our name, as events told of them.

use sqlx::{Row as _, Sqlite, Transaction};

use crate::model::{RepoName, Sha};

use super::cache::repo_key;
use super::{RunKey, Store, StoreError};

/// A check-run that is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRun {
    pub head: Sha,
    pub name: String,
    /// 0 where the forge did not say.
    pub app: u64,
    pub run: u64,
}

impl Store {
    /// Notes it; of one App's runs the newest.
    pub(super) async fn put_foreign_in(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        repo: &RepoName,
        run: &ForeignRun,
        now: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO foreign_run (repository, head, check_name, app, run, seen_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (repository, head, check_name, app) DO UPDATE SET
                 run = max(run, excluded.run), seen_at = excluded.seen_at",
        )
        .bind(repo_key(repo))
        .bind(run.head.as_str())
        .bind(&run.name)
        .bind(run.app.cast_signed())
        .bind(run.run.cast_signed())
        .bind(now)
        .execute(&mut **tx)
        .await?;
        Ok(())
    }

    /// The runs of other Apps than `ours` on the key's head under its name.
    pub async fn foreign_runs(
        &self,
        key: &RunKey,
        ours: u64,
    ) -> Result<Vec<ForeignRun>, StoreError> {
        sqlx::query(
            "SELECT app, run FROM foreign_run
             WHERE repository = ?1 AND head = ?2 AND check_name = ?3 AND app <> ?4 ORDER BY app",
        )
        .bind(repo_key(&key.repo))
        .bind(key.head.as_str())
        .bind(&key.check_name)
        .bind(ours.cast_signed())
        .fetch_all(self.reader())
        .await?
        .iter()
        .map(|row| {
            Ok(ForeignRun {
                head: key.head.clone(),
                name: key.check_name.clone(),
                app: row.try_get::<i64, _>("app")?.cast_unsigned(),
                run: row.try_get::<i64, _>("run")?.cast_unsigned(),
            })
        })
        .collect()
    }
}
