//! The queue on a real SQLite file: nothing is lost, nothing runs twice at once, attempts end.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use frostline::model::{DeliveryId, InstallationId, PrNumber, PullKey};
use frostline::store::{
    Clock, Delivery, Lease, QueueCounts, QueueSettings, Received, RepoKey, Settled, Store, Task,
};
use frostline::work::{Handler, Outcome, Runner, RunnerSettings};
use proptest::prelude::*;
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

#[tokio::test]
async fn a_burst_of_events_is_one_job_with_the_newest_head() {
    let bench = Bench::new().await;
    for (n, head) in ('a'..='f').enumerate() {
        let id = format!("d{n}");
        let received = bench.store.receive(&delivery(&id, 7, head)).await.unwrap();
        assert_eq!(received, Received::New);
    }
    let lease = claim(&bench.store).await;
    assert_eq!(lease.task.number(), Some(PrNumber(7)));
    assert_eq!(lease.task.head().unwrap().as_str(), "f".repeat(40));
    assert_eq!(lease.delivery, Some(DeliveryId("d5".to_owned())));
    assert_eq!(bench.store.ack(&lease).await.unwrap(), Settled::Done);
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn names_of_a_repository_in_other_letters_are_one_key() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let mut shouted = pull(7);
    shouted.repo = "ACME/Parser".parse().unwrap();
    shouted.installation = InstallationId(2);
    bench.store.enqueue(&shouted).await.unwrap();
    assert_eq!(bench.store.queue_counts().await.unwrap().queued, 1);
}

#[tokio::test]
async fn jobs_of_other_kinds_are_other_jobs_and_coalesce_by_their_own_keys() {
    let bench = Bench::new().await;
    let head = |of: char| Task::Head {
        repo: RepoKey {
            installation: InstallationId(1),
            repo: "acme/parser".parse().unwrap(),
        },
        head: of.to_string().repeat(40).parse().unwrap(),
    };
    for task in [of(7), head('a'), head('b'), head('a'), of(7)] {
        bench
            .store
            .enqueue_task(task, Duration::ZERO)
            .await
            .unwrap();
    }
    let mut taken = Vec::new();
    while let Some(lease) = bench.store.claim().await.unwrap() {
        taken.push(lease.task.clone());
        bench.store.ack(&lease).await.unwrap();
    }
    assert_eq!(taken, [of(7), head('a'), head('b')]);
}

#[tokio::test]
async fn a_delivery_may_ask_for_several_tasks() {
    let bench = Bench::new().await;
    let mut two = delivery("d", 7, 'a');
    two.tasks.push(of(8));
    bench.store.receive(&two).await.unwrap();
    for number in [7, 8] {
        let lease = claim(&bench.store).await;
        assert_eq!(lease.task.number(), Some(PrNumber(number)));
        assert_eq!(lease.delivery, Some(DeliveryId("d".to_owned())));
    }
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn a_task_for_later_waits_and_is_not_put_off_by_a_later_one() {
    let bench = Bench::new().await;
    let minutes = |n: u64| Duration::from_secs(60 * n);
    bench.store.enqueue_task(of(7), minutes(5)).await.unwrap();
    bench.store.enqueue_task(of(7), minutes(9)).await.unwrap();
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.clock.advance(minutes(5));
    assert_eq!(claim(&bench.store).await.task, of(7));
    // An event makes what waits due at once.
    bench.store.enqueue_task(of(8), minutes(5)).await.unwrap();
    bench.store.receive(&delivery("d", 8, 'a')).await.unwrap();
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(8)));
}

#[tokio::test]
async fn a_delivery_seen_before_is_told_and_enqueued_all_the_same() {
    let bench = Bench::new().await;
    let first = delivery("d", 7, 'a');
    assert_eq!(bench.store.receive(&first).await.unwrap(), Received::New);
    let lease = claim(&bench.store).await;
    bench.store.ack(&lease).await.unwrap();
    assert_eq!(
        bench.store.receive(&first).await.unwrap(),
        Received::Duplicate
    );
    // The head that it told of may be an old one by now: the forge need not show it.
    assert_eq!(claim(&bench.store).await.task, Task::from(&pull(7)));
}

#[tokio::test]
async fn an_old_delivery_sent_again_does_not_replace_a_newer_one() {
    let bench = Bench::new().await;
    let old = delivery("old", 7, 'a');
    bench.store.receive(&old).await.unwrap();
    bench.store.receive(&delivery("new", 7, 'b')).await.unwrap();
    bench.store.receive(&old).await.unwrap();
    let lease = claim(&bench.store).await;
    assert_eq!(lease.delivery, Some(DeliveryId("new".to_owned())));
}

