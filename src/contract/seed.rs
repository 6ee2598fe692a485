//! Seeds of generators: an integer, or hex digits as a string (protocol 3.3 and 3.5). PURE.

use std::fmt;

use super::document::{Fault, Kind, Node};
use super::reader;

/// A seed as a contract file states it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seed {
    /// An integer of 64 bits, signed or not.
    Integer(i128),
    /// Hex digits as written, with or without `0x`.
    Hex(String),
}

impl Seed {
    /// Whether a word of a command is this seed.
    pub fn is_word(&self, word: &str) -> bool {
        match self {
            Self::Integer(value) => reader::is_plain_integer(word) && word.parse() == Ok(*value),
            Self::Hex(text) => bare(text).eq_ignore_ascii_case(bare(word)),
        }
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Integer(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                // No text gives such a seed.
                _ => value.to_string().into(),
            },
            Self::Hex(text) => text.as_str().into(),
        }
    }
}

impl Seed {
    /// A seed as a person writes it in a command: an integer, or hex digits.
    pub fn of_word(word: &str) -> Option<Self> {
        match reader::is_plain_integer(word) {
            true => integer(word),
            false => is_hex(word).then(|| Self::Hex(word.to_owned())),
        }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Hex(text) => f.write_str(text),
        }
    }
}

fn bare(text: &str) -> &str {
    text.strip_prefix("0x").unwrap_or(text)
}

/// Reads a seed; `what` names the value in messages.
pub(super) fn read(node: &Node<'_>, what: &str) -> Result<Seed, Fault> {
    match &node.kind {
        Kind::Number(text) if reader::is_plain_integer(text) => integer(text),
        Kind::Text(text) if is_hex(text) => Some(Seed::Hex(text.to_string())),
        _ => None,
    }
    .ok_or_else(|| {
        let expected = "an integer of at most 64 bits, or hex digits as a string";
        reader::expected(node, what, expected)
    })
}

/// An integer that 64 bits hold, with or without a sign.
pub(super) fn integer(text: &str) -> Option<Seed> {
    let value: i128 = text.parse().ok()?;
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    range.contains(&value).then_some(Seed::Integer(value))
}

fn is_hex(text: &str) -> bool {
    let digits = bare(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit())
}
