//! HTTP: the router, the webhook route, health.
//!
//! Invariant: no work is done within a request. The webhook route stores the delivery with its job
//! and answers; the runner does the rest.

mod app;
mod body;
mod health;
mod hooks;
mod listen;
mod metrics;
mod pages;
mod places;
mod setup;

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, post};
use tower_http::timeout::TimeoutLayer;

use crate::metrics::Metrics;
use crate::publish::links::Links;
use crate::store::Store;
use crate::webhook::SharedSecrets;
use crate::work::Pulse;

pub use app::{App, ServeParts};
pub use body::BODY_LIMIT;
pub use listen::HttpServer;
pub use setup::{Registered, Setup, SetupParts, Wanted, wanted};

/// What a client may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// For a whole request: its body must have come and its answer be ready.
    pub request: Duration,
    /// For a request's headers; also the longest a connection stays open between requests.
    pub headers: Duration,
    /// Open connections; more wait in the system's backlog.
    pub connections: usize,
}

impl Default for Limits {
    /// The forge gives up on an answer after ten seconds.
    fn default() -> Self {
        Self {
            request: Duration::from_secs(9),
            headers: Duration::from_secs(10),
            connections: 1024,
        }
    }
}

/// What the routes need; cheap to clone.
#[derive(Clone)]
pub struct AppState {
    pub(crate) store: Store,
    pub(crate) secrets: SharedSecrets,
    pub(crate) pulse: Pulse,
    pub(crate) room: body::Room,
    pub(crate) limits: Limits,
    pub(crate) links: Option<Links>,
    pub(crate) metrics: Metrics,
    /// Whose events about check-runs tell us nothing new.
    pub(crate) app_id: Option<u64>,
    /// `/metrics` is one of these routes.
    pub(crate) shows_metrics: bool,
}

impl AppState {
    pub fn new(store: Store, secrets: impl Into<SharedSecrets>, pulse: Pulse) -> Self {
        Self {
            store,
            secrets: secrets.into(),
            pulse,
            room: body::Room::default(),
            limits: Limits::default(),
            links: None,
            metrics: Metrics::default(),
            shows_metrics: true,
            app_id: None,
        }
    }

    /// Events about this App's own check-runs are of no use.
    pub fn with_app(self, app_id: u64) -> Self {
        Self {
            app_id: Some(app_id),
            ..self
        }
    }

    /// Capabilities of these links open pages.
    pub fn with_links(self, links: Links) -> Self {
        Self {
            links: Some(links),
            ..self
        }
    }

    /// With other limits than the default ones.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// With counters that others count with too. `shown`: at `/metrics` of these routes.
    pub fn with_metrics(self, metrics: Metrics, shown: bool) -> Self {
        Self {
            metrics,
            shows_metrics: shown,
            ..self
        }
    }
}

/// The routes of interfaces section 3 that exist.
pub fn router(state: AppState) -> Router {
    let within = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, state.limits.request);
    let count = middleware::from_fn_with_state(state.clone(), metrics::count_delivery);
    let mut routes = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/{owner}/{repo}", get(pages::dashboard))
        .route("/{owner}/{repo}/pull/{number}", get(pages::decision))
        .route(
            "/api/v1/repos/{owner}/{repo}/pulls/{number}/decision",
            get(pages::decision_json),
        );
    if state.shows_metrics {
        routes = routes.route("/metrics", get(metrics::show));
    }
    Router::new()
        .route(
            "/webhooks/github",
            post(hooks::receive).route_layer(within).route_layer(count),
        )
        .merge(routes.layer(within))
        .with_state(state)
}

/// `/metrics` alone, for an address of its own.
fn metrics_router(state: AppState) -> Router {
    let within = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, state.limits.request);
    Router::new()
        .route("/metrics", get(metrics::show))
        .layer(within)
        .with_state(state)
}
