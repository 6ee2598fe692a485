//! The lane (protocol 6): runs properties with pinned seeds, each run in a fresh process, and tells noise
//! from a real failure.
//!
//! The judgement (`model`, `signature`, `classify`, `cause`, `action`, `example`, `junit`, `results`, `router`)
//! is PURE.
//!
//! Invariants:
//! - A run is green only where the framework's own report and the exit status agree on exactly this
//!   node id. Whatever can't be told is *errored*, which is never a pass and never a flake.
//! - A label, a freeze or a wrong guess never removes a run.

pub mod action;
#[cfg(target_os = "linux")]
pub mod bench;
pub mod cause;
pub mod classify;
#[cfg(target_os = "linux")]
pub mod diagnose;
pub mod environment;
pub mod example;
#[cfg(target_os = "linux")]
pub mod frameworks;
pub mod junit;
pub mod model;
#[cfg(target_os = "linux")]
pub mod process;
pub mod results;
pub mod router;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod signature;
#[cfg(target_os = "linux")]
pub mod trial;
#[cfg(target_os = "linux")]
pub mod window;
