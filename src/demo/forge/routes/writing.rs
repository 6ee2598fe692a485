//! Trees, commits, branches and pull requests that an installation makes.

use axum::extract::{Extension, Path, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::patch, routing::post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::git::reference_json;
use super::pulls::pull_json;
use super::{Forge, In, Who, visible};
use crate::demo::forge::NewPull;
use crate::demo::forge::build::{open_pull, signature, update_branch};
use crate::demo::forge::git::TreeEdit;
use crate::demo::forge::model::Access;
use crate::demo::forge::reply::Refusal;
use crate::demo::forge::server::Shared;
use crate::demo::forge::shape;
use crate::model::{EntryKind, Sha};

pub(super) const WRITE_CONTENTS: &[(&str, Access)] = &[("contents", Access::Write)];
const WRITE_PULLS: &[(&str, Access)] = &[("pull_requests", Access::Write)];

pub fn routes() -> Router<std::sync::Arc<Shared>> {
    Router::new()
        .route("/git/trees", post(create_tree))
        .route("/git/commits", post(create_commit))
        .route("/git/refs", post(create_reference))
        .route("/git/refs/{*ref}", patch(update_reference))
        .route("/pulls", post(create_pull))
        .route("/pulls/{pull_number}", patch(update_pull))
}

fn created(value: Value) -> Response {
    (StatusCode::CREATED, Json(value)).into_response()
}

#[derive(Deserialize)]
pub struct NewTree {
    base_tree: Sha,
    tree: Vec<NewEntry>,
}

#[derive(Deserialize)]
struct NewEntry {
    path: String,
    mode: String,
    content: Option<String>,
    /// Null, and no content: the path is removed.
    sha: Option<Sha>,
}

async fn create_tree(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Json(body): Json<NewTree>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE_CONTENTS)?;
    let mut edits = Vec::new();
    for entry in body.tree {
        let kind = match entry.mode.as_str() {
            "100644" => EntryKind::File,
            "100755" => EntryKind::Executable,
            "120000" => EntryKind::Symlink,
            "160000" => EntryKind::Submodule,
            _ => return Err(Refusal::new(422, "tree.mode is not a mode")),
        };
        let edit = match (entry.content, entry.sha) {
            (Some(_), Some(_)) => {
                return Err(Refusal::new(
                    422,
                    "Must supply only one of tree.sha or tree.content",
                ));
            }
            (Some(text), None) => TreeEdit::Content(kind, text.into_bytes()),
            (None, Some(id)) => {
                if repo.git.blob(&id)?.is_none() {
                    return Err(Refusal::new(
                        422,
                        format!("tree.sha {id} is not a valid blob"),
                    ));
                }
                TreeEdit::Object(kind, id)
            }
            (None, None) => TreeEdit::Remove,
        };
        edits.push((entry.path, edit));
    }
    let tree = repo
        .git
        .edit_tree(&body.base_tree, &edits)
        .map_err(|error| Refusal::new(422, format!("{error:#}")))?;
    let (id, items, truncated) = repo
        .git
        .tree(&tree, false, usize::MAX)?
        .ok_or_else(Refusal::not_found)?;
    let api = format!("{}/repos/{}/git", state.base_url, repo.full_name);
    let items: Vec<Value> = items
        .iter()
        .map(|item| shape::tree_item(&api, item))
        .collect();
    Ok(created(json!({
        "sha": id, "url": format!("{api}/trees/{id}"), "tree": items, "truncated": truncated,
    })))
}

#[derive(Deserialize)]
pub struct NewCommit {
    message: String,
    tree: Sha,
    parents: Vec<Sha>,
}

async fn create_commit(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Json(body): Json<NewCommit>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    visible(&state, &caller, &owner, &name, WRITE_CONTENTS)?;
    let (login, now) = (state.bot_login(), state.now());
    let bot = state.user(&login);
    let repo = visible(&state, &caller, &owner, &name, WRITE_CONTENTS)?;
    let id = repo
        .git
        .commit_tree(
            &body.tree,
            &body.parents,
            &body.message,
            &signature(&bot),
            now,
        )
        .map_err(|error| Refusal::new(422, format!("{error:#}")))?;
    let info = repo.git.commit_info(&id)?.ok_or_else(Refusal::not_found)?;
    Ok(created(shape::git_commit(
        &state.base_url,
        &repo.full_name,
        &info,
    )))
}

