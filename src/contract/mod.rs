//! The contract files of protocol section 3: parse, validate, write. PURE.
//!
//! Invariant: strict. What is not exactly what the protocol says is a [`ContractError`] that names
//! the file, the line and column, and what was expected. No input panics, takes the stack or more
//! memory than a small multiple of its size.

pub mod catalog;
pub mod digests;
pub(crate) mod document;
pub mod evidence;
pub mod freezes;
pub mod frozen_tests;
pub mod glob;
pub(crate) mod json;
pub mod ledger;
pub mod lock;
pub mod map;
pub(crate) mod reader;
pub mod recorded;
pub mod replay;
pub mod rows;
pub mod schema;
pub mod seed;
pub mod seeds;
pub(crate) mod yaml;

/// Why a contract file is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {message}")]
pub struct ContractError {
    /// Repository path of the file.
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// "expected an integer, found a string", with a "did you mean" where one is near.
    pub message: String,
}
