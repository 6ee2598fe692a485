//! A merge group: its commits, and each member's Snapshot on its tree (protocol 5.5).

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::config::repo::{Mode, RepoConfig};
use crate::forge::ForgeError;
use crate::model::{Fact, MergeGroup, Sha, Snapshot};

use super::super::wire::{Commit, Pull, Signature};
use super::changes::differences;
use super::survey::{Guard, Survey, Tip};
use super::{GatherError, Gatherer, Whose};

/// What is known of a merge group before its members are looked at.
#[derive(Debug)]
pub struct GroupFacts {
    pub guard: Guard,
    /// The default branch's tip has opted in, or the group's base if it is the default branch's.
    pub opted_in: bool,
    /// The configuration at the group's base says so; of an unguarded branch, the default branch's.
    pub observe: bool,
    /// Why it can't be judged: a sentence.
    pub problem: Option<String>,
    base: Sha,
    /// Of the group's head.
    tree: Sha,
    /// From the group's base to its head by first parents, the oldest first.
    pub chain: Vec<Commit>,
    /// Every path whose entry differs between base and head.
    pub changed: BTreeSet<String>,
}

/// A part of a group, or why it can't be judged.
type Found<T> = Result<T, String>;

impl Gatherer<'_> {
    /// Looks at a group.
    pub async fn group(&self, group: &MergeGroup) -> Result<GroupFacts, GatherError> {
        let default = self.default_tip(group).await?;
        let guarded = is_guarded(group, &default);
        let base_tree = self.client.git_commit(&group.base).await?.tree.sha;
        let tip = self.tip(&base_tree).await?;
        let into_default = group.branch == group.default_branch;
        // Who may change an unguarded branch may change what its configuration says.
        let config = if guarded {
            &tip.config
        } else {
            &default.config
        };
        let mut facts = GroupFacts {
            opted_in: default.opted_in() || into_default && tip.opted_in(),
            observe: RepoConfig::of(config).mode == Mode::Observe,
            guard: Guard {
                branch: group.branch.clone(),
                into_unguarded: None,
                default_branch: group.default_branch.clone(),
            },
            problem: None,
            base: group.base.clone(),
            tree: base_tree,
            chain: Vec::new(),
            changed: BTreeSet::new(),
        };
        if !facts.opted_in {
            return Ok(facts);
        }
        facts.problem = match guarded {
            true => self.look_inside(group, &tip, &mut facts).await?.err(),
            false => Some(format!(
                "it goes into `{}`, which is no guarded branch; name it under `branches:` in the default branch's configuration",
                group.branch
            )),
        };
        Ok(facts)
    }

    /// Fills in the commits and what they change.
    async fn look_inside(
        &self,
        group: &MergeGroup,
        tip: &Tip,
        facts: &mut GroupFacts,
    ) -> Result<Found<()>, GatherError> {
        facts.chain = match self.chain(group).await? {
            Ok(chain) => chain,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(head) = facts.chain.last() {
            facts.tree = head.commit.tree.sha.clone();
        }
        let Fact::Known(old) = &tip.listing else {
            return Ok(Err(unread("base", tip.listing.why_not())));
        };
        let listing = self.listing(&facts.tree, &[old]).await?;
        let Fact::Known(new) = &listing else {
            return Ok(Err(unread("head", listing.why_not())));
        };
        facts.changed = differences(old, new)
            .into_keys()
            .map(str::to_owned)
            .collect();
        Ok(Ok(()))
    }

    /// Whether the group's branch is a guarded one.
    pub async fn guards(&self, group: &MergeGroup) -> Result<bool, GatherError> {
        let default = self.default_tip(group).await?;
        Ok(is_guarded(group, &default))
    }

    async fn default_tip(&self, group: &MergeGroup) -> Result<Tip, GatherError> {
        let tip = self.client.branch(&group.default_branch).await?.commit;
        self.tip(&tip.commit.tree.sha).await
    }

    /// The group's commits by first parents. Every commit of it has to be known.
    async fn chain(&self, group: &MergeGroup) -> Result<Found<Vec<Commit>>, GatherError> {
        let comparison = match self.client.compare(group.base.as_str(), &group.head).await {
            Ok(comparison) => comparison,
            Err(ForgeError::NotFound(_)) => {
                return Ok(Err("its base and head can't be compared".to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        if comparison.merge_base_commit.sha != group.base {
            return Ok(Err("its head does not come from its base".to_owned()));
        }
        let (commits, all) = self.commits(&comparison, &group.base, &group.head).await?;
        if !all {
            return Ok(Err("it has too many commits".to_owned()));
        }
        Ok(by_first_parents(&commits, group))
    }

    /// Looks at a member's commits and its author, with the contract at the group's base.
    pub async fn member(
        &self,
        pull: &Pull,
        group: &GroupFacts,
    ) -> Result<Found<Survey>, GatherError> {
        let Some(history) = self.history_from(group.base.as_str(), pull, false).await? else {
            return Ok(Err(
                "its head can't be compared with the group's base".to_owned()
            ));
        };
        let tip = self.tip(&history.base.tree).await?;
        let brought = self.brought(pull, &history, &tip.config).await?;
        Ok(Ok(Survey {
            guard: group.guard.clone(),
            opted_in: group.opted_in,
            author: brought.author,
            proposed_by: brought.proposed_by,
            evidence: brought.evidence,
            history,
            base: tip.listing,
            layers: tip.layers,
            objects: tip.objects,
        }))
    }

    /// A member's Snapshot: its own write-set on the group's tree.
    pub async fn member_snapshot(
        &self,
        member: Survey,
        group: &GroupFacts,
        now: DateTime<Utc>,
    ) -> Result<Snapshot, GatherError> {
        let tree = Fact::Known(group.tree.clone());
        self.on_tree(member, tree, now, Whose::Own).await
    }
}

impl Survey {
    /// How many commits at the end of `chain` are the pull request's own, in their order, each put on another
    /// parent.
    pub fn rebased_at_the_end(&self, chain: &[Commit]) -> usize {
        if !self.history.all_commits {
            return 0;
        }
        let commits = self.history.commits.iter().rev();
        let mut own = commits.filter(|own| !own.is_merge);
        // One that brings nothing any more is left out by a rebase.
        let is_own = |commit: &&Commit| {
            let Signature { name, email } = commit.commit.author.clone().unwrap_or_default();
            commit.parents.len() == 1
                && own.any(|own| {
                    own.message == commit.commit.message
                        && (&own.author.name, &own.author.email) == (&name, &email)
                })
        };
        chain.iter().rev().take_while(is_own).count()
    }
}

fn is_guarded(group: &MergeGroup, default: &Tip) -> bool {
    let branches = RepoConfig::of(&default.config).branches;
    group.branch == group.default_branch || branches.contains(&group.branch)
}

fn unread(side: &str, why: Option<&str>) -> String {
    let why = why.unwrap_or_default();
    format!("the tree of its {side} could not be read: {why}")
}

fn by_first_parents(commits: &[Commit], group: &MergeGroup) -> Found<Vec<Commit>> {
    let mut chain = Vec::new();
    let mut next = &group.head;
    while *next != group.base {
        let commit = commits.iter().find(|commit| commit.sha == *next);
        let parent = commit.and_then(|commit| commit.parents.first());
        // No commit can be its own ancestor, but an answer could say so.
        let (Some(commit), Some(parent)) = (commit, parent.filter(|_| chain.len() < commits.len()))
        else {
            return Err("its commits do not lead to its base".to_owned());
        };
        chain.push(commit.clone());
        next = &parent.sha;
    }
    if chain.is_empty() {
        return Err("it brings no commit".to_owned());
    }
    chain.reverse();
    Ok(chain)
}
