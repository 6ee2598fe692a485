//! Decision pages and the decision as JSON (interfaces section 3).
//!
//! Invariant: nothing here writes or asks the forge. A repository that is not public, a wrong or old
//! capability and a pull request that was never judged get the same answer.

use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use chrono::{DateTime, NaiveDate, SecondsFormat};
use serde::Deserialize;

use crate::model::{Decision, PrNumber, RepoName, Sha};
use crate::publish::links::Page;
use crate::render::{self, Line};
use crate::store::{PublishedDecision, StoreError};

use super::AppState;

/// Pull requests on a dashboard.
const LINES: u32 = 100;

/// The query of a link, which may hold a capability; what is not one is no error, but opens nothing.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Capability(Vec<(String, String)>);

impl Capability {
    /// The value of a key that is there once.
    fn get(&self, key: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(name, _)| name == key);
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }
}

#[derive(Deserialize)]
pub(super) struct PullPath {
    owner: String,
    repo: String,
    number: String,
}

pub(super) async fn decision(
    State(state): State<AppState>,
    Path(path): Path<PullPath>,
    Query(capability): Query<Capability>,
) -> Response {
    let found = find(&state, &path, &capability).await;
    answer(found, |(repo, pull, found)| {
        let decision: Decision = serde_json::from_str(&found.decision).ok()?;
        let pulls = (pull, found.pull);
        let page = render::decision_page(&repo, pulls, &decision, &time(found.at));
        Some(Html(page).into_response())
    })
}

pub(super) async fn decision_json(
    State(state): State<AppState>,
    Path(path): Path<PullPath>,
    Query(capability): Query<Capability>,
) -> Response {
    let found = find(&state, &path, &capability).await;
    answer(found, |(_, _, found)| {
        let kind = [(header::CONTENT_TYPE, "application/json")];
        Some((kind, found.decision).into_response())
    })
}

pub(super) async fn dashboard(
    State(state): State<AppState>,
    Path((owner, repo)): Path<(String, String)>,
) -> Response {
    let found = find_all(&state, &owner, &repo).await;
    answer(found, |(repo, found)| {
        let lines: Vec<Line> = found.iter().filter_map(line).collect();
        Some(Html(render::dashboard_page(&repo, &lines)).into_response())
    })
}

fn line(found: &PublishedDecision) -> Option<Line> {
    let decision: Decision = serde_json::from_str(&found.decision).ok()?;
    Some(Line {
        pull: found.pull,
        head: decision.head.short().to_owned(),
        headline: render::headline(&decision),
        published: time(found.at),
    })
}

fn time(at: i64) -> String {
    let at = DateTime::from_timestamp_millis(at).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

async fn find(
    state: &AppState,
    path: &PullPath,
    capability: &Capability,
) -> Result<Option<(RepoName, PrNumber, PublishedDecision)>, StoreError> {
    let repo = format!("{}/{}", path.owner, path.repo).parse::<RepoName>();
    let (Ok(repo), Ok(number)) = (repo, path.number.parse::<u64>()) else {
        return Ok(None);
    };
    if i64::try_from(number).is_err() {
        return Ok(None);
    }
    let pull = PrNumber(number);
    let head = opened(state, &repo, pull, capability);
    if head.is_none() && !state.store.is_public(&repo).await? {
        return Ok(None);
    }
    // The verdict is the head's, whichever pull request of that head it was made for.
    let speaker = state.store.speaker(&repo, pull).await?;
    let speaker = speaker.filter(|(_, at)| head.as_ref().is_none_or(|head| head == at));
    let (judged, head) = match speaker {
        Some((speaker, at)) => (speaker, Some(at)),
        None => (pull, head),
    };
    let found = state
        .store
        .published_decision(&repo, judged, head.as_ref())
        .await?;
    Ok(found.map(|found| (repo, pull, found)))
}

/// The head whose page the capability opens.
fn opened(
    state: &AppState,
    repo: &RepoName,
    pull: PrNumber,
    capability: &Capability,
) -> Option<Sha> {
    let links = state.links.as_ref()?;
    let head: Sha = capability.get("head")?.parse().ok()?;
    let day: NaiveDate = capability.get("day")?.parse().ok()?;
    let page = Page {
        repo,
        pull,
        head: &head,
    };
    let today = state.store.now().date_naive();
    let key = capability.get("key")?;
    links.opens(page, day, key, today).then_some(head)
}

async fn find_all(
    state: &AppState,
    owner: &str,
    repo: &str,
) -> Result<Option<(RepoName, Vec<PublishedDecision>)>, StoreError> {
    let Ok(repo) = format!("{owner}/{repo}").parse::<RepoName>() else {
        return Ok(None);
    };
    if !state.store.is_public(&repo).await? {
        return Ok(None);
    }
    let found = state.store.published_decisions(&repo, LINES).await?;
    Ok(Some((repo, found)))
}

fn answer<T>(
    found: Result<Option<T>, StoreError>,
    show: impl FnOnce(T) -> Option<Response>,
) -> Response {
    let mut response = match found.map(|found| found.and_then(show)) {
        Ok(Some(response)) => response,
        Ok(None) => (
            StatusCode::NOT_FOUND,
            "There is no such page, or it is not for you.\n",
        )
            .into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be shown");
            let text = "The database cannot be read now; try again later.\n";
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    };
    let headers = response.headers_mut();
    // The address holds the capability: it goes to no other site and into no shared cache.
    let fixed = [
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "private, no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&render::content_security_policy()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
