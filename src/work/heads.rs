//! The job "find the pull requests, the merge group and the audits whose head this commit is".

use std::time::Duration;

use crate::forge::ForgeError;
use crate::forge::github::{App, Client};
use crate::model::{PrNumber, PullKey, Sha};
use crate::store::{Lease, RepoKey, Store, Task};

use super::Outcome;
use super::branch::audited_branch;
use super::stop::Stop;

pub(super) async fn attempt(
    app: &App,
    store: &Store,
    (repo, head): (&RepoKey, &Sha),
    lease: &Lease,
) -> Outcome {
    let client = app.client(repo.installation, repo.repo.clone());
    let found = enqueue_pulls(&client, store, repo, head).await;
    tracing::Span::current().record("requests", client.requests());
    match found {
        Ok(()) => Outcome::Done,
        Err(stop) => stop.settle(store, lease).await,
    }
}

async fn enqueue_pulls(
    client: &Client,
    store: &Store,
    repo: &RepoKey,
    head: &Sha,
) -> Result<(), Stop> {
    if let Some(group) = store.group_at(&repo.repo, head).await? {
        let repo = repo.clone();
        store
            .enqueue_task(Task::Group { repo, group }, Duration::ZERO)
            .await?;
    }
    again_audits(store, client, repo, head).await?;
    let pulls = match client.pulls_of_commit(head).await {
        Ok(pulls) => pulls,
        // No such commit, or none any more: no pull request has it.
        Err(ForgeError::NotFound(_) | ForgeError::Validation(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for pull in pulls {
        if pull.state == "open" && pull.head.sha == *head {
            let key = PullKey {
                installation: repo.installation,
                repo: repo.repo.clone(),
                number: PrNumber(pull.number),
            };
            store.enqueue(&key).await?;
        }
    }
    Ok(())
}

/// The audits that the commit had.
async fn again_audits(
    store: &Store,
    client: &Client,
    repo: &RepoKey,
    head: &Sha,
) -> Result<(), Stop> {
    let mut names = store.runs_without_pull(&repo.repo, head).await?;
    names.retain(|name| audited_branch(name, "").is_some());
    if names.is_empty() {
        return Ok(());
    }
    let default_branch = client.repository().await?.default_branch;
    for name in &names {
        if let Some(branch) = audited_branch(name, &default_branch) {
            let task = Task::Audit {
                repo: repo.clone(),
                branch: branch.to_owned(),
                default_branch: default_branch.clone(),
            };
            store.enqueue_task(task, Duration::ZERO).await?;
        }
    }
    Ok(())
}
