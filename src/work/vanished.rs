//! A pull request whose base branch is gone.

use crate::forge::github::Pull;
use crate::forge::github::gather::Guard;
use crate::publish::plan::Run;

use super::evaluate::Work;
use super::seat::Seat;
use super::stop::Stop;

impl Work<'_> {
    /// There is nothing to judge the pull request by, and nothing that it could be merged into. Its check
    /// says so where there is one or would be one; every sweep looks again.
    pub(super) async fn no_base(
        &self,
        pull: &Pull,
        guard: &Guard,
        opted_in: Option<bool>,
    ) -> Result<(), Stop> {
        let known = self.store.opted_in(self.client.repo()).await?;
        let mut post = self.post(pull, &guard.branch, false).await?;
        let is_open = matches!(post.publisher.published().run, Run::Open { .. });
        let is_awaited = is_open || opted_in.or(known) == Some(true);
        if is_awaited && post.seat == Seat::Speaks {
            let why = format!(
                "the base branch `{}` does not exist any more; choose another base for the pull request, or \
                 restore the branch",
                guard.branch.replace('`', "'")
            );
            post.publisher.fail(&why).await?;
        }
        self.commands().refuse_waiting(&pull.head.sha).await
    }
}
