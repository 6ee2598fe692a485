//! What every command of the lane stands on: a scratch tree, its frameworks, an isolation, a way to stop.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};

use super::super::progress::Progress;
use super::super::{runtime, signals};
use super::say;
use crate::config::repo::{LaneSettings, RepoConfig};
use crate::git::Files;
use crate::lane::bench::{Bench, remove};
use crate::lane::frameworks::javascript::modules;
use crate::lane::frameworks::{Framework, Frameworks, Generator, Host};
use crate::lane::process::{Cancel, Limits};
use crate::lane::sandbox::{Level, Places, Wanted, choose};
use crate::model::{Layer, NodeId, Sha};

/// Runs at the same time, where nothing else is said.
const WORKERS: u64 = 2;

#[derive(Debug, clap::Args)]
pub struct GroundArgs {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,

    /// The interpreter that has the project's packages [default: the active virtual environment's, that of
    /// .venv or venv in the work tree, or python3]
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,

    /// bubblewrap, user-namespace, landlock or plain: the strongest that works here, at or below this one;
    /// or `require=LEVEL`: this one or a stronger one, or nothing is run
    #[arg(long, value_name = "LEVEL", default_value = "bubblewrap", value_parser = wanted)]
    isolation: Wanted,

    /// Seconds that one run may take [default: `lane.timeout`, or 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
}

fn wanted(text: &str) -> Result<Wanted, String> {
    let level = |name: &str| {
        Level::ALL
            .into_iter()
            .find(|level| level.name() == name)
            .ok_or_else(|| {
                let names = Level::ALL.map(Level::name).join(", ");
                format!("expected one of {names}, or require= and one of them")
            })
    };
    match text.strip_prefix("require=") {
        Some(name) => Ok(Wanted::Required(level(name)?)),
        None => Ok(Wanted::From(level(text)?)),
    }
}

/// A scratch folder that goes, whatever a test did to the rights of what it wrote.
pub struct Scratch(Option<tempfile::TempDir>, PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("frostline-lane-")
            .tempdir()
            .context("no folder for temporary files can be made")?;
        let path = folder.path().canonicalize()?;
        Ok(Self(Some(folder), path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.1);
        drop(self.0.take());
    }
}

/// A tree that is ready to be run.
pub struct Ground {
    pub files: Files,
    pub commit: Sha,
    pub settings: LaneSettings,
    pub config: RepoConfig,
    frameworks: Frameworks,
    /// The user's own work tree, where there is one.
    checkout: Option<PathBuf>,
    places: Places,
    pub level: Level,
    /// Why no stronger isolation is used.
    pub why_not: Vec<String>,
    limits: Limits,
    pub cancel: Cancel,
    scratch: Scratch,
    _signals: tokio::runtime::Runtime,
}

impl Ground {
    /// Exports the tree of `files` and finds what runs it.
    pub fn prepare(args: &GroundArgs, (files, commit): (Files, Sha)) -> anyhow::Result<Self> {
        let config = RepoConfig::of(&files.read(Layer::Config.default_path())?);
        Self::by(args, (files, commit), config)
    }

    /// [`Self::prepare`] by the configuration of another commit: a patch does not choose how it is run.
    pub fn by(
        args: &GroundArgs,
        (files, commit): (Files, Sha),
        config: RepoConfig,
    ) -> anyhow::Result<Self> {
        let cancel = Cancel::adopting().context("orphans of a test could not be ended here")?;
        let signals = cancelled_by_signals(&cancel)?;
        let progress = Progress::start("preparing the tree");
        let scratch = Scratch::new()?;
        let make = |name: &str| -> anyhow::Result<PathBuf> {
            let path = scratch.1.join(name);
            std::fs::create_dir(&path)?;
            Ok(path)
        };
        let (tree, run, ask) = (make("tree")?, make("runs")?, make("ask")?);
        let program = std::env::current_exe().context("this program cannot be found")?;
        let search = std::env::var("PATH").unwrap_or_default();
        let checkout = files
            .work_tree()
            .map(|path| path.canonicalize())
            .transpose()?;
        let needed = export(&files, &tree, checkout.as_deref())?;
        let frameworks = Frameworks::new(Host {
            program: program.clone(),
            search: search.clone(),
            tree: tree.clone(),
            commands: config.commands.clone(),
            ask,
            python: args.python(checkout.as_deref())?,
            checkout: checkout.clone(),
            cancel: cancel.clone(),
        });
        let places = Places {
            program,
            search,
            built: scratch.1.join("built"),
            tree,
            run,
            hidden: hidden_home(),
            needed,
        };
        let (level, why_not) = choose(args.isolation, &places, &cancel)?;
        drop(progress);
        let timeout = args.timeout.or(config.lane.timeout);
        let mut limits = Limits::default();
        if let Some(seconds) = timeout {
            limits.timeout_ms = seconds.saturating_mul(1000);
            limits.cpu_seconds = limits.cpu_seconds.max(seconds.saturating_mul(2));
        }
        Ok(Self {
            settings: config.lane,
            files,
            commit,
            config,
            frameworks,
            checkout,
            places,
            level,
            why_not,
            limits,
            cancel,
            scratch,
            _signals: signals,
        })
    }