#[tokio::test]
async fn while_a_job_runs_events_make_one_follow_up_that_waits_for_its_end() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let first = claim(&bench.store).await;
    for (id, head) in [("d2", 'b'), ("d3", 'c')] {
        bench.store.receive(&delivery(id, 7, head)).await.unwrap();
    }
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.store.enqueue(&pull(8)).await.unwrap();
    assert_eq!(
        claim(&bench.store).await.task,
        of(8),
        "another pull request does not wait"
    );

    bench.store.ack(&first).await.unwrap();
    let second = claim(&bench.store).await;
    assert_eq!(second.delivery, Some(DeliveryId("d3".to_owned())));
    assert_ne!(second.job_id, first.job_id);
    assert!(second.fence > first.fence);
    bench.store.ack(&second).await.unwrap();
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn a_failed_attempt_waits_for_the_backoff_which_doubles_up_to_its_cap() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    for (attempt, full) in [(1, BASE), (2, BASE * 2), (3, CAP)] {
        let lease = claim(&bench.store).await;
        assert_eq!(lease.attempt, attempt);
        let settled = bench.store.retry(&lease, Duration::ZERO, "x").await;
        let Settled::Queued(at) = settled.unwrap() else {
            panic!("attempt {attempt} is not the last");
        };
        let wait = (at - bench.clock.now()).to_std().unwrap();
        assert!(wait >= full / 2 && wait <= full, "{attempt}: {wait:?}");
        assert_eq!(bench.store.claim().await.unwrap(), None, "not before");
        bench.clock.advance(wait);
    }
    let last = claim(&bench.store).await;
    let settled = bench.store.retry(&last, Duration::ZERO, "x").await.unwrap();
    assert_eq!(settled, Settled::Dead);
    bench.clock.advance(CAP * 10);
    assert_eq!(bench.store.claim().await.unwrap(), None);
    assert_eq!(bench.store.queue_counts().await.unwrap().dead, 1);
}

#[tokio::test]
async fn the_forges_floor_is_kept_when_a_new_event_comes() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let lease = claim(&bench.store).await;
    let floor = Duration::from_secs(3600);
    bench
        .store
        .retry(&lease, floor, "rate limit")
        .await
        .unwrap();
    bench.store.receive(&delivery("d2", 7, 'b')).await.unwrap();
    bench.clock.advance(floor - Duration::from_millis(1));
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.clock.advance(Duration::from_millis(1));
    assert_eq!(claim(&bench.store).await.attempt, 1);
}

#[tokio::test]
async fn a_new_event_does_not_wait_for_the_backoff() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let lease = claim(&bench.store).await;
    bench
        .store
        .retry(&lease, Duration::ZERO, "x")
        .await
        .unwrap();
    bench.store.receive(&delivery("d2", 7, 'b')).await.unwrap();
    let lease = claim(&bench.store).await;
    assert_eq!(lease.attempt, 1, "it has all its attempts again");
}

#[tokio::test]
async fn a_job_that_fails_while_its_follow_up_waits_is_superseded() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let first = claim(&bench.store).await;
    bench.store.receive(&delivery("d2", 7, 'b')).await.unwrap();
    let floor = Duration::from_secs(600);
    let settled = bench.store.retry(&first, floor, "rate limit").await;
    assert_eq!(settled.unwrap(), Settled::Superseded);
    assert_eq!(
        bench.store.claim().await.unwrap(),
        None,
        "the floor is the follow-up's too"
    );
    bench.clock.advance(floor);
    let second = claim(&bench.store).await;
    assert_eq!(second.delivery, Some(DeliveryId("d2".to_owned())));
}

#[tokio::test]
async fn a_job_that_kills_its_process_ends_as_dead() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let mut url_store = bench.other().await;
    for attempt in 1..=MAX_ATTEMPTS {
        let lease = claim(&url_store).await;
        assert_eq!(lease.attempt, attempt);
        // The process is gone: nothing was said about the job.
        url_store.close().await;
        url_store = bench.other().await;
        assert_eq!(
            url_store.claim().await.unwrap(),
            None,
            "its lease still runs"
        );
        bench.clock.advance(LEASE);
        assert_eq!(url_store.claim().await.unwrap(), None, "its backoff runs");
        bench.clock.advance(CAP);
    }
    assert_eq!(url_store.claim().await.unwrap(), None);
    let counts = url_store.queue_counts().await.unwrap();
    let dead = QueueCounts {
        dead: 1,
        ..QueueCounts::default()
    };
    assert_eq!(counts, dead);
    // It is not in the way of the next event.
    url_store.enqueue(&pull(7)).await.unwrap();
    assert_eq!(claim(&url_store).await.attempt, 1);
}