#[derive(Deserialize)]
pub struct NewReference {
    #[serde(rename = "ref")]
    name: String,
    sha: Sha,
}

async fn create_reference(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Json(body): Json<NewReference>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE_CONTENTS)?;
    let full_name = repo.full_name.clone();
    let branch = body
        .name
        .strip_prefix("refs/heads/")
        .ok_or_else(|| Refusal::new(422, "Reference name must start with 'refs/'."))?;
    if repo.git.branch(branch)?.is_some() {
        return Err(Refusal::new(422, "Reference already exists"));
    }
    if repo.git.commit_info(&body.sha)?.is_none() {
        return Err(Refusal::new(422, "Object does not exist"));
    }
    update_branch(&mut state, &full_name, branch, &body.sha)?;
    Ok(created(reference_json(
        &state, &full_name, branch, &body.sha,
    )))
}

#[derive(Deserialize)]
pub struct Move {
    sha: Sha,
    #[serde(default)]
    force: bool,
}

async fn update_reference(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, reference)): In<String>,
    Json(body): Json<Move>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE_CONTENTS)?;
    let full_name = repo.full_name.clone();
    let branch = reference
        .strip_prefix("heads/")
        .ok_or_else(Refusal::not_found)?;
    let missing = || Refusal::new(422, "Reference does not exist");
    let tip = repo.git.branch(branch)?.ok_or_else(missing)?;
    if !body.force && repo.git.merge_base(&tip, &body.sha)? != Some(tip) {
        return Err(Refusal::new(422, "Update is not a fast forward"));
    }
    update_branch(&mut state, &full_name, branch, &body.sha)?;
    Ok(Json(reference_json(&state, &full_name, branch, &body.sha)).into_response())
}

#[derive(Deserialize)]
pub struct PullRequest {
    title: String,
    head: String,
    base: String,
    body: Option<String>,
}

async fn create_pull(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Json(body): Json<PullRequest>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, WRITE_PULLS)?;
    let full_name = repo.full_name.clone();
    let invalid = |field, why: &str| Refusal::invalid("PullRequest", field, why);
    let tip = repo.git.branch(&body.base)?;
    let tip = tip.ok_or_else(|| invalid("base", "does not exist"))?;
    let head = repo.git.branch(&body.head)?;
    let head = head.ok_or_else(|| invalid("head", "does not exist"))?;
    let open = repo.pulls.values().filter(|pull| pull.open);
    if open
        .into_iter()
        .any(|pull| pull.head_branch == body.head && pull.base_branch == body.base)
    {
        let text = format!("A pull request already exists for {owner}:{}.", body.head);
        return Err(invalid("head", &text));
    }
    if repo.git.commits_between(&tip, &head)?.is_empty() {
        let text = format!("No commits between {} and {}", body.base, body.head);
        return Err(invalid("head", &text));
    }
    let author = state.bot_login();
    let new = NewPull {
        base: &body.base,
        body: body.body.as_deref(),
        ..NewPull::new(&body.head, &author, &body.title)
    };
    let number = open_pull(&mut state, &full_name, new)?;
    Ok(created(pull_json(&mut state, &full_name, number)?))
}

#[derive(Deserialize)]
pub struct PullEdit {
    title: Option<String>,
    body: Option<String>,
}

async fn update_pull(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
    Json(edit): Json<PullEdit>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let now = state.now();
    let full_name = visible(&state, &caller, &owner, &name, WRITE_PULLS)?
        .full_name
        .clone();
    let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
    let pull = repo.pulls.get_mut(&number).ok_or_else(Refusal::not_found)?;
    pull.updated_at = now;
    if let Some(title) = edit.title {
        pull.title = title;
    }
    if edit.body.is_some() {
        pull.body = edit.body;
    }
    Ok(Json(pull_json(&mut state, &full_name, number)?).into_response())
}
