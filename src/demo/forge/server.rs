//! The HTTP side: one gate in front of all routes that records, authenticates and lets faults strike.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State as Extract};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::auth::Caller;
use super::faults::{Answer, Fault, Moment, Recorded, Strike, strike};
use super::key::AppKey;
use super::model::State;
use super::moves;
use super::reply::{Refusal, broken_off, redirect, trickle};
use super::routes;

/// Largest body that the forge takes.
const BODY_LIMIT: usize = 32 << 20;

/// Larger answers are not recorded.
const RECORDED_ANSWER: usize = 4 << 20;

/// Where the API stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the root, as on api.github.com.
    Public,
    /// `/api/v3` and `/api/graphql`, as on GitHub Enterprise Server.
    Enterprise,
}

/// What handlers share.
pub struct Shared {
    pub state: Mutex<State>,
    pub key: AppKey,
    pub webhook_secret: String,
    pub faults: Mutex<Vec<Fault>>,
    pub requests: Mutex<Vec<Recorded>>,
    /// What no client may do and the forge may not suffer: unknown routes, failures of its own.
    pub problems: Mutex<Vec<String>>,
    /// Counts answered requests; wakes who waits for the model to change.
    pub answered: tokio::sync::watch::Sender<u64>,
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A panic in one handler must not hide what the others did.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All routes, behind the gate, at the paths of the public forge or of one's own server.
pub fn router(shared: Arc<Shared>, place: Place) -> Router {
    let routes = match place {
        Place::Public => routes::all().merge(routes::graphql()),
        Place::Enterprise => Router::new()
            .nest("/api/v3", routes::all())
            .nest("/api", routes::graphql()),
    };
    let routes = routes
        .merge(routes::pages())
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(middleware::from_fn_with_state(shared.clone(), gate))
        .with_state(shared.clone());
    // Before the routes are looked at.
    Router::new()
        .fallback_service(routes)
        .layer(middleware::from_fn_with_state(shared, by_name))
}

async fn by_name(
    Extract(shared): Extract<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let named = moves::by_name(&shared.state(), request.uri());
    if let Some(uri) = named {
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

async fn unknown(Extract(shared): Extract<Arc<Shared>>, request: Request) -> Refusal {
    let what = format!(
        "no such route: {} {}",
        request.method(),
        request.uri().path()
    );
    lock(&shared.problems).push(what);
    Refusal::not_found()
}

async fn gate(Extract(shared): Extract<Arc<Shared>>, request: Request, next: Next) -> Response {
    match through(&shared, request, next).await {
        Ok(response) => response,
        Err(error) => {
            lock(&shared.problems).push(format!("{error:#}"));
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn through(shared: &Shared, request: Request, next: Next) -> Result<Response> {
    let (mut parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_LIMIT).await?;
    let mut record = Recorded {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or("").to_owned(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        status: 0,
        answer: Value::Null,
        faulty: false,
    };
    let unless = parts.headers.get(header::IF_NONE_MATCH).cloned();
    let mut struck = strike(&mut lock(&shared.faults), &record.method, &record.path);
    let as_it_is = |strike: &Strike| matches!(strike.answer, Answer::AsItIs);
    if let Some(strike) = struck.as_mut().filter(|strike| as_it_is(strike))
        && strike.moment == Moment::Before
        && let Some(call) = strike.call.take()
    {
        call();
    }
    let before = |strike: &mut Strike| strike.moment == Moment::Before && !as_it_is(strike);
    if let Some(strike) = struck.take_if(before) {
        let silent = matches!(strike.answer, Answer::Silence);
        let response = faulty(shared, strike.answer, strike.call);
        record.status = response.status().as_u16();
        record.faulty = true;
        let response = finish(shared, record, response);
        if silent {
            std::future::pending::<()>().await;
        }
        return Ok(response);
    }
    let moved = moves::redirect(&shared.state(), &record.method, &parts.uri);
    if let Some(response) = moved {
        record.status = response.status().as_u16();
        return Ok(finish(shared, record, response));
    }
    let caller = match routes::registration::is_open(parts.uri.path()) {
        true => Ok(None),
        false => Caller::of(&parts.headers, &shared.state(), &shared.key).map(Some),
    };
    let response = match caller {
        Ok(caller) => {
            if let Some(caller) = caller {
                parts.extensions.insert(caller);
            }
            next.run(Request::from_parts(parts, Body::from(body))).await
        }
        Err(refusal) => refusal.into_response(),
    };
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await?;
    record.status = parts.status.as_u16();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json && bytes.len() <= RECORDED_ANSWER {
        record.answer = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    }
    if parts.status.is_server_error() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        lock(&shared.problems).push(format!("{} {}: {text}", record.method, record.path));
    }
    let response = match struck {
        Some(strike) if !matches!(strike.answer, Answer::AsItIs) => {
            faulty(shared, strike.answer, strike.call)
        }
        strike => {
            if let Some(call) = strike.and_then(|strike| strike.call) {
                call();
            }
            tagged(
                &mut record,
                unless,
                Response::from_parts(parts, Body::from(bytes)),
            )
        }
    };
    Ok(finish(shared, record, response))
}

/// Gives what was read its entity tag; without a body where the caller has it already.
fn tagged(record: &mut Recorded, unless: Option<HeaderValue>, mut response: Response) -> Response {
    if record.method != "GET" || record.status != 200 || record.answer.is_null() {
        return response;
    }
    let digest = Sha256::digest(record.answer.to_string().as_bytes());
    let Ok(tag) = HeaderValue::from_str(&format!("W/\"{}\"", hex::encode(digest))) else {
        return response;
    };
    if unless.as_ref() == Some(&tag) {
        record.status = 304;
        record.answer = Value::Null;
        response = StatusCode::NOT_MODIFIED.into_response();
    }
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// Records the request and adds the headers that every answer has.
fn finish(shared: &Shared, record: Recorded, mut response: Response) -> Response {
    let resource = match record.path.ends_with("/graphql") {
        true => "graphql",
        false => "core",
    };
    let number = {
        let mut requests = lock(&shared.requests);
        requests.push(record);
        requests.len()
    };
    // What has not changed costs nothing.
    let cost = u32::from(response.status() != StatusCode::NOT_MODIFIED);
    let ((limit, remaining, reset), now) = {
        let mut state = shared.state();
        (state.spend(cost), state.now())
    };
    let headers = response.headers_mut();
    let mut header = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.entry(name).or_insert(value);
        }
    };
    header("date", now.format("%a, %d %b %Y %H:%M:%S GMT").to_string());
    header("x-github-request-id", format!("FAKE:{number:06X}"));
    header("x-github-api-version-selected", "2022-11-28".to_owned());
    header("x-ratelimit-limit", limit.to_string());
    header("x-ratelimit-remaining", remaining.to_string());
    header(
        "x-ratelimit-used",
        limit.saturating_sub(remaining).to_string(),
    );
    header("x-ratelimit-resource", resource.to_owned());
    header("x-ratelimit-reset", reset.to_string());
    shared.answered.send_modify(|count| *count += 1);
    response
}

fn faulty(shared: &Shared, answer: Answer, call: Option<super::faults::Call>) -> Response {
    if let Some(call) = call {
        call();
    }
    let with = |message: &str, headers: &[(&'static str, String)]| {
        let mut response = Refusal::new(403, message).into_response();
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(*name, value);
            }
        }
        response
    };
    match answer {
        Answer::Status(status) => Refusal::new(status, "fault on purpose").into_response(),
        Answer::Redirect(to) => redirect(StatusCode::FOUND, &to),
        Answer::Garbage(text) => Bytes::from_static(text.as_bytes()).into_response(),
        Answer::HangUp | Answer::Silence | Answer::AsItIs => broken_off(),
        Answer::Trickle => trickle(),
        Answer::Flood(bytes) => Bytes::from(vec![b' '; bytes]).into_response(),
        Answer::GraphqlLimited(wait) => {
            let message = "API rate limit exceeded for installation ID 1.";
            let body =
                serde_json::json!({"errors": [{"type": "RATE_LIMITED", "message": message}]});
            let mut response = axum::Json(body).into_response();
            let reset = shared.state().now().timestamp() + wait.as_secs().cast_signed();
            let headers = response.headers_mut();
            headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
            headers.insert("x-ratelimit-reset", HeaderValue::from(reset));
            response
        }
        Answer::RateLimited(wait) => {
            let reset = shared.state().now().timestamp() + wait.as_secs().cast_signed();
            with(
                "API rate limit exceeded for installation ID 1.",
                &[
                    ("x-ratelimit-remaining", "0".to_owned()),
                    ("x-ratelimit-reset", reset.to_string()),
                ],
            )
        }
        Answer::Secondary(wait) => with(
            "You have exceeded a secondary rate limit.",
            &[("retry-after", wait.as_secs().to_string())],
        ),
    }
}
