//! JavaScript and TypeScript: fast-check and plain tests through vitest, jest and node's own runner.
//!
//! Small programs of our own, shipped in this binary, are written to the run's folder: a reporter for each
//! runner writes what happened as JSON lines, and a setup file gives fast-check the seed before a test's file
//! is loaded. The repository's configuration stays in force.

mod detect;
mod failure;
pub mod modules;
mod package;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::text::{LARGEST_REPORT, plain, quoted};
use super::{Framework, Generator, Host, Purpose, Report, Site, Start, Task, nothing};
use crate::contract::replay::{title_pattern, titles};
use crate::lane::environment::{self, Environment};
use crate::lane::model::Outcome;
use crate::lane::process::{self, Ended, How, Limits, Order};
use crate::model::NodeId;

pub use detect::{Runner, detect};
use package::{installed, version};

/// The first major version of node that has all that is needed.
const OLDEST_NODE: u64 = 20;
/// Of vitest, with its minor version: its reporters are told of whole runs.
const OLDEST_VITEST: (u64, u64) = (3, 2);
/// The seed of runs that only look for a test.
const LOOKING: i64 = 1;

const HOOKS: [(&str, &str); 10] = [
    ("entries.cjs", include_str!("hooks/entries.cjs")),
    ("fast-check.cjs", include_str!("hooks/fast-check.cjs")),
    ("jest-reporter.cjs", include_str!("hooks/jest-reporter.cjs")),
    ("jest-runner.cjs", include_str!("hooks/jest-runner.cjs")),
    ("jest-setup.cjs", include_str!("hooks/jest-setup.cjs")),
    ("launch.mjs", include_str!("hooks/launch.mjs")),
    ("node-reporter.mjs", include_str!("hooks/node-reporter.mjs")),
    ("report.cjs", include_str!("hooks/report.cjs")),
    ("setup.mjs", include_str!("hooks/setup.mjs")),
    (
        "vitest-reporter.mjs",
        include_str!("hooks/vitest-reporter.mjs"),
    ),
];

/// Why a runner cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NoRunner {
    #[error("node: {0}; install node, or put it on the PATH")]
    NoNode(String),
    #[error("node is {0}, and {OLDEST_NODE} or later is needed")]
    OldNode(String),
}

/// One runner, and the node that it runs in.
#[derive(Debug)]
pub struct JavaScript {
    runner: Runner,
    node: PathBuf,
    version: String,
    /// Where the tests' files can be looked at.
    tree: PathBuf,
    needed: [PathBuf; 1],
}

impl JavaScript {
    /// Asks node what it is.
    ///
    /// # Errors
    /// When there is none, or it is too old.
    pub fn find(runner: Runner, host: &Host) -> Result<Self, NoRunner> {
        #[derive(Deserialize)]
        struct Answer {
            path: PathBuf,
            version: String,
        }
        let ask = "console.log('frostline:' + JSON.stringify({path: process.execPath, version: process.versions.node}))";
        let order = Order {
            argv: ["node", "-e", ask].map(str::to_owned).into(),
            env: environment::bare(&host.search),
            cwd: host.ask.clone(),
            limits: Limits {
                memory_bytes: None,
                ..Limits::default()
            },
            wrapped: false,
        };
        let ended = process::run(&host.program, &order, &host.cancel)
            .map_err(|error| NoRunner::NoNode(error.to_string()))?;
        let mut lines = ended.output.lines();
        let said = lines.find_map(|line| line.strip_prefix("frostline:"));
        let (How::Exit(0), Some(said)) = (ended.how, said) else {
            let last = ended.output.lines().last().unwrap_or("it does not answer");
            return Err(NoRunner::NoNode(last.to_owned()));
        };
        let answer: Answer =
            serde_json::from_str(said).map_err(|error| NoRunner::NoNode(error.to_string()))?;
        if version(&answer.version).0 < OLDEST_NODE {
            return Err(NoRunner::OldNode(answer.version));
        }
        Ok(Self {
            runner,
            needed: [answer.path.clone()],
            node: answer.path,
            tree: host.tree.clone(),
            version: answer.version,
        })
    }

