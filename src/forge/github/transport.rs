//! One request, one answer: time-outs, size limits and errors. No retry: the job queue retries.

use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octocrab::{OctoBody, Octocrab};

use crate::forge::ForgeError;

/// Longest time for connecting, and between two reads.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time for a whole request.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(90);
/// A secondary limit that does not say how long it lasts.
const SECONDARY_LIMIT_PAUSE: TimeDelta = TimeDelta::seconds(60);
/// What the forge says in an error is cut to this many characters.
const MESSAGE_LIMIT: usize = 300;
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
            limit: 32 << 20,
        }
    }

    pub fn with_body(method: Method, path: impl Into<String>, body: serde_json::Value) -> Self {
        Self {
            method,
            body: Some(body),
            ..Self::get(path)
        }
    }

    /// What error texts call this request: never its body, which may be someone's secret.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A whole answer with a status below 300.
#[derive(Debug)]
pub(super) struct Answer {
    pub body: Bytes,
    /// `rel="next"` of the `Link` header, as path and query.
    pub next: Option<String>,
}

impl Answer {
    pub fn json<T: serde::de::DeserializeOwned>(&self, call: &Call) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body)
            // serde quotes what it found, which may be long, or anybody's text.
            .map_err(|error| ForgeError::Malformed(clean(&format!("{}: {error}", call.name()))))
    }
}

/// octocrab without credentials and without a base path; must be made inside a tokio runtime.
pub(super) fn build(origin: &str) -> Result<Octocrab, octocrab::Error> {
    Octocrab::builder()
        .base_uri(origin)?
        .set_connect_timeout(Some(CONNECT_TIMEOUT))
        .set_read_timeout(Some(READ_TIMEOUT))
        .set_write_timeout(Some(READ_TIMEOUT))
        .build()
}

/// Sends `call` to `path` (the call's own, below the API's root) with `authorization`.
pub(super) async fn send(
    transport: &Octocrab,
    call: &Call,
    path: &str,
    mut authorization: HeaderValue,
) -> Result<Answer, ForgeError> {
    authorization.set_sensitive(true);
    let builder = http::Request::builder()
        .method(call.method.clone())
        .uri(path)
        .header(header::ACCEPT, call.accept)
        .header(header::AUTHORIZATION, authorization);
    let request = transport
        .build_request(builder, call.body.as_ref())
        .map_err(|_| ForgeError::Malformed(format!("{}: no valid request", call.name())))?;
    match tokio::time::timeout(TOTAL_TIMEOUT, exchange(transport, call, request)).await {
        Ok(answer) => answer,
        Err(_) => Err(ForgeError::Transient(format!(
            "{}: no whole answer within {} s",
            call.name(),
            TOTAL_TIMEOUT.as_secs()
        ))),
    }
}

async fn exchange(
    transport: &Octocrab,
    call: &Call,
    request: http::Request<OctoBody>,
) -> Result<Answer, ForgeError> {
    let response = transport
        .execute(request)
        .await
        .map_err(|error| ForgeError::Transient(format!("{}: {}", call.name(), root(&error))))?;
    let (parts, body) = response.into_parts();
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
    if parts.status.is_success() {
        Ok(Answer {
            body,
            next: next_page(&parts.headers),
        })
    } else {
        Err(refusal(
            call,
            parts.status,
            &parts.headers,
            &body,
            Utc::now(),
        ))
    }
}

/// The innermost cause: octocrab's own texts hold backtraces.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    clean(&cause.to_string())
}

