//! The lock is written so that a re-run makes no diff, and its roots are disjoint from the rest.

use std::collections::BTreeMap;

use frostline::contract::lock::{Guarded, Lock, check_roots, parse, write};
use frostline::model::FileDigest;
use proptest::prelude::*;

fn digest(n: u8) -> FileDigest {
    FileDigest::from_bytes([n; 32])
}

fn files(rows: &[(&str, u8)]) -> BTreeMap<String, FileDigest> {
    let row = |&(path, n): &(&str, u8)| (path.to_owned(), digest(n));
    rows.iter().map(row).collect()
}

fn roots(roots: &[&str]) -> Vec<String> {
    roots.iter().map(|root| (*root).to_owned()).collect()
}

fn text(existing: Option<&str>, under: &[&str], rows: &[(&str, u8)]) -> String {
    let bytes = write(existing.map(str::as_bytes), &roots(under), &files(rows));
    String::from_utf8(bytes).expect("a lock is UTF-8")
}

/// Digests of one repeated byte, shortened for reading.
fn short(text: &str) -> String {
    (0..10).fold(text.to_owned(), |text, n| {
        text.replace(digest(n).as_str(), &format!("<{n}>"))
    })
}

fn long(text: &str) -> String {
    (0..10).fold(text.to_owned(), |text, n| {
        text.replace(&format!("<{n}>"), digest(n).as_str())
    })
}

#[test]
fn a_fresh_lock_is_pretty_and_sorted() {
    let lock = text(None, &["t"], &[("t/b", 2), ("t/a/é\"", 1)]);
    assert_eq!(
        short(&lock),
        "{\n  \"fixtures_root\": \"t\",\n  \"files\": {\n    \"a/é\\\"\": \"<1>\",\n    \"b\": \"<2>\"\n  }\n}\n"
    );
    assert_eq!(
        text(None, &["t"], &[]),
        "{\n  \"fixtures_root\": \"t\",\n  \"files\": {}\n}\n"
    );
    let several = text(None, &["t", "u"], &[("u/a", 1)]);
    assert_eq!(
        short(&several),
        "{\n  \"fixtures_root\": [\n    \"t\",\n    \"u\"\n  ],\n  \"files\": {\n    \"u/a\": \"<1>\"\n  }\n}\n"
    );
}

#[test]
fn a_lock_that_says_the_same_is_left_byte_for_byte() {
    for same in [
        "{\"files\":{\"b\":\"<2>\",   \"\\u0061\": \"<1>\"},\n\n\"fixtures_root\" :\"t\"}",
        "{\r\n\t\"fixtures_root\": \"t\",\r\n\t\"files\": {\"a\": \"<1>\", \"b\": \"<2>\"}\r\n}\r\n\r\n",
        "{\"fixtures_root\": [\"t\"], \"files\": {\"t/a\": \"<1>\", \"t/b\": \"<2>\"}}",
    ] {
        let same = long(same);
        assert_eq!(text(Some(&same), &["t"], &[("t/a", 1), ("t/b", 2)]), same);
    }
}

#[test]
fn a_changed_lock_keeps_its_order_and_its_layout() {
    for (name, old, rows, new) in [
        (
            "old rows stay in place, new ones go where sorting puts them",
            "{\n  \"fixtures_root\": \"t\",\n  \"files\": {\n    \"c\": \"<3>\",\n    \"a\": \"<1>\",\n    \"x\": \"<4>\"\n  }\n}\n",
            &[("t/a", 9), ("t/b", 2), ("t/c", 3), ("t/d", 5), ("t/z", 6)][..],
            "{\n  \"fixtures_root\": \"t\",\n  \"files\": {\n    \"b\": \"<2>\",\n    \"c\": \"<3>\",\n    \"a\": \"<9>\",\n    \"d\": \"<5>\",\n    \"z\": \"<6>\"\n  }\n}\n",
        ),
        (
            "tabs, foreign line ends, the order of keys and a missing final newline",
            "{\r\n\t\"files\": {\r\n\t\t\"a\": \"<1>\"\r\n\t},\r\n\t\"fixtures_root\": \"t\"\r\n}",
            &[("t/a", 2)],
            "{\r\n\t\"files\": {\r\n\t\t\"a\": \"<2>\"\r\n\t},\r\n\t\"fixtures_root\": \"t\"\r\n}",
        ),
        (
            "one line with spaces",
            "{\"fixtures_root\": \"t\", \"files\": {\"a\": \"<1>\", \"b\": \"<2>\"}}\n",
            &[("t/a", 1), ("t/b", 3)],
            "{\"fixtures_root\": \"t\", \"files\": {\"a\": \"<1>\", \"b\": \"<3>\"}}\n",
        ),
        (
            "one line without spaces",
            "{\"fixtures_root\":\"t\",\"files\":{\"a\":\"<1>\"}}",
            &[("t/a", 1), ("t/b", 3)],
            "{\"fixtures_root\":\"t\",\"files\":{\"a\":\"<1>\",\"b\":\"<3>\"}}",
        ),
        (
            "escapes where a writer keeps to ASCII",
            "{\"fixtures_root\": \"t\", \"files\": {\"\\u00e9\": \"<1>\"}}",
            &[("t/é", 1), ("t/\u{1F9CA}", 2)],
            "{\"fixtures_root\": \"t\", \"files\": {\"\\u00e9\": \"<1>\", \"\\ud83e\\uddca\": \"<2>\"}}",
        ),
        (
            "a list of one root stays a list",
            "{\n    \"fixtures_root\": [\n        \"t\"\n    ],\n    \"files\": {}\n}\n",
            &[("t/a", 1)],
            "{\n    \"fixtures_root\": [\n        \"t\"\n    ],\n    \"files\": {\n        \"t/a\": \"<1>\"\n    }\n}\n",
        ),
    ] {
        assert_eq!(short(&text(Some(&long(old)), &["t"], rows)), new, "{name}");
    }
    let broken = text(Some("{not a lock"), &["t"], &[("t/a", 1)]);
    assert_eq!(broken, text(None, &["t"], &[("t/a", 1)]));
    let another_root = text(
        Some(&text(None, &["t"], &[("t/a", 1)])),
        &["u"],
        &[("u/a", 1)],
    );
    assert_eq!(another_root, text(None, &["u"], &[("u/a", 1)]));
}

