//! `GET /setup`: registers the App through the forge's manifest flow, in a browser.
//!
//! ```text
//! /setup?token=…  ── form with the manifest, posted to the forge ──▶ the person confirms there
//! /setup/done?code=…&state=…  ◀── the forge sends the browser back; the code buys id, key and secret
//! ```
//!
//! Invariants: without the one-time token there is nothing here; a code is taken only with a state that
//! a page of ours gave out, once; key and secret go to the file and to no page, log or error.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use url::Url;

use crate::config::credentials::{Credentials, Reserved};
use crate::config::server::Secret;
use crate::forge::ForgeError;
use crate::forge::github::Registry;

use page::{Ask, escaped};

mod manifest;
mod page;

pub use manifest::{Wanted, wanted};

/// States that are good at a time: pages that were opened and not gone through.
const STATES: usize = 16;

/// What registering an App needs.
pub struct SetupParts {
    pub registry: Registry,
    /// Where the browser reaches this process.
    pub here: Url,
    /// Where the forge reaches the server that is being set up.
    pub public_url: Url,
    /// What the pages propose.
    pub name: String,
    pub organization: Option<String>,
    pub reserved: Reserved,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    pub app_id: u64,
    pub name: String,
    /// Where the App is installed.
    pub install: String,
    pub file: std::path::PathBuf,
}

/// The pages; clones share their state.
#[derive(Clone)]
pub struct Setup {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    here: Url,
    public_url: Url,
    name: String,
    organization: Option<String>,
    token: String,
    progress: Mutex<Progress>,
    registered: watch::Sender<Option<Registered>>,
}

#[derive(Default)]
struct Progress {
    states: Vec<String>,
    /// Taken by the code that is being exchanged.
    reserved: Option<Reserved>,
}

#[derive(Deserialize)]
struct Opened {
    #[serde(default)]
    token: String,
    name: Option<String>,
    organization: Option<String>,
}

#[derive(Deserialize)]
struct SentBack {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
}

impl Setup {
    pub fn new(parts: SetupParts) -> Self {
        let progress = Progress {
            states: Vec::new(),
            reserved: Some(parts.reserved),
        };
        Self {
            inner: Arc::new(Inner {
                registry: parts.registry,
                here: parts.here,
                public_url: parts.public_url,
                name: parts.name,
                organization: parts.organization.filter(|name| !name.is_empty()),
                token: random(),
                progress: Mutex::new(progress),
                registered: watch::Sender::new(None),
            }),
        }
    }

    /// The address to open. It holds the token.
    pub fn link(&self) -> String {
        format!("{}?token={}", self.inner.address("setup"), self.inner.token)
    }

    /// Resolves when the App is registered and its credentials are on the disk.
    pub async fn registered(&self) -> Option<Registered> {
        let mut watched = self.inner.registered.subscribe();
        watched.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// The routes; nothing else is served while there is no App.
    pub fn routes(&self) -> Router {
        Router::new()
            .route("/setup", get(open))
            .route("/setup/done", get(done))
            .route("/healthz", get(super::health::alive))
            .route("/readyz", get(not_yet))
            .route("/webhooks/github", post(not_yet))
            .with_state(self.clone())
    }
}

impl Inner {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.here.as_str().trim_end_matches('/'))
    }

    fn is_open(&self) -> bool {
        self.registered.borrow().is_none()
    }
}

/// 256 bits, as text.
fn random() -> String {
    hex::encode(rand::random::<[u8; 32]>())
}

/// Compares digests, so that the time tells nothing of the secret.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

async fn not_yet() -> (StatusCode, &'static str) {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "no App is registered yet\n",
    )
}

