//! `properties.json`, the catalog: which fixtures a property reads (protocol 3.6). PURE.

use std::collections::HashMap;
use std::hash::Hash;

use serde_json::Value;

use super::ContractError;
use super::document::{Fault, Node, Place, quoted};
use super::glob::{self, MAX_GLOBS};
use super::json;
use super::reader::{self, Object};
use super::rows::{self, Edit, Row};
use super::seed::{self, Seed};
use crate::model::NodeId;

/// A property of the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// An identity: under another one nothing is inherited.
    pub property_id: String,
    pub nodeid: NodeId,
    /// Globs from the repository root; at least one.
    pub fixtures: Vec<String>,
    pub owner: String,
    pub runner: Option<String>,
    pub seed: Option<Seed>,
    /// 1-based line of the row.
    pub line: u32,
}

/// The catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    pub properties: Vec<Property>,
}

/// Reads the catalog at `path` of the repository.
///
/// # Errors
/// The first thing that is not as protocol 3.6 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Catalog, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<Catalog, Fault> {
    let root = json::parse(bytes)?;
    let file = Object::of(&root, "the catalog")?;
    file.version_one()?;
    file.closed(&["version", "properties"])?;
    let rows = reader::list(file.need("properties")?, "`properties`")?;
    let mut properties = Vec::with_capacity(rows.len());
    let (mut ids, mut nodes) = (HashMap::new(), HashMap::new());
    for row in rows {
        let property = property(row)?;
        once(&mut ids, property.property_id.clone(), row, "property_id")?;
        once(&mut nodes, property.nodeid.to_string(), row, "nodeid")?;
        properties.push(property);
    }
    Ok(Catalog { properties })
}

/// Ids and node ids are unique.
fn once<K: Eq + Hash + AsRef<str>>(
    seen: &mut HashMap<K, Place>,
    value: K,
    row: &Node<'_>,
    key: &str,
) -> Result<(), Fault> {
    let shown = quoted(value.as_ref());
    match seen.insert(value, row.place) {
        None => Ok(()),
        Some(first) => Err(Fault::new(
            row.place,
            format!(
                "`{key}`: {shown} stands at {}:{} already",
                first.line, first.column
            ),
        )),
    }
}

fn property(node: &Node<'_>) -> Result<Property, Fault> {
    let row = Object::of(node, "an entry of `properties`")?;
    row.closed(&[
        "property_id",
        "nodeid",
        "fixtures",
        "owner",
        "runner",
        "seed",
    ])?;
    Ok(Property {
        property_id: name(&row, "property_id")?,
        nodeid: reader::node_id(row.need("nodeid")?, "`nodeid`")?,
        fixtures: fixtures(row.need("fixtures")?)?,
        owner: reader::string(row.need("owner")?, "`owner`")?.to_owned(),
        runner: reader::optional_text(&row, "runner")?,
        seed: row
            .get("seed")
            .map(|node| seed::read(node, "`seed`"))
            .transpose()?,
        line: node.place.line,
    })
}

/// A text that others have to repeat to the letter.
fn name(row: &Object<'_, '_>, key: &str) -> Result<String, Fault> {
    let node = row.need(key)?;
    let text = reader::string(node, &format!("`{key}`"))?;
    if text.trim() != text || text.is_empty() || text.chars().any(char::is_control) {
        let expected = "a name without control characters, or white space around it";
        return Err(reader::expected(node, &format!("`{key}`"), expected));
    }
    Ok(text.to_owned())
}

fn fixtures(node: &Node<'_>) -> Result<Vec<String>, Fault> {
    let globs = reader::list(node, "`fixtures`")?;
    if globs.is_empty() || globs.len() > MAX_GLOBS {
        let expected = format!(
            "1 to {MAX_GLOBS} globs, found {}; without a row the scope is the whole fixtures root",
            globs.len()
        );
        return Err(Fault::new(
            node.place,
            format!("`fixtures`: expected {expected}"),
        ));
    }
    let mut found = Vec::with_capacity(globs.len());
    for glob in globs {
        let text = reader::string(glob, "an entry of `fixtures`")?;
        if text.starts_with('!') {
            let why = "a scope only adds; name the files that the property reads";
            let message = format!("an entry of `fixtures`: {} removes: {why}", quoted(text));
            return Err(Fault::new(glob.place, message));
        }
        glob::check(text)
            .map_err(|error| Fault::new(glob.place, format!("an entry of `fixtures`: {error}")))?;
        found.push(text.to_owned());
    }
    Ok(found)
}

const FRESH: &str = "{\n  \"version\": 1,\n  \"properties\": []\n}\n";

/// The catalog with one row added, changed or removed; every other byte stays as it is. `existing` is the
/// catalog that is there already, if any.
///
/// # Errors
/// When `existing` is no catalog.
pub fn edit(
    path: &str,
    existing: Option<&[u8]>,
    edit: &Edit<Property>,
) -> Result<Vec<u8>, ContractError> {
    existing.map(|bytes| parse(path, bytes)).transpose()?;
    Ok(rows::edit(existing, FRESH, "properties", edit))
}

impl Row for Property {
    fn members(&self) -> Vec<(&'static str, Value)> {
        let mut members = vec![
            ("property_id", self.property_id.as_str().into()),
            ("nodeid", self.nodeid.as_str().into()),
            ("fixtures", self.fixtures.clone().into()),
            ("owner", self.owner.as_str().into()),
        ];
        members.extend(
            self.runner
                .iter()
                .map(|runner| ("runner", runner.as_str().into())),
        );
        members.extend(self.seed.iter().map(|seed| ("seed", seed.to_json())));
        members
    }
}
