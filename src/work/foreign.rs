//! Check-runs of other Apps under the name of ours.
//!
//! Invariant: once the forge told of one it is looked at by every evaluation of its head, and what can't
//! be seen is a fact that says so.

use crate::forge::ForgeError;
use crate::forge::github::{CheckRun, Client};
use crate::model::{Fact, ForeignCheck};
use crate::store::{ForeignRun, RunKey, Store};

use super::stop::Stop;

/// `None`: no event told of one.
pub(super) async fn checks(
    client: &Client,
    store: &Store,
    key: &RunKey,
) -> Result<Option<Fact<Vec<ForeignCheck>>>, Stop> {
    let told = store.foreign_runs(key, client.app_id()).await?;
    if told.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(told.len());
    for run in &told {
        match client.check_run(run.run).await {
            Ok(shown) => found.extend(foreign(client, run, shown)),
            Err(
                error @ (ForgeError::NotFound(_)
                | ForgeError::Forbidden(_)
                | ForgeError::Gone(_)
                | ForgeError::Validation(_)
                | ForgeError::TooLarge { .. }
                | ForgeError::Malformed(_)),
            ) => {
                let why = format!(
                    "the forge told of a run of the App with id {} under the name {}, and it can't be read: {error}",
                    run.app, run.name
                );
                return Ok(Some(Fact::Unavailable(why)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    found.sort();
    found.dedup();
    Ok(Some(Fact::Known(found)))
}

/// The run as it is now, unless it has another name by now or is ours after all.
fn foreign(client: &Client, told: &ForeignRun, shown: CheckRun) -> Option<ForeignCheck> {
    let (app, app_id) = match shown.app {
        Some(app) if app.id == client.app_id() => return None,
        Some(app) => (app.slug.unwrap_or(app.name), app.id),
        None => ("of an unknown name".to_owned(), told.app),
    };
    (shown.name == told.name).then_some(ForeignCheck {
        name: shown.name,
        app,
        app_id,
    })
}
