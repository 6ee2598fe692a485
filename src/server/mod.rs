//! HTTP: the router, the webhook route, health.
//!
//! Invariant: no work is done within a request. The webhook route stores the delivery with its job
//! and answers; the runner does the rest.

mod app;
mod body;
mod health;
mod hooks;
mod listen;
mod pages;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use tower_http::timeout::TimeoutLayer;

use crate::publish::links::Links;
use crate::store::Store;
use crate::webhook::Secrets;
use crate::work::Pulse;

pub use app::{App, ServeParts};
pub use body::BODY_LIMIT;
pub use listen::HttpServer;

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
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) pulse: Pulse,
    pub(crate) room: body::Room,
    pub(crate) limits: Limits,
    pub(crate) links: Option<Links>,
}

impl AppState {
    pub fn new(store: Store, secrets: Secrets, pulse: Pulse) -> Self {
        Self {
            store,
            secrets: Arc::new(secrets),
            pulse,
            room: body::Room::default(),
            limits: Limits::default(),
            links: None,
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
}

/// The routes of interfaces section 3 that exist.
pub fn router(state: AppState) -> Router {
    Router::new()
        .route("/webhooks/github", post(hooks::receive))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/{owner}/{repo}", get(pages::dashboard))
        .route("/{owner}/{repo}/pull/{number}", get(pages::decision))
        .route(
            "/api/v1/repos/{owner}/{repo}/pulls/{number}/decision",
            get(pages::decision_json),
        )
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            state.limits.request,
        ))
        .with_state(state)
}
