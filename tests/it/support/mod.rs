//! What several test modules share.

pub mod api;
pub mod repo;
