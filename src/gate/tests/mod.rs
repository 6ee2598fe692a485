//! The gate on hand-made Snapshots: every row of both tables of protocol 5, and its properties.

mod freezes;
mod kinds;
mod lane;
mod laws;
mod reads;
mod reviews;
mod rules;
pub(crate) mod scene;
mod sources;
mod verdicts;
