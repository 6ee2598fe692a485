//! `hunk-map.json`: which properties must be live when a path changes (protocol 3.4). PURE.

use serde_json::Value;

use super::ContractError;
use super::document::{Fault, Node};
use super::json;
use super::reader::{self, Object};
use super::rows::{self, Edit, Row};
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

/// Reads the map at `path` of the repository.
///
/// # Errors
/// The first thing that is not as protocol 3.4 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<HunkMap, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

/// The map with one rule added, changed or removed; every other byte stays as it is. `existing` is the map
/// that is there already, if any.
///
/// # Errors
/// When `existing` is no map.
pub fn edit(
    path: &str,
    existing: Option<&[u8]>,
    edit: &Edit<MapRule>,
) -> Result<Vec<u8>, ContractError> {
    existing.map(|bytes| parse(path, bytes)).transpose()?;
    Ok(rows::edit(existing, FRESH, "rules", edit))
}

const FRESH: &str = "{\n  \"version\": 1,\n  \"rules\": []\n}\n";

impl Row for MapRule {
    fn members(&self) -> Vec<(&'static str, Value)> {
        let properties: Vec<&str> = self.live_properties.iter().map(NodeId::as_str).collect();
        let mut members = vec![
            ("path_prefix", self.path_prefix.as_str().into()),
            ("live_properties", properties.into()),
        ];
        members.extend(self.min_live.map(|min| ("min_live", min.into())));
        members
    }
}

fn read(bytes: &[u8]) -> Result<HunkMap, Fault> {
    let root = json::parse(bytes)?;
    let file = Object::of(&root, "the map")?;
    file.version_one()?;
    file.closed(&["version", "rules"])?;
    let rules = reader::list(file.need("rules")?, "`rules`")?;
    let rules = rules.iter().map(rule).collect::<Result<_, _>>()?;
    Ok(HunkMap { rules })
}

fn rule(node: &Node<'_>) -> Result<MapRule, Fault> {
    let row = Object::of(node, "an entry of `rules`")?;
    row.closed(&["path_prefix", "live_properties", "min_live"])?;
    let prefix = row.need("path_prefix")?;
    let path_prefix = reader::string(prefix, "`path_prefix`")?;
    // A prefix may end with one `/`: it is a raw string, and `src/a/` is not `src/a`.
    let bare = path_prefix.strip_suffix('/').unwrap_or(path_prefix);
    reader::canonical(bare, prefix.place, "`path_prefix`")?;
    let properties = reader::list(row.need("live_properties")?, "`live_properties`")?;
    let live_properties = properties
        .iter()
        .map(|property| reader::node_id(property, "an entry of `live_properties`"))
        .collect::<Result<_, _>>()?;
    let min_live = match row.get("min_live") {
        Some(min) => Some(reader::integer(min, "`min_live`", 1)?),
        None => None,
    };
    Ok(MapRule {
        path_prefix: path_prefix.to_owned(),
        live_properties,
        min_live,
        line: node.place.line,
    })
}
