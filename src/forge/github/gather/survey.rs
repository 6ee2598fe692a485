//! The first step: whose contract judges, what it is, and who brings the patch.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::repo::RepoConfig;
use crate::forge::ForgeError;
use crate::gate::facts;
use crate::gate::kind::{self, PullFacts};
use crate::model::{Author, AuthorKind, BlobFact, Fact, Layer, Person, PrNumber, Sha};

use super::super::wire::{self, Pull};
use super::history::History;
use super::listing::{Listing, Place};
use super::objects::Objects;
use super::{GatherError, Gatherer};

/// By whose contract a pull request is judged (protocol section 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    pub branch: String,
    pub into_unguarded: Option<String>,
    pub default_branch: String,
}

/// What is known before the merged tree is looked at.
#[derive(Debug)]
pub struct Survey {
    pub guard: Guard,
    /// The default branch's tip has opted in.
    pub opted_in: bool,
    pub author: Author,
    /// At whose command this App made the head.
    pub proposed_by: Option<Vec<Person>>,
    /// Names of what speaks for an agent, as [`kind::liftable`] has them.
    pub evidence: BTreeSet<String>,
    pub(super) history: History,
    pub(super) base: Fact<Listing>,
    pub(super) layers: BTreeMap<Layer, String>,
    pub(super) objects: Objects,
}

impl Survey {
    /// The base tip that the pull request is judged on.
    pub fn base_tip(&self) -> &Sha {
        &self.history.base.commit
    }
}

pub(super) fn account(account: &wire::Account) -> kind::Account {
    kind::Account {
        login: account.login.clone(),
        id: account.id,
        is_bot: account.kind == "Bot",
    }
}

/// Who brings a pull request.
pub(super) struct Brought {
    pub author: Author,
    pub evidence: BTreeSet<String>,
    pub proposed_by: Option<Vec<Person>>,
}

/// The contract at one tip.
pub(super) struct Tip {
    pub listing: Fact<Listing>,
    pub config: BlobFact,
    pub layers: BTreeMap<Layer, String>,
    pub objects: Objects,
}

impl Tip {
    pub fn opted_in(&self) -> bool {
        match &self.listing {
            Fact::Known(listing) => {
                facts::is_opted_in(&self.config, |path| listing.place(path) != Place::Nothing)
            }
            // What can't be looked up is no reason to let a patch in.
            _ => true,
        }
    }
}

/// The author of a commit that the pull request brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitAuthor {
    pub commit: Option<Sha>,
    pub is_merge: bool,
    pub account: u64,
}

impl Survey {
    /// Accounts that are authors of commits. A commit whose address no account has names nobody.
    pub fn commit_authors(&self) -> Fact<Vec<CommitAuthor>> {
        if !self.history.all_commits {
            return Fact::Truncated("it has more commits than are looked at".to_owned());
        }
        let commits = self.history.commits.iter();
        let authors = commits.filter_map(|commit| {
            let account = commit.author.account.as_ref().map(|account| account.id);
            Some(CommitAuthor {
                commit: commit.sha.clone(),
                is_merge: commit.is_merge,
                account: account.or_else(|| kind::noreply_id(&commit.author.email))?,
            })
        });
        Fact::Known(authors.collect())
    }
}

