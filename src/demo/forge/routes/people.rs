//! What people may do, and reactions to what they say.

use axum::Json;
use axum::extract::{Extension, Query, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Forge, In, METADATA, READ_PULLS, Who, visible};
use crate::demo::forge::model::{Access, Reaction, Review};
use crate::demo::forge::reply::{Page, Refusal, paged};
use crate::demo::forge::shape;

const REACT: &[(&str, Access)] = &[("issues", Access::Write), ("pull_requests", Access::Write)];

const REACTIONS: &[&str] = &[
    "+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes",
];

/// 201 for a new reaction, 200 for one that is there already.
pub async fn react(
    Extract(forge): Forge,
    Extension(caller): Who,
    axum::extract::Path((owner, name, comment)): In<u64>,
    Json(body): Json<Value>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, REACT)?;
    if !repo.comments.iter().any(|known| known.id == comment) {
        return Err(Refusal::not_found());
    }
    let full_name = repo.full_name.clone();
    let content = body["content"].as_str().unwrap_or_default().to_owned();
    if !REACTIONS.contains(&content.as_str()) {
        return Err(Refusal::invalid(
            "Reaction",
            "content",
            "is not included in the list",
        ));
    }
    let bot = state.bot_login();
    let author = state.user(&bot);
    let (id, now, base) = (state.next_id(), state.now(), state.base_url.clone());
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    let known = repo.people.reactions.iter().find(|known| {
        known.comment == comment && known.author == author.login && known.content == content
    });
    if let Some(known) = known {
        return Ok(Json(shape::reaction(&base, &author, known)).into_response());
    }
    let reaction = Reaction {
        id,
        comment,
        author: author.login.clone(),
        content,
        created_at: now,
    };
    repo.people.reactions.push(reaction.clone());
    let answer = shape::reaction(&base, &author, &reaction);
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

pub async fn permission(
    Extract(forge): Forge,
    Extension(caller): Who,
    axum::extract::Path((owner, name, login)): In<String>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, METADATA)?;
    let account = state.users.get(&login).ok_or_else(Refusal::not_found)?;
    let role = repo.people.roles.get(&login).copied();
    let role = role.or_else(|| (repo.owner() == login).then_some("admin"));
    let role = role.ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::permission(&state.base_url, account, role)))
}

/// Asked for by an installation that may read the organisation's members.
pub async fn membership(
    Extract(forge): Forge,
    Extension(caller): Who,
    axum::extract::Path((org, team, login)): axum::extract::Path<(String, String, String)>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    caller.may_read_members()?;
    let members = state.teams.get(&format!("{org}/{team}"));
    let is_member = members.is_some_and(|logins| logins.contains(&login));
    let url = format!(
        "{}/orgs/{org}/teams/{team}/memberships/{login}",
        state.base_url
    );
    match is_member {
        true => Ok(Json(
            json!({"url": url, "role": "member", "state": "active"}),
        )),
        false => Err(Refusal::not_found()),
    }
}

/// Oldest first.
pub async fn reviews(
    Extract(forge): Forge,
    Extension(caller): Who,
    axum::extract::Path((owner, name, number)): In<u64>,
    Query(page): Query<Page>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_PULLS)?;
    if !repo.pulls.contains_key(&number) {
        return Err(Refusal::not_found());
    }
    let all: Vec<&Review> = repo
        .people
        .reviews
        .iter()
        .filter(|review| review.number == number)
        .collect();
    let shown: Vec<Value> = page
        .cut(&all)
        .iter()
        .map(|review| shape::review(&state, repo, review))
        .collect();
    let url = format!(
        "{}/repos/{}/pulls/{number}/reviews?per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    Ok(paged(json!(shown), page.link(&url, all.len())))
}