    /// The program of the runner, and words that go before all others.
    fn program(&self, task: &Task<'_>, tree: &Path, hooks: &str) -> Result<Vec<String>, String> {
        let hook = |name: &str| format!("{hooks}/{name}");
        let mut words = vec![self.node.to_string_lossy().into_owned()];
        let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
        if self.runner == Runner::Node {
            add(&[
                &format!("--import={}", hook("setup.mjs")),
                "--test",
                &format!("--test-reporter={}", hook("node-reporter.mjs")),
                "--test-reporter-destination=stdout",
            ]);
            return Ok(words);
        }
        let name = self.runner.name();
        let path = task.node.path();
        let package = installed(tree, path, name).ok_or_else(|| {
            format!("{name} is not installed in the checkout; install its packages there")
        })?;
        add(&[
            &hook("launch.mjs"),
            &package.program(name)?.to_string_lossy(),
        ]);
        if self.runner == Runner::Jest {
            add(&[
                "-i",
                "--ci",
                "--coverage=false",
                "--watchAll=false",
                &format!("--reporters={}", hook("jest-reporter.cjs")),
                &format!("--testRunner={}", hook("jest-runner.cjs")),
            ]);
            return Ok(words);
        }
        if version(&package.version) < OLDEST_VITEST {
            return Err(format!(
                "vitest is {}, and {}.{} or later is needed",
                package.version, OLDEST_VITEST.0, OLDEST_VITEST.1
            ));
        }
        add(&[
            "run",
            &format!("--config={}", hook("vitest.config.mjs")),
            &format!("--reporter={}", hook("vitest-reporter.mjs")),
            "--retry=0",
            "--coverage.enabled=false",
        ]);
        Ok(words)
    }

    /// The words that choose the test, fit for a replay line. `file` is how its file is named.
    fn selection(&self, node: &NodeId, file: &str) -> Vec<String> {
        let titles = titles(node);
        let pattern = match self.runner {
            // Before version 22 it looks at a test's own title alone.
            Runner::Node => {
                let own = titles.last().map(std::slice::from_ref);
                title_pattern(own.unwrap_or_default(), false)
            }
            _ => {
                let seeded = format!("@fast-check/{}", self.runner.name());
                let seeded = detect::file_imports(&self.tree, node.path(), &seeded);
                title_pattern(&titles, seeded)
            }
        };
        match self.runner {
            Runner::Node => vec![format!("--test-name-pattern={pattern}"), file.to_owned()],
            _ => vec![file.to_owned(), "-t".to_owned(), pattern],
        }
    }

    /// The words of a stored line behind those that start its runner.
    fn stored(&self, words: &[String], path: &str, file: &str) -> Result<Vec<String>, String> {
        let words = match words.split_first() {
            Some((first, rest)) if first == "npx" => rest,
            _ => words,
        };
        let head: &[&str] = match self.runner {
            Runner::Vitest => &["vitest", "run"],
            Runner::Jest => &["jest"],
            Runner::Node => &["node", "--test"],
        };
        let starts = head
            .iter()
            .zip(words)
            .filter(|(own, word)| *own == word)
            .count();
        if starts < head.len() {
            return Err(format!(
                "{path} is run by {}, and the line starts another runner",
                self.runner.name()
            ));
        }
        let mut found = Vec::new();
        let mut left = words.iter().skip(head.len());
        while let Some(word) = left.next() {
            match word.strip_prefix("--test-reporter") {
                // node wants a destination for each reporter; ours is there already.
                Some("") if self.runner == Runner::Node => drop(left.next()),
                Some(_) if self.runner == Runner::Node => {}
                // The package's folder is where it runs.
                _ if word == path => found.push(file.to_owned()),
                _ => found.push(word.clone()),
            }
        }
        Ok(found)
    }

    fn env(&self, task: &Task<'_>, package: &str, tree: &Path, folder: &Path) -> Environment {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut env: Environment = [
            ("FROSTLINE_LANE_REPORT", text(folder.join("report.jsonl"))),
            ("FROSTLINE_LANE_PACKAGE", text(tree.join(package))),
            ("FROSTLINE_LANE_FILE", text(tree.join(task.node.path()))),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let seed = match task.purpose {
            Purpose::Collect => task.seed.or(Some(LOOKING)),
            _ => task.seed,
        };
        if let Some(seed) = seed {
            env.insert("FC_SEED".to_owned(), seed.to_string());
        }
        if !task.purpose.is_a_run() {
            let values = text(folder.join("values.jsonl"));
            env.insert("FROSTLINE_LANE_VALUES".to_owned(), values);
        }
        let stored = task.stored.iter();
        env.extend(stored.flat_map(|line| line.variables.iter().cloned()));
        env
    }
}

