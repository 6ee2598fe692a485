//! Issues that are no pull requests.

use axum::extract::{Extension, Path, Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::get, routing::patch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::comments::body_of;
use super::{Forge, In, Who, visible};
use crate::demo::forge::model::{Access, Issue};
use crate::demo::forge::reply::{Page, Refusal, paged};
use crate::demo::forge::server::Shared;
use crate::demo::forge::shape;

const READ: &[(&str, Access)] = &[("issues", Access::Read)];
const WRITE: &[(&str, Access)] = &[("issues", Access::Write)];

pub fn routes() -> Router<std::sync::Arc<Shared>> {
    Router::new()
        .route("/issues", get(list).post(create))
        .route("/issues/{issue_number}", patch(update))
}

#[derive(Deserialize)]
pub struct Filter {
    creator: Option<String>,
    state: Option<String>,
}

/// The newest first. Pull requests are not shown, which the real forge has among them.
async fn list(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Query(page): Query<Page>,
    Query(filter): Query<Filter>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ)?;
    let wanted = filter.state.as_deref().unwrap_or("open");
    let all: Vec<&Issue> = repo
        .issues
        .values()
        .rev()
        .filter(|issue| {
            let by = |login: &String| issue.author.eq_ignore_ascii_case(login);
            filter.creator.as_ref().is_none_or(by)
                && (wanted == "all" || issue.open == (wanted == "open"))
        })
        .collect();
    let shown: Vec<Value> = page
        .cut(&all)
        .iter()
        .map(|issue| shape::issue(&state, repo, issue))
        .collect();
    let url = format!(
        "{}/repos/{}/issues?state={wanted}&per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    Ok(paged(json!(shown), page.link(&url, all.len())))
}

async fn create(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let full_name = visible(&state, &caller, &owner, &name, WRITE)?
        .full_name
        .clone();
    let title = body["title"].as_str().unwrap_or_default().to_owned();
    if title.is_empty() {
        return Err(Refusal::invalid("Issue", "title", "is missing"));
    }
    let (bot, now, id) = (state.bot_login(), state.now(), state.next_id());
    let author = state.user(&bot).login;
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    let issue = Issue {
        id,
        number: repo.next_number(),
        author,
        title,
        body: body_of(&body)?,
        open: true,
        created_at: now,
        updated_at: now,
    };
    repo.issues.insert(issue.number, issue.clone());
    let repo = state.repo(&full_name).ok_or_else(Refusal::not_found)?;
    let answer = shape::issue(&state, repo, &issue);
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

async fn update(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
    Json(body): Json<Value>,
) -> Result<Json<Value>, Refusal> {
    let mut state = forge.state();
    let full_name = visible(&state, &caller, &owner, &name, WRITE)?
        .full_name
        .clone();
    let now = state.now();
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    let issue = repo
        .issues
        .get_mut(&number)
        .ok_or_else(Refusal::not_found)?;
    if !body["body"].is_null() {
        issue.body = body_of(&body)?;
    }
    match body["state"].as_str() {
        Some("open") => issue.open = true,
        Some("closed") => issue.open = false,
        Some(_) => {
            return Err(Refusal::invalid(
                "Issue",
                "state",
                "is not included in the list",
            ));
        }
        None => {}
    }
    issue.updated_at = now;
    let issue = issue.clone();
    let repo = state.repo(&full_name).ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::issue(&state, repo, &issue)))
}
