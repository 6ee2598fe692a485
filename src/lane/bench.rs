//! One tree, ready to run tests by the frameworks that they need: a fresh folder, process and report for
//! each run.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::diagnose;
use super::environment;
use super::frameworks::{
    Framework, Frameworks, Generator, Purpose, Report, Site, Start, Stream, Task,
};
use super::model::Outcome;
use super::process::{self, Cancel, Ended, Limits, Order};
use super::sandbox::{Level, Places, wrap};
use crate::digest::Pieces;
use crate::model::{FileDigest, NodeId};

/// What runs are made on.
pub struct Bench<'a> {
    frameworks: &'a Frameworks,
    /// Where a run may read; its own folder is made below [`Places::run`].
    pub places: Places,
    pub level: Level,
    pub limits: Limits,
    pub cancel: Cancel,
    /// Hears of what takes long: a line for people.
    pub told: fn(&str),
    /// What the tree looked like before the first run, where nothing keeps a run from writing to it.
    untouched: Option<FileDigest>,
    builds: Mutex<Builds>,
}

/// What was built of the tree.
#[derive(Default)]
struct Builds {
    /// By framework and unit: that it is there, or why it is not.
    done: BTreeMap<(String, String), Result<(), String>>,
    /// What all of it looked like after the last build, where nothing keeps a run from writing to it.
    untouched: Option<FileDigest>,
}

/// What a node id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One test, and what generates its values.
    Test(Generator),
    /// A function that was named without a parameter, and has these.
    Parameters(Vec<NodeId>),
}

/// What one run came to.
#[derive(Debug, Clone)]
pub struct Run {
    pub outcome: Outcome,
    pub seed: Option<i64>,
    pub hash_seed: u32,
    pub wall_ms: u64,
    pub generator: Option<Generator>,
    /// What was found where one test was asked for: all of it, or nothing.
    pub ids: Vec<String>,
    pub stream: Option<Stream>,
    pub neutralised: Vec<String>,
    /// Nobody wanted it any more: it counts for nothing.
    pub cancelled: bool,
}

impl<'a> Bench<'a> {
    /// # Errors
    /// When the tree cannot be read, at the level that has to compare it.
    pub fn new(
        frameworks: &'a Frameworks,
        (places, level): (Places, Level),
        limits: Limits,
        cancel: Cancel,
    ) -> std::io::Result<Self> {
        let untouched = match level.keeps_the_tree() {
            true => None,
            false => Some(fingerprint(&places.tree)?),
        };
        Ok(Self {
            frameworks,
            places,
            level,
            limits,
            cancel,
            told: |_| {},
            untouched,
            builds: Mutex::default(),
        })
    }

