//! Typed reading of a [`Node`]: the same strictness and the same wording for every contract file.
//!
//! `what` in these functions names the value in messages: "`version`", "an entry of `covers`".

use super::document::{Fault, Kind, Member, Node, Place, quoted};
use crate::model::{FileDigest, NodeId, is_canonical_path};

/// An object whose keys are looked up by name.
#[derive(Clone, Copy)]
pub(crate) struct Object<'d, 'a> {
    pub place: Place,
    pub members: &'d [Member<'a>],
}

impl<'d, 'a> Object<'d, 'a> {
    pub fn of(node: &'d Node<'a>, what: &str) -> Result<Self, Fault> {
        match &node.kind {
            Kind::Object(members) => Ok(Self {
                place: node.place,
                members,
            }),
            _ => Err(expected(node, what, "an object")),
        }
    }

    /// Refuses keys other than `known`.
    pub fn closed(&self, known: &[&str]) -> Result<(), Fault> {
        match self
            .members
            .iter()
            .find(|member| !known.contains(&&*member.key))
        {
            None => Ok(()),
            Some(member) => Err(Fault::new(
                member.place,
                format!(
                    "unknown key {}; {}",
                    quoted(&member.key),
                    suggestion(&member.key, known)
                ),
            )),
        }
    }

    pub fn get(&self, key: &str) -> Option<&'d Node<'a>> {
        let mut members = self.members.iter();
        members
            .find(|member| member.key == key)
            .map(|member| &member.value)
    }

    pub fn need(&self, key: &str) -> Result<&'d Node<'a>, Fault> {
        self.get(key)
            .ok_or_else(|| Fault::new(self.place, format!("the key `{key}` is missing")))
    }

    /// `version` has to be 1. Read before anything else of the file: a later version's keys are no
    /// typing errors.
    pub fn version_one(&self) -> Result<(), Fault> {
        version_one(self.need("version")?)
    }
}

pub(crate) fn version_one(node: &Node<'_>) -> Result<(), Fault> {
    match integer(node, "`version`", 0)? {
        1 => Ok(()),
        other => Err(Fault::new(
            node.place,
            format!("`version`: expected 1, the only version this build reads, found {other}"),
        )),
    }
}

/// "did you mean …" when something near is known, else what is known.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let word: String = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&word, name), *name))
        .min();
    match nearest {
        Some((distance, name)) if distance <= 1 + name.len() / 4 => {
            format!("did you mean `{name}`?")
        }
        _ => format!("expected one of {}", names(known)),
    }
}

fn names(known: &[&str]) -> String {
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

pub(crate) fn expected(node: &Node<'_>, what: &str, expected: &str) -> Fault {
    let hint = match (&node.kind, expected) {
        (Kind::Bool(_) | Kind::Number(_), "a string") => "; put it in quotes",
        (Kind::Text(text), "true or false") if is_boolean_word(text) => {
            "; only the words true and false, without quotes, are booleans"
        }
        _ => "",
    };
    Fault::new(
        node.place,
        format!("{what}: expected {expected}, found {}{hint}", found(node)),
    )
}

fn is_boolean_word(text: &str) -> bool {
    ["yes", "no", "on", "off", "y", "n", "true", "false"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(text))
}

/// What a value is, in words.
fn found(node: &Node<'_>) -> String {
    match &node.kind {
        Kind::Null => "nothing (null)".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(text) => format!("the number {}", text.chars().take(40).collect::<String>()),
        Kind::Text(text) => format!("the string {}", quoted(text)),
        Kind::List(_) => "a list".to_owned(),
        Kind::Object(_) => "an object".to_owned(),
    }
}

pub(crate) fn string<'d>(node: &'d Node<'_>, what: &str) -> Result<&'d str, Fault> {
    match &node.kind {
        Kind::Text(text) => Ok(text),
        _ => Err(expected(node, what, "a string")),
    }
}

pub(crate) fn boolean(node: &Node<'_>, what: &str) -> Result<bool, Fault> {
    match node.kind {
        Kind::Bool(value) => Ok(value),
        _ => Err(expected(node, what, "true or false")),
    }
}

pub(crate) fn list<'d, 'a>(node: &'d Node<'a>, what: &str) -> Result<&'d [Node<'a>], Fault> {
    match &node.kind {
        Kind::List(items) => Ok(items),
        _ => Err(expected(node, what, "a list")),
    }
}

