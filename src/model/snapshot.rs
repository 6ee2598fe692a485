//! Everything a decision needs, as one immutable, serialisable value (`architecture.md` section 1).
//!
//! A Snapshot is filled in by a gatherer (local git or the forge) and read by [`crate::gate`]; it is
//! stored with the decision, so that `decide` and bug reports need neither repository nor network.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{FileDigest, ForeignCheck, LaneFact, Person, Requirement, Reviews, Sha, Sources};

/// Value of [`Snapshot::schema`].
pub const SNAPSHOT_SCHEMA: &str = "frostline.snapshot/1";

/// A fact that may not have been had. Anything but `Known` makes a decision *undetermined*.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact<T> {
    Known(T),
    /// It does not exist where it must (no merge base, a missing object).
    Missing(String),
    /// It exists, but could not be had whole; the text says why, in words fit for a user.
    Unavailable(String),
    /// The forge or a limit cut it off.
    Truncated(String),
}

impl<T> Fact<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }

    /// Why the fact is not known; `None` when it is.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Missing(why) | Self::Unavailable(why) | Self::Truncated(why) => Some(why),
        }
    }
}

/// Bytes of a file that may not be UTF-8; JSON holds text as text and the rest as base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileBytesRepr {
    Text(String),
    Base64(String),
}

impl Serialize for FileBytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        match std::str::from_utf8(&self.0) {
            Ok(text) => FileBytesRepr::Text(text.to_owned()),
            Err(_) => {
                FileBytesRepr::Base64(base64::engine::general_purpose::STANDARD.encode(&self.0))
            }
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FileBytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use base64::Engine as _;
        match FileBytesRepr::deserialize(deserializer)? {
            FileBytesRepr::Text(text) => Ok(Self(text.into_bytes())),
            FileBytesRepr::Base64(text) => base64::engine::general_purpose::STANDARD
                .decode(text)
                .map(Self)
                .map_err(serde::de::Error::custom),
        }
    }
}

/// The content of one contract file at one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlobFact {
    /// The tree has no entry at the path.
    Absent,
    /// An entry that is no regular file: "a symlink", "a submodule", "a directory".
    NotRegular(String),
    /// Larger than a contract file may be; bytes.
    TooLarge(u64),
    /// The object could not be read; why.
    Unavailable(String),
    Content {
        id: Sha,
        bytes: FileBytes,
    },
}

/// A layer of the contract (protocol section 3), in the order of its sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Config,
    Lock,
    Freezes,
    Map,
    Ledger,
    Catalog,
    Evidence,
    FrozenTests,
    Seeds,
}

impl Layer {
    pub const ALL: [Self; 9] = [
        Self::Config,
        Self::Lock,
        Self::Freezes,
        Self::Map,
        Self::Ledger,
        Self::Catalog,
        Self::Evidence,
        Self::FrozenTests,
        Self::Seeds,
    ];

    /// Where the layer lives unless the configuration moves it.
    pub fn default_path(self) -> &'static str {
        match self {
            Self::Config => ".github/frostline.yml",
            Self::Lock => "test/contract/fixtures.lock.json",
            Self::Freezes => "test/contract/flake-freeze.json",
            Self::Map => "test/contract/hunk-map.json",
            Self::Ledger => "tests/seed_freeze.json",
            Self::Catalog => "test/contract/properties.json",
            Self::Evidence => "test/contract/evidence.jsonl",
            Self::FrozenTests => "frozen_tests.txt",
            Self::Seeds => "test/contract/seeds.json",
        }
    }

    /// The layer's key under `contract:`; `None` for the configuration itself, which cannot move.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::Config => None,
            Self::Lock => Some("lock"),
            Self::Freezes => Some("freezes"),
            Self::Map => Some("map"),
            Self::Ledger => Some("ledger"),
            Self::Catalog => Some("catalog"),
            Self::Evidence => Some("evidence"),
            Self::FrozenTests => Some("frozen_tests"),
            Self::Seeds => Some("seeds"),
        }
    }

    /// What messages call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Config => "configuration",
            Self::Lock => "fixture lock",
            Self::Freezes => "freeze list",
            Self::Map => "hunk map",
            Self::Ledger => "seed ledger",
            Self::Catalog => "property catalog",
            Self::Evidence => "evidence ledger",
            Self::FrozenTests => "frozen tests list",
            Self::Seeds => "seed corpus",
        }
    }
}

