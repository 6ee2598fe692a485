//! Every row that takes a vote away or means to, of whatever file, and what it is worth (protocol 3.3, 3.5,
//! 3.7, 3.8). PURE.
//!
//! Invariant: a row takes a vote only when all that its section asks of it holds; a row that is not closed
//! denies coverage, whatever it is worth.

mod judge;

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};

use super::case::Case;
use super::reading::Judge;
use super::scopes::{self, Digest, Digests, Files};
use crate::contract::catalog::Property;
use crate::contract::digests::{self, Form};
use crate::contract::evidence::{Evidence, EvidenceRow, FROZEN};
use crate::contract::freezes::FreezeEntry;
use crate::contract::frozen_tests::FrozenTest;
use crate::contract::ledger::LedgerEntry;
use crate::model::{FixtureScope, FreezeState, Layer, NodeId};

/// A row that is not closed.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub layer: Layer,
    /// Repository path of its file, and its 1-based line there.
    pub file: &'a str,
    pub line: u32,
    /// What it names: a node id, or a name that could be one.
    pub nodeid: NodeId,
    /// It names a test by its name alone, wherever that is.
    pub by_name: bool,
    pub reason: &'a str,
    pub owner: Option<&'a str>,
    pub covers: &'a [String],
    pub recorded: Option<&'a str>,
    pub opened_at: Option<&'a str>,
    /// From that second on it is void by date.
    pub expires_at: Option<&'a str>,
    pub state: FreezeState,
    /// Why it is in this state: a clause. Empty for an open row that says nothing more.
    pub why: String,
    /// The digest of its scope in the merged tree, in the form of the recorded one.
    pub current: Option<String>,
    /// What could not be had to tell its state.
    pub unknown: Option<String>,
    /// The patch adds it, or changes it.
    pub is_added: bool,
    /// It says itself that it exempts nothing yet, and is in order otherwise.
    pub is_candidate: bool,
    /// It is about a sensitive path that the patch changes.
    pub is_sensitive: bool,
    /// Whether the merged tree has the test that it names.
    pub target: Target,
}

/// What is known of the test that a row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The file or directory is there, and as far as sources are read the test in it.
    There,
    /// The file is there; of the test its source does not tell.
    Unsure,
    /// No such file or directory.
    NoFile,
    /// The file was read whole, and holds no such test.
    NoTest,
}

impl Row<'_> {
    /// Whether it takes its test's vote.
    pub fn takes_vote(&self) -> bool {
        self.state.takes_vote() && !self.is_sensitive
    }

    /// It names no test of the merged tree.
    pub fn dangles(&self) -> bool {
        matches!(self.target, Target::NoFile | Target::NoTest)
    }

    /// It may mean another test than the one that its text names.
    pub fn may_mean_another(&self) -> bool {
        self.by_name || self.target != Target::There
    }
}

/// The rows of one version of the contract, on the merged tree.
pub struct Rows<'a> {
    pub list: Vec<Row<'a>>,
    judge: Judge,
    catalog: HashMap<&'a str, &'a Property>,
    scopes: HashMap<Vec<String>, Digests>,
    default: Vec<String>,
}

/// What a row says, before it is known what that is worth.
struct Claim<'a> {
    row: Row<'a>,
    /// What is wrong with the row by itself: which field, why.
    problem: Option<String>,
    property_id: Option<&'a str>,
    property_digest: Option<&'a str>,
}

impl<'a> Rows<'a> {
    /// The rows of the version that `judge` names.
    pub fn new(case: &'a Case<'a>, judge: Judge) -> Self {
        let catalog = scopes::by_node(case.reading.catalog.of(judge).ready());
        let default = case.reading.default_scope(judge);
        let mut rows = Self {
            list: Vec::new(),
            judge,
            catalog,
            scopes: HashMap::new(),
            default,
        };
        let claims = rows.claims(case);
        if claims.is_empty() && rows.catalog.is_empty() && !case.has_production {
            return rows;
        }
        let files = Files::new(case.snapshot);
        if let Some(files) = &files {
            let mut wanted: BTreeSet<&[String]> = BTreeSet::from([rows.default.as_slice()]);
            wanted.extend(rows.catalog.values().map(|row| row.fixtures.as_slice()));
            let digests = files.digests(&wanted).into_iter();
            rows.scopes = digests
                .map(|(globs, found)| (globs.to_vec(), found))
                .collect();
        }
        rows.list = claims
            .into_iter()
            .map(|claim| judge::judged(claim, &rows, case, files.as_ref()))
            .collect();
        rows.supersede(case.reading.evidence.of(judge).ready());
        rows
    }

