//! From a pull request to a Snapshot, by the API.
//!
//! Two steps: [`Gatherer::survey`] looks at the commits and the base tip, which is enough to know
//! whether anybody asked for a check; [`Gatherer::snapshot`] looks at the rest. Trees, contract files
//! and digests that the store holds are not fetched again.
//!
//! Invariant: what could not be had whole is a fact that says so. An error means that nothing can be
//! said yet.

mod changes;
mod history;
mod listing;
mod objects;

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{DateTime, Utc};

use crate::config::repo::{self, RepoConfig};
use crate::forge::ForgeError;
use crate::gate::facts;
use crate::gate::kind::{self, PullFacts};
use crate::model::{
    Author, AuthorKind, BlobFact, Change, ContractFile, Fact, Layer, PrNumber, SNAPSHOT_SCHEMA,
    Sha, Snapshot,
};
use crate::store::{Store, StoreError};

use super::client::Client;
use super::wire::{self, Pull};
use history::History;
use listing::{Item, Listing};
use objects::Objects;

/// Why nothing can be said of a pull request.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The forge is still working on the merge; asking again soon helps.
    #[error("{0}")]
    MergePending(String),
}

/// What to do when the forge's test merge is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Give up with [`GatherError::MergePending`].
    Wait,
    /// Say in the Snapshot that the merged tree could not be had.
    Settle,
}

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
    history: History,
    base: Fact<Listing>,
    layers: BTreeMap<Layer, String>,
    objects: Objects,
}

/// Gathers for one repository.
#[derive(Clone, Copy)]
pub struct Gatherer<'a> {
    pub client: &'a Client,
    pub store: &'a Store,
}

fn account(account: &wire::Account) -> kind::Account {
    kind::Account {
        login: account.login.clone(),
        id: account.id,
        is_bot: account.kind == "Bot",
    }
}

fn config_of(fact: &BlobFact) -> RepoConfig {
    match fact {
        BlobFact::Content { bytes, .. } => {
            repo::parse(Layer::Config.default_path(), &bytes.0).unwrap_or_default()
        }
        _ => RepoConfig::default(),
    }
}

/// The contract at one tip.
struct Tip {
    listing: Fact<Listing>,
    config: BlobFact,
    layers: BTreeMap<Layer, String>,
    objects: Objects,
}

impl Tip {
    fn opted_in(&self) -> bool {
        match &self.listing {
            Fact::Known(listing) => facts::is_opted_in(&self.config, |path| {
                listing.place(path) != listing::Place::Nothing
            }),
            // What can't be looked up is no reason to let a patch in.
            _ => true,
        }
    }
}

