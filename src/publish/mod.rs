//! From a decision to what people see on the forge: [`plan`] (PURE) and [`apply`].
//!
//! Invariant: publishing repeats nothing. Every write is preceded by a note in the store of what it is
//! about to make, so that a retry finds on the forge what an earlier try left there.

pub mod apply;
pub mod links;
pub mod plan;