    /// The digests of a node's scope; `None` without a merged tree.
    fn digests(&self, nodeid: &NodeId) -> Option<&Digests> {
        self.scopes.get(self.globs(nodeid))
    }

    /// Whether the patch changes what the node's scope holds.
    pub fn changes_scope(&self, nodeid: &NodeId) -> bool {
        let found = self.digests(nodeid);
        found.is_some_and(|found| found.before != found.after)
    }

    fn globs(&self, nodeid: &NodeId) -> &[String] {
        scopes::globs_of(nodeid, &self.catalog, &self.default)
    }

    /// The scopes of some nodes, and of those of the catalog that the patch changes; sorted by node id.
    pub fn fixture_scopes(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<FixtureScope> {
        let mut nodes: BTreeSet<NodeId> = nodes.collect();
        nodes.extend(self.list.iter().map(|row| row.nodeid.clone()));
        for row in self.catalog.values() {
            if self.changes_scope(&row.nodeid) {
                nodes.insert(row.nodeid.clone());
            }
        }
        let one = |nodeid: NodeId| {
            let found = self.digests(&nodeid)?;
            Some(FixtureScope {
                scope: self.globs(&nodeid).to_vec(),
                before: found.before.known().map(str::to_owned),
                after: found.after.known().map(str::to_owned),
                nodeid: nodeid.to_string(),
            })
        };
        nodes.into_iter().filter_map(one).collect()
    }

    fn claims(&self, case: &'a Case<'a>) -> Vec<Claim<'a>> {
        let reading = case.reading;
        let mut claims = Vec::new();
        if let Some(list) = reading.freezes.of(self.judge).ready() {
            let known = judge::known(&reading.freezes, |list| &list.entries, judge::bare_freeze);
            let file = reading.freezes.path.as_str();
            for row in list.entries.iter().filter(|row| row.frozen) {
                claims.push(freeze(row, file, &reading.config.runners, &known));
            }
        }
        if let Some(ledger) = reading.ledger.of(self.judge).ready() {
            let known = judge::known(&reading.ledger, |list| &list.entries, judge::bare_ledger);
            let file = reading.ledger.path.as_str();
            for row in ledger.entries.iter().filter(|row| !row.is_closed()) {
                claims.push(of_ledger(row, file, &reading.config.runners, &known));
            }
        }
        if let Some(evidence) = reading.evidence.of(self.judge).ready() {
            let known = judge::known(&reading.evidence, |list| &list.last, judge::bare_evidence);
            let file = reading.evidence.path.as_str();
            let frozen = evidence.last.iter().filter(|row| row.status == FROZEN);
            claims.extend(frozen.map(|row| self.of_evidence(row, file, &known)));
        }
        if let Some(list) = reading.frozen_tests.of(self.judge).ready() {
            let known = judge::known(&reading.frozen_tests, |list| &list.rows, judge::bare_test);
            let file = reading.frozen_tests.path.as_str();
            claims.extend(list.rows.iter().map(|row| frozen_test(row, file, &known)));
        }
        claims
    }

