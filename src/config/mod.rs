//! Typed configuration: of a repository (`repo`, PURE) and of the server.

pub mod credentials;
mod github;
mod layers;
pub mod repo;
pub mod server;
pub mod setup;
