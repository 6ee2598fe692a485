//! Rust: proptest, quickcheck and plain tests, by the test binaries that cargo builds.
//!
//! Each package is built once for a tree, and a run is the built binary itself with one test. A runner
//! in between, nextest too, takes the exit status alone for a pass; the binary's own text says that exactly
//! this test ran and how it ended, and both have to agree (lane-facts 0.4). It also saves most of the time.

mod build;
mod home;
mod report;
mod saved;
mod unit;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::text::{plain, quoted};
use super::{Framework, Generator, Host, Purpose, Report, Site, Start, Task, nothing};
use crate::lane::environment::Environment;
use crate::lane::model::Outcome;
use crate::lane::process::Ended;
use crate::model::{Generator as Library, NodeId};
use crate::source::{self, Found, Language};
use home::Home;
use unit::{Test, Unit};

/// A source file of a test is no larger; bytes.
const LARGEST_SOURCE: u64 = source::LARGEST as u64;
/// Values that are looked at to see whether a seed is honoured.
const STREAM_CASES: &str = "16";

/// Why cargo cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("there is no cargo on PATH; install the Rust toolchain that the project builds with")]
pub struct NoCargo;

/// The cargo on `PATH`.
#[derive(Debug)]
pub struct Rust {
    home: Home,
    needed: Vec<PathBuf>,
    /// What was built, by tree and unit.
    units: Mutex<BTreeMap<(PathBuf, String), Arc<Unit>>>,
}

impl Rust {
    /// Looks for cargo; nothing is asked yet, because a tree may choose its own toolchain.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(host: &Host) -> Result<Self, NoCargo> {
        let folders = host
            .search
            .split(':')
            .filter(|entry| entry.starts_with('/'));
        let folder = folders
            .map(Path::new)
            .find(|folder| folder.join("cargo").is_file());
        let folder = folder.ok_or(NoCargo)?;
        let home = Home::of_user();
        let mut needed = home.needed();
        needed.push(folder.to_owned());
        Ok(Self {
            home,
            needed,
            units: Mutex::default(),
        })
    }

    fn units(&self) -> MutexGuard<'_, BTreeMap<(PathBuf, String), Arc<Unit>>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The built package of a test.
    fn unit_of(&self, node: &NodeId, site: Site<'_>) -> Result<Arc<Unit>, String> {
        let key = (site.tree.to_owned(), build::unit(node, site)?);
        let found = self.units().get(&key).cloned();
        found.ok_or_else(|| format!("the package {} was not built", key.1))
    }

    /// What chooses the test's values, as its source says.
    fn generator(&self, node: &NodeId, site: Site<'_>) -> Result<Generator, String> {
        let text = plain(&site.tree.join(node.path()), LARGEST_SOURCE)
            .map_err(|why| format!("{}: {why}", node.path()))?;
        let text = text.unwrap_or_default();
        let facts = source::read(Language::Rust, text.as_bytes());
        let (names, _) = source::names_of(node);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let library = match source::find(&facts, &names) {
            Found::Item(item) if item.seed.is_some() => return Ok(Generator::SeedInSource),
            Found::Item(item) => item.generator,
            // A macro made it, of who knows what: where proptest may be in it, it is given its seed.
            Found::Computed | Found::Nothing => {
                let unit = self.unit_of(node, site)?;
                let linked = unit.versions.contains_key("proptest");
                linked.then_some(Library::Proptest)
            }
        };
        Ok(match library {
            Some(Library::Proptest) if saved::there_are(site.tree, node.path()) => {
                Generator::ProptestSaved
            }
            Some(Library::Proptest) => Generator::Proptest,
            Some(Library::Quickcheck) => Generator::Quickcheck,
            _ => Generator::NoGenerator,
        })
    }

    fn env(&self, task: &Task<'_>) -> Result<Environment, String> {
        let mut env = BTreeMap::from([("RUST_BACKTRACE", "0".to_owned())]);
        // Saved cases would win over the seed, and new ones would be written into the tree. Where there are
        // some, a green without them is none: there they run, before those of the seed.
        if task.generator != Generator::ProptestSaved || task.purpose == Purpose::Stream {
            env.insert("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1".to_owned());
        }
        if let (Some(seed), true) = (task.seed, task.generator.takes_seed()) {
            if seed < 0 {
                return Err(format!("proptest takes no negative seed, as {seed} is"));
            }
            env.insert("PROPTEST_RNG_SEED", seed.to_string());
        }
        if task.purpose == Purpose::Stream {
            env.insert("PROPTEST_VERBOSE", "2".to_owned());
            env.insert("PROPTEST_CASES", STREAM_CASES.to_owned());
            env.insert("PROPTEST_MAX_SHRINK_ITERS", "0".to_owned());
        }
        Ok(env
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect())
    }

    /// A stored line in a folder for all that it builds, as it stands but for `--locked`: without it cargo
    /// may want to write its lock anew, into a tree that nobody writes to.
    fn stored(&self, words: &[String], site: Site<'_>, folder: &Path) -> Result<Start, String> {
        self.home.make(folder).map_err(|error| error.to_string())?;
        let mut env = self.home.env(folder);
        env.insert("RUST_BACKTRACE".to_owned(), "0".to_owned());
        // One run is what is asked for, whatever the repository's nextest is told.
        env.insert("NEXTEST_RETRIES".to_owned(), "0".to_owned());
        let mut argv = words.to_vec();
        let behind_head = if is_nextest(words) { 3 } else { 2 };
        if !words.iter().any(|word| word == "--locked") && behind_head <= words.len() {
            argv.insert(behind_head, "--locked".to_owned());
        }
        Ok(Start {
            argv,
            env,
            cwd: site.tree.to_owned(),
            compiles: true,
            bears_memory_limit: false,
        })
    }
}

