//! Which runner a test's file belongs to, and the folder that it is run in.
//!
//! The same tree gives the same answer: the file's own imports first, then `scripts.test`, then the
//! dependencies of the nearest `package.json` that names a runner. Two that fit are no answer.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::super::text::plain;

/// Bytes of a `package.json` or a test's file that are looked at.
const LARGEST: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    Vitest,
    Jest,
    Node,
}

impl Runner {
    pub const ALL: [Self; 3] = [Self::Vitest, Self::Jest, Self::Node];

    pub fn name(self) -> &'static str {
        match self {
            Self::Vitest => "vitest",
            Self::Jest => "jest",
            Self::Node => "node:test",
        }
    }

    /// What only its tests import.
    fn module(self) -> &'static str {
        match self {
            Self::Vitest => "vitest",
            Self::Jest => "@jest/globals",
            Self::Node => "node:test",
        }
    }

    fn is_in_script(self, script: &str) -> bool {
        let mut words = script.split_whitespace();
        let is = |word: &str, name: &str| word.rsplit('/').next() == Some(name);
        match self {
            Self::Vitest => words.any(|word| is(word, "vitest") || is(word, "vitest.mjs")),
            Self::Jest => words.any(|word| is(word, "jest") || is(word, "jest.js")),
            Self::Node => words.any(|word| word == "--test"),
        }
    }

    fn is_dependency(self, package: &Value) -> bool {
        let kinds = ["devDependencies", "dependencies"];
        self != Self::Node
            && kinds
                .iter()
                .any(|kind| package[kind].get(self.name()).is_some())
    }

    /// Its configuration lies in this folder.
    fn is_configured(self, folder: &Path, package: &Value) -> bool {
        let any = |names: &[&str], extensions: &[&str]| {
            names.iter().any(|name| {
                extensions
                    .iter()
                    .any(|extension| folder.join(format!("{name}.{extension}")).is_file())
            })
        };
        let scripts = ["ts", "mts", "cts", "js", "mjs", "cjs"];
        match self {
            Self::Vitest => any(&["vitest.config", "vite.config"], &scripts),
            Self::Jest => {
                package.get("jest").is_some()
                    || any(&["jest.config"], &scripts)
                    || any(&["jest.config"], &["json"])
            }
            Self::Node => false,
        }
    }
}

/// How a file's tests are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub runner: Runner,
    /// The folder of its package, from the tree's root; empty for the root.
    pub package: String,
}

/// # Errors
/// Why no runner, or not one alone, fits the file at `path`: a clause.
pub fn detect(tree: &Path, path: &str) -> Result<Setting, String> {
    let packages = packages(tree, path)?;
    let text = plain(&tree.join(path), LARGEST)?.unwrap_or_default();
    let runner = runner(&text, &packages, path)?;
    let own = packages
        .iter()
        .find(|(folder, package)| runner.is_configured(&tree.join(folder), package));
    let named = packages
        .iter()
        .find(|(_, package)| runner.is_dependency(package) || runner.is_in_script(script(package)));
    let folder = own.or(named).or(packages.first());
    Ok(Setting {
        runner,
        package: folder.map(|(folder, _)| folder.clone()).unwrap_or_default(),
    })
}

fn runner(text: &str, packages: &[(String, Value)], path: &str) -> Result<Runner, String> {
    if let Some(runner) = one(path, "imports", |runner| imports(text, runner.module()))? {
        return Ok(runner);
    }
    for (folder, package) in packages {
        let place = match folder.is_empty() {
            true => "package.json".to_owned(),
            false => format!("{folder}/package.json"),
        };
        let by_script = one(&place, "runs as its tests", |runner| {
            runner.is_in_script(script(package))
        })?;
        let found = match by_script {
            None => one(&place, "depends on", |runner| runner.is_dependency(package))?,
            found => found,
        };
        if let Some(runner) = found {
            return Ok(runner);
        }
    }
    Err(format!(
        "no package.json above {path} names vitest, jest or node --test; give a command for it under `lane: {{runners: […]}}` of the configuration"
    ))
}

/// The only runner that fits.
fn one(place: &str, does: &str, fits: impl Fn(Runner) -> bool) -> Result<Option<Runner>, String> {
    let found: Vec<Runner> = Runner::ALL
        .into_iter()
        .filter(|runner| fits(*runner))
        .collect();
    match found.as_slice() {
        [] => Ok(None),
        [runner] => Ok(Some(*runner)),
        [first, second, ..] => Err(format!(
            "{place} {does} {} and {}; give a command for it under `lane: {{runners: […]}}` of the configuration",
            first.name(),
            second.name()
        )),
    }
}

fn script(package: &Value) -> &str {
    package["scripts"]["test"].as_str().unwrap_or_default()
}

/// The file at `path` imports a module; not where it cannot be read.
pub(super) fn file_imports(tree: &Path, path: &str, module: &str) -> bool {
    let text = plain(&tree.join(path), LARGEST).ok().flatten();
    text.is_some_and(|text| imports(&text, module))
}

