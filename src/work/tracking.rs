//! The one issue of a repository that says what the audit of its default branch found.
//!
//! Invariant: broken off anywhere, the next audit finds the issue again, by its number or by its marker and
//! author, and makes no second one. Without the right to write issues nothing is lost: the check-run of the
//! audit says the same.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::forge::ForgeError;
use crate::forge::github::Client;
use crate::gate::numbers::RowKey;
use crate::model::Decision;
use crate::publish::plan::text_digest;
use crate::render::{TRACKING_MARKER, TRACKING_TITLE, tracking, tracking_clean};
use crate::store::{Store, TrackingIssue};

use super::stop::Stop;

pub(super) struct Tracking<'a> {
    pub client: &'a Client,
    pub store: &'a Store,
}

impl Tracking<'_> {
    /// Brings the issue up to date with an audit's decision. `since`: since when each void row is.
    pub async fn follow(
        &self,
        decision: &Decision,
        since: &BTreeMap<RowKey, DateTime<Utc>>,
    ) -> Result<(), Stop> {
        let found = tracking(decision, since, self.store.now());
        match self.write(found.as_deref()).await {
            // The right is not granted, or the repository has no issues.
            Err(Stop::Forge(
                error @ (ForgeError::Forbidden(_)
                | ForgeError::Gone(_)
                | ForgeError::NotFound(_)
                | ForgeError::Validation(_)),
            )) => {
                tracing::info!(%error, "the issue of the audit was not written");
                Ok(())
            }
            other => other,
        }
    }

    /// `None`: there is nothing to say.
    async fn write(&self, found: Option<&str>) -> Result<(), Stop> {
        let repo = self.client.repo();
        let mut known = self.store.tracking_issue(repo).await?;
        if known.is_none() && found.is_none() {
            return Ok(());
        }
        let clean = tracking_clean();
        let body = found.unwrap_or(&clean);
        let wanted = |number| TrackingIssue {
            number,
            body: text_digest(body),
            is_open: found.is_some(),
        };
        if known
            .as_ref()
            .is_some_and(|known| *known == wanted(known.number))
        {
            return Ok(());
        }
        if !self.client.may_track().await? {
            return Ok(());
        }
        if let Some(issue) = known.take() {
            match self.edit(issue.number, body, found.is_some()).await {
                Ok(()) => {
                    let issue = wanted(issue.number);
                    return Ok(self.store.put_tracking_issue(repo, Some(&issue)).await?);
                }
                // Somebody deleted it, or moved it to another repository.
                Err(Stop::Forge(ForgeError::NotFound(_) | ForgeError::Gone(_))) => {
                    self.store.put_tracking_issue(repo, None).await?;
                }
                Err(stop) => return Err(stop),
            }
        }
        if found.is_none() {
            return Ok(());
        }
        // An earlier attempt may have made it whose answer was lost.
        let number = match self.client.find_issue(TRACKING_MARKER).await? {
            Some(issue) => {
                self.edit(issue.number, body, true).await?;
                issue.number
            }
            None => self.client.create_issue(TRACKING_TITLE, body).await?.number,
        };
        let issue = wanted(number);
        Ok(self.store.put_tracking_issue(repo, Some(&issue)).await?)
    }

    async fn edit(&self, number: u64, body: &str, is_open: bool) -> Result<(), Stop> {
        self.client.edit_issue(number, body, is_open).await?;
        Ok(())
    }
}
