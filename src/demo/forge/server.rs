//! The HTTP side: one gate in front of all routes that records, authenticates and lets faults strike.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State as Extract};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::auth::Caller;
use super::faults::{Answer, Fault, Moment, Recorded, strike};
use super::key::AppKey;
use super::model::State;
use super::reply::{Refusal, broken_off};
use super::routes;

/// Largest body that the forge takes.
const BODY_LIMIT: usize = 32 << 20;

/// What handlers share.
pub struct Shared {
    pub state: Mutex<State>,
    pub key: AppKey,
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

/// All routes, behind the gate.
pub fn router(shared: Arc<Shared>) -> Router {
    routes::all()
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(middleware::from_fn_with_state(shared.clone(), gate))
        .with_state(shared)
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
    };
    let mut struck = strike(&mut lock(&shared.faults), &record.method, &record.path);
    if let Some(strike) = struck.take_if(|strike| strike.moment == Moment::Before) {
        let response = faulty(shared, strike.answer, strike.call);
        record.status = response.status().as_u16();
        return Ok(finish(shared, record, response));
    }
    let caller = Caller::of(&parts.headers, &shared.state(), &shared.key);
    let response = match caller {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, Body::from(body))).await
        }
        Err(refusal) => refusal.into_response(),
    };
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await?;
    record.status = parts.status.as_u16();
    record.answer = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    if parts.status.is_server_error() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        lock(&shared.problems).push(format!("{} {}: {text}", record.method, record.path));
    }
    let response = match struck {
        Some(strike) => faulty(shared, strike.answer, strike.call),
        None => Response::from_parts(parts, Body::from(bytes)),
    };
    Ok(finish(shared, record, response))
}

/// Records the request and adds the headers that every answer has.
fn finish(shared: &Shared, record: Recorded, mut response: Response) -> Response {
    let number = {
        let mut requests = lock(&shared.requests);
        requests.push(record);
        requests.len()
    };
    let remaining = {
        let mut state = shared.state();
        state.rate_remaining = state.rate_remaining.saturating_sub(1);
        state.rate_remaining
    };
    let headers = response.headers_mut();
    let mut header = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.entry(name).or_insert(value);
        }
    };
    header("x-github-request-id", format!("FAKE:{number:06X}"));
    header("x-github-api-version-selected", "2022-11-28".to_owned());
    header("x-ratelimit-limit", "5000".to_owned());
    header("x-ratelimit-remaining", remaining.to_string());
    header(
        "x-ratelimit-used",
        (5_000 - remaining.min(5_000)).to_string(),
    );
    header("x-ratelimit-resource", "core".to_owned());
    let reset = shared.state().now().timestamp() + 3_600;
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
        Answer::Garbage(text) => Bytes::from_static(text.as_bytes()).into_response(),
        Answer::HangUp => broken_off(),
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