/// `from 'x'`, `import 'x'`, `require('x')`.
fn imports(text: &str, module: &str) -> bool {
    static IMPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"\b(?:from|import|require)\s*\(?\s*(?:'([^'\n]{1,100})'|"([^"\n]{1,100})")"#)
            .ok()
    });
    IMPORT.as_ref().is_some_and(|import| {
        import.captures_iter(text).any(|found| {
            let name = found.get(1).or(found.get(2));
            name.is_some_and(|name| name.as_str() == module)
        })
    })
}

/// The folders above a file that have a `package.json`, the nearest first, each with what it says.
fn packages(tree: &Path, path: &str) -> Result<Vec<(String, Value)>, String> {
    let mut found = Vec::new();
    let mut folder = path;
    while !folder.is_empty() {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        let file = tree.join(folder).join("package.json");
        if let Some(text) = plain(&file, LARGEST)? {
            let package = serde_json::from_str(&text)
                .map_err(|error| format!("{} is no JSON: {error}", file.display()))?;
            found.push((folder.to_owned(), package));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        tree
    }

    const BOTH: &str = r#"{"devDependencies": {"vitest": "4", "jest": "30"}}"#;

    #[test]
    fn imports_come_before_scripts_and_scripts_before_dependencies() {
        let vitest = r#"{"devDependencies": {"vitest": "4"}}"#;
        let jest = r#"{"dependencies": {"jest": "30"}}"#;
        let script =
            r#"{"scripts": {"test": "node --test tests/"}, "devDependencies": {"jest": "30"}}"#;
        let path = r#"{"scripts": {"test": "FOO=1 ./node_modules/.bin/vitest run"}}"#;
        for (files, runner, package) in [
            (
                &[("package.json", vitest), ("a/t.js", "")][..],
                Runner::Vitest,
                "",
            ),
            (
                &[("package.json", jest), ("a/t.js", "")][..],
                Runner::Jest,
                "",
            ),
            (
                &[("package.json", script), ("a/t.js", "")][..],
                Runner::Node,
                "",
            ),
            (
                &[("package.json", path), ("a/t.js", "")][..],
                Runner::Vitest,
                "",
            ),
            (
                &[
                    ("package.json", BOTH),
                    ("a/t.js", "import test from \"node:test\";"),
                ][..],
                Runner::Node,
                "",
            ),
            (
                &[
                    ("package.json", BOTH),
                    ("a/t.js", "const { it } = require('@jest/globals')"),
                ][..],
                Runner::Jest,
                "",
            ),
            (
                &[
                    ("package.json", BOTH),
                    ("a/package.json", vitest),
                    ("a/t.js", ""),
                ][..],
                Runner::Vitest,
                "a",
            ),
            (
                &[
                    ("package.json", vitest),
                    ("a/package.json", "{}"),
                    ("a/t.js", ""),
                ][..],
                Runner::Vitest,
                "",
            ),
            (
                &[
                    ("package.json", vitest),
                    ("a/package.json", "{}"),
                    ("a/vite.config.ts", ""),
                    ("a/t.js", ""),
                ][..],
                Runner::Vitest,
                "a",
            ),
            (
                &[
                    ("a/package.json", r#"{"jest": {}}"#),
                    ("package.json", jest),
                    ("a/t.js", ""),
                ][..],
                Runner::Jest,
                "a",
            ),
        ] {
            let tree = tree(files);
            let expected = Setting {
                runner,
                package: package.to_owned(),
            };
            assert_eq!(detect(tree.path(), "a/t.js"), Ok(expected), "{files:?}");
        }
    }

    #[test]
    fn what_is_not_one_alone_is_told() {
        for (files, why) in [
            (&[("a/t.js", "")][..], "no package.json above a/t.js"),
            (
                &[("package.json", "{}"), ("a/t.js", "")][..],
                "no package.json above",
            ),
            (
                &[("package.json", BOTH), ("a/t.js", "")][..],
                "depends on vitest and jest",
            ),
            (&[("package.json", "{"), ("a/t.js", "")][..], "is no JSON"),
            (
                &[("a/t.js", "import 'vitest'; import 'node:test'")][..],
                "a/t.js imports vitest and node:test",
            ),
            (
                &[
                    ("package.json", r#"{"scripts": {"test": "jest && vitest"}}"#),
                    ("a/t.js", ""),
                ][..],
                "runs as its tests vitest and jest",
            ),
        ] {
            let tree = tree(files);
            let said = detect(tree.path(), "a/t.js").expect_err(why);
            assert!(said.contains(why), "{why}: {said}");
        }
    }

    #[test]
    fn odd_packages_are_no_packages() {
        for text in [
            "[]",
            "null",
            "3",
            r#"{"scripts": 3, "devDependencies": []}"#,
            r#"{"scripts": {"test": ["jest"]}}"#,
        ] {
            let tree = tree(&[("package.json", text), ("a/t.js", "")]);
            assert!(detect(tree.path(), "a/t.js").is_err(), "{text}");
        }
    }
}
