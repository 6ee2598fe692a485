//! Contract files (protocol 3.1–3.4): what is accepted, and the place and words of every refusal.

mod layers;
mod locks;
mod refusals;
mod robust;
mod schema;
mod writers;

use std::collections::BTreeMap;

use frostline::config::repo::{self, ApplyTo, LayerSetting, Mode, RepoConfig};
use frostline::contract::seed::Seed;
use frostline::contract::{freezes, lock, map};
use frostline::model::{CommentPolicy, Effect, Layer, Rule};

use refusals::{CATALOG, CONFIG, EVIDENCE, FREEZES, Kind, LEDGER, LOCK, MAP, SEEDS};

/// A file that is accepted; JSON throughout, which YAML reads as well.
#[derive(Debug, Clone, Copy)]
struct Good {
    kind: Kind,
    text: &'static str,
}

const GOOD: &[Good] = &[
    Good {
        kind: LOCK,
        text: r#"{
  "fixtures_root": "tests/fixtures",
  "files": {
    "a/one.json": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "t\u00e9st/[2].bin": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  }
}
"#,
    },
    Good {
        kind: LOCK,
        text: r#"{"files": {"b/x": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, "fixtures_root": ["a", "b"]}"#,
    },
    Good {
        kind: FREEZES,
        text: r#"{"version": 1, "entries": []}"#,
    },
    Good {
        kind: FREEZES,
        text: r#"{
  "version": 1,
  "entries": [
    {"nodeid": "tests/properties/test_a.py::test_x[1]", "reason": "IO", "owner": "@o", "covers": ["src/a.py"], "frozen": true},
    {"nodeid": "tests/properties/test_a.py::test_x[1]", "reason": "", "owner": "", "covers": [], "frozen": false,
     "property_id": "p", "property_digest": "sha256:1", "fixture_digest": "manifest-sha256:2", "seed": -9223372036854775808,
     "replay": "pytest x", "opened_at": "2026-01-31T12:00:00Z", "expires_at": null},
    {"nodeid": "crates/p/src/lex.rs::tests::roundtrip", "reason": "r", "owner": "o", "covers": [], "frozen": true,
     "seed": "0xDEADbeef", "opened_at": null, "expires_at": "2026-01-31T12:00:00.5+02:00"}
  ]
}"#,
    },
    Good {
        kind: MAP,
        text: r#"{"version": 1, "rules": [
  {"path_prefix": "src/", "live_properties": ["tests/properties/test_a.py::TestX::test_y", "web/a.test.ts::a title::with \\:\\:"]},
  {"path_prefix": "src/pa", "live_properties": [], "min_live": 2}
]}"#,
    },
    Good {
        kind: LEDGER,
        text: r#"{
  "schema": "seed-freeze-v1",
  "entries": [
    {
      "nodeid": "tests/test_invoice_total.py::test_total_non_negative",
      "seed": 1847912033,
      "fixture_digest": "sha256:9c1e4b0a",
      "reason": "CLOCK",
      "replay": "pytest tests/test_invoice_total.py::test_total_non_negative --hypothesis-seed=1847912033",
      "opened_at": "2026-09-19T00:00:00Z",
      "expires_at": null,
      "status": "open"
    },
    {"nodeid": "tests/test_a.py::test_x", "seed": "0xdeadbeef", "owner": "@o", "property_id": "p", "property_digest": "sha256:1",
     "evidence": "e", "reopened_from": "manifest-sha256:2", "expires_at": "2026-01-31T12:00:00Z"}
  ]
}"#,
    },
    Good {
        kind: CATALOG,
        text: r#"{"version": 1, "properties": [
  {"property_id": "invoice.total", "nodeid": "tests/properties/test_a.py::test_x", "fixtures": ["tests/fixtures/a/**", "tests/golden/{a,b}.json"], "owner": "@o"},
  {"property_id": "p q", "nodeid": "web/a.test.ts::t", "fixtures": ["tests/fixtures/x.json"], "owner": "", "runner": "vitest", "seed": "ff"}
]}"#,
    },
    Good {
        kind: EVIDENCE,
        text: r#"{"schema": "frostline.evidence/1", "property_id": "invoice.total", "nodeid": "tests/properties/test_a.py::test_x", "fixture_paths": ["tests/fixtures/a"], "fixture_digest": "manifest-sha256:1", "seed": 7, "runs": 7, "passes": 5, "failures": 2, "signatures": [{"id": "s", "count": 2, "summary": "s"}], "status": "frozen", "reason": "CLOCK", "cause": "unattributed", "framework": {"name": "hypothesis"}, "example": "[1]", "isolation": "bwrap", "commit": null, "started_at": "2026-01-31T12:00:00Z", "finished_at": "2026-01-31T12:00:00Z", "more": 1}"#,
    },
    Good {
        kind: SEEDS,
        text: r#"{"version": 1, "seeds": {"tests/properties/test_a.py::test_x[1]": [1, -2, 18446744073709551615], "a.rs::b": []}}"#,
    },
    Good {
        kind: CONFIG,
        text: "{}",
    },
    Good {
        kind: CONFIG,
        text: r#"{
  "version": 1, "mode": "observe", "apply_to": "all", "branches": ["release/1.x"],
  "agents": {"logins": ["acme[bot]"], "branches": ["bot/", "x-*"], "labels": ["ai"], "trailers": ["Made-with: X"], "exclude_logins": ["u"]},
  "paths": {"production": ["src/**", "!src/gen/**"], "properties": ["**/prop_*.py"], "inline_properties": ["crates/*/src/**"],
            "harness": ["ci/**"], "golden": ["!docs/**/expected/**"], "tests": ["spec/**"], "notes": ["notes/**"],
            "sensitive": ["src/auth/**"], "ignored": ["examples/**"]},
  "contract": {"lock": "locks/fixtures.json", "freezes": "off", "map": false, "ledger": "off", "catalog": "c.json",
               "evidence": "e.jsonl", "frozen_tests": "f.txt", "seeds": "s.json"},
  "rules": {"golden-changed": "notice", "unmapped-path": "human_review", "ghost-property": "refuse"},
  "review": {"author_may_accept": false},
  "lane": {"engine": "local", "runs": 7, "max_runs": 30, "timeout": 600, "workers": 2, "network": false, "runners": ["pytest", {"name": "lua", "files": ["spec/**", "!spec/x/**"], "command": ["tools/one", "{nodeid}", "{{seed}}{", "-o={report}"]}]},
  "comments": "never"
}"#,
    },
];

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[test]
fn good_files_are_accepted() {
    for good in GOOD {
        if let Err(error) = (good.kind.parse)(good.text.as_bytes()) {
            panic!("{error}\n{}", good.text);
        }
    }
}

