//! `seed_freeze.json`: freezes that are bound to a seed and to the bytes of fixtures (protocol 3.5). PURE.
//!
//! The file is strict in its shape; whether a row is a freeze is another question, and a row that is none
//! still denies coverage.

use serde_json::Value;

use super::ContractError;
use super::document::{Fault, Node};
use super::json;
use super::reader::{self, Object};
use super::rows::{self, Edit, Row};
use super::seed::{self, Seed};
use crate::model::NodeId;

/// Value of `schema`.
pub const SCHEMA: &str = "seed-freeze-v1";

/// A row of the seed ledger, as written; what it does not state is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    pub nodeid: NodeId,
    pub seed: Option<Seed>,
    pub fixture_digest: Option<String>,
    pub reason: Option<String>,
    pub replay: Option<String>,
    /// RFC 3339, as are all times.
    pub opened_at: Option<String>,
    pub expires_at: Option<String>,
    pub status: Option<String>,
    pub owner: Option<String>,
    pub property_id: Option<String>,
    pub property_digest: Option<String>,
    pub evidence: Option<String>,
    pub reopened_from: Option<String>,
    /// 1-based line of the row.
    pub line: u32,
}

impl LedgerEntry {
    /// It says that it freezes nothing any more.
    pub fn is_closed(&self) -> bool {
        self.status.as_deref() == Some("closed")
    }
}

/// The seed ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    pub entries: Vec<LedgerEntry>,
}

const KEYS: &[&str] = &[
    "nodeid",
    "seed",
    "fixture_digest",
    "reason",
    "replay",
    "opened_at",
    "expires_at",
    "status",
    "owner",
    "property_id",
    "property_digest",
    "evidence",
    "reopened_from",
];

/// Reads the ledger at `path` of the repository. Two rows may name the same node: both count.
///
/// # Errors
/// The first thing that is not as protocol 3.5 has it. A row that lacks something is no error here.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Ledger, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<Ledger, Fault> {
    let root = json::parse(bytes)?;
    let file = Object::of(&root, "the seed ledger")?;
    let schema = file.need("schema")?;
    if reader::string(schema, "`schema`")? != SCHEMA {
        let expected = format!("{SCHEMA:?}, the only schema this build reads");
        return Err(reader::expected(schema, "`schema`", &expected));
    }
    file.closed(&["schema", "entries"])?;
    let rows = reader::list(file.need("entries")?, "`entries`")?;
    let entries = rows.iter().map(entry).collect::<Result<_, _>>()?;
    Ok(Ledger { entries })
}

fn entry(node: &Node<'_>) -> Result<LedgerEntry, Fault> {
    let row = Object::of(node, "an entry of `entries`")?;
    row.closed(KEYS)?;
    let text = |key| reader::optional_text(&row, key);
    Ok(LedgerEntry {
        nodeid: reader::node_id(row.need("nodeid")?, "`nodeid`")?,
        seed: row
            .get("seed")
            .map(|node| seed::read(node, "`seed`"))
            .transpose()?,
        fixture_digest: text("fixture_digest")?,
        reason: text("reason")?,
        replay: text("replay")?,
        opened_at: reader::optional_time(&row, "opened_at")?,
        expires_at: reader::optional_time(&row, "expires_at")?,
        status: text("status")?,
        owner: text("owner")?,
        property_id: text("property_id")?,
        property_digest: text("property_digest")?,
        evidence: text("evidence")?,
        reopened_from: text("reopened_from")?,
        line: node.place.line,
    })
}

const FRESH: &str = "{\n  \"schema\": \"seed-freeze-v1\",\n  \"entries\": []\n}\n";

/// The ledger with one row added, changed or removed; every other byte stays as it is. `existing` is the
/// ledger that is there already, if any.
///
/// # Errors
/// When `existing` is no ledger.
pub fn edit(
    path: &str,
    existing: Option<&[u8]>,
    edit: &Edit<LedgerEntry>,
) -> Result<Vec<u8>, ContractError> {
    existing.map(|bytes| parse(path, bytes)).transpose()?;
    Ok(rows::edit(existing, FRESH, "entries", edit))
}

impl Row for LedgerEntry {
    fn members(&self) -> Vec<(&'static str, Value)> {
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        // A row that never expires says so.
        let expires = text(&self.expires_at).unwrap_or(Value::Null);
        let members = [
            ("nodeid", Some(self.nodeid.as_str().into())),
            ("seed", self.seed.as_ref().map(Seed::to_json)),
            ("fixture_digest", text(&self.fixture_digest)),
            ("reason", text(&self.reason)),
            ("replay", text(&self.replay)),
            ("opened_at", text(&self.opened_at)),
            ("expires_at", Some(expires)),
            ("status", text(&self.status)),
            ("owner", text(&self.owner)),
            ("property_id", text(&self.property_id)),
            ("property_digest", text(&self.property_digest)),
            ("evidence", text(&self.evidence)),
            ("reopened_from", text(&self.reopened_from)),
        ];
        let stated = members.into_iter();
        stated
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}