/// One contract file at the base tip and in the merged tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractFile {
    pub path: String,
    pub base: BlobFact,
    /// `None`: the merged tree has the very entry of the base tip (or there is no merged tree).
    pub merged: Option<BlobFact>,
}

/// Kind of a tree entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    File,
    Executable,
    Symlink,
    Submodule,
}

impl EntryKind {
    pub fn is_regular(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// A tree entry that is no directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub kind: EntryKind,
    pub id: Sha,
}

/// How a path of the write-set changed, in GitHub's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    Added,
    Removed,
    Modified,
    /// The new side of a rename; the old side is an entry of its own, `Removed`.
    Renamed,
    /// Only the kind of the entry changed (mode, symlink, submodule).
    TypeChanged,
}

/// A changed hunk, 1-based lines; a count of 0 means an insertion after / deletion before that line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
}

/// One path of the write-set (protocol section 1).
///
/// `path` is the git path, decoded lossily: bytes that are not UTF-8 appear as U+FFFD, and then
/// `raw_path_hex` holds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_path_hex: Option<String>,
    /// For `Renamed`: where it came from.
    pub old_path: Option<String>,
    pub status: ChangeStatus,
    /// The entry at the base tip.
    pub base: Option<Entry>,
    /// The entry in the merged tree; `None` also when there is no merged tree and head has none.
    pub merged: Option<Entry>,
    /// Hunks between the merge base and head, on head's lines; empty for binary files, for files too
    /// large to diff, and for changes that are no text edit.
    pub hunks: Vec<Hunk>,
    /// The blob begins with `#!`; looked up only where the class could hang on it.
    pub shebang: bool,
    /// What the bytes of both sides say, beyond the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Only>,
    /// For `path-collision`: another spelling of this path, or of a directory above it, that the
    /// merged tree, a contract file or a fixtures root has. See [`crate::gate::facts`].
    pub collides_with: Option<String>,
}

/// A change that touches less than its path lets fear (protocol section 2, orders 4 and 7). Both sides are
/// regular files of one kind, and what is said is proved from their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Only {
    /// A manifest, in keys that do not decide how or whether tests run.
    OtherKeys,
    /// A production file, in the text of test functions only.
    TestItems,
    /// A production file, in what is built for tests only (`#[cfg(test)]`), and not in test functions
    /// alone.
    TestSupport,
}

/// What is known of one blob's bytes; keyed by blob id, so it is computed once for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobDigest {
    pub sha256: FileDigest,
    /// The digest with CRLF read as LF; only where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lf_sha256: Option<FileDigest>,
    /// The blob is a canonical Git LFS pointer (spec v1, three lines) with this oid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lfs_oid: Option<FileDigest>,
}

impl BlobDigest {
    /// The digest that stands for a file: a canonical LFS pointer where attributes give `filter=lfs`
    /// stands for the bytes that it points to (protocol section 4).
    pub fn of_file(&self, lfs: bool) -> &FileDigest {
        match &self.lfs_oid {
            Some(oid) if lfs => oid,
            _ => &self.sha256,
        }
    }
}

/// One entry under a fixtures root of the merged tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixtureEntry {
    /// From the repository root, lossily decoded.
    pub path: String,
    pub kind: EntryKind,
    pub id: Sha,
    /// The merged tree's attributes give `filter=lfs`.
    pub lfs: bool,
    /// Why the bytes that a test reads could differ from the bytes that are hashed (protocol
    /// section 4, `opaque-fixture`); `None` for an ordinary fixture.
    pub opaque: Option<String>,
}

/// Who brings the patch, as far as protocol 5.4 asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    Agent,
    Person,
}

/// The pull request's author, the kind that was decided and what it was decided from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub kind: AuthorKind,
    pub login: Option<String>,
    /// One sentence, for people: "login matches acme-coder[bot]".
    pub evidence: String,
}

/// Facts about the merged tree as a whole, computed by [`crate::gate::facts`] from its listing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// For every file that a rule of a map or a row of the freeze list names: is it there, and what
    /// is it? A path without an entry here was not asked for.
    pub files: BTreeMap<String, Option<EntryKind>>,
    /// For every `path_prefix` of a map: does a file of the merged tree start with it?
    pub prefixes: BTreeMap<String, bool>,
    /// For every glob of a catalog: does a file of the merged tree match it?
    #[serde(default)]
    pub globs: BTreeMap<String, bool>,
    /// Does the merged tree hold any file of class production?
    pub has_production: bool,
    /// Every file of class production, when the patch proposes a map or a freeze list (the holes that
    /// it would open are shown before it lands); empty otherwise.
    pub production: Vec<String>,
}

