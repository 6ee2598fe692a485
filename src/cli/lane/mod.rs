//! `frostline lane`: runs properties of a local checkout (protocol 6).

mod cause;
mod ground;
mod line;
mod probe;
mod replay;
mod row;
mod run;
mod say;
mod scope;
mod window;

use chrono::{SecondsFormat, Utc};
use clap::Subcommand;

use super::Outcome;

/// Run properties in isolation, with pinned seeds
///
/// Runs tests of a commit, each run in a process of its own, in a scratch tree: the work tree is never
/// touched, and nothing is left behind. This runs the code of the repository, as isolated as this machine
/// allows; `lane probe` says how far that is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  as of each command

Examples:
  frostline lane run --head feature --out lane.jsonl
  frostline lane probe 'tests/properties/test_parse.py::test_roundtrip'
  frostline lane window 'tests/properties/test_parse.py::test_roundtrip' --seed 7
  frostline lane replay 'tests/properties/test_parse.py::test_roundtrip'")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Probe(probe::Args),
    Window(window::Args),
    Replay(replay::Args),
}

pub fn run(args: Args) -> Outcome {
    match args.command {
        Command::Run(args) => run::run(args),
        Command::Probe(args) => probe::run(args),
        Command::Window(args) => window::run(args),
        Command::Replay(args) => replay::run(args),
    }
}

fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}
