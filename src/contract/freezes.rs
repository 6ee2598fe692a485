//! `flake-freeze.json`: tests whose vote a person took away (protocol 3.3). PURE.

use serde_json::Value;

use super::ContractError;
use super::document::{Fault, Node};
use super::json;
use super::reader::{self, Object};
use super::rows::{self, Edit, Row};
use super::seed::{self, Seed};
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
    pub seed: Option<Seed>,
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

const KEYS: &[&str] = &[
    "nodeid",
    "reason",
    "owner",
    "covers",
    "frozen",
    "property_id",
    "property_digest",
    "fixture_digest",
    "seed",
    "replay",
    "opened_at",
    "expires_at",
];

/// Reads the freeze list at `path` of the repository. Two rows may name the same node: both count.
///
/// # Errors
/// The first thing that is not as protocol 3.3 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Freezes, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

/// The freeze list with one row added, changed or removed; every other byte stays as it is. `existing` is
/// the list that is there already, if any.
///
/// # Errors
/// When `existing` is no freeze list.
pub fn edit(
    path: &str,
    existing: Option<&[u8]>,
    edit: &Edit<FreezeEntry>,
) -> Result<Vec<u8>, ContractError> {
    existing.map(|bytes| parse(path, bytes)).transpose()?;
    Ok(rows::edit(existing, FRESH, "entries", edit))
}

const FRESH: &str = "{\n  \"version\": 1,\n  \"entries\": []\n}\n";

impl Row for FreezeEntry {
    fn members(&self) -> Vec<(&'static str, Value)> {
        let mut members = vec![
            ("nodeid", self.nodeid.as_str().into()),
            ("reason", self.reason.as_str().into()),
            ("owner", self.owner.as_str().into()),
            ("covers", self.covers.clone().into()),
            ("frozen", self.frozen.into()),
        ];
        let texts = [
            ("property_id", &self.property_id),
            ("property_digest", &self.property_digest),
            ("fixture_digest", &self.fixture_digest),
            ("replay", &self.replay),
            ("opened_at", &self.opened_at),
            ("expires_at", &self.expires_at),
        ];
        let stated = texts.into_iter();
        members.extend(stated.filter_map(|(key, text)| Some((key, text.as_deref()?.into()))));
        members.extend(self.seed.iter().map(|seed| ("seed", seed.to_json())));
        members
    }
}

fn read(bytes: &[u8]) -> Result<Freezes, Fault> {
    let root = json::parse(bytes)?;
    let file = Object::of(&root, "the freeze list")?;
    file.version_one()?;
    file.closed(&["version", "entries"])?;
    let rows = reader::list(file.need("entries")?, "`entries`")?;
    let entries = rows.iter().map(entry).collect::<Result<_, _>>()?;
    Ok(Freezes { entries })
}

fn entry(node: &Node<'_>) -> Result<FreezeEntry, Fault> {
    let row = Object::of(node, "an entry of `entries`")?;
    row.closed(KEYS)?;
    let covers = reader::list(row.need("covers")?, "`covers`")?;
    Ok(FreezeEntry {
        nodeid: reader::node_id(row.need("nodeid")?, "`nodeid`")?,
        reason: reader::string(row.need("reason")?, "`reason`")?.to_owned(),
        owner: reader::string(row.need("owner")?, "`owner`")?.to_owned(),
        covers: covers
            .iter()
            .map(|path| reader::path(path, "an entry of `covers`").map(str::to_owned))
            .collect::<Result<_, _>>()?,
        frozen: reader::boolean(row.need("frozen")?, "`frozen`")?,
        property_id: reader::optional_text(&row, "property_id")?,
        property_digest: reader::optional_text(&row, "property_digest")?,
        fixture_digest: reader::optional_text(&row, "fixture_digest")?,
        seed: row
            .get("seed")
            .map(|node| seed::read(node, "`seed`"))
            .transpose()?,
        replay: reader::optional_text(&row, "replay")?,
        opened_at: reader::optional_time(&row, "opened_at")?,
        expires_at: reader::optional_time(&row, "expires_at")?,
        line: node.place.line,
    })
}