impl Framework for JavaScript {
    fn name(&self) -> &str {
        self.runner.name()
    }

    fn versions(&self, node: &NodeId, site: Site<'_>) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::from([("node".to_owned(), self.version.clone())]);
        for name in ["vitest", "jest", "fast-check"] {
            let other = Runner::ALL.iter().any(|runner| runner.name() == name);
            if other && name != self.runner.name() {
                continue;
            }
            if let Some(package) = installed(site.tree, node.path(), name) {
                versions.insert(name.to_owned(), package.version);
            }
        }
        versions
    }

    fn runners(&self) -> Vec<&str> {
        match self.runner {
            Runner::Node => vec!["node"],
            runner => vec![runner.name(), "npx"],
        }
    }

    fn needed(&self) -> &[PathBuf] {
        &self.needed
    }

    fn prepare(&self, folder: &Path) -> std::io::Result<()> {
        let hooks = folder.join("hooks");
        std::fs::create_dir(&hooks)?;
        for (name, text) in HOOKS {
            std::fs::write(hooks.join(name), text)?;
        }
        Ok(())
    }

    fn start(&self, task: &Task<'_>, site: Site<'_>, folder: &Path) -> Result<Start, String> {
        let tree = site.tree;
        let path = task.node.path();
        let file = tree.join(path).to_string_lossy().into_owned();
        let hooks = folder.join("hooks");
        let mut argv = self.program(task, tree, &hooks.to_string_lossy())?;
        match task.stored {
            Some(line) => argv.extend(self.stored(&line.words, path, &file)?),
            None => {
                if self.runner == Runner::Jest {
                    argv.push("--runTestsByPath".to_owned());
                }
                argv.extend(self.selection(task.node, &file));
            }
        }
        let setting = detect(tree, path)?;
        Ok(Start {
            argv,
            env: self.env(task, &setting.package, tree, folder),
            cwd: tree.to_owned(),
            // WebAssembly reserves far more than it uses.
            compiles: false,
            bears_memory_limit: false,
        })
    }

    fn read(&self, task: &Task<'_>, ended: &Ended, site: Site<'_>, folder: &Path) -> Report {
        let text =
            |name: &str| plain(&folder.join(name), LARGEST_REPORT).map(Option::unwrap_or_default);
        let (rows, values) = match (text("report.jsonl"), text("values.jsonl")) {
            (Ok(rows), Ok(values)) => (rows, values),
            (Err(why), _) | (_, Err(why)) => return nothing(Outcome::errored(why)),
        };
        let seed = task
            .seed
            .filter(|_| task.purpose.is_a_run() && task.generator == Generator::FastCheck);
        let file = site.tree.join(task.node.path());
        let asked = report::Asked {
            runner: self.runner.name(),
            file: &file.to_string_lossy(),
            titles: &titles(task.node),
            purpose: task.purpose,
            seed,
            folders: failure::Folders {
                tree: &site.tree.to_string_lossy(),
                run: &folder.to_string_lossy(),
            },
        };
        report::judge(&rows, &values, &asked, ended)
    }

    fn replay_line(&self, task: &Task<'_>, _: Site<'_>) -> Result<String, String> {
        let mut words: Vec<String> = task
            .seed
            .map(|seed| format!("FC_SEED={seed}"))
            .into_iter()
            .collect();
        let own: &[&str] = match self.runner {
            Runner::Vitest => &["vitest", "run"],
            Runner::Jest => &["jest", "-i"],
            Runner::Node => &["node", "--test"],
        };
        words.extend(own.iter().map(|&word| word.to_owned()));
        let chosen = self.selection(task.node, task.node.path());
        words.extend(chosen.iter().map(|word| quoted(word)));
        Ok(words.join(" "))
    }
}