fn text_of(kind: Kind, nth: usize) -> &'static [u8] {
    let mut files = GOOD.iter().filter(|good| good.kind.name == kind.name);
    files.nth(nth).expect("a good file").text.as_bytes()
}

#[test]
fn a_lock_is_read_with_its_places() {
    let one = lock::parse("lock.json", text_of(LOCK, 0)).expect("a good lock");
    assert_eq!(one.roots, ["tests/fixtures"]);
    assert_eq!(one.root_places, [(2, 20)]);
    let rows: Vec<_> = one
        .files
        .iter()
        .map(|(p, r)| (p.as_str(), r.line))
        .collect();
    assert_eq!(
        rows,
        [
            ("tests/fixtures/a/one.json", 4),
            ("tests/fixtures/tést/[2].bin", 5)
        ]
    );
    let several = lock::parse("lock.json", text_of(LOCK, 1)).expect("a good lock");
    assert_eq!(several.roots, ["a", "b"]);
    assert_eq!(several.files.keys().collect::<Vec<_>>(), ["b/x"]);
}

#[test]
fn a_freeze_list_is_read_with_every_row() {
    let list = freezes::parse("freeze.json", text_of(FREEZES, 1)).expect("a good list");
    let lines: Vec<u32> = list.entries.iter().map(|entry| entry.line).collect();
    assert_eq!(lines, [4, 5, 8]);
    let [open, closed, hex] = &list.entries[..] else {
        panic!("three rows");
    };
    assert!(open.frozen && open.fixture_digest.is_none() && open.covers == ["src/a.py"]);
    assert!(!closed.frozen);
    assert_eq!(closed.seed, Some(Seed::Integer(i64::MIN.into())));
    assert_eq!(closed.fixture_digest.as_deref(), Some("manifest-sha256:2"));
    assert_eq!((&closed.expires_at, &hex.opened_at), (&None, &None));
    assert_eq!(hex.seed, Some(Seed::Hex("0xDEADbeef".to_owned())));
    assert!(!open.same_row(closed));
}

