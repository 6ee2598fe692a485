//! Manifests by key: which changes of a manifest are harness (protocol section 2, order 4). PURE.
//!
//! Invariant: fails closed. A manifest is *other* only when both versions are read whole and every key
//! that decides how tests run is the same in both and has the type that its tool expects.

use toml::{Table, Value};

use crate::contract::document::{Kind, Member, Node};
use crate::contract::json;

/// A larger manifest is not read.
const MAX_BYTES: usize = 4 << 20;

/// Files that are harness by some of their keys, and those that are it whole.
const MANIFESTS: &[&str] = &[
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "setup.py",
    "go.mod",
];

/// Beginnings of the keys of `tool` in `pyproject.toml`.
const PYTHON_TOOLS: &[&str] = &["pytest", "coverage", "hypothesis", "tox"];
/// Top-level keys of `Cargo.toml`, with the type that Cargo reads them as.
const CARGO_KEYS: &[(&str, Type)] = &[
    ("test", Type::List),
    ("lib", Type::Object),
    ("bin", Type::List),
    ("profile", Type::Object),
    ("features", Type::Object),
];
/// `project` is an old name of `package` that Cargo still reads.
const CARGO_PACKAGES: &[&str] = &["package", "project"];
const CARGO_PACKAGE_KEYS: &[(&str, &[Type])] = &[
    ("autotests", &[Type::Bool]),
    ("build", &[Type::Text, Type::Bool, Type::List]),
];
/// Top-level keys of `package.json`; a tool's key may also name a file.
const NODE_KEYS: &[(&str, &[Type])] = &[
    ("scripts", &[Type::Object]),
    ("jest", &[Type::Object, Type::Text]),
    ("vitest", &[Type::Object, Type::Text]),
    ("mocha", &[Type::Object, Type::Text]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Bool,
    Text,
    List,
    Object,
    Other,
}

/// Whether `path` is a manifest, in any directory. Paths of other classes (a fixture, a property) are
/// for the caller to tell apart.
pub fn is_manifest(path: &str) -> bool {
    MANIFESTS.contains(&name_of(path))
}

/// Whether going from `old` to `new` leaves everything alone that decides how tests run, so that the
/// manifest at `path` is of class other. False when in doubt: for a file that is harness whole or no
/// manifest, and for a version that is not read whole.
pub fn changes_only_other_keys(path: &str, old: &[u8], new: &[u8]) -> bool {
    if old.len() > MAX_BYTES || new.len() > MAX_BYTES {
        return false;
    }
    match name_of(path) {
        "pyproject.toml" => same_toml(old, new, python_keys),
        "Cargo.toml" => same_toml(old, new, cargo_keys),
        "package.json" => same_json(old, new),
        _ => false,
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The value of each key that counts, or `None` for a file of another shape than its tool expects.
type Keys<'a> = Option<Vec<(&'a str, &'a str, &'a Value)>>;

fn same_toml(old: &[u8], new: &[u8], keys: fn(&Table) -> Keys<'_>) -> bool {
    let (Some(old), Some(new)) = (table(old), table(new)) else {
        return false;
    };
    match (keys(&old), keys(&new)) {
        (Some(old), Some(new)) => old == new,
        _ => false,
    }
}

/// The parser bounds nesting and refuses duplicate keys by itself. It lets a byte order mark pass, which
/// other readers of these files do not.
fn table(bytes: &[u8]) -> Option<Table> {
    let text = std::str::from_utf8(bytes).ok()?;
    if text.starts_with('\u{feff}') {
        return None;
    }
    text.parse().ok()
}

fn python_keys(file: &Table) -> Keys<'_> {
    let Some(tool) = file.get("tool") else {
        return Some(Vec::new());
    };
    let counts = |key: &str| PYTHON_TOOLS.iter().any(|tool| key.starts_with(tool));
    tool.as_table()?
        .iter()
        .filter(|(key, _)| counts(key))
        .map(|(key, value)| value.is_table().then_some(("tool", key.as_str(), value)))
        .collect()
}

fn cargo_keys(file: &Table) -> Keys<'_> {
    let mut keys = Vec::new();
    for (key, expected) in CARGO_KEYS {
        if let Some(value) = file.get(*key) {
            keys.push((type_of(value) == *expected).then_some(("", *key, value))?);
        }
    }
    for name in CARGO_PACKAGES {
        let Some(package) = file.get(*name) else {
            continue;
        };
        let package = package.as_table()?;
        for (key, expected) in CARGO_PACKAGE_KEYS {
            if let Some(value) = package.get(*key) {
                let is_expected = expected.contains(&type_of(value));
                keys.push(is_expected.then_some((*name, *key, value))?);
            }
        }
    }
    Some(keys)
}

fn type_of(value: &Value) -> Type {
    match value {
        Value::Boolean(_) => Type::Bool,
        Value::String(_) => Type::Text,
        Value::Array(_) => Type::List,
        Value::Table(_) => Type::Object,
        Value::Integer(_) | Value::Float(_) | Value::Datetime(_) => Type::Other,
    }
}

/// The strict reader refuses what others read in several ways: duplicate keys, a byte order mark,
/// nesting without bound.
fn same_json(old: &[u8], new: &[u8]) -> bool {
    let (Ok(old), Ok(new)) = (json::parse(old), json::parse(new)) else {
        return false;
    };
    match (node_keys(&old), node_keys(&new)) {
        (Some(old), Some(new)) => {
            old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| same_member(old, new))
        }
        _ => false,
    }
}

/// The members that count, in the order of [`NODE_KEYS`].
fn node_keys<'d, 'a>(root: &'d Node<'a>) -> Option<Vec<&'d Member<'a>>> {
    let Kind::Object(members) = &root.kind else {
        return None;
    };
    let mut found = Vec::new();
    for (key, expected) in NODE_KEYS {
        if let Some(member) = members.iter().find(|member| member.key == *key) {
            let is_expected = expected.contains(&json_type(&member.value));
            found.push(is_expected.then_some(member)?);
        }
    }
    Some(found)
}

fn json_type(node: &Node<'_>) -> Type {
    match &node.kind {
        Kind::Bool(_) => Type::Bool,
        Kind::Text(_) => Type::Text,
        Kind::List(_) => Type::List,
        Kind::Object(_) => Type::Object,
        Kind::Null | Kind::Number(_) => Type::Other,
    }
}

fn same_member(old: &Member<'_>, new: &Member<'_>) -> bool {
    old.key == new.key && same(&old.value, &new.value)
}

/// Equal wherever they stand. The order of keys counts: some tools take the first pattern that matches.
/// The reader bounds the depth.
fn same(old: &Node<'_>, new: &Node<'_>) -> bool {
    match (&old.kind, &new.kind) {
        (Kind::List(old), Kind::List(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
        }
        (Kind::Object(old), Kind::Object(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same_member(old, new))
        }
        (old, new) => old == new,
    }
}

#[cfg(test)]
mod tests;
