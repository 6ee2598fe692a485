//! People of a forge, as far as rights are asked for.

use serde::{Deserialize, Serialize};

/// What an account may do in a repository. Ordered: a greater one may do more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    None,
    Read,
    Write,
    Maintain,
    Admin,
}
