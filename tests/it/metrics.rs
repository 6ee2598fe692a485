//! `GET /metrics` over real HTTP: what a server says of itself, and what it must not say.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, Webhook};
use frostline::forge::github::{App as GithubApp, AppKey, AppSettings};
use frostline::metrics::Metrics;
use frostline::server::{App, AppState, HttpServer, ServeParts};
use frostline::store::{RepoKey, Task};
use frostline::webhook::Secrets;
use frostline::work::{Jobs, Runner, RunnerSettings};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::world::{PERSON, PROPERTY, REPO, World, manifest, two_fixtures};

/// A world whose server listens; the test drives the runner.
struct Watched {
    world: World,
    runner: Runner<Jobs>,
    address: SocketAddr,
    stop: CancellationToken,
}

impl Watched {
    async fn new() -> Self {
        let world = World::new().await;
        let metrics = Metrics::default();
        let runner = Runner::counting(
            world.store.clone(),
            Jobs::new(counting(&world, &metrics), world.store.clone()),
            RunnerSettings::default(),
            metrics.clone(),
        );
        let secrets = Secrets::new([world.forge.webhook_secret()]).unwrap();
        let state =
            AppState::new(world.store.clone(), secrets, runner.pulse()).with_metrics(metrics, true);
        let server = HttpServer::bind(([127, 0, 0, 1], 0).into(), state)
            .await
            .unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Self {
            world,
            runner,
            address,
            stop,
        }
    }

    async fn send(&self, hook: &Webhook) -> u16 {
        let url = format!("http://{}/webhooks/github", self.address);
        hook.send(&url).await.unwrap()
    }

    async fn page(&self) -> Page {
        Page::of(self.address).await
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn counting(world: &World, metrics: &Metrics) -> GithubApp {
    let forge = &world.forge;
    let settings = AppSettings {
        api_url: forge.url().parse().unwrap(),
        allow_http_loopback: true,
        key: AppKey::from_pem(forge.app_id(), forge.private_key_pem().as_bytes()).unwrap(),
    };
    GithubApp::counting(settings, metrics.clone()).unwrap()
}

struct Page {
    text: String,
    samples: BTreeMap<String, f64>,
}

impl Page {
    /// Reads the page as Prometheus does: every sample belongs to a family that was declared before it.
    async fn of(address: SocketAddr) -> Self {
        let response = reqwest::get(format!("http://{address}/metrics"))
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        let text = response.text().await.unwrap();
        let mut samples = BTreeMap::new();
        let mut families: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines() {
            if let Some(declared) = line.strip_prefix("# TYPE ") {
                let (name, kind) = declared.split_once(' ').unwrap();
                assert!(families.insert(name, kind).is_none(), "twice: {line}");
            }
            if line.starts_with('#') {
                continue;
            }
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end))
                .filter(|base| families.get(base) == Some(&"histogram"))
                .unwrap_or(name);
            assert!(families.contains_key(base), "undeclared: {line}");
            let old = samples.insert(sample.to_owned(), value.parse().unwrap());
            assert_eq!(old, None, "twice: {line}");
        }
        Self { text, samples }
    }

    fn get(&self, sample: &str) -> f64 {
        let found = self.samples.get(sample);
        *found.unwrap_or_else(|| panic!("no {sample} in\n{}", self.text))
    }
}

