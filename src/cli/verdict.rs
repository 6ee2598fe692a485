//! What `check` and `decide` share: how a decision is shown, and the exit status it gives.

use std::process::ExitCode;

use clap::ValueEnum;

use super::{Outcome, out};
use crate::model::{Decision, Verdict};
use crate::render;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a person: verdict, table, holes, findings
    Text,
    /// The whole decision, `frostline.decision/1`
    Json,
    /// What the check-run shows, without its size limit
    Markdown,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// Workflow commands that annotate the patch in GitHub Actions
    Github,
}

/// How a decision is shown; the same for every command that makes one.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Shown {
    /// How the decision is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Leave out freezes and all text of the contract: what may be handed to the patch's author
    #[arg(long)]
    for_agent: bool,
}

impl Shown {
    /// Prints the decision; the exit status is its verdict's.
    pub fn show(self, decision: Decision) -> Outcome {
        let decision = match self.for_agent {
            true => render::for_agent(decision),
            false => decision,
        };
        let text = match self.format {
            Format::Text => render::text(&decision, out::style()),
            Format::Json => render::json(&decision),
            Format::Markdown => render::markdown(&decision),
            Format::Sarif => render::sarif(&decision),
            Format::Github => render::github(&decision),
        };
        out::print(&text)?;
        Ok(ExitCode::from(status(&decision)))
    }
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
