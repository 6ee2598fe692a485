//! Branches and the git database.

use axum::Json;
use axum::extract::{Extension, Path, Query, State as Extract};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Forge, In, READ_CONTENTS, Who, rules, visible};
use crate::demo::forge::model::State;
use crate::demo::forge::reply::Refusal;
use crate::demo::forge::shape;
use crate::model::Sha;

pub async fn branch(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, branch)): In<String>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_CONTENTS)?;
    let missing = || Refusal::new(404, "Branch not found");
    let id = repo.git.branch(&branch)?.ok_or_else(missing)?;
    let info = repo.git.commit_info(&id)?.ok_or_else(missing)?;
    let api = format!(
        "{}/repos/{}/branches/{branch}",
        state.base_url, repo.full_name
    );
    let protection = rules::protection(repo, &branch);
    Ok(Json(json!({
        "name": branch,
        "commit": shape::commit(&state, repo, &info),
        "_links": {
            "self": api,
            "html": format!("{}/{}/tree/{branch}", state.base_url, repo.full_name),
        },
        "protected": protection["enabled"],
        "protection": protection,
        "protection_url": format!("{api}/protection"),
    })))
}

pub async fn reference(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, reference)): In<String>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_CONTENTS)?;
    let branch = reference
        .strip_prefix("heads/")
        .ok_or_else(Refusal::not_found)?;
    let id = repo.git.branch(branch)?.ok_or_else(Refusal::not_found)?;
    Ok(Json(reference_json(&state, &repo.full_name, branch, &id)))
}

pub fn reference_json(state: &State, full_name: &str, branch: &str, id: &Sha) -> Value {
    let api = format!("{}/repos/{full_name}/git", state.base_url);
    json!({
        "ref": format!("refs/heads/{branch}"),
        "node_id": format!("REF_{id}"),
        "url": format!("{api}/refs/heads/{branch}"),
        "object": { "type": "commit", "sha": id, "url": format!("{api}/commits/{id}") },
    })
}

fn parse(id: &str) -> Result<Sha, Refusal> {
    id.parse().map_err(|_| {
        Refusal::new(
            422,
            "The sha parameter must be exactly 40 characters and contain only [0-9a-f].",
        )
    })
}

pub async fn commit(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, id)): In<String>,
) -> Result<Json<Value>, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_CONTENTS)?;
    let info = repo
        .git
        .commit_info(&parse(&id)?)?
        .ok_or_else(Refusal::not_found)?;
    Ok(Json(shape::git_commit(
        &state.base_url,
        &repo.full_name,
        &info,
    )))
}

#[derive(Deserialize)]
pub struct TreeQuery {
    /// Any value at all means yes.
    recursive: Option<String>,
}

pub async fn tree(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, id)): In<String>,
    Query(query): Query<TreeQuery>,
) -> Result<Json<Value>, Refusal> {
    let (git, base, limit) = {
        let state = forge.state();
        let repo = visible(&state, &caller, &owner, &name, READ_CONTENTS)?;
        (
            repo.git.clone(),
            state.base_url.clone(),
            state.limits.tree_entries,
        )
    };
    // The API takes a branch's name here too.
    let id = match id.parse::<Sha>() {
        Ok(id) => id,
        Err(_) => git.resolve(&id)?.ok_or_else(Refusal::not_found)?,
    };
    let listing = git.tree(&id, query.recursive.is_some(), limit)?;
    let (id, items, truncated) = listing.ok_or_else(Refusal::not_found)?;
    let api = format!("{base}/repos/{owner}/{name}/git");
    let items: Vec<Value> = items
        .iter()
        .map(|item| shape::tree_item(&api, item))
        .collect();
    Ok(Json(json!({
        "sha": id, "url": format!("{api}/trees/{id}"),
        "tree": items, "truncated": truncated,
    })))
}

pub async fn blob(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, id)): In<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_CONTENTS)?;
    let id = parse(&id)?;
    let bytes = repo.git.blob(&id)?.ok_or_else(Refusal::not_found)?;
    if bytes.len() > state.limits.blob_bytes {
        return Err(Refusal::new(
            403,
            "This API returns blobs up to 100 MB in size.",
        ));
    }
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("raw")) {
        let kind = [(
            header::CONTENT_TYPE,
            "application/vnd.github.raw+json; charset=utf-8",
        )];
        return Ok((kind, bytes).into_response());
    }
    // In lines of 60, as the real forge writes it.
    let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(60)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    Ok(Json(json!({
        "sha": id, "node_id": format!("B_{id}"), "size": bytes.len(),
        "url": format!("{}/repos/{}/git/blobs/{id}", state.base_url, repo.full_name),
        "content": lines.join("\n"), "encoding": "base64",
    }))
    .into_response())
}