/// `cargo nextest run`, and not `cargo test`.
fn is_nextest(words: &[String]) -> bool {
    words.get(1).is_some_and(|word| word == "nextest")
}

/// How a test is named and run, of all that a unit holds.
fn one_test<'u>(unit: &'u Unit, node: &NodeId) -> Result<Test<'u>, String> {
    let (names, _) = source::names_of(node);
    unit.test(node.path(), &names)
}

impl Framework for Rust {
    fn name(&self) -> &str {
        "cargo"
    }

    fn versions(&self, node: &NodeId, site: Site<'_>) -> BTreeMap<String, String> {
        let unit = self.unit_of(node, site);
        unit.map(|unit| unit.versions.clone()).unwrap_or_default()
    }

    fn runners(&self) -> Vec<&str> {
        vec!["cargo"]
    }

    fn needed(&self) -> &[PathBuf] {
        &self.needed
    }

    fn prepare(&self, _: &Path) -> std::io::Result<()> {
        Ok(())
    }

    fn unit(&self, node: &NodeId, site: Site<'_>) -> Result<Option<String>, String> {
        build::unit(node, site).map(Some)
    }

    fn build(&self, unit: &str, site: Site<'_>) -> Result<Start, String> {
        build::start(&self.home, unit, site)
    }

    fn built(&self, unit: &str, ended: &Ended, site: Site<'_>) -> Result<(), String> {
        let built = build::read(unit, ended, site)?;
        let key = (site.tree.to_owned(), unit.to_owned());
        self.units().insert(key, Arc::new(built));
        Ok(())
    }

    fn start(&self, task: &Task<'_>, site: Site<'_>, folder: &Path) -> Result<Start, String> {
        if let Some(line) = task.stored {
            let mut start = self.stored(&line.words, site, folder)?;
            start.env.extend(self.env(task)?);
            start.env.extend(line.variables.iter().cloned());
            return Ok(start);
        }
        let unit = self.unit_of(task.node, site)?;
        let test = one_test(&unit, task.node)?;
        let mut argv = vec![
            test.binary.executable.clone(),
            "--exact".to_owned(),
            test.path,
        ];
        argv.extend(match task.purpose {
            Purpose::Collect => ["--list", "--format=terse"].map(str::to_owned).to_vec(),
            // What a passing test prints is read too: that is where a seed that was not taken is told. With
            // one thread the test's own words would stand in the midst of its report.
            _ => ["--nocapture", "--test-threads=2", "--color=never"]
                .map(str::to_owned)
                .to_vec(),
        });
        let mut env = unit.env(test.binary, site);
        env.extend(self.env(task)?);
        Ok(Start {
            argv,
            env,
            cwd: site.tree.join(&test.binary.folder),
            compiles: false,
            bears_memory_limit: true,
        })
    }

    fn read(&self, task: &Task<'_>, ended: &Ended, site: Site<'_>, _: &Path) -> Report {
        let (names, _) = source::names_of(task.node);
        let unit = self
            .unit_of(task.node, site)
            .ok()
            .filter(|_| task.stored.is_none());
        let test = unit
            .as_ref()
            .and_then(|unit| one_test(unit, task.node).ok());
        let asked = report::Asked {
            node: task.node,
            path: test
                .as_ref()
                .map_or(names.join("::"), |test| test.path.clone()),
            whole: test.is_some(),
            nextest: task.stored.is_some_and(|line| is_nextest(&line.words)),
            tree: site.tree,
            root: unit.as_ref().map_or(Path::new(""), |unit| &*unit.root),
        };
        if task.purpose == Purpose::Collect {
            let mut report = nothing(Outcome::Green);
            match report::listed(&asked, ended).and_then(|()| self.generator(task.node, site)) {
                Ok(generator) => report.generator = Some(generator),
                Err(why) => report.outcome = Outcome::errored(why),
            }
            return report;
        }
        let mut report = nothing(report::judge(&asked, ended));
        if task.purpose == Purpose::Stream {
            report.stream = Some(report::stream(&ended.output));
        }
        report
    }

    fn replay_line(&self, task: &Task<'_>, site: Site<'_>) -> Result<String, String> {
        let unit = self.unit_of(task.node, site)?;
        let test = one_test(&unit, task.node)?;
        let mut words = Vec::new();
        if let (Some(seed), true) = (task.seed, task.generator.takes_seed()) {
            words.push(format!("PROPTEST_RNG_SEED={seed}"));
        }
        words.extend(["cargo", "test", "-p"].map(str::to_owned));
        words.push(quoted(&test.binary.package));
        words.extend(test.binary.target_words());
        words.push(quoted(&test.path));
        words.extend(["--", "--exact"].map(str::to_owned));
        Ok(words.join(" "))
    }
}
