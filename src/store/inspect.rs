//! A look at the database from outside: nothing is created, brought up to date or written.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

use crate::metrics::QueueLevels;

use super::levels::queue_levels;
use super::{BUSY, Clock as _, MIGRATIONS, StoreError, SystemClock, connect_options};

/// What is found where the database should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inspection {
    /// No file yet; the server makes one.
    Absent { folder: PathBuf, writable: bool },
    Present {
        file: PathBuf,
        tables: Tables,
        /// What SQLite's own check finds; empty when all is well.
        damage: Vec<String>,
        /// `None` where the tables are of another version.
        levels: Option<QueueLevels>,
    },
}

/// Whose tables they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    Current,
    /// The next start brings them up to date.
    Older,
    Newer,
}

/// Looks at the database of `database_url`.
pub async fn inspect(database_url: &str) -> Result<Inspection, StoreError> {
    let options = connect_options(database_url)?;
    let file = options.get_filename().to_owned();
    if !file.exists() {
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let writable = tempfile::tempfile_in(&folder).is_ok();
        return Ok(Inspection::Absent { folder, writable });
    }
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(&file)
        .read_only(true)
        .busy_timeout(BUSY);
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(BUSY)
        .connect_with(options)
        .await
        .map_err(|source| StoreError::Open {
            file: file.display().to_string(),
            source,
        })?;
    let found = look(&pool, &file).await;
    pool.close().await;
    found
}

async fn look(pool: &SqlitePool, file: &Path) -> Result<Inspection, StoreError> {
    let checked: Vec<String> = sqlx::query_scalar("PRAGMA quick_check(5)")
        .fetch_all(pool)
        .await?;
    let tables = tables(pool).await?;
    let levels = match tables {
        Tables::Current => {
            let now = SystemClock.now().timestamp_millis();
            Some(queue_levels(pool, now).await?)
        }
        Tables::Older | Tables::Newer => None,
    };
    Ok(Inspection::Present {
        file: file.to_owned(),
        tables,
        damage: checked.into_iter().filter(|line| line != "ok").collect(),
        levels,
    })
}

async fn tables(pool: &SqlitePool) -> Result<Tables, StoreError> {
    let has_versions: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')",
    )
    .fetch_one(pool)
    .await?;
    if !has_versions {
        return Ok(Tables::Older);
    }
    let found: i64 =
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success")
            .fetch_one(pool)
            .await?;
    let ours = MIGRATIONS.iter().map(|one| one.version).max().unwrap_or(0);
    Ok(match found.cmp(&ours) {
        std::cmp::Ordering::Less => Tables::Older,
        std::cmp::Ordering::Equal => Tables::Current,
        std::cmp::Ordering::Greater => Tables::Newer,
    })
}
