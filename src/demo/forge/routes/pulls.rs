//! Repositories and pull requests.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, Query, State as Extract};
use axum::response::Response;
use serde_json::{Value, json};

use super::{Forge, In, METADATA, READ_PULLS, Who, visible};
use crate::demo::forge::git::FileDiff;
use crate::demo::forge::model::{Pull, Repo, State, TestMerge, User};
use crate::demo::forge::reply::{Page, Refusal, paged};
use crate::demo::forge::shape;
use crate::model::Sha;

pub async fn repository(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    let mut state = forge.state();
    visible(&state, &caller, &owner, &name, METADATA)?;
    Ok(Json(repository_json(
        &mut state,
        &format!("{owner}/{name}"),
    )?))
}

/// A repository as the API and webhooks show it.
pub fn repository_json(state: &mut State, full_name: &str) -> Result<Value, Refusal> {
    let owner = owner_of(state, full_name);
    let repo = state.repo(full_name).ok_or_else(Refusal::not_found)?;
    Ok(shape::repository(&state.base_url, repo, &owner))
}

fn owner_of(state: &mut State, full_name: &str) -> User {
    let owner = full_name
        .split_once('/')
        .map_or(full_name, |(owner, _)| owner);
    state.user(owner)
}

#[derive(serde::Deserialize)]
pub struct HeadQuery {
    /// `owner:branch`.
    head: Option<String>,
}

pub async fn list(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name)): Path<(String, String)>,
    Query(page): Query<Page>,
    Query(of): Query<HeadQuery>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_PULLS)?;
    let is_of = |pull: &&Pull| {
        let wanted = of.head.as_deref();
        wanted.is_none_or(|head| head == format!("{}:{}", repo.owner(), pull.head_branch))
    };
    let open = repo
        .pulls
        .values()
        .rev()
        .filter(|pull| pull.open)
        .filter(is_of);
    let numbers: Vec<u64> = open.map(|pull| pull.number).collect();
    let full_name = repo.full_name.clone();
    let mut pulls = Vec::new();
    for number in page.cut(&numbers) {
        pulls.push(pull_json(&mut state, &full_name, number)?);
    }
    let url = format!(
        "{}/repos/{full_name}/pulls?per_page={}",
        state.base_url, page.per_page
    );
    Ok(paged(pulls.into(), page.link(&url, numbers.len())))
}

/// Pull requests that hold a commit: the open ones, unless the default branch has it.
pub async fn of_commit(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, commit)): In<String>,
    Query(page): Query<Page>,
) -> Result<Response, Refusal> {
    let mut state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_PULLS)?;
    let id: Sha = commit
        .parse()
        .map_err(|_| Refusal::new(422, format!("No commit found for SHA: {commit}")))?;
    if repo.git.commit_info(&id)?.is_none() {
        return Err(Refusal::new(422, format!("No commit found for SHA: {id}")));
    }
    let mut numbers = Vec::new();
    for pull in repo.pulls.values().filter(|pull| pull.open) {
        if sides(repo, pull.number).is_ok_and(|sides| sides.commits.contains(&id)) {
            numbers.push(pull.number);
        }
    }
    let full_name = repo.full_name.clone();
    let mut pulls = Vec::new();
    for number in page.cut(&numbers) {
        pulls.push(pull_json(&mut state, &full_name, number)?);
    }
    let url = format!(
        "{}/repos/{full_name}/commits/{id}/pulls?per_page={}",
        state.base_url, page.per_page
    );
    Ok(paged(pulls.into(), page.link(&url, numbers.len())))
}

pub async fn pull(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
) -> Result<Json<Value>, Refusal> {
    let mut state = forge.state();
    visible(&state, &caller, &owner, &name, READ_PULLS)?;
    let full_name = format!("{owner}/{name}");
    let value = pull_json(&mut state, &full_name, number)?;
    // Asking starts the computation: the next answer has it.
    if let Some(repo) = state.repo_mut(&full_name)
        && let Some(pull) = repo.pulls.get_mut(&number)
    {
        pull.merge_delay = pull.merge_delay.saturating_sub(1);
        if let Some((_, times)) = &mut pull.behind {
            *times = times.saturating_sub(1);
        }
    }
    Ok(Json(value))
}

