//! The queue and the jobs it runs.
//!
//! Level, not edge: a job means "bring this pull request up to date". A handler reads the newest
//! head itself, and repeats nothing that an earlier attempt left behind.

pub mod evaluate;
mod runner;

pub use runner::{Handler, Outcome, Pulse, Runner, RunnerSettings};

pub use crate::store::Lease;
