//! What must survive a crash: deliveries, jobs, caches, what was published. SQLite.
//!
//! Invariants:
//! - What was acknowledged is on the disk: every commit is synced (`synchronous = FULL`).
//! - One connection of a process writes, always under `BEGIN IMMEDIATE`; several processes may share
//!   the file. Readers never wait for the writer (WAL).

mod asks;
mod branches;
mod cache;
mod clock;
mod deliveries;
mod evidence;
mod foreign;
mod groups;
mod heads;
mod inbox;
mod inspect;
mod installed;
mod levels;
mod names;
mod numbers;
mod pages;
mod proposals;
mod prune;
mod published;
mod queue;
mod requirements;
mod reruns;
mod reviews;
mod settle;
mod sources;
mod task;
mod tracking;

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};
use tokio::sync::Notify;

pub use asks::{Ask, AskResult, AskSource, AskedLine, AskedOn, NewAsk};
pub use branches::BranchState;
pub use cache::BlobFacts;
pub use clock::{Clock, SystemClock};
pub use deliveries::{AskedOf, Delivery, Received};
pub use evidence::Lifted;
pub use foreign::ForeignRun;
pub use heads::PullState;
pub use inspect::{Inspection, Tables, inspect};
pub use pages::PublishedDecision;
pub use proposals::NewProposal;
pub use published::{EndedEvaluation, OpenEvaluation, RunKey, StoredComment};
pub use queue::{Lease, QueueCounts, QueueSettings};
pub use reruns::Rerun;
pub use reviews::{Acceptance, Pushed, Shown};
pub use settle::Settled;
pub use task::{RepoKey, Task};
pub use tracking::TrackingIssue;

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("src/store/migrations");

/// How long a statement waits for another process's write before it fails. Below the ten seconds
/// in which the forge wants an answer to a webhook.
const BUSY: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("database_url {url:?}: {why}; write sqlite://FILE, for example sqlite://frostline.db")]
    Url { url: String, why: String },
    #[error(
        "cannot open the database {file}: {source}; check that its folder exists and can be written"
    )]
    Open { file: String, source: sqlx::Error },
    #[error(
        "cannot bring the database {file} to this version's tables: {source}; a newer frostline may have written it"
    )]
    Migrate {
        file: String,
        source: Box<sqlx::migrate::MigrateError>,
    },
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// That of a transaction that several callers shared.
    #[error("{0}")]
    Shared(Arc<StoreError>),
}

/// A handle on the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    writer: SqlitePool,
    reader: SqlitePool,
    clock: Arc<dyn Clock>,
    queue: QueueSettings,
    enqueued: Notify,
    inbox: inbox::Inbox,
}

impl Store {
    /// Opens, and if need be creates, the SQLite file of `database_url` (`sqlite://FILE`) and brings
    /// its tables up to date.
    pub async fn open(database_url: &str) -> Result<Self, StoreError> {
        Self::open_with(
            database_url,
            Arc::new(SystemClock),
            QueueSettings::default(),
        )
        .await
    }

    /// [`Store::open`] with another clock and other queue settings.
    pub async fn open_with(
        database_url: &str,
        clock: Arc<dyn Clock>,
        queue: QueueSettings,
    ) -> Result<Self, StoreError> {
        let options = connect_options(database_url)?;
        // Two processes that start at once on a new file get in each other's way while one switches
        // the journal mode or creates the tables; the loser tries again.
        let mut tries = 0;
        let (writer, reader) = loop {
            match open_pools(&options).await {
                Ok(pools) => break pools,
                Err(_) if tries < 10 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(20 * tries)).await;
                }
                Err(error) => return Err(error),
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                writer,
                reader,
                clock,
                queue,
                enqueued: Notify::new(),
                inbox: inbox::Inbox::default(),
            }),
        })
    }

    /// Closes every connection; what is being written is finished first.
    pub async fn close(&self) {
        self.inner.reader.close().await;
        self.inner.writer.close().await;
    }

    /// Can the database be read?
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query_scalar::<_, i64>("SELECT value FROM fence")
            .fetch_one(self.reader())
            .await?;
        Ok(())
    }

    /// For statements that only read.
    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.inner.reader
    }

    /// A transaction that holds the write lock from its start. Dropped without a commit it is undone.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        Ok(self.inner.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// The store's clock.
    pub fn now(&self) -> chrono::DateTime<chrono::Utc> {
        self.inner.clock.now()
    }

    /// The store's clock, as the tables keep it: Unix milliseconds.
    pub(crate) fn now_ms(&self) -> i64 {
        self.inner.clock.now().timestamp_millis()
    }
}

fn connect_options(database_url: &str) -> Result<SqliteConnectOptions, StoreError> {
    let refuse = |why: &str| StoreError::Url {
        url: database_url.to_owned(),
        why: why.to_owned(),
    };
    if !database_url.starts_with("sqlite:") {
        return Err(refuse("this version keeps its data in SQLite only"));
    }
    if database_url.contains(":memory:") || database_url.contains("mode=memory") {
        return Err(refuse("a database in memory would lose acknowledged work"));
    }
    let options =
        SqliteConnectOptions::from_str(database_url).map_err(|error| refuse(&error.to_string()))?;
    Ok(options
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // NORMAL would lose the last commits when the power fails, and those were acknowledged.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY))
}

async fn open_pools(
    options: &SqliteConnectOptions,
) -> Result<(SqlitePool, SqlitePool), StoreError> {
    let file = || options.get_filename().display().to_string();
    let pool = |size| {
        SqlitePoolOptions::new()
            .max_connections(size)
            .min_connections(1)
            .acquire_timeout(BUSY)
            // A file does not hang up.
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
    };
    let writer = pool(1)
        .connect_with(options.clone())
        .await
        .map_err(|source| StoreError::Open {
            file: file(),
            source,
        })?;
    MIGRATIONS
        .run(&writer)
        .await
        .map_err(|source| StoreError::Migrate {
            file: file(),
            source: Box::new(source),
        })?;
    let reader = pool(4)
        .connect_with(options.clone())
        .await
        .map_err(|source| StoreError::Open {
            file: file(),
            source,
        })?;
    Ok((writer, reader))
}
