//! Each changed path has exactly one class; the first that matches wins (protocol section 2). PURE.

use std::collections::BTreeSet;

use super::prefixes::PrefixIndex;
use crate::config::repo::RepoConfig;
use crate::contract::glob::{GlobError, GlobList};
use crate::contract::map::HunkMap;
use crate::model::{Class, Layer};

/// Built-in globs of class property.
pub const PROPERTIES: &[&str] = &["tests/properties/**"];

/// What decides how or whether tests run. Manifests are harness by key (see [`super::manifest`]).
pub const HARNESS: &[&str] = &[
    "**/conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    "*.pth",
    "sitecustomize.py",
    "usercustomize.py",
    "**/*.pyc",
    "**/__pycache__/**",
    ".hypothesis/**",
    "**/build.rs",
    ".cargo/**",
    ".config/nextest.toml",
    "**/proptest-regressions/**",
    "tsconfig*.json",
    "**/jest.config.*",
    "**/vitest.config.*",
    "**/karma.conf.*",
    "**/playwright.config.*",
    ".mocharc*",
    "requirements*.txt",
    "Makefile",
    "justfile",
    ".github/workflows/**",
    ".github/actions/**",
    ".github/CODEOWNERS",
    ".gitlab-ci.yml",
    ".circleci/**",
    ".gitattributes",
    ".gitmodules",
    ".lfsconfig",
    "**/pyproject.toml",
    "**/package.json",
    "**/Cargo.toml",
    "**/setup.py",
    "**/go.mod",
    // Lock files of package managers.
    "**/Cargo.lock",
    "**/package-lock.json",
    "**/npm-shrinkwrap.json",
    "**/yarn.lock",
    "**/pnpm-lock.yaml",
    "**/bun.lock",
    "**/bun.lockb",
    "**/deno.lock",
    "**/poetry.lock",
    "**/Pipfile.lock",
    "**/pdm.lock",
    "**/uv.lock",
    "**/pixi.lock",
    "**/go.sum",
    "**/Gemfile.lock",
    "**/composer.lock",
    "**/mix.lock",
    "**/pubspec.lock",
    "**/gradle.lockfile",
    "**/packages.lock.json",
];

/// Expected outputs; besides these, data files under `tests/**` and `test/**`.
pub const GOLDEN: &[&str] = &[
    "**/__snapshots__/**",
    "**/*.snap",
    "**/snapshots/**",
    "**/testdata/**",
    "**/golden/**",
    "**/goldens/**",
    "**/*.golden",
    "**/expected/**",
    "**/*.approved.*",
    "**/*.ambr",
];

/// Files that are named like a test (order 6).
pub const TESTS_BY_NAME: &[&str] = &[
    "**/__tests__/**",
    "**/*.test.*",
    "**/*.spec.*",
    "**/*_test.{go,py,rs}",
    "**/test_*.py",
    "**/tests.rs",
];

/// Production code, unless the configuration replaces the list.
pub const PRODUCTION: &[&str] = &[
    "src/**",
    "lib/**",
    "app/**",
    "crates/*/src/**",
    "packages/*/{src,lib}/**",
    "apps/*/**",
    "cmd/**",
    "internal/**",
    "pkg/**",
];

/// Behavior notes.
pub const NOTES: &[&str] = &["docs/behavior/**"];

const TEST_DIRS: &[&str] = &["tests/**", "test/**"];
const PROSE: &[&str] = &["md", "rst", "adoc"];

/// Extensions of programming languages, lower case, sorted.
const LANGUAGES: &[&str] = &[
    "bash", "bat", "c", "cc", "cjs", "clj", "cljc", "cljs", "cmd", "cpp", "cs", "cts", "cxx",
    "dart", "elm", "erl", "ex", "exs", "fish", "fs", "go", "groovy", "h", "hh", "hpp", "hrl", "hs",
    "hxx", "java", "jl", "js", "jsx", "kt", "kts", "lua", "m", "mjs", "ml", "mli", "mm", "mts",
    "nim", "php", "pl", "pm", "ps1", "pxd", "py", "pyi", "pyx", "r", "rb", "rs", "scala", "sh",
    "svelte", "swift", "ts", "tsx", "vb", "vue", "zig", "zsh",
];

/// The file's extension, lower-cased; a leading dot is none.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ext)) if !stem.is_empty() => Some(ext.to_lowercase()),
        _ => None,
    }
}

/// Whether the extension is a programming language's.
pub fn is_code(path: &str) -> bool {
    extension(path).is_some_and(|ext| LANGUAGES.binary_search(&ext.as_str()).is_ok())
}

/// Whether the path is documentation by its extension.
pub fn is_prose(path: &str) -> bool {
    extension(path).is_some_and(|ext| PROSE.contains(&ext.as_str()))
}

/// Whether `path` is `dir` or lies below it.
pub fn is_at_or_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Built-in and configured globs of class property.
pub fn property_globs(config: &RepoConfig) -> Vec<&str> {
    globs(PROPERTIES, &config.paths.properties)
}

/// The globs of class production: the configured ones, or the built-in.
pub fn production_globs(config: &RepoConfig) -> Vec<&str> {
    if config.paths.production.is_empty() {
        PRODUCTION.to_vec()
    } else {
        config.paths.production.iter().map(String::as_str).collect()
    }
}

