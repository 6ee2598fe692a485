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