impl Gatherer<'_> {
    /// Looks at the commits of a pull request and at the contract that judges it.
    pub async fn survey(&self, pull: &Pull) -> Result<Survey, GatherError> {
        let (guard, default_opted_in) = self.guard(pull).await?;
        let history = self.history(pull, &guard).await?;
        let tip = self.tip(&history.base.tree).await?;
        let opted_in = default_opted_in.unwrap_or_else(|| tip.opted_in());
        let author = self.author(pull, &history, &tip.config).await?;
        Ok(Survey {
            guard,
            opted_in,
            author,
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
        let guarded = config_of(&tip.config).branches.contains(into);
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
    async fn tip(&self, tree: &Sha) -> Result<Tip, GatherError> {
        let listing = self.listing(tree).await?;
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

    /// Evidence of an agent stays with the pull request and with the head (protocol 5.4).
    async fn author(
        &self,
        pull: &Pull,
        history: &History,
        config: &BlobFact,
    ) -> Result<Author, GatherError> {
        let facts = PullFacts {
            author: pull.user.as_ref().map(account),
            branch: pull.head.branch.clone(),
            labels: pull.labels.iter().map(|label| label.name.clone()).collect(),
            body: pull.body.clone().unwrap_or_default(),
            commits: history.commits.clone(),
            all_commits: history.all_commits,
        };
        let mut author = kind::recognise(&facts, &config_of(config).agents);
        let (repo, number) = (self.client.repo(), PrNumber(pull.number));
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
                format!("the same head is in pull request {other}: {evidence}")
            };
        }
        Ok(author)
    }

    /// Everything that the gate needs.
    pub async fn snapshot(
        &self,
        pull: &Pull,
        survey: Survey,
        now: DateTime<Utc>,
        patience: Patience,
    ) -> Result<Snapshot, GatherError> {
        let started = Instant::now();
        let merged_tree = self
            .merged_tree(pull, &survey.guard, &survey.history, patience)
            .await?;
        let merged = match &merged_tree {
            Fact::Known(tree) if *tree == survey.history.base.tree => survey.base.clone(),
            Fact::Known(tree) => self.listing(tree).await?,
            _ => no_merged_tree(&merged_tree),
        };
        let contract = self.contract(&survey, merged.known()).await?;
        let plan = facts::Plan::new(&contract);
        let mut write_set = self.write_set(&survey, merged.known(), &plan).await?;

        let mut fixture_items = Vec::new();
        if let Some(listing) = merged.known()
            && (survey.opted_in || objects::has_contract(&contract))
        {
            fixture_items = objects::fixture_items(listing, &plan.fixture_roots());
        }
        let objects = self
            .last_round(merged.known(), &fixture_items, &write_set, &plan)
            .await?;
        let fixtures = match &merged {
            Fact::Known(listing) => objects::fixtures(listing, &fixture_items, &objects),
            other => not_known(other),
        };
        let listed = merged.known().map(Listing::listed);
        if let Fact::Known(changes) = &mut write_set {
            probe(changes, &plan, &objects);
            if let Some(listed) = &listed {
                plan.note_collisions(changes, listed);
            }
        }
        let tree = match (&listed, &merged) {
            (Some(listed), _) => Fact::Known(plan.tree_facts(listed)),
            (None, other) => not_known(other),
        };
        let mut stats = objects.stats(&fixture_items);
        stats.forge_requests = self.client.requests();
        stats.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Snapshot {
            schema: SNAPSHOT_SCHEMA.to_owned(),
            repository: self.client.repo().to_string(),
            branch: survey.guard.branch,
            into_unguarded: survey.guard.into_unguarded,
            base: survey.history.base.commit,
            head: survey.history.head,
            merge_bases: survey.history.merge_bases,
            now,
            opted_in: survey.opted_in,
            author: survey.author,
            digests: objects::digests(&fixtures, &objects),
            contract,
            merged_tree: match merged.why_not() {
                Some(_) if merged_tree.known().is_some() => not_known(&merged),
                _ => merged_tree,
            },
            write_set,
            fixtures,
            tree,
            stats,
        })
    }

    async fn contract(
        &self,
        survey: &Survey,
        merged: Option<&Listing>,
    ) -> Result<BTreeMap<Layer, ContractFile>, GatherError> {
        let base = match &survey.base {
            Fact::Known(base) => base,
            other => {
                return Ok(objects::unknown_contract(
                    other.why_not().unwrap_or_default(),
                ));
            }
        };
        let proposed = match merged {
            Some(merged) => {
                let items = objects::changed_contract(&survey.layers, base, merged);
                Some((merged, self.objects(&items, &[]).await?))
            }
            None => None,
        };
        Ok(objects::contract_files(
            &survey.layers,
            (base, &survey.objects),
            proposed
                .as_ref()
                .map(|(listing, objects)| (*listing, objects)),
        ))
    }

    /// Collisions and shebangs are filled in later.
    async fn write_set(
        &self,
        survey: &Survey,
        merged: Option<&Listing>,
        plan: &facts::Plan,
    ) -> Result<Fact<Vec<Change>>, GatherError> {
        let history = &survey.history;
        let base = match &survey.base {
            Fact::Known(base) => base,
            other => return Ok(not_known(other)),
        };
        let Some(merge_base) = &history.merge_base else {
            return Ok(Fact::Unavailable(
                "base and head have no merge base".to_owned(),
            ));
        };
        let mut patch = changes::patch_of(history.files.clone());
        let needs_head = !history.all_files || changes::needs_head(base, merged, &patch);
        let head = if needs_head {
            let tree = self.head_tree(history).await?;
            match self.listing(&tree).await? {
                Fact::Known(head) => Some(head),
                other => return Ok(not_known(&other)),
            }
        } else {
            None
        };
        if let (false, Some(head)) = (history.all_files, &head) {
            match self.listing(&merge_base.tree).await? {
                Fact::Known(old) => patch = changes::patch_between(&old, head, &patch),
                other => return Ok(not_known(&other)),
            }
        }
        let sources = changes::Sources {
            base,
            merged,
            head: head.as_ref(),
            patch: &patch,
        };
        Ok(Fact::Known(changes::changes(&sources, plan)))
    }

    /// Attribute files, fixtures and what may begin with `#!`, in one round.
    async fn last_round(
        &self,
        merged: Option<&Listing>,
        fixtures: &[&Item],
        write_set: &Fact<Vec<Change>>,
        plan: &facts::Plan,
    ) -> Result<Objects, GatherError> {
        let Some(listing) = merged else {
            return Ok(Objects::default());
        };
        let attributes = objects::attribute_items(listing, fixtures);
        let scripts = write_set
            .known()
            .into_iter()
            .flatten()
            .filter(|change| plan.needs_shebang(&change.path))
            .filter_map(|change| listing.get(&change.path));
        let hashed: Vec<&Item> = fixtures
            .iter()
            .copied()
            .chain(scripts)
            .filter(|item| item.kind.is_regular())
            .collect();
        self.objects(&attributes, &hashed).await
    }
}

/// Fills in [`Change::shebang`].
fn probe(changes: &mut [Change], plan: &facts::Plan, objects: &Objects) {
    for change in changes {
        if let Some(entry) = &change.merged
            && entry.kind.is_regular()
            && plan.needs_shebang(&change.path)
        {
            change.shebang = objects.has_shebang(&entry.id);
        }
    }
}

fn no_merged_tree<T>(merged: &Fact<Sha>) -> Fact<T> {
    let why = merged.why_not().unwrap_or_default();
    Fact::Unavailable(format!("there is no merged tree: {why}"))
}

/// The reason of one fact, for another that hangs on it.
fn not_known<T, U>(fact: &Fact<T>) -> Fact<U> {
    let why = fact.why_not().unwrap_or_default().to_owned();
    match fact {
        Fact::Truncated(_) => Fact::Truncated(why),
        Fact::Missing(_) => Fact::Missing(why),
        Fact::Known(_) | Fact::Unavailable(_) => Fact::Unavailable(why),
    }
}
