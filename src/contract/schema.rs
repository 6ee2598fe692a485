//! JSON Schemas of the configuration and the contract files, for editors and other tools.
//!
//! They are the files of `docs/schema`, compiled in. That of the evidence ledger is of one line; the list of
//! frozen tests is no JSON and has none. A schema says what it can: shapes, keys, words and
//! patterns. That two paths differ or that a number is written without a fraction only the parsers say.
//! Tests hold both against each other, key by key and rule by rule.

/// Names and texts, each a JSON document.
pub const SCHEMAS: [(&str, &str); 8] = [
    (
        "catalog",
        include_str!("../../docs/schema/catalog.schema.json"),
    ),
    (
        "config",
        include_str!("../../docs/schema/config.schema.json"),
    ),
    (
        "evidence",
        include_str!("../../docs/schema/evidence.schema.json"),
    ),
    (
        "freezes",
        include_str!("../../docs/schema/freezes.schema.json"),
    ),
    (
        "ledger",
        include_str!("../../docs/schema/ledger.schema.json"),
    ),
    ("lock", include_str!("../../docs/schema/lock.schema.json")),
    ("map", include_str!("../../docs/schema/map.schema.json")),
    ("seeds", include_str!("../../docs/schema/seeds.schema.json")),
];
