//! Why an attempt at a job ended early, and whether another one may help.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::forge::ForgeError;
use crate::forge::github::gather::GatherError;
use crate::model::Sha;
use crate::publish::apply::PublishError;
use crate::store::{Lease, Store, StoreError};

use super::{Outcome, moved};

/// Why an attempt ended before its task was done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error("the database: {0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    MergePending(String),
    #[error("{0}")]
    NoBase(String),
    #[error("another job publishes for the same head")]
    HeadTaken,
    #[error("the evaluation ended with its process, or stood still, again and again")]
    Poison,
    #[error("the forge shows head {shown} yet, and told of {told}")]
    Behind { shown: Sha, told: Sha },
}

impl From<GatherError> for Stop {
    fn from(error: GatherError) -> Self {
        match error {
            GatherError::Forge(error) => Self::Forge(error),
            GatherError::Store(error) => Self::Store(error),
            GatherError::MergePending(why) => Self::MergePending(why),
            error @ GatherError::NoBase { .. } => Self::NoBase(error.to_string()),
        }
    }
}

impl From<PublishError> for Stop {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Forge(error) => Self::Forge(error),
            PublishError::Store(error) => Self::Store(error),
        }
    }
}

impl Stop {
    /// How the job goes on after it.
    pub fn outcome(&self, now: DateTime<Utc>) -> Outcome {
        let why = self.to_string();
        let after = match self {
            Self::Forge(ForgeError::RateLimited { until } | ForgeError::OverShare { until }) => {
                (*until - now).to_std().unwrap_or_default()
            }
            Self::Poison | Self::NoBase(_) => return Outcome::Dead { why },
            // A permission or a repository that is gone comes back by an event, not by waiting.
            Self::Forge(
                ForgeError::NotFound(_)
                | ForgeError::Forbidden(_)
                | ForgeError::Gone(_)
                | ForgeError::Validation(_)
                | ForgeError::TooLarge { .. },
            ) => return Outcome::Dead { why },
            // A key may be being rotated, an answer may have been a proxy's.
            Self::Forge(
                ForgeError::Unauthorized(_)
                | ForgeError::Transient(_)
                | ForgeError::Malformed(_)
                | ForgeError::Redirected(_)
                | ForgeError::Renamed { .. }
                | ForgeError::OutOfReach
                | ForgeError::LeaseLost,
            )
            | Self::Store(_)
            | Self::MergePending(_)
            | Self::HeadTaken
            | Self::Behind { .. } => Duration::ZERO,
        };
        Outcome::Retry { after, why }
    }

    /// Nothing more can be asked of the forge, or written there, in this attempt.
    pub fn ends_all(&self) -> bool {
        matches!(
            self,
            Self::Forge(
                ForgeError::RateLimited { .. }
                    | ForgeError::OverShare { .. }
                    | ForgeError::Renamed { .. }
                    | ForgeError::OutOfReach
                    | ForgeError::LeaseLost
            )
        )
    }

    /// How the job goes on, once what this tells of others was seen to: of the installation's other jobs, and
    /// of a repository that is somewhere else now.
    pub async fn settle(&self, store: &Store, lease: &Lease) -> Outcome {
        let seen = match self {
            Self::Forge(ForgeError::RateLimited { until }) => hold_back(store, lease, *until).await,
            Self::Forge(ForgeError::Renamed { id, to }) => {
                moved::follow(store, lease, *id, to).await
            }
            Self::Forge(ForgeError::OutOfReach) => moved::forget(store, lease).await,
            _ => return self.outcome(Utc::now()),
        };
        match (self, seen) {
            (Self::Forge(ForgeError::Renamed { .. } | ForgeError::OutOfReach), Ok(())) => {
                Outcome::Done
            }
            (_, Ok(())) => self.outcome(Utc::now()),
            (_, Err(error)) => {
                tracing::warn!(%error, "what the forge told of other jobs could not be noted");
                self.outcome(Utc::now())
            }
        }
    }
}

/// A limit of the forge is the whole installation's: its other jobs would only be refused too.
async fn hold_back(store: &Store, lease: &Lease, until: DateTime<Utc>) -> Result<(), StoreError> {
    let Some(installation) = lease.task.installation() else {
        return Ok(());
    };
    let after = (until - Utc::now()).to_std().unwrap_or_default();
    store.hold_back(installation, after).await
}
