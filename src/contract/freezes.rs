//! `flake-freeze.json`: tests whose vote a person took away (protocol 3.3). PURE.

use super::ContractError;
use super::document::{Fault, Kind, Node};
use super::json;
use super::reader::{self, Object};
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
        property_id: text(&row, "property_id")?,
        property_digest: text(&row, "property_digest")?,
        fixture_digest: text(&row, "fixture_digest")?,
        seed: row.get("seed").map(seed).transpose()?,
        replay: text(&row, "replay")?,
        opened_at: time(&row, "opened_at")?,
        expires_at: time(&row, "expires_at")?,
        line: node.place.line,
    })
}

fn text(row: &Object<'_, '_>, key: &str) -> Result<Option<String>, Fault> {
    row.get(key)
        .map(|node| reader::string(node, &format!("`{key}`")).map(str::to_owned))
        .transpose()
}

/// An RFC 3339 time, kept as written; `null` is the same as no key.
fn time(row: &Object<'_, '_>, key: &str) -> Result<Option<String>, Fault> {
    let Some(node) = row.get(key).filter(|node| node.kind != Kind::Null) else {
        return Ok(None);
    };
    let expected = "an RFC 3339 time such as \"2026-01-31T12:00:00Z\", or null";
    match &node.kind {
        Kind::Text(text) if chrono::DateTime::parse_from_rfc3339(text).is_ok() => {
            Ok(Some(text.to_string()))
        }
        _ => Err(reader::expected(node, &format!("`{key}`"), expected)),
    }
}

/// An integer, or hex digits as a string.
fn seed(node: &Node<'_>) -> Result<String, Fault> {
    match &node.kind {
        Kind::Number(text) if reader::is_plain_integer(text) && is_64_bit(text) => {
            Ok(text.to_string())
        }
        Kind::Text(text) if is_hex(text) => Ok(text.to_string()),
        _ => Err(reader::expected(
            node,
            "`seed`",
            "an integer of at most 64 bits, or hex digits as a string",
        )),
    }
}

fn is_64_bit(text: &str) -> bool {
    text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok()
}

fn is_hex(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit())
}
