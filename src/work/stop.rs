//! Why an attempt at a job ended early, and whether another one may help.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::forge::ForgeError;
use crate::forge::github::gather::GatherError;
use crate::model::{InstallationId, Sha};
use crate::publish::apply::PublishError;
use crate::store::{Store, StoreError};

use super::Outcome;

/// Why an attempt ended before its task was done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error("the database: {0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    MergePending(String),
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
            Self::Poison => return Outcome::Dead { why },
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
                    | ForgeError::LeaseLost
            )
        )
    }

    /// A limit of the forge is the whole installation's: its other jobs would only be refused too.
    pub async fn hold_back(&self, store: &Store, installation: InstallationId) {
        let Self::Forge(ForgeError::RateLimited { until }) = self else {
            return;
        };
        let after = (*until - Utc::now()).to_std().unwrap_or_default();
        if let Err(error) = store.hold_back(installation, after).await {
            tracing::warn!(%error, "jobs of a limited installation could not be put off");
        }
    }
}