#[tokio::test]
async fn whoever_lost_the_lease_changes_nothing() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let lost = claim(&bench.store).await;
    assert!(bench.store.holds(&lost).await.unwrap());
    bench.clock.advance(LEASE);
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.clock.advance(CAP);
    let held = claim(&bench.store).await;
    assert_eq!(held.job_id, lost.job_id);

    let store = &bench.store;
    assert!(!store.holds(&lost).await.unwrap());
    assert!(!store.extend(&lost).await.unwrap());
    assert_eq!(store.ack(&lost).await.unwrap(), Settled::Lost);
    let retried = store.retry(&lost, Duration::ZERO, "x").await.unwrap();
    assert_eq!(retried, Settled::Lost);
    assert_eq!(store.dead(&lost, "x").await.unwrap(), Settled::Lost);
    assert_eq!(store.release(&lost).await.unwrap(), Settled::Lost);

    assert!(store.holds(&held).await.unwrap());
    assert_eq!(store.ack(&held).await.unwrap(), Settled::Done);
}

#[tokio::test]
async fn a_lost_lease_makes_the_pull_request_be_looked_at_once_more_but_not_for_ever() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let lost = claim(&bench.store).await;
    bench.clock.advance(LEASE + CAP);
    bench.store.claim().await.unwrap();
    bench.clock.advance(CAP);
    let held = claim(&bench.store).await;
    bench.store.requeue_lost(&lost).await.unwrap();
    bench.store.ack(&held).await.unwrap();
    let again = claim(&bench.store).await;
    assert_eq!(again.attempt, lost.attempt + 1, "attempts go on counting");
    bench.store.ack(&again).await.unwrap();

    let spent = Lease {
        attempt: MAX_ATTEMPTS,
        ..lost
    };
    bench.store.requeue_lost(&spent).await.unwrap();
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn an_extended_lease_does_not_expire() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let lease = claim(&bench.store).await;
    for _ in 0..3 {
        bench.clock.advance(LEASE - Duration::from_millis(1));
        assert!(bench.store.extend(&lease).await.unwrap());
        assert_eq!(bench.store.claim().await.unwrap(), None);
    }
    assert_eq!(bench.store.ack(&lease).await.unwrap(), Settled::Done);
}

#[tokio::test]
async fn a_payload_of_another_version_does_not_stop_the_queue() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(1)).await.unwrap();
    raw(&bench.url, "UPDATE job SET payload = '{}'").await;
    bench.clock.advance(Duration::from_millis(1));
    bench.store.enqueue(&pull(2)).await.unwrap();
    assert_eq!(claim(&bench.store).await.task, of(2));
    assert_eq!(bench.store.queue_counts().await.unwrap().dead, 1);
}

/// Deliveries that wait while another process writes. The first of them is the one that would store all;
/// `broken_off` aborts it.
async fn deliveries_behind_a_writer(broken_off: bool) {
    use sqlx::Connection as _;
    let bench = Bench::new().await;
    let mut writer = sqlx::SqliteConnection::connect(&bench.url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut writer)
        .await
        .unwrap();
    let mut waiting = Vec::new();
    for number in 1..=20_u64 {
        let store = bench.store.clone();
        let delivery = delivery(&format!("d{number}"), number % 5 + 1, 'a');
        waiting.push(tokio::spawn(async move { store.receive(&delivery).await }));
        tokio::task::yield_now().await;
    }
    if broken_off {
        waiting[0].abort();
    }
    sqlx::query("COMMIT").execute(&mut writer).await.unwrap();
    for (at, receive) in waiting.into_iter().enumerate() {
        match soon("an answer", receive).await {
            Ok(received) => assert_eq!(received.unwrap(), Received::New, "{at}"),
            Err(error) => assert!(
                error.is_cancelled() && broken_off && at == 0,
                "{at}: {error}"
            ),
        }
    }
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM delivery WHERE id <> 'd1'")
        .fetch_one(&mut writer)
        .await
        .unwrap();
    assert_eq!(stored, 19);
    assert_eq!(bench.store.queue_counts().await.unwrap().queued, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_come_together_are_all_stored() {
    deliveries_behind_a_writer(false).await;
}

/// A clock that tells another time whenever it is asked.
#[derive(Default)]
struct Counting(AtomicI64);

impl Clock for Counting {
    fn now(&self) -> DateTime<Utc> {
        let at = self.0.fetch_add(1, Ordering::SeqCst);
        DateTime::from_timestamp_millis(1_700_000_000_000 + at).unwrap()
    }
}

/// One transaction asks the clock once, so that as many times as were told are as many commits.
#[tokio::test]
async fn deliveries_that_wait_together_are_stored_by_one_commit() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/one.db", folder.path().display());
    let clock = Arc::new(Counting::default());
    let store = Store::open_with(&url, clock, settings()).await.unwrap();
    let mut raw = sqlx::SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut raw)
        .await
        .unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 1..=20_u64 {
        let (store, delivery) = (store.clone(), delivery(&format!("d{number}"), number, 'a'));
        waiting.spawn(async move { store.receive(&delivery).await });
        tokio::task::yield_now().await;
    }
    sqlx::query("COMMIT").execute(&mut raw).await.unwrap();
    for received in soon("the answers", waiting.join_all()).await {
        assert_eq!(received.unwrap(), Received::New);
    }
    let commits: i64 = sqlx::query_scalar("SELECT count(DISTINCT received_at) FROM delivery")
        .fetch_one(&mut raw)
        .await
        .unwrap();
    assert_eq!(commits, 2, "the first alone, and then all that waited");
}

