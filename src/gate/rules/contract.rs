//! Contract files: readable, and not changed together with what they judge. PURE.

use std::collections::BTreeSet;

use crate::gate::case::{Case, Touched};
use crate::gate::findings::{Draft, Findings};
use crate::gate::reading::{Judge, Read, Sides};
use crate::model::{Class, Effect, Layer, NodeId, Rule};

const SPLIT: &str =
    "propose the contract change in a pull request of its own, to be landed by a person first";

pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    readable(case, findings);
    changed(case, findings);
}

/// `contract-unreadable` (protocol 3 and 5.3).
fn readable(case: &Case<'_>, findings: &mut Findings<'_>) {
    let reading = case.reading;
    layer(case, findings, Layer::Config, &reading.config_file, false);
    layer(case, findings, Layer::Lock, &reading.lock, true);
    layer(case, findings, Layer::Freezes, &reading.freezes, true);
    layer(case, findings, Layer::Map, &reading.map, true);
    layer(case, findings, Layer::Ledger, &reading.ledger, false);
    layer(case, findings, Layer::Catalog, &reading.catalog, false);
    layer(case, findings, Layer::Evidence, &reading.evidence, false);
    let list = &reading.frozen_tests;
    layer(case, findings, Layer::FrozenTests, list, false);
    layer(case, findings, Layer::Seeds, &reading.seeds, false);
}

fn layer<T>(
    case: &Case<'_>,
    findings: &mut Findings<'_>,
    layer: Layer,
    sides: &Sides<T>,
    needed: bool,
) {
    // Where nobody has opted in, nothing is missing, unless this patch opts in.
    let opted_in = case.snapshot.opted_in;
    let needed = needed && (opted_in || case.has(Class::Contract));
    let base = problem(layer, &sides.base, needed);
    let proposed = sides
        .proposed
        .as_ref()
        .map(|read| problem(layer, read, needed));
    let draft = |problem: Problem, whose: &str| {
        Draft::new(
            Rule::ContractUnreadable,
            format!("{whose}{}", problem.message),
            problem.fix,
        )
        .at(&sides.path)
        .line(problem.line)
    };
    // As proposed: whoever the author, and whatever else is in the patch.
    let mended = matches!(proposed, Some(None));
    if let Some(Some(problem)) = proposed {
        findings.add(draft(problem, "as this patch proposes it: "));
        return;
    }
    let Some(problem) = base else { return };
    match case.judge {
        Judge::MergedTree if mended && !opted_in => {}
        Judge::MergedTree if mended => findings.add(
            draft(problem, "on the base branch, and mended by this patch: ").effect(Effect::Notice),
        ),
        _ => findings.add(draft(problem, "")),
    }
}

struct Problem {
    message: String,
    fix: String,
    line: Option<u32>,
}

/// What is wrong with one version. What could not be had is `undetermined`, and not told here.
fn problem<T>(layer: Layer, read: &Read<T>, needed: bool) -> Option<Problem> {
    match read {
        Read::Broken(error) => Some(Problem {
            message: format!(
                "the {} is not readable at line {}, column {}: {}",
                layer.title(),
                error.line,
                error.column,
                error.message
            ),
            fix: format!(
                "mend {} at line {}, column {}",
                error.path, error.line, error.column
            ),
            line: Some(error.line),
        }),
        Read::Absent if needed => Some(Problem {
            message: format!("the {} is missing", layer.title()),
            fix: match layer.key() {
                Some(key) => format!(
                    "add the file, or switch the layer off with `contract: {{{key}: off}}` in {}",
                    Layer::Config.default_path()
                ),
                None => "add the file".to_owned(),
            },
            line: None,
        }),
        Read::Absent | Read::Off | Read::Unavailable(_) | Read::Ready(_) => None,
    }
}

/// `contract-with-production`, `ledger-in-write-set`, `contract-changed`.
fn changed(case: &Case<'_>, findings: &mut Findings<'_>) {
    let with_production = case.has_production;
    for touched in case.of(Class::Contract) {
        if with_production {
            let message = "a contract file and production code change in one patch";
            findings
                .add(Draft::new(Rule::ContractWithProduction, message, SPLIT).at(touched.path()));
        }
        if case.is_agent() && case.classes.is_ledger(touched.path()) {
            let message = "an agent's patch touches a ledger that only people write";
            let fix = "take the file out of the patch";
            findings.add(Draft::new(Rule::LedgerInWriteSet, message, fix).at(touched.path()));
        }
        if !with_production || !case.binds(Rule::ContractWithProduction) {
            findings.add(contract_changed(case, touched));
        }
    }
}

fn contract_changed(case: &Case<'_>, touched: &Touched<'_>) -> Draft {
    if is_freeze_list_alone(case) {
        let message = "only the freeze list changes, and every row of the base is still there";
        let fix = "read the holes that it opens; the map is checked again after the merge";
        return Draft::new(Rule::ContractChanged, message, fix)
            .at(touched.path())
            .effect(Effect::AllowRecheck);
    }
    let message = match unexplained(case, touched) {
        None => "a contract file changes".to_owned(),
        Some(name) => format!(
            "{name} leaves the list of frozen tests, and its note does not say what made it unstable"
        ),
    };
    let fix = "a maintainer reads and approves the change";
    Draft::new(Rule::ContractChanged, message, fix).at(touched.path())
}

/// A test that the patch takes off the list of frozen tests without a cause in its note (protocol 3.8).
fn unexplained<'a>(case: &'a Case<'_>, touched: &Touched<'_>) -> Option<&'a NodeId> {
    let list = &case.reading.frozen_tests;
    if touched.path() != list.path {
        return None;
    }
    let kept: BTreeSet<&NodeId> = list
        .merged()
        .ready()
        .into_iter()
        .flat_map(|list| &list.rows)
        .map(|row| &row.nodeid)
        .collect();
    let gone = list.base.ready()?.rows.iter();
    let mut gone = gone.filter(|row| !kept.contains(&row.nodeid));
    gone.find(|row| !row.states_cause()).map(|row| &row.nodeid)
}

/// The one contract change that needs no review: a person adds rows to the freeze list (protocol 5.3).
fn is_freeze_list_alone(case: &Case<'_>) -> bool {
    if case.is_agent() || case.touched.len() != 1 || !case.touches_layer(Layer::Freezes) {
        return false;
    }
    let freezes = &case.reading.freezes;
    let (Some(base), Some(proposed)) = (
        freezes.base.ready(),
        freezes.proposed.as_ref().and_then(Read::ready),
    ) else {
        return false;
    };
    let mut rest: Vec<_> = proposed.entries.iter().collect();
    base.entries.iter().all(|row| {
        let found = rest.iter().position(|other| other.same_row(row));
        found.map(|at| rest.swap_remove(at)).is_some()
    })
}