    pub fn bench(&self) -> anyhow::Result<Bench<'_>> {
        self.bench_of(self.places.clone())
    }

    fn bench_of(&self, places: Places) -> anyhow::Result<Bench<'_>> {
        let places = (places, self.level);
        let bench = Bench::new(&self.frameworks, places, self.limits, self.cancel.clone());
        let mut bench = bench.context("the scratch tree cannot be read")?;
        bench.told = say::say;
        Ok(bench)
    }

    /// Another tree to run on, in a folder of its own.
    pub fn beside(&self, files: &Files, name: &str) -> anyhow::Result<Bench<'_>> {
        let mut places = Places {
            tree: self.scratch.1.join(name),
            built: self.scratch.1.join(format!("{name}-built")),
            ..self.places.clone()
        };
        std::fs::create_dir(&places.tree)?;
        places.needed = export(files, &places.tree, self.checkout.as_deref())?;
        self.bench_of(places)
    }

    /// The test's file is there, and it is one that can be run.
    pub fn need(&self, node: &NodeId) -> anyhow::Result<()> {
        ensure!(
            node.as_str().contains("::"),
            "{node} names no test; a node id is FILE::NAME"
        );
        let path = node.path();
        self.frameworks.know(node).map_err(|why| anyhow!(why))?;
        let there = std::fs::symlink_metadata(self.places.tree.join(path));
        if !there.is_ok_and(|meta| meta.is_file()) {
            bail!(
                "{} has no file {path}; correct the node id, or name another commit",
                self.files.name()
            );
        }
        Ok(())
    }

    /// The framework that runs a test.
    pub fn framework(&self, node: &NodeId) -> anyhow::Result<&dyn Framework> {
        self.frameworks.of(node).map_err(|why| anyhow!(why))
    }

    /// The test is exactly one; what generates its values.
    pub fn generator(&self, bench: &Bench<'_>, node: &NodeId) -> anyhow::Result<Generator> {
        let found = bench.generator(node);
        self.not_interrupted()?;
        found.map_err(|why| anyhow!("{node} cannot be run: {why}"))
    }

    pub fn not_interrupted(&self) -> anyhow::Result<()> {
        ensure!(
            !self.cancel.is_cancelled(),
            "interrupted; nothing is left behind, and nothing is written"
        );
        Ok(())
    }

    /// `--workers`, `lane.workers`, or the default.
    pub fn workers(&self, asked: Option<u64>) -> usize {
        let workers = asked.or(self.settings.workers).unwrap_or(WORKERS);
        usize::try_from(workers).unwrap_or(usize::MAX).clamp(1, 64)
    }
}

impl GroundArgs {
    /// Absolute where it is a path; its links are kept, because they lead to the packages.
    fn python(&self, checkout: Option<&Path>) -> anyhow::Result<PathBuf> {
        if let Some(named) = &self.python {
            return std::path::absolute(named).context("--python");
        }
        let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
        let in_checkout = [".venv", "venv"].map(|name| checkout.map(|root| root.join(name)));
        let found = std::iter::once(active)
            .chain(in_checkout)
            .flatten()
            .map(|folder| folder.join("bin/python"))
            .find(|python| python.is_absolute() && python.exists());
        Ok(found.unwrap_or_else(|| PathBuf::from("python3")))
    }
}

/// Writes a tree, with links to the packages of the checkout; the folders that they lie in.
fn export(files: &Files, tree: &Path, checkout: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
    files.export(tree)?;
    let needed = checkout.map(|checkout| modules::link(tree, checkout));
    let needed = needed
        .transpose()
        .context("the packages of the checkout cannot be linked")?;
    Ok(needed.unwrap_or_default())
}

/// The user's home, where keys and tokens lie, unless it is everything.
fn hidden_home() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?)
        .canonicalize()
        .ok()?;
    (home.components().count() > 1).then_some(home)
}

/// Ends what runs when this process is asked to end.
fn cancelled_by_signals(cancel: &Cancel) -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = runtime()?;
    let entered = runtime.enter();
    let mut signals = signals::Signals::new().context("signals cannot be heard")?;
    let cancel = cancel.clone();
    runtime.spawn(async move {
        signals.next().await;
        cancel.cancel();
    });
    drop(entered);
    Ok(runtime)
}