#[tokio::test]
async fn of_deliveries_with_one_id_that_come_together_one_is_new() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/one.db", folder.path().display());
    let store = Store::open(&url).await.unwrap();
    let mut raw = sqlx::SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut raw)
        .await
        .unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (store, delivery) = (store.clone(), delivery("the same", 1, 'a'));
        waiting.spawn(async move { store.receive(&delivery).await });
    }
    tokio::task::yield_now().await;
    sqlx::query("COMMIT").execute(&mut raw).await.unwrap();
    let received = soon("the answers", waiting.join_all()).await;
    let new = received
        .into_iter()
        .filter(|one| matches!(one, Ok(Received::New)));
    assert_eq!(new.count(), 1);
    let times: Vec<i64> = sqlx::query_scalar("SELECT times FROM delivery")
        .fetch_all(&mut raw)
        .await
        .unwrap();
    assert_eq!(times, [10]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_broken_off_takes_no_other_with_it() {
    for _ in 0..20 {
        deliveries_behind_a_writer(true).await;
    }
}

async fn raw(url: &str, sql: &'static str) {
    use sqlx::Connection as _;
    let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
}

#[tokio::test]
async fn old_rows_are_deleted_and_dead_jobs_kept_for_a_month() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d", 1, 'a')).await.unwrap();
    let done = claim(&bench.store).await;
    bench.store.ack(&done).await.unwrap();
    bench.store.enqueue(&pull(2)).await.unwrap();
    let lease = claim(&bench.store).await;
    bench.store.dead(&lease, "x").await.unwrap();
    bench.store.enqueue(&pull(3)).await.unwrap();
    assert_eq!(bench.store.prune().await.unwrap(), 0);
    let days = |n: u64| Duration::from_secs(n * 24 * 60 * 60);
    bench.clock.advance(days(8));
    assert_eq!(
        bench.store.prune().await.unwrap(),
        1,
        "the job that is done"
    );
    let counts = bench.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.dead, counts.done), (1, 1, 0));
    bench.clock.advance(days(23));
    assert_eq!(
        bench.store.prune().await.unwrap(),
        2,
        "a job and a delivery"
    );
    let counts = bench.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.dead, counts.done), (1, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_share_the_file_take_each_job_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shared.db", folder.path().display());
    let clock = ManualClock::new();
    // All of them find no file, and create it at the same moment.
    let mut opened = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (url, clock) = (url.clone(), clock.clone());
        opened.spawn(async move { open(&url, &clock).await });
    }
    let stores = opened.join_all().await;
    for number in 1..=40 {
        stores[0].enqueue(&pull(number)).await.unwrap();
    }
    let mut takers = tokio::task::JoinSet::new();
    for store in stores {
        takers.spawn(async move {
            let mut taken = Vec::new();
            while let Some(lease) = store.claim().await.unwrap() {
                taken.push(lease.task.number().unwrap().0);
                assert_eq!(store.ack(&lease).await.unwrap(), Settled::Done);
            }
            taken
        });
    }
    let mut taken: Vec<u64> = takers.join_all().await.concat();
    taken.sort_unstable();
    assert_eq!(taken, (1..=40).collect::<Vec<_>>());
}

// ---- The runner ----

/// Gives the outcomes of its list, one a run, then `Done`.
struct Scripted {
    outcomes: std::sync::Mutex<Vec<Outcome>>,
    runs: Arc<AtomicUsize>,
}

impl Handler for Scripted {
    async fn run(&self, _lease: &Lease) -> Outcome {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.outcomes.lock().unwrap().pop().unwrap_or(Outcome::Done)
    }
}

