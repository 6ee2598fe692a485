//! From a pull request to a Snapshot, by the API.
//!
//! Two steps: [`Gatherer::survey`] looks at the commits and the base tip, which is enough to know
//! whether anybody asked for a check; [`Gatherer::snapshot`] looks at the rest. Trees, contract files
//! and digests that the store holds are not fetched again.
//!
//! Invariant: what could not be had whole is a fact that says so. An error means that nothing can be
//! said yet.

mod audit;
mod changes;
mod group;
mod history;
mod listing;
mod objects;
mod scopes;
mod sources;
mod survey;
mod walk;

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{DateTime, Utc};

use crate::forge::ForgeError;
use crate::gate::facts;
use crate::model::{
    BlobDigest, Change, ContractFile, Fact, FixtureEntry, Layer, SNAPSHOT_SCHEMA, ScopeFacts, Sha,
    Snapshot, Sources, Stats, Subject, TreeFacts,
};
use crate::store::{Store, StoreError};

use super::client::Client;
use super::wire::Pull;
use listing::{Item, Listing};
use objects::Objects;
use survey::account;

pub use audit::ContractAt;
pub use group::GroupFacts;
pub use survey::{CommitAuthor, Guard, Survey};

/// Why nothing can be said of a pull request.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The branch whose contract judges is gone. `opted_in`: the default branch's tip has, where it was
    /// looked at.
    #[error("the base branch `{}` does not exist any more", guard.branch)]
    NoBase {
        guard: Guard,
        opted_in: Option<bool>,
    },
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

/// Gathers for one repository.
#[derive(Clone, Copy)]
pub struct Gatherer<'a> {
    pub client: &'a Client,
    pub store: &'a Store,
}

impl Gatherer<'_> {
    /// Everything that the gate needs.
    pub async fn snapshot(
        &self,
        pull: &Pull,
        survey: Survey,
        now: DateTime<Utc>,
        patience: Patience,
    ) -> Result<Snapshot, GatherError> {
        let merged_tree = self
            .merged_tree(pull, &survey.guard, &survey.history, patience)
            .await?;
        self.on_tree(survey, merged_tree, now, Whose::All).await
    }

    /// A patch's Snapshot on a merged tree.
    async fn on_tree(
        &self,
        survey: Survey,
        merged_tree: Fact<Sha>,
        now: DateTime<Utc>,
        whose: Whose,
    ) -> Result<Snapshot, GatherError> {
        let started = Instant::now();
        let merged = match &merged_tree {
            Fact::Known(tree) if *tree == survey.history.base.tree => survey.base.clone(),
            Fact::Known(tree) => self.listing(tree, &known(&[survey.base.known()])).await?,
            _ => no_merged_tree(&merged_tree),
        };
        let contract = self.contract(&survey, merged.known()).await?;
        let plan = facts::Plan::new(&contract);
        let mut write_set = self
            .write_set(&survey, merged.known(), &plan, whose)
            .await?;
        let judged = survey.opted_in || objects::has_contract(&contract);
        let mut held = self.held(&merged, judged, &mut write_set, &plan).await?;
        held.stats.forge_requests = self.client.requests();
        held.stats.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Snapshot {
            schema: SNAPSHOT_SCHEMA.to_owned(),
            repository: self.client.repo().to_string(),
            branch: survey.guard.branch,
            subject: Subject::Patch,
            into_unguarded: survey.guard.into_unguarded,
            reviews: None,
            proposed_by: survey.proposed_by,
            foreign_checks: None,
            required: None,
            lane: None,
            base: survey.history.base.commit,
            head: survey.history.head,
            merge_bases: survey.history.merge_bases,
            now,
            opted_in: survey.opted_in,
            author: survey.author,
            contract,
            merged_tree: match merged.why_not() {
                Some(_) if merged_tree.known().is_some() => not_known(&merged),
                _ => merged_tree,
            },
            write_set,
            fixtures: held.fixtures,
            digests: held.digests,
            tree: held.tree,
            sources: held.sources,
            scopes: held.scopes,
            stats: held.stats,
        })
    }

    /// What the merged tree holds. Fixtures are looked at only where a contract may speak of them.
    async fn held(
        &self,
        merged: &Fact<Listing>,
        judged: bool,
        write_set: &mut Fact<Vec<Change>>,
        plan: &facts::Plan,
    ) -> Result<Held, GatherError> {
        let Fact::Known(listing) = merged else {
            return Ok(Held {
                fixtures: not_known(merged),
                digests: BTreeMap::new(),
                tree: not_known(merged),
                sources: not_known(merged),
                scopes: ScopeFacts::default(),
                stats: Stats::default(),
            });
        };
        let items = if judged {
            objects::fixture_items(listing, &plan.fixture_roots())
        } else {
            Vec::new()
        };
        let objects = self.last_round(listing, &items, write_set, plan).await?;
        let listed = listing.listed();
        if let Fact::Known(changes) = write_set {
            probe(changes, plan, &objects);
            plan.note_collisions(changes, &listed);
        }
        // Without a contract there is no property to look for.
        let sources = match write_set {
            Fact::Known(changes) if judged => {
                Fact::Known(self.sources(listing, &listed, changes, plan).await?)
            }
            Fact::Known(_) => Fact::Known(Sources::default()),
            ref other => not_known(other),
        };
        let fixtures = objects::fixtures(listing, &items, &objects);
        let mut digests = objects::digests(&fixtures, &objects);
        let scopes = match (&fixtures, &*write_set) {
            (Fact::Known(fixtures), Fact::Known(changes)) if judged => {
                let merged = scopes::Merged {
                    listing,
                    listed: &listed,
                    fixtures,
                };
                self.scopes(merged, plan, changes, &mut digests).await?
            }
            _ => ScopeFacts::default(),
        };
        Ok(Held {
            digests,
            fixtures,
            scopes,
            tree: Fact::Known(plan.tree_facts(&listed)),
            sources,
            stats: objects.stats(&items),
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
        whose: Whose,
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
            match self.listing(&tree, &known(&[merged, Some(base)])).await? {
                Fact::Known(head) => Some(head),
                other => return Ok(not_known(&other)),
            }
        } else {
            None
        };
        if let (false, Some(head)) = (history.all_files, &head) {
            let near = known(&[Some(base), Some(head)]);
            match self.listing(&merge_base.tree, &near).await? {
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
        let mut changes = changes::changes(&sources, plan);
        if whose == Whose::Own {
            changes.retain(|change| patch.contains_key(&change.path));
        }
        Ok(Fact::Known(changes))
    }

    /// Attribute files, fixtures and what may begin with `#!`, in one round.
    async fn last_round(
        &self,
        listing: &Listing,
        fixtures: &[&Item],
        write_set: &Fact<Vec<Change>>,
        plan: &facts::Plan,
    ) -> Result<Objects, GatherError> {
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

/// Which changes of the merged tree are the patch's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// All of them.
    All,
    /// Those at paths that the patch itself changes: others brought the rest.
    Own,
}

/// What the merged tree holds.
struct Held {
    fixtures: Fact<Vec<FixtureEntry>>,
    digests: BTreeMap<Sha, Fact<BlobDigest>>,
    tree: Fact<TreeFacts>,
    sources: Fact<Sources>,
    scopes: ScopeFacts,
    stats: Stats,
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

/// Those of some listings that could be had.
fn known<'a>(listings: &[Option<&'a Listing>]) -> Vec<&'a Listing> {
    listings.iter().copied().flatten().collect()
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
