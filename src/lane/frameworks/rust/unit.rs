//! A package whose tests were built, and which of its binaries holds a test. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::Site;
use super::super::text::quoted;
use crate::lane::environment::Environment;

/// What was built of one package.
#[derive(Debug)]
pub(super) struct Unit {
    /// The workspace's root, from the tree's.
    pub root: PathBuf,
    /// Of the compiler and of what generates values.
    pub versions: BTreeMap<String, String>,
    pub binaries: Vec<Binary>,
    /// The package's own programs, which its tests may start.
    pub programs: BTreeMap<String, String>,
    /// Where the loader looks for libraries.
    pub libraries: Vec<String>,
}

/// One test binary. Paths are from the tree's root, but for the executable's.
#[derive(Debug)]
pub(super) struct Binary {
    pub package: String,
    pub version: String,
    /// As cargo calls it: `lib`, `test`, `bin`, …
    pub kind: String,
    pub name: String,
    /// The file with the crate's root module.
    pub main: PathBuf,
    /// The package's folder.
    pub folder: PathBuf,
    /// Every file that it was compiled from.
    pub sources: BTreeSet<PathBuf>,
    pub executable: String,
    pub out_dir: Option<String>,
}

/// A test as its binary names it.
#[derive(Debug)]
pub(super) struct Test<'u> {
    pub binary: &'u Binary,
    pub path: String,
}

impl Unit {
    /// The test in the file at `source` with these names in it.
    ///
    /// # Errors
    /// When that is not exactly one: a clause.
    pub fn test(&self, source: &str, names: &[String]) -> Result<Test<'_>, String> {
        let file = Path::new(source);
        let own = self.binaries.iter().find(|binary| binary.main == file);
        let holding = self
            .binaries
            .iter()
            .filter(|binary| binary.sources.contains(file));
        let holding: Vec<&Binary> = match own {
            Some(own) => vec![own],
            None => holding.collect(),
        };
        let binary = match holding.as_slice() {
            [one] => one,
            [] => {
                return Err(format!(
                    "{source} is compiled into no test binary of its package; is it declared with `mod`, without a feature?"
                ));
            }
            [one, other, ..] => {
                return Err(format!(
                    "{source} is compiled into the test binaries {} and {}, so it names more than one test",
                    one.said(),
                    other.said()
                ));
            }
        };
        let modules = modules(&binary.main, file)
            .ok_or_else(|| format!("{source} is no module by its place, so its tests cannot be named; `#[path]` is not followed"))?;
        let names = names.iter().map(String::as_str);
        let path: Vec<&str> = modules.iter().map(String::as_str).chain(names).collect();
        Ok(Test {
            binary,
            path: path.join("::"),
        })
    }

    /// What cargo would set for a run of a binary.
    pub fn env(&self, binary: &Binary, site: Site<'_>) -> Environment {
        let folder = site.tree.join(&binary.folder);
        let mut env: Environment = [
            ("CARGO_MANIFEST_DIR", folder.to_string_lossy().into_owned()),
            ("CARGO_PKG_NAME", binary.package.clone()),
            ("CARGO_PKG_VERSION", binary.version.clone()),
            ("LD_LIBRARY_PATH", self.libraries.join(":")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let out_dir = binary.out_dir.iter();
        env.extend(out_dir.map(|path| ("OUT_DIR".to_owned(), path.clone())));
        let programs = self.programs.iter();
        env.extend(programs.map(|(name, path)| (format!("CARGO_BIN_EXE_{name}"), path.clone())));
        env
    }
}

impl Binary {
    /// The words by which cargo is told to test it alone.
    pub fn target_words(&self) -> Vec<String> {
        let name = quoted(&self.name);
        match self.kind.as_str() {
            "test" => vec!["--test".to_owned(), name],
            "bin" => vec!["--bin".to_owned(), name],
            _ => vec!["--lib".to_owned()],
        }
    }

    fn said(&self) -> String {
        format!("{} ({})", self.name, self.kind)
    }
}

/// The modules that lead to a file, by its place beside the root module's.
fn modules(main: &Path, file: &Path) -> Option<Vec<String>> {
    if main == file {
        return Some(Vec::new());
    }
    let below = file.strip_prefix(main.parent()?).ok()?;
    let mut parts: Vec<String> = below
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(kind: &str, main: &str, sources: &[&str]) -> Binary {
        Binary {
            package: "p".to_owned(),
            version: "0.1.0".to_owned(),
            kind: kind.to_owned(),
            name: main.replace('/', "_"),
            main: main.into(),
            folder: "".into(),
            sources: sources.iter().map(PathBuf::from).collect(),
            executable: "/x".to_owned(),
            out_dir: None,
        }
    }

    fn unit() -> Unit {
        Unit {
            root: PathBuf::new(),
            versions: BTreeMap::new(),
            binaries: vec![
                binary(
                    "lib",
                    "src/lib.rs",
                    &[
                        "src/lib.rs",
                        "src/lex.rs",
                        "src/a/mod.rs",
                        "src/a/b.rs",
                        "src/both.rs",
                    ],
                ),
                binary("bin", "src/main.rs", &["src/main.rs", "src/both.rs"]),
                binary(
                    "test",
                    "tests/props.rs",
                    &["tests/props.rs", "tests/common/mod.rs", "src/lib.rs"],
                ),
                binary(
                    "test",
                    "tests/it/main.rs",
                    &["tests/it/main.rs", "tests/it/x.rs", "other/y.rs"],
                ),
            ],
            programs: BTreeMap::new(),
            libraries: Vec::new(),
        }
    }

    #[test]
    fn a_test_is_found_in_the_binary_that_its_file_is_compiled_into() {
        let unit = unit();
        for (source, path, main) in [
            ("src/lib.rs", "tests::t", "src/lib.rs"),
            ("src/lex.rs", "lex::tests::t", "src/lib.rs"),
            ("src/a/mod.rs", "a::tests::t", "src/lib.rs"),
            ("src/a/b.rs", "a::b::tests::t", "src/lib.rs"),
            ("src/main.rs", "tests::t", "src/main.rs"),
            ("tests/props.rs", "tests::t", "tests/props.rs"),
            ("tests/common/mod.rs", "common::tests::t", "tests/props.rs"),
            ("tests/it/x.rs", "x::tests::t", "tests/it/main.rs"),
        ] {
            let names = ["tests", "t"].map(str::to_owned);
            let test = unit.test(source, &names).expect(source);
            assert_eq!(
                (test.path.as_str(), &*test.binary.main),
                (path, Path::new(main)),
                "{source}"
            );
        }
    }

    #[test]
    fn a_file_that_is_in_none_or_in_two_binaries_names_no_test() {
        let unit = unit();
        for (source, why) in [
            ("src/gone.rs", "no test binary"),
            ("src/both.rs", "more than one test"),
            ("other/y.rs", "#[path]"),
        ] {
            let said = unit.test(source, &["t".to_owned()]).expect_err(source);
            assert!(said.contains(why), "{source}: {said}");
        }
    }

    #[test]
    fn cargo_is_told_one_target() {
        let words: Vec<Vec<String>> = unit().binaries.iter().map(Binary::target_words).collect();
        assert_eq!(words[0], ["--lib"]);
        assert_eq!(words[1], ["--bin", "src_main.rs"]);
        assert_eq!(words[2], ["--test", "tests_props.rs"]);
    }
}
