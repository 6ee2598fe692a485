//! What an event asks for. Lenient: only the fields that are used are read, the rest may be anything.

use serde::Deserialize;

use crate::model::{DeliveryId, InstallationId, PrNumber, PullKey, RepoName, Sha};

use super::Verified;

/// Actions of `pull_request` after which the pull request is judged anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullAction {
    Opened,
    Synchronize,
    Reopened,
    ReadyForReview,
}

impl PullAction {
    /// The name in the payload's `action`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Synchronize => "synchronize",
            Self::Reopened => "reopened",
            Self::ReadyForReview => "ready_for_review",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [
            Self::Opened,
            Self::Synchronize,
            Self::Reopened,
            Self::ReadyForReview,
        ]
        .into_iter()
        .find(|action| action.name() == name)
    }
}

/// A pull request that something happened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullEvent {
    pub action: PullAction,
    pub pull: PullKey,
    pub head: Option<Sha>,
}

/// An event, as far as there is a use for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Pull(PullEvent),
    /// An event or action that asks for nothing (`ping` is one).
    NoUse,
}

/// A signed body that makes no sense. The texts go to the forge's delivery log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("the body is not JSON ({0}); set the webhook's content type to application/json")]
    NotJson(String),
    #[error("the pull_request payload is not usable: {0}")]
    Payload(String),
}

#[derive(Deserialize)]
struct Action {
    action: Option<String>,
}

#[derive(Deserialize)]
struct PullPayload {
    number: u64,
    repository: Repository,
    installation: Option<Installation>,
    pull_request: PullRequest,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Deserialize)]
struct PullRequest {
    head: Option<Head>,
}

#[derive(Deserialize)]
struct Head {
    sha: Option<String>,
}

impl Event {
    /// Reads a verified body; `name` is the value of `X-GitHub-Event`.
    pub fn parse(name: &str, body: &Verified) -> Result<Self, EventError> {
        if name != "pull_request" {
            // A wrong content type should show at the first delivery, which is a ping.
            serde_json::from_slice::<serde::de::IgnoredAny>(body.bytes())
                .map_err(|error| EventError::NotJson(error.to_string()))?;
            return Ok(Self::NoUse);
        }
        let Action { action } = parse(body)?;
        let Some(action) = action.as_deref().and_then(PullAction::of) else {
            return Ok(Self::NoUse);
        };
        pull_event(action, parse(body)?).map(Self::Pull)
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a Verified) -> Result<T, EventError> {
    // Serde would take an array for a struct's fields in their order.
    if body.bytes().trim_ascii_start().first() == Some(&b'[') {
        return Err(EventError::Payload("it is not an object".to_owned()));
    }
    serde_json::from_slice(body.bytes()).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => EventError::Payload(error.to_string()),
        _ => EventError::NotJson(error.to_string()),
    })
}

fn pull_event(action: PullAction, payload: PullPayload) -> Result<PullEvent, EventError> {
    let installation = payload.installation.ok_or_else(|| {
        EventError::Payload(
            "it names no installation; deliver the events through the App's webhook, not through one \
             of the repository"
                .to_owned(),
        )
    })?;
    let repo: RepoName = payload
        .repository
        .full_name
        .parse()
        .map_err(|error: crate::model::IdError| EventError::Payload(error.to_string()))?;
    // Both are kept in signed columns.
    let positive = |what: &str, number: u64| {
        if i64::try_from(number).is_ok_and(|n| n > 0) {
            Ok(number)
        } else {
            Err(EventError::Payload(format!(
                "{what} {number} is out of range"
            )))
        }
    };
    Ok(PullEvent {
        action,
        pull: PullKey {
            installation: InstallationId(positive("installation id", installation.id)?),
            repo,
            number: PrNumber(positive("number", payload.number)?),
        },
        // Only for the logs: the work reads the head itself.
        head: payload
            .pull_request
            .head
            .and_then(|head| head.sha)
            .and_then(|sha| sha.parse().ok()),
    })
}

/// The value of `X-GitHub-Delivery`, if it is one: at most 100 letters, digits, `-`, `_` and `.`.
pub fn delivery_id(value: &[u8]) -> Option<DeliveryId> {
    let text = std::str::from_utf8(value).ok()?;
    let good = (1..=100).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    good.then(|| DeliveryId(text.to_owned()))
}
