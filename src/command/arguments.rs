//! What stands behind a command's name. PURE.

use std::collections::BTreeMap;

use super::Owner;
use crate::contract::reader::why_not_canonical;
use crate::contract::seed::Seed;
use crate::model::NodeId;
use crate::propose::{NewFreeze, REASONS, Reopening};

/// Why a line's arguments are none: a clause, or nothing where the usage says it all.
pub(super) type Wrong = String;

/// The words of a line; what stands between backticks or double quotes is one of them.
pub(super) fn words(line: &str) -> Result<Vec<String>, Wrong> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, left) = match first {
            '`' | '"' => {
                let inner = &rest[1..];
                let end = inner
                    .find(first)
                    .ok_or_else(|| format!("the {first} that is opened is not closed"))?;
                (&inner[..end], &inner[end + 1..])
            }
            // `key="several words"`
            _ if let Some(value) = quoted_value(rest) => {
                let inner = &rest[value..];
                let end = inner
                    .find('"')
                    .ok_or_else(|| "the \" that is opened is not closed".to_owned())?;
                words.push(format!("{}{}", &rest[..value - 1], &inner[..end]));
                rest = inner[end + 1..].trim_start();
                continue;
            }
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        if left.chars().next().is_some_and(|c| !c.is_whitespace()) {
            return Err(format!("a space is missing after {word:?}"));
        }
        words.push(word.to_owned());
        rest = left.trim_start();
    }
    Ok(words)
}

/// Where the value begins behind `key="`.
fn quoted_value(rest: &str) -> Option<usize> {
    let at = rest.find("=\"")?;
    let is_key = rest[..at].bytes().all(|b| b.is_ascii_lowercase());
    (is_key && at > 0).then_some(at + 2)
}

/// Words `key=value`, by their keys; each at most once.
fn pairs<'w>(words: &'w [String], keys: &[&str]) -> Result<BTreeMap<&'w str, &'w str>, Wrong> {
    let mut pairs = BTreeMap::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if !keys.contains(&key) {
            return Err(format!("{word:?} is none of its arguments"));
        }
        if value.is_empty() || pairs.insert(key, value).is_some() {
            return Err(format!("`{key}=` wants one value"));
        }
    }
    Ok(pairs)
}

fn seed(text: &str) -> Result<Seed, Wrong> {
    Seed::of_word(text).ok_or_else(|| {
        format!("the seed {text:?} is neither an integer of at most 64 bits nor hex digits")
    })
}

fn reason(text: &str) -> Result<String, Wrong> {
    match REASONS.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "the reason {text:?} freezes nothing; {} do",
            REASONS.join(", ")
        )),
    }
}

/// `@login` or `@org/team`.
fn owner(text: &str) -> Result<String, Wrong> {
    match Owner::of(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!(
            "the owner {text:?} is neither @login nor @org/team"
        )),
    }
}

/// A node id, and what a new row of the seed ledger says of it.
pub(super) fn new_freeze(line: &str) -> Result<NewFreeze, Wrong> {
    let words = words(line)?;
    let (first, rest) = words.split_first().ok_or_else(Wrong::new)?;
    let given = pairs(rest, &["seed", "reason", "owner", "replay"])?;
    let need = |key: &str| {
        given
            .get(key)
            .copied()
            .ok_or_else(|| format!("`{key}=` is missing"))
    };
    Ok(NewFreeze {
        nodeid: node(first)?,
        seed: seed(need("seed")?)?,
        reason: reason(need("reason")?)?,
        owner: owner(need("owner")?)?,
        replay: given.get("replay").map(|line| (*line).to_owned()),
    })
}

/// A node id, and what changes of its row.
pub(super) fn reopening(line: &str) -> Result<Reopening, Wrong> {
    let words = words(line)?;
    let (first, rest) = match words.split_first() {
        Some((first, rest)) if !first.contains('=') || first.contains("::") => (Some(first), rest),
        _ => (None, words.as_slice()),
    };
    let given = pairs(rest, &["seed", "reason"])?;
    Ok(Reopening {
        nodeid: first.map(|word| node(word)).transpose()?,
        seed: given.get("seed").map(|text| seed(text)).transpose()?,
        reason: given.get("reason").map(|text| reason(text)).transpose()?,
    })
}

/// One node id.
pub(super) fn one_node(line: &str) -> Result<NodeId, Wrong> {
    match words(line)?.as_slice() {
        [word] => node(word),
        _ => Err(Wrong::new()),
    }
}

/// A path of the repository, which need not exist.
pub(super) fn path(word: &str) -> Result<String, Wrong> {
    // A prefix may end with one `/`.
    let bare = word.strip_suffix('/').unwrap_or(word);
    match why_not_canonical(bare) {
        None => Ok(word.to_owned()),
        Some(why) => Err(format!("{word:?} is no path of the repository: {why}")),
    }
}

pub(super) fn node(word: &str) -> Result<NodeId, Wrong> {
    word.parse().map_err(|error| format!("{error}"))
}

/// A path and at least one node id.
pub(super) fn path_and_nodes(line: &str) -> Result<(String, Vec<NodeId>), Wrong> {
    let words = words(line)?;
    match words.split_first() {
        Some((first, nodes)) if !nodes.is_empty() => {
            let nodes = nodes
                .iter()
                .map(|word| node(word))
                .collect::<Result<_, _>>()?;
            Ok((path(first)?, nodes))
        }
        _ => Err(Wrong::new()),
    }
}

/// A path and a text.
pub(super) fn path_and_text(line: &str) -> Result<(String, String), Wrong> {
    match words(line)?.as_slice() {
        [first, text] if !text.trim().is_empty() => Ok((path(first)?, text.trim().to_owned())),
        [_, _, _, ..] => Err("put the text between double quotes".to_owned()),
        _ => Err(Wrong::new()),
    }
}
