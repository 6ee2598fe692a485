//! The local repository (gix): merge bases, merged tree, write-set, blobs, attributes.
//!
//! Invariants: only the repository's own commits have a say (no work tree, no configuration of user or
//! machine, no replacement objects), unless the work tree is what is asked for; nothing in it is
//! executed; nothing is written to it but the facts under `<git dir>/frostline/`, which may be deleted at
//! any time. What the gate has to judge
//! is a [`crate::model::Fact`]; what keeps it from judging at all is a [`GitError`].

pub(crate) mod attributes;
mod audit;
mod cache;
mod contract;
mod digests;
mod error;
#[cfg(unix)]
mod export;
mod files;
pub(crate) mod fixtures;
mod gather;
mod history;
mod hunks;
mod keep;
mod likeness;
mod line;
mod merge;
mod open;
mod packs;
mod parallel;
mod renames;
mod scopes;
mod similarity;
mod sources;
mod tree;
mod work_tree;
mod write_set;

pub use audit::audit;
pub use error::GitError;
pub use files::{Files, FoundFile};
pub use gather::{Head, Request, gather, judge};
pub use line::{Before, Line, Step};