/// Decimal digits with an optional minus, and nothing else: `1.0`, `1e0`, `+1` and `0x1` are refused.
pub(crate) fn is_plain_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'))
}

/// An exact integer that is at least `min`.
pub(crate) fn integer(node: &Node<'_>, what: &str, min: u64) -> Result<u64, Fault> {
    let Kind::Number(text) = &node.kind else {
        return Err(expected(node, what, "an integer"));
    };
    if !is_plain_integer(text) {
        return Err(expected(
            node,
            what,
            "an integer in plain decimal digits, without fraction or exponent",
        ));
    }
    match text.parse::<u64>() {
        Ok(value) if value >= min => Ok(value),
        Err(_) if !text.starts_with('-') => Err(expected(
            node,
            what,
            "an integer that fits in 64 bits without a sign",
        )),
        _ => Err(expected(
            node,
            what,
            &format!("an integer of at least {min}"),
        )),
    }
}

/// Why `text` is no canonical path (protocol section 3), with the way out.
pub(crate) fn why_not_canonical(text: &str) -> Option<&'static str> {
    if is_canonical_path(text) {
        return None;
    }
    Some(if text.is_empty() {
        "it is empty"
    } else if text.starts_with('/') {
        "it starts with `/`; paths are relative to the repository"
    } else if text.contains('\\') {
        "it holds a backslash; separate with `/`"
    } else if text.chars().any(char::is_control) {
        "it holds a control character"
    } else if text.starts_with("./") {
        "it starts with `./`; leave that out"
    } else if text.split('/').any(|part| matches!(part, "." | "..")) {
        "it has a component `.` or `..`"
    } else if text.ends_with('/') {
        "it ends with `/`; leave that out"
    } else {
        "it has an empty component (`//`)"
    })
}

/// Checks that `text`, which stands at `place`, is a canonical path.
pub(crate) fn canonical(text: &str, place: Place, what: &str) -> Result<(), Fault> {
    match why_not_canonical(text) {
        None => Ok(()),
        Some(why) => Err(Fault::new(
            place,
            format!(
                "{what}: expected a canonical path, found {}: {why}",
                quoted(text)
            ),
        )),
    }
}

pub(crate) fn path<'d>(node: &'d Node<'_>, what: &str) -> Result<&'d str, Fault> {
    let text = string(node, what)?;
    canonical(text, node.place, what)?;
    Ok(text)
}

pub(crate) fn node_id(node: &Node<'_>, what: &str) -> Result<NodeId, Fault> {
    let text = string(node, what)?;
    let file = text.split_once("::").map_or(text, |(file, _)| file);
    if let Some(why) = why_not_canonical(file) {
        return Err(Fault::new(
            node.place,
            format!(
                "{what}: expected a node id `path::name` with a canonical path, found {}: {why}",
                quoted(text)
            ),
        ));
    }
    text.parse().map_err(|_| {
        Fault::new(
            node.place,
            format!(
                "{what}: expected a node id with names without control characters after `::`, found {}",
                quoted(text)
            ),
        )
    })
}

pub(crate) fn digest(node: &Node<'_>, what: &str) -> Result<FileDigest, Fault> {
    let text = string(node, what)?;
    text.parse().map_err(|_| {
        Fault::new(
            node.place,
            format!(
                "{what}: expected a SHA-256 as 64 lower-case hex digits, found {} ({} characters)",
                quoted(text),
                text.chars().count()
            ),
        )
    })
}

/// A string that may be left out.
pub(crate) fn optional_text(row: &Object<'_, '_>, key: &str) -> Result<Option<String>, Fault> {
    row.get(key)
        .map(|node| string(node, &format!("`{key}`")).map(str::to_owned))
        .transpose()
}

/// An RFC 3339 time, kept as written; `null` is the same as no key.
pub(crate) fn optional_time(row: &Object<'_, '_>, key: &str) -> Result<Option<String>, Fault> {
    let Some(node) = row.get(key).filter(|node| node.kind != Kind::Null) else {
        return Ok(None);
    };
    let wanted = "an RFC 3339 time such as \"2026-01-31T12:00:00Z\", or null";
    match &node.kind {
        Kind::Text(text) if chrono::DateTime::parse_from_rfc3339(text).is_ok() => {
            Ok(Some(text.to_string()))
        }
        _ => Err(expected(node, &format!("`{key}`"), wanted)),
    }
}
