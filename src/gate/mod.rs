//! The gate: Snapshot in, Decision out. PURE.
//!
//! Invariant: total, and it never passes by accident. Every path of the write-set brings an effect,
//! the strongest wins, and what could not be had refuses.

mod case;
pub mod classes;
pub mod facts;
mod files;
mod findings;
mod frozen;
pub mod kind;
pub mod lane;
mod liveness;
pub mod manifest;
pub mod numbers;
mod prefixes;
mod reading;
pub mod reads;
pub mod review;
mod rows;
mod rules;
pub mod scopes;
pub mod sources;
mod table;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

pub use files::{FileState, file_states};

use case::Case;
use classes::Classifier;
use findings::Findings;
use frozen::FrozenRows;
pub(crate) use prefixes::PrefixIndex;
use reading::Reading;
use rows::Rows;

use crate::config::repo::Mode;
use crate::model::{
    ClassifiedChange, Coverage, DECISION_SCHEMA, Decision, DecisionAuthor, FixtureScope, FreezeRow,
    PropertyState, Snapshot, Verdict,
};

/// Evaluates every rule of protocol 5.2 on `snapshot`.
pub fn decide(snapshot: &Snapshot) -> Decision {
    facts::Plan::new(&snapshot.contract).decide(snapshot)
}

fn decide_by(reading: &Reading, classes: &Classifier, snapshot: &Snapshot) -> Decision {
    let case = Case::new(snapshot, reading, classes);
    let mut findings = Findings::new(&case);
    rules::undetermined::check(&case, &mut findings);
    rules::foreign::check(&case, &mut findings);
    rules::proposal::check(&case, &mut findings);
    rules::contract::check(&case, &mut findings);
    rules::write_set::check(&case, &mut findings);
    let tally = rules::fixtures::check(&case, &mut findings);
    let mut rows = Rows::new(&case, case.judge);
    rules::freezes::check(&case, &mut rows, &mut findings);
    rules::catalog::check(&case, &mut findings);
    let coverage = rules::coverage::check(&case, &rows, &mut findings);
    let lane = rules::lane::check(&case, &rows, &coverage, &mut findings);
    let findings = findings.into_sorted();
    let freezes = freeze_rows(&rows, &coverage);
    let fixtures = fixture_scopes(&rows, &coverage);
    let verdict = verdict::of(&findings, snapshot.opted_in);
    let needs_person = verdict == Verdict::HumanReview;
    let decision_key = needs_person
        .then(|| review::key(snapshot, &findings))
        .flatten();
    let review = snapshot.reviews.as_ref().filter(|_| needs_person);
    let review =
        review.map(|reviews| review::outcome(reviews, &reading.config, decision_key.as_deref()));
    let table = table::Rows {
        case: &case,
        findings: &findings,
        tally,
        lane,
        coverage: &coverage,
        freezes: &freezes,
        verdict,
    };
    Decision {
        schema: DECISION_SCHEMA.to_owned(),
        subject: snapshot.subject,
        verdict,
        observe: reading.config.mode == Mode::Observe,
        decided_by: verdict::decided_by(&findings, verdict),
        decision_key,
        review,
        repository: snapshot.repository.clone(),
        branch: snapshot.branch.clone(),
        into_unguarded: snapshot.into_unguarded.clone(),
        required: snapshot.required,
        base: snapshot.base.clone(),
        merge_base: snapshot
            .merge_bases
            .known()
            .and_then(|bases| bases.first().cloned()),
        head: snapshot.head.clone(),
        author: DecisionAuthor {
            kind: snapshot.author.kind,
            login: snapshot.author.login.clone(),
            evidence: snapshot.author.evidence.clone(),
        },
        bound: case.all_binds,
        comments: reading.config.comments,
        write_set: write_set(&case),
        table: table.table(),
        fixtures,
        findings,
        coverage,
        freezes: Some(freezes),
        stats: snapshot.stats,
    }
}

fn write_set(case: &Case<'_>) -> Vec<ClassifiedChange> {
    case.touched
        .iter()
        .map(|touched| ClassifiedChange {
            path: touched.change.path.clone(),
            old_path: touched.change.old_path.clone(),
            status: touched.change.status,
            class: touched.class,
            hunks: touched.change.hunks.clone(),
        })
        .collect()
}

/// Every row that is not closed, sorted by node id.
fn freeze_rows(rows: &Rows<'_>, coverage: &[Coverage]) -> Vec<FreezeRow> {
    let frozen = FrozenRows::new(&rows.list);
    let listed = coverage.iter().flat_map(|coverage| &coverage.properties);
    let denied = |state| matches!(state, PropertyState::Frozen | PropertyState::Void);
    let blocking: std::collections::BTreeSet<usize> = listed
        .filter(|property| denied(property.state))
        .filter_map(|property| property.nodeid.parse().ok())
        .flat_map(|id| frozen.positions(&id))
        .collect();
    let mut found: Vec<FreezeRow> = rows
        .list
        .iter()
        .enumerate()
        .map(|(position, row)| FreezeRow {
            nodeid: row.nodeid.to_string(),
            source: row.file.to_owned(),
            line: row.line,
            state: row.state,
            reason: row.reason.to_owned(),
            why: row.why.clone(),
            recorded_digest: row.recorded.map(str::to_owned),
            current_digest: row.current.clone(),
            owner: row.owner.map(str::to_owned),
            opened_at: row.opened_at.map(str::to_owned),
            expires_at: row.expires_at.map(str::to_owned),
            touches_patch: blocking.contains(&position) || rows.changes_scope(&row.nodeid),
        })
        .collect();
    found.sort_by(|a, b| (&a.nodeid, &a.source, a.line).cmp(&(&b.nodeid, &b.source, b.line)));
    found
}

/// The scopes of the properties that the patch needs, and those that the contract speaks of.
fn fixture_scopes(rows: &Rows<'_>, coverage: &[Coverage]) -> Vec<FixtureScope> {
    let listed = coverage.iter().flat_map(|coverage| &coverage.properties);
    rows.fixture_scopes(listed.filter_map(|property| property.nodeid.parse().ok()))
}
