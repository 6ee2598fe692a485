//! What `check` and `decide` share: how a decision is shown, and the exit status it gives.

use std::process::ExitCode;

use clap::ValueEnum;

use super::{Outcome, out};
use crate::model::{Decision, Verdict};
use crate::render;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person: verdict, table, holes, findings
    Text,
    /// The whole decision, `frostline.decision/1`
    Json,
    /// What the check-run shows, without its size limit
    Markdown,
}

/// Prints the decision; the exit status is its verdict's.
pub fn show(decision: &Decision, format: Format) -> Outcome {
    let text = match format {
        Format::Text => render::text(decision, out::style()),
        Format::Json => render::json(decision),
        Format::Markdown => render::markdown(decision),
    };
    out::print(&text)?;
    Ok(ExitCode::from(status(decision)))
}

/// Exit status of a decision (interfaces section 1).
fn status(decision: &Decision) -> u8 {
    match decision.verdict {
        _ if decision.observe => 0,
        Verdict::NotApplicable | Verdict::Pass | Verdict::AllowRecheck => 0,
        Verdict::Refuse => 1,
        Verdict::HumanReview => 3,
    }
}
