//! The product's `config` room without what reads the environment.

#[path = "../../src/config/repo/mod.rs"]
pub mod repo;
