//! `frostline ledger`: the contract files themselves, and the rows in them that take votes away.

mod list;
mod stats;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use super::{Outcome, out};
use crate::gate::{self, FileState};
use crate::git::Files;
use crate::model::Layer;
use crate::render::visible;

/// Look at the contract files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  as of each command

Examples:
  frostline ledger validate
  frostline ledger list
  frostline ledger export > freezes.jsonl
  frostline ledger stats --since 2026-01-01")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Validate(Validate),
    List(list::List),
    Export(list::Export),
    Stats(stats::Stats),
}

/// Check that every contract file can be read
///
/// A line a file: its state, what it is, where it is. The states are `ok`; `absent`; `off` for one that
/// the configuration switches off; and `error`, with line and column. Where the configuration is in error,
/// the others are looked for at their default paths.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  the gate can read all that it needs; or there is no contract file, and it judges nothing
  1  it would refuse every patch with `contract-unreadable`, or `undetermined`
  2  the command could not do its work: no repository, an unknown revision

Examples:
  frostline ledger validate
  frostline ledger validate --worktree         before committing a change of the contract
  frostline ledger validate --rev origin/main")]
struct Validate {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// The commit whose files are read
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,

    /// Read what the work tree holds, as `git add --all` would store it
    #[arg(long, conflicts_with = "rev")]
    worktree: bool,
}

pub fn run(args: Args) -> Outcome {
    match args.command {
        Command::Validate(args) => validate(&args),
        Command::List(args) => list::list(&args),
        Command::Export(args) => list::export(&args),
        Command::Stats(args) => stats::stats(&args),
    }
}

fn validate(args: &Validate) -> Outcome {
    let files = match args.worktree {
        true => Files::in_work_tree(&args.repo)?,
        false => Files::at_revision(&args.repo, &args.rev)?,
    };
    let states = gate::file_states(&files.contract()?);
    let text: String = states
        .iter()
        .map(|(layer, path, state)| line(*layer, path, state))
        .collect();
    out::print(&text)?;
    if states
        .iter()
        .all(|(.., state)| matches!(state, FileState::Absent))
    {
        out::warning(
            "there is no contract file, so this repository has not opted in and nothing of it is judged; \
             `frostline init` proposes a contract",
        );
    }
    let refuses = states.iter().any(|(_, _, state)| state.refuses());
    Ok(ExitCode::from(u8::from(refuses)))
}

fn line(layer: Layer, path: &str, state: &FileState) -> String {
    let (word, more) = match state {
        FileState::Valid => ("ok", String::new()),
        FileState::Off => ("off", String::new()),
        FileState::Absent => ("absent", String::new()),
        FileState::Missing => (
            "error",
            ": missing; add it, or switch it off under `contract:`".to_owned(),
        ),
        FileState::Broken(error) => (
            "error",
            format!(":{}:{}: {}", error.line, error.column, error.message),
        ),
        FileState::Unavailable(why) => ("error", format!(": could not be had: {why}")),
    };
    let place = visible(&format!("{path}{more}"));
    format!("{word:<7} {:<18} {place}\n", layer.title())
}
