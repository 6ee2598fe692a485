//! What the source of a test file says, and what the gate needs of it (protocol section 1, "witness").
//!
//! [`SourceFacts`] hang on a blob alone, so they are read once for ever; [`Sources`] are what one
//! Snapshot keeps of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::FileDigest;

/// What one blob says, read by the grammar of its path's language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFacts {
    /// 1-based line of the first syntax error; then nothing else here can be relied on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<u32>,
    /// In the order of the text. An item that a later definition of the same name replaces is
    /// disabled ("rebound").
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<TestItem>,
    /// What the text imports, includes or declares as a module, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<Import>,
    /// Digest of the text outside of test items: what is left for production when tests are taken
    /// away. In Rust a test item is one under `#[cfg(test)]` or with a test attribute.
    pub rest: FileDigest,
    /// Rust: digest of the text without its test functions: what is left for production together with
    /// what is built to support tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FileDigest>,
    /// Rust: each `mod x;`, with the attributes that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Declared>,
    /// String literals with a directory or an extension in them, as written; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub literals: Vec<String>,
    /// The text may make tests that are no items: by a star import, by attributes that are set when it
    /// runs, by functions, attributes or macros of others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub makes_more: bool,
}

impl SourceFacts {
    /// Stands for every literal where a text has too many of them.
    pub const ANY_LITERAL: &str = "*";
}

/// `mod x;`, which makes another file part of the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Declared {
    pub name: String,
    /// Digest of its attributes and of what it lies in.
    pub how: FileDigest,
}

/// A function, class, module or titled block that a node id can name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestItem {
    /// The names after the path, outermost first, without `\:` escapes and without a parameter.
    pub names: Vec<String>,
    pub sort: ItemSort,
    /// 1-based, of the item with its decorators and attributes.
    pub line: u32,
    pub end_line: u32,
    /// Skipped, ignored or otherwise never run, by itself or by what encloses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// Parameters that are skipped by themselves: what their source says of their id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_rows: Vec<SkippedRow>,
    /// Digest of the item's own text, decorators and attributes included.
    pub text: FileDigest,
    /// The same with the item's own name left out: equal after a mere renaming.
    pub shape: FileDigest,
    /// Digest of what the item stands in: imports, module-level helpers, the enclosing class or
    /// module, without any test item. In Rust, inside `#[cfg(test)]`, only that module.
    pub context: FileDigest,
    /// 1-based line where the source fixes a seed of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The generator of inputs that makes the test a property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemSort {
    /// One test.
    Test,
    /// A class, module or `describe` block that holds tests.
    Group,
    /// A test, or a group, whose title is computed: its names are not known beyond the enclosing ones.
    Computed,
}

/// Why an item does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// 1-based line of what disables it.
    pub line: u32,
    /// In words fit for a finding: "skipped by @pytest.mark.skip".
    pub why: String,
}

/// A parametrised row that is skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRow {
    /// 1-based.
    pub line: u32,
    /// The row's id where the source states it; else it may be any parameter.
    pub id: Option<String>,
}

/// Libraries that generate the inputs of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    Hypothesis,
    Proptest,
    Quickcheck,
    FastCheck,
    Rapid,
    /// Go's own fuzz targets.
    GoFuzz,
}

/// One import, as written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Import {
    /// The module as the language names it: `.helpers`, `pkg.mod`, `./strategies`, `super::common`,
    /// `mod common`, `example.com/m/internal/testutil`.
    pub target: String,
    /// Names taken from it that could be modules themselves (Python `from target import name`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    pub line: u32,
}

impl Import {
    /// The target where the text loads code by something that no path can be read from.
    pub const ANYTHING: &str = "*";
}

/// What a Snapshot keeps of the sources: the listed properties, and the test files of the write-set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// By node id, for every property that a readable map lists.
    pub properties: BTreeMap<String, PropertyFact>,
    /// By path, for every test and property of the write-set, and every production file that may hold
    /// tests, that has a grammar and something to tell.
    pub files: BTreeMap<String, TestFileFact>,
    /// Files of the write-set that a listed property needs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub needed: BTreeSet<String>,
    /// By node id, for every row that takes a vote, unless its file surely holds the test, or has no grammar.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: BTreeMap<String, RowTest>,
}

/// What the merged tree's source says of a test that a row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowTest {
    /// The file was read whole, and does not hold it.
    Absent,
    /// The file could not be read, or may make more tests than it says.
    Unsure,
}

/// What the merged tree's source says of one listed property.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyFact {
    pub presence: Presence,
    /// Its own text and its context are at the merged tree what they are at the base tip; also when it
    /// is at neither.
    pub unchanged: bool,
    /// The patch changes its own text, or takes it away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// A file of the write-set that its file needs, be it by way of others; of several one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// Is it there, and does it run?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// 1-based line.
    Present(u32),
    /// No such item; the id of the one that has its text now, when there is one.
    Absent {
        renamed_to: Option<String>,
    },
    Disabled(Disabled),
    /// 1-based line of the syntax error.
    Broken(u32),
    /// There is no grammar for it, or its title is computed; the text says which. Then its file stands
    /// for it.
    NotLookedAt(String),
    /// The blob could not be had, or is too large to be read; why. What it says is not known.
    Unavailable(String),
}

/// A test file of the write-set, base tip against merged tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFileFact {
    /// Names of test functions that the base tip has and the merged tree has no more, joined by `::`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// A side that is there could not be read, so that what is gone is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
    /// 1-based lines of the merged tree's version where a seed is fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u32>,
    /// A golden or fixture path of the write-set that a string literal of either version names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<String>,
}
