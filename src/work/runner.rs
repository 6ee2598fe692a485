//! Runs due jobs: claims them, keeps their leases alive, settles them, logs each once.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::metrics::Metrics;
use crate::model::{RepoName, Sha};
use crate::store::{Lease, Settled, Store, StoreError};

/// What one attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Try again, not before `after` from now: zero leaves the wait to the queue's backoff. `why` is
    /// for people and holds no secret.
    Retry {
        after: Duration,
        why: String,
    },
    /// It can never succeed.
    Dead {
        why: String,
    },
}

impl Outcome {
    /// Whether the job has no attempt left after it.
    pub(super) fn is_last(&self, lease: &Lease) -> bool {
        match self {
            Self::Done => false,
            Self::Retry { .. } => lease.attempt >= lease.max_attempts,
            Self::Dead { .. } => true,
        }
    }
}

/// Does what a job asks for.
///
/// The future is dropped when the lease is lost, at a shutdown whose grace is over, and after
/// [`RunnerSettings::time_limit`]. It must stand being broken off anywhere, as by a kill.
pub trait Handler: Send + Sync + 'static {
    fn run(&self, lease: &Lease) -> impl Future<Output = Outcome> + Send;
}

/// How the runner treats its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerSettings {
    /// Jobs at once; at least 1.
    pub concurrency: usize,
    /// How often an idle runner looks for due jobs. What this process enqueues it sees at once.
    pub poll: Duration,
    /// The longest an attempt may take.
    pub time_limit: Duration,
    /// How long a shutdown waits for running jobs before it gives them back.
    pub grace: Duration,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            concurrency: 4,
            poll: Duration::from_secs(1),
            time_limit: Duration::from_secs(15 * 60),
            grace: Duration::from_secs(20),
        }
    }
}

/// Says whether a runner is at work: it could reach the queue the last time it looked.
#[derive(Clone, Default)]
pub struct Pulse(Arc<AtomicBool>);

impl Pulse {
    /// True while a runner runs whose last claim did not fail.
    pub fn beats(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, beats: bool) {
        self.0.store(beats, Ordering::Relaxed);
    }
}

/// Takes jobs from the store and gives them to the handler.
pub struct Runner<H> {
    inner: Arc<Inner<H>>,
}

impl<H> Clone for Runner<H> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

struct Inner<H> {
    store: Store,
    handler: Arc<H>,
    settings: RunnerSettings,
    pulse: Pulse,
    metrics: Metrics,
    /// When old rows were deleted last.
    pruned: Mutex<Option<Instant>>,
}

/// How often old rows are deleted.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

impl<H: Handler> Runner<H> {
    pub fn new(store: Store, handler: H, settings: RunnerSettings) -> Self {
        Self::counting(store, handler, settings, Metrics::default())
    }

    /// A runner that counts its attempts where others count too.
    pub fn counting(store: Store, handler: H, settings: RunnerSettings, metrics: Metrics) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                handler: Arc::new(handler),
                settings,
                pulse: Pulse::default(),
                metrics,
                pruned: Mutex::new(None),
            }),
        }
    }

    pub fn pulse(&self) -> Pulse {
        self.inner.pulse.clone()
    }

    /// Runs one due job to its end. False if none was due.
    pub async fn step(&self) -> Result<bool, StoreError> {
        match self.inner.store.claim().await? {
            Some(lease) => {
                self.inner.attempt(lease, &CancellationToken::new()).await;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Runs due jobs until none is left. Gives how many ran.
    pub async fn drain(&self) -> Result<usize, StoreError> {
        let mut ran = 0;
        while self.step().await? {
            ran += 1;
        }
        Ok(ran)
    }

    /// Runs jobs until `shutdown`; then waits for the running ones, and gives back those that do not
    /// end within the grace. Errors of the database are logged and tried again.
    pub async fn run(self, shutdown: CancellationToken) {
        let give_up = CancellationToken::new();
        let mut attempts = JoinSet::new();
        while !shutdown.is_cancelled() {
            self.fill(&mut attempts, &give_up).await;
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.inner.store.enqueued() => {}
                Some(ended) = attempts.join_next() => log_panic(ended),
                () = tokio::time::sleep(self.inner.settings.poll) => {}
            }
        }
        self.inner.pulse.set(false);
        let rest = async { while attempts.join_next().await.is_some() {} };
        if tokio::time::timeout(self.inner.settings.grace, rest)
            .await
            .is_err()
        {
            give_up.cancel();
            while let Some(ended) = attempts.join_next().await {
                log_panic(ended);
            }
        }
    }

    /// Claims until every place is taken or nothing is due.
    async fn fill(&self, attempts: &mut JoinSet<()>, give_up: &CancellationToken) {
        let inner = &self.inner;
        let places = inner.settings.concurrency.max(1);
        // One place is always another repository's.
        let fair = u32::try_from(places.saturating_sub(1).max(1)).unwrap_or(u32::MAX);
        while attempts.len() < places {
            match inner.store.claim_fairly(fair).await {
                Ok(Some(lease)) => {
                    let (inner, give_up) = (Arc::clone(inner), give_up.clone());
                    attempts.spawn(async move { inner.attempt(lease, &give_up).await });
                }
                Ok(None) => break,
                Err(error) => {
                    if inner.pulse.beats() {
                        tracing::error!(%error, "cannot take jobs; trying again");
                    }
                    inner.pulse.set(false);
                    return;
                }
            }
        }
        inner.pulse.set(true);
        inner.prune().await;
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "the runner failed on a job; its lease will run out");
    }
}

