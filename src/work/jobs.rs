//! The handler of the queue's jobs: each kind of task has its file.

use crate::forge::github::App;
use crate::store::{Lease, Store, Task};

use super::{Handler, Outcome, evaluate, heads};

/// Does what a job asks for, with the forge and the store.
pub struct Jobs {
    app: App,
    store: Store,
}

impl Jobs {
    pub fn new(app: App, store: Store) -> Self {
        Self { app, store }
    }
}

impl Handler for Jobs {
    async fn run(&self, lease: &Lease) -> Outcome {
        let (app, store) = (&self.app, &self.store);
        match &lease.task {
            Task::Pull { pull, .. } => evaluate::attempt(app, store, pull, lease).await,
            Task::Head { repo, head } => heads::attempt(app, store, repo, head).await,
        }
    }
}
