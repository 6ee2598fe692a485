//! The gate: Snapshot in, Decision out. PURE.
//!
//! Invariant: total, and it never passes by accident. Every path of the write-set brings an effect,
//! the strongest wins, and what could not be had refuses.

pub mod facts;
pub mod kind;

use crate::model::{Decision, Snapshot};

/// Evaluates every rule of protocol 5.2 on `snapshot`.
pub fn decide(snapshot: &Snapshot) -> Decision {
    let _ = snapshot;
    todo!()
}
