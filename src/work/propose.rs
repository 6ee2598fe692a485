//! Contract pull requests: a proposal as one commit on a branch of this App's.
//!
//! Invariants: a commit is noted with the people at whose command it was made before a branch points at it,
//! so that no evaluation ever takes it for anybody else's; broken off anywhere, the next attempt finds what
//! there is and makes no second pull request; a branch that holds somebody else's commit is left alone.

use crate::forge::ForgeError;
use crate::forge::github::TreeEdit;
use crate::model::{Person, Sha};
use crate::propose::{Content, Proposal};
use crate::render::{self, Asked};
use crate::store::{Ask, NewProposal};

use super::bound::Judged;
use super::commands::Commands;
use super::stop::Stop;

/// The answer, or why nothing was done: a sentence without a full stop.
pub(super) type Proposed = Result<String, String>;

impl Commands<'_> {
    /// Brings the proposal's pull request up to date, or opens it.
    pub(super) async fn propose(
        &self,
        proposal: &Proposal,
        (ask, line): (&Ask, &str),
        judged: &Judged<'_>,
    ) -> Result<Proposed, Stop> {
        if !self.client.may_propose().await? {
            return Ok(Ok(render::proposal_by_hand(proposal, &judged.key.head)));
        }
        let branch = format!("frostline/{}", proposal.subject);
        match self
            .put_forward(proposal, (ask, line), judged, &branch)
            .await
        {
            Err(Stop::Forge(ForgeError::Forbidden(why) | ForgeError::Validation(why))) => {
                Ok(Err(format!("the forge does not let this App do it: {why}")))
            }
            other => other,
        }
    }

    async fn put_forward(
        &self,
        proposal: &Proposal,
        (ask, line): (&Ask, &str),
        judged: &Judged<'_>,
        branch: &str,
    ) -> Result<Proposed, Stop> {
        let (client, repo) = (self.client, self.client.repo());
        let base = &judged.decision.base;
        let old_tree = client.git_commit(base).await?.tree.sha;
        let tree = client.write_tree(&old_tree, &edits(proposal)).await?;
        if tree == old_tree {
            return Ok(Err("the base branch has all of it already".to_owned()));
        }
        let open = client.pull_from(branch).await?;
        let tip = client.branch_tip(branch).await?;
        let mut people = match &tip {
            Some(tip) => self.store.proposers(repo, tip).await?,
            None => Vec::new(),
        };
        if tip.is_some() && people.is_empty() {
            return Ok(Err(format!(
                "the branch {branch} holds a commit that this App did not make; delete it, and repeat the command"
            )));
        }
        let asks_again = people.iter().any(|person| person.id == ask.actor_id);
        if open.is_none() {
            people.clear();
        }
        people.retain(|person| person.id != ask.actor_id);
        people.push(Person {
            login: ask.actor.clone(),
            id: ask.actor_id,
            is_bot: false,
        });
        let asked = Asked {
            pull: self.number,
            command: line,
            people: &people,
            host: client.host(),
        };
        let stands = match &tip {
            Some(tip) if asks_again => self.is_commit_of(tip, (base, &tree)).await?,
            _ => false,
        };
        if !stands {
            let message = render::proposal_message(proposal, asked);
            let head = client.write_commit(&message, &tree, base).await?;
            let new = NewProposal {
                repo,
                head: &head,
                branch,
                command: line,
            };
            self.store.put_proposal(new, &people).await?;
            match tip {
                Some(_) => client.move_branch(branch, &head).await?,
                None => client.create_branch(branch, &head).await?,
            }
        }
        let text = render::proposal_body(proposal, asked);
        let title = &proposal.title;
        let is_new = open.is_none();
        let pull = match open {
            Some(open) if open.body.as_deref() == Some(&text) => open,
            Some(open) => {
                let number = crate::model::PrNumber(open.number);
                client.edit_pull(number, title, &text).await?
            }
            None => {
                let sides = (branch, judged.snapshot.branch.as_str());
                client.create_pull(sides, title, &text).await?
            }
        };
        let number = crate::model::PrNumber(pull.number);
        Ok(Ok(render::proposal_made(
            proposal,
            number,
            is_new || !stands,
        )))
    }

    /// Whether the commit has that one parent and that tree.
    async fn is_commit_of(&self, commit: &Sha, (parent, tree): (&Sha, &Sha)) -> Result<bool, Stop> {
        let commit = self.client.git_commit(commit).await?;
        let [only] = commit.parents.as_slice() else {
            return Ok(false);
        };
        Ok(only.sha == *parent && commit.tree.sha == *tree)
    }
}

fn edits(proposal: &Proposal) -> Vec<(String, TreeEdit)> {
    let edit = |content: &Content| match content {
        Content::Text { new, .. } => TreeEdit::Text(new.clone()),
        Content::Object(kind, id) => TreeEdit::Object(*kind, id.clone()),
        Content::Removed => TreeEdit::Remove,
    };
    proposal
        .files
        .iter()
        .map(|file| (file.path.clone(), edit(&file.content)))
        .collect()
}
