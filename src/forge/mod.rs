//! The forge as a source of facts and a place to publish.
//!
//! Invariant: an answer that did not arrive whole is a [`ForgeError`] or a fact that says so, never an
//! empty list. No token and no key appears in an error text or a log line. octocrab stays inside
//! [`github`].

mod error;
pub mod github;

pub use error::ForgeError;