/// One line, bounded, without anything that looks like an installation token.
fn clean(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MESSAGE_LIMIT)
        .collect();
    line.split(' ')
        .map(|word| {
            if ["ghs_", "ghp_", "gho_", "ghu_", "github_pat_", "eyJ"]
                .iter()
                .any(|mark| word.contains(mark))
            {
                "[redacted]"
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// When a limit ends, if this answer speaks of one.
fn limited_until(
    status: StatusCode,
    headers: &HeaderMap,
    message: &str,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    if status != StatusCode::FORBIDDEN && status != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(now + TimeDelta::seconds(seconds.clamp(1, 3600)));
    }
    if number(headers, "x-ratelimit-remaining") == Some(0) {
        let reset = number(headers, "x-ratelimit-reset")
            .and_then(|at| DateTime::from_timestamp(at, 0))
            .unwrap_or(now + SECONDARY_LIMIT_PAUSE);
        // A second past the reset; never in the past, never further than a limit's own window.
        return Some(reset.clamp(now, now + TimeDelta::hours(1)) + TimeDelta::seconds(1));
    }
    let secondary = status == StatusCode::TOO_MANY_REQUESTS
        || message.to_ascii_lowercase().contains("rate limit");
    secondary.then(|| now + SECONDARY_LIMIT_PAUSE)
}

fn refusal(
    call: &Call,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: DateTime<Utc>,
) -> ForgeError {
    #[derive(serde::Deserialize)]
    struct Refusal {
        #[serde(default)]
        message: String,
        #[serde(default)]
        errors: Option<serde_json::Value>,
    }
    let message = match serde_json::from_slice::<Refusal>(body) {
        Ok(refusal) => match refusal.errors {
            Some(errors) => format!("{} {errors}", refusal.message),
            None => refusal.message,
        },
        Err(_) => String::new(),
    };
    if let Some(until) = limited_until(status, headers, &message, now) {
        return ForgeError::RateLimited { until };
    }
    let text = clean(&format!("{}: {} {message}", call.name(), status.as_u16()));
    let text = text.trim_end().to_owned();
    match status.as_u16() {
        401 => ForgeError::Unauthorized(text),
        403 | 451 => ForgeError::Forbidden(text),
        404 => ForgeError::NotFound(text),
        410 => ForgeError::Gone(text),
        408 | 425 | 500..=599 => ForgeError::Transient(text),
        400..=499 => ForgeError::Validation(text),
        // A redirect that was not followed leads to another host, or round in circles.
        _ => ForgeError::Malformed(text),
    }
}

/// The next page's path and query. Relative, because the token goes to one host only.
fn next_page(headers: &HeaderMap) -> Option<String> {
    let links = headers.get(header::LINK)?.to_str().ok()?;
    links.split(',').find_map(|link| {
        let (target, parameters) = link.split_once(';')?;
        let next = parameters
            .split(';')
            .any(|p| matches!(p.trim(), "rel=\"next\"" | "rel=next"));
        let target = target.trim().strip_prefix('<')?.strip_suffix('>')?;
        let uri: http::Uri = target.parse().ok()?;
        next.then(|| uri.path_and_query().map(|p| p.as_str().to_owned()))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                let name = http::HeaderName::from_static(name);
                (name, value.parse().expect("a header value"))
            })
            .collect()
    }

    fn refused(status: u16, pairs: &[(&'static str, &str)], body: &str) -> ForgeError {
        let status = StatusCode::from_u16(status).expect("a status");
        let now = DateTime::from_timestamp(1_000, 0).expect("a time");
        let call = Call::get("/repos/a/b");
        refusal(&call, status, &headers(pairs), body.as_bytes(), now)
    }

    fn until(seconds: i64) -> ForgeError {
        ForgeError::RateLimited {
            until: DateTime::from_timestamp(seconds, 0).expect("a time"),
        }
    }

    #[test]
    fn limits_are_told_from_missing_permissions() {
        assert_eq!(refused(429, &[("retry-after", "7")], ""), until(1_007));
        assert_eq!(
            refused(
                403,
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1200")
                ],
                ""
            ),
            until(1_201)
        );
        assert_eq!(
            refused(
                403,
                &[],
                r#"{"message":"You have exceeded a secondary rate limit"}"#
            ),
            until(1_060)
        );
        let forbidden = refused(
            403,
            &[("x-ratelimit-remaining", "17")],
            r#"{"message":"Resource not accessible by integration"}"#,
        );
        assert_eq!(
            forbidden,
            ForgeError::Forbidden(
                "GET /repos/a/b: 403 Resource not accessible by integration".to_owned()
            )
        );
    }

    #[test]
    fn each_status_is_an_error_that_callers_can_branch_on() {
        assert!(matches!(refused(401, &[], ""), ForgeError::Unauthorized(_)));
        assert!(matches!(refused(404, &[], ""), ForgeError::NotFound(_)));
        assert!(matches!(refused(410, &[], ""), ForgeError::Gone(_)));
        assert!(matches!(refused(422, &[], ""), ForgeError::Validation(_)));
        assert!(matches!(refused(409, &[], ""), ForgeError::Validation(_)));
        assert!(matches!(
            refused(502, &[], "<html>"),
            ForgeError::Transient(_)
        ));
        assert!(matches!(refused(302, &[], ""), ForgeError::Malformed(_)));
    }

    #[test]
    fn credentials_never_reach_an_error_text() {
        let error = refused(
            422,
            &[],
            r#"{"message":"bad token=ghs_abc.def.ghi and eyJhbGciOiJSUzI1NiJ9.x.y here"}"#,
        );
        let text = error.to_string();
        assert!(!text.contains("ghs_") && !text.contains("eyJ"), "{text}");
        assert!(text.contains("here"), "{text}");
    }

    #[test]
    fn paging_is_relative_and_only_forward() {
        let link = r#"<https://host/api/v3/x?page=1>; rel="prev", <https://host/api/v3/x?page=3&per_page=100>; rel="next""#;
        assert_eq!(
            next_page(&headers(&[("link", link)])).as_deref(),
            Some("/api/v3/x?page=3&per_page=100")
        );
        let last = r#"<https://host/x?page=1>; rel="first""#;
        assert_eq!(next_page(&headers(&[("link", last)])), None);
    }
}
