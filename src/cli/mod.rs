//! The command line: one file a command. The only place that builds real clients.
//!
//! A command is a module with `Args` (clap) and `run(Args) -> Outcome`; it is wired by one line in
//! [`Command`] and one in [`Command::run`]. What it says goes out through [`out`]; what goes wrong is an
//! error whose text is one sentence that names the place and the way out (exit status 2).

mod audit;
mod check;
mod completions;
mod decide;
mod demo;
mod digest;
mod doctor;
mod init;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod lane;
mod ledger;
mod lock;
mod out;
mod place;
mod progress;
mod rotate;
mod schema;
mod serve;
mod settings;
mod setup;
mod signals;
mod verdict;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// An exit code, or why the command could not do its work.
type Outcome = anyhow::Result<ExitCode>;

/// Exit status of a command that could not do its work; clap uses the same for wrong usage.
const COULD_NOT_RUN: u8 = 2;

const LONG_ABOUT: &str = "\
Frostline judges patches written by coding agents. For every production path that a patch changes it \
asks which live, unfrozen property (a test that asserts an invariant) guards the change, and whether \
the fixtures that the properties read are still the ones that a person locked. The rules are files in \
the repository, and they are read from the base branch, never from the patch.";

const AFTER_HELP: &str = "\
Exit status:
  0  pass, allow_recheck or not_applicable; any verdict under `mode: observe`
  1  refuse
  3  human_review
  2  the command could not do its work: wrong usage, no repository, unreadable input

Examples:
  frostline init --dry-run                     what a contract for this repository would be
  frostline check                              HEAD against the upstream default branch
  frostline check --base main --head feature   two revisions of this repository
  frostline check --format json | jq .verdict  for programs; always parses";

#[derive(Debug, Parser)]
#[command(
    name = "frostline",
    version,
    about = "A merge gate for patches written by coding agents",
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    max_term_width = 100,
    disable_help_subcommand = true,
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Check(check::Args),
    Audit(audit::Args),
    Decide(decide::Args),
    Digest(digest::Args),
    Lock(lock::Args),
    Ledger(ledger::Args),
    #[cfg(target_os = "linux")]
    Lane(lane::Args),
    Schema(schema::Args),
    Demo(demo::Args),
    Setup(setup::Args),
    Doctor(doctor::Args),
    Serve(serve::Args),
    Completions(completions::Args),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Inside(inside::Inside),
}

impl Command {
    fn run(self) -> Outcome {
        match self {
            Self::Init(args) => init::run(args),
            Self::Check(args) => check::run(args),
            Self::Audit(args) => audit::run(args),
            Self::Decide(args) => decide::run(args),
            Self::Digest(args) => digest::run(args),
            Self::Lock(args) => lock::run(args),
            Self::Ledger(args) => ledger::run(args),
            #[cfg(target_os = "linux")]
            Self::Lane(args) => lane::run(args),
            Self::Schema(args) => schema::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Setup(args) => setup::run(args),
            Self::Doctor(args) => doctor::run(args),
            Self::Serve(args) => serve::run(args),
            Self::Completions(args) => completions::run(args),
            #[cfg(target_os = "linux")]
            Self::Inside(inside) => inside.run(),
        }
    }
}

/// What commands that talk to others run on.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")
}

/// Parses the arguments and runs the command (interfaces section 1).
pub fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(code) => code,
        Err(error) => {
            out::error(&format!("{error:#}"));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
