//! Test frameworks: how one test is run with one seed, and what its report says. One file each.
//!
//! A run belongs to the framework of its test, which the test's file tells: [`Frameworks::of`].

pub mod configured;
mod found;
pub mod javascript;
pub mod pytest;
pub mod rust;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cause::Intervention;
use super::environment::Environment;
use super::model::Outcome;
use super::process::{Ended, How};
use crate::contract::replay::Replay;
use crate::model::NodeId;

pub use found::{Frameworks, Host};
use text::first_words;

/// One run of one test.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    pub node: &'a NodeId,
    pub seed: Option<i64>,
    /// What the order of sets and dictionaries hangs on, where the runtime takes it from outside.
    pub hash_seed: u32,
    /// What chooses the test's values, as [`Purpose::Collect`] told.
    pub generator: Generator,
    pub purpose: Purpose,
    /// A stored replay line, instead of the words that the framework would choose.
    pub stored: Option<&'a Replay>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its outcome counts.
    Vote,
    /// Find the test and its generator. Where no runner can do that without running it, that run is no vote.
    Collect,
    /// Tell the stream of generated values; no vote.
    Stream,
    /// Run with one condition held still, to find what makes it flake; no vote.
    Pinned(Intervention),
}

impl Purpose {
    /// The test is run as it is, and judged.
    pub fn is_a_run(self) -> bool {
        matches!(self, Self::Vote | Self::Pinned(_))
    }
}

/// How a task is started.
#[derive(Debug, Clone)]
pub struct Start {
    pub argv: Vec<String>,
    /// Beside [`super::environment::of_run`].
    pub env: Environment,
    pub cwd: PathBuf,
    /// It compiles before it runs: the limits of a build hold.
    pub compiles: bool,
    /// The runtime bears a limit of its address space.
    pub bears_memory_limit: bool,
}

/// What generates a test's values, and whether it takes a seed from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    Hypothesis,
    FastCheck,
    /// A runner of the configuration that is given a seed.
    Configured,
    /// No generator of values; `random` and what hangs on it is seeded from outside.
    Randomly,
    /// Hypothesis, told to ignore seeds.
    Derandomize,
    /// The seed stands in the test's source.
    SeedInSource,
    Proptest,
    /// proptest, with cases that were saved when they failed: these run first, whatever the seed is.
    ProptestSaved,
    /// quickcheck of Rust, which takes no seed from outside.
    Quickcheck,
    /// Nothing is generated: a seed does not apply.
    NoGenerator,
}

impl Generator {
    pub fn takes_seed(self) -> bool {
        self.is_decided_by_seed() || self == Self::ProptestSaved
    }

    /// A seed alone decides what is generated.
    pub fn is_decided_by_seed(self) -> bool {
        matches!(
            self,
            Self::Hypothesis | Self::FastCheck | Self::Configured | Self::Randomly | Self::Proptest
        )
    }

    /// For a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Hypothesis => "Hypothesis, which takes a seed",
            Self::FastCheck => "fast-check, which takes a seed",
            Self::Configured => "that of a configured runner, which is given a seed",
            Self::Randomly => "pytest-randomly, which seeds `random` and takes a seed",
            Self::Derandomize => "Hypothesis with derandomize=True, which ignores seeds",
            Self::SeedInSource => "one with a seed in the source, which ignores others",
            Self::Proptest => "proptest, which takes a seed",
            Self::ProptestSaved => "proptest with saved cases, which run before those of a seed",
            Self::Quickcheck => "quickcheck, which takes no seed",
            Self::NoGenerator => "none: a seed does not apply",
        }
    }
}

/// A digest of the values that were generated, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    pub sha256: String,
    pub values: u64,
}

/// What a run's report says.
#[derive(Debug, Clone)]
pub struct Report {
    pub outcome: Outcome,
    pub generator: Option<Generator>,
    /// Every test that was found; empty where it does not tell all of them.
    pub ids: Vec<String>,
    pub stream: Option<Stream>,
    /// Reasons of skips that were taken off, because frozen tests run here.
    pub neutralised: Vec<String>,
}

/// A report that tells an outcome alone.
fn nothing(outcome: Outcome) -> Report {
    Report {
        outcome,
        generator: None,
        ids: Vec::new(),
        stream: None,
        neutralised: Vec::new(),
    }
}

/// What a framework works on.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    pub tree: &'a Path,
    /// A folder that lives as long as the tree, for what is built of it; a run can only read it.
    pub built: &'a Path,
}

/// A framework that was found for a repository.
pub trait Framework: Sync {
    fn name(&self) -> &str;

    /// Names and versions of what decides which values a seed gives this test.
    fn versions(&self, node: &NodeId, site: Site<'_>) -> BTreeMap<String, String>;

    /// Conditions that it can hold still itself; others hang on the machine.
    fn pins(&self) -> &'static [Intervention] {
        &[]
    }

    /// Runners whose stored replay lines it runs.
    fn runners(&self) -> Vec<&str>;

    /// Folders that it reads from, outside the tree.
    fn needed(&self) -> &[PathBuf];

    /// Puts into the run's own folder what the framework has to find there.
    ///
    /// # Errors
    /// When it cannot be written.
    fn prepare(&self, folder: &Path) -> std::io::Result<()>;

    /// How to start a task, with `folder` as the only place to write.
    ///
    /// # Errors
    /// Why it cannot be started: a clause.
    fn start(&self, task: &Task<'_>, site: Site<'_>, folder: &Path) -> Result<Start, String>;

    /// What the run said, once it has ended.
    fn read(&self, task: &Task<'_>, ended: &Ended, site: Site<'_>, folder: &Path) -> Report;

    /// The line by which people run the task again (protocol 3.5), without paths of this machine.
    ///
    /// # Errors
    /// Why there is none: a clause.
    fn replay_line(&self, task: &Task<'_>, site: Site<'_>) -> Result<String, String>;

    /// What has to be built, once for a tree, before this test can run; `None` where nothing has.
    ///
    /// # Errors
    /// Why nothing can be built for it: a clause.
    fn unit(&self, _: &NodeId, _: Site<'_>) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// How to build a unit, with [`Site::built`] as the only place to write.
    ///
    /// # Errors
    /// Why it cannot be built: a clause.
    fn build(&self, unit: &str, _: Site<'_>) -> Result<Start, String> {
        Err(format!("{unit} is nothing that is built"))
    }

    /// Takes in what the build of a unit came to.
    ///
    /// # Errors
    /// Why no test of it can be run: a clause.
    fn built(&self, _: &str, _: &Ended, _: Site<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// The exit status of a process that ended by itself.
///
/// # Errors
/// How it ended instead: a clause.
fn exit_status(ended: &Ended) -> Result<i32, String> {
    match ended.how {
        // A wrapper tells a signal so.
        How::Exit(status @ 129..) => Err(format!("it was ended by signal {}", status - 128)),
        How::Exit(status) => Ok(status),
        How::Signal(signal) => Err(format!("it was ended by signal {signal}")),
        How::TimedOut => Err(format!("it took longer than {} ms", ended.wall_ms)),
        How::Cancelled => Err("it was cancelled".to_owned()),
        How::NotStarted => Err(first_words(&ended.output)),
        How::LeftAlive => Err("a process that it started could not be ended".to_owned()),
    }
}