/// How the handler's future ended.
enum Ended {
    With(Outcome),
    LeaseLost,
    Shutdown,
}

impl<H: Handler> Inner<H> {
    /// One attempt, from the claim to the settled job.
    async fn attempt(&self, lease: Lease, give_up: &CancellationToken) {
        let span = tracing::info_span!(
            "job",
            job = lease.job_id,
            kind = lease.task.kind(),
            repository = lease.task.repo().map(RepoName::as_str),
            pull_request = lease.task.number().map(|number| number.0),
            head = lease.task.head().map(Sha::as_str),
            delivery = lease.delivery.as_ref().map(|id| id.0.as_str()),
            attempt = lease.attempt,
            // The handler fills these in, as far as it comes.
            verdict = tracing::field::Empty,
            requests = tracing::field::Empty,
        );
        async {
            let started = Instant::now();
            let ended = self.watch(&lease, give_up).await;
            let settled = self.settle(&lease, &ended).await;
            let took = started.elapsed();
            let kind = lease.task.kind();
            self.metrics.job(kind, result(&ended, &settled), took);
            log(&ended, &settled, took);
        }
        .instrument(span)
        .await;
    }

    /// Runs the handler and lengthens the lease meanwhile.
    async fn watch(&self, lease: &Lease, give_up: &CancellationToken) -> Ended {
        // A task of its own, so that a panic is one attempt's failure and not the runner's.
        let mut task = JoinSet::new();
        let (handler, held) = (Arc::clone(&self.handler), lease.clone());
        task.spawn(async move { handler.run(&held).await }.in_current_span());

        let every = (self.store.lease_time() / 3).max(Duration::from_millis(10));
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let limit = tokio::time::sleep(self.settings.time_limit);
        tokio::pin!(limit);
        let ended = loop {
            tokio::select! {
                Some(ended) = task.join_next() => {
                    break Ended::With(ended.unwrap_or_else(|error| Outcome::Retry {
                        after: Duration::ZERO,
                        why: format!("the handler failed: {error}"),
                    }));
                }
                _ = beat.tick() => match self.store.extend(lease).await {
                    Ok(true) => {}
                    Ok(false) => break Ended::LeaseLost,
                    // The lease still stands for two more beats.
                    Err(error) => tracing::warn!(%error, "cannot lengthen the lease"),
                },
                () = &mut limit => {
                    break Ended::With(Outcome::Retry {
                        after: Duration::ZERO,
                        why: format!("not done after {} s", self.settings.time_limit.as_secs()),
                    });
                }
                () = give_up.cancelled() => break Ended::Shutdown,
            }
        };
        // It must have stopped before the job is given to anybody else.
        task.shutdown().await;
        ended
    }

    async fn settle(&self, lease: &Lease, ended: &Ended) -> Result<Settled, StoreError> {
        let settled = match ended {
            Ended::With(Outcome::Done) => self.store.ack(lease).await?,
            Ended::With(Outcome::Retry { after, why }) => {
                self.store.retry(lease, *after, why).await?
            }
            Ended::With(Outcome::Dead { why }) => self.store.dead(lease, why).await?,
            Ended::Shutdown => self.store.release(lease).await?,
            Ended::LeaseLost => Settled::Lost,
        };
        if settled == Settled::Lost {
            self.store.requeue_lost(lease).await?;
        }
        Ok(settled)
    }

    async fn prune(&self) {
        let mut pruned = self.pruned.lock().await;
        if pruned.is_some_and(|at| at.elapsed() < PRUNE_EVERY) {
            return;
        }
        *pruned = Some(Instant::now());
        if let Err(error) = self.store.prune().await {
            tracing::warn!(%error, "cannot delete old rows");
        }
    }
}

/// What the attempt came to, for the metrics.
fn result(ended: &Ended, settled: &Result<Settled, StoreError>) -> &'static str {
    match (settled, ended) {
        (Ok(Settled::Queued(_)), Ended::Shutdown) => "given_back",
        (Ok(Settled::Done), _) => "done",
        (Ok(Settled::Queued(_)), _) => "retried",
        (Ok(Settled::Superseded), _) => "superseded",
        (Ok(Settled::Dead), _) => "dead",
        (Ok(Settled::Lost), _) => "lost",
        (Err(_), _) => "not_settled",
    }
}

/// The one line at the job boundary. A dead job was logged by the store.
fn log(ended: &Ended, settled: &Result<Settled, StoreError>, took: Duration) {
    let elapsed_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let why = match ended {
        Ended::With(Outcome::Retry { why, .. } | Outcome::Dead { why }) => why,
        Ended::With(Outcome::Done) => "",
        Ended::LeaseLost => "the lease was lost while it ran",
        Ended::Shutdown => "broken off by the shutdown",
    };
    match settled {
        Ok(Settled::Done) => tracing::info!(elapsed_ms, "job done"),
        Ok(Settled::Queued(at)) => {
            tracing::warn!(elapsed_ms, why, next = %at, "job will be tried again");
        }
        Ok(Settled::Superseded) => {
            tracing::info!(elapsed_ms, why, "job superseded by a newer event");
        }
        Ok(Settled::Lost) => tracing::warn!(elapsed_ms, why, "job's lease was lost; queued again"),
        Ok(Settled::Dead) => {}
        Err(error) => {
            tracing::error!(elapsed_ms, why, %error, "job could not be settled; its lease will run out");
        }
    }
}
