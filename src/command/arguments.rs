//! What stands behind a command's name. PURE.

use crate::contract::reader::why_not_canonical;
use crate::model::NodeId;

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
