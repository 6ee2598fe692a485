//! What a running server counts of itself, in the form that Prometheus reads.
//!
//! Invariants: no label holds anything from a repository, only names out of this program's own tables,
//! so that the page can be read by whoever watches the server and its size is bounded; and what could not
//! be read is `NaN`, never zero.

mod ledger;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::model::{Decision, Rule, Verdict};

use ledger::Ledger;
pub use ledger::LedgerLevels;

/// What `Content-Type` the page has.
pub use prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

/// Label names and values.
type Labels<const N: usize> = [(&'static str, &'static str); N];
type Counters = Family<Labels<1>, Counter>;
type Level = Gauge<f64, std::sync::atomic::AtomicU64>;
type Levels = Family<Labels<1>, Level>;

/// What can become of a delivery.
pub const DELIVERY_RESULTS: &[&str] = &[
    "stored",
    "duplicate",
    "no_use",
    "bad_signature",
    "malformed",
    "too_large",
    "timed_out",
    "not_stored",
];

/// The forge's rate limits that this program meets.
pub const RATE_RESOURCES: &[&str] = &["core", "graphql"];

/// How the queue stands; read when the page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueLevels {
    pub queued: u64,
    pub running: u64,
    pub dead: u64,
    /// Since the queued job that was enqueued first was.
    pub oldest: Duration,
    /// Since the job became due that has been due longest and waits still.
    pub longest_wait: Duration,
}

/// What the forge's answers say of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLeft {
    /// One of [`RATE_RESOURCES`].
    pub resource: &'static str,
    pub remaining: u64,
    pub reset: DateTime<Utc>,
}

/// The counters of one process; cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    deliveries: Counters,
    delivery_seconds: Histogram,
    jobs: Family<Labels<2>, Histogram>,
    evaluations: Counters,
    evaluation_seconds: Histogram,
    rules: Counters,
    forge_requests: Counters,
    forge_seconds: Histogram,
    rate_left: Levels,
    /// By limit and end of its window. Installations have windows of their own.
    windows: Mutex<BTreeMap<(&'static str, DateTime<Utc>), u64>>,
    database_up: Gauge,
    queue: Levels,
    oldest: Level,
    longest_wait: Level,
    ledger: Ledger,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("frostline");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", version);
        let inner = Inner {
            deliveries: add(&mut registry, "deliveries", "Webhook deliveries by result"),
            delivery_seconds: seconds(
                &mut registry,
                "delivery_duration",
                "From a delivery's headers to its answer",
                &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0],
            ),
            jobs: jobs(&mut registry),
            evaluations: add(&mut registry, "evaluations", "Evaluations by verdict"),
            evaluation_seconds: seconds(
                &mut registry,
                "evaluation_duration",
                "From the start of an attempt to its published verdict",
                SLOW,
            ),
            rules: add(
                &mut registry,
                "evaluation_rules",
                "Evaluations in which a rule found something, by rule",
            ),
            forge_requests: add(
                &mut registry,
                "forge_requests",
                "Requests to the forge by result",
            ),
            forge_seconds: seconds(
                &mut registry,
                "forge_request_duration",
                "From a request to the forge to its whole answer",
                SLOW,
            ),
            rate_left: add(
                &mut registry,
                "forge_rate_remaining",
                "Requests left in the forge's window, of the installation that has the fewest; NaN when not known",
            ),
            windows: Mutex::default(),
            database_up: add(
                &mut registry,
                "database_up",
                "1 if the database can be read",
            ),
            queue: add(&mut registry, "queue_jobs", "Jobs by state"),
            oldest: with_unit(
                &mut registry,
                "queue_oldest_age",
                "Age of the queued job that was enqueued first",
            ),
            longest_wait: with_unit(
                &mut registry,
                "queue_longest_wait",
                "How long the job has waited that has been due longest",
            ),
            ledger: Ledger::new(&mut registry),
            registry,
        };
        inner.begin_at_zero();
        Self(Arc::new(inner))
    }
}