#[test]
fn a_map_is_read_with_prefixes_as_they_stand() {
    let map = map::parse("map.json", text_of(MAP, 0)).expect("a good map");
    let rules: Vec<_> = map
        .rules
        .iter()
        .map(|r| {
            (
                r.path_prefix.as_str(),
                r.live_properties.len(),
                r.min_live,
                r.line,
            )
        })
        .collect();
    assert_eq!(rules, [("src/", 2, None, 2), ("src/pa", 0, Some(2), 3)]);
}

#[test]
fn an_empty_mapping_gives_every_default() {
    let config = repo::parse("c.yml", b"version: 1\n").expect("a good configuration");
    assert_eq!(config, RepoConfig::default());
    assert_eq!(config.mode, Mode::Enforce);
    assert_eq!(config.apply_to, ApplyTo::Agents);
    assert_eq!(config.comments, CommentPolicy::Holes);
    assert_eq!(
        config.layer_path(Layer::Lock),
        Some("test/contract/fixtures.lock.json")
    );
}

#[test]
fn a_full_configuration_is_read_whole() {
    let config = repo::parse("c.yml", text_of(CONFIG, 1)).expect("a good configuration");
    assert_eq!(config.mode, Mode::Observe);
    assert_eq!(config.apply_to, ApplyTo::All);
    assert_eq!(config.comments, CommentPolicy::Never);
    assert_eq!(config.branches, ["release/1.x"]);
    assert_eq!(config.agents.branches, ["bot/", "x-*"]);
    assert_eq!(config.agents.exclude_logins, ["u"]);
    assert_eq!(config.paths.production, ["src/**", "!src/gen/**"]);
    assert_eq!(config.paths.ignored, ["examples/**"]);
    assert_eq!(config.layer_path(Layer::Lock), Some("locks/fixtures.json"));
    for off in [Layer::Freezes, Layer::Map, Layer::Ledger] {
        assert_eq!(config.contract.get(&off), Some(&LayerSetting::Off));
        assert_eq!(config.guarded_path(off), off.default_path());
    }
    assert_eq!(
        config.rules,
        BTreeMap::from([
            (Rule::GoldenChanged, Effect::Notice),
            (Rule::UnmappedPath, Effect::HumanReview),
            (Rule::GhostProperty, Effect::Refuse),
        ])
    );
}

#[test]
fn a_layer_may_move_to_a_place_that_another_left() {
    let text = b"contract:\n  lock: test/contract/hunk-map.json\n  map: map.json\n";
    let config = repo::parse("c.yml", text).expect("a good configuration");
    assert_eq!(
        config.layer_path(Layer::Lock),
        Some("test/contract/hunk-map.json")
    );
}

/// The words of the core schema of YAML 1.2, and none of YAML 1.1's.
#[test]
fn yaml_words_mean_what_yaml_1_2_says() {
    for value in ["true", "True", "TRUE", "false", "False", "FALSE"] {
        let text = format!("review: {{author_may_accept: {value}}}\n");
        assert!(repo::parse("c.yml", text.as_bytes()).is_ok(), "{value}");
    }
    // A block list without indentation, comments, quotes, a document start and CRLF are all plain YAML.
    let text = "---\r\n# why\r\nbranches:\r\n- 'v1'   # old\r\n- \"v2\"\r\n...\r\n";
    let config = repo::parse("c.yml", text.as_bytes()).expect("a good configuration");
    assert_eq!(config.branches, ["v1", "v2"]);
}
