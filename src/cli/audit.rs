//! `frostline audit`: what one commit guards, and what it leaves open.

use std::path::PathBuf;

use chrono::Utc;

use super::Outcome;
use super::progress::Progress;
use super::verdict::Shown;
use crate::gate;
use crate::git;

/// Find what a commit leaves unguarded
///
/// Judges one commit by its own contract, as if every production path of it changed at once: finds coverage
/// holes that freezes, renames and removed tests opened since the map was written, fixtures that do not
/// match their lock, rules of the map that match nothing or whose properties are all dead, and code that no
/// class holds. Run it after each change of the contract, and daily.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  pass or not_applicable; any verdict under `mode: observe`
  1  refuse: a patch of some production path would be refused
  3  human_review
  2  the gate could not run: no repository, an unknown revision

Examples:
  frostline audit
  frostline audit --rev origin/main --format sarif > audit.sarif
  frostline audit --format json | jq -r '.findings[] | select(.rule == \"coverage-hole\").path'")]
pub struct Args {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// The commit to audit
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,

    #[command(flatten)]
    shown: Shown,

    /// Read every fixture again, and keep no digests [default: keep them under .git/frostline/]
    #[arg(long)]
    no_cache: bool,
}

pub fn run(args: Args) -> Outcome {
    let progress = Progress::start("reading the repository");
    let snapshot = git::audit(&args.repo, &args.rev, Utc::now(), !args.no_cache)?;
    let decision = gate::decide(&snapshot);
    drop(progress);
    args.shown.show(decision)
}
