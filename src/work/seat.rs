//! Which of the pull requests with one head is judged for it.
//!
//! Invariant: a verdict belongs to a guarded branch and a head (protocol 5.5). Of several pull requests
//! that have the head and are judged by the branch's contract, one speaks: it alone writes the check-run.

use crate::forge::ForgeError;
use crate::forge::github::Pull;
use crate::model::{AuthorKind, Decision, PrNumber, Sha};
use crate::store::{PullState, RunKey};

use super::evaluate::Work;
use super::stop::Stop;

/// What a pull request is to its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seat {
    /// Its evaluation is the head's.
    Speaks,
    /// Another pull request's is; this one has its comment and nothing more.
    Listens(PrNumber),
}

impl Work<'_> {
    /// Notes the pull request and finds its seat; who speaks holds the head's lease from then on.
    pub(super) async fn seat(
        &self,
        pull: &Pull,
        guarded: &str,
        check_name: &str,
    ) -> Result<Seat, Stop> {
        let state = PullState {
            key: self.pull.clone(),
            head: pull.head.sha.clone(),
            base_branch: pull.base.branch.clone(),
            guarded: guarded.to_owned(),
            check_name: check_name.to_owned(),
            base: None,
        };
        self.store.see_pull(&state).await?;
        let key = self.run_key(&pull.head.sha, check_name);
        for other in self.store.pulls_at(&key).await? {
            if other.key.number == self.pull.number {
                break;
            }
            if self.still_speaks(&other).await? {
                return Ok(Seat::Listens(other.key.number));
            }
            // It is not what it was; its own job sees to it.
            self.store
                .forget_pull(&other.key.repo, other.key.number)
                .await?;
            self.store.enqueue(&other.key).await?;
        }
        match self.store.take_head(&key, self.lease).await? {
            true => Ok(Seat::Speaks),
            false => Err(Stop::HeadTaken),
        }
    }

    pub(super) fn run_key(&self, head: &Sha, check_name: &str) -> RunKey {
        RunKey {
            repo: self.client.repo().clone(),
            pull: self.pull.number,
            head: head.clone(),
            check_name: check_name.to_owned(),
        }
    }

    /// A webhook may have been lost: the forge is asked.
    async fn still_speaks(&self, seen: &PullState) -> Result<bool, Stop> {
        match self.client.pull(seen.key.number).await {
            Ok(now) => Ok(now.state == "open"
                && now.head.sha == seen.head
                && now.base.branch == seen.base_branch),
            Err(ForgeError::NotFound(_) | ForgeError::Gone(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs that earlier attempts opened on heads that are no longer this pull request's, or under another
    /// name than `check_name`, go over to another one that is judged for them.
    pub(super) async fn hand_over(
        &self,
        pull: &Pull,
        check_name: Option<&str>,
    ) -> Result<(), Stop> {
        let open = self
            .store
            .open_evaluations(self.client.repo(), self.pull.number)
            .await?;
        for evaluation in open {
            let same_name = check_name.is_none_or(|name| evaluation.check_name == name);
            if pull.state == "open" && evaluation.head == pull.head.sha && same_name {
                continue;
            }
            let key = self.run_key(&evaluation.head, &evaluation.check_name);
            let others = self.store.pulls_at(&key).await?;
            let heir = others
                .iter()
                .find(|other| other.key.number != self.pull.number);
            if let Some(heir) = heir {
                self.store
                    .hand_over(&evaluation.id, heir.key.number)
                    .await?;
                self.store.enqueue(&heir.key).await?;
            }
        }
        Ok(())
    }

    /// Evidence of an agent that this pull request brings is the head's: who speaks for the head is
    /// judged anew if that was taken for a person's.
    pub(super) async fn tell(&self, speaker: PrNumber, kind: AuthorKind) -> Result<(), Stop> {
        let repo = self.client.repo();
        let Some((decision, _)) = self.store.newest_decision(repo, speaker).await? else {
            return Ok(());
        };
        let judged = serde_json::from_str::<Decision>(&decision).map(|was| was.author.kind);
        if kind == AuthorKind::Agent && judged.is_ok_and(|was| was == AuthorKind::Person) {
            let mut key = self.pull.clone();
            key.number = speaker;
            self.store.enqueue(&key).await?;
        }
        Ok(())
    }
}