    fn of_evidence(
        &self,
        row: &'a EvidenceRow,
        file: &'a str,
        known: &Option<BTreeSet<String>>,
    ) -> Claim<'a> {
        let catalogued = self.catalog.get(row.nodeid.as_str());
        let problem = match (row.missing, catalogued) {
            (Some(key), _) => Some(format!("`{key}` is missing")),
            (None, None) => Some("no row of the catalog gives its node an id".to_owned()),
            (None, Some(_)) => judge::reason(row.reason.as_deref()),
        };
        let line = Line(file, row.line, Layer::Evidence);
        let added = judge::is_added(known, &judge::bare_evidence(row));
        Claim {
            row: Row {
                reason: row.reason.as_deref().unwrap_or_default(),
                owner: catalogued.map(|property| property.owner.as_str()),
                recorded: Some(&row.fixture_digest),
                opened_at: row.finished_at.as_deref(),
                ..line.row(row.nodeid.clone(), added)
            },
            problem,
            property_id: Some(&row.property_id),
            property_digest: None,
        }
    }

    /// A frozen row about other bytes is history once a later window of its property, on the bytes that
    /// there are, said `merge-ok` or `frozen`.
    fn supersede(&mut self, evidence: Option<&Evidence>) {
        let Some(evidence) = evidence else { return };
        let mut newest: HashMap<&str, u32> = HashMap::new();
        for row in &evidence.last {
            let current = self
                .digests(&row.nodeid)
                .and_then(|found| found.after.known());
            let settles = row.status == FROZEN || row.status == "merge-ok";
            if settles && current == Some(row.fixture_digest.as_str()) {
                newest.insert(&row.property_id, row.line);
            }
        }
        let ids: HashMap<u32, &str> = evidence
            .last
            .iter()
            .map(|row| (row.line, row.property_id.as_str()))
            .collect();
        self.list.retain(|row| {
            row.layer != Layer::Evidence
                || row.state != FreezeState::Void
                || ids
                    .get(&row.line)
                    .and_then(|id| newest.get(id))
                    .is_none_or(|later| *later < row.line)
        });
    }
}

/// Where a row stands.
struct Line<'a>(&'a str, u32, Layer);

impl<'a> Line<'a> {
    fn row(self, nodeid: NodeId, is_added: bool) -> Row<'a> {
        Row {
            layer: self.2,
            file: self.0,
            line: self.1,
            nodeid,
            by_name: false,
            reason: "",
            owner: None,
            covers: &[],
            recorded: None,
            opened_at: None,
            expires_at: None,
            state: FreezeState::Open,
            why: String::new(),
            current: None,
            unknown: None,
            is_added,
            is_candidate: false,
            is_sensitive: false,
            target: Target::There,
        }
    }
}

fn freeze<'a>(
    row: &'a FreezeEntry,
    file: &'a str,
    runners: &[String],
    known: &Option<BTreeSet<String>>,
) -> Claim<'a> {
    let added = judge::is_added(known, &judge::bare_freeze(row));
    let replay = row.replay.as_deref();
    let problem = judge::blocks(&row.reason)
        .or_else(|| row.fixture_digest.as_deref().and_then(judge::digest))
        .or_else(|| {
            replay.and_then(|line| judge::replay(line, &row.nodeid, row.seed.as_ref(), runners))
        });
    Claim {
        row: Row {
            reason: &row.reason,
            owner: Some(&row.owner),
            covers: &row.covers,
            recorded: row.fixture_digest.as_deref(),
            opened_at: row.opened_at.as_deref(),
            expires_at: row.expires_at.as_deref(),
            ..Line(file, row.line, Layer::Freezes).row(row.nodeid.clone(), added)
        },
        problem,
        property_id: row.property_id.as_deref(),
        property_digest: row.property_digest.as_deref(),
    }
}

fn of_ledger<'a>(
    row: &'a LedgerEntry,
    file: &'a str,
    runners: &[String],
    known: &Option<BTreeSet<String>>,
) -> Claim<'a> {
    let added = judge::is_added(known, &judge::bare_ledger(row));
    let problem = judge::ledger(row, runners);
    Claim {
        row: Row {
            is_candidate: problem.as_deref() == Some(judge::CANDIDATE),
            reason: row.reason.as_deref().unwrap_or_default(),
            owner: row.owner.as_deref(),
            recorded: row.fixture_digest.as_deref(),
            opened_at: row.opened_at.as_deref(),
            expires_at: row.expires_at.as_deref(),
            ..Line(file, row.line, Layer::Ledger).row(row.nodeid.clone(), added)
        },
        problem,
        property_id: row.property_id.as_deref(),
        property_digest: row.property_digest.as_deref(),
    }
}

fn frozen_test<'a>(
    row: &'a FrozenTest,
    file: &'a str,
    known: &Option<BTreeSet<String>>,
) -> Claim<'a> {
    let added = judge::is_added(known, &judge::bare_test(row));
    let by_name = !row.nodeid.as_str().contains("::") && !row.nodeid.as_str().contains('/');
    Claim {
        row: Row {
            by_name,
            reason: &row.note,
            opened_at: Some(&row.unstable_since),
            ..Line(file, row.line, Layer::FrozenTests).row(row.nodeid.clone(), added)
        },
        problem: None,
        property_id: None,
        property_digest: None,
    }
}
