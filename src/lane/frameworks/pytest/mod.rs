//! pytest, with Hypothesis, parameters and pytest-randomly.
//!
//! A plugin of our own, shipped in this binary, writes what happened as JSON lines; the node id is pytest's
//! own, verbatim, and no XML has to be read back. `CI` is not in a run's environment: any value of it would
//! make Hypothesis ignore seeds without a word (lane-facts 0.1).

mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::text::{LARGEST_REPORT, plain, quoted};
use super::{Framework, Generator, Host, Purpose, Report, Site, Start, Task, nothing};
use crate::lane::cause::Intervention;
use crate::lane::environment::{self, Environment};
use crate::lane::model::Outcome;
use crate::lane::process::{self, Ended, How, Limits, Order};
use crate::model::NodeId;

const PLUGIN: &str = include_str!("plugin.py");

/// Asks an interpreter what is installed; printed on one line.
const ASK: &str = r#"
import json, os, sys
try:
    from importlib.metadata import distributions
    dists = {(d.metadata["Name"] or "").lower().replace("_", "-"): d.version for d in distributions()}
except ImportError:
    import pkg_resources
    dists = {d.key: d.version for d in pkg_resources.working_set}
names = ["pytest", "hypothesis", "pytest-randomly", "pytest-xdist", "pytest-cov"]
folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))]
print("frostline:" + json.dumps({
    "python": "%d.%d.%d" % sys.version_info[:3],
    "installed": {n: dists[n] for n in names if n in dists},
    "prefixes": sorted(set(map(os.path.realpath, folders))),
    "path": sorted({os.path.realpath(p) for p in sys.path if p and os.path.exists(p)}),
}))
"#;

#[derive(Debug, Deserialize)]
struct Interpreter {
    python: String,
    installed: BTreeMap<String, String>,
    prefixes: Vec<PathBuf>,
    path: Vec<PathBuf>,
}

/// Why pytest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NoPytest {
    #[error("{}: {why}; name the interpreter that has the project's packages with --python FILE", python.display())]
    NoPython { python: PathBuf, why: String },
    #[error("{} has no pytest; install it there, or name another interpreter with --python FILE", python.display())]
    NotInstalled { python: PathBuf },
}

/// pytest of one interpreter.
#[derive(Debug)]
pub struct Pytest {
    python: PathBuf,
    versions: BTreeMap<String, String>,
    needed: Vec<PathBuf>,
    /// The user's own checkout, from which nothing may be imported.
    checkout: Option<PathBuf>,
    /// No repository can hold a module by this name.
    plugin: String,
}

impl Pytest {
    /// Asks the host's interpreter what it has.
    ///
    /// # Errors
    /// When it does not answer, or has no pytest.
    pub fn find(host: &Host) -> Result<Self, NoPytest> {
        let (python, checkout) = (&*host.python, host.checkout.as_deref());
        let fail = |why: String| NoPytest::NoPython {
            python: python.to_owned(),
            why,
        };
        let order = Order {
            argv: [&*python.to_string_lossy(), "-I", "-c", ASK]
                .map(str::to_owned)
                .into(),
            env: environment::bare(&host.search),
            cwd: host.ask.clone(),
            limits: Limits::default(),
            wrapped: false,
        };
        let ended = process::run(&host.program, &order, &host.cancel)
            .map_err(|error| fail(error.to_string()))?;
        let said = ended
            .output
            .lines()
            .find_map(|line| line.strip_prefix("frostline:"));
        let (How::Exit(0), Some(said)) = (ended.how, said) else {
            let last = ended.output.lines().last().unwrap_or("it does not answer");
            return Err(fail(last.to_owned()));
        };
        let found: Interpreter =
            serde_json::from_str(said).map_err(|error| fail(error.to_string()))?;
        if !found.installed.contains_key("pytest") {
            return Err(NoPytest::NotInstalled {
                python: python.to_owned(),
            });
        }
        let mut needed = found.prefixes;
        let in_checkout = |path: &PathBuf| checkout.is_some_and(|root| path.starts_with(root));
        needed.extend(found.path.into_iter().filter(|path| !in_checkout(path)));
        // The link that was named leads to the packages; the file that it is does not.
        needed.extend(python.parent().map(Path::to_owned));
        let mut versions = found.installed;
        versions.insert("python".to_owned(), found.python);
        Ok(Self {
            python: python.to_owned(),
            versions,
            needed,
            checkout: checkout.map(Path::to_owned),
            plugin: format!("frostline_lane_{:016x}", rand::random::<u64>()),
        })
    }

    fn has(&self, name: &str) -> bool {
        self.versions.contains_key(name)
    }

