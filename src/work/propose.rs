//! Contract pull requests: a proposal as one commit on a branch of this App's.
//!
//! Invariants: a commit is noted with the people at whose command it was made before a branch points at it,
//! so that no evaluation ever takes it for anybody else's; broken off anywhere, the next attempt finds what
//! there is and makes no second pull request; a branch that holds somebody else's commit is left alone.

use crate::forge::ForgeError;
use crate::forge::github::{Pull, TreeEdit};
use crate::model::{Person, PrNumber, Sha};
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
        let client = self.client;
        let base = &judged.decision.base;
        let old_tree = client.git_commit(base).await?.tree.sha;
        let tree = client.write_tree(&old_tree, &edits(proposal)).await?;
        if tree == old_tree {
            return Ok(Err("the base branch has all of it already".to_owned()));
        }
        let open = client.pull_from(branch).await?;
        let tip = client.branch_tip(branch).await?;
        let before = match &tip {
            Some(tip) => self.store.proposers(client.repo(), tip).await?,
            None => Vec::new(),
        };
        if tip.is_some() && before.is_empty() {
            return Ok(Err(taken(branch)));
        }
        let asks_again = before.iter().any(|person| person.id == ask.actor_id);
        let people = askers(before, open.is_some(), ask);
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
                repo: client.repo(),
                head: &head,
                branch,
                command: line,
            };
            self.store.put_proposal(new, &people).await?;
            if let Some(why) = self.point(branch, tip.as_ref(), &head).await? {
                return Ok(Err(why));
            }
        }
        let is_new = open.is_none() || !stands;
        let sides = (branch, judged.snapshot.branch.as_str());
        let number = self.show(proposal, asked, open, sides).await?;
        Ok(Ok(render::proposal_made(proposal, number, is_new)))
    }

    /// Points the branch at `head`, if it still is where it was; else says why not. Nobody's commit is lost:
    /// the forge itself compares.
    async fn point(
        &self,
        branch: &str,
        tip: Option<&Sha>,
        head: &Sha,
    ) -> Result<Option<String>, Stop> {
        let client = self.client;
        let pointed = match tip {
            Some(tip) => client.move_branch(branch, (tip, head)).await,
            None => client.create_branch(branch, head).await,
        };
        let Err(error) = pointed else {
            return Ok(None);
        };
        if !matches!(error, ForgeError::Validation(_)) {
            return Err(error.into());
        }
        let now = client.branch_tip(branch).await?;
        match now {
            now if now.as_ref() == tip => Err(error.into()),
            Some(now) if self.store.proposers(client.repo(), &now).await?.is_empty() => {
                Ok(Some(taken(branch)))
            }
            // Another command moved or removed it: the next attempt finds what there is.
            _ => Err(ForgeError::Transient(format!("{branch} moved meanwhile")).into()),
        }
    }

    /// Opens the pull request, or brings its text up to date.
    async fn show(
        &self,
        proposal: &Proposal,
        asked: Asked<'_>,
        open: Option<Pull>,
        sides: (&str, &str),
    ) -> Result<PrNumber, Stop> {
        let text = render::proposal_body(proposal, asked);
        let title = &proposal.title;
        let pull = match open {
            Some(open) if open.body.as_deref() == Some(&text) => open,
            Some(open) => {
                let number = PrNumber(open.number);
                self.client.edit_pull(number, title, &text).await?
            }
            None => self.client.create_pull(sides, title, &text).await?,
        };
        Ok(PrNumber(pull.number))
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

fn taken(branch: &str) -> String {
    format!(
        "the branch {branch} holds a commit that this App did not make; delete it, and repeat the command"
    )
}

/// Everybody at whose command the commit is made, who asks now last. Those of a pull request that was closed
/// or merged are no askers of the next one.
fn askers(before: Vec<Person>, is_open: bool, ask: &Ask) -> Vec<Person> {
    let others = before.into_iter().filter(|_| is_open);
    let others = others.filter(|person| person.id != ask.actor_id);
    let now = Person {
        login: ask.actor.clone(),
        id: ask.actor_id,
        is_bot: false,
    };
    others.chain([now]).collect()
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
