//! Typed configuration: of a repository (`repo`, PURE) and of the server.

pub mod repo;
