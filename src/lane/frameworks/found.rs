//! Which framework runs a test, and where it is found.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::Framework;
use super::configured::Configured;
use super::javascript::{JavaScript, Runner, detect};
use super::pytest::Pytest;
use super::rust::Rust;
use crate::config::repo::RunnerCommand;
use crate::lane::process::Cancel;
use crate::model::NodeId;

/// A framework that this version knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pytest,
    JavaScript,
    Rust,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Pytest, Self::JavaScript, Self::Rust];

    /// Extensions of the files whose tests it runs.
    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Pytest => &["py"],
            Self::JavaScript => &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"],
            Self::Rust => &["rs"],
        }
    }

    /// For people.
    fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::JavaScript => "vitest, jest or node",
            Self::Rust => "cargo",
        }
    }

    /// The one that runs a test, by the test's file alone.
    ///
    /// # Errors
    /// When none does: a sentence that names what can be run.
    fn of(node: &NodeId) -> Result<Self, String> {
        let path = node.path();
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.extensions().contains(&extension))
            .ok_or_else(|| {
                let known = Self::ALL.map(|kind| {
                    let files: Vec<String> = kind
                        .extensions()
                        .iter()
                        .map(|extension| format!("*.{extension}"))
                        .collect();
                    format!("{} by {}", files.join(", "), kind.name())
                });
                format!(
                    "no framework of this version runs {path}; tests can be run in {}, and others by a command under `lane: {{runners: […]}}` of the configuration",
                    known.join("; ")
                )
            })
    }
}

/// Where frameworks are looked for, and by what.
#[derive(Debug, Clone)]
pub struct Host {
    /// This binary.
    pub program: PathBuf,
    /// Where programs are looked for, as of `PATH`.
    pub search: String,
    /// The exported tree.
    pub tree: PathBuf,
    /// Commands of the configuration; the first that is for a test's file is taken.
    pub commands: Vec<RunnerCommand>,
    /// An empty folder to ask in.
    pub ask: PathBuf,
    /// The user's own checkout, from which nothing may be run.
    pub checkout: Option<PathBuf>,
    /// The interpreter that has the project's Python packages.
    pub python: PathBuf,
    pub cancel: Cancel,
}

/// The frameworks of one repository, each looked for when a test first needs it.
pub struct Frameworks {
    host: Host,
    configured: Vec<Configured>,
    pytest: OnceLock<Result<Pytest, String>>,
    /// In the order of [`Runner::ALL`].
    javascript: [OnceLock<Result<JavaScript, String>>; 3],
    rust: OnceLock<Result<Rust, String>>,
}

impl Frameworks {
    pub fn new(host: Host) -> Self {
        let commands = host.commands.iter().cloned();
        Self {
            configured: commands.map(Configured::new).collect(),
            host,
            pytest: OnceLock::new(),
            javascript: Default::default(),
            rust: OnceLock::new(),
        }
    }

    /// The framework that runs a test.
    ///
    /// # Errors
    /// When none does, or it is not to be had here: a sentence.
    pub fn of(&self, node: &NodeId) -> Result<&dyn Framework, String> {
        if let Some(configured) = self.configured(node)? {
            return Ok(configured);
        }
        match Kind::of(node)? {
            Kind::Pytest => found(&self.pytest, || Pytest::find(&self.host)),
            Kind::JavaScript => {
                let runner = detect(&self.host.tree, node.path())?.runner;
                let mut all = Runner::ALL.into_iter().zip(&self.javascript);
                match all.find(|(one, _)| *one == runner) {
                    Some((_, place)) => found(place, || JavaScript::find(runner, &self.host)),
                    None => Err(format!("no framework of this version runs {node}")),
                }
            }
            Kind::Rust => found(&self.rust, || Rust::find(&self.host)),
        }
    }

    /// Some framework is for the test's file.
    ///
    /// # Errors
    /// When none is: a sentence that names what can be run.
    pub fn know(&self, node: &NodeId) -> Result<(), String> {
        match self.configured(node)? {
            Some(_) => Ok(()),
            None => Kind::of(node).map(drop),
        }
    }

    fn configured(&self, node: &NodeId) -> Result<Option<&Configured>, String> {
        for one in &self.configured {
            if one.is_for(node.path())? {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }
}

/// What was found, or is looked for now.
fn found<F: Framework, E: std::fmt::Display>(
    place: &OnceLock<Result<F, String>>,
    find: impl FnOnce() -> Result<F, E>,
) -> Result<&dyn Framework, String> {
    let found = place.get_or_init(|| find().map_err(|error| error.to_string()));
    match found {
        Ok(framework) => Ok(framework),
        Err(why) => Err(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_test_chooses_its_framework() {
        let of = |node: &str| Kind::of(&node.parse().expect("a node id"));
        for (node, kind) in [
            ("tests/test_a.py::test_a", Kind::Pytest),
            ("tests/test_a.py::test_a[x.rs]", Kind::Pytest),
            ("web/a.test.ts::adds", Kind::JavaScript),
            ("web/a.mjs::adds", Kind::JavaScript),
            ("src/a.py.rs::tests::t", Kind::Rust),
        ] {
            assert_eq!(of(node), Ok(kind), "{node}");
        }
        for node in ["tests/a.pyi::t", "tests.py/a::t", "py::t", "tests/a.PY::t"] {
            let why = of(node).expect_err(node);
            assert!(
                why.contains("*.py by pytest") && why.contains("*.rs by cargo"),
                "{node}: {why}"
            );
        }
    }
}
