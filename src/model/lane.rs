//! What the lane asks of one property with one pinned seed (protocol 6.1). PURE.

use serde::{Deserialize, Serialize};

use super::{NodeId, Sha};

/// Value of `schema` of a result.
pub const LANE_SCHEMA: &str = "frostline.lane/1";

/// What a result asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Action {
    Pass,
    PinSeedNoise,
    BlockHash,
    BlockShrink,
    BlockInvariant,
    BlockErrored,
    /// Red and green on the merged tree, green on the base tip: the patch made the flake.
    BlockNoise,
}

impl Action {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::PinSeedNoise => "PIN_SEED_NOISE",
            Self::BlockHash => "BLOCK_HASH",
            Self::BlockShrink => "BLOCK_SHRINK",
            Self::BlockInvariant => "BLOCK_INVARIANT",
            Self::BlockErrored => "BLOCK_ERRORED",
            Self::BlockNoise => "BLOCK_NOISE",
        }
    }

    pub fn blocks(self) -> bool {
        !matches!(self, Self::Pass | Self::PinSeedNoise)
    }
}

/// What a lane came to; no result at all where the patch needs no property.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneFact {
    pub results: Vec<LaneResult>,
}

/// One property with one pinned seed on one merged tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneResult {
    /// The merged tree that ran.
    pub tree: Sha,
    /// As the contract lists it.
    pub property: NodeId,
    /// What ran: the property, or a parameter of it.
    pub nodeid: NodeId,
    pub seed: Option<i64>,
    /// `None` for one that ran without a vote.
    pub action: Option<Action>,
    /// How the action came about: a clause. It may quote the test, which is hostile.
    pub why: String,
}

/// The digest of a property's scope, before the patch and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeChange {
    Same,
    /// Changed, and the lock in force holds the new digests.
    ChangedWithLock,
    /// Changed, and it does not; or it can't be told.
    Changed,
}
