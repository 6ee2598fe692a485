//! Which framework runs a test, and where it is found.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::Framework;
use super::pytest::Pytest;
use crate::lane::process::Cancel;
use crate::model::NodeId;

/// A framework that this version knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pytest,
}

impl Kind {
    pub const ALL: [Self; 1] = [Self::Pytest];

    /// Extensions of the files whose tests it runs.
    fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Pytest => &["py"],
        }
    }

    /// For people.
    fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
        }
    }

    /// The one that runs a test, by the test's file.
    ///
    /// # Errors
    /// When none does: a sentence that names what can be run.
    pub fn of(node: &NodeId) -> Result<Self, String> {
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
                    "no framework of this version runs {path}; tests can be run in {}",
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
    pytest: OnceLock<Result<Pytest, String>>,
}

impl Frameworks {
    pub fn new(host: Host) -> Self {
        Self {
            host,
            pytest: OnceLock::new(),
        }
    }

    /// The framework that runs a test.
    ///
    /// # Errors
    /// When none does, or it is not to be had here: a sentence.
    pub fn of(&self, node: &NodeId) -> Result<&dyn Framework, String> {
        match Kind::of(node)? {
            Kind::Pytest => found(&self.pytest, || Pytest::find(&self.host)),
        }
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
        ] {
            assert_eq!(of(node), Ok(kind), "{node}");
        }
        for node in ["tests/a.pyi::t", "tests.py/a::t", "py::t", "tests/a.PY::t"] {
            let why = of(node).expect_err(node);
            assert!(why.contains("*.py by pytest"), "{node}: {why}");
        }
    }
}