#[tokio::test]
async fn the_runner_settles_a_job_as_its_handler_says() {
    let bench = Bench::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = Scripted {
        outcomes: std::sync::Mutex::new(vec![
            Outcome::Dead { why: "x".into() },
            Outcome::Retry {
                after: Duration::from_secs(100),
                why: "x".into(),
            },
        ]),
        runs: Arc::clone(&runs),
    };
    let runner = Runner::new(bench.store.clone(), handler, RunnerSettings::default());
    assert!(!runner.step().await.unwrap(), "nothing is due");

    bench.store.enqueue(&pull(1)).await.unwrap();
    assert_eq!(runner.drain().await.unwrap(), 1);
    bench.clock.advance(Duration::from_secs(100));
    assert_eq!(runner.drain().await.unwrap(), 1);
    assert_eq!(bench.store.queue_counts().await.unwrap().dead, 1);

    bench.store.enqueue(&pull(2)).await.unwrap();
    assert_eq!(runner.drain().await.unwrap(), 1);
    assert_eq!(bench.store.queue_counts().await.unwrap().done, 1);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

struct Panics;

impl Handler for Panics {
    async fn run(&self, lease: &Lease) -> Outcome {
        assert!(lease.attempt > 1, "the first attempt panics");
        Outcome::Done
    }
}

#[tokio::test]
async fn a_panic_is_one_failed_attempt() {
    let bench = Bench::new().await;
    let runner = Runner::new(bench.store.clone(), Panics, RunnerSettings::default());
    bench.store.enqueue(&pull(1)).await.unwrap();
    assert_eq!(runner.drain().await.unwrap(), 1);
    assert_eq!(bench.store.queue_counts().await.unwrap().queued, 1);
    bench.clock.advance(CAP);
    assert_eq!(runner.drain().await.unwrap(), 1);
    assert_eq!(bench.store.queue_counts().await.unwrap().done, 1);
}

/// Never ends; tells when it starts and when it is dropped.
struct Hangs {
    started: tokio::sync::mpsc::UnboundedSender<Lease>,
    dropped: tokio::sync::mpsc::UnboundedSender<()>,
}

struct TellsDrop(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for TellsDrop {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

impl Handler for Hangs {
    async fn run(&self, lease: &Lease) -> Outcome {
        let _tells = TellsDrop(self.dropped.clone());
        self.started.send(lease.clone()).unwrap();
        std::future::pending().await
    }
}

struct Hanging {
    started: tokio::sync::mpsc::UnboundedReceiver<Lease>,
    dropped: tokio::sync::mpsc::UnboundedReceiver<()>,
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

fn hang(store: &Store, settings: RunnerSettings) -> Hanging {
    let (started, starts) = tokio::sync::mpsc::unbounded_channel();
    let (dropped, drops) = tokio::sync::mpsc::unbounded_channel();
    let shutdown = CancellationToken::new();
    let runner = Runner::new(store.clone(), Hangs { started, dropped }, settings);
    Hanging {
        started: starts,
        dropped: drops,
        task: tokio::spawn(runner.run(shutdown.clone())),
        shutdown,
    }
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen"))
}

#[tokio::test]
async fn a_shutdown_gives_back_what_does_not_end_and_counts_no_attempt() {
    let bench = Bench::new().await;
    let settings = RunnerSettings {
        grace: Duration::from_millis(1),
        ..RunnerSettings::default()
    };
    let mut hanging = hang(&bench.store, settings);
    bench.store.enqueue(&pull(1)).await.unwrap();
    soon("the start", hanging.started.recv()).await.unwrap();
    hanging.shutdown.cancel();
    soon("the end", hanging.task).await.unwrap();
    soon("the drop", hanging.dropped.recv()).await.unwrap();
    assert_eq!(claim(&bench.store).await.attempt, 1);
}

#[tokio::test]
async fn a_handler_whose_lease_is_lost_is_broken_off_and_its_job_queued_again() {
    let bench = Bench::new().await;
    let quick = QueueSettings {
        // Its third is how often the lease is extended.
        lease: Duration::from_millis(300),
        ..settings()
    };
    let store = Store::open_with(&bench.url, Arc::new(bench.clock.clone()), quick)
        .await
        .unwrap();
    let mut hanging = hang(&store, RunnerSettings::default());
    store.enqueue(&pull(1)).await.unwrap();
    let lost = soon("the start", hanging.started.recv()).await.unwrap();
    // As if the process had stood still for so long that another took the job and did it.
    bench.clock.advance(Duration::from_secs(1));
    bench.store.claim().await.unwrap();
    assert!(!bench.store.holds(&lost).await.unwrap());
    soon("the drop", hanging.dropped.recv()).await.unwrap();
    hanging.shutdown.cancel();
    soon("the end", hanging.task).await.unwrap();
    bench.clock.advance(CAP);
    assert_eq!(claim(&bench.store).await.task, of(1));
}

#[tokio::test]
async fn a_running_handlers_lease_is_kept_alive() {
    let bench = Bench::new().await;
    let lease_time = Duration::from_millis(300);
    let quick = QueueSettings {
        lease: lease_time,
        ..settings()
    };
    let store = Store::open_with(&bench.url, Arc::new(bench.clock.clone()), quick)
        .await
        .unwrap();
    let mut hanging = hang(&store, RunnerSettings::default());
    store.enqueue(&pull(1)).await.unwrap();
    let lease = soon("the start", hanging.started.recv()).await.unwrap();
    for _ in 0..3 {
        bench.clock.advance(lease_time - Duration::from_millis(1));
        let now = bench.clock.ms();
        soon("a longer lease", async {
            while lease_until(&bench.url).await < now + 300 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    assert!(bench.store.holds(&lease).await.unwrap());
    hanging.shutdown.cancel();
    hanging.task.abort();
}

async fn lease_until(url: &str) -> i64 {
    use sqlx::Connection as _;
    let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
    let until: Option<i64> = sqlx::query_scalar("SELECT lease_until FROM job")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    until.expect("a running job")
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_broken_off_and_tried_again() {
    let bench = Bench::new().await;
    let settings = RunnerSettings {
        time_limit: Duration::from_millis(1),
        ..RunnerSettings::default()
    };
    let (started, _starts) = tokio::sync::mpsc::unbounded_channel();
    let (dropped, mut drops) = tokio::sync::mpsc::unbounded_channel();
    let runner = Runner::new(bench.store.clone(), Hangs { started, dropped }, settings);
    bench.store.enqueue(&pull(1)).await.unwrap();
    assert!(soon("the end", runner.step()).await.unwrap());
    assert_eq!(drops.recv().await, Some(()));
    bench.clock.advance(CAP);
    assert_eq!(claim(&bench.store).await.attempt, 2);
}

// ---- Random interleavings against a model ----

#[derive(Debug, Clone)]
enum Op {
    Receive { number: u64, fresh: bool },
    Claim,
    Ack(usize),
    Retry(usize, u64),
    Dead(usize),
    Release(usize),
    Extend(usize),
    Advance(u64),
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1_u64..=3, prop::bool::weighted(0.8)).prop_map(|(number, fresh)| Op::Receive { number, fresh }),
        6 => Just(Op::Claim),
        2 => (0_usize..8).prop_map(Op::Ack),
        3 => (0_usize..8, 0_u64..40).prop_map(|(i, after)| Op::Retry(i, after)),
        1 => (0_usize..8).prop_map(Op::Dead),
        1 => (0_usize..8).prop_map(Op::Release),
        1 => (0_usize..8).prop_map(Op::Extend),
        4 => (1_u64..70).prop_map(Op::Advance),
        1 => Just(Op::Reopen),
    ]
}

/// A queued job of the model. Its due time is known but for the jitter.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    attempts: u32,
    earliest: i64,
    latest: i64,
    floor: i64,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    fence: i64,
    attempts: u32,
    until: i64,
}

#[derive(Debug, Default)]
struct Model {
    waiting: BTreeMap<u64, Waiting>,
    running: BTreeMap<u64, Running>,
    last_fence: i64,
    dead: u64,
}

impl Model {
    fn receive(&mut self, number: u64, now: i64) {
        let job = self.waiting.entry(number).or_insert(Waiting {
            attempts: 0,
            earliest: now,
            latest: now,
            floor: 0,
        });
        job.attempts = 0;
        job.earliest = job.floor.max(job.earliest.min(now));
        job.latest = job.floor.max(job.latest.min(now));
    }

    /// Takes a job out of `running` after an attempt that did not succeed.
    fn leave(&mut self, number: u64, after: i64, count: bool, now: i64) -> &'static str {
        let job = self.running.remove(&number).expect("a running job");
        let floor = now + after;
        if let Some(follow_up) = self.waiting.get_mut(&number) {
            follow_up.floor = follow_up.floor.max(floor);
            follow_up.earliest = follow_up.earliest.max(floor);
            follow_up.latest = follow_up.latest.max(floor);
            return "superseded";
        }
        if count && job.attempts >= MAX_ATTEMPTS {
            self.dead += 1;
            return "dead";
        }
        let full = (BASE * 2_u32.pow(job.attempts - 1)).min(CAP);
        let full = if count {
            i64::try_from(full.as_millis()).unwrap()
        } else {
            0
        };
        let waiting = Waiting {
            attempts: job.attempts - u32::from(!count),
            earliest: floor.max(now + full / 2),
            latest: floor.max(now + full),
            floor,
        };
        self.waiting.insert(number, waiting);
        "queued"
    }

    fn expire(&mut self, now: i64) {
        let expired: Vec<u64> = self
            .running
            .iter()
            .filter(|(_, job)| job.until <= now)
            .map(|(number, _)| *number)
            .collect();
        for number in expired {
            self.leave(number, 0, true, now);
        }
    }

    fn claim(&mut self, claimed: Option<&Lease>, now: i64) {
        self.expire(now);
        let Some(lease) = claimed else {
            for (number, job) in &self.waiting {
                assert!(
                    self.running.contains_key(number) || job.latest > now,
                    "{number} is due and was not given out"
                );
            }
            return;
        };
        let number = lease.task.number().unwrap().0;
        assert!(!self.running.contains_key(&number), "{number} runs already");
        let job = self.waiting.remove(&number).expect("it waited");
        assert!(job.earliest <= now, "{number} was given out too early");
        assert_eq!(lease.attempt, job.attempts + 1);
        assert!(lease.attempt <= MAX_ATTEMPTS);
        assert!(lease.fence > self.last_fence, "fences grow");
        self.last_fence = lease.fence;
        let until = now + i64::try_from(LEASE.as_millis()).unwrap();
        let running = Running {
            fence: lease.fence,
            attempts: lease.attempt,
            until,
        };
        self.running.insert(number, running);
    }

    fn holds(&self, lease: &Lease) -> bool {
        self.running
            .get(&lease.task.number().unwrap().0)
            .is_some_and(|job| job.fence == lease.fence)
    }
}

fn settled_name(settled: Settled) -> &'static str {
    match settled {
        Settled::Done => "done",
        Settled::Queued(_) => "queued",
        Settled::Superseded => "superseded",
        Settled::Dead => "dead",
        Settled::Lost => "lost",
    }
}

struct Interleaving {
    bench: Bench,
    /// Two handles on one file; the steps take turns.
    stores: [Store; 2],
    model: Model,
    leases: Vec<Lease>,
    deliveries: u64,
    /// The first delivery of each pull request, to be sent again.
    first: HashMap<u64, String>,
}

impl Interleaving {
    async fn new() -> Self {
        let bench = Bench::new().await;
        let stores = [bench.store.clone(), bench.other().await];
        Self {
            bench,
            stores,
            model: Model::default(),
            leases: Vec::new(),
            deliveries: 0,
            first: HashMap::new(),
        }
    }

    fn lease(&self, index: usize) -> Option<Lease> {
        // Counted from the newest, so that most hit a lease that is still held.
        self.leases.iter().rev().nth(index % 8).cloned()
    }

    async fn step(&mut self, turn: usize, op: &Op) {
        let store = self.stores[turn % 2].clone();
        let now = self.bench.clock.ms();
        match op {
            Op::Receive { number, fresh } => self.receive(&store, *number, *fresh).await,
            Op::Claim => {
                let claimed = store.claim().await.unwrap();
                self.model.claim(claimed.as_ref(), now);
                self.leases.extend(claimed);
            }
            Op::Extend(index) => {
                if let Some(lease) = self.lease(*index) {
                    let held = self.model.holds(&lease);
                    assert_eq!(store.extend(&lease).await.unwrap(), held);
                    if held {
                        let until = now + i64::try_from(LEASE.as_millis()).unwrap();
                        self.model
                            .running
                            .get_mut(&lease.task.number().unwrap().0)
                            .unwrap()
                            .until = until;
                    }
                }
            }
            Op::Ack(i) | Op::Retry(i, _) | Op::Dead(i) | Op::Release(i) => {
                if let Some(lease) = self.lease(*i) {
                    self.settle(&store, &lease, op, now).await;
                }
            }
            Op::Advance(seconds) => self.bench.clock.advance(Duration::from_secs(*seconds)),
            Op::Reopen => {
                // Dropped without a word, as by a kill.
                self.stores[turn % 2] = self.bench.other().await;
            }
        }
        self.check(&store).await;
    }

    async fn receive(&mut self, store: &Store, number: u64, fresh: bool) {
        let again = self.first.get(&number).filter(|_| !fresh).cloned();
        let expected = if again.is_some() {
            Received::Duplicate
        } else {
            Received::New
        };
        let id = again.unwrap_or_else(|| {
            self.deliveries += 1;
            format!("d{}", self.deliveries)
        });
        let received = store.receive(&delivery(&id, number, 'a')).await.unwrap();
        assert_eq!(received, expected);
        self.first.entry(number).or_insert(id);
        self.model.receive(number, self.bench.clock.ms());
    }

    async fn settle(&mut self, store: &Store, lease: &Lease, op: &Op, now: i64) {
        let number = lease.task.number().unwrap().0;
        let held = self.model.holds(lease);
        let (settled, expected) = match op {
            Op::Retry(_, after) => {
                let wait = Duration::from_secs(*after);
                let expected = held.then(|| {
                    let after = i64::try_from(wait.as_millis()).unwrap();
                    self.model.leave(number, after, true, now)
                });
                (store.retry(lease, wait, "x").await, expected)
            }
            Op::Release(_) => {
                let expected = held.then(|| self.model.leave(number, 0, false, now));
                (store.release(lease).await, expected)
            }
            Op::Dead(_) => {
                let expected = held.then(|| {
                    self.model.running.remove(&number);
                    self.model.dead += 1;
                    "dead"
                });
                (store.dead(lease, "x").await, expected)
            }
            _ => {
                let expected = held.then(|| {
                    self.model.running.remove(&number);
                    "done"
                });
                (store.ack(lease).await, expected)
            }
        };
        assert_eq!(settled_name(settled.unwrap()), expected.unwrap_or("lost"));
    }

    async fn check(&self, store: &Store) {
        let counts = store.queue_counts().await.unwrap();
        assert_eq!(counts.queued, self.model.waiting.len() as u64, "coalesced");
        assert_eq!(counts.running, self.model.running.len() as u64);
        assert_eq!(counts.dead, self.model.dead);
        let mut holders: HashMap<u64, usize> = HashMap::new();
        for lease in self.leases.iter().rev().take(8) {
            let holds = store.holds(lease).await.unwrap();
            assert_eq!(holds, self.model.holds(lease));
            *holders.entry(lease.task.number().unwrap().0).or_default() += usize::from(holds);
        }
        assert!(holders.values().all(|n| *n <= 1), "{holders:?}");
    }

    /// With handlers that succeed from now on, every job that waits or runs comes to its end.
    async fn finish(mut self) {
        for _ in 0..20 {
            self.bench.clock.advance(LEASE + CAP);
            while let Some(lease) = self.stores[0].claim().await.unwrap() {
                self.model.claim(Some(&lease), self.bench.clock.ms());
                assert_eq!(self.stores[0].ack(&lease).await.unwrap(), Settled::Done);
                self.model.running.remove(&lease.task.number().unwrap().0);
            }
            self.model.claim(None, self.bench.clock.ms());
        }
        let counts = self.stores[0].queue_counts().await.unwrap();
        assert_eq!((counts.queued, counts.running), (0, 0), "nothing is lost");
        assert!(self.model.waiting.is_empty() && self.model.running.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_interleaving_loses_a_job_or_lets_two_hold_it(ops in prop::collection::vec(op(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut interleaving = Interleaving::new().await;
            for (turn, op) in ops.iter().enumerate() {
                interleaving.step(turn, op).await;
            }
            interleaving.finish().await;
        });
    }
}

#[tokio::test]
async fn one_repository_does_not_take_every_place() {
    let bench = Bench::new().await;
    for number in 1..=3 {
        bench.store.enqueue(&pull(number)).await.unwrap();
    }
    let other = PullKey {
        repo: "acme/parser2".parse().unwrap(),
        ..pull(9)
    };
    bench.store.enqueue(&other).await.unwrap();
    let mut numbers = Vec::new();
    while let Some(lease) = bench.store.claim_fairly(2).await.unwrap() {
        numbers.push(lease.task.number().unwrap().0);
    }
    assert_eq!(numbers, [1, 2, 9]);
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(3)));
}

#[tokio::test]
async fn a_limit_puts_off_what_waits_of_the_same_installation_only() {
    let bench = Bench::new().await;
    let other = PullKey {
        installation: InstallationId(2),
        repo: "other/parser".parse().unwrap(),
        ..pull(9)
    };
    bench.store.enqueue(&pull(1)).await.unwrap();
    bench.store.enqueue(&other).await.unwrap();
    let ten_minutes = Duration::from_secs(600);
    bench
        .store
        .hold_back(InstallationId(1), ten_minutes)
        .await
        .unwrap();
    // A new event does not lift it.
    bench.store.receive(&delivery("d", 1, 'a')).await.unwrap();
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(9)));
    assert!(bench.store.claim().await.unwrap().is_none());
    bench.clock.advance(ten_minutes);
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(1)));
}
