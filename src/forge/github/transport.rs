//! One request, one answer: time-outs, size limits and errors. No retry: the job queue retries.

use std::time::{Duration, Instant};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octocrab::{OctoBody, Octocrab};

use crate::forge::ForgeError;
use crate::metrics::{Metrics, RATE_RESOURCES, RateLeft};

use super::auth::Scope;
use super::clock::ForgeClock;
use super::redirect::{self, Way};
use super::refusal::{clean, has_next_page, limit_end, next_cursor, number, refusal, root};

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// Between two reads, and between two writes.
    pub read: Duration,
    /// From the first byte sent to the last one received.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(30),
            total: Duration::from_secs(90),
        }
    }
}

/// Error bodies are read up to this size.
const ERROR_BODY_LIMIT: usize = 64 * 1024;

pub(super) const JSON: &str = "application/vnd.github+json";
pub(super) const RAW: &str = "application/vnd.github.raw+json";

/// A request before it is signed.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub method: Method,
    /// Path and query below the API's root, starting with `/`.
    pub path: String,
    pub accept: &'static str,
    pub body: Option<serde_json::Value>,
    /// It changes something: it is signed with a token that may write.
    pub writes: bool,
    /// It needs a token for something else than what `writes` says.
    pub scope: Option<Scope>,
    /// The answer is wanted only if its entity tag is another one.
    pub unless: Option<HeaderValue>,
    /// Largest answer that is read, in bytes.
    pub limit: usize,
}

impl Call {
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            accept: JSON,
            body: None,
            writes: false,
            scope: None,
            unless: None,
            limit: 32 << 20,
        }
    }

    pub fn with_body(method: Method, path: impl Into<String>, body: serde_json::Value) -> Self {
        Self {
            method,
            body: Some(body),
            writes: true,
            ..Self::get(path)
        }
    }

    /// A GraphQL operation; a query only reads.
    pub fn graphql(query: &str, variables: &serde_json::Value) -> Self {
        let body = serde_json::json!({"query": query, "variables": variables});
        Self {
            writes: query.starts_with("mutation"),
            ..Self::with_body(Method::POST, "/graphql", body)
        }
    }

    /// What error texts call this request: never its body, which may be someone's secret.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A whole answer with a status below 300, or 304.
#[derive(Debug)]
pub(super) struct Answer {
    pub body: Bytes,
    /// The `Link` header names a next page.
    pub more: bool,
    pub etag: Option<HeaderValue>,
    /// 304: the tag of [`Call::unless`] still stands, and there is no body.
    pub unchanged: bool,
    /// When the limit ends that the headers speak of, if they speak of one.
    pub limit_ends: Option<DateTime<Utc>>,
    /// Another address of the same forge gave it: the one that was asked leads there.
    pub redirected: bool,
    /// The `cursor` in the address of the next page, where pages are told apart so.
    pub cursor: Option<String>,
}

/// How many requests an installation has left, as an answer's headers tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rate {
    /// `core`, `graphql`: each has its own limit.
    pub resource: String,
    pub limit: u32,
    pub remaining: u32,
    /// Unix seconds.
    pub reset: i64,
}

impl Rate {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let count = |name| u32::try_from(number(headers, name)?).ok();
        Some(Self {
            resource: headers
                .get("x-ratelimit-resource")?
                .to_str()
                .ok()?
                .to_owned(),
            limit: count("x-ratelimit-limit")?,
            remaining: count("x-ratelimit-remaining")?,
            reset: number(headers, "x-ratelimit-reset")?,
        })
    }
}

impl Rate {
    /// For counting; `None` for a limit that nobody watches.
    fn left(&self) -> Option<RateLeft> {
        Some(RateLeft {
            resource: RATE_RESOURCES
                .iter()
                .find(|known| **known == self.resource)?,
            remaining: self.remaining.into(),
            reset: DateTime::from_timestamp(self.reset, 0)?,
        })
    }
}

/// What came of a request, with what its headers tell of limits.
pub(super) type Exchange = (Result<Answer, ForgeError>, Option<Rate>);

impl Answer {
    pub fn json<T: serde::de::DeserializeOwned>(&self, call: &Call) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body)
            // serde quotes what it found, which may be long, or anybody's text.
            .map_err(|error| ForgeError::Malformed(clean(&format!("{}: {error}", call.name()))))
    }
}