fn lock_of(under: &[&str]) -> Lock {
    parse("lock.json", text(None, under, &[]).as_bytes()).expect("a good lock")
}

/// Why the roots are refused; empty when they are not.
fn refusal(under: &[&str]) -> String {
    let guarded = Guarded {
        contract: &[".github/frostline.yml", "test/contract/hunk-map.json"],
        properties: &["tests/properties/**", "**/props/**"],
        production: &["src/**", "crates/*/src/**", "internal/**", "!src/corpus/**"],
    };
    match check_roots(&lock_of(under), guarded, "lock.json") {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn roots_are_disjoint_from_contract_properties_and_production() {
    for fine in [
        "tests/fixtures",
        "testing",
        "crates/p/fixtures",
        "src/corpus",
        "internal/lex/testdata",
        "internal/lex/testdata/fuzz",
    ] {
        assert_eq!(refusal(&[fine]), "", "{fine}");
    }
    for (root, why) in [
        (
            "tests",
            "the glob \"tests/properties/**\" of properties lies in it",
        ),
        ("tests/properties", "it lies under the globs of properties"),
        (
            "tests/properties/testdata",
            "it lies under the globs of properties",
        ),
        ("a/props/b", "it lies under the globs of properties"),
        ("src", "it lies under the globs of production"),
        ("src/fixtures", "it lies under the globs of production"),
        (
            "crates",
            "the glob \"crates/*/src/**\" of production lies in it",
        ),
        ("crates/p/src/data", "it lies under the globs of production"),
        ("internal/data", "it lies under the globs of production"),
        (
            "test/contract",
            "the contract file \"test/contract/hunk-map.json\" lies in it",
        ),
        (
            "test",
            "the contract file \"test/contract/hunk-map.json\" lies in it",
        ),
        (
            ".github",
            "the contract file \".github/frostline.yml\" lies in it",
        ),
    ] {
        let said = refusal(&[root]);
        assert!(
            said.starts_with("lock.json:2:20: ") && said.contains(why),
            "{root}: {said}"
        );
    }
    assert!(refusal(&["tests/fixtures", "src"]).starts_with("lock.json:4:5: "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// What is written is read again, over any lock that was there, and writing it again changes nothing.
    #[test]
    fn what_is_written_is_read_again_and_stays(
        old in prop::collection::btree_map("[a-dé\"]{1,3}(/[a-d ]{1,2})?", 0..9_u8, 0..8),
        new in prop::collection::btree_map("[a-dé\"]{1,3}(/[a-d ]{1,2})?", 0..9_u8, 0..8),
        under in prop::sample::select(vec![vec!["t"], vec!["t", "u/v"]]),
        compact in any::<bool>(),
    ) {
        let rows = |rows: &BTreeMap<String, u8>| -> BTreeMap<String, FileDigest> {
            rows.iter().map(|(key, n)| (format!("t/{key}"), digest(*n))).collect()
        };
        let (old, new, under) = (rows(&old), rows(&new), roots(&under));
        let mut first = write(None, &under, &old);
        if compact {
            let value: serde_json::Value = serde_json::from_slice(&first).expect("JSON");
            first = value.to_string().into_bytes();
        }
        let second = write(Some(&first), &under, &new);
        let lock = parse("lock.json", &second).expect("a written lock is a good one");
        prop_assert_eq!(&lock.roots, &under);
        let read: BTreeMap<_, _> = lock.files.into_iter().map(|(path, row)| (path, row.digest)).collect();
        prop_assert_eq!(&read, &new);
        prop_assert_eq!(write(Some(&second), &under, &new), second);
    }
}