/// The two commits of a pull request, and what lies between.
struct Sides {
    head: Sha,
    tip: Sha,
    files: Arc<Vec<FileDiff>>,
    commits: Vec<Sha>,
}

/// The head as the API shows it: an old one while it runs behind.
pub fn shown_head(repo: &Repo, pull: &Pull) -> Result<Sha, Refusal> {
    match &pull.behind {
        Some((head, times)) if *times > 0 => Ok(head.clone()),
        _ => {
            let head = repo.head_of(pull)?;
            head.ok_or_else(Refusal::not_found)
        }
    }
}

fn sides(repo: &Repo, number: u64) -> Result<Sides, Refusal> {
    let pull = repo.pulls.get(&number).ok_or_else(Refusal::not_found)?;
    let head = shown_head(repo, pull)?;
    // A base branch that is gone leaves the commit that it was at.
    let tip = repo.git.branch(&pull.base_branch)?;
    let tip = tip.unwrap_or_else(|| pull.recorded_base.clone());
    let start = repo.git.merge_base(&tip, &head)?;
    let files = match &start {
        Some(start) => repo.git.diff(start, &head)?,
        None => Arc::default(),
    };
    let commits = repo.git.commits_between(&tip, &head)?;
    Ok(Sides {
        head,
        tip,
        files,
        commits,
    })
}

/// A pull request as the API and webhooks show it.
pub fn pull_json(state: &mut State, full_name: &str, number: u64) -> Result<Value, Refusal> {
    let now = state.now();
    let owner = owner_of(state, full_name);
    let repo = state.repo_mut(full_name).ok_or_else(Refusal::not_found)?;
    let sides = sides(repo, number)?;
    let git = repo.git.clone();
    let pull = repo.pulls.get_mut(&number).ok_or_else(Refusal::not_found)?;
    let fresh = pull
        .test_merge
        .as_ref()
        .is_some_and(|merge| merge.base == sides.tip && merge.head == sides.head);
    let ready = pull.merge_delay == 0;
    if !fresh && ready {
        pull.test_merge = Some(TestMerge {
            commit: git.test_merge(&sides.tip, &sides.head, now)?,
            base: sides.tip.clone(),
            head: sides.head.clone(),
        });
    }
    let pull = pull.clone();
    let author = state.user(&pull.author);
    let merge = pull.test_merge.as_ref();
    let facts = shape::PullFacts {
        head: &sides.head,
        base: &pull.recorded_base,
        mergeable: merge.filter(|_| ready).map(|merge| merge.commit.is_some()),
        test_merge: merge.and_then(|merge| merge.commit.as_ref()),
        files: &sides.files,
        commits: sides.commits.len(),
        author: &author,
        owner: &owner,
    };
    let repo = state.repo(full_name).ok_or_else(Refusal::not_found)?;
    Ok(shape::pull(&state.base_url, repo, &pull, &facts))
}

pub async fn files(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
    Query(page): Query<Page>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_PULLS)?;
    let sides = sides(repo, number)?;
    let listed = &sides.files[..sides.files.len().min(state.limits.pull_files)];
    let items: Vec<Value> = page
        .cut(listed)
        .iter()
        .map(|file| shape::file(&state.base_url, repo, &sides.head, file))
        .collect();
    let url = format!(
        "{}/repos/{}/pulls/{number}/files?per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    Ok(paged(json!(items), page.link(&url, listed.len())))
}

pub async fn commits(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, number)): In<u64>,
    Query(page): Query<Page>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_PULLS)?;
    let mut ids = sides(repo, number)?.commits;
    ids.truncate(state.limits.pull_commits);
    let mut items = Vec::new();
    for id in page.cut(&ids) {
        let info = repo.git.commit_info(&id)?.ok_or_else(Refusal::not_found)?;
        items.push(shape::commit(&state, repo, &info));
    }
    let url = format!(
        "{}/repos/{}/pulls/{number}/commits?per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    Ok(paged(json!(items), page.link(&url, ids.len())))
}
