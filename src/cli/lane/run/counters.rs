//! How frozen tests fare (protocol 3.8), kept under `<git dir>/frostline/`. No verdict hangs on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};

use super::super::super::place;
use super::plan::Planned;
use crate::lane::model::Colour;
use crate::lane::trial::Role;

const SCHEMA: &str = "frostline.lane-frozen/1";
const FILE: &str = "lane-frozen.json";
/// A larger file is not read; bytes.
const LARGEST: u64 = 64 << 20;

/// The runs of one frozen test that came to something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub runs: u64,
    pub passes: u64,
    /// Up to now, without a pass between them.
    pub failures_in_a_row: u64,
    /// Of the first run that was counted, and of the last.
    pub since: String,
    pub last: String,
}

impl Counter {
    fn count(&mut self, passed: bool, at: &str) {
        if self.runs == 0 {
            at.clone_into(&mut self.since);
        }
        at.clone_into(&mut self.last);
        self.runs += 1;
        self.passes += u64::from(passed);
        self.failures_in_a_row = match passed {
            true => 0,
            false => self.failures_in_a_row + 1,
        };
    }

    /// For a line of the table.
    pub fn sentence(&self) -> String {
        format!(
            "{} of {} runs since {} passed; {} failures in a row",
            self.passes, self.runs, self.since, self.failures_in_a_row
        )
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    schema: String,
    /// By node id.
    tests: BTreeMap<String, Counter>,
}

/// Counts the runs of all frozen tests, and gives each its counter.
pub fn count(folder: &Path, planned: &mut [Planned], at: &str) -> anyhow::Result<()> {
    if planned.iter().all(|one| one.trial.votes) {
        return Ok(());
    }
    let path = folder.join(FILE);
    let mut file = read(&path)?;
    for one in planned.iter_mut().filter(|one| !one.trial.votes) {
        let counter = file.tests.entry(one.trial.node.to_string()).or_default();
        let mut first = one.trial.ran.iter().filter(|ran| ran.role == Role::First);
        match first.next().map(|ran| ran.outcome.colour()) {
            Some(Colour::Green) => counter.count(true, at),
            Some(Colour::Red) => counter.count(false, at),
            Some(Colour::Errored) | None => {}
        }
        one.counter = (counter.runs > 0).then(|| counter.clone());
    }
    file.tests.retain(|_, counter| counter.runs > 0);
    let bytes = serde_json::to_vec_pretty(&file)?;
    place::replace(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn read(path: &PathBuf) -> anyhow::Result<File> {
    let name = path.display();
    let size = match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => meta.len(),
        Ok(_) => bail!("{name} is no file; move it away"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(File {
                schema: SCHEMA.to_owned(),
                tests: BTreeMap::new(),
            });
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
    };
    ensure!(
        size <= LARGEST,
        "{name} has {size} bytes, more than the {LARGEST} that are read; move it away, and counting begins anew"
    );
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    match serde_json::from_slice::<File>(&bytes) {
        Ok(file) if file.schema == SCHEMA => Ok(file),
        _ => bail!(
            "{name} holds no counters that this version kept; move it away, and counting begins anew"
        ),
    }
}
