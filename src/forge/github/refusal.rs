//! What an answer's status and headers say: an error that callers can branch on, the end of a limit, the next
//! page.

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode, header};

use super::transport::Call;
use crate::forge::ForgeError;

/// A secondary limit that does not say how long it lasts.
pub(super) const SECONDARY_LIMIT_PAUSE: TimeDelta = TimeDelta::seconds(60);
/// What the forge says for a suspended installation, of a new token as of an old one.
const SUSPENDED: &str = "installation has been suspended";
/// What the forge says in an error is cut to this many characters.
const MESSAGE_LIMIT: usize = 300;

/// The innermost cause: octocrab's own texts hold backtraces.
pub(super) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    clean(&cause.to_string())
}

/// One line, bounded, without anything that looks like an installation token.
pub(super) fn clean(text: &str) -> String {
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

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
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
    let secondary = status == StatusCode::TOO_MANY_REQUESTS || speaks_of_limit(message);
    limit_end(headers, now).or_else(|| secondary.then(|| now + SECONDARY_LIMIT_PAUSE))
}

pub(super) fn speaks_of_limit(message: &str) -> bool {
    message.to_ascii_lowercase().contains("rate limit")
}

/// The time that the headers name for the end of a limit.
pub(super) fn limit_end(headers: &HeaderMap, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(now + TimeDelta::seconds(seconds.clamp(1, 3600)));
    }
    if number(headers, "x-ratelimit-remaining") != Some(0) {
        return None;
    }
    let reset = number(headers, "x-ratelimit-reset")
        .and_then(|at| DateTime::from_timestamp(at, 0))
        .unwrap_or(now + SECONDARY_LIMIT_PAUSE);
    // A second past the reset; never in the past, never further than a limit's own window.
    Some(reset.clamp(now, now + TimeDelta::hours(1)) + TimeDelta::seconds(1))
}

/// The error that an answer is.
pub(super) fn refusal(
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
        // As one that is gone, until an event says that it is back.
        403 if message.contains(SUSPENDED) => ForgeError::OutOfReach,
        403 | 451 => ForgeError::Forbidden(text),
        404 => ForgeError::NotFound(text),
        410 => ForgeError::Gone(text),
        408 | 425 | 500..=599 => ForgeError::Transient(text),
        400..=499 => ForgeError::Validation(text),
        301 | 302 | 303 | 307 | 308 => ForgeError::Redirected(call.name()),
        _ => ForgeError::Malformed(text),
    }
}

/// Whether there is a next page. Its address is not followed: it may name another host, and pages have
/// numbers.
pub(super) fn has_next_page(headers: &HeaderMap) -> bool {
    let links = headers.get(header::LINK).and_then(|l| l.to_str().ok());
    links.unwrap_or_default().split(',').any(|link| {
        link.split(';')
            .skip(1)
            .any(|p| matches!(p.trim(), "rel=\"next\"" | "rel=next"))
    })
}

/// The next page's cursor; letters, digits and `-_.~` only, because it goes into an address again.
pub(super) fn next_cursor(headers: &HeaderMap) -> Option<String> {
    let links = headers.get(header::LINK)?.to_str().ok()?;
    let next = links
        .split(',')
        .find(|link| link.contains("rel=\"next\"") || link.contains("rel=next"))?;
    let target = next.split_once('<')?.1.split_once('>')?.0;
    let (_, query) = target.split_once('?')?;
    let cursor = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("cursor="))?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    (!cursor.is_empty() && cursor.bytes().all(plain)).then(|| cursor.to_owned())
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
        let suspended = r#"{"message":"This installation has been suspended"}"#;
        assert_eq!(refused(403, &[], suspended), ForgeError::OutOfReach);
        assert!(matches!(refused(410, &[], ""), ForgeError::Gone(_)));
        assert!(matches!(refused(422, &[], ""), ForgeError::Validation(_)));
        assert!(matches!(refused(409, &[], ""), ForgeError::Validation(_)));
        assert!(matches!(
            refused(502, &[], "<html>"),
            ForgeError::Transient(_)
        ));
        assert!(matches!(refused(302, &[], ""), ForgeError::Redirected(_)));
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
    fn a_next_page_is_told_from_other_links() {
        let link = r#"<https://host/api/v3/x?page=1>; rel="prev", <https://host/api/v3/x?page=3&per_page=100>; rel="next""#;
        assert!(has_next_page(&headers(&[("link", link)])));
        let last = r#"<https://host/x?page=1&rel=next>; rel="first""#;
        assert!(!has_next_page(&headers(&[("link", last)])));
        assert!(!has_next_page(&headers(&[])));
        assert_eq!(next_cursor(&headers(&[("link", link)])), None);
        let link = r#"<https://host/app/hook/deliveries?per_page=100&cursor=v1_17>; rel="next""#;
        let cursor = next_cursor(&headers(&[("link", link)]));
        assert_eq!(cursor.as_deref(), Some("v1_17"));
        let hostile = r#"<https://host/x?cursor=a%26b>; rel="next""#;
        assert_eq!(next_cursor(&headers(&[("link", hostile)])), None);
    }
}
