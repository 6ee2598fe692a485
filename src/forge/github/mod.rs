//! GitHub, and servers that speak its API (GitHub Enterprise Server, the fake forge of tests and demo).
//!
//! octocrab is the transport and nothing more: signing, tokens, errors, paging, limits and the shapes
//! of requests and answers are ours, because it drops the token on absolute URLs of other hosts, mints
//! a token for each concurrent request, repeats POSTs, and has no limit on the size of an answer.
//!
//! ```text
//! App (key, token cache) ── repo(installation, owner/name) ──▶ Client (requests, counted)
//! ```

mod app;
mod auth;
mod blobs;
mod client;
mod clock;
mod endpoints;
pub mod gather;
mod issues;
mod manifest;
mod patch;
mod people;
mod proposals;
mod redirect;
mod refusal;
mod rules;
mod share;
mod transport;
mod wire;

pub use app::{HookConfig, HookDelivery, Installed, InstalledRepo, Myself};
pub use auth::{AppKey, PERMISSIONS, PROPOSING, TRACKING};
pub use blobs::{Fetched, Wanted, blob_id};
pub use client::{App, AppSettings, Client, SettingsError};
pub use issues::Issue;
pub use manifest::{NewApp, Registry};
pub use patch::hunks;
pub use people::Reaction;
pub use proposals::TreeEdit;
pub use rules::RequiredCheck;
pub use transport::Timeouts;
pub use wire::*;
