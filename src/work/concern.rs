//! Does what a command is about concern a patch that its sender brings? Who opened or pushed to an open pull
//! request is not the one who changes the contract that judges it (interfaces section 7).

use std::collections::BTreeSet;

use crate::model::{Decision, Fact, PrNumber};
use crate::store::Ask;

use super::bound::Judged;
use super::commands::Commands;
use super::stop::Stop;

impl Commands<'_> {
    /// An open pull request of the sender's whose write-set holds one of `paths`. One that was not judged
    /// yet could be about anything, and counts.
    pub(super) async fn concerned(
        &self,
        ask: &Ask,
        paths: &BTreeSet<&str>,
        judged: &Judged<'_>,
    ) -> Result<Fact<Option<PrNumber>>, Stop> {
        let pushed = self.store.pushes(judged.key).await?;
        let opened = judged.decision.author.login.as_deref();
        let is_theirs = opened.is_some_and(|login| login.eq_ignore_ascii_case(&ask.actor))
            || pushed
                .iter()
                .any(|(pushed, _)| pushed.account == ask.actor_id);
        if is_theirs && is_about(judged.decision, paths) {
            return Ok(Fact::Known(Some(self.number)));
        }
        let person = (ask.actor.as_str(), ask.actor_id);
        for (number, decision) in self.store.brought_by(self.client.repo(), person).await? {
            let decision = decision.and_then(|json| serde_json::from_str::<Decision>(&json).ok());
            let concerns = decision.is_none_or(|decision| is_about(&decision, paths));
            if number != self.number && concerns {
                return Ok(Fact::Known(Some(number)));
            }
        }
        Ok(Fact::Known(None))
    }
}

fn is_about(decision: &Decision, paths: &BTreeSet<&str>) -> bool {
    let mut written = decision.write_set.iter();
    written.any(|change| paths.contains(change.path.as_str()))
}