    /// The words that choose seed and plugins, fit for a replay line.
    fn seed_words(&self, task: &Task<'_>) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |word: &str| words.push(word.to_owned());
        let by_randomly = task.generator == Generator::Randomly;
        if self.has("pytest-randomly") && !by_randomly {
            add("-p");
            add("no:randomly");
        }
        if self.has("pytest-xdist") {
            add("-n");
            add("0");
        }
        if self.has("hypothesis") {
            add("--hypothesis-profile=default");
        }
        match (task.seed, task.generator) {
            (Some(seed), Generator::Randomly) => add(&format!("--randomly-seed={seed}")),
            (Some(seed), _) if self.has("hypothesis") => {
                add(&format!("--hypothesis-seed={seed}"));
            }
            _ => {}
        }
        words
    }

    fn env(&self, task: &Task<'_>, tree: &Path, folder: &Path) -> Environment {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        // Behind the plugin's folder, and before what an editable install names: the user's checkout.
        let mut path = vec![text(folder.join("plugin")), text(tree.to_owned())];
        let src = tree.join("src");
        if src.is_dir() {
            path.insert(1, text(src));
        }
        let mut env: Environment = [
            ("PYTHONPATH", path.join(":")),
            ("PYTHONHASHSEED", task.hash_seed.to_string()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            (
                "HYPOTHESIS_STORAGE_DIRECTORY",
                text(folder.join("hypothesis")),
            ),
            ("FROSTLINE_LANE_REPORT", text(folder.join("report.jsonl"))),
            ("FROSTLINE_LANE_TREE", text(tree.to_owned())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        env.extend(
            task.stored
                .iter()
                .flat_map(|line| line.variables.iter().cloned()),
        );
        if let Some(checkout) = &self.checkout {
            env.insert("FROSTLINE_LANE_FOREIGN".to_owned(), text(checkout.clone()));
        }
        if task.purpose == Purpose::Pinned(Intervention::Rng) {
            env.insert("FROSTLINE_LANE_RANDOM".to_owned(), "1".to_owned());
        }
        if task.purpose == Purpose::Stream {
            for name in [
                "FROSTLINE_LANE_STREAM",
                "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY_NOCOVER",
            ] {
                env.insert(name.to_owned(), "1".to_owned());
            }
        }
        env
    }
}

impl Framework for Pytest {
    fn name(&self) -> &str {
        "pytest"
    }

    fn versions(&self, _: &NodeId, _: Site<'_>) -> BTreeMap<String, String> {
        self.versions.clone()
    }

    fn pins(&self) -> &'static [Intervention] {
        &[Intervention::HashSeed, Intervention::Rng]
    }

    fn runners(&self) -> Vec<&str> {
        vec!["pytest"]
    }

    fn needed(&self) -> &[PathBuf] {
        &self.needed
    }

    fn start(&self, task: &Task<'_>, site: Site<'_>, folder: &Path) -> Result<Start, String> {
        let tree = site.tree;
        let tree_text = tree.to_string_lossy();
        let mut argv: Vec<String> = [
            &*self.python.to_string_lossy(),
            "-m",
            "pytest",
            "-q",
            "-p",
            &self.plugin,
            "-p",
            "no:cacheprovider",
        ]
        .map(str::to_owned)
        .into();
        // Without it node ids hang on the folder that an ini file happens to lie in.
        argv.push(format!("--rootdir={tree_text}"));
        match task.stored {
            Some(line) => argv.extend(line.words.iter().skip(1).cloned()),
            None => {
                match task.purpose {
                    Purpose::Collect => argv.push("--collect-only".to_owned()),
                    _ => argv.extend(self.seed_words(task)),
                }
                if self.has("pytest-cov") {
                    argv.push("--no-cov".to_owned());
                }
                // An absolute path can't be taken for an option.
                argv.push(format!("{tree_text}/{}", task.node));
            }
        }
        Ok(Start {
            argv,
            env: self.env(task, tree, folder),
            cwd: tree.to_owned(),
            compiles: false,
            bears_memory_limit: true,
        })
    }

    fn prepare(&self, folder: &Path) -> std::io::Result<()> {
        let plugin = folder.join("plugin");
        std::fs::create_dir(&plugin)?;
        std::fs::write(plugin.join(format!("{}.py", self.plugin)), PLUGIN)
    }

    fn read(&self, task: &Task<'_>, ended: &Ended, _: Site<'_>, folder: &Path) -> Report {
        match plain(&folder.join("report.jsonl"), LARGEST_REPORT) {
            Ok(text) => report::judge(&text.unwrap_or_default(), task.node.as_str(), ended),
            Err(why) => nothing(Outcome::errored(why)),
        }
    }

    fn replay_line(&self, task: &Task<'_>, _: Site<'_>) -> Result<String, String> {
        let mut words = vec![
            format!("PYTHONHASHSEED={}", task.hash_seed),
            "pytest".to_owned(),
            quoted(task.node.as_str()),
        ];
        words.extend(self.seed_words(task));
        Ok(words.join(" "))
    }
}
