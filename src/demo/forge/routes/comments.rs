//! Comments of a pull request's conversation.

use axum::Json;
use axum::extract::{Extension, Path, Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Forge, In, Who, visible};
use crate::demo::forge::model::{Access, Comment};
use crate::demo::forge::reply::{Page, Refusal, paged};
use crate::demo::forge::shape;

const READ: &[(&str, Access)] = &[("issues", Access::Read), ("pull_requests", Access::Read)];
const WRITE: &[(&str, Access)] = &[("issues", Access::Write), ("pull_requests", Access::Write)];

/// Characters of a body.
const BODY_LIMIT: usize = 65_536;

/// Only comments that were changed then or later.
#[derive(serde::Deserialize)]
pub struct Since {
    since: Option<DateTime<Utc>>,
}

pub async fn list(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
    Query(page): Query<Page>,
    Query(since): Query<Since>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ)?;
    if !repo.pulls.contains_key(&number) {
        return Err(Refusal::not_found());
    }
    let all: Vec<&Comment> = repo
        .comments
        .iter()
        .filter(|c| c.number == number && since.since.is_none_or(|at| c.updated_at >= at))
        .collect();
    let shown: Vec<Value> = page
        .cut(&all)
        .iter()
        .map(|comment| shape::comment(&state, repo, comment))
        .collect();
    let mut url = format!(
        "{}/repos/{}/issues/{number}/comments?per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    if let Some(at) = since.since {
        url.push_str(&format!("&since={}", shape::time(at)));
    }
    Ok(paged(json!(shown), page.link(&url, all.len())))
}

pub async fn create(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
    Json(body): Json<Value>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE)?;
    if !repo.pulls.contains_key(&number) {
        return Err(Refusal::not_found());
    }
    let text = body_of(&body)?;
    let full_name = repo.full_name.clone();
    let bot = state.bot_login();
    let now = state.now();
    let comment = Comment {
        id: state.next_id(),
        number,
        author: state.user(&bot).login,
        body: text,
        minimized: None,
        created_at: now,
        updated_at: now,
    };
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    repo.comments.push(comment.clone());
    let repo = state.repo(&full_name).ok_or_else(Refusal::not_found)?;
    let answer = shape::comment(&state, repo, &comment);
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

pub async fn read(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, id)): In<u64>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ)?;
    let comment = repo.comments.iter().find(|comment| comment.id == id);
    let comment = comment.ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::comment(&state, repo, comment)))
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
    let text = body_of(&body)?;
    let (now, bot) = (state.now(), state.bot_login());
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    let comment = repo.comments.iter_mut().find(|comment| comment.id == id);
    let comment = comment.ok_or_else(Refusal::not_found)?;
    if comment.author != bot {
        return Err(Refusal::new(403, "Resource not accessible by integration"));
    }
    comment.body = text;
    comment.updated_at = now;
    let comment = comment.clone();
    let repo = state.repo(&full_name).ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::comment(&state, repo, &comment)))
}

pub(super) fn body_of(body: &Value) -> Result<String, Refusal> {
    let invalid = |message: &str| Refusal::invalid("IssueComment", "body", message);
    let text = body["body"].as_str().ok_or_else(|| invalid("is missing"))?;
    if text.trim().is_empty() {
        return Err(invalid("can't be blank"));
    }
    if text.chars().count() > BODY_LIMIT {
        return Err(invalid("is too long (maximum is 65536 characters)"));
    }
    Ok(text.to_owned())
}
