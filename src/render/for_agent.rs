//! The decision for the patch's author, when that is an agent (interfaces section 2). PURE.
//!
//! Invariant: every text in it is this program's own, or comes from the patch: its paths, the names of
//! repository and branch, the author's login. Nothing is quoted from a contract file: no reason, owner, date,
//! digest, node id, prefix or row. An agent that cannot read which tests are frozen, and which listed
//! property is still watching, has to mend the code.

use std::collections::BTreeSet;

use super::about::about;
use crate::model::{Decision, Effect, Finding, Rule};

/// The step of the table that counts freezes (protocol 5.1).
const FREEZES: u8 = 4;
/// That of the lane, which tells how many properties there are.
const LANE: u8 = 6;
const LEFT_OUT: &str = "left out for the patch's author";

/// The decision without `freezes` and without any text of the contract. The verdict stays what it is.
pub fn for_agent(mut decision: Decision) -> Decision {
    let paths: BTreeSet<String> = decision
        .write_set
        .iter()
        .map(|change| change.path.clone())
        .collect();
    decision.freezes = None;
    decision.fixtures.clear();
    decision.author.evidence = LEFT_OUT.to_owned();
    decision.findings = findings(decision.findings, &paths);
    decision
        .coverage
        .retain(|coverage| paths.contains(&coverage.path));
    // How many are live and needed stays.
    for coverage in &mut decision.coverage {
        coverage.rules.clear();
        coverage.properties.clear();
    }
    for step in &mut decision.table {
        if matches!(step.step, FREEZES | LANE) {
            LEFT_OUT.clone_into(&mut step.detail);
        }
    }
    decision
}

/// In the rule's general words, on paths of the patch only; equal ones once.
fn findings(findings: Vec<Finding>, paths: &BTreeSet<String>) -> Vec<Finding> {
    let mut told: Vec<Finding> = Vec::new();
    for finding in findings {
        let path = finding.path.filter(|path| paths.contains(path));
        // A notice of the contract's own state, or one that only says that something is frozen.
        if finding.effect == Effect::Notice
            && (path.is_none() || finding.rule == Rule::LiveSetShrank)
        {
            continue;
        }
        let about = about(finding.rule);
        let finding = Finding {
            rule: finding.rule,
            effect: finding.effect,
            line: finding.line.filter(|_| path.is_some()),
            path,
            nodeid: None,
            owner: None,
            message: about.when.to_owned(),
            fix: about.fix.to_owned(),
        };
        if !told.contains(&finding) {
            told.push(finding);
        }
    }
    // What has lost its path stands first, as everywhere.
    told.sort_by(|a, b| a.path.cmp(&b.path));
    told
}
