//! What is not where it was: repositories with another name or owner, deleted branches, closed pull
//! requests.
//!
//! An old name leads to the repository for as long as no other one has it.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use axum::http::{StatusCode, Uri};
use axum::response::Response;

use super::Forge;
use super::build::install;
use super::model::State;
use super::reply;

impl Forge {
    /// Gives a repository another name, of the same owner or of another one. Of another one the App sees
    /// it only if it is `installed` there.
    pub fn move_repo(&self, old: &str, new: &str, installed: bool) -> Result<()> {
        move_repo(&mut self.shared.state(), (old, new), installed)
    }

    /// [`Forge::move_repo`] later, to another name of the same owner.
    pub fn mover(&self, old: &str, new: &str) -> impl Fn() + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        let names = (old.to_owned(), new.to_owned());
        move || {
            let mut state = shared.state();
            let moved = move_repo(&mut state, (&names.0, &names.1), true);
            drop(state);
            if let Err(error) = moved {
                super::server::lock(&shared.problems).push(format!("{error:#}"));
            }
        }
    }

    /// Closes a pull request later.
    pub fn closer(&self, full_name: &str, number: u64) -> impl FnOnce() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        let full_name = full_name.to_owned();
        move || {
            let mut state = shared.state();
            let repo = state.repo_mut(&full_name);
            if let Some(pull) = repo.and_then(|repo| repo.pulls.get_mut(&number)) {
                pull.open = false;
            }
        }
    }

    /// Deletes a branch. Pull requests from it keep their commit; those into it stand where they are, for
    /// the moment that the real forge takes to close them.
    pub fn delete_branch(&self, full_name: &str, branch: &str) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        let tip = repo.git.branch(branch)?.context("no such branch")?;
        let git = Arc::clone(&repo.git);
        for pull in repo.pulls.values_mut() {
            if pull.head_branch == branch {
                pull.kept_head = Some(tip.clone());
            }
        }
        git.delete_branch(branch)
    }
}

fn move_repo(state: &mut State, (old, new): (&str, &str), installed: bool) -> Result<()> {
    ensure!(state.repo(new).is_none(), "{new} is there already");
    let repo = state.repos.remove(&old.to_lowercase());
    let mut repo = repo.context("no such repository")?;
    new.clone_into(&mut repo.full_name);
    let id = repo.id;
    let owner = repo.owner().to_owned();
    state.repos.insert(new.to_lowercase(), repo);
    state.moved.insert(old.to_lowercase(), id);
    state.moved.remove(&new.to_lowercase());
    for installation in state.installations.values_mut() {
        installation.repositories.remove(old);
    }
    // Tokens are for a repository, whatever it is called.
    for token in state.tokens.values_mut() {
        if let Some(repositories) = &mut token.repositories
            && repositories.remove(old)
        {
            repositories.insert(new.to_owned());
        }
    }
    if installed {
        install(state, &owner, new);
    }
    Ok(())
}

/// What a request for a repository's old name gets.
pub fn redirect(state: &State, method: &str, uri: &Uri) -> Option<Response> {
    let rest = uri
        .path()
        .strip_prefix(state.root())?
        .strip_prefix("/repos/")?;
    let mut parts = rest.splitn(3, '/');
    let name = format!("{}/{}", parts.next()?, parts.next()?).to_lowercase();
    let id = state.moved.get(&name)?;
    if state.repos.contains_key(&name) {
        return None;
    }
    let rest = parts
        .next()
        .map_or_else(String::new, |rest| format!("/{rest}"));
    let query = uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let to = format!("{}/repositories/{id}{rest}{query}", state.base_url);
    let status = match method {
        "GET" => StatusCode::MOVED_PERMANENTLY,
        _ => StatusCode::TEMPORARY_REDIRECT,
    };
    Some(reply::redirect(status, &to))
}

/// The address by name of one that names a repository by its id.
pub fn by_name(state: &State, uri: &Uri) -> Option<Uri> {
    let root = state.root();
    let rest = uri
        .path()
        .strip_prefix(root)?
        .strip_prefix("/repositories/")?;
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let id: u64 = id.parse().ok()?;
    let repo = state.repos.values().find(|repo| repo.id == id)?;
    let slash = if rest.is_empty() { "" } else { "/" };
    let query = uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let path = format!("{root}/repos/{}{slash}{rest}{query}", repo.full_name);
    path.parse().ok()
}
