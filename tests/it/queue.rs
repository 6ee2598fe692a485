//! The queue on a real SQLite file: nothing is lost, nothing runs twice at once, attempts end.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod intake;
mod model;
mod retries;
mod runner;
mod sharing;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use frostline::model::{DeliveryId, InstallationId, PrNumber, PullKey};
use frostline::store::{
    Clock, Delivery, Lease, QueueCounts, QueueSettings, Received, RepoKey, Settled, Store, Task,
};
use frostline::work::{Handler, Outcome, Runner, RunnerSettings};
use tokio_util::sync::CancellationToken;

/// A clock that stands still until it is moved.
#[derive(Clone)]
struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(1_800_000_000_000)))
    }

    fn advance(&self, by: Duration) {
        self.0
            .fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    fn ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.ms()).unwrap()
    }
}

const LEASE: Duration = Duration::from_secs(60);
const BASE: Duration = Duration::from_secs(5);
const CAP: Duration = Duration::from_secs(20);
const MAX_ATTEMPTS: u32 = 4;

fn settings() -> QueueSettings {
    QueueSettings {
        lease: LEASE,
        max_attempts: MAX_ATTEMPTS,
        backoff_base: BASE,
        backoff_cap: CAP,
    }
}

struct Bench {
    _folder: tempfile::TempDir,
    url: String,
    clock: ManualClock,
    store: Store,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/frostline.db", folder.path().display());
        let clock = ManualClock::new();
        let store = open(&url, &clock).await;
        Self {
            _folder: folder,
            url,
            clock,
            store,
        }
    }

    /// Another handle on the file, as another process would have.
    async fn other(&self) -> Store {
        open(&self.url, &self.clock).await
    }
}

async fn open(url: &str, clock: &ManualClock) -> Store {
    Store::open_with(url, Arc::new(clock.clone()), settings())
        .await
        .expect("a store on a new file")
}

fn pull(number: u64) -> PullKey {
    PullKey {
        installation: InstallationId(1),
        repo: "acme/parser".parse().unwrap(),
        number: PrNumber(number),
    }
}

/// The task to bring a pull request up to date.
fn of(number: u64) -> Task {
    Task::from(&pull(number))
}

fn delivery(id: &str, number: u64, head: char) -> Delivery {
    Delivery {
        id: DeliveryId(id.to_owned()),
        event: "pull_request".to_owned(),
        action: "synchronize".to_owned(),
        tasks: vec![Task::Pull {
            pull: pull(number),
            head: Some(head.to_string().repeat(40).parse().unwrap()),
        }],
        pushed: None,
        foreign: None,
        rerun: None,
        ask: None,
    }
}

async fn claim(store: &Store) -> Lease {
    store.claim().await.unwrap().expect("a due job")
}

async fn raw(url: &str, sql: &'static str) {
    use sqlx::Connection as _;
    let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen"))
}
