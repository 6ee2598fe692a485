//! `flake-freeze.json`: tests whose vote a person took away (protocol 3.3). PURE.

use crate::model::NodeId;

/// A row of the freeze list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeEntry {
    pub nodeid: NodeId,
    pub reason: String,
    pub owner: String,
    pub covers: Vec<String>,
    pub frozen: bool,
    pub property_id: Option<String>,
    pub property_digest: Option<String>,
    pub fixture_digest: Option<String>,
    /// The seed as written: an integer, or hex as a string.
    pub seed: Option<String>,
    pub replay: Option<String>,
    pub opened_at: Option<String>,
    pub expires_at: Option<String>,
    /// 1-based line of the row.
    pub line: u32,
}

impl FreezeEntry {
    /// Whether both say the same, wherever they stand in their files.
    pub fn same_row(&self, other: &Self) -> bool {
        Self {
            line: 0,
            ..self.clone()
        } == Self {
            line: 0,
            ..other.clone()
        }
    }
}

/// The freeze list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Freezes {
    pub entries: Vec<FreezeEntry>,
}