/// A person's account or an organisation, as the forge writes them.
fn is_account(name: &str) -> bool {
    name.len() <= 100
        && !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

async fn open(State(setup): State<Setup>, Query(opened): Query<Opened>) -> Response {
    let inner = &setup.inner;
    if !inner.is_open() || !same(&opened.token, &inner.token) {
        return nothing();
    }
    let organization = match opened.organization {
        Some(name) => Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
        None => inner.organization.clone(),
    };
    if organization
        .as_deref()
        .is_some_and(|name| !is_account(name))
    {
        return problem(
            StatusCode::BAD_REQUEST,
            "An organisation's name has letters, digits and hyphens only. Go back and write it again.",
        );
    }
    let name = opened.name.filter(|name| !name.trim().is_empty());
    let name = name.unwrap_or_else(|| inner.name.clone());
    let back = inner.address("setup/done");
    let manifest = manifest::manifest(name.trim(), &inner.public_url, &back);
    let state = random();
    {
        let mut progress = inner.progress();
        progress.states.push(state.clone());
        let over = progress.states.len().saturating_sub(STATES);
        progress.states.drain(..over);
    }
    let site = inner.registry.site();
    let place = match &organization {
        Some(name) => format!("{site}/organizations/{name}/settings/apps/new"),
        None => format!("{site}/settings/apps/new"),
    };
    let ask = Ask {
        token: &inner.token,
        name: name.trim(),
        organization: organization.as_deref().unwrap_or(""),
        action: &format!("{place}?state={state}"),
        manifest: &manifest.to_string(),
        webhooks: &format!(
            "{}/webhooks/github",
            inner.public_url.as_str().trim_end_matches('/')
        ),
    };
    page(StatusCode::OK, &ask.page(), &site)
}

async fn done(State(setup): State<Setup>, Query(back): Query<SentBack>) -> Response {
    let inner = &setup.inner;
    let reserved = {
        let mut progress = inner.progress();
        let known = progress
            .states
            .iter()
            .position(|state| same(state, &back.state));
        let Some(known) = known else {
            return nothing();
        };
        progress.states.remove(known);
        progress.reserved.take()
    };
    let Some(reserved) = reserved else {
        return problem(
            StatusCode::CONFLICT,
            "Another answer of the forge is being worked on.",
        );
    };
    match exchange(inner, &back.code, reserved).await {
        Ok(registered) => {
            tracing::info!(app = registered.app_id, "the App is registered");
            let body = page::registered(&registered);
            inner.registered.send_replace(Some(registered));
            page(StatusCode::OK, &body, "'none'")
        }
        Err(Failed { why, reserved }) => {
            tracing::warn!(why, "the App could not be taken over");
            inner.progress().reserved = reserved;
            problem(StatusCode::BAD_GATEWAY, &why)
        }
    }
}

struct Failed {
    /// For people; holds no secret.
    why: String,
    /// Given back, when another try makes sense.
    reserved: Option<Reserved>,
}

async fn exchange(inner: &Inner, code: &str, reserved: Reserved) -> Result<Registered, Failed> {
    let app = match inner.registry.convert(code).await {
        Ok(app) => app,
        Err(error) => {
            return Err(Failed {
                why: format!(
                    "The forge gave no App for this code: {error}. {}",
                    way_out(&error)
                ),
                reserved: Some(reserved),
            });
        }
    };
    let Some(secret) = app.webhook_secret else {
        return Err(Failed {
            why: format!(
                "The forge made the App {:?} without a webhook secret. Delete it there and begin again.",
                app.name
            ),
            reserved: Some(reserved),
        });
    };
    let credentials = Credentials {
        app_id: app.id,
        api_url: inner.registry.api_url().clone(),
        private_key: Secret::new(app.pem),
        webhook_secrets: vec![Secret::new(secret)],
    };
    let file = reserved.write(&credentials).map_err(|why| Failed {
        why: format!(
            "{why}. The App {:?} exists, but its key is lost: delete it at the forge and begin again.",
            app.name
        ),
        reserved: None,
    })?;
    Ok(Registered {
        app_id: app.id,
        install: format!(
            "{}/installations/new",
            app.html_url.as_str().trim_end_matches('/')
        ),
        name: app.name,
        file,
    })
}

fn way_out(error: &ForgeError) -> &'static str {
    match error {
        ForgeError::NotFound(_) => "A code is good once and for an hour. Begin again.",
        _ => "Begin again; delete the App at the forge if it was made.",
    }
}

fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "not found\n").into_response()
}

fn problem(status: StatusCode, why: &str) -> Response {
    let body = page::page("It did not work", &format!("<p>{}</p>", escaped(why)));
    page(status, &body, "'none'")
}

/// `form` is where its form may go.
fn page(status: StatusCode, body: &str, form: &str) -> Response {
    let policy = format!(
        "default-src 'none'; style-src '{}'; form-action 'self' {form}; base-uri 'none'; frame-ancestors 'none'",
        page::style_hash()
    );
    let headers = [
        // The address holds the token.
        (
            header::REFERRER_POLICY,
            Some(HeaderValue::from_static("no-referrer")),
        ),
        (
            header::CACHE_CONTROL,
            Some(HeaderValue::from_static("no-store")),
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_str(&policy).ok(),
        ),
    ];
    let mut response = (status, Html(body.to_owned())).into_response();
    for (name, value) in headers {
        if let Some(value) = value {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