/// Built-in globs with the configured ones.
fn globs<'a>(built_in: &[&'a str], configured: &'a [String]) -> Vec<&'a str> {
    let configured = configured.iter().map(String::as_str);
    built_in.iter().copied().chain(configured).collect()
}

/// Compiles a list. [`check`] has refused a configuration whose lists do not compile.
fn list(globs: Vec<&str>) -> GlobList {
    GlobList::new(globs).unwrap_or_default()
}

/// Checks that the configured globs compile together with the built-in ones, so that no class is ever
/// left empty.
///
/// # Errors
/// The first list that does not compile.
pub fn check(config: &RepoConfig) -> Result<(), GlobError> {
    let paths = &config.paths;
    for globs in [
        property_globs(config),
        production_globs(config),
        globs(HARNESS, &paths.harness),
        globs(GOLDEN, &paths.golden),
        globs(TESTS_BY_NAME, &paths.tests),
        globs(NOTES, &paths.notes),
        globs(&[], &paths.inline_properties),
        globs(&[], &paths.sensitive),
        globs(&[], &paths.ignored),
    ] {
        GlobList::new(globs)?;
    }
    Ok(())
}

/// Gives paths their class, by the base tip's configuration, lock roots and map.
pub struct Classifier {
    contract: BTreeSet<String>,
    ledgers: BTreeSet<String>,
    roots: Vec<String>,
    map: PrefixIndex,
    properties: GlobList,
    inline_properties: GlobList,
    harness: GlobList,
    configured_harness: GlobList,
    golden: GlobList,
    tests: GlobList,
    test_dirs: GlobList,
    production: GlobList,
    production_is_default: bool,
    notes: GlobList,
    sensitive: GlobList,
    ignored: GlobList,
}

impl Classifier {
    pub fn new(config: &RepoConfig, roots: Vec<String>, map: Option<&HunkMap>) -> Self {
        let guarded = |layers: &[Layer]| -> BTreeSet<String> {
            layers
                .iter()
                .map(|layer| config.guarded_path(*layer).to_owned())
                .collect()
        };
        let rules = map.map_or(&[][..], |map| map.rules.as_slice());
        let paths = &config.paths;
        let production_is_default = paths.production.is_empty();
        Self {
            contract: guarded(&Layer::ALL),
            ledgers: guarded(&[
                Layer::Ledger,
                Layer::Evidence,
                Layer::Seeds,
                Layer::FrozenTests,
            ]),
            roots,
            map: PrefixIndex::new(rules.iter().map(|rule| rule.path_prefix.as_str())),
            properties: list(property_globs(config)),
            inline_properties: list(globs(&[], &paths.inline_properties)),
            harness: list(globs(HARNESS, &paths.harness)),
            configured_harness: list(globs(&[], &paths.harness)),
            golden: list(globs(GOLDEN, &paths.golden)),
            tests: list(globs(TESTS_BY_NAME, &paths.tests)),
            test_dirs: list(TEST_DIRS.to_vec()),
            production: list(production_globs(config)),
            production_is_default,
            notes: list(globs(NOTES, &paths.notes)),
            sensitive: list(globs(&[], &paths.sensitive)),
            ignored: list(globs(&[], &paths.ignored)),
        }
    }

    /// The class of a path.
    pub fn classify(&self, path: &str) -> Class {
        if self.contract.contains(path) {
            Class::Contract
        } else if self.is_fixture(path) {
            Class::Fixture
        } else if self.properties.is_match(path) {
            Class::Property
        } else if self.harness.is_match(path) {
            Class::Harness
        } else if self.golden.is_match(path) || self.is_test_data(path) {
            Class::Golden
        } else if self.tests.is_match(path) {
            Class::Test
        } else if self.is_production(path) {
            Class::Production
        } else if self.notes.is_match(path) {
            Class::Note
        } else if self.test_dirs.is_match(path) {
            Class::Test
        } else {
            Class::Other
        }
    }

    fn is_fixture(&self, path: &str) -> bool {
        self.roots.iter().any(|root| is_at_or_below(path, root))
    }

    fn is_test_data(&self, path: &str) -> bool {
        self.test_dirs.is_match(path) && !is_code(path) && !is_prose(path)
    }

    fn is_production(&self, path: &str) -> bool {
        self.map.matches(path)
            || (self.production.is_match(path) && !(self.production_is_default && is_prose(path)))
    }

    /// A path of class test that is named like a test (order 6).
    pub fn is_named_like_a_test(&self, path: &str) -> bool {
        self.tests.is_match(path)
    }

    /// A file whose items may be properties (`paths.inline_properties`).
    pub fn holds_inline_properties(&self, path: &str) -> bool {
        self.inline_properties.is_match(path)
    }

    /// The configuration names the path as harness, whatever changes in it.
    pub fn is_configured_harness(&self, path: &str) -> bool {
        self.configured_harness.is_match(path)
    }

    pub fn is_sensitive(&self, path: &str) -> bool {
        self.sensitive.is_match(path)
    }

    pub fn is_ignored(&self, path: &str) -> bool {
        self.ignored.is_match(path)
    }

    /// The seed ledger, the evidence ledger, the seed corpus or the frozen tests list.
    pub fn is_ledger(&self, path: &str) -> bool {
        self.ledgers.contains(path)
    }

    /// Paths of class contract.
    pub fn contract_paths(&self) -> impl Iterator<Item = &str> {
        self.contract.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
