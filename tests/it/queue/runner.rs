//! The runner.

use super::*;

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
