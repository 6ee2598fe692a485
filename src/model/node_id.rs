//! Node ids: `<path>::<names joined by ::>[param]` (protocol section 1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{IdError, is_canonical_path};

/// A test's id. The path before the first `::` is canonical; what follows is the framework's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(String);

impl NodeId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The repository path; the whole id when it names a file or a directory.
    pub fn path(&self) -> &str {
        self.0.split_once("::").map_or(&self.0, |(path, _)| path)
    }

    /// The id without its parameter: what counts as one function.
    pub fn function(&self) -> &str {
        self.param_start().map_or(&self.0, |at| &self.0[..at])
    }

    /// The text between the outermost brackets, when the id has a parameter.
    pub fn param(&self) -> Option<&str> {
        self.param_start()
            .map(|at| &self.0[at + 1..self.0.len() - 1])
    }

    /// Where `[param]` starts: the first bracket of the names, when the id ends with `]`.
    fn param_start(&self) -> Option<usize> {
        if !self.0.ends_with(']') {
            return None;
        }
        let names = self.0.find("::")? + 2;
        self.0[names..].find('[').map(|at| names + at)
    }

    /// Every id that this one lies inside, and itself: directories, the file, classes, the function,
    /// and what precedes any bracket. Shortest first.
    pub fn enclosing(&self) -> impl Iterator<Item = &str> {
        let path_len = self.path().len();
        let cuts = self.0.char_indices().filter_map(move |(at, c)| match c {
            '/' if at < path_len => Some(at),
            ':' if at >= path_len && self.0[at..].starts_with("::") => Some(at),
            '[' if at > path_len => Some(at),
            _ => None,
        });
        cuts.chain(std::iter::once(self.0.len()))
            .map(|at| &self.0[..at])
    }
}

impl FromStr for NodeId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let error = |expected| IdError {
            what: "node id",
            expected,
            found: text.chars().take(200).collect(),
        };
        let (path, names) = match text.split_once("::") {
            Some((path, names)) => (path, Some(names)),
            None => (text, None),
        };
        if !is_canonical_path(path) {
            return Err(error("a canonical repository path before the first ::"));
        }
        if names.is_some_and(|names| names.is_empty() || names.chars().any(char::is_control)) {
            return Err(error("names without control characters after ::"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for NodeId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<NodeId> for String {
    fn from(id: NodeId) -> Self {
        id.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> NodeId {
        text.parse().expect("a valid node id")
    }

    #[test]
    fn parts_of_a_parametrised_id() {
        let node = id("tests/p/test_a.py::TestX::test_y[a::b[0]]");
        assert_eq!(node.path(), "tests/p/test_a.py");
        assert_eq!(node.function(), "tests/p/test_a.py::TestX::test_y");
        assert_eq!(node.param(), Some("a::b[0]"));
    }

    #[test]
    fn enclosing_ids_reach_from_the_directory_to_itself() {
        let node = id("tests/test_a.py::TestX::test_y[1]");
        assert_eq!(
            node.enclosing().collect::<Vec<_>>(),
            [
                "tests",
                "tests/test_a.py",
                "tests/test_a.py::TestX",
                "tests/test_a.py::TestX::test_y",
                "tests/test_a.py::TestX::test_y[1]",
            ]
        );
    }

    #[test]
    fn paths_that_are_not_canonical_are_refused() {
        for bad in [
            "",
            "::x",
            "./a::x",
            "a//b::x",
            "/a::x",
            "a/../b::x",
            "a\\b::x",
            "a::",
            "a/::x",
        ] {
            assert!(bad.parse::<NodeId>().is_err(), "{bad}");
        }
    }
}
