//! What an event asks for. Lenient: only the fields that are used are read, the rest may be anything.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::{DeliveryId, InstallationId, PrNumber, PullKey, RepoName, Sha};

use super::Verified;
use super::asks::{self, CommentEvent, RerunEvent, ReviewEvent};
use super::groups::{self, GroupEvent};
use super::places::{self, PlaceEvent};
use super::runs::{self, NamesakeEvent};

/// Actions of `pull_request` after which the pull request is judged anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullAction {
    Opened,
    Synchronize,
    Reopened,
    ReadyForReview,
    /// Its base branch was changed.
    Edited,
    Labeled,
    Unlabeled,
    Closed,
}

impl PullAction {
    const ALL: [Self; 8] = [
        Self::Opened,
        Self::Synchronize,
        Self::Reopened,
        Self::ReadyForReview,
        Self::Edited,
        Self::Labeled,
        Self::Unlabeled,
        Self::Closed,
    ];

    /// The name in the payload's `action`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Synchronize => "synchronize",
            Self::Reopened => "reopened",
            Self::ReadyForReview => "ready_for_review",
            Self::Edited => "edited",
            Self::Labeled => "labeled",
            Self::Unlabeled => "unlabeled",
            Self::Closed => "closed",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// A pull request that something happened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullEvent {
    pub action: PullAction,
    pub pull: PullKey,
    pub head: Option<Sha>,
    /// Id of the account that did it; of a bot too.
    pub sender: Option<u64>,
}

/// An event, as far as there is a use for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Pull(PullEvent),
    Comment(CommentEvent),
    Review(ReviewEvent),
    Rerun(RerunEvent),
    Namesake(NamesakeEvent),
    Place(PlaceEvent),
    Group(GroupEvent),
    /// An event or action that asks for nothing (`ping` is one).
    NoUse,
}

/// A signed body that makes no sense. The texts go to the forge's delivery log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("the body is not JSON ({0}); set the webhook's content type to application/json")]
    NotJson(String),
    #[error("the payload is not usable: {0}")]
    Payload(String),
}

#[derive(Deserialize)]
struct Action {
    action: Option<String>,
}

/// What the action says is needed of it; read in one go with the action, as most events are of this kind.
#[derive(Deserialize)]
struct PullPayload {
    action: Option<String>,
    number: Option<u64>,
    repository: Option<Repository>,
    installation: Option<Installation>,
    pull_request: Option<PullRequest>,
    changes: Option<Changes>,
    sender: Option<Sender>,
}

#[derive(Deserialize)]
struct Sender {
    id: Option<u64>,
}

/// What `edited` changed: the base branch is named only when it was that.
#[derive(Deserialize)]
struct Changes {
    base: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
pub(super) struct Installation {
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
        if !USED.contains(&name) && !UNASKED.contains(&name) {
            // A wrong content type should show at the first delivery, which is a ping.
            serde_json::from_slice::<IgnoredAny>(body.bytes())
                .map_err(|error| EventError::NotJson(error.to_string()))?;
            return Ok(Self::NoUse);
        }
        if name == "pull_request" {
            return Ok(pull_event(parse(body)?)?.map_or(Self::NoUse, Self::Pull));
        }
        let Action { action } = parse(body)?;
        let action = action.as_deref().unwrap_or_default();
        let event = match name {
            "issue_comment" => asks::comment(action, body)?.map(Self::Comment),
            "pull_request_review" => asks::review(action, body)?.map(Self::Review),
            "check_run" if matches!(action, "created" | "completed") => {
                runs::namesake(action, body)?.map(Self::Namesake)
            }
            "check_run" | "check_suite" => asks::rerun(action, body)?.map(Self::Rerun),
            "merge_group" => groups::group(action, body)?.map(Self::Group),
            "push" => places::push(body)?.map(Self::Place),
            "installation" => places::installation(action, body)?.map(Self::Place),
            _ => places::repositories(action, body)?.map(Self::Place),
        };
        Ok(event.unwrap_or(Self::NoUse))
    }
}

/// Events that every App gets without subscribing to them.
const UNASKED: [&str; 2] = ["installation", "installation_repositories"];

/// Events of which some actions are used: those that the App subscribes to.
pub const USED: [&str; 7] = [
    "pull_request",
    "issue_comment",
    "pull_request_review",
    "check_run",
    "check_suite",
    "push",
    "merge_group",
];

pub(super) fn parse<'a, T: Deserialize<'a>>(body: &'a Verified) -> Result<T, EventError> {
    // Serde would take an array for a struct's fields in their order.
    if body.bytes().trim_ascii_start().first() == Some(&b'[') {
        return Err(EventError::Payload("it is not an object".to_owned()));
    }
    serde_json::from_slice(body.bytes()).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => EventError::Payload(error.to_string()),
        _ => EventError::NotJson(error.to_string()),
    })
}

fn needed<T>(field: &str, value: Option<T>) -> Result<T, EventError> {
    value.ok_or_else(|| EventError::Payload(format!("missing field `{field}`")))
}

/// Whose event it is.
pub(super) fn origin(
    repository: &Repository,
    installation: Option<Installation>,
) -> Result<(InstallationId, RepoName), EventError> {
    let repo = repository
        .full_name
        .parse()
        .map_err(|error: crate::model::IdError| EventError::Payload(error.to_string()))?;
    Ok((installation_id(installation)?, repo))
}

pub(super) fn installation_id(
    installation: Option<Installation>,
) -> Result<InstallationId, EventError> {
    let installation = installation.ok_or_else(|| {
        EventError::Payload(
            "it names no installation; deliver the events through the App's webhook, not through one \
             of the repository"
                .to_owned(),
        )
    })?;
    let id = positive("installation id", installation.id)?;
    Ok(InstallationId(id))
}

/// A number that fits into the signed columns of the store.
pub(super) fn positive(what: &str, number: u64) -> Result<u64, EventError> {
    if i64::try_from(number).is_ok_and(|n| n > 0) {
        Ok(number)
    } else {
        Err(EventError::Payload(format!(
            "{what} {number} is out of range"
        )))
    }
}

fn pull_event(payload: PullPayload) -> Result<Option<PullEvent>, EventError> {
    let Some(action) = payload.action.as_deref().and_then(PullAction::of) else {
        return Ok(None);
    };
    let moved = payload
        .changes
        .is_some_and(|changes| changes.base.is_some());
    if action == PullAction::Edited && !moved {
        return Ok(None);
    }
    let repository = needed("repository", payload.repository)?;
    let (installation, repo) = origin(&repository, payload.installation)?;
    let number = positive("number", needed("number", payload.number)?)?;
    Ok(Some(PullEvent {
        action,
        pull: PullKey {
            installation,
            repo,
            number: PrNumber(number),
        },
        // Only for the logs: the work reads the head itself.
        head: needed("pull_request", payload.pull_request)?
            .head
            .and_then(|head| head.sha)
            .and_then(|sha| sha.parse().ok()),
        sender: payload
            .sender
            .and_then(|sender| sender.id)
            .filter(|id| i64::try_from(*id).is_ok()),
    }))
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
