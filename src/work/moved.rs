//! A repository that is not where it was: renamed, or transferred to another owner.
//!
//! The event of it may never come. What tells is the forge's answer to a request by the old name, or the id
//! of the repository in an answer by the new one.

use std::time::Duration;

use crate::forge::github::Pull;
use crate::model::{PullKey, RepoName};
use crate::store::{Lease, RepoKey, Store, StoreError, Task};

/// The repository of the lease's task goes by the name `to`: what is kept goes along, and the task begins
/// anew by that name.
pub(super) async fn follow(
    store: &Store,
    lease: &Lease,
    id: u64,
    to: &RepoName,
) -> Result<(), StoreError> {
    let task = &lease.task;
    let (Some(installation), Some(was)) = (task.installation(), task.repo()) else {
        return Ok(());
    };
    let at = RepoKey {
        installation,
        repo: to.clone(),
    };
    store
        .name_repository(id, &at, Some(was), Some(lease.job_id))
        .await?;
    tracing::info!(%was, now = %to, "the repository has another name");
    store
        .enqueue_task(task.clone().renamed(to), Duration::ZERO)
        .await
}

/// The repository of the lease's task is another owner's, whom the task's installation does not see. What is
/// kept waits for the day that another installation shows it.
pub(super) async fn forget(store: &Store, lease: &Lease) -> Result<(), StoreError> {
    let task = &lease.task;
    let (Some(installation), Some(repo)) = (task.installation(), task.repo()) else {
        return Ok(());
    };
    tracing::warn!(%repo, "the repository is out of reach: it has another owner, or the installation is suspended");
    let repo = RepoKey {
        installation,
        repo: repo.clone(),
    };
    store
        .enqueue_task(Task::Forget { repo }, Duration::ZERO)
        .await
}

/// Notes which repository the pull request's is: it may have been known by another name.
pub(super) async fn note(
    store: &Store,
    key: &PullKey,
    pull: &Pull,
    lease: &Lease,
) -> Result<(), StoreError> {
    let Some(repo) = pull.base.repo.as_ref().filter(|repo| repo.id > 0) else {
        return Ok(());
    };
    let at = RepoKey {
        installation: key.installation,
        repo: key.repo.clone(),
    };
    let own = Some(lease.job_id);
    store.name_repository(repo.id, &at, None, own).await?;
    Ok(())
}