#[tokio::test]
async fn deliveries_are_counted_by_what_became_of_them() {
    let watched = Watched::new().await;
    let forge = &watched.world.forge;
    let number = watched.world.pull("work", &[("src/parse.py", "x = 1\n")]);
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    let ping = forge.webhook("ping", &json!({"zen": "z"})).unwrap();
    let mut forged = forge.pull_webhook(REPO, number, "opened").unwrap();
    forged.signature = ping.signature.clone();
    let mut nameless = forge.pull_webhook(REPO, number, "opened").unwrap();
    nameless.event = String::new();
    let sent = [
        (&hook, 202, "stored"),
        (&hook, 202, "duplicate"),
        (&ping, 204, "no_use"),
        (&forged, 401, "bad_signature"),
        (&nameless, 400, "malformed"),
    ];
    for (hook, status, result) in sent {
        let sample = format!("frostline_deliveries_total{{result=\"{result}\"}}");
        assert_eq!(watched.page().await.get(&sample), 0.0, "{result}");
        assert_eq!(watched.send(hook).await, status, "{result}");
        assert_eq!(watched.page().await.get(&sample), 1.0, "{result}");
    }
    let page = watched.page().await;
    assert_eq!(page.get("frostline_delivery_duration_seconds_count"), 5.0);

    watched.world.store.close().await;
    let lost = forge.pull_webhook(REPO, number, "labeled").unwrap();
    assert_eq!(watched.send(&lost).await, 503);
    let page = watched.page().await;
    let sample = "frostline_deliveries_total{result=\"not_stored\"}";
    assert_eq!(page.get(sample), 1.0);
    assert_eq!(page.get("frostline_database_up"), 0.0);
    assert!(
        page.get("frostline_queue_jobs{state=\"queued\"}").is_nan(),
        "what cannot be read is not zero"
    );
    assert!(page.get("frostline_queue_oldest_age_seconds").is_nan());
}

#[tokio::test]
async fn evaluations_and_requests_are_counted_and_no_repository_is_named() {
    let watched = Watched::new().await;
    let before = watched.page().await;
    for verdict in ["pass", "refuse", "human_review"] {
        let sample = format!("frostline_evaluations_total{{verdict=\"{verdict}\"}}");
        assert_eq!(before.get(&sample), 0.0);
    }
    assert!(
        before
            .get("frostline_forge_rate_remaining{resource=\"core\"}")
            .is_nan()
    );

    // A production path whose only property the pull request itself changes.
    let files = [
        ("src/parse.py", "def parse(x):\n    return 2\n"),
        (
            "tests/properties/test_parse.py",
            "def test_roundtrip(): 1\n",
        ),
    ];
    let number = watched.world.pull("work", &files);
    let key = watched.world.key(number);
    watched.world.store.enqueue(&key).await.unwrap();
    watched.world.advance(Duration::from_secs(90));
    let waiting = watched.page().await;
    assert_eq!(waiting.get("frostline_queue_jobs{state=\"queued\"}"), 1.0);
    assert!((90.0..120.0).contains(&waiting.get("frostline_queue_oldest_age_seconds")));
    assert!((90.0..120.0).contains(&waiting.get("frostline_queue_longest_wait_seconds")));

    assert_eq!(watched.runner.drain().await.unwrap(), 1);
    let page = watched.page().await;
    let verdict = watched.world.decision(number).await.0.verdict;
    let sample = format!("frostline_evaluations_total{{verdict=\"{verdict}\"}}");
    assert_eq!(page.get(&sample), 1.0);
    let rule = "frostline_evaluation_rules_total{rule=\"coverage-hole\"}";
    assert_eq!((before.get(rule), page.get(rule)), (0.0, 1.0));
    assert_eq!(page.get("frostline_evaluation_duration_seconds_count"), 1.0);
    let done = "frostline_job_duration_seconds_count{kind=\"pull\",result=\"done\"}";
    assert_eq!(page.get(done), 1.0);
    assert_eq!(page.get("frostline_queue_jobs{state=\"queued\"}"), 0.0);
    assert_eq!(page.get("frostline_queue_oldest_age_seconds"), 0.0);

    let requests = watched.world.forge.requests();
    let asked = page.get("frostline_forge_requests_total{result=\"ok\"}")
        + page
            .samples
            .get("frostline_forge_requests_total{result=\"not_found\"}")
            .copied()
            .unwrap_or(0.0);
    assert_eq!(asked, requests.len() as f64);
    assert_eq!(
        page.get("frostline_forge_request_duration_seconds_count"),
        requests.len() as f64
    );
    let left = page.get("frostline_forge_rate_remaining{resource=\"core\"}");
    assert!((4_000.0..5_000.0).contains(&left), "{left}");

    let key = watched.world.key(number);
    for secret in [key.repo.owner(), key.repo.name(), "src/", "test_roundtrip"] {
        assert!(!page.text.contains(secret), "{secret} in\n{}", page.text);
    }
}

