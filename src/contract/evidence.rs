//! `evidence.jsonl`, the evidence ledger: what windows of runs came to (protocol 3.7). PURE.
//!
//! Read line by line: what is kept is the last row of each property and digest, so that memory hangs on
//! how many of these there are, not on the runs.

use std::collections::HashMap;

use serde_json::Value;

use super::ContractError;
use super::document::{Fault, Kind, MAX_BYTES, MAX_ENTRIES, Node, Place, to_u32};
use super::json;
use super::reader::{self, Object, optional_text};
use super::rows::quoted;
use super::seed::{self, Seed};
use crate::model::NodeId;

/// Value of `schema`.
pub const SCHEMA: &str = "frostline.evidence/1";
/// The one status by which a row is a freeze.
pub const FROZEN: &str = "frozen";

/// A row, as far as the gate needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceRow {
    pub property_id: String,
    pub nodeid: NodeId,
    /// As written.
    pub fixture_digest: String,
    pub status: String,
    pub seed: Option<Seed>,
    pub reason: Option<String>,
    pub finished_at: Option<String>,
    /// The first key of protocol 3.7 that the row lacks: then it is no freeze.
    pub missing: Option<&'static str>,
    /// 1-based.
    pub line: u32,
}

/// The evidence ledger: of each property and digest the last row, which decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// In the order of the file.
    pub last: Vec<EvidenceRow>,
    /// How many rows the file has.
    pub rows: usize,
}

/// Reads the evidence ledger at `path` of the repository. It may be empty.
///
/// # Errors
/// The first thing that is not as protocol 3.7 has it. Keys beyond it are allowed.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Evidence, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<Evidence, Fault> {
    if bytes.len() > MAX_BYTES {
        let message = format!(
            "the file has {} bytes; a contract file may have {MAX_BYTES} (64 MiB)",
            bytes.len()
        );
        return Err(Fault::new(Place::START, message));
    }
    let mut last: HashMap<(String, String), EvidenceRow> = HashMap::new();
    let mut rows = 0;
    for text in bytes.split_inclusive(|b| *b == b'\n') {
        let at = to_u32(rows);
        let fault = |fault: Fault| Fault {
            place: Place {
                line: fault.place.line.saturating_add(at),
                ..fault.place
            },
            ..fault
        };
        if rows == MAX_ENTRIES {
            let message =
                format!("an evidence ledger may have {MAX_ENTRIES} rows, and this one has more");
            return Err(fault(Fault::new(Place::START, message)));
        }
        let mut found = line(text).map_err(fault)?;
        found.line = at + 1;
        last.insert(
            (found.property_id.clone(), found.fixture_digest.clone()),
            found,
        );
        rows += 1;
    }
    let mut last: Vec<EvidenceRow> = last.into_values().collect();
    last.sort_unstable_by_key(|row| row.line);
    Ok(Evidence { last, rows })
}

/// Reads one line with its line end.
fn line(text: &[u8]) -> Result<EvidenceRow, Fault> {
    let place = |at: usize| Place::START.after(&text[..at]);
    if let Some(at) = text.iter().position(|b| !b.is_ascii() || *b == b'\r') {
        let message = match text[at] {
            b'\r' => "expected a line that ends at LF alone, found CR".to_owned(),
            byte => {
                format!("expected ASCII with other characters escaped, found the byte 0x{byte:02x}")
            }
        };
        return Err(Fault::new(place(at), message));
    }
    let Some(json) = text.strip_suffix(b"\n") else {
        return Err(Fault::new(
            place(text.len()),
            "the last line has no line end",
        ));
    };
    if json.iter().all(u8::is_ascii_whitespace) {
        return Err(Fault::new(
            Place::START,
            "expected a JSON object, found an empty line",
        ));
    }
    row(&json::parse(json)?)
}

fn row(node: &Node<'_>) -> Result<EvidenceRow, Fault> {
    let row = Object::of(node, "a row")?;
    let schema = row.need("schema")?;
    if reader::string(schema, "`schema`")? != SCHEMA {
        let expected = format!("{SCHEMA:?}, the only schema this build reads");
        return Err(reader::expected(schema, "`schema`", &expected));
    }
    for key in ["runs", "passes", "failures"] {
        if let Some(count) = row.get(key) {
            reader::integer(count, &format!("`{key}`"), 0)?;
        }
    }
    if let Some(paths) = row.get("fixture_paths") {
        for path in reader::list(paths, "`fixture_paths`")? {
            reader::string(path, "an entry of `fixture_paths`")?;
        }
    }
    if let Some(signatures) = row.get("signatures") {
        for one in reader::list(signatures, "`signatures`")? {
            signature(one)?;
        }
    }
    let text =
        |key| Ok::<_, Fault>(reader::string(row.need(key)?, &format!("`{key}`"))?.to_owned());
    let stated = |key: &&&str| row.get(key).is_some();
    Ok(EvidenceRow {
        property_id: text("property_id")?,
        nodeid: reader::node_id(row.need("nodeid")?, "`nodeid`")?,
        fixture_digest: text("fixture_digest")?,
        status: text("status")?,
        seed: row
            .get("seed")
            .filter(|node| node.kind != Kind::Null)
            .map(|node| seed::read(node, "`seed`"))
            .transpose()?,
        reason: not_null(&row, "reason")?,
        finished_at: reader::optional_time(&row, "finished_at")?,
        missing: NEEDED.iter().find(|key| !stated(key)).copied(),
        line: node.place.line,
    })
}

/// Without these a row is no freeze.
const NEEDED: &[&str] = &[
    "fixture_paths",
    "seed",
    "runs",
    "passes",
    "failures",
    "signatures",
    "reason",
];

fn not_null(row: &Object<'_, '_>, key: &str) -> Result<Option<String>, Fault> {
    match row.get(key).map(|node| &node.kind) {
        Some(Kind::Null) => Ok(None),
        _ => optional_text(row, key),
    }
}

fn signature(node: &Node<'_>) -> Result<(), Fault> {
    let signature = Object::of(node, "an entry of `signatures`")?;
    reader::string(signature.need("id")?, "`id`")?;
    reader::integer(signature.need("count")?, "`count`", 0)?;
    reader::string(signature.need("summary")?, "`summary`")?;
    Ok(())
}

/// `existing` with one row more, behind the last one. Every other byte stays as it is, but that a last line
/// without a line end gets one. `members` are the keys and values of the row, in order, without `schema`.
pub fn append(existing: &[u8], members: &[(&str, Value)]) -> Vec<u8> {
    let mut out = existing.to_vec();
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(format!("{{\"schema\": \"{SCHEMA}\"").as_bytes());
    for (key, value) in members {
        out.extend_from_slice(format!(", {}: {}", quoted(key, true), ascii(value)).as_bytes());
    }
    out.extend_from_slice(b"}\n");
    out
}

/// `existing` without the row at a line, 1-based; every other byte stays as it is.
pub fn remove(existing: &[u8], line: usize) -> Vec<u8> {
    let lines = existing.split_inclusive(|b| *b == b'\n').enumerate();
    let kept = lines.filter(|(at, _)| at + 1 != line);
    kept.flat_map(|(_, text)| text.iter().copied()).collect()
}

/// A value as ASCII.
fn ascii(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::String(text) => quoted(text, true),
        Value::Array(items) => format!("[{}]", list(items.iter().map(ascii).collect())),
        Value::Object(members) => {
            let members = members.iter();
            let members =
                members.map(|(key, value)| format!("{}: {}", quoted(key, true), ascii(value)));
            format!("{{{}}}", list(members.collect()))
        }
        other => other.to_string(),
    }
}