    fn site(&self) -> Site<'_> {
        Site {
            tree: &self.places.tree,
            built: &self.places.built,
        }
    }

    /// The framework that runs a test.
    ///
    /// # Errors
    /// When none does, or it is not to be had here: a sentence.
    pub fn framework(&self, node: &NodeId) -> Result<&'a dyn Framework, String> {
        self.frameworks.of(node)
    }

    /// The line by which people run a task again.
    ///
    /// # Errors
    /// As [`Self::framework`], and when there is none.
    pub fn replay_line(&self, task: &Task<'_>) -> Result<String, String> {
        self.framework(task.node)?.replay_line(task, self.site())
    }

    /// Names and versions of what decides which values a seed gives this test.
    ///
    /// # Errors
    /// As [`Self::framework`].
    pub fn versions(&self, node: &NodeId) -> Result<BTreeMap<String, String>, String> {
        Ok(self.framework(node)?.versions(node, self.site()))
    }

    /// Looks for a test, and does not run it.
    ///
    /// # Errors
    /// Why there is no such test: a clause.
    pub fn find(&self, node: &NodeId) -> Result<Found, String> {
        let run = self.run(&Task {
            node,
            seed: None,
            hash_seed: 0,
            generator: Generator::NoGenerator,
            purpose: Purpose::Collect,
            stored: None,
        });
        if let Some(generator) = run.generator {
            return Ok(Found::Test(generator));
        }
        let ids: Option<Vec<NodeId>> = run.ids.iter().map(|id| id.parse().ok()).collect();
        let ids = ids.unwrap_or_default();
        let is_parameter = |id: &NodeId| id.param().is_some() && id.function() == node.as_str();
        match run.outcome {
            _ if !ids.is_empty() && ids.iter().all(is_parameter) => Ok(Found::Parameters(ids)),
            Outcome::Errored { why } => Err(why),
            _ => Err("its report does not tell its generator".to_owned()),
        }
    }

    /// The generator of a test.
    ///
    /// # Errors
    /// Why there is not exactly this test: a clause.
    pub fn generator(&self, node: &NodeId) -> Result<Generator, String> {
        match self.find(node)? {
            Found::Test(generator) => Ok(generator),
            Found::Parameters(ids) => Err(match ids.first() {
                Some(first) => format!("it has {} parameters; name one, as {first}", ids.len()),
                None => "it has no parameter".to_owned(),
            }),
        }
    }

    /// Runs one task in a process of its own; whatever goes wrong is an errored run.
    pub fn run(&self, task: &Task<'_>) -> Run {
        let run = self.framework(task.node).and_then(|framework| {
            if task.stored.is_none() {
                self.need_built(framework, task.node)?;
            }
            let run = self.in_own_folder(task, framework);
            run.map_err(|error| format!("it could not be run: {error}"))
        });
        match run {
            Ok(run) => run,
            Err(why) => Run {
                outcome: Outcome::errored(why),
                seed: task.seed,
                hash_seed: task.hash_seed,
                wall_ms: 0,
                generator: None,
                ids: Vec::new(),
                stream: None,
                neutralised: Vec::new(),
                cancelled: self.cancel.is_cancelled(),
            },
        }
    }

    fn builds(&self) -> MutexGuard<'_, Builds> {
        self.builds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds what a test needs, unless that was done before.
    fn need_built(&self, framework: &dyn Framework, node: &NodeId) -> Result<(), String> {
        let Some(unit) = framework.unit(node, self.site())? else {
            return Ok(());
        };
        // Others wait meanwhile: they need the same, or the processors.
        let mut builds = self.builds();
        let key = (framework.name().to_owned(), unit);
        if let Some(done) = builds.done.get(&key) {
            return done.clone();
        }
        (self.told)(&format!(
            "building the tests below {}/, once for this tree …",
            key.1
        ));
        let built = self.build(framework, &key.1);
        if self.cancel.is_cancelled() {
            return Err("it was cancelled".to_owned());
        }
        if self.untouched.is_some() {
            let looks = fingerprint(&self.places.built);
            builds.untouched = Some(looks.map_err(|error| error.to_string())?);
        }
        builds.done.insert(key, built.clone());
        built
    }

    fn build(&self, framework: &dyn Framework, unit: &str) -> Result<(), String> {
        let folder = &self.places.built;
        let ended = private_folders(folder)
            .map_err(|error| error.to_string())
            .and_then(|()| framework.build(unit, self.site()))
            .and_then(|start| self.obey(framework, start, folder, Limits::of_build()));
        let ended = ended.map_err(|why| format!("it could not be built: {why}"))?;
        framework.built(unit, &ended, self.site())
    }

    /// Starts a process that may write to one folder, and waits for its end.
    fn obey(
        &self,
        framework: &dyn Framework,
        start: Start,
        folder: &Path,
        limits: Limits,
    ) -> Result<Ended, String> {
        let mut places = Places {
            run: folder.to_owned(),
            ..self.places.clone()
        };
        places.needed.extend_from_slice(framework.needed());
        let (argv, wrapped) = wrap(self.level, &places, &start.argv);
        let mut env = environment::of_run(&self.places.search, folder);
        env.extend(start.env);
        let order = Order {
            argv,
            env,
            cwd: start.cwd,
            limits: Limits {
                memory_bytes: limits.memory_bytes.filter(|_| start.bears_memory_limit),
                ..limits
            },
            wrapped,
        };
        process::run(&self.places.program, &order, &self.cancel).map_err(|error| error.to_string())
    }

    fn in_own_folder(&self, task: &Task<'_>, framework: &dyn Framework) -> std::io::Result<Run> {
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(&self.places.run)?;
        let run = self.in_folder(task, framework, folder.path());
        remove(folder.path());
        run
    }

    fn in_folder(
        &self,
        task: &Task<'_>,
        framework: &dyn Framework,
        folder: &Path,
    ) -> std::io::Result<Run> {
        private_folders(folder)?;
        framework.prepare(folder)?;
        let start = framework.start(task, self.site(), folder);
        let mut start = start.map_err(std::io::Error::other)?;
        let limits = match start.compiles {
            true => Limits::of_build(),
            false => self.limits,
        };
        if let Purpose::Pinned(intervention) = task.purpose {
            let words = diagnose::words(intervention, &self.places.search);
            let words = words.map_err(std::io::Error::other)?;
            start.argv.splice(0..0, words);
        }
        let ended = self.obey(framework, start, folder, limits);
        let ended = ended.map_err(std::io::Error::other)?;
        let report = framework.read(task, &ended, self.site(), folder);
        self.told(task, &ended, report)
    }

    fn told(&self, task: &Task<'_>, ended: &Ended, report: Report) -> std::io::Result<Run> {
        let mut outcome = report.outcome;
        if let Outcome::Errored { why } = &mut outcome {
            let tree = format!("{}/", self.places.tree.display());
            *why = why.replace(&tree, "");
        }
        if let Some(before) = &self.untouched
            && fingerprint(&self.places.tree)? != *before
        {
            outcome = Outcome::errored("a run has written into the tree");
        }
        if let Some(before) = &self.builds().untouched
            && fingerprint(&self.places.built)? != *before
        {
            outcome = Outcome::errored("a run has written into what was built of the tree");
        }
        Ok(Run {
            outcome,
            seed: task.seed,
            hash_seed: task.hash_seed,
            wall_ms: ended.wall_ms,
            generator: report.generator,
            ids: report.ids,
            stream: report.stream,
            neutralised: report.neutralised,
            cancelled: ended.how == process::How::Cancelled,
        })
    }
}

/// The home and the folder for temporary files of a process, below the folder that it may write to.
fn private_folders(folder: &Path) -> std::io::Result<()> {
    for made in ["home", "tmp"] {
        std::fs::create_dir_all(folder.join(made))?;
    }
    Ok(())
}

/// Removes a folder, also where a test took away its owner's rights.
pub fn remove(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_ok() {
        return;
    }
    open_up(folder);
    // What is still there then is for the system's own cleaning of temporary files.
    let _ = std::fs::remove_dir_all(folder);
}

fn open_up(folder: &Path) {
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Names, sizes, times and modes of every file below a folder.
fn fingerprint(folder: &Path) -> std::io::Result<FileDigest> {
    let mut all = Pieces::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries = std::fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let meta = entry.metadata()?;
            all.add(entry.path().as_os_str().as_encoded_bytes());
            let (time, nanos) = (meta.mtime(), meta.mtime_nsec());
            let (mode, node) = (i64::from(meta.mode()), meta.ino().cast_signed());
            for number in [meta.size().cast_signed(), time, nanos, mode, node] {
                all.add(&number.to_le_bytes());
            }
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(all.finish())
}
