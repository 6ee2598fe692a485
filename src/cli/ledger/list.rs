//! `frostline ledger list` and `export`: the rows that take votes away, and what each is worth.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use chrono::{DateTime, Utc};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::progress::Progress;
use crate::cli::{Outcome, out};
use crate::gate::{self, FileState, numbers};
use crate::git;
use crate::model::{ContractFile, Decision, FreezeRow, Layer};
use crate::render::{count, visible};

/// Value of `schema`.
const SCHEMA: &str = "frostline.freezes/1";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For a person
    Text,
    /// One object
    Json,
}

/// List the freezes, and what each is worth
///
/// Every row of the freeze list, the seed ledger, the evidence ledger and the list of frozen tests that is
/// not closed, by the files of one commit. `open` and `unbound` take the test's vote; `void`, `expired` and
/// `invalid` give it back. No property that a row names counts as coverage, whatever the row is worth.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  listed
  2  the command could not do its work: no repository, an unknown revision, an unreadable contract file

Examples:
  frostline ledger list
  frostline ledger list --format json | jq -r '.rows[] | select(.state == \"void\").nodeid'")]
pub struct List {
    #[command(flatten)]
    at: At,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Print the freezes as JSON, a row a line
///
/// The rows of `frostline ledger list`, each with the repository, the commit and the time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  the command could not do its work: no repository, an unknown revision, an unreadable contract file

Examples:
  frostline ledger export --rev origin/main >> freezes.jsonl")]
pub struct Export {
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
struct At {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// The commit whose rows, and whose fixtures, count
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,
}

pub fn list(args: &List) -> Outcome {
    let now = Utc::now();
    let decision = decided(&args.at.repo, &args.at.rev, now)?;
    let rows = || decision.freezes.iter().flatten();
    let text = match args.format {
        Format::Json => {
            let rows: Vec<Value> = rows().map(|row| as_json(row, now)).collect();
            let all = json!({"schema": SCHEMA, "repository": decision.repository, "commit": decision.head,
                "at": now.to_rfc3339(), "rows": rows});
            format!("{all:#}\n")
        }
        Format::Text => {
            let mut text: String = rows().map(|row| as_text(row, now)).collect();
            text.push_str(&tally(&decision));
            text
        }
    };
    out::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub fn export(args: &Export) -> Outcome {
    let now = Utc::now();
    let decision = decided(&args.at.repo, &args.at.rev, now)?;
    let mut text = String::new();
    for row in decision.freezes.iter().flatten() {
        let mut line = as_json(row, now);
        line["schema"] = SCHEMA.into();
        line["repository"] = decision.repository.as_str().into();
        line["commit"] = decision.head.as_str().into();
        line["at"] = now.to_rfc3339().into();
        text.push_str(&format!("{line}\n"));
    }
    out::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The decision on a commit by itself. A file that can't be read has rows that nobody sees.
fn decided(repo: &Path, revision: &str, now: DateTime<Utc>) -> anyhow::Result<Decision> {
    let progress = Progress::start("reading the repository");
    let snapshot = git::audit(repo, revision, now, true)?;
    if let Some(why) = unreadable(&snapshot.contract) {
        bail!("{why}; `frostline ledger validate` names every such file");
    }
    let decision = gate::decide(&snapshot);
    drop(progress);
    Ok(decision)
}

/// The first contract file that cannot be read, and why.
pub(super) fn unreadable(contract: &BTreeMap<Layer, ContractFile>) -> Option<String> {
    gate::file_states(contract)
        .into_iter()
        .find_map(|(layer, path, state)| {
            let why = match state {
                FileState::Broken(error) => format!("line {}: {}", error.line, error.message),
                FileState::Unavailable(why) => why,
                FileState::Valid | FileState::Off | FileState::Absent | FileState::Missing => {
                    return None;
                }
            };
            let (path, why) = (visible(&path), visible(&why));
            Some(format!(
                "the {} {path} cannot be read: {why}",
                layer.title()
            ))
        })
}

/// Whole days since a row was opened.
fn age(row: &FreezeRow, now: DateTime<Utc>) -> Option<i64> {
    let since = numbers::instant(row.opened_at.as_deref()?)?;
    Some((now - since).num_days().max(0))
}

fn as_json(row: &FreezeRow, now: DateTime<Utc>) -> Value {
    json!({"nodeid": row.nodeid, "source": row.source, "line": row.line, "state": row.state, "why": row.why,
        "reason": row.reason, "owner": row.owner, "recorded_digest": row.recorded_digest,
        "current_digest": row.current_digest, "opened_at": row.opened_at, "age_days": age(row, now)})
}

fn as_text(row: &FreezeRow, now: DateTime<Utc>) -> String {
    let said = |text: &Option<String>| visible(text.as_deref().unwrap_or("none"));
    let since = match (&row.opened_at, age(row, now)) {
        (Some(at), Some(days)) => format!("{} ({})", visible(at), count(days, "day", "days")),
        (Some(at), None) => visible(at),
        (None, _) => "not said".to_owned(),
    };
    let mut text = format!("{:<8} {}\n", row.state.name(), visible(&row.nodeid));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("         {name:<9} {value}\n"));
        }
    };
    line("why", &visible(&row.why));
    line("in", &visible(&format!("{}:{}", row.source, row.line)));
    line("owner", &said(&row.owner));
    line("since", &since);
    line("reason", &visible(&row.reason));
    line("recorded", &said(&row.recorded_digest));
    line("current", &said(&row.current_digest));
    text
}

fn tally(decision: &Decision) -> String {
    let rows: Vec<&FreezeRow> = decision.freezes.iter().flatten().collect();
    let voting = rows.iter().filter(|row| !row.state.takes_vote()).count();
    format!(
        "{}, {voting} of them without effect on the vote\n",
        count(rows.len(), "row", "rows")
    )
}
