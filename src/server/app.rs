//! The server and the runner together, in one process.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::publish::links::Links;
use crate::store::Store;
use crate::webhook::{Secrets, SharedSecrets};
use crate::work::{Handler, Runner, RunnerSettings, Task};

use super::{AppState, HttpServer};

/// What [`App::start`] puts together.
pub struct ServeParts<H> {
    /// Port 0 takes a free one.
    pub bind: SocketAddr,
    pub store: Store,
    pub secrets: Secrets,
    /// Those of the handler; without them no capability opens a page.
    pub links: Option<Links>,
    pub handler: H,
    pub runner: RunnerSettings,
    /// What the handler's forge counts with as well.
    pub metrics: Metrics,
    /// Where `/metrics` listens if not at `bind`.
    pub metrics_bind: Option<SocketAddr>,
    /// The App whose server it is.
    pub app_id: Option<u64>,
    /// How often everything is looked at that a lost webhook may have left out, from the start on; `None`:
    /// never.
    pub sweep_every: Option<Duration>,
}

/// A running server with its runner.
pub struct App {
    address: SocketAddr,
    shutdown: CancellationToken,
    store: Store,
    secrets: SharedSecrets,
    metrics_address: Option<SocketAddr>,
    http: JoinHandle<()>,
    metrics: Option<JoinHandle<()>>,
    runner: JoinHandle<()>,
    sweeps: JoinHandle<()>,
}

impl App {
    /// Starts to listen and to run jobs; returns as soon as the address is bound.
    pub async fn start<H: Handler>(parts: ServeParts<H>) -> anyhow::Result<Self> {
        let metrics = parts.metrics;
        let runner = Runner::counting(
            parts.store.clone(),
            parts.handler,
            parts.runner,
            metrics.clone(),
        );
        let secrets = SharedSecrets::from(parts.secrets);
        let state = AppState::new(parts.store.clone(), secrets.clone(), runner.pulse())
            .with_metrics(metrics, parts.metrics_bind.is_none());
        let state = match parts.app_id {
            Some(app_id) => state.with_app(app_id),
            None => state,
        };
        let state = match parts.links {
            Some(links) => state.with_links(links),
            None => state,
        };
        let http = HttpServer::bind(parts.bind, state.clone())
            .await
            .with_context(|| format!("cannot listen on {}; set another `bind`", parts.bind))?;
        let apart = match parts.metrics_bind {
            Some(bind) => {
                let server = HttpServer::bind_metrics(bind, state).await;
                let why = || format!("cannot listen on {bind}; set another `metrics.bind`");
                Some(server.with_context(why)?)
            }
            None => None,
        };
        let shutdown = CancellationToken::new();
        let sweeps = sweep(parts.store.clone(), parts.sweep_every, shutdown.clone());
        Ok(Self {
            sweeps: tokio::spawn(sweeps),
            address: http.address(),
            metrics_address: apart.as_ref().map(HttpServer::address),
            store: parts.store,
            secrets,
            http: tokio::spawn(http.run(shutdown.clone())),
            metrics: apart.map(|server| tokio::spawn(server.run(shutdown.clone()))),
            runner: tokio::spawn(runner.run(shutdown.clone())),
            shutdown,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What deliveries are verified with; they may be exchanged.
    pub fn secrets(&self) -> &SharedSecrets {
        &self.secrets
    }

    /// Where `/metrics` listens apart from the rest, with the real port.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Ends gracefully: requests are answered, running jobs end or are given back, the database is
    /// closed.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        let (http, runner, sweeps) = tokio::join!(self.http, self.runner, self.sweeps);
        if let Some(metrics) = self.metrics {
            metrics.await.context("the server of /metrics failed")?;
        }
        self.store.close().await;
        http.context("the HTTP server failed")?;
        runner.context("the runner failed")?;
        sweeps.context("the sweeps failed")?;
        Ok(())
    }
}

/// Asks for a sweep at once and then again and again.
async fn sweep(store: Store, every: Option<Duration>, shutdown: CancellationToken) {
    let Some(every) = every else { return };
    let mut beat = tokio::time::interval(every);
    loop {
        tokio::select! {
            _ = beat.tick() => {}
            () = shutdown.cancelled() => return,
        }
        if let Err(error) = store.enqueue_task(Task::Sweep, Duration::ZERO).await {
            tracing::warn!(%error, "a sweep could not be asked for");
        }
    }
}
