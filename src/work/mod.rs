//! The queue and the jobs it runs.
//!
//! Level, not edge: a job means "bring this pull request up to date", or another [`Task`]. A handler reads the newest
//! head itself, and repeats nothing that an earlier attempt left behind.

mod audit;
mod bound;
mod branch;
mod commands;
mod concern;
mod counted;
mod evaluate;
mod foreign;
mod group;
mod heads;
mod jobs;
mod moved;
mod overtaken;
mod propose;
mod required;
mod reviews;
mod runner;
mod seat;
mod stop;
mod sweep;
mod tracking;
mod vanished;

pub use jobs::Jobs;
pub use runner::{Handler, Outcome, Pulse, Runner, RunnerSettings};

pub use crate::store::{Lease, Task};
