//! Events in which people ask for something: comments, reviews, buttons of check-runs.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::command;
use crate::model::{InstallationId, PrNumber, PullKey, RepoName, Sha};

use super::Verified;
use super::event::{EventError, Installation, Repository, origin, parse, positive};

/// The account that did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub login: String,
    pub id: u64,
}

/// A new comment of a person on a pull request that holds commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentEvent {
    pub pull: PullKey,
    pub comment: u64,
    pub sender: Sender,
    pub created_at: DateTime<Utc>,
    /// As [`command::find`] gives them; at least one.
    pub lines: Vec<String>,
}

/// A review that may end a need for one, or bring it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewEvent {
    pub pull: PullKey,
    pub action: &'static str,
}

/// Somebody wants a commit judged again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerunEvent {
    pub installation: InstallationId,
    pub repo: RepoName,
    pub head: Sha,
    pub action: &'static str,
    /// The check-run that has to be made again; empty for all of the head's. `None` where nothing has to be.
    pub again: Option<String>,
    /// A button of ours was pressed.
    pub button: Option<Press>,
}

/// A press of a button on a check-run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// The check-run's `external_id`: the evaluation that made it.
    pub evaluation: String,
    pub sender: Sender,
    /// The command that the button is.
    pub line: String,
}

#[derive(Deserialize)]
struct Account {
    #[serde(default)]
    login: String,
    #[serde(default)]
    id: u64,
    #[serde(default, rename = "type")]
    kind: String,
}

impl Account {
    /// `None` for a bot, and for what is no account.
    fn person(self) -> Option<Sender> {
        let is_person = self.kind == "User" && !self.login.ends_with("[bot]");
        let is_account = !self.login.is_empty() && self.login.len() <= 100;
        (is_person && is_account && i64::try_from(self.id).is_ok_and(|id| id > 0)).then_some(
            Sender {
                login: self.login,
                id: self.id,
            },
        )
    }
}

#[derive(Deserialize)]
struct CommentPayload {
    repository: Repository,
    installation: Option<Installation>,
    issue: Issue,
    comment: Comment,
    sender: Option<Account>,
}

#[derive(Deserialize)]
struct Issue {
    number: u64,
    /// Only where the issue is a pull request.
    pull_request: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: Option<String>,
    user: Option<Account>,
    created_at: Option<DateTime<Utc>>,
    performed_via_github_app: Option<IgnoredAny>,
}

/// A comment that was created by its own author, a person, on a pull request, and holds a command.
pub(super) fn comment(action: &str, body: &Verified) -> Result<Option<CommentEvent>, EventError> {
    if action != "created" {
        return Ok(None);
    }
    let payload: CommentPayload = parse(body)?;
    let comment = payload.comment;
    let lines = command::find(comment.body.as_deref().unwrap_or_default());
    let by_an_app = comment.performed_via_github_app.is_some();
    if payload.issue.pull_request.is_none() || by_an_app || lines.is_empty() {
        return Ok(None);
    }
    let author = comment.user.and_then(Account::person);
    let sender = payload.sender.and_then(Account::person);
    let (Some(author), Some(sender)) = (author, sender) else {
        return Ok(None);
    };
    if author != sender {
        return Ok(None);
    }
    let created_at = comment.created_at.ok_or_else(|| {
        EventError::Payload("the comment does not say when it was created".to_owned())
    })?;
    let (installation, repo) = origin(&payload.repository, payload.installation)?;
    Ok(Some(CommentEvent {
        pull: PullKey {
            installation,
            repo,
            number: PrNumber(positive("number", payload.issue.number)?),
        },
        comment: positive("comment id", comment.id)?,
        sender,
        created_at,
        lines,
    }))
}

#[derive(Deserialize)]
struct ReviewPayload {
    repository: Repository,
    installation: Option<Installation>,
    pull_request: Numbered,
    review: Review,
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Deserialize)]
struct Review {
    #[serde(default)]
    state: String,
}

/// A review that was submitted with a verdict, or dismissed.
pub(super) fn review(action: &str, body: &Verified) -> Result<Option<ReviewEvent>, EventError> {
    let action = match action {
        "submitted" => "submitted",
        "dismissed" => "dismissed",
        _ => return Ok(None),
    };
    let payload: ReviewPayload = parse(body)?;
    // A comment says neither yes nor no.
    if payload.review.state.eq_ignore_ascii_case("commented") {
        return Ok(None);
    }
    let (installation, repo) = origin(&payload.repository, payload.installation)?;
    Ok(Some(ReviewEvent {
        pull: PullKey {
            installation,
            repo,
            number: PrNumber(positive("number", payload.pull_request.number)?),
        },
        action,
    }))
}

#[derive(Deserialize)]
struct RerunPayload {
    repository: Repository,
    installation: Option<Installation>,
    check_run: Option<Checked>,
    check_suite: Option<Checked>,
    sender: Option<Account>,
    requested_action: Option<RequestedAction>,
}

/// A check-run or a check suite.
#[derive(Deserialize)]
struct Checked {
    head_sha: String,
    external_id: Option<String>,
    /// A check suite has none.
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct RequestedAction {
    #[serde(default)]
    identifier: String,
}

/// *Re-run* on one of our check-runs or on all of them, or a button of ours. The forge sends both to the
/// App whose they are.
pub(super) fn rerun(action: &str, body: &Verified) -> Result<Option<RerunEvent>, EventError> {
    let action = match action {
        "rerequested" => "rerequested",
        "requested_action" => "requested_action",
        _ => return Ok(None),
    };
    let payload: RerunPayload = parse(body)?;
    let checked = payload.check_run.or(payload.check_suite).ok_or_else(|| {
        EventError::Payload("it names no check-run and no check suite".to_owned())
    })?;
    let head = checked
        .head_sha
        .parse()
        .map_err(|error: crate::model::IdError| EventError::Payload(error.to_string()))?;
    let mut button = None;
    if action == "requested_action" {
        let pressed = payload.requested_action.map(|action| action.identifier);
        let line = pressed.as_deref().and_then(command::of_button);
        let sender = payload.sender.and_then(Account::person);
        let (Some(line), Some(sender)) = (line, sender) else {
            return Ok(None);
        };
        button = Some(Press {
            evaluation: checked.external_id.clone().unwrap_or_default(),
            sender,
            line,
        });
    }
    let (installation, repo) = origin(&payload.repository, payload.installation)?;
    Ok(Some(RerunEvent {
        installation,
        repo,
        head,
        action,
        again: (action == "rerequested").then_some(checked.name),
        button,
    }))
}
