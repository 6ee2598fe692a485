//! The handler of the queue's jobs: each kind of task has its file.

use crate::forge::github::App;
use crate::publish::links::Links;
use crate::store::{Lease, Store, Task};

use super::branch::{self, Place};
use super::{Handler, Outcome, audit, evaluate, group, heads, sweep};

/// Does what a job asks for, with the forge and the store.
pub struct Jobs {
    app: App,
    store: Store,
    links: Option<Links>,
}

impl Jobs {
    pub fn new(app: App, store: Store) -> Self {
        Self {
            app,
            store,
            links: None,
        }
    }

    /// Check-runs link to their pages.
    pub fn with_links(self, links: Links) -> Self {
        Self {
            links: Some(links),
            ..self
        }
    }
}

impl Handler for Jobs {
    async fn run(&self, lease: &Lease) -> Outcome {
        let (app, store) = (&self.app, &self.store);
        match &lease.task {
            Task::Pull { pull, .. } => {
                let links = self.links.as_ref();
                evaluate::attempt(app, (store, links), pull, lease).await
            }
            Task::Head { repo, head } => heads::attempt(app, store, (repo, head), lease).await,
            Task::Group { repo, group } => group::attempt(app, store, (repo, group), lease).await,
            Task::Branch {
                repo,
                branch,
                default_branch,
            }
            | Task::Audit {
                repo,
                branch,
                default_branch,
            } => {
                let place = Place {
                    repo,
                    branch,
                    default_branch,
                };
                match &lease.task {
                    Task::Audit { .. } => audit::attempt(app, store, place, lease).await,
                    _ => branch::attempt(app, store, place, lease).await,
                }
            }
            Task::Repository {
                repo,
                default_branch,
            } => sweep::repository(app, store, (repo, default_branch.as_deref()), lease).await,
            Task::Installation { installation } => {
                sweep::installation(app, store, *installation, lease).await
            }
            Task::Forget { repo } => sweep::forget(store, &repo.repo, lease).await,
            Task::ForgetInstallation { installation } => {
                sweep::forget_installation(store, *installation, lease).await
            }
            Task::Sweep => sweep::sweep(app, store, lease).await,
        }
    }
}
