//! The case before the gate: the Snapshot with its contract read and its paths classified. PURE.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::Classifier;
use super::reading::{Judge, Reading};
use crate::config::repo::ApplyTo;
use crate::contract::lock::Lock;
use crate::contract::map::HunkMap;
use crate::model::{
    AuthorKind, Change, ChangeStatus, Class, Layer, Only, PropertyFact, Rule, Snapshot, Sources,
    Subject, TreeFacts,
};

/// A path of the write-set with its class.
#[derive(Debug, Clone, Copy)]
pub struct Touched<'a> {
    pub change: &'a Change,
    pub class: Class,
}

impl Touched<'_> {
    pub fn path(&self) -> &str {
        &self.change.path
    }

    /// The path is new in this patch.
    pub fn is_added(&self) -> bool {
        matches!(
            self.change.status,
            ChangeStatus::Added | ChangeStatus::Renamed
        )
    }
}

/// What every rule may look at.
pub struct Case<'a> {
    pub snapshot: &'a Snapshot,
    pub reading: &'a Reading,
    pub classes: &'a Classifier,
    /// The write-set, sorted by path; empty when it could not be had (that refuses by itself).
    pub touched: Vec<Touched<'a>>,
    pub judge: Judge,
    /// Everything binds; `false` for a person under `apply_to: agents` (protocol 5.4).
    pub all_binds: bool,
    /// The write-set holds a path of class production.
    pub has_production: bool,
    /// Paths of the write-set.
    paths: BTreeSet<&'a str>,
    /// Files of listed properties whose own text the patch changes.
    edited: BTreeSet<&'a str>,
}

impl<'a> Case<'a> {
    pub fn new(snapshot: &'a Snapshot, reading: &'a Reading, classes: &'a Classifier) -> Self {
        let changes = snapshot.write_set.known().map_or(&[][..], Vec::as_slice);
        let files_where = |is: fn(&PropertyFact) -> bool| -> BTreeSet<&'a str> {
            let sources = snapshot.sources.known().into_iter();
            let facts = sources.flat_map(|sources| &sources.properties);
            let files = facts.filter(|(_, fact)| is(fact));
            files
                .map(|(id, _)| id.split_once("::").map_or(id.as_str(), |(path, _)| path))
                .collect()
        };
        let weakened = files_where(|fact| !fact.unchanged);
        let mut touched: Vec<Touched<'_>> = changes
            .iter()
            .map(|change| Touched {
                change,
                class: class_of(change, classes, &weakened),
            })
            .collect();
        touched.sort_by(|a, b| a.change.path.cmp(&b.change.path));
        let all_binds =
            snapshot.author.kind == AuthorKind::Agent || reading.config.apply_to == ApplyTo::All;
        let mut case = Self {
            snapshot,
            reading,
            classes,
            paths: changes.iter().map(|change| change.path.as_str()).collect(),
            touched,
            edited: files_where(|fact| fact.edited),
            has_production: false,
            judge: Judge::MergedTree,
            all_binds,
        };
        case.has_production = case.has(Class::Production);
        let binds = case.binds(Rule::ContractWithProduction);
        // A base tip that has not opted in has no contract to judge by.
        if case.has_production && binds && snapshot.opted_in {
            case.judge = Judge::BaseTip;
        }
        case
    }

    /// One commit is judged by itself: nothing in it is new, and no test is of the patch.
    pub fn is_audit(&self) -> bool {
        self.snapshot.subject == Subject::Audit
    }

    /// What the sources say; `None` when there is no merged tree.
    pub fn sources(&self) -> Option<&'a Sources> {
        self.snapshot.sources.known()
    }

    pub fn is_agent(&self) -> bool {
        self.snapshot.author.kind == AuthorKind::Agent
    }

    /// Whether a rule binds whoever brings this patch (protocol 5.4).
    pub fn binds(&self, rule: Rule) -> bool {
        self.all_binds
            || matches!(
                rule,
                Rule::ContractUnreadable
                    | Rule::Undetermined
                    | Rule::ForeignCheck
                    | Rule::OwnProposal
                    | Rule::MissingFixture
                    | Rule::DigestMismatch
                    | Rule::UnlockedFixture
                    | Rule::OpaqueFixture
                    | Rule::CatalogBroken
                    | Rule::PathCollision
                    | Rule::InvalidFreeze
                    | Rule::ContractChanged
            )
    }

    pub fn of(&self, class: Class) -> impl Iterator<Item = &Touched<'a>> {
        self.touched
            .iter()
            .filter(move |touched| touched.class == class)
    }

    pub fn has(&self, class: Class) -> bool {
        self.of(class).next().is_some()
    }

    pub fn touches(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// The patch changes the text of a listed property of this file.
    pub fn edits_property_of(&self, path: &str) -> bool {
        self.edited.contains(path)
    }

    pub fn touches_layer(&self, layer: Layer) -> bool {
        self.touches(self.reading.config.guarded_path(layer))
    }

    pub fn lock(&self) -> Option<&'a Lock> {
        self.reading.lock.of(self.judge).ready()
    }

    pub fn map(&self) -> Option<&'a HunkMap> {
        self.reading.map.of(self.judge).ready()
    }

    /// Facts about the merged tree; `None` when there is no merged tree (rules that need it are
    /// left out, and the case is undetermined).
    pub fn tree(&self) -> Option<&'a TreeFacts> {
        self.snapshot.tree.known()
    }

    /// How many paths of each class the write-set holds.
    pub fn counts(&self) -> BTreeMap<Class, usize> {
        let mut counts = BTreeMap::new();
        for touched in &self.touched {
            *counts.entry(touched.class).or_default() += 1;
        }
        counts
    }
}

/// The class of a change: that of its path, unless its bytes show that it touches less (protocol
/// section 2, orders 4 and 7).
fn class_of(change: &Change, classes: &Classifier, weakened: &BTreeSet<&str>) -> Class {
    let path = change.path.as_str();
    match (classes.classify(path), change.only) {
        (Class::Harness, Some(Only::OtherKeys)) if !classes.is_configured_harness(path) => {
            Class::Other
        }
        (Class::Production, Some(Only::TestItems | Only::TestSupport)) => {
            if weakened.contains(path) {
                Class::Property
            } else {
                Class::Test
            }
        }
        (class, _) => class,
    }
}
