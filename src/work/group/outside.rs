//! What else stands around a group: whether its queue still wants it, check-runs of others, the branch's rules,
//! and its members' own evaluations.

use std::time::Duration;

use crate::forge::ForgeError;
use crate::model::{Fact, Requirement};
use crate::store::{RepoKey, RunKey, Task};

use super::super::evaluate::Work;
use super::super::stop::Stop;
use super::super::{foreign, required};
use super::{GroupWork, Judged};

impl GroupWork<'_> {
    /// The queue has merged the group, or dropped it: its members are open no longer, or in another one, and
    /// its head may be the branch's tip by now.
    pub(super) async fn is_over(&self) -> Result<bool, Stop> {
        match self.client.branch(&self.group.queue_branch).await {
            Ok(branch) => Ok(branch.commit.sha != self.group.head),
            Err(ForgeError::NotFound(_)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Check-runs of other Apps under our name on the group's head.
    pub(super) async fn look_around(&self, key: &RunKey, judged: &mut Judged) -> Result<(), Stop> {
        match foreign::checks(self.client, self.store, key).await? {
            None => {}
            Some(Fact::Known(found)) => judged.foreign = found,
            Some(unknown) => {
                let why = unknown.why_not().unwrap_or_default();
                judged.unresolved.push(why.to_owned());
            }
        }
        Ok(())
    }

    /// What the rules of the group's branch say of the check.
    pub(super) async fn requirement(&self, key: &RunKey) -> Result<Requirement, Stop> {
        let check = (self.group.branch.as_str(), key.check_name.as_str());
        required::requirement(self.client, self.store, check).await
    }
}

impl Work<'_> {
    /// The groups that hold the pull request rest on what was just looked at: people's approvals, its head.
    pub(in super::super) async fn groups_again(&self) -> Result<(), Stop> {
        let repo = self.client.repo();
        for group in self.store.groups_of(repo, self.pull.number).await? {
            let repo = RepoKey {
                installation: self.pull.installation,
                repo: repo.clone(),
            };
            let task = Task::Group { repo, group };
            self.store.enqueue_task(task, Duration::ZERO).await?;
        }
        Ok(())
    }
}
