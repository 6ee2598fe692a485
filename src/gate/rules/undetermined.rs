//! `undetermined`: what could not be had whole refuses (protocol 5.2). PURE.

use std::collections::BTreeSet;

use crate::gate::case::Case;
use crate::gate::findings::{Draft, Findings};
use crate::gate::reading::{Read, Sides};
use crate::model::{Fact, Presence, Rule};

const AGAIN: &str = "mend the cause, then evaluate again (push, or run the check once more)";

/// One finding for each reason; a reason that several facts share is told once.
pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let snapshot = case.snapshot;
    let mut reasons = BTreeSet::new();
    let mut note = |what: &str, why: Option<&str>| {
        if let Some(why) = why {
            reasons.insert(format!("{what}: {why}"));
        }
    };
    if let Some(foreign) = &snapshot.foreign_checks {
        note("the check-runs of other Apps", foreign.why_not());
    }
    note("the merge base", snapshot.merge_bases.why_not());
    if matches!(&snapshot.merge_bases, Fact::Known(bases) if bases.is_empty()) {
        note(
            "the merge base",
            Some("base and head have no common commit"),
        );
    }
    note("the merged tree", snapshot.merged_tree.why_not());
    note("the write-set", snapshot.write_set.why_not());
    note("the fixtures", snapshot.fixtures.why_not());
    note("the merged tree's files", snapshot.tree.why_not());
    if snapshot.tree.known().is_some() {
        note("the sources of the tests", snapshot.sources.why_not());
    }
    for (id, fact) in case
        .sources()
        .into_iter()
        .flat_map(|sources| &sources.properties)
    {
        if let Presence::Unavailable(why) = &fact.presence {
            note(id, Some(why));
        }
    }
    let reading = case.reading;
    both(&reading.config_file, &mut note);
    both(&reading.lock, &mut note);
    both(&reading.freezes, &mut note);
    both(&reading.map, &mut note);
    both(&reading.ledger, &mut note);
    both(&reading.catalog, &mut note);
    both(&reading.evidence, &mut note);
    both(&reading.frozen_tests, &mut note);
    both(&reading.seeds, &mut note);
    for reason in reasons {
        let message = format!("could not be had whole: {reason}");
        findings.add(Draft::new(Rule::Undetermined, message, AGAIN));
    }
}

fn both<T>(sides: &Sides<T>, note: &mut impl FnMut(&str, Option<&str>)) {
    for read in std::iter::once(&sides.base).chain(&sides.proposed) {
        if let Read::Unavailable(why) = read {
            note(&sides.path, Some(why));
        }
    }
}
