//! Webhook deliveries, stored together with the job they ask for.

use crate::model::{DeliveryId, PullKey, Sha};

use super::queue::{Coalesce, JobPayload};
use super::{Store, StoreError};

/// What is kept of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub event: String,
    pub action: String,
    pub pull: PullKey,
    /// Head of the pull request as the event told it.
    pub head: Option<Sha>,
}

/// Whether the delivery's id was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    New,
    /// Seen before: a person pressed *Redeliver*, or the forge did.
    Duplicate,
}

impl Store {
    /// Stores the delivery and enqueues its pull request in one transaction. When this returns,
    /// both are on the disk. The job is enqueued for a duplicate as well.
    pub async fn receive(&self, delivery: &Delivery) -> Result<Received, StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        let times: i64 = sqlx::query_scalar(
            "INSERT INTO delivery
                 (id, event, action, installation, repository, pull_request, head, received_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET times = times + 1
             RETURNING times",
        )
        .bind(&delivery.id.0)
        .bind(&delivery.event)
        .bind(&delivery.action)
        .bind(delivery.pull.installation.0.cast_signed())
        .bind(delivery.pull.repo.as_str())
        .bind(delivery.pull.number.0.cast_signed())
        .bind(delivery.head.as_ref().map(Sha::as_str))
        .bind(now)
        .fetch_one(&mut *tx)
        .await?;
        // An old delivery sent again knows nothing newer than a job that waits already.
        let (received, coalesce) = if times == 1 {
            (Received::New, Coalesce::Replace)
        } else {
            (Received::Duplicate, Coalesce::Keep)
        };
        let payload = JobPayload {
            pull: delivery.pull.clone(),
            head: delivery.head.clone(),
            delivery: Some(delivery.id.clone()),
        };
        self.enqueue_in(&mut tx, &payload, coalesce, now).await?;
        tx.commit().await?;
        self.wake();
        Ok(received)
    }
}