#[tokio::test]
async fn a_failed_attempt_is_counted_as_what_it_was() {
    let watched = Watched::new().await;
    let number = watched.world.pull("work", &[("src/parse.py", "x = 1\n")]);
    let key = watched.world.key(number);
    watched.world.store.enqueue(&key).await.unwrap();
    let path = format!("/repos/{REPO}/pulls/{number}");
    let fault = Fault::next("GET", &path, Answer::Status(502));
    watched.world.forge.fault(fault);
    watched.runner.drain().await.unwrap();
    let page = watched.page().await;
    let retried = "frostline_job_duration_seconds_count{kind=\"pull\",result=\"retried\"}";
    assert_eq!(page.get(retried), 1.0);
    let failed = "frostline_forge_requests_total{result=\"no_answer\"}";
    assert_eq!(page.get(failed), 1.0);
    assert_eq!(page.get("frostline_queue_jobs{state=\"queued\"}"), 1.0);
    // It is not due.
    assert_eq!(page.get("frostline_queue_longest_wait_seconds"), 0.0);
}

#[tokio::test]
async fn metrics_with_an_address_of_their_own_are_there_alone() {
    let world = World::new().await;
    let metrics = Metrics::default();
    let app = App::start(ServeParts {
        sweep_every: None,
        app_id: None,
        bind: ([127, 0, 0, 1], 0).into(),
        store: world.store.clone(),
        secrets: Secrets::new(["s"]).unwrap(),
        handler: Jobs::new(counting(&world, &metrics), world.store.clone()),
        runner: RunnerSettings::default(),
        metrics,
        metrics_bind: Some(([127, 0, 0, 1], 0).into()),
        links: None,
    })
    .await
    .unwrap();
    let status = async |address: SocketAddr, path: &str| {
        let url = format!("http://{address}{path}");
        reqwest::get(url).await.unwrap().status().as_u16()
    };
    let apart = app.metrics_address().unwrap();
    assert_ne!(apart, app.address());
    assert_eq!(status(app.address(), "/metrics").await, 404);
    assert_eq!(status(app.address(), "/healthz").await, 200);
    assert_eq!(status(apart, "/healthz").await, 404);
    assert_eq!(status(apart, "/webhooks/github").await, 404);
    assert_eq!(Page::of(apart).await.get("frostline_database_up"), 1.0);
    app.stop().await.unwrap();
}

