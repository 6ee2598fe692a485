//! Typed configuration: of a repository (`repo`, PURE) and of the server.

mod layers;
pub mod repo;
pub mod server;
