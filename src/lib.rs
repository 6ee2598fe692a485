//! Frostline judges pull requests written by coding agents.
//!
//! ```text
//! webhook ─ verify ─ store delivery + job (one transaction) ─ 202
//!                               │
//!                     work: lease a job "bring PR n up to date"
//!                               │
//!         forge/local git ── gather ──▶ Snapshot ──▶ gate::decide ──▶ Decision
//!                                     (plain data)     (pure)            │
//!                                                          publish::plan(previous, Decision)  (pure)
//!                                                                        │
//!                                                         publish::apply ─ check-run, comment
//! ```
//!
//! Invariants:
//! - [`gate::decide`] is total and pure: the same Snapshot gives the same bytes.
//! - What could not be had is a value in the Snapshot, and never becomes a pass.
//! - Contract files are read from the base branch, never from the patch.
//! - Publishing repeats nothing: a retry finds what an earlier try left.
//! - PURE rooms (`model`, `contract`, `config::repo`, `gate`, `digest`, `command`, `propose`, `render`,
//!   `source`, `publish::plan`, the judgement of `lane`) read no file, clock, environment or socket; a test keeps them so.

pub mod cli;
pub mod command;
pub mod config;
pub mod contract;
pub mod demo;
pub mod digest;
pub mod forge;
pub mod gate;
pub mod git;
pub mod init;
pub mod lane;
pub mod metrics;
pub mod model;
pub mod propose;
pub mod publish;
pub mod render;
pub mod server;
pub mod source;
pub mod store;
pub mod webhook;
pub mod work;
