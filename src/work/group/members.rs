//! The members of a merge group, and their verdicts.
//!
//! A commit on the way from the group's base to its head is one member's: the head, and the newest member's
//! rebased commits below it, are that of the pull request in the queue's branch; another one names its pull
//! request as the forge's merge and squash commits do. Anybody can write such a message: it counts where the
//! forge itself wrote the commit.

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
        let numbers: Vec<PrNumber> = members.keys().copied().collect();
        self.store
            .put_members(self.client.repo(), &self.group.head, &numbers)
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
        let member = self.member(gatherer, facts, newest).await?;
        let own = match &member {
            Ok(member) => member.survey.rebased_at_the_end(&facts.chain),
            Err(_) => 0,
        };
        members.insert(newest, member);
        let others = facts.chain.len().saturating_sub(own.max(1));
        for (at, commit) in facts.chain.iter().enumerate() {
            let number = if at >= others {
                newest
            } else {
                match self.named(commit).await? {
                    Ok(number) => number,
                    Err(why) => {
                        unresolved.push(why);
                        continue;
                    }
                }
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

    /// The pull request that a commit of the forge's names; else why it is nobody's.
    async fn named(&self, commit: &Commit) -> Result<Result<PrNumber, String>, Stop> {
        let short = commit.sha.short();
        let Some(number) = named_pull(&commit.commit.message) else {
            return Ok(Err(format!("commit {short} belongs to no pull request")));
        };
        // What is rebased has one parent, so that a merge is the forge's, or was there before.
        let is_the_forges = commit.parents.len() > 1 || commit.is_signed_by_forge();
        if !is_the_forges {
            return Ok(Err(format!(
                "commit {short} names pull request {number}, and the forge does not vouch for it by its signature"
            )));
        }
        // A pull request's own commit can be put into a group as it is, whatever it names.
        let holders = self.client.pulls_of_commit(&commit.sha).await?;
        Ok(match holders.iter().find(|pull| pull.number != number.0) {
            None => Ok(number),
            Some(pull) => Err(format!(
                "commit {short} names pull request {number}, and is one of pull request {} itself",
                pull.number
            )),
        })
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
