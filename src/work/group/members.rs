//! The members of a merge group, and their verdicts.
//!
//! A commit on the way from the group's base to its head is one member's: the head is that of the pull
//! request in the queue's branch; another one names its pull request as the forge's merge and squash commits
//! do, or is a rebased commit of the newest member.

use std::collections::{BTreeMap, BTreeSet};

use crate::forge::ForgeError;
use crate::forge::github::gather::{Gatherer, GroupFacts, Survey};
use crate::forge::github::{Commit, Pull};
use crate::gate;
use crate::model::{Decision, PrNumber, Verdict, named_pull};
use crate::publish::plan;

use super::super::reviews::ReviewFacts;
use super::super::stop::Stop;
use super::{GroupWork, Judged};

/// The forge's own limit on the size of a group.
const MOST_MEMBERS: usize = 100;
/// Paths that are named in a reason.
const NAMED_PATHS: usize = 10;

/// A pull request that the group brings.
struct Member {
    pull: Pull,
    survey: Survey,
}

/// The members by their numbers; for each that can't be resolved, why.
type Members = BTreeMap<PrNumber, Result<Member, String>>;

impl GroupWork<'_> {
    /// Finds the members and judges each on the group's tree.
    pub(super) async fn judge(
        &self,
        gatherer: &Gatherer<'_>,
        facts: &GroupFacts,
    ) -> Result<Judged, Stop> {
        let mut judged = Judged::default();
        let members = self
            .members(gatherer, facts, &mut judged.unresolved)
            .await?;
        let mut missing = facts.changed.clone();
        for (number, member) in members {
            match member {
                Ok(member) => {
                    let decision = self.decide(gatherer, facts, member).await?;
                    for change in &decision.write_set {
                        missing.remove(&change.path);
                    }
                    judged.members.push((number, decision));
                }
                Err(why) => judged.unresolved.push(why),
            }
        }
        if judged.unresolved.is_empty() && !missing.is_empty() {
            judged.unresolved.push(no_member_brings(&missing));
        }
        Ok(judged)
    }

    async fn members(
        &self,
        gatherer: &Gatherer<'_>,
        facts: &GroupFacts,
        unresolved: &mut Vec<String>,
    ) -> Result<Members, Stop> {
        let mut members = Members::new();
        let Some(newest) = self.group.newest_member() else {
            unresolved.push(format!(
                "the queue's branch `{}` names no pull request",
                self.group.queue_branch
            ));
            return Ok(members);
        };
        members.insert(newest, self.member(gatherer, facts, newest).await?);
        for commit in &facts.chain {
            let number =
                if commit.sha == self.group.head || is_rebased(commit, members.get(&newest)) {
                    newest
                } else if let Some(number) = named_pull(&commit.commit.message) {
                    number
                } else {
                    let commit = commit.sha.short();
                    unresolved.push(format!("commit {commit} belongs to no pull request"));
                    continue;
                };
            if !members.contains_key(&number) {
                if members.len() >= MOST_MEMBERS {
                    unresolved.push(format!("it has more than {MOST_MEMBERS} members"));
                    break;
                }
                members.insert(number, self.member(gatherer, facts, number).await?);
            }
            if let Some(Ok(member)) = members.get(&number)
                && !merges(commit, &member.pull)
            {
                unresolved.push(format!(
                    "commit {} does not merge the head of pull request {number}",
                    commit.sha.short()
                ));
            }
        }
        Ok(members)
    }

    async fn member(
        &self,
        gatherer: &Gatherer<'_>,
        facts: &GroupFacts,
        number: PrNumber,
    ) -> Result<Result<Member, String>, Stop> {
        let pull = match self.client.pull(number).await {
            Ok(pull) => pull,
            Err(ForgeError::NotFound(_) | ForgeError::Gone(_)) => {
                return Ok(Err(format!("there is no pull request {number}")));
            }
            Err(error) => return Err(error.into()),
        };
        if pull.state != "open" {
            return Ok(Err(format!("pull request {number} is not open")));
        }
        if pull.base.branch != self.group.branch {
            return Ok(Err(format!(
                "pull request {number} goes into another branch"
            )));
        }
        Ok(match gatherer.member(&pull, facts).await? {
            Ok(survey) => Ok(Member { pull, survey }),
            Err(why) => Err(format!("pull request {number}: {why}")),
        })
    }

    /// With what people said of the pull request where a person has to approve.
    async fn decide(
        &self,
        gatherer: &Gatherer<'_>,
        facts: &GroupFacts,
        member: Member,
    ) -> Result<Decision, Stop> {
        let people = member.survey.commit_authors();
        let now = self.store.now();
        let mut snapshot = gatherer.member_snapshot(member.survey, facts, now).await?;
        let decision = gate::decide(&snapshot);
        if decision.verdict != Verdict::HumanReview {
            return Ok(decision);
        }
        let guard = &facts.guard;
        let key = self.run_key(
            PrNumber(member.pull.number),
            &member.pull.head.sha,
            &plan::check_name(&guard.branch, &guard.default_branch),
        );
        let reviews = ReviewFacts {
            client: self.client,
            store: self.store,
            pull: &member.pull,
            key: &key,
            commit_authors: &people,
        };
        let said = reviews.gather(decision.decision_key.as_deref()).await?;
        snapshot.reviews = Some(said);
        Ok(gate::decide(&snapshot))
    }
}

/// Whether a commit of the group is one of a member's, put on another parent.
fn is_rebased(commit: &Commit, member: Option<&Result<Member, String>>) -> bool {
    commit.parents.len() == 1
        && matches!(member, Some(Ok(member)) if member.survey.has_rebased(commit))
}

/// A merge has to be of the pull request's head as it is now.
fn merges(commit: &Commit, pull: &Pull) -> bool {
    match commit.parents.as_slice() {
        [_] => true,
        [_, merged] => merged.sha == pull.head.sha,
        _ => false,
    }
}

fn no_member_brings(paths: &BTreeSet<String>) -> String {
    let named: Vec<String> = paths
        .iter()
        .take(NAMED_PATHS)
        .map(|path| format!("`{}`", path.replace('`', "'")))
        .collect();
    let further = match paths.len().saturating_sub(NAMED_PATHS) {
        0 => String::new(),
        further => format!(" and {further} more"),
    };
    format!(
        "it changes what none of its pull requests does: {}{further}; if the merge moved a change there, \
         merge the base branch into the pull request",
        named.join(", ")
    )
}