/// octocrab without credentials and without a base path; must be made inside a tokio runtime.
pub(super) fn build(
    origin: &str,
    timeouts: Timeouts,
    metrics: Metrics,
) -> Result<Transport, octocrab::Error> {
    let octocrab = Octocrab::builder()
        .base_uri(origin)?
        .set_connect_timeout(Some(timeouts.connect))
        .set_read_timeout(Some(timeouts.read))
        .set_write_timeout(Some(timeouts.read))
        .build()?;
    Ok(Transport {
        octocrab,
        origin: origin.to_owned(),
        total: timeouts.total,
        clock: ForgeClock::default(),
        metrics,
    })
}

/// The way to one host.
#[derive(Clone)]
pub(super) struct Transport {
    octocrab: Octocrab,
    /// Scheme, host and port.
    origin: String,
    total: Duration,
    pub clock: ForgeClock,
    pub metrics: Metrics,
}

/// Sends `call` to `path` (the call's own, below the API's root) with `authorization`.
pub(super) async fn send(
    transport: &Transport,
    call: &Call,
    path: &str,
    authorization: impl Into<Option<HeaderValue>>,
) -> Exchange {
    let started = Instant::now();
    let exchange = send_once(transport, call, path, authorization.into()).await;
    let metrics = &transport.metrics;
    let result = exchange.0.as_ref().map_or_else(ForgeError::name, |_| "ok");
    metrics.forge_request(result, started.elapsed());
    if let Some(left) = exchange.1.as_ref().and_then(Rate::left) {
        metrics.rate_left(left);
    }
    exchange
}

async fn send_once(
    transport: &Transport,
    call: &Call,
    path: &str,
    authorization: Option<HeaderValue>,
) -> Exchange {
    let mut builder = http::Request::builder()
        .method(call.method.clone())
        .uri(path)
        .header(header::ACCEPT, call.accept);
    if let Some(mut authorization) = authorization {
        authorization.set_sensitive(true);
        builder = builder.header(header::AUTHORIZATION, authorization);
    }
    if let Some(tag) = &call.unless {
        builder = builder.header(header::IF_NONE_MATCH, tag);
    }
    let request = transport
        .octocrab
        .build_request(builder, call.body.as_ref());
    let Ok(request) = request else {
        let error = ForgeError::Malformed(format!("{}: no valid request", call.name()));
        return (Err(error), None);
    };
    let exchange = exchange(transport, call, request);
    match tokio::time::timeout(transport.total, exchange).await {
        Ok(exchange) => exchange,
        Err(_) => {
            let error = ForgeError::Transient(format!(
                "{}: no whole answer within {} s",
                call.name(),
                transport.total.as_secs_f32()
            ));
            (Err(error), None)
        }
    }
}

async fn exchange(
    transport: &Transport,
    call: &Call,
    request: http::Request<OctoBody>,
) -> Exchange {
    let asked = request.uri().clone();
    let response = match transport.octocrab.execute(request).await {
        Ok(response) => response,
        Err(error) => {
            let error = ForgeError::Transient(format!("{}: {}", call.name(), root(&error)));
            return (Err(error), None);
        }
    };
    let (parts, body) = response.into_parts();
    let rate = Rate::of(&parts.headers);
    let way = Way::of(&parts.extensions, &transport.origin, &asked);
    let answer = match way {
        Way::Elsewhere => Err(redirect::elsewhere(call)),
        Way::Straight | Way::Redirected => {
            transport.clock.note(&parts.headers, Utc::now());
            read(call, &parts, body).await
        }
    };
    (redirect::seen(way, answer), rate)
}

async fn read(
    call: &Call,
    parts: &http::response::Parts,
    body: BoxBody<Bytes, octocrab::Error>,
) -> Result<Answer, ForgeError> {
    let limit = if parts.status.is_success() {
        call.limit
    } else {
        ERROR_BODY_LIMIT
    };
    let body = match Limited::new(body, limit).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() && parts.status.is_success() => {
            return Err(ForgeError::TooLarge {
                what: call.name(),
                limit,
            });
        }
        Err(_) if !parts.status.is_success() => Bytes::new(),
        Err(error) => {
            return Err(ForgeError::Transient(format!(
                "{}: the answer broke off: {}",
                call.name(),
                root(error.as_ref())
            )));
        }
    };
    let now = Utc::now();
    let unchanged = call.unless.is_some() && parts.status == StatusCode::NOT_MODIFIED;
    if parts.status.is_success() || unchanged {
        Ok(Answer {
            body,
            more: has_next_page(&parts.headers),
            etag: parts.headers.get(header::ETAG).cloned(),
            unchanged,
            limit_ends: limit_end(&parts.headers, now),
            redirected: false,
            cursor: next_cursor(&parts.headers),
        })
    } else {
        Err(refusal(call, parts.status, &parts.headers, &body, now))
    }
}
