//! The jobs that find what no webhook told: lost deliveries, pull requests without an up-to-date check,
//! branches that moved, repositories that came and went.
//!
//! A sweep asks the forge to deliver again what did not arrive, and looks at every repository all the
//! same: the forge keeps deliveries for three days only.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{TimeDelta, Utc};

use crate::forge::ForgeError;
use crate::forge::github::{App, Client, InstalledRepo, Pull};
use crate::model::{DeliveryId, InstallationId, PrNumber, PullKey, RepoName};
use crate::store::{Lease, RepoKey, Store, Task};

use super::Outcome;
use super::stop::Stop;

/// How far back deliveries are looked at: as long as the forge keeps them, or longer.
const KEPT: TimeDelta = TimeDelta::days(7);
/// Pages of deliveries, and deliveries that are asked for again, in one sweep.
const MOST_PAGES: usize = 300;
const MOST_REDELIVERIES: usize = 500;
/// Repositories of an installation are looked at this far apart.
const APART: Duration = Duration::from_secs(2);

async fn outcome(result: Result<(), Stop>, store: &Store, lease: &Lease) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(stop) => stop.settle(store, lease).await,
    }
}

/// Everything.
pub(super) async fn sweep(app: &App, store: &Store, lease: &Lease) -> Outcome {
    let app = app.counted();
    let swept = sweep_all(&app, store).await;
    tracing::Span::current().record("requests", app.requests());
    outcome(swept, store, lease).await
}

async fn sweep_all(app: &App, store: &Store) -> Result<(), Stop> {
    redeliver(app, store).await?;
    let found = app.installations().await?;
    let there: BTreeSet<u64> = found.iter().map(|one| one.id).collect();
    for gone in store.installations().await? {
        if !there.contains(&gone.0) {
            let task = Task::ForgetInstallation { installation: gone };
            store.enqueue_task(task, Duration::ZERO).await?;
        }
    }
    for one in found.iter().filter(|one| one.suspended_at.is_none()) {
        let installation = InstallationId(one.id);
        let task = Task::Installation { installation };
        store.enqueue_task(task, Duration::ZERO).await?;
    }
    Ok(())
}

/// Has each delivery made again that never arrived.
async fn redeliver(app: &App, store: &Store) -> Result<(), Stop> {
    let since = Utc::now() - KEPT;
    // By delivery: the newest attempt, and whether one of them arrived.
    let mut seen: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let (page, next) = app.deliveries(cursor.as_deref()).await?;
        let is_old = page.iter().any(|one| one.delivered_at < since);
        for delivery in page.into_iter().filter(|one| one.delivered_at >= since) {
            let known = seen.entry(delivery.guid).or_insert((delivery.id, false));
            known.1 |= delivery.status == "OK";
        }
        cursor = next;
        if is_old || cursor.is_none() {
            break;
        }
    }
    let mut again = 0;
    for (guid, (id, arrived)) in seen {
        // It may have been stored although our answer came too late.
        if arrived || store.has_delivery(&DeliveryId(guid)).await? {
            continue;
        }
        match app.redeliver(id).await {
            Ok(()) => again += 1,
            // Too old by now.
            Err(ForgeError::NotFound(_) | ForgeError::Validation(_) | ForgeError::Gone(_)) => {}
            Err(error) => return Err(error.into()),
        }
        if again >= MOST_REDELIVERIES {
            break;
        }
    }
    if again > 0 {
        tracing::info!(again, "deliveries that had failed were asked for again");
    }
    Ok(())
}

/// The repositories of an installation: each is looked at, and those it has no longer are forgotten.
pub(super) async fn installation(
    app: &App,
    store: &Store,
    id: InstallationId,
    lease: &Lease,
) -> Outcome {
    let app = app.counted();
    let swept = sweep_installation(&app, store, id).await;
    tracing::Span::current().record("requests", app.requests());
    outcome(swept, store, lease).await
}

