//! `frostline lane window`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use super::super::{Outcome, out, place};
use super::ground::{Ground, GroundArgs};
use super::row::{self, About};
use super::scope::Scope;
use super::{cause, line, now, say};
use crate::contract::evidence;
use crate::contract::replay::{self, Subject};
use crate::git::Files;
use crate::lane::bench::Bench;
use crate::lane::classify::{self, FIRST_RUNS, MOST_RUNS, Status, Stop, Tally, classify};
use crate::lane::frameworks::{Generator, Purpose, Task};
use crate::lane::window::{Honoured, Window, Wish, honours_seed, window};
use crate::model::NodeId;

/// Run one test again and again with one seed, and say what recurs
///
/// Begins with 7 runs. A window of greens ends there; one with a red goes on until there are reds and
/// greens enough, 14 reds in a row, or the most runs. Each run has the same seed and another hash seed. What
/// comes out is a row for the evidence ledger; it skips nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  merge-ok: every run was green
  1  stable-violation, catalog-broken or fixture-drift
  3  freeze-candidate, inconclusive or divergent: a person has to look
  2  errored: a run came to nothing, or the command could not do its work

Examples:
  frostline lane window 'tests/properties/test_parse.py::test_roundtrip'
  frostline lane window 'tests/test_a.py::test_a' --seed 7 --rev feature --workers 1
  frostline lane window 'tests/test_a.py::test_a' --out test/contract/evidence.jsonl")]
pub struct Args {
    /// The test: FILE::NAME, as the framework writes it
    #[arg(value_name = "NODEID")]
    node: NodeId,

    /// The commit [default: the upstream default branch]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,

    /// The seed of every run [default: the catalog's, the first of the seed corpus, or 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<i64>,

    /// The most runs; a window never has fewer than 7 [default: `lane.max_runs`, or 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(7..=10_000))]
    max_runs: Option<u64>,

    /// Runs at the same time [default: `lane.workers`, or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: Option<u64>,

    /// The digest that the fixtures have to have, as `frostline digest` prints it; nothing is run on others
    #[arg(long, value_name = "DIGEST")]
    expect: Option<String>,

    /// If greens and reds are mixed, run the test again with one condition held still at a time (hash seed,
    /// random numbers, clock, one processor), and name the one that makes the outcome the same
    #[arg(long)]
    diagnose: bool,

    /// Append the row to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    ground: GroundArgs,
}

pub fn run(args: Args) -> Outcome {
    // Before the runs: they are too dear to be thrown away.
    if let Some(path) = &args.out {
        existing(path)?;
    }
    let files = Files::at_base(&args.ground.repo, args.rev.as_deref())?;
    let ground = Ground::prepare(&args.ground, files)?;
    ground.need(&args.node)?;
    let scope = Scope::of(&ground, &args.node)?;
    let seed = args.seed.or(scope.seed).unwrap_or(1);
    let started_at = now();
    let bench = ground.bench()?;
    let (window, generator) = match before(&args, &scope) {
        Some(window) => (window, Generator::NoGenerator),
        None => in_full(&args, &ground, &bench, seed)?,
    };
    let takes_seed = generator.takes_seed();
    let seed_honoured = match window.verdict.status {
        Status::FreezeCandidate => honoured(&args, &ground, (&bench, generator), seed)?,
        _ => None,
    };
    let diagnosis = match args.diagnose {
        true => cause::of(
            &ground,
            &bench,
            wish(&args, &ground, (seed, generator)),
            &window,
        )?,
        false => None,
    };
    let replay = match row::first_red(&window) {
        Some(red) => {
            let task = Task {
                node: &args.node,
                seed: red.seed.filter(|_| takes_seed),
                hash_seed: red.hash_seed,
                generator,
                purpose: Purpose::Vote,
                stored: None,
            };
            line::proven(&ground, &bench, &task)?
        }
        None => None,
    };
    let about = About {
        node: &args.node,
        framework: row::framework(&bench, &args.node)?,
        seed: takes_seed.then_some(seed),
        started_at,
        finished_at: now(),
        replay,
        seed_honoured,
        diagnosis,
    };
    let members = row::members(&ground, &scope, &window, &about);
    write(&args, &members)?;
    tell(&window, &about, &ground.config.runners);
    Ok(ExitCode::from(exit_code(window.verdict.status)))
}