impl Gatherer<'_> {
    /// Looks at the commits of a pull request and at the contract that judges it.
    pub async fn survey(&self, pull: &Pull) -> Result<Survey, GatherError> {
        let (guard, default_opted_in) = self.guard(pull).await?;
        let history = match self.history(pull, &guard).await {
            Err(GatherError::NoBase { guard, .. }) => {
                let opted_in = default_opted_in;
                return Err(GatherError::NoBase { guard, opted_in });
            }
            history => history?,
        };
        let tip = self.tip(&history.base.tree).await?;
        let opted_in = default_opted_in.unwrap_or_else(|| tip.opted_in());
        let brought = self.brought(pull, &history, &tip.config).await?;
        Ok(Survey {
            guard,
            opted_in,
            author: brought.author,
            proposed_by: brought.proposed_by,
            evidence: brought.evidence,
            history,
            base: tip.listing,
            layers: tip.layers,
            objects: tip.objects,
        })
    }

    /// The guarded branch and, when the default branch's tip had to be looked at for it, whether that
    /// has opted in.
    async fn guard(&self, pull: &Pull) -> Result<(Guard, Option<bool>), GatherError> {
        let into = &pull.base.branch;
        let default_branch = match &pull.base.repo {
            Some(repo) => repo.default_branch.clone(),
            None => {
                return Err(ForgeError::Malformed(format!(
                    "pull request {} has no base repository",
                    pull.number
                ))
                .into());
            }
        };
        if *into == default_branch {
            let guard = Guard {
                branch: default_branch.clone(),
                into_unguarded: None,
                default_branch,
            };
            return Ok((guard, None));
        }
        let commit = self.client.branch(&default_branch).await?.commit;
        let tip = self.tip(&commit.commit.tree.sha).await?;
        let guarded = RepoConfig::of(&tip.config).branches.contains(into);
        let guard = Guard {
            branch: if guarded {
                into.clone()
            } else {
                default_branch.clone()
            },
            into_unguarded: (!guarded).then(|| into.clone()),
            default_branch,
        };
        Ok((guard, Some(tip.opted_in())))
    }

    /// The listing and the contract files of a tree.
    pub(super) async fn tip(&self, tree: &Sha) -> Result<Tip, GatherError> {
        let listing = self.listing(tree, &[]).await?;
        let defaults = facts::layers(&BlobFact::Absent);
        let Fact::Known(files) = &listing else {
            let why = listing.why_not().unwrap_or_default().to_owned();
            return Ok(Tip {
                config: BlobFact::Unavailable(why),
                listing,
                layers: defaults,
                objects: Objects::default(),
            });
        };
        // Most contracts stand at their default paths: one round fetches configuration and files.
        let objects = self
            .objects(&Self::contract_items(files, &defaults), &[])
            .await?;
        let config = objects.blob(files.place(Layer::Config.default_path()));
        let layers = facts::layers(&config);
        let objects = if layers == defaults {
            objects
        } else {
            self.objects(&Self::contract_items(files, &layers), &[])
                .await?
        };
        Ok(Tip {
            listing,
            config,
            layers,
            objects,
        })
    }

    /// At whose command this App made the head, if the pull request is its own (protocol 5.5).
    async fn proposed_by(
        &self,
        pull: &Pull,
        head: &Sha,
    ) -> Result<Option<Vec<Person>>, GatherError> {
        let people = self.store.proposers(self.client.repo(), head).await?;
        let Some(user) = pull.user.as_ref().filter(|_| !people.is_empty()) else {
            return Ok(None);
        };
        let is_own = user.kind == "Bot"
            && user
                .login
                .eq_ignore_ascii_case(self.client.bot_login().await?);
        Ok(is_own.then_some(people))
    }

    /// Evidence of an agent stays with the pull request and with the head (protocol 5.4).
    pub(super) async fn brought(
        &self,
        pull: &Pull,
        history: &History,
        config: &BlobFact,
    ) -> Result<Brought, GatherError> {
        let (repo, number) = (self.client.repo(), PrNumber(pull.number));
        let proposed_by = self.proposed_by(pull, &history.head).await?;
        let lifted = self.store.lifted(repo, number).await?;
        let facts = PullFacts {
            author: pull.user.as_ref().map(account),
            branch: pull.head.branch.clone(),
            labels: pull.labels.iter().map(|label| label.name.clone()).collect(),
            body: pull.body.clone().unwrap_or_default(),
            commits: history.commits.clone(),
            all_commits: history.all_commits,
            lifted: lifted.evidence,
        };
        let agents = RepoConfig::of(config).agents;
        let mut author = match &proposed_by {
            Some(people) => kind::proposed_by(pull.user.as_ref().map(account), people),
            None => kind::recognise(&facts, &agents),
        };
        if author.kind == AuthorKind::Agent {
            self.store
                .put_agent_evidence(repo, number, &history.head, &author.evidence)
                .await?;
        } else if let Some((other, evidence)) = self
            .store
            .agent_evidence(repo, number, &history.head)
            .await?
        {
            self.store
                .put_agent_evidence(repo, number, &history.head, &evidence)
                .await?;
            author.kind = AuthorKind::Agent;
            author.evidence = if other == number {
                format!("seen earlier on this pull request: {evidence}")
            } else {
                format!("pull request {other} has had the same head: {evidence}")
            };
        } else if let Some(actor) = &lifted.actor {
            author.evidence = kind::lifted_by(actor);
        }
        Ok(Brought {
            author,
            evidence: kind::liftable(&facts, &agents),
            proposed_by,
        })
    }
}
