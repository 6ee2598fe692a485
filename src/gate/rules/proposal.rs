//! `own-proposal`: this App's own pull request, at a person's command (protocol 5.5). PURE.

use crate::gate::case::Case;
use crate::gate::findings::{Draft, Findings};
use crate::model::Rule;

const MEND: &str = "somebody else with write access reads it, and approves it";

pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    if let Some(by) = &case.snapshot.proposed_by {
        let logins: Vec<String> = by.iter().map(|one| one.login.clone()).collect();
        let message = format!(
            "this App made this commit at the command of {}, which a person has to confirm",
            logins.join(" and ")
        );
        findings.add(Draft::new(Rule::OwnProposal, message, MEND));
    }
}
