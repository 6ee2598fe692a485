//! Changes of the contract that a command asks for, as the files of one commit on the base tip (interfaces
//! section 7). PURE.
//!
//! Invariant: a proposal holds contract files, and with a lock the fixtures that it pins; nothing else of
//! anybody's patch goes with it.

mod lock;

#[cfg(test)]
mod tests;

pub use lock::lock;

use crate::contract::ContractError;
use crate::model::{BlobFact, EntryKind, FileDigest, Layer, Sha, Snapshot};

/// One commit that a person may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Tells it from others of the repository; a part of a branch's name: `lock/pull-7`.
    pub subject: String,
    /// One line, for people.
    pub title: String,
    /// Sorted by path; at least one.
    pub files: Vec<ProposedFile>,
    /// Fixtures whose digest changes.
    pub digests: Vec<DigestChange>,
}

/// What becomes of a path of the base tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    pub path: String,
    pub content: Content,
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

/// Path and text of a contract file at the base tip; no text where there is no file.
fn base_text(snapshot: &Snapshot, layer: Layer) -> Result<(&str, Option<&str>), Unproposed> {
    let title = layer.title();
    let Some(file) = snapshot.contract.get(&layer) else {
        return Err(Unproposed(format!("this repository has no {title}")));
    };
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
