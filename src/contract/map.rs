//! `hunk-map.json`: which properties must be live when a path changes (protocol 3.4). PURE.

use crate::model::NodeId;

/// A rule of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapRule {
    /// A raw string: a path matches when it starts with it.
    pub path_prefix: String,
    pub live_properties: Vec<NodeId>,
    /// How many of its own properties must be live; at least 1.
    pub min_live: Option<u64>,
    /// 1-based line of the rule.
    pub line: u32,
}

/// The hunk map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HunkMap {
    pub rules: Vec<MapRule>,
}
