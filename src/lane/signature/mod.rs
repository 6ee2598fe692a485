//! Failure signatures: whether two failures are the same one (lane-facts 4.1). PURE.
//!
//! *coarse* is where and by which exception; *fine* adds the first line of the message with all that
//! varies by itself taken out; *raw* is the whole message with only addresses, temporary names and
//! durations masked. Line numbers are in none of them.

mod normalise;
#[cfg(test)]
mod tests;

pub use normalise::{first_line, masked, normalised};

use super::model::Failure;
use crate::digest::pieces;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    pub coarse: String,
    pub fine: String,
    pub raw: String,
}

impl Signature {
    pub fn of(failure: &Failure) -> Self {
        let place = failure.frames.last().map_or_else(
            || "-".to_owned(),
            |frame| format!("{}::{}", frame.file, frame.function),
        );
        let coarse = format!(
            "{} | {} @ {place}",
            failure.phase.name(),
            failure.kinds().join("+")
        );
        let fine = format!("{coarse} | {}", normalised(&failure.message));
        let example = failure.example.as_deref().unwrap_or_default();
        let raw = format!(
            "{coarse} | {} | {}",
            masked(&failure.message),
            masked(example)
        );
        Self { coarse, fine, raw }
    }

    /// A short name of the fine signature for rows and tables: 12 hex digits.
    pub fn id(&self) -> String {
        let digest = pieces([self.fine.as_bytes()]);
        digest.as_str()[..12].to_owned()
    }
}
