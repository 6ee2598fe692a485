//! Comparison of two commits.

use std::sync::Arc;

use axum::extract::{Extension, Path, Query, State as Extract};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Forge, In, READ_CONTENTS, Who, visible};
use crate::demo::forge::reply::{Page, Refusal, paged};
use crate::demo::forge::shape;
use crate::model::Sha;

/// Commits of a comparison that is not asked for by pages.
const UNPAGED: usize = 250;

#[derive(Deserialize)]
pub struct Pages {
    per_page: Option<usize>,
    page: Option<usize>,
}

pub async fn compare(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, basehead)): In<String>,
    Query(pages): Query<Pages>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, READ_CONTENTS)?;
    let (base, head) = basehead.split_once("...").ok_or_else(Refusal::not_found)?;
    let resolve = |side: &str| -> Result<Sha, Refusal> {
        let side = side
            .strip_prefix(&format!("{}:", repo.owner()))
            .unwrap_or(side);
        repo.git.resolve(side)?.ok_or_else(Refusal::not_found)
    };
    let (base, head) = (resolve(base)?, resolve(head)?);
    let start = repo.git.merge_base(&base, &head)?;
    let start = start.ok_or_else(|| {
        Refusal::new(
            404,
            format!("No common ancestor between {base} and {head}."),
        )
    })?;
    let ahead = repo.git.commits_between(&base, &head)?;
    let behind = repo.git.commits_between(&head, &base)?.len();
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let commit = |id: &Sha| -> Result<Value, Refusal> {
        let info = repo.git.commit_info(id)?.ok_or_else(Refusal::not_found)?;
        Ok(shape::commit(&state, repo, &info))
    };
    let paged_by_caller = pages.per_page.is_some() || pages.page.is_some();
    let page = Page {
        per_page: pages.per_page.unwrap_or(30),
        page: pages.page.unwrap_or(1),
    };
    let shown = if paged_by_caller {
        page.cut(&ahead)
    } else {
        // The newest ones: that is where the real forge cuts.
        ahead[ahead.len().saturating_sub(UNPAGED)..].to_vec()
    };
    let commits = shown.iter().map(&commit).collect::<Result<Vec<_>, _>>()?;
    let mut files = Arc::default();
    if page.page <= 1 {
        files = repo.git.diff(&start, &head)?;
    }
    let files: Vec<Value> = files
        .iter()
        .take(state.limits.compare_files)
        .map(|file| shape::file(&state.base_url, repo, &head, file))
        .collect();
    let api = format!(
        "{}/repos/{}/compare/{basehead}",
        state.base_url, repo.full_name
    );
    let html = format!("{}/{}/compare/{basehead}", state.base_url, repo.full_name);
    let body = json!({
        "url": api, "html_url": html,
        "permalink_url": format!("{}/{}/compare/{base}...{head}", state.base_url, repo.full_name),
        "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"),
        "base_commit": commit(&base)?,
        "merge_base_commit": commit(&start)?,
        "status": status, "ahead_by": ahead.len(), "behind_by": behind,
        "total_commits": ahead.len(),
        "commits": commits,
        "files": files,
    });
    let url = format!("{api}?per_page={}", page.per_page);
    let link = paged_by_caller
        .then(|| page.link(&url, ahead.len()))
        .flatten();
    Ok(paged(body, link))
}
