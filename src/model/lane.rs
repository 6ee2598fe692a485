//! What the lane asks of one property with one pinned seed (protocol 6.1). PURE.

use serde::{Deserialize, Serialize};

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
