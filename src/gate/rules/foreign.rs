//! `foreign-check`: another App's check-run under our name (interfaces section 5). PURE.

use crate::gate::case::Case;
use crate::gate::findings::{Draft, Findings};
use crate::model::Rule;

const MEND: &str = "give that App's check another name, or remove it; require ours in the branch rules with this \
     App as its source; then push a new commit, because a check-run stays on its commit";

/// One finding for each other App.
pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let known = case.snapshot.foreign_checks.as_ref();
    for foreign in known.and_then(|fact| fact.known()).into_iter().flatten() {
        let message = format!(
            "the App {} (id {}) has a check-run named \"{}\" on this head, which could be taken for ours",
            foreign.app, foreign.app_id, foreign.name
        );
        findings.add(Draft::new(Rule::ForeignCheck, message, MEND));
    }
}
