//! One run is one process tree, begun and ended whole.
//!
//! Each run has a supervisor of its own: this binary again, as `lane-supervise`, in a session of its
//! own. It is told what to run by one line of JSON on its standard input, and says on its standard output
//! how that ended. The input stays open for as long as the run is wanted: when it closes, be it that the
//! run was cancelled or that this process died, the supervisor kills everything and ends.
//!
//! Invariants: nothing that a run started is alive when its result is read; memory stays the same
//! whatever a run prints; no variable of this process's environment reaches a run but those it is given.

mod descendants;
mod output;
mod supervise;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub use supervise::supervise;

/// A report of a supervisor is no larger; bytes.
const LARGEST_REPORT: u64 = 4 * 1024 * 1024;

/// What to run. Paths and words are UTF-8: they travel as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub argv: Vec<String>,
    /// The whole environment of the run.
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub limits: Limits,
    /// The process that is started only holds the test's own: it is not asked to end, it is killed.
    pub wrapped: bool,
}

/// Limits of one run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Limits {
    /// Wall time after which it is asked to end.
    pub timeout_ms: u64,
    /// Time between the question and the kill.
    pub grace_ms: u64,
    pub cpu_seconds: u64,
    pub file_bytes: u64,
    pub open_files: u64,
    /// Address space, where the runtime bears a limit.
    pub memory_bytes: Option<u64>,
    /// Processes of the user; the system does not hold root to it.
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            grace_ms: 2_000,
            cpu_seconds: 120,
            file_bytes: 256 * 1024 * 1024,
            open_files: 1024,
            memory_bytes: Some(4 * 1024 * 1024 * 1024),
            processes: 4096,
        }
    }
}

impl Limits {
    /// Of a build: compilers and linkers take long, write large files and reserve much address space.
    pub fn of_build() -> Self {
        Self {
            timeout_ms: 60 * 60 * 1000,
            cpu_seconds: 60 * 60,
            file_bytes: 16 * 1024 * 1024 * 1024,
            open_files: 4096,
            memory_bytes: None,
            ..Self::default()
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Exit(i32),
    Signal(i32),
    TimedOut,
    /// Nobody wants it any more.
    Cancelled,
    /// It never began: see [`Ended::output`].
    NotStarted,
    /// It ended, and what it had started could not all be ended.
    LeftAlive,
}

/// How a run ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub how: How,
    /// Beginning and end of what it wrote to standard output and standard error.
    pub output: String,
    /// Bytes that it wrote.
    pub written: u64,
    pub wall_ms: u64,
}

/// Why nothing can be said of a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot start this program again to supervise a run: {0}")]
    Start(std::io::Error),
    #[error("the supervisor of a run ended without a report ({0}); was it killed by the test?")]
    Lost(String),
}

/// Ends every run under way, once. Clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Mutex<UnderWay>>);

#[derive(Debug, Default)]
struct UnderWay {
    cancelled: bool,
    /// Orphans come to this process, and its only children are supervisors.
    adopts: bool,
    /// Supervisors by process id, with what keeps each of them running.
    lifelines: BTreeMap<u32, ChildStdin>,
}

impl Cancel {
    /// For a process that has no other children than its runs: orphans of a run whose supervisor was
    /// killed come to it, and are killed.
    ///
    /// # Errors
    /// When the system has no such thing.
    pub fn adopting() -> std::io::Result<Self> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let switch = Self::default();
        switch.lock().adopts = true;
        Ok(switch)
    }

    pub fn cancel(&self) {
        let mut all = self.lock();
        all.cancelled = true;
        all.lifelines.clear();
    }

    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a supervisor, known from its first moment.
    fn start(&self, program: &Path, order: &Order) -> std::io::Result<Option<Child>> {
        let mut all = self.lock();
        if all.cancelled {
            return Ok(None);
        }
        let mut child = Command::new(program)
            .arg("lane-supervise")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut lifeline) = child.stdin.take() {
            let mut line = serde_json::to_vec(order)?;
            line.push(b'\n');
            // A supervisor that is gone already is told by its missing report.
            let _ = lifeline.write_all(&line);
            all.lifelines.insert(child.id(), lifeline);
        }
        Ok(Some(child))
    }

    /// Forgets a supervisor that ended; one that did not end by itself may have left orphans, which came
    /// to this process.
    fn ended(&self, id: u32, lost: bool) {
        let mut all = self.lock();
        all.lifelines.remove(&id);
        if lost && all.adopts {
            let known: Vec<u32> = all.lifelines.keys().copied().collect();
            descendants::end_orphans(&known);
        }
    }
}

/// Runs one order to its end; `program` is this binary.
///
/// # Errors
/// When the supervisor could not be started, or did not live to report.
pub fn run(program: &Path, order: &Order, cancel: &Cancel) -> Result<Ended, RunError> {
    let Some(mut child) = cancel.start(program, order).map_err(RunError::Start)? else {
        return Ok(Ended {
            how: How::Cancelled,
            output: String::new(),
            written: 0,
            wall_ms: 0,
        });
    };
    let id = child.id();
    let mut report = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(LARGEST_REPORT).read_to_end(&mut report);
    }
    let status = child.wait();
    let ended = serde_json::from_slice::<Ended>(&report);
    cancel.ended(id, ended.is_err());
    ended.map_err(|_| {
        RunError::Lost(status.map_or_else(|error| error.to_string(), |status| status.to_string()))
    })
}
