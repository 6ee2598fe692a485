//! A guarded branch by itself: its contract, and the Snapshot of an audit (protocol 5.6).

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::config::repo::RepoConfig;
use crate::gate::facts;
use crate::model::{
    Author, AuthorKind, Change, ChangeStatus, Fact, SNAPSHOT_SCHEMA, Snapshot, Subject,
};

use super::super::wire::Branch;
use super::history::{History, Point};
use super::listing::{Item, Listing, Place};
use super::survey::{Guard, Survey};
use super::{GatherError, Gatherer};

/// The contract at a commit, as far as it decides what has to be looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractAt {
    pub opted_in: bool,
    /// The branches that its configuration guards beside the default branch.
    pub branches: Vec<String>,
    /// Equal for equal contract files at equal paths.
    pub digest: String,
}

impl Gatherer<'_> {
    /// The contract at a branch's tip.
    pub async fn contract_at(&self, tip: &Branch) -> Result<ContractAt, GatherError> {
        let tree = &tip.commit.commit.tree.sha;
        let found = self.tip(tree).await?;
        let mut hash = Sha256::new();
        match &found.listing {
            Fact::Known(listing) => {
                for path in found.layers.values() {
                    let entry = match listing.place(path) {
                        Place::Nothing => "nothing".to_owned(),
                        Place::Directory => "a directory".to_owned(),
                        Place::Item(item) => format!("{:?} {}", item.kind, item.id),
                    };
                    hash.update(format!("{path}\0{entry}\0"));
                }
            }
            // No two trees have the same contract, as far as one can tell.
            _ => hash.update(tree.as_str()),
        }
        Ok(ContractAt {
            opted_in: found.opted_in(),
            branches: RepoConfig::of(&found.config).branches,
            digest: hex::encode(hash.finalize()),
        })
    }

    /// Everything that the gate needs to judge a branch's tip by itself, as if every production path of
    /// it changed.
    pub async fn audit(
        &self,
        branch: &str,
        default_branch: &str,
        tip: &Branch,
        now: DateTime<Utc>,
    ) -> Result<Snapshot, GatherError> {
        let point = Point::of(&tip.commit);
        let found = self.tip(&point.tree).await?;
        let opted_in = found.opted_in();
        let survey = Survey {
            evidence: Default::default(),
            proposed_by: None,
            guard: Guard {
                branch: branch.to_owned(),
                into_unguarded: None,
                default_branch: default_branch.to_owned(),
            },
            opted_in,
            author: Author {
                kind: AuthorKind::Agent,
                login: None,
                evidence: "an audit asks what binds an agent".to_owned(),
            },
            history: History::of_one(&point),
            base: found.listing,
            layers: found.layers,
            objects: found.objects,
        };
        let contract = self.contract(&survey, survey.base.known()).await?;
        let plan = facts::Plan::new(&contract);
        let write_set = match &survey.base {
            Fact::Known(listing) => Fact::Known(audited(&plan, listing)),
            other => super::not_known(other),
        };
        let merged = survey.base.clone();
        // Nothing changes, so that no test and no manifest has to be read for the patch's sake.
        let mut nothing = Fact::Known(Vec::new());
        let mut held = self.held(&merged, opted_in, &mut nothing, &plan).await?;
        held.stats.forge_requests = self.client.requests();
        Ok(Snapshot {
            schema: SNAPSHOT_SCHEMA.to_owned(),
            repository: self.client.repo().to_string(),
            branch: survey.guard.branch,
            subject: Subject::Audit,
            into_unguarded: None,
            base: point.commit.clone(),
            head: point.commit.clone(),
            merge_bases: survey.history.merge_bases,
            now,
            opted_in,
            author: survey.author,
            contract,
            merged_tree: match merged.why_not() {
                None => Fact::Known(point.tree),
                Some(_) => super::not_known(&merged),
            },
            write_set,
            fixtures: held.fixtures,
            digests: held.digests,
            tree: held.tree,
            sources: held.sources,
            scopes: held.scopes,
            reviews: None,
            proposed_by: None,
            foreign_checks: None,
            required: None,
            lane: None,
            stats: held.stats,
        })
    }
}

impl History {
    /// A commit that nothing is merged into.
    fn of_one(point: &Point) -> Self {
        Self {
            base: point.clone(),
            merge_base: Some(point.clone()),
            merge_bases: Fact::Known(vec![point.commit.clone()]),
            head: point.commit.clone(),
            head_tree: Some(point.tree.clone()),
            commits: Vec::new(),
            all_commits: true,
            files: Vec::new(),
            all_files: true,
        }
    }
}

/// The paths that an audit looks at, as changes from and to what they are; listings are sorted.
fn audited(plan: &facts::Plan, listing: &Listing) -> Vec<Change> {
    listing
        .items()
        .iter()
        .filter(|item| plan.is_audited(&item.path))
        .map(unchanged)
        .collect()
}

fn unchanged(item: &Item) -> Change {
    Change {
        path: item.path.clone(),
        raw_path_hex: None,
        old_path: None,
        status: ChangeStatus::Modified,
        base: Some(item.entry()),
        merged: Some(item.entry()),
        hunks: Vec::new(),
        only: None,
        shebang: false,
        collides_with: None,
    }
}
