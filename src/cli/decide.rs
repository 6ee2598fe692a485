//! `frostline decide`: the decision again, from a stored Snapshot, without a repository.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use serde::Deserialize;

use super::Outcome;
use super::verdict::Shown;
use crate::gate;
use crate::model::{SNAPSHOT_SCHEMA, Snapshot};

/// Decide again from a stored snapshot
///
/// Reads what `frostline check --snapshot-out FILE` wrote and decides from that alone: no repository, no
/// network, no clock. The same snapshot always gives the same decision.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  pass, allow_recheck or not_applicable; any verdict under `mode: observe`
  1  refuse
  3  human_review
  2  the snapshot could not be read

Examples:
  frostline check --snapshot-out snapshot.json
  frostline decide snapshot.json --format json
  frostline decide - < snapshot.json")]
pub struct Args {
    /// The stored snapshot; `-` reads standard input
    #[arg(value_name = "SNAPSHOT.json")]
    snapshot: PathBuf,

    #[command(flatten)]
    shown: Shown,
}

pub fn run(args: Args) -> Outcome {
    let snapshot = read(&args.snapshot)?;
    args.shown.show(gate::decide(&snapshot))
}

/// The part of a snapshot that says what it is; the rest is read only when this fits.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

fn read(path: &Path) -> anyhow::Result<Snapshot> {
    let name = path.display();
    let bytes = bytes_of(path).map_err(|error| {
        anyhow!("{name} could not be read: {error}; give a file that `{WRITE}` wrote")
    })?;
    let head: Head = serde_json::from_slice(&bytes).map_err(|error| {
        anyhow!("{name} is not a whole snapshot: {error}; write it again with `{WRITE}`")
    })?;
    match head.schema.as_deref() {
        Some(SNAPSHOT_SCHEMA) => {}
        Some(other) => bail!(
            "{name} has the schema {other:?}, and this version reads {SNAPSHOT_SCHEMA:?}; write it again \
             with `{WRITE}`, or use the version that wrote it"
        ),
        None => {
            bail!("{name} is no snapshot: it has no \"schema\"; give a file that `{WRITE}` wrote")
        }
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        anyhow!("{name} is not a valid snapshot: {error}; write it again with `{WRITE}`")
    })
}

const WRITE: &str = "frostline check --snapshot-out FILE";

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    if path.as_os_str() != "-" {
        return std::fs::read(path);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}
