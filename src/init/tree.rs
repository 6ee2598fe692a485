//! The listing that everything is proposed from.

use crate::model::{EntryKind, is_canonical_path};

/// Directories that hold no production code of a project, wherever they are.
const ASIDE: &[&str] = &[
    "__fixtures__",
    "__mocks__",
    "__tests__",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "build",
    "ci",
    "demo",
    "demos",
    "dist",
    "doc",
    "docs",
    "e2e",
    "example",
    "examples",
    "external",
    "fixtures",
    "fuzz",
    "node_modules",
    "sample",
    "samples",
    "script",
    "scripts",
    "site",
    "spec",
    "specs",
    "target",
    "test",
    "testdata",
    "tests",
    "third_party",
    "vendor",
    "website",
    "xtask",
];

/// The tracked files, sorted by path. Paths that the contract cannot name are left out and counted.
#[derive(Debug, Default)]
pub struct Tree {
    files: Vec<(String, EntryKind)>,
    pub unnameable: usize,
}

impl Tree {
    pub fn new(files: impl IntoIterator<Item = (String, EntryKind)>) -> Self {
        let mut unnameable = 0;
        let mut files: Vec<_> = files
            .into_iter()
            .filter(|(path, _)| {
                let is_good = is_canonical_path(path) && !path.contains('\u{fffd}');
                unnameable += usize::from(!is_good);
                is_good
            })
            .collect();
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { files, unnameable }
    }

    /// Every entry, with links and submodules.
    pub fn entries(&self) -> impl Iterator<Item = (&str, EntryKind)> {
        self.files.iter().map(|(path, kind)| (path.as_str(), *kind))
    }

    /// Regular files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries()
            .filter(|(_, kind)| kind.is_regular())
            .map(|(path, _)| path)
    }

    /// Whether a regular file is there.
    pub fn has(&self, path: &str) -> bool {
        self.files
            .binary_search_by(|(other, _)| other.as_str().cmp(path))
            .is_ok_and(|at| self.files[at].1.is_regular())
    }

    /// Regular files below a directory; all of them for the empty path.
    pub fn below(&self, directory: &str) -> impl Iterator<Item = &str> {
        let prefix = match directory {
            "" => String::new(),
            _ => format!("{directory}/"),
        };
        let start = self.files.partition_point(|(path, _)| *path < prefix);
        self.files[start..]
            .iter()
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .filter(|(_, kind)| kind.is_regular())
            .map(|(path, _)| path.as_str())
    }

    /// Whether anything lies below a directory.
    pub fn has_below(&self, directory: &str) -> bool {
        self.below(directory).next().is_some()
    }
}

/// The directory of a path; empty at the root.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The last component.
pub fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The last component without its last extension.
pub fn stem(path: &str) -> &str {
    let name = name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// The last component's extension as it stands; empty without one.
pub fn extension(path: &str) -> &str {
    match name(path).rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => "",
    }
}

/// `path` below `directory`, which may be empty.
pub fn join(directory: &str, path: &str) -> String {
    match (directory, path) {
        ("", _) => path.to_owned(),
        (_, "") => directory.to_owned(),
        _ => format!("{directory}/{path}"),
    }
}

/// What is left of `path` below `directory`.
pub fn inside<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    match directory {
        "" => Some(path),
        _ => path.strip_prefix(directory)?.strip_prefix('/'),
    }
}

/// The directories above a path, outermost first.
pub fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Whether a directory above the file says that it is no production code: documentation, examples,
/// tests, what others wrote, and hidden directories.
pub fn is_aside(path: &str) -> bool {
    parent(path).split('/').any(|part| {
        let word = part.replace('-', "_");
        part.starts_with('.')
            || word.starts_with("test_")
            || ["_test", "_tests", "_examples"]
                .iter()
                .any(|end| word.ends_with(end))
            || ASIDE.binary_search(&part).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_directories_is_sorted() {
        assert!(ASIDE.is_sorted());
    }

    #[test]
    fn a_directory_holds_what_lies_below_it_and_not_its_neighbours() {
        let file = |path: &str| (path.to_owned(), EntryKind::File);
        let tree = Tree::new([
            file("a-b/x"),
            file("a/x"),
            file("a/b/y"),
            file("a.txt"),
            file("bad\n"),
            ("a/link".to_owned(), EntryKind::Symlink),
        ]);
        assert_eq!(tree.below("a").collect::<Vec<_>>(), ["a/b/y", "a/x"]);
        assert_eq!(tree.below("").count(), 4);
        assert_eq!(tree.unnameable, 1);
        assert!(tree.has("a/x") && !tree.has("a/link") && !tree.has("a"));
    }

    #[test]
    fn examples_and_hidden_directories_are_aside() {
        assert!(is_aside("examples/a.py") && is_aside("a/.x/b.go") && is_aside("p/tests/x.py"));
        assert!(is_aside("typing-examples/a.py") && is_aside("test-cases/src/lib.rs"));
        assert!(!is_aside("examples.py") && !is_aside("pkg/build.py") && !is_aside("a/b.py"));
    }
}
