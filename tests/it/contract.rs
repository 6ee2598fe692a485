//! Contract files (protocol 3.1–3.4): what is accepted, and the place and words of every refusal.

mod refusals;

use frostline::config::repo;
use frostline::contract::{freezes, lock, map};

const LOCK: &str = r#"{
  "fixtures_root": "tests/fixtures",
  "files": {
    "a/one.json": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "two.bin": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  }
}
"#;

#[test]
fn good_files_are_read_with_their_lines() {
    let lock = lock::parse("lock.json", LOCK.as_bytes()).expect("a good lock");
    assert_eq!(lock.roots, ["tests/fixtures"]);
    assert_eq!(lock.root_places, [(2, 20)]);
    let rows: Vec<_> = lock
        .files
        .iter()
        .map(|(p, r)| (p.as_str(), r.line))
        .collect();
    assert_eq!(
        rows,
        [
            ("tests/fixtures/a/one.json", 4),
            ("tests/fixtures/two.bin", 5)
        ]
    );

    let list = freezes::parse(
        "freeze.json",
        br#"{"version": 1, "entries": [
            {"nodeid": "tests/p/test_a.py::test_x", "reason": "r", "owner": "@o", "covers": ["src/a.py"], "frozen": true}
        ]}"#,
    )
    .expect("a good list");
    assert_eq!((list.entries.len(), list.entries[0].line), (1, 2));

    let map = map::parse(
        "map.json",
        br#"{"version": 1, "rules": [{"path_prefix": "src/", "live_properties": ["a.py::t"], "min_live": 2}]}"#,
    )
    .expect("a good map");
    assert_eq!(map.rules[0].min_live, Some(2));

    let config =
        repo::parse("c.yml", b"version: 1\nmode: observe\n").expect("a good configuration");
    assert_eq!(config.mode, repo::Mode::Observe);
}
