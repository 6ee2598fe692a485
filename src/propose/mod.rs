//! Changes of the contract that a command asks for, as the files of one commit on the base tip (interfaces
//! section 7). PURE.
//!
//! Invariant: a proposal holds contract files, and with a lock the fixtures that it pins; nothing else of
//! anybody's patch goes with it.

mod freeze;
mod lock;
mod map;
mod note;

#[cfg(test)]
mod tests;

pub use freeze::{NewFreeze, REASONS, Reopening, close, freeze, owners, reopen, void_node};
pub use lock::lock;
pub use map::map;
pub use note::note;

use sha2::{Digest as _, Sha256};

use crate::config::repo::RepoConfig;
use crate::contract::ContractError;
use crate::model::{BlobFact, EntryKind, Fact, FileDigest, FixtureEntry, Layer, Sha, Snapshot};

/// One commit that a person may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Tells it from others of the repository; a part of a branch's name: `lock/pull-7`.
    pub subject: String,
    /// One line, for people; nothing in it comes alive.
    pub title: String,
    /// Sorted by path; at least one.
    pub files: Vec<ProposedFile>,
    /// Fixtures whose digest changes.
    pub digests: Vec<DigestChange>,
    /// What whoever asked should know: a sentence without a full stop.
    pub remark: Option<String>,
}

/// What becomes of a path of the base tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    pub path: String,
    pub content: Content,
}

impl ProposedFile {
    fn text(path: &str, old: Option<&str>, new: Vec<u8>) -> Result<Self, Unproposed> {
        let new =
            String::from_utf8(new).map_err(|_| Unproposed(format!("{path} would not be UTF-8")))?;
        Ok(Self {
            path: path.to_owned(),
            content: Content::Text {
                old: old.map(str::to_owned),
                new,
            },
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text {
        /// `None`: the base tip has no such file.
        old: Option<String>,
        new: String,
    },
    /// What the pull request's head has there.
    Object(EntryKind, Sha),
    Removed,
}

/// Digests of a fixture; `None` on the side that does not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestChange {
    pub path: String,
    pub old: Option<FileDigest>,
    pub new: Option<FileDigest>,
}

/// Why there is nothing to propose: one sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unproposed(pub String);

impl Unproposed {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl From<ContractError> for Unproposed {
    fn from(error: ContractError) -> Self {
        Self(format!(
            "the base branch's contract has to be mended first: {error}"
        ))
    }
}

/// The digest that pins a fixture.
fn digest_of(snapshot: &Snapshot, entry: &FixtureEntry) -> Result<FileDigest, Unproposed> {
    let path = &entry.path;
    if let Some(why) = &entry.opaque {
        return Err(Unproposed(format!("{path} cannot be pinned: {why}")));
    }
    match snapshot.digests.get(&entry.id).and_then(Fact::known) {
        Some(digest) => Ok(digest.of_file(entry.lfs).clone()),
        None => Err(Unproposed(format!("the bytes of {path} could not be read"))),
    }
}

/// Most characters of a name in a title, which the forge limits to 256.
const LONGEST_LABEL: usize = 120;

/// A path or node id for a title and a commit's message, where the forge reads mentions and closing words and
/// nothing can be quoted: what could be one is left out.
fn label(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | ':' | '_' | '-') => c,
        _ => '_',
    };
    let mut label: String = text.chars().take(LONGEST_LABEL).map(plain).collect();
    if text.chars().nth(LONGEST_LABEL).is_some() {
        label.push_str("...");
    }
    label
}

/// A part of a branch's or a file's name that stands for `text` alone: its letters and digits, and some of
/// its hash, since different texts may share those.
fn tag(text: &str) -> String {
    let mut tag = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => tag.push(c.to_ascii_lowercase()),
            _ if tag.ends_with('-') => {}
            _ => tag.push('-'),
        }
    }
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    let tag: String = tag.trim_matches('-').chars().take(60).collect();
    format!("{}-{}", tag.trim_end_matches('-'), &hash[..8])
}

fn is_off(snapshot: &Snapshot, layer: Layer) -> bool {
    let config = snapshot.contract.get(&Layer::Config);
    config.is_some_and(|file| RepoConfig::of(&file.base).is_off(layer))
}

/// Path and text of a contract file that the base tip has and the configuration does not switch off.
fn in_use(snapshot: &Snapshot, layer: Layer) -> Result<Option<(&str, &str)>, Unproposed> {
    if is_off(snapshot, layer) {
        return Ok(None);
    }
    let (path, text) = base_text(snapshot, layer)?;
    Ok(text.map(|text| (path, text)))
}

/// Path and text of a contract file at the base tip; no text where there is no file.
fn base_text(snapshot: &Snapshot, layer: Layer) -> Result<(&str, Option<&str>), Unproposed> {
    let title = layer.title();
    let Some(file) = snapshot.contract.get(&layer) else {
        return Err(Unproposed(format!("this repository has no {title}")));
    };
    if is_off(snapshot, layer) {
        return Err(Unproposed(format!(
            "the configuration switches the {title} off"
        )));
    }
    let path = file.path.as_str();
    match &file.base {
        BlobFact::Absent => Ok((path, None)),
        BlobFact::Content { bytes, .. } => match std::str::from_utf8(&bytes.0) {
            Ok(text) => Ok((path, Some(text))),
            Err(_) => Err(Unproposed(format!(
                "{path} on the base branch is not UTF-8"
            ))),
        },
        BlobFact::NotRegular(what) => {
            Err(Unproposed(format!("{path} on the base branch is {what}")))
        }
        BlobFact::TooLarge(bytes) => Err(Unproposed(format!(
            "{path} on the base branch is too large ({bytes} bytes)"
        ))),
        BlobFact::Unavailable(why) => Err(Unproposed(format!(
            "{path} of the base branch could not be read ({why})"
        ))),
    }
}
