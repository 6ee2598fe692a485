//! What people said of a pull request, and who brings it: the facts on which an approval rests.
//!
//! Invariant: what could not be read is a fact that says so, and approves nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::forge::ForgeError;
use crate::forge::github::gather::CommitAuthor;
use crate::forge::github::{self, Client, Pull};
use crate::model::{Fact, Permission, Person, Review, Reviews, Says, Sha, Tie, Tied};
use crate::store::{RunKey, Shown, Store};

use super::commands::permission;
use super::stop::Stop;

/// Reviewers whose rights are asked for.
const MOST_REVIEWERS: usize = 50;

/// For one pull request at one head.
pub(super) struct ReviewFacts<'a> {
    pub client: &'a Client,
    pub store: &'a Store,
    pub pull: &'a Pull,
    pub key: &'a RunKey,
    pub commit_authors: &'a Fact<Vec<CommitAuthor>>,
}

impl ReviewFacts<'_> {
    /// Everything, for the decision with this key.
    pub async fn gather(&self, decision_key: Option<&str>) -> Result<Reviews, Stop> {
        Ok(Reviews {
            given: self.given(decision_key).await?,
            tied: self.tied(decision_key).await?,
        })
    }

    async fn given(&self, decision_key: Option<&str>) -> Result<Fact<Vec<Review>>, Stop> {
        let listed = match self.client.reviews(self.key.pull).await {
            Ok((listed, true)) => listed,
            Ok((_, false)) => {
                return Ok(Fact::Truncated("there are too many reviews".to_owned()));
            }
            Err(error @ (ForgeError::Forbidden(_) | ForgeError::NotFound(_))) => {
                return Ok(Fact::Unavailable(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        let newest = newest(&listed);
        if newest.len() > MOST_REVIEWERS {
            return Ok(Fact::Truncated("there are too many reviewers".to_owned()));
        }
        let mut rights = BTreeMap::new();
        let mut given = Vec::new();
        for (by, says, review) in newest {
            given.push(Review {
                permission: self.permission(&mut rights, &by).await?,
                key: self.key_at(review).await?,
                at: review.submitted_at.unwrap_or_default(),
                by,
                says,
                reason: None,
            });
        }
        let accepted = match decision_key {
            Some(decision_key) => self.store.acceptances(self.key, decision_key).await?,
            None => Vec::new(),
        };
        for acceptance in accepted {
            let by = Person {
                login: acceptance.actor,
                id: acceptance.actor_id,
                is_bot: false,
            };
            given.push(Review {
                permission: self.permission(&mut rights, &by).await?,
                key: decision_key.map(str::to_owned),
                at: acceptance.accepted_at,
                by,
                says: Says::Accepted,
                reason: acceptance.reason,
            });
        }
        Ok(Fact::Known(given))
    }

    /// Rights are asked for once for each person, and for people only.
    async fn permission(
        &self,
        known: &mut BTreeMap<u64, Fact<Permission>>,
        by: &Person,
    ) -> Result<Fact<Permission>, Stop> {
        if by.is_bot {
            return Ok(Fact::Missing("a bot is not asked".to_owned()));
        }
        if let Some(known) = known.get(&by.id) {
            return Ok(known.clone());
        }
        let asked = permission(self.client, &by.login).await?;
        known.insert(by.id, asked.clone());
        Ok(asked)
    }

    /// The key of what was shown of the reviewed head when the review was given, if that can be told.
    async fn key_at(&self, review: &github::Review) -> Result<Option<String>, Stop> {
        let (Some(at), Some(head)) = (review.submitted_at, &review.commit_id) else {
            return Ok(None);
        };
        let key = RunKey {
            head: head.clone(),
            ..self.key.clone()
        };
        let shown = self.store.shown_of_head(&key, at).await?;
        let keys: BTreeSet<Option<&String>> = shown.iter().map(|one| one.key.as_ref()).collect();
        Ok(match keys.len() {
            1 => keys.first().copied().flatten().cloned(),
            _ => None,
        })
    }

    /// Author, pushers and authors of commits.
    async fn tied(&self, decision_key: Option<&str>) -> Result<Fact<Vec<Tied>>, Stop> {
        let Fact::Known(authors) = self.commit_authors else {
            let why = self.commit_authors.why_not().unwrap_or_default();
            return Ok(Fact::Truncated(why.to_owned()));
        };
        let pushes = self.store.pushes(self.key).await?;
        let mut tied = Vec::new();
        let mut idle: BTreeSet<&Sha> = BTreeSet::new();
        let mut before: Option<&str> = None;
        for (pushed, shown) in &pushes {
            let key = match pushed.head == self.key.head {
                true => decision_key,
                false => shown.as_deref(),
            };
            // "Update branch", by whomever: it brings what the base branch has already.
            if key.is_some() && key == before {
                idle.insert(&pushed.head);
            } else {
                tied.push(Tied {
                    id: pushed.account,
                    tie: Tie::Pusher,
                });
            }
            before = key;
        }
        if tied.iter().any(|tied| tied.id == 0) {
            return Ok(Fact::Missing("who pushed to it was not told".to_owned()));
        }
        let author = self.pull.user.as_ref().map(|user| Tied {
            id: user.id,
            tie: Tie::Author,
        });
        let commits = authors.iter().filter(|author| {
            let commit = author.commit.as_ref();
            !(author.is_merge && commit.is_some_and(|commit| idle.contains(commit)))
        });
        let commits = commits.map(|author| Tied {
            id: author.account,
            tie: Tie::CommitAuthor,
        });
        let proposers = self.store.proposers(&self.key.repo, &self.key.head).await?;
        let proposers = proposers.into_iter().map(|person| Tied {
            id: person.id,
            tie: Tie::Requester,
        });
        let all = author
            .into_iter()
            .chain(tied)
            .chain(commits)
            .chain(proposers);
        Ok(Fact::Known(all.collect()))
    }
}

/// What was shown, if it is the same whichever it was.
pub(super) fn one(shown: &[Shown]) -> Option<&Shown> {
    let first = shown.first()?;
    shown.iter().all(|other| other == first).then_some(first)
}

/// The newest review of each account that is no mere comment; without those that were dismissed.
fn newest(listed: &[github::Review]) -> Vec<(Person, Says, &github::Review)> {
    let mut newest: BTreeMap<u64, (&github::Account, &github::Review)> = BTreeMap::new();
    for review in listed {
        let counts = ["APPROVED", "CHANGES_REQUESTED", "DISMISSED"]
            .iter()
            .any(|state| review.state.eq_ignore_ascii_case(state));
        let Some(user) = review.user.as_ref().filter(|user| counts && user.id != 0) else {
            continue;
        };
        let older = newest.get(&user.id);
        if older.is_none_or(|(_, older)| older.submitted_at <= review.submitted_at) {
            newest.insert(user.id, (user, review));
        }
    }
    newest
        .into_values()
        .filter_map(|(user, review)| {
            let says = match review.state.to_ascii_uppercase().as_str() {
                "APPROVED" => Says::Approved,
                "CHANGES_REQUESTED" => Says::ChangesRequested,
                _ => return None,
            };
            let by = Person {
                login: user.login.clone(),
                id: user.id,
                is_bot: user.kind != "User",
            };
            Some((by, says, review))
        })
        .collect()
}
