//! What else the forge shows at a head, and asks for at a branch, under the name of our check.

use serde::{Deserialize, Serialize};

/// Another App's check-run under our name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ForeignCheck {
    /// The check-run's name.
    pub name: String,
    /// What the forge calls the App.
    pub app: String,
    pub app_id: u64,
}

/// What the rules of the guarded branch say of our check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// It is required, and from this App.
    Pinned,
    /// It is required, and any App's run of the name would do, or another App's.
    AnyApp,
    NotRequired,
    /// The rules could not be read.
    Unknown,
}