/// Buckets for what waits on the network, seconds.
const SLOW: &[f64] = &[
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

fn add<M>(registry: &mut Registry, name: &str, help: &str) -> M
where
    M: prometheus_client::registry::Metric + Clone + Default,
{
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn with_unit(registry: &mut Registry, name: &str, help: &str) -> Level {
    let level = Level::default();
    registry.register_with_unit(name, help, Unit::Seconds, level.clone());
    level
}

fn seconds(registry: &mut Registry, name: &str, help: &str, buckets: &'static [f64]) -> Histogram {
    let histogram = Histogram::new(buckets.iter().copied());
    registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
    histogram
}

fn jobs(registry: &mut Registry) -> Family<Labels<2>, Histogram> {
    let jobs = Family::new_with_constructor(
        (|| Histogram::new(SLOW.iter().copied())) as fn() -> Histogram,
    );
    registry.register_with_unit(
        "job_duration",
        "Attempts at jobs by kind and result",
        Unit::Seconds,
        jobs.clone(),
    );
    jobs
}

impl Inner {
    /// A counter that is missing until its first event has no rate when it comes.
    fn begin_at_zero(&self) {
        for result in DELIVERY_RESULTS {
            drop(self.deliveries.get_or_create(&[("result", *result)]));
        }
        for verdict in Verdict::ALL {
            let labels = [("verdict", verdict.name())];
            drop(self.evaluations.get_or_create(&labels));
        }
        for rule in Rule::ALL {
            drop(self.rules.get_or_create(&[("rule", rule.name())]));
        }
    }
}

impl Metrics {
    /// A delivery was answered; `result` is one of [`DELIVERY_RESULTS`].
    pub fn delivery(&self, result: &'static str, took: Duration) {
        self.0.deliveries.get_or_create(&[("result", result)]).inc();
        self.0.delivery_seconds.observe(took.as_secs_f64());
    }

    /// An attempt at a job ended.
    pub fn job(&self, kind: &'static str, result: &'static str, took: Duration) {
        self.0
            .jobs
            .get_or_create(&[("kind", kind), ("result", result)])
            .observe(took.as_secs_f64());
    }

    /// A verdict was published.
    pub fn evaluation(&self, decision: &Decision, took: Duration) {
        let verdict = decision.verdict.name();
        self.0
            .evaluations
            .get_or_create(&[("verdict", verdict)])
            .inc();
        self.0.evaluation_seconds.observe(took.as_secs_f64());
        let found: std::collections::BTreeSet<&'static str> = decision
            .findings
            .iter()
            .map(|finding| finding.rule.name())
            .collect();
        for rule in found {
            self.0.rules.get_or_create(&[("rule", rule)]).inc();
        }
    }

    /// A request to the forge ended.
    pub fn forge_request(&self, result: &'static str, took: Duration) {
        self.0
            .forge_requests
            .get_or_create(&[("result", result)])
            .inc();
        self.0.forge_seconds.observe(took.as_secs_f64());
    }

    /// An answer of the forge told how much is left.
    pub fn rate_left(&self, left: RateLeft) {
        let mut windows = self.windows();
        windows.insert((left.resource, left.reset), left.remaining);
        // Windows that ended count for nothing.
        let now = Utc::now();
        windows.retain(|(_, reset), _| *reset > now);
    }

    fn windows(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, DateTime<Utc>), u64>> {
        self.0
            .windows
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The page. `queue` and `ledger` are `None` if the database could not be read.
    pub fn text(
        &self,
        queue: Option<QueueLevels>,
        ledger: Option<&LedgerLevels>,
    ) -> Result<String, fmt::Error> {
        self.show_rates();
        self.show_queue(queue);
        self.0.ledger.show(ledger);
        let mut page = String::new();
        prometheus_text::encode(&mut page, &self.0.registry)?;
        Ok(page)
    }

    fn show_rates(&self) {
        let now = Utc::now();
        let windows = self.windows();
        for resource in RATE_RESOURCES {
            let fewest = windows
                .iter()
                .filter(|((of, reset), _)| of == resource && *reset > now)
                .map(|(_, remaining)| *remaining)
                .min();
            let labels = [("resource", *resource)];
            let level = fewest.map_or(f64::NAN, |fewest| fewest as f64);
            self.0.rate_left.get_or_create(&labels).set(level);
        }
    }

    fn show_queue(&self, queue: Option<QueueLevels>) {
        self.0.database_up.set(i64::from(queue.is_some()));
        let set = |state: &'static str, jobs: Option<u64>| {
            let jobs = jobs.map_or(f64::NAN, |jobs| jobs as f64);
            self.0.queue.get_or_create(&[("state", state)]).set(jobs);
        };
        set("queued", queue.map(|queue| queue.queued));
        set("running", queue.map(|queue| queue.running));
        set("dead", queue.map(|queue| queue.dead));
        let seconds = |age: Option<Duration>| age.map_or(f64::NAN, |age| age.as_secs_f64());
        self.0.oldest.set(seconds(queue.map(|queue| queue.oldest)));
        self.0
            .longest_wait
            .set(seconds(queue.map(|queue| queue.longest_wait)));
    }
}