/// What fixture scopes need beyond [`Snapshot::fixtures`] (protocol 3.6). Digests of these files are among
/// [`Snapshot::digests`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeFacts {
    /// Files of the merged tree outside the fixtures roots that a scope holds, and test files that a row
    /// states the digest of; sorted by path.
    pub files: Vec<FixtureEntry>,
    /// Why those files could not be told of: then no scope has a digest.
    pub unread: Option<String>,
    /// What the base tip has at each path of a scope that the write-set changes, with what the merged
    /// tree's attributes say; sorted by path.
    pub before: Vec<FixtureEntry>,
    /// The digest in the seed form of each folder that a row states one of; `Missing` where it can never be
    /// had.
    pub seed_forms: BTreeMap<String, Fact<String>>,
    /// For each changed fixture, a behavior note that names its path and its new digest (protocol 5.2,
    /// `fixture-note-missing`).
    pub notes: BTreeMap<String, String>,
    /// Why behavior notes could not be read.
    pub notes_unread: Option<String>,
}

/// What is judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Commits that would be merged into the base tip.
    #[default]
    Patch,
    /// The same, with what the work tree holds as a last commit that exists nowhere: [`Snapshot::head`]
    /// is its id.
    WorkTree,
    /// One commit by itself (protocol 5.6): base, head and merge base are that commit, and the write-set
    /// is every production path of it, and the code that no class but *other* holds.
    Audit,
}

impl Subject {
    pub fn is_patch(&self) -> bool {
        *self == Self::Patch
    }
}

/// The input of [`crate::gate::decide`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Always [`SNAPSHOT_SCHEMA`].
    pub schema: String,
    #[serde(default, skip_serializing_if = "Subject::is_patch")]
    pub subject: Subject,
    /// `owner/name`, or the folder's name for a local repository.
    pub repository: String,
    /// The guarded branch by whose contract the patch is judged.
    pub branch: String,
    /// Set when the patch goes into a branch that is not guarded: that branch's name.
    pub into_unguarded: Option<String>,
    pub base: Sha,
    pub head: Sha,
    /// All merge bases of base tip and head.
    pub merge_bases: Fact<Vec<Sha>>,
    /// Evaluation time; nothing else in the gate reads a clock.
    pub now: DateTime<Utc>,
    /// Has the default branch's tip the configuration, or any of lock, freeze list, map, ledger?
    pub opted_in: bool,
    pub author: Author,
    /// Every layer that is not moved away or off; keyed by layer. A layer that is `off` is still here
    /// at its default path (a change of it is still a contract change).
    pub contract: BTreeMap<Layer, ContractFile>,
    /// Id of the merged tree; not known on a conflict or without a merge base.
    pub merged_tree: Fact<Sha>,
    /// Sorted by path.
    pub write_set: Fact<Vec<Change>>,
    /// Every entry under the fixtures roots (those of the base tip's lock and of the merged tree's),
    /// sorted by path.
    pub fixtures: Fact<Vec<FixtureEntry>>,
    /// Digests by blob id, for every regular fixture that is not opaque.
    pub digests: BTreeMap<Sha, Fact<BlobDigest>>,
    /// What the merged tree holds, for rules that ask for more than the write-set.
    pub tree: Fact<TreeFacts>,
    /// What the sources of the listed properties and of the write-set's tests say.
    pub sources: Fact<Sources>,
    /// At whose command this App made the head; `None` when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_by: Option<Vec<Person>>,
    /// What fixture scopes need beyond the fixtures of the merged tree.
    #[serde(default)]
    pub scopes: ScopeFacts,
    /// What people said; looked at only where a person has to approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviews: Option<Reviews>,
    /// Check-runs of other Apps under our name on this head; looked at only where an event told of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_checks: Option<Fact<Vec<ForeignCheck>>>,
    /// What the branch's rules say of our check; looked at only where there is a forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Requirement>,
    /// What the lane came to; `None` where none ran, and then step 6 is left out (protocol 5.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneFact>,
    /// What gathering cost; copied into the decision's `stats`.
    pub stats: Stats,
}

/// What a decision cost. The only part of a decision that may differ between two equal inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Fixtures under the roots.
    pub fixtures: u64,
    /// Fixtures whose bytes had to be read.
    pub fixtures_hashed: u64,
    pub bytes_hashed: u64,
    pub forge_requests: u64,
    pub elapsed_ms: u64,
}
