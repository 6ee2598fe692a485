//! What several test modules share.

pub mod api;
pub mod app;
pub mod browser;
pub mod forge;
pub mod graphql;
pub mod logs;
pub mod openapi;
pub mod repo;
pub mod third_party;
pub mod world;
