//! `seeds.json`, the seed corpus: the seeds that the merge lane runs (protocol 3.9). PURE.

use super::ContractError;
use super::document::{Fault, Kind, Node};
use super::json;
use super::reader::{self, Object};
use super::rows::Container;
use super::seed::{self, Seed};
use crate::model::NodeId;

/// The seeds of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeeds {
    pub nodeid: NodeId,
    pub seeds: Vec<Seed>,
    /// 1-based line of the row.
    pub line: u32,
}

/// The seed corpus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seeds {
    /// In the order of the file.
    pub nodes: Vec<NodeSeeds>,
}

/// Reads the corpus at `path` of the repository.
///
/// # Errors
/// The first thing that is not as protocol 3.9 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Seeds, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<Seeds, Fault> {
    let root = json::parse(bytes)?;
    let file = Object::of(&root, "the seed corpus")?;
    file.version_one()?;
    file.closed(&["version", "seeds"])?;
    let rows = Object::of(file.need("seeds")?, "`seeds`")?;
    let mut nodes = Vec::with_capacity(rows.members.len());
    for member in rows.members {
        let key = Node {
            kind: Kind::Text(member.key.clone()),
            place: member.place,
        };
        let seeds = reader::list(&member.value, "the seeds of a node")?;
        nodes.push(NodeSeeds {
            nodeid: reader::node_id(&key, "a key of `seeds`")?,
            seeds: seeds.iter().map(one).collect::<Result<_, _>>()?,
            line: member.place.line,
        });
    }
    Ok(Seeds { nodes })
}

fn one(node: &Node<'_>) -> Result<Seed, Fault> {
    match &node.kind {
        Kind::Number(text) if reader::is_plain_integer(text) => seed::integer(text),
        _ => None,
    }
    .ok_or_else(|| reader::expected(node, "a seed", "an integer of at most 64 bits"))
}

const FRESH: &str = "{\n  \"version\": 1,\n  \"seeds\": {}\n}\n";

/// The corpus with a seed more for one node; every other byte stays as it is, and all of them where the
/// seed is there already. `existing` is the corpus that is there, if any.
///
/// # Errors
/// When `existing` is no seed corpus.
pub fn add(
    path: &str,
    existing: Option<&[u8]>,
    nodeid: &NodeId,
    seed: i64,
) -> Result<Vec<u8>, ContractError> {
    let bytes = existing.unwrap_or(FRESH.as_bytes());
    let corpus = parse(path, bytes)?;
    let node = corpus.nodes.iter().find(|node| node.nodeid == *nodeid);
    if node.is_some_and(|node| node.seeds.contains(&Seed::Integer(seed.into()))) {
        return Ok(bytes.to_vec());
    }
    let list = Container::at(bytes, &["seeds", nodeid.as_str()]);
    let rows = Container::at(bytes, &["seeds"]);
    Ok(match (list, rows) {
        // An empty list stays on its line.
        (Some(list), _) if !list.entries.is_empty() => list.add(&seed.to_string()),
        (Some(_), Some(rows)) => {
            let at = corpus.nodes.iter().position(|node| node.nodeid == *nodeid);
            let layout = rows.layout();
            let member = layout.member(nodeid.as_str(), &vec![seed].into());
            at.map_or_else(|| bytes.to_vec(), |at| rows.replace(at, &member))
        }
        (None, Some(rows)) => {
            let member = rows.layout().member(nodeid.as_str(), &vec![seed].into());
            rows.add(&member)
        }
        (_, None) => bytes.to_vec(),
    })
}

/// The corpus without the seeds of one node; every other byte stays as it is.
///
/// # Errors
/// When `existing` is no seed corpus.
pub fn remove(path: &str, existing: &[u8], nodeid: &NodeId) -> Result<Vec<u8>, ContractError> {
    let corpus = parse(path, existing)?;
    let at = corpus.nodes.iter().position(|node| node.nodeid == *nodeid);
    let rows = Container::at(existing, &["seeds"]);
    Ok(match (at, rows) {
        (Some(at), Some(rows)) => rows.remove(at),
        _ => existing.to_vec(),
    })
}