/// The seed ledger with one row about these fixtures, and a corpus of so many seeds.
fn frozen(digest: &str, expires: Option<&str>, seeds: &[i64]) -> [(&'static str, String); 2] {
    let row = json!({"nodeid": PROPERTY, "seed": 7, "fixture_digest": digest, "reason": "CLOCK",
        "replay": format!("pytest {PROPERTY} --hypothesis-seed=7"), "opened_at": "2026-01-01T00:00:00Z",
        "expires_at": expires, "status": "open", "owner": "@ann"});
    [
        (
            "tests/seed_freeze.json",
            json!({"schema": "seed-freeze-v1", "entries": [row]}).to_string(),
        ),
        (
            "test/contract/seeds.json",
            json!({"version": 1, "seeds": {PROPERTY: seeds}}).to_string(),
        ),
    ]
}

async fn audited(watched: &Watched, files: &[(&str, String)]) -> Page {
    let world = &watched.world;
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    world.push("main", &files, PERSON);
    let task = Task::Audit {
        repo: RepoKey {
            installation: world.key(1).installation,
            repo: world.key(1).repo,
        },
        branch: "main".to_owned(),
        default_branch: "main".to_owned(),
    };
    world
        .store
        .enqueue_task(task, Duration::ZERO)
        .await
        .unwrap();
    world.settle().await;
    watched.page().await
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn voided_freezes_growth_and_the_age_of_void_rows_are_told() {
    let watched = Watched::new().await;
    let none = watched.page().await;
    assert!(
        none.get("frostline_voided_freezes_per_100_patches")
            .is_nan()
    );
    assert!(
        none.get("frostline_ledger_growth_rows").is_nan(),
        "no corpus, no number"
    );
    assert_eq!(none.get("frostline_ledger_void_overdue"), 0.0);

    // The row is about the fixtures that there are, then about others.
    let open = manifest(&two_fixtures());
    let page = audited(&watched, &frozen(&open, None, &[1])).await;
    assert_eq!(page.get("frostline_ledger_rows{state=\"open\"}"), 1.0);
    assert_eq!(page.get("frostline_ledger_growth_rows"), 0.0);
    let other = format!("manifest-sha256:{}", "0".repeat(64));
    watched.world.advance(2 * DAY);
    let page = audited(&watched, &frozen(&other, None, &[1, 2])).await;
    assert_eq!(page.get("frostline_ledger_rows{state=\"open\"}"), 0.0);
    assert_eq!(page.get("frostline_ledger_rows{state=\"void\"}"), 1.0);
    assert_eq!(page.get("frostline_corpus_growth_seeds"), 1.0);
    watched.world.advance(13 * DAY);
    assert_eq!(
        watched.page().await.get("frostline_ledger_void_overdue"),
        0.0
    );
    watched.world.advance(DAY + Duration::from_secs(60));
    let page = watched.page().await;
    assert_eq!(page.get("frostline_ledger_void_overdue"), 1.0);
    let age = page.get("frostline_ledger_void_oldest_age_seconds");
    assert!(age >= (14 * DAY).as_secs_f64(), "{age}");
    // Audited again, it is as old as before; bound anew, it is void no longer.
    let page = audited(&watched, &[("README.md", "x\n".to_owned())]).await;
    assert_eq!(page.get("frostline_ledger_void_overdue"), 1.0);
    let page = audited(&watched, &frozen(&open, None, &[1, 2])).await;
    assert_eq!(page.get("frostline_ledger_void_oldest_age_seconds"), 0.0);
    // A row says itself since when it is void by date.
    let page = audited(
        &watched,
        &frozen(&open, Some("2026-02-01T00:00:00Z"), &[1, 2]),
    )
    .await;
    assert_eq!(page.get("frostline_ledger_rows{state=\"expired\"}"), 1.0);
    assert_eq!(page.get("frostline_ledger_void_overdue"), 1.0);
    // What cannot be read closes nothing.
    let broken = [("tests/seed_freeze.json", "{}".to_owned())];
    let page = audited(&watched, &broken).await;
    assert_eq!(page.get("frostline_ledger_void_overdue"), 1.0);

    // One of two pull requests voids a freeze.
    audited(&watched, &frozen(&open, None, &[1, 2])).await;
    for (branch, path) in [("one", "src/parse.py"), ("two", "tests/fixtures/a.json")] {
        let number = watched.world.pull(branch, &[(path, "x = 1\n")]);
        watched.world.evaluate(number).await;
    }
    let page = watched.page().await;
    assert_eq!(page.get("frostline_patches"), 2.0);
    assert_eq!(page.get("frostline_patches_voided_freezes"), 1.0);
    assert_eq!(page.get("frostline_voided_freezes_per_100_patches"), 50.0);
    watched.world.advance(31 * DAY);
    assert_eq!(watched.page().await.get("frostline_patches"), 0.0);
    assert!(!page.text.contains("test_roundtrip") && !page.text.contains("ann"));
}