async fn sweep_installation(app: &App, store: &Store, id: InstallationId) -> Result<(), Stop> {
    let found = app.repositories(id).await?;
    for one in &found {
        let at = RepoKey {
            installation: id,
            repo: one.full_name.clone(),
        };
        store.name_repository(one.id, &at, None, None).await?;
    }
    let there: BTreeSet<String> = found.iter().map(|one| lower(&one.full_name)).collect();
    for repo in store.repositories_of(id).await? {
        if !there.contains(&lower(&repo)) {
            let repo = RepoKey {
                installation: id,
                repo,
            };
            store
                .enqueue_task(Task::Forget { repo }, Duration::ZERO)
                .await?;
        }
    }
    let live = |one: &&InstalledRepo| !one.archived && !one.disabled;
    for (at, one) in (0_u32..).zip(found.iter().filter(live)) {
        let task = Task::Repository {
            repo: RepoKey {
                installation: id,
                repo: one.full_name.clone(),
            },
            default_branch: Some(one.default_branch.clone()),
        };
        store.enqueue_task(task, APART * at).await?;
    }
    Ok(())
}

fn lower(repo: &RepoName) -> String {
    repo.as_str().to_ascii_lowercase()
}

/// The open pull requests and the guarded branches of a repository.
pub(super) async fn repository(
    app: &App,
    store: &Store,
    (repo, default_branch): (&RepoKey, Option<&str>),
    lease: &Lease,
) -> Outcome {
    let client = app.client(repo.installation, repo.repo.clone());
    let swept = sweep_repository(&client, store, repo, default_branch).await;
    tracing::Span::current().record("requests", client.requests());
    outcome(swept, store, lease).await
}

async fn sweep_repository(
    client: &Client,
    store: &Store,
    repo: &RepoKey,
    default_branch: Option<&str>,
) -> Result<(), Stop> {
    let pulls = client.open_pulls().await?;
    let open: BTreeSet<PrNumber> = pulls.iter().map(|pull| PrNumber(pull.number)).collect();
    let seen = store.seen_pulls(&repo.repo).await?;
    let expired = store.expired_pulls(&repo.repo).await?;
    for pull in &pulls {
        let known = seen.iter().find(|seen| seen.key.number.0 == pull.number);
        let up_to_date = known.is_some_and(|known| {
            known.base.is_some()
                && known.head == pull.head.sha
                && known.base_branch == pull.base.branch
                && !expired.contains(&known.key.number)
        });
        if !up_to_date {
            enqueue(store, repo, PrNumber(pull.number)).await?;
        }
    }
    // Runs that are open on what is closed by now are ended by its own job.
    let mut closed: BTreeSet<PrNumber> = seen.iter().map(|seen| seen.key.number).collect();
    closed.extend(store.pulls_in_progress(&repo.repo).await?);
    for number in closed.difference(&open) {
        enqueue(store, repo, *number).await?;
    }
    look_at_branches(client, store, repo, default_branch, &pulls).await
}

async fn enqueue(store: &Store, repo: &RepoKey, number: PrNumber) -> Result<(), Stop> {
    let key = PullKey {
        installation: repo.installation,
        repo: repo.repo.clone(),
        number,
    };
    Ok(store.enqueue(&key).await?)
}

async fn look_at_branches(
    client: &Client,
    store: &Store,
    repo: &RepoKey,
    default_branch: Option<&str>,
    pulls: &[Pull],
) -> Result<(), Stop> {
    let told = pulls.iter().find_map(|pull| pull.base.repo.as_ref());
    let default_branch = match (default_branch, told) {
        (Some(name), _) => name.to_owned(),
        (None, Some(told)) => told.default_branch.clone(),
        (None, None) => client.repository().await?.default_branch,
    };
    let mut branches: BTreeSet<String> =
        store.seen_branches(&repo.repo).await?.into_iter().collect();
    branches.insert(default_branch.clone());
    for branch in branches {
        let task = Task::Branch {
            repo: repo.clone(),
            branch,
            default_branch: default_branch.clone(),
        };
        store.enqueue_task(task, Duration::ZERO).await?;
    }
    Ok(())
}

/// What is kept of a repository that the App sees no longer.
pub(super) async fn forget(store: &Store, repo: &RepoName, lease: &Lease) -> Outcome {
    let forgotten = store.forget_repository(repo).await;
    outcome(forgotten.map_err(Into::into), store, lease).await
}

/// The same for every repository of an installation.
pub(super) async fn forget_installation(
    store: &Store,
    id: InstallationId,
    lease: &Lease,
) -> Outcome {
    let forget = async {
        for repo in store.repositories_of(id).await? {
            store.forget_repository(&repo).await?;
        }
        Ok(())
    };
    outcome(forget.await, store, lease).await
}
