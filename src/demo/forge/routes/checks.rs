//! Check-runs, with the limits and the finality of the real ones.

use axum::Json;
use axum::extract::{Extension, Path, Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Forge, In, Who, visible};
use crate::demo::forge::model::{Access, CheckRun};
use crate::demo::forge::reply::{Page, Refusal, paged};
use crate::demo::forge::shape;
use crate::model::Sha;

const WRITE: &[(&str, Access)] = &[("checks", Access::Write)];
const READ: &[(&str, Access)] = &[("checks", Access::Read)];

const CONCLUSIONS: &[&str] = &[
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "timed_out",
];

pub async fn create(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE)?;
    let full_name = repo.full_name.clone();
    let run_name = text(&body, "name")?.ok_or_else(|| missing("name"))?;
    let head: Sha = text(&body, "head_sha")?
        .ok_or_else(|| missing("head_sha"))?
        .parse()
        .map_err(|_| Refusal::invalid("CheckRun", "head_sha", "is no commit id"))?;
    if repo.git.commit_info(&head)?.is_none() {
        return Err(Refusal::new(
            422,
            format!("No commit found for SHA: {head}"),
        ));
    }
    let now = state.now();
    let app = state.app_id;
    let refused = state.limits.refused_annotations;
    let mut run = CheckRun {
        id: state.next_id(),
        app,
        name: run_name,
        suite: state.suite(&full_name, app, &head),
        head,
        status: "queued".to_owned(),
        conclusion: None,
        external_id: None,
        details_url: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
        started_at: Some(now),
        completed_at: None,
    };
    apply(&mut run, &body, now, true, refused)?;
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    repo.check_runs.push(run.clone());
    let repo = state.repo(&full_name).ok_or_else(Refusal::not_found)?;
    let answer = shape::check_run(&state, repo, &run);
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

pub async fn update(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, id)): In<u64>,
    Json(body): Json<Value>,
) -> Result<Json<Value>, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE)?;
    let full_name = repo.full_name.clone();
    let (now, app) = (state.now(), state.app_id);
    let refused = state.limits.refused_annotations;
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    let run = repo.check_runs.iter_mut().find(|run| run.id == id);
    let run = run.ok_or_else(Refusal::not_found)?;
    if run.app != app {
        return Err(Refusal::new(
            403,
            "Invalid app_id - check run can only be modified by the GitHub App that created it.",
        ));
    }
    // Only a request that is valid as a whole changes anything.
    let mut changed = run.clone();
    apply(&mut changed, &body, now, false, refused)?;
    *run = changed.clone();
    let repo = state.repo(&full_name).ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::check_run(&state, repo, &changed)))
}

pub async fn read(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, id)): In<u64>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ)?;
    let run = repo.check_runs.iter().find(|run| run.id == id);
    let run = run.ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::check_run(&state, repo, run)))
}

#[derive(Deserialize)]
pub struct ListQuery {
    check_name: Option<String>,
    status: Option<String>,
    filter: Option<String>,
    app_id: Option<u64>,
    per_page: Option<usize>,
    page: Option<usize>,
}

pub async fn list(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, reference)): In<String>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ)?;
    let head = repo
        .git
        .resolve(&reference)?
        .ok_or_else(|| Refusal::new(422, format!("No commit found for SHA: {reference}")))?;
    let mut found: Vec<&CheckRun> = repo
        .check_runs
        .iter()
        .rev()
        .filter(|run| run.head == head)
        .filter(|run| {
            query
                .check_name
                .as_ref()
                .is_none_or(|name| *name == run.name)
        })
        .filter(|run| {
            query
                .status
                .as_ref()
                .is_none_or(|status| *status == run.status)
        })
        .filter(|run| query.app_id.is_none_or(|app| app == run.app))
        .collect();
    if query.filter.as_deref() != Some("all") {
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|run| seen.insert((run.app, run.name.clone())));
    }
    let page = Page {
        per_page: query.per_page.unwrap_or(30),
        page: query.page.unwrap_or(1),
    };
    let shown = page.cut(&found);
    let runs: Vec<Value> = shown
        .iter()
        .map(|run| shape::check_run(&state, repo, run))
        .collect();
    let mut url = format!(
        "{}/repos/{}/commits/{reference}/check-runs?per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    for (key, value) in [("check_name", &query.check_name), ("filter", &query.filter)] {
        if let Some(value) = value {
            url.push_str(&format!("&{key}={}", value.replace(' ', "%20")));
        }
    }
    let body = json!({ "total_count": found.len(), "check_runs": runs });
    Ok(paged(body, page.link(&url, found.len())))
}

/// Carries a request over to `run`; a completed run keeps its end.
fn apply(
    run: &mut CheckRun,
    body: &Value,
    now: DateTime<Utc>,
    new: bool,
    refused: Option<&str>,
) -> Result<(), Refusal> {
    if let Some(name) = text(body, "name")? {
        run.name = name;
    }
    if let Some(id) = text(body, "external_id")? {
        run.external_id = Some(id);
    }
    if let Some(url) = text(body, "details_url")? {
        run.details_url = Some(url);
    }
    if let Some(at) = text(body, "started_at")? {
        run.started_at = Some(date("started_at", &at)?);
    }
    apply_status(run, body, now)?;
    if let Some(output) = body.get("output").filter(|output| !output.is_null()) {
        apply_output(run, output, new, refused)?;
    }
    if let Some(actions) = body.get("actions").and_then(Value::as_array) {
        check_actions(actions)?;
        run.actions = actions.clone();
    }
    Ok(())
}

