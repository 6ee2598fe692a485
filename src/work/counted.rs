//! What is kept of a decision beside itself: what it voids, and when a date makes it another.

use crate::gate::numbers;
use crate::model::{Decision, Verdict};
use crate::render;

use super::evaluate::Work;
use super::stop::Stop;

impl Work<'_> {
    pub(super) async fn count(&self, decision: &Decision) -> Result<(), Stop> {
        let (repo, number) = (self.client.repo(), self.pull.number);
        let expiry = numbers::next_expiry(decision);
        self.store
            .note_expiry(repo, number, &decision.head, expiry)
            .await?;
        if decision.verdict != Verdict::NotApplicable {
            let voided = render::voided(decision).len();
            self.store.count_patch(repo, number, voided).await?;
        }
        Ok(())
    }
}
