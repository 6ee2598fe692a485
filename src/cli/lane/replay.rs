//! `frostline lane replay`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::json;

use super::super::{Outcome, out};
use super::ground::{Ground, GroundArgs};
use super::say;
use crate::config::repo::RepoConfig;
use crate::contract::ledger;
use crate::contract::replay::{self, Subject};
use crate::contract::seed::Seed;
use crate::git::Files;
use crate::lane::example::{Order, compare};
use crate::lane::frameworks::{Generator, Purpose, Task};
use crate::lane::model::Colour;
use crate::model::{BlobFact, Layer, NodeId};

/// Run a stored replay line exactly as it is stored
///
/// Takes the line of a row and runs it once, from a clean environment, in a scratch tree. It reproduces the
/// row when the test fails and, where the row has an example, prints the same one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  it failed as recorded
  1  it passed, or failed with another example
  2  the line is none, or the run came to nothing

Examples:
  frostline lane replay 'tests/properties/test_parse.py::test_roundtrip'
  frostline lane replay --row row.json --rev feature")]
pub struct Args {
    /// The test, whose newest row in the seed ledger is taken
    #[arg(
        value_name = "NODEID",
        required_unless_present = "row",
        conflicts_with = "row"
    )]
    node: Option<NodeId>,

    /// A row of the seed ledger or the evidence ledger as a JSON object; of several lines the last
    #[arg(long, value_name = "FILE")]
    row: Option<PathBuf>,

    /// The commit [default: the upstream default branch]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,

    #[command(flatten)]
    ground: GroundArgs,
}

/// What a row has to say.
struct Row {
    nodeid: NodeId,
    seed: Option<Seed>,
    line: String,
    example: Option<String>,
}

pub fn run(args: Args) -> Outcome {
    let files = Files::at_base(&args.ground.repo, args.rev.as_deref())?;
    let config = RepoConfig::of(&files.0.read(Layer::Config.default_path())?);
    let row = match (&args.row, &args.node) {
        (Some(file), _) => of_file(file)?,
        (None, Some(node)) => of_ledger(&files.0, &config, node)?,
        (None, None) => bail!("name a test, or a row with --row FILE"),
    };
    let subject = Subject {
        nodeid: &row.nodeid,
        seed: row.seed.as_ref(),
        runners: &config.runners,
    };
    let stored = replay::parse(&row.line, subject).map_err(|why| anyhow!("`replay`: {why}"))?;
    let ground = Ground::prepare(&args.ground, files)?;
    ground.need(&row.nodeid)?;
    let runners = ground.framework(&row.nodeid)?.runners();
    ensure!(
        stored
            .words
            .first()
            .is_some_and(|word| runners.contains(&word.as_str())),
        "`replay`: only lines of {} can be run for {}",
        runners.join(" and "),
        row.nodeid.path()
    );
    let run = ground.bench()?.run(&Task {
        node: &row.nodeid,
        seed: None,
        hash_seed: 0,
        generator: Generator::NoGenerator,
        purpose: Purpose::Vote,
        stored: Some(&stored),
    });
    ground.not_interrupted()?;
    say::run(&run);
    let colour = run.outcome.colour();
    let found = run
        .outcome
        .failure()
        .and_then(|failure| failure.example.as_deref());
    let order = match (row.example.as_deref(), found) {
        (Some(recorded), Some(found)) => Some(compare(recorded, found)),
        _ => None,
    };
    let same = row.example.is_none() || order == Some(Order::Same);
    let reproduced = colour == Colour::Red && same;
    let answer = json!({
        "schema": "frostline.lane-replay/1",
        "nodeid": row.nodeid,
        "commit": ground.commit,
        "tree": ground.files.tree(),
        "replay": row.line,
        "outcome": colour,
        "example": found,
        "recorded_example": row.example,
        "order": order,
        "reproduced": reproduced,
        "isolation": ground.level,
        "run_ms": run.wall_ms,
    });
    out::print(&format!("{answer}\n"))?;
    say::say(match (reproduced, colour) {
        (true, _) => "reproduced: it failed as recorded",
        (false, Colour::Red) => "not reproduced: it failed, and not with the recorded example",
        (false, Colour::Green) => "not reproduced: it passed",
        (false, Colour::Errored) => "the run came to nothing",
    });
    Ok(match colour {
        Colour::Errored => ExitCode::from(2),
        _ => ExitCode::from(u8::from(!reproduced)),
    })
}

fn of_ledger(files: &Files, config: &RepoConfig, node: &NodeId) -> anyhow::Result<Row> {
    let path = config
        .layer_path(Layer::Ledger)
        .context("the configuration switches the seed ledger off; name a row with --row FILE")?;
    let bytes = match files.read(path)? {
        BlobFact::Content { bytes, .. } => bytes.0,
        _ => bail!(
            "{} has no {path} that can be read; name a row with --row FILE",
            files.name()
        ),
    };
    let rows = ledger::parse(path, &bytes)?.entries;
    let found = rows.into_iter().rev().find(|row| row.nodeid == *node);
    let row = found.with_context(|| format!("{path} has no row for {node}"))?;
    Ok(Row {
        line: row
            .replay
            .with_context(|| format!("the row for {node} has no `replay`"))?,
        nodeid: row.nodeid,
        seed: row.seed,
        example: None,
    })
}

/// As both ledgers write it.
#[derive(Deserialize)]
struct Written {
    nodeid: NodeId,
    seed: Option<WrittenSeed>,
    replay: Option<String>,
    example: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenSeed {
    Integer(i64),
    Unsigned(u64),
    Hex(String),
}

fn of_file(file: &Path) -> anyhow::Result<Row> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let row: Written = serde_json::from_str(&text)
        .or_else(|error| {
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            last.map_or(Err(error), serde_json::from_str)
        })
        .with_context(|| format!("{name} holds no row"))?;
    Ok(Row {
        nodeid: row.nodeid,
        seed: row.seed.map(|seed| match seed {
            WrittenSeed::Integer(value) => Seed::Integer(value.into()),
            WrittenSeed::Unsigned(value) => Seed::Integer(value.into()),
            WrittenSeed::Hex(text) => Seed::Hex(text),
        }),
        line: row
            .replay
            .with_context(|| format!("the row of {name} has no `replay`"))?,
        example: row.example,
    })
}