/// A window that needs no run, because the fixtures are not what they have to be.
fn before(args: &Args, scope: &Scope) -> Option<Window> {
    let state = if let Some(glob) = &scope.missing {
        say::say(&format!(
            "the catalog's {glob} matches no file of this commit"
        ));
        classify::Scope::Missing
    } else if args
        .expect
        .as_ref()
        .is_some_and(|digest| *digest != scope.digest)
    {
        say::say(&format!("the fixtures have the digest {}", scope.digest));
        classify::Scope::Drifted
    } else {
        return None;
    };
    Some(Window {
        runs: Vec::new(),
        stop: Stop::GoOn,
        verdict: classify(state, &Tally::default()),
    })
}

fn in_full(
    args: &Args,
    ground: &Ground,
    bench: &Bench<'_>,
    seed: i64,
) -> anyhow::Result<(Window, Generator)> {
    let generator = ground.generator(bench, &args.node)?;
    let wish = wish(args, ground, (seed, generator));
    let window = window(bench, wish, &say::run);
    ground.not_interrupted()?;
    let window = window.context("a run was cancelled")?;
    Ok((window, generator))
}

fn wish<'a>(args: &'a Args, ground: &Ground, (seed, generator): (i64, Generator)) -> Wish<'a> {
    let cap = args.max_runs.or(ground.settings.max_runs);
    let cap = cap
        .and_then(|runs| usize::try_from(runs).ok())
        .unwrap_or(MOST_RUNS);
    Wish {
        node: &args.node,
        seed: Some(seed),
        generator,
        cap: cap.max(FIRST_RUNS),
        workers: ground.workers(args.workers),
    }
}

/// Before a freeze may be proposed the seed has to be honoured.
fn honoured(
    args: &Args,
    ground: &Ground,
    (bench, generator): (&Bench<'_>, Generator),
    seed: i64,
) -> anyhow::Result<Option<bool>> {
    let node = (&args.node, generator);
    let answer = honours_seed(bench, node, Some(seed), &|run| {
        say::say("does not vote, only tells whether the seed is honoured:");
        say::run(run);
    });
    ground.not_interrupted()?;
    Ok(match answer {
        Honoured::Yes => Some(true),
        Honoured::DoesNotApply => None,
        Honoured::No(why) => {
            say::say(&format!(
                "the seed is not honoured, so no freeze may be proposed: {why}"
            ));
            Some(false)
        }
    })
}

fn write(args: &Args, members: &[(&str, serde_json::Value)]) -> anyhow::Result<()> {
    let Some(path) = &args.out else {
        let line = evidence::append(b"", members);
        return out::print(&String::from_utf8_lossy(&line));
    };
    let row = evidence::append(&existing(path)?, members);
    place::replace(path, &row).with_context(|| format!("cannot write {}", path.display()))
}

/// The rows that are there already; none where there is no file.
fn existing(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
    };
    evidence::parse(&name.to_string(), &bytes)
        .context("the file that the row would be appended to is no evidence ledger")?;
    Ok(bytes)
}

fn tell(window: &Window, about: &About<'_>, runners: &[String]) {
    let tally = &window.verdict.tally;
    say::say(&format!(
        "{}: {} green, {} red, {} errored of {} runs",
        window.verdict.status.name(),
        tally.green,
        tally.red,
        tally.errored,
        tally.runs
    ));
    let mut fine: Vec<_> = tally.fine.iter().collect();
    fine.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    for (signature, count) in fine {
        say::say(&format!("  {count} × {signature}"));
    }
    for sentence in row::sentences(&window.verdict, window.stop) {
        say::say(&sentence);
    }
    if let Some(diagnosis) = &about.diagnosis {
        say::say(&diagnosis.sentence());
    }
    if let Some(line) = &about.replay {
        say::say(&format!("the first red again: {line}"));
        let subject = Subject {
            nodeid: about.node,
            seed: None,
            runners,
        };
        if let Err(why) = replay::parse(line, subject) {
            say::say(&format!("no ledger takes this line yet: {why}"));
        }
    }
}

fn exit_code(status: Status) -> u8 {
    match status {
        Status::MergeOk => 0,
        Status::StableViolation | Status::CatalogBroken | Status::FixtureDrift => 1,
        Status::Errored => 2,
        Status::FreezeCandidate | Status::Inconclusive | Status::Divergent => 3,
    }
}
