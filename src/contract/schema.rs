//! JSON Schemas of the configuration and the contract files, for editors and other tools.
//!
//! They are the files of `docs/schema`, compiled in. A schema says what it can: shapes, keys, words and
//! patterns. That two paths differ or that a number is written without a fraction only the parsers say.
//! Tests hold both against each other, key by key and rule by rule.

/// Names and texts, each a JSON document.
pub const SCHEMAS: [(&str, &str); 4] = [
    (
        "config",
        include_str!("../../docs/schema/config.schema.json"),
    ),
    (
        "freezes",
        include_str!("../../docs/schema/freezes.schema.json"),
    ),
    ("lock", include_str!("../../docs/schema/lock.schema.json")),
    ("map", include_str!("../../docs/schema/map.schema.json")),
];
