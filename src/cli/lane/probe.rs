//! `frostline lane probe`.

use std::cell::RefCell;
use std::process::ExitCode;

use anyhow::anyhow;
use serde_json::json;

use super::super::{Outcome, out};
use super::ground::{Ground, GroundArgs};
use super::say;
use crate::git::Files;
use crate::lane::window::{Honoured, honours_seed};
use crate::model::NodeId;

/// Ask how one test can be run here
///
/// Runs it three times, with the seeds A, A and B, where it has a generator that takes one, and compares the values that were generated: a seed is
/// honoured when A gives the same values twice and B others. Says which framework and isolation there is,
/// and how long a run takes. Prints one line of JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  the seed is honoured, or the test generates nothing
  1  the seed is not honoured: no row for it may be written
  2  the test could not be run

Examples:
  frostline lane probe 'tests/properties/test_parse.py::test_roundtrip'
  frostline lane probe 'tests/test_a.py::test_a[x]' --isolation require=bubblewrap | jq .isolation")]
pub struct Args {
    /// The test: FILE::NAME, as the framework writes it
    #[arg(value_name = "NODEID")]
    node: NodeId,

    /// The commit [default: the upstream default branch]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,

    /// The seed A
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<i64>,

    #[command(flatten)]
    ground: GroundArgs,
}

pub fn run(args: Args) -> Outcome {
    let files = Files::at_base(&args.ground.repo, args.rev.as_deref())?;
    let ground = Ground::prepare(&args.ground, files)?;
    ground.need(&args.node)?;
    let framework = ground.framework(&args.node)?;
    let bench = ground.bench()?;
    let generator = ground.generator(&bench, &args.node)?;
    let times = RefCell::new(Vec::new());
    let honoured = honours_seed(&bench, (&args.node, generator), args.seed, &|run| {
        say::run(run);
        times.borrow_mut().push(run.wall_ms);
    });
    ground.not_interrupted()?;
    let versions = bench.versions(&args.node).map_err(|why| anyhow!(why))?;
    let (word, why) = match &honoured {
        Honoured::Yes => ("yes", None),
        Honoured::DoesNotApply => ("does-not-apply", None),
        Honoured::No(why) => ("no", Some(why.as_str())),
    };
    let answer = json!({
        "schema": "frostline.lane-probe/1",
        "nodeid": args.node,
        "commit": ground.commit,
        "framework": framework.name(),
        "versions": versions,
        "generator": generator,
        "seed_honoured": word,
        "why": why,
        "isolation": ground.level,
        "no_stronger_isolation": ground.why_not,
        "network": if ground.level.has_no_network() { "loopback" } else { "open" },
        "run_ms": times.into_inner(),
    });
    out::print(&format!("{answer}\n"))?;
    say::say(&format!("generator: {}", generator.words()));
    say::say(&match why {
        Some(why) => format!("the seed is not honoured: {why}"),
        None => format!("seed honoured: {word}; isolation: {}", ground.level.name()),
    });
    Ok(ExitCode::from(u8::from(why.is_some())))
}
