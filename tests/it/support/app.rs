//! Frostline under test: the real router, store and handler in this process, against the fake forge,
//! with a real SQLite file. Nothing runs by itself: the test drives the work step by step.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use frostline::demo::forge::{NewPull, Webhook};
use frostline::forge::github::{App as GithubApp, AppKey, AppSettings};
use frostline::model::Sha;
use frostline::server::{AppState, router};
use frostline::store::{Clock, QueueSettings, Store};
use frostline::webhook::Secrets;
use frostline::work::{Jobs, Runner, RunnerSettings};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::api::start_forge;
use super::forge::TestForge;
use super::logs::LogWatch;

/// The store's clock, moved by the test.
#[derive(Clone, Default)]
struct Ahead(Arc<std::sync::Mutex<TimeDelta>>);

impl Clock for Ahead {
    fn now(&self) -> DateTime<Utc> {
        Utc::now() + *self.0.lock().unwrap()
    }
}

pub struct TestApp {
    pub forge: TestForge,
    pub store: Store,
    clock: Ahead,
    /// Of the database, for a second connection.
    pub url: String,
    router: axum::Router,
    runner: Runner<Jobs>,
    _folder: tempfile::TempDir,
    _logs: LogWatch,
}

impl TestApp {
    pub async fn start() -> Self {
        let forge = start_forge().await;
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let clock = Ahead::default();
        let store = Store::open_with(&url, Arc::new(clock.clone()), QueueSettings::default())
            .await
            .unwrap();
        let github = GithubApp::new(AppSettings {
            api_url: forge.url().parse().unwrap(),
            allow_http_loopback: true,
            key: AppKey::from_pem(forge.app_id(), forge.private_key_pem().as_bytes()).unwrap(),
        })
        .unwrap();
        let handler = Jobs::new(github, store.clone());
        let runner = Runner::new(store.clone(), handler, RunnerSettings::default());
        let secrets = Secrets::new([forge.webhook_secret()]).unwrap();
        let state = AppState::new(store.clone(), secrets, runner.pulse());
        let router = router(state.with_app(forge.app_id()));
        Self {
            _logs: LogWatch::of(&forge),
            forge,
            store,
            clock,
            url,
            router,
            runner,
            _folder: folder,
        }
    }

    /// Hands a webhook to the router; gives the status of the answer.
    pub async fn deliver(&self, hook: &Webhook) -> u16 {
        let request = axum::http::Request::post("/webhooks/github")
            .header("content-type", "application/json")
            .header("x-github-event", &hook.event)
            .header("x-github-delivery", &hook.delivery)
            .header("x-hub-signature-256", &hook.signature)
            .body(axum::body::Body::from(hook.body.clone()))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        response.into_body().collect().await.unwrap();
        status
    }

    /// Runs the job that has been due longest, if any is.
    pub async fn step(&self) -> bool {
        self.runner.step().await.unwrap()
    }

    /// Runs every job that is due; gives how many ran.
    pub async fn drain(&self) -> usize {
        self.runner.drain().await.unwrap()
    }

    /// Puts the queue's clock forward: what waits for its next try is due.
    pub fn advance(&self, by: TimeDelta) {
        *self.clock.0.lock().unwrap() += by;
    }

    /// One call that changes the forge and sends the webhook: opens a pull request.
    pub async fn open_pull(&self, repo: &str, new: NewPull<'_>) -> u64 {
        let number = self.forge.open_pull(repo, new).unwrap();
        let hook = self.forge.pull_webhook(repo, number, "opened").unwrap();
        assert_eq!(self.deliver(&hook).await, 202);
        number
    }

    /// Another: pushes to a pull request's branch.
    pub async fn push<I>(&self, repo: &str, number: u64, branch: &str, changes: I) -> Sha
    where
        I: IntoIterator,
        I::Item: Into<frostline::demo::forge::FileChange>,
    {
        let head = self
            .forge
            .push(repo, branch, changes, "acme-coder[bot]")
            .unwrap();
        let hook = self
            .forge
            .pull_webhook(repo, number, "synchronize")
            .unwrap();
        assert_eq!(self.deliver(&hook).await, 202);
        head
    }

    /// Ends the test: no job is left, and the forge was asked nothing that it does not know.
    pub async fn finish(self) {
        let counts = self.store.queue_counts().await.unwrap();
        assert_eq!(
            (counts.queued, counts.running, counts.dead),
            (0, 0, 0),
            "jobs are left over"
        );
        self.forge.assert_clean();
    }
}
