//! The server and the runner together, in one process.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::publish::links::Links;
use crate::store::Store;
use crate::webhook::Secrets;
use crate::work::{Handler, Runner, RunnerSettings};

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
}

/// A running server with its runner.
pub struct App {
    address: SocketAddr,
    shutdown: CancellationToken,
    store: Store,
    http: JoinHandle<()>,
    runner: JoinHandle<()>,
}

impl App {
    /// Starts to listen and to run jobs; returns as soon as the address is bound.
    pub async fn start<H: Handler>(parts: ServeParts<H>) -> anyhow::Result<Self> {
        let runner = Runner::new(parts.store.clone(), parts.handler, parts.runner);
        let state = AppState::new(parts.store.clone(), parts.secrets, runner.pulse());
        let state = match parts.links {
            Some(links) => state.with_links(links),
            None => state,
        };
        let http = HttpServer::bind(parts.bind, state)
            .await
            .with_context(|| format!("cannot listen on {}; set another `bind`", parts.bind))?;
        let shutdown = CancellationToken::new();
        Ok(Self {
            address: http.address(),
            store: parts.store,
            http: tokio::spawn(http.run(shutdown.clone())),
            runner: tokio::spawn(runner.run(shutdown.clone())),
            shutdown,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends gracefully: requests are answered, running jobs end or are given back, the database is
    /// closed.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        let (http, runner) = tokio::join!(self.http, self.runner);
        self.store.close().await;
        http.context("the HTTP server failed")?;
        runner.context("the runner failed")?;
        Ok(())
    }
}
