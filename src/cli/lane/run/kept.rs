//! Reds of merged trees, kept under `<git dir>/frostline/`.
//!
//! Invariant: rows are only ever added. A file that cannot be read whole is an error, because a red that is
//! not seen would be a green.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::lane::trial::Ran;
use crate::model::{NodeId, Sha};

pub const SCHEMA: &str = "frostline.lane-red/1";
const FILE: &str = "lane-reds.jsonl";
/// A larger file is not read; bytes.
const LARGEST: u64 = 256 << 20;

/// What was seen of one merged tree, node and seed, once one of its runs failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Red {
    pub schema: String,
    pub tree: Sha,
    /// The base tip of its runs there.
    pub base: Sha,
    pub nodeid: NodeId,
    pub seed: Option<i64>,
    /// When the red was first seen.
    pub at: String,
    pub ran: Vec<Ran>,
}

/// The file, and what was in it.
pub struct Reds {
    path: PathBuf,
    rows: Vec<Red>,
}

impl Reds {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let name = path.display().to_string();
        let size = match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => meta.len(),
            Ok(_) => bail!("{name} is no file; move it away"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
        };
        ensure!(
            size <= LARGEST,
            "{name} has {size} bytes, more than the {LARGEST} that are read; move it away, and run every open patch again"
        );
        let text = match size {
            0 => String::new(),
            _ => std::fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?,
        };
        let mut rows = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let row: Result<Red, _> = serde_json::from_str(line);
            match row {
                Ok(row) if row.schema == SCHEMA => rows.push(row),
                _ => bail!(
                    "line {} of {name} is no failure that this version kept, so a failure may be missing; remove that line, and run the patch that it was about again",
                    at + 1
                ),
            }
        }
        Ok(Self { path, rows })
    }

    /// The newest row; it holds what the older ones hold.
    pub fn find(&self, tree: &Sha, node: &NodeId, seed: Option<i64>) -> Option<&Red> {
        let mut rows = self.rows.iter().rev();
        rows.find(|row| row.tree == *tree && row.nodeid == *node && row.seed == seed)
    }

    /// Adds a row, on the disk before anything else is done.
    pub fn keep(&mut self, row: Red) -> anyhow::Result<()> {
        let add = || -> std::io::Result<()> {
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut line = serde_json::to_vec(&row)?;
            line.push(b'\n');
            let mut options = std::fs::OpenOptions::new();
            let mut file = options.append(true).create(true).open(&self.path)?;
            file.write_all(&line)?;
            file.sync_data()
        };
        add().with_context(|| format!("a failure cannot be kept in {}", self.path.display()))?;
        self.rows.push(row);
        Ok(())
    }
}