fn apply_status(run: &mut CheckRun, body: &Value, now: DateTime<Utc>) -> Result<(), Refusal> {
    let invalid = |field: &str, message: &str| Refusal::invalid("CheckRun", field, message);
    let status = text(body, "status")?;
    let conclusion = text(body, "conclusion")?;
    if let Some(status) = &status
        && !["queued", "in_progress", "completed"].contains(&status.as_str())
    {
        return Err(invalid("status", "is not included in the list"));
    }
    if let Some(conclusion) = &conclusion
        && !CONCLUSIONS.contains(&conclusion.as_str())
    {
        return Err(invalid("conclusion", "is not included in the list"));
    }
    if status.as_deref() == Some("completed") && conclusion.is_none() {
        return Err(invalid(
            "conclusion",
            "is required when status is completed",
        ));
    }
    let completed_at = match text(body, "completed_at")? {
        Some(at) => date("completed_at", &at)?,
        None => now,
    };
    if run.status == "completed" {
        return Ok(());
    }
    if let Some(conclusion) = conclusion {
        run.status = "completed".to_owned();
        run.conclusion = Some(conclusion);
        run.completed_at = Some(completed_at);
    } else if let Some(status) = status {
        run.status = status;
    }
    Ok(())
}

fn apply_output(
    run: &mut CheckRun,
    output: &Value,
    new: bool,
    refused: Option<&str>,
) -> Result<(), Refusal> {
    let invalid = |field: &str, message: String| Refusal::invalid("CheckRun", field, message);
    let title = text(output, "title")?;
    let summary = text(output, "summary")?.ok_or_else(|| missing("output.summary"))?;
    if new && title.is_none() {
        return Err(missing("output.title"));
    }
    let body_text = text(output, "text")?;
    for (field, value) in [("summary", Some(&summary)), ("text", body_text.as_ref())] {
        let length = value.map_or(0, |value| value.chars().count());
        if length > 65_535 {
            let message = format!("exceeds a maximum of 65535 characters: {length}");
            return Err(invalid(field, message));
        }
    }
    if let Some(annotations) = output.get("annotations").and_then(Value::as_array) {
        if annotations.len() > 50 {
            let message = "exceeds a maximum quantity of 50".to_owned();
            return Err(invalid("annotations", message));
        }
        for annotation in annotations {
            check_annotation(annotation)?;
            let path = annotation["path"].as_str().unwrap_or_default();
            if refused.is_some_and(|part| path.contains(part)) {
                return Err(invalid("annotations", "is invalid".to_owned()));
            }
        }
        run.annotations.extend(annotations.iter().cloned());
    }
    run.title = title.or(run.title.take());
    run.summary = Some(summary);
    run.text = body_text.or(run.text.take());
    Ok(())
}

fn check_annotation(annotation: &Value) -> Result<(), Refusal> {
    let invalid = |message: &str| Refusal::invalid("CheckRun", "annotations", message);
    let has = |field: &str| {
        text(annotation, field)
            .ok()
            .flatten()
            .is_some_and(|t| !t.is_empty())
    };
    if !has("path") || !has("message") {
        return Err(invalid("an annotation needs path and message"));
    }
    let level = annotation["annotation_level"].as_str().unwrap_or("");
    if !["notice", "warning", "failure"].contains(&level) {
        return Err(invalid("annotation_level is not included in the list"));
    }
    let (start, end) = (
        annotation["start_line"].as_u64(),
        annotation["end_line"].as_u64(),
    );
    if start.is_none_or(|line| line == 0) || end < start {
        return Err(invalid("start_line and end_line are 1-based and in order"));
    }
    let over = |field: &str, limit: usize| {
        annotation[field]
            .as_str()
            .is_some_and(|text| text.len() > limit)
    };
    if over("message", 64 << 10) || over("raw_details", 64 << 10) {
        return Err(invalid("message and raw_details are at most 64 KB"));
    }
    if annotation["title"]
        .as_str()
        .is_some_and(|title| title.chars().count() > 255)
    {
        return Err(invalid("title is at most 255 characters"));
    }
    Ok(())
}

fn check_actions(actions: &[Value]) -> Result<(), Refusal> {
    let invalid = |message: &str| Refusal::invalid("CheckRun", "actions", message);
    if actions.len() > 3 {
        return Err(invalid("exceeds a maximum quantity of 3"));
    }
    for action in actions {
        for (field, limit) in [("label", 20), ("description", 40), ("identifier", 20)] {
            let value = action[field].as_str().unwrap_or("");
            if value.is_empty() || value.chars().count() > limit {
                return Err(invalid(&format!("{field} has 1 to {limit} characters")));
            }
        }
    }
    Ok(())
}

fn text(value: &Value, field: &str) -> Result<Option<String>, Refusal> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Refusal::invalid("CheckRun", field, "is not a string")),
    }
}

fn missing(field: &str) -> Refusal {
    Refusal::invalid("CheckRun", field, "is missing")
}

fn date(field: &str, text: &str) -> Result<DateTime<Utc>, Refusal> {
    DateTime::parse_from_rfc3339(text)
        .map(|at| at.with_timezone(&Utc))
        .map_err(|_| Refusal::invalid("CheckRun", field, "is not a date"))
}
