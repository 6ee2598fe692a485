//! One case for every way in which a contract file can be broken: its exact place, and what it says.

use frostline::config::repo;
use frostline::contract::{ContractError, catalog, evidence, freezes, ledger, lock, map, seeds};

/// A contract file under test: its name, and its parser without the value.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub parse: fn(&[u8]) -> Result<(), ContractError>,
}

pub const CONFIG: Kind = Kind {
    name: ".github/frostline.yml",
    parse: |bytes| repo::parse(CONFIG.name, bytes).map(drop),
};
pub const LOCK: Kind = Kind {
    name: "test/contract/fixtures.lock.json",
    parse: |bytes| lock::parse(LOCK.name, bytes).map(drop),
};
pub const FREEZES: Kind = Kind {
    name: "test/contract/flake-freeze.json",
    parse: |bytes| freezes::parse(FREEZES.name, bytes).map(drop),
};
pub const MAP: Kind = Kind {
    name: "test/contract/hunk-map.json",
    parse: |bytes| map::parse(MAP.name, bytes).map(drop),
};
pub const LEDGER: Kind = Kind {
    name: "tests/seed_freeze.json",
    parse: |bytes| ledger::parse(LEDGER.name, bytes).map(drop),
};
pub const CATALOG: Kind = Kind {
    name: "test/contract/properties.json",
    parse: |bytes| catalog::parse(CATALOG.name, bytes).map(drop),
};
/// One line of it, without its line end.
pub const EVIDENCE: Kind = Kind {
    name: "test/contract/evidence.jsonl",
    parse: |bytes| {
        let line = [bytes, b"\n"].concat();
        evidence::parse(EVIDENCE.name, &line).map(drop)
    },
};
pub const SEEDS: Kind = Kind {
    name: "test/contract/seeds.json",
    parse: |bytes| seeds::parse(SEEDS.name, bytes).map(drop),
};
const JSON: [Kind; 6] = [LOCK, FREEZES, MAP, LEDGER, CATALOG, SEEDS];

/// Says which cases are wrong, all of them at once. A case is a text, the place `line:column` and a
/// part of the message.
pub fn check(kind: Kind, cases: &[(&str, &str, &str)]) {
    let cases: Vec<(&[u8], &str, &str)> = cases
        .iter()
        .map(|(text, place, words)| (text.as_bytes(), *place, *words))
        .collect();
    check_bytes(kind, &cases);
}

fn check_bytes(kind: Kind, cases: &[(&[u8], &str, &str)]) {
    let mut wrong = Vec::new();
    for (bytes, place, words) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
        let said = match (kind.parse)(bytes) {
            Ok(()) => "accepted".to_owned(),
            Err(error) => {
                assert_eq!(error.path, kind.name);
                format!("{}:{}: {}", error.line, error.column, error.message)
            }
        };
        if !(said.starts_with(&format!("{place}: ")) && said.contains(words)) {
            wrong.push(format!(
                "{shown}\n    expected {place}: …{words}…\n    got      {said}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", kind.name, wrong.join("\n"));
}

/// Broken as JSON, whatever the file.
#[test]
fn json_is_one_strict_document() {
    for kind in JSON {
        check(
            kind,
            &[
                ("", "1:1", "the file is empty"),
                (" \n\t\r\n", "1:1", "the file is empty"),
                (
                    "{",
                    "1:2",
                    "expected a key in double quotes, found the end of the file",
                ),
                (
                    "{\n  \"a\"",
                    "2:6",
                    "expected `:` after the key, found the end of the file",
                ),
                ("{\"a\" 1}", "1:6", "expected `:` after the key, found `1`"),
                (
                    "{\"a\":",
                    "1:6",
                    "expected a value, found the end of the file",
                ),
                ("{\"a\": }", "1:7", "expected a value, found `}`"),
                ("{\"a\": 1", "1:8", "expected `,` or `}` after the value"),
                (
                    "{\"a\": 1 \"b\": 2}",
                    "1:9",
                    "expected `,` or `}` after the value, found a string",
                ),
                (
                    "{\"a\": [1 2]}",
                    "1:10",
                    "expected `,` or `]` after the value, found `2`",
                ),
                (
                    "{\"a\": [1}",
                    "1:9",
                    "expected `,` or `]` after the value, found `}`",
                ),
                ("{\"a\": 1,}", "1:9", "JSON has no trailing commas"),
                ("{\"a\": [1,\n]}", "2:1", "JSON has no trailing commas"),
                ("{,}", "1:2", "expected a key in double quotes, found `,`"),
                (
                    "{a: 1}",
                    "1:2",
                    "expected a key in double quotes, found `a`",
                ),
                ("{'a': 1}", "1:2", "found a single quote"),
                (
                    "{\"a\": 'b'}",
                    "1:7",
                    "expected a value, found a single quote",
                ),
                (
                    "// note\n{}",
                    "1:1",
                    "found a comment, which JSON does not have",
                ),
                (
                    "{} /* note */",
                    "1:4",
                    "found a comment, which JSON does not have",
                ),
                (
                    "{}\n{}",
                    "2:1",
                    "expected the end of the file after the value, found `{`",
                ),
                (
                    "{} x",
                    "1:4",
                    "expected the end of the file after the value, found `x`",
                ),
                (
                    "{\"é\u{1F9CA}\": nul}",
                    "1:8",
                    "expected a value, found `nul`",
                ),
                ("{\"a\": True}", "1:7", "found `True`"),
                ("{\"a\": NaN}", "1:7", "found `NaN`"),
                ("{\"a\": -Infinity}", "1:7", "found `-Infinity`"),
                ("{\"a\": 01}", "1:7", "found `01`"),
                ("{\"a\": 0x1F}", "1:7", "found `0x1F`"),
                ("{\"a\": +1}", "1:7", "found `+1`"),
                ("{\"a\": .5}", "1:7", "found `.5`"),
                ("{\"a\": 5.}", "1:7", "found `5.`"),
                ("{\"a\": 1e}", "1:7", "found `1e`"),
                ("{\"a\": 1_000}", "1:7", "found `1_000`"),
                ("{\"a\":\u{a0}1}", "1:6", "found U+00A0"),
                ("{\"a\":\u{b}1}", "1:6", "found U+000B"),
                ("{\"a\": \"b", "1:7", "this string has no closing quote"),
                (
                    "{\"a\": \"b\tc\"}",
                    "1:9",
                    "no raw control character in a string, found U+0009",
                ),
                (
                    "{\"a\": \"b\nc\"}",
                    "1:9",
                    "no raw control character in a string, found U+000A",
                ),
                (r#"{"a": "b\x41"}"#, "1:9", "expected one of the escapes"),
                (r#"{"a": "b\'"}"#, "1:9", "expected one of the escapes"),
                (
                    r#"{"a": "\u12G4"}"#,
                    "1:8",
                    r"expected four hex digits after \u",
                ),
                (
                    r#"{"a": "\u12"#,
                    "1:8",
                    r"expected four hex digits after \u",
                ),
                (
                    r#"{"a": "\ud83e"}"#,
                    "1:8",
                    r"\ud83e is half of a surrogate pair",
                ),
                (
                    r#"{"a": "\ud83e\u0041"}"#,
                    "1:8",
                    r"\ud83e is half of a surrogate pair",
                ),
                (
                    r#"{"a": "\udcca"}"#,
                    "1:8",
                    r"\udcca is half of a surrogate pair",
                ),
                (
                    r#"{"b": 1, "b": 2}"#,
                    "1:10",
                    r#"duplicate key "b"; it stands at 1:2 already"#,
                ),
                (
                    "{\"b\": 1,\n \"\\u0062\": 2}",
                    "2:2",
                    r#"duplicate key "b"; it stands at 1:2 already"#,
                ),
                (
                    r#"[{"x": {"b": 1, "c": 2, "b": 3}}]"#,
                    "1:25",
                    r#"duplicate key "b""#,
                ),
            ],
        );
    }
}

/// Bytes that are no text, and texts past the limits, whatever the file.
#[test]
fn bytes_and_limits_are_checked_first() {
    for kind in [LOCK, FREEZES, MAP, LEDGER, CATALOG, SEEDS, CONFIG] {
        let too_large = vec![b' '; (64 << 20) + 1];
        check_bytes(
            kind,
            &[
                (b"\xEF\xBB\xBF{}", "1:1", "byte order mark"),
                (
                    b"\xFF\xFE{\0}\0",
                    "1:1",
                    "expected UTF-8, found the byte 0xff at offset 0",
                ),
                (
                    b"{\n  \"\xC3\xA9\xC3\"",
                    "2:5",
                    "expected UTF-8, found the byte 0xc3 at offset 7",
                ),
                (
                    b"{}\n\xED\xA0\x80",
                    "2:1",
                    "expected UTF-8, found the byte 0xed at offset 3",
                ),
                (
                    &too_large,
                    "1:1",
                    "a contract file may have 67108864 (64 MiB)",
                ),
            ],
        );
    }
    for kind in JSON {
        let brackets = "[".repeat(1_000_000);
        let objects = "{\"a\":".repeat(1_000_000);
        let nested = format!("{}{}", "[".repeat(65), "]".repeat(65));
        check(
            kind,
            &[
                (&brackets, "1:65", "64 deep"),
                (&objects, "1:321", "64 deep"),
                (&nested, "1:65", "64 deep"),
            ],
        );
    }
    let rows = format!("[{}0]", "0,".repeat(500_000));
    let values = format!("[{}0]", "[0,0,0,0,0,0,0,0],".repeat(450_000));
    check(
        MAP,
        &[
            (&rows, "1:1000002", "500000 entries"),
            (&values, "1:8000003", "4000000 values"),
        ],
    );
    let brackets = format!("agents: {}", "[".repeat(1_000_000));
    let lines: String = (0..1000)
        .map(|n| format!("{}a:\n", " ".repeat(n)))
        .collect();
    let dashes = "- ".repeat(1_000_000);
    let questions = "? ".repeat(1_000_000);
    let commas = format!("agents: [{}", ",".repeat(3_000_000));
    check(
        CONFIG,
        &[
            (&brackets, "1:264", "recursion limit"),
            (&lines, "65:65", "64 deep"),
            (&dashes, "1:129", "64 deep"),
            (&questions, "1:3", "found a list or an object"),
            (&commas, "1:1", "500000 entries"),
        ],
    );
}

#[test]
fn the_lock_is_closed_and_typed() {
    let digest = "a".repeat(64);
    let with =
        |root: &str, files: &str| format!("{{\"fixtures_root\": {root},\n\"files\": {files}}}");
    let row = |key: &str, value: &str| with("\"t\"", &format!("{{\"{key}\": {value}}}"));
    let two = |key: &str| {
        with(
            "[\"t/a\", \"t/b\"]",
            &format!("{{\"{key}\": \"{digest}\"}}"),
        )
    };
    check(
        LOCK,
        &[
            ("[]", "1:1", "the lock: expected an object, found a list"),
            (
                "null",
                "1:1",
                "the lock: expected an object, found nothing (null)",
            ),
            ("{}", "1:1", "the key `fixtures_root` is missing"),
            (
                r#"{"fixtures_root": "t"}"#,
                "1:1",
                "the key `files` is missing",
            ),
            (
                r#"{"fixtures_rot": "t", "files": {}}"#,
                "1:2",
                "unknown key \"fixtures_rot\"; did you mean `fixtures_root`?",
            ),
            (
                r#"{"fixtures_root": "t", "files": {}, "version": 1}"#,
                "1:37",
                "unknown key \"version\"; expected one of `fixtures_root`, `files`",
            ),
            (
                &with("1", "{}"),
                "1:19",
                "`fixtures_root`: expected a path or a list of paths, found the number 1",
            ),
            (
                &with("[1]", "{}"),
                "1:20",
                "`fixtures_root`: expected a string, found the number 1; put it in quotes",
            ),
            (&with("[]", "{}"), "1:19", "expected at least one path"),
            (&with("\"\"", "{}"), "1:19", "it is empty"),
            (
                &with("\"/t\"", "{}"),
                "1:19",
                "paths are relative to the repository",
            ),
            (&with("\"t/\"", "{}"), "1:19", "it ends with `/`"),
            (&with("\".\"", "{}"), "1:19", "a component `.` or `..`"),
            (
                &with("[\"t\", \"t\"]", "{}"),
                "1:25",
                "\"t\" is listed twice",
            ),
            (
                &with("[\"t/a\", \"t\"]", "{}"),
                "1:20",
                "\"t/a\" lies inside \"t\"",
            ),
            (
                &with("\"t\"", "[]"),
                "2:10",
                "`files`: expected an object, found a list",
            ),
            (
                &row("a", "1"),
                "2:16",
                "the digest: expected a string, found the number 1",
            ),
            (
                &row("a", "\"\""),
                "2:16",
                "64 lower-case hex digits, found \"\" (0 characters)",
            ),
            (
                &row("a", &format!("\"{}\"", "A".repeat(64))),
                "2:16",
                "64 lower-case hex digits",
            ),
            (
                &row("a", &format!("\"{}\"", "a".repeat(63))),
                "2:16",
                "(63 characters)",
            ),
            (
                &row("a", &format!("\"sha256:{digest}\"")),
                "2:16",
                "64 lower-case hex digits",
            ),
            (
                &row("./a", "\"\""),
                "2:11",
                "a key of `files`: expected a canonical path, found \"./a\": it starts with `./`",
            ),
            (&row("/a", "\"\""), "2:11", "it starts with `/`"),
            (&row("a/../b", "\"\""), "2:11", "a component `.` or `..`"),
            (&row("a//b", "\"\""), "2:11", "an empty component (`//`)"),
            (&row("a\\\\b", "\"\""), "2:11", "a backslash"),
            (
                &row("a\\u0007b", "\"\""),
                "2:11",
                "found \"a\\u{7}b\": it holds a control character",
            ),
            (&row("", "\"\""), "2:11", "it is empty"),
            (
                &two("t/c/x"),
                "2:11",
                "\"t/c/x\" lies under none of the paths of `fixtures_root`",
            ),
            (&two("t/a"), "2:11", "lies under none"),
            (&two("t/ab/x"), "2:11", "lies under none"),
        ],
    );
}

#[test]
fn the_freeze_list_is_closed_and_typed() {
    let list = |row: &str| format!("{{\"version\": 1, \"entries\": [\n{row}]}}");
    let with = |more: &str| {
        list(&format!(
            "{{\"nodeid\": \"a.py::t\", \"reason\": \"r\", \"owner\": \"o\", \"covers\": [], \"frozen\": true,\n{more}}}"
        ))
    };
    let without = |key: &str| {
        let keys = [
            "\"nodeid\": \"a::t\"",
            "\"reason\": \"\"",
            "\"owner\": \"\"",
            "\"covers\": []",
            "\"frozen\": false",
        ];
        let kept: Vec<&str> = keys.into_iter().filter(|k| !k.contains(key)).collect();
        list(&format!("{{{}}}", kept.join(", ")))
    };
    check(
        FREEZES,
        &[
            (
                "\"x\"",
                "1:1",
                "the freeze list: expected an object, found the string \"x\"",
            ),
            ("{}", "1:1", "the key `version` is missing"),
            ("{\"version\": 1}", "1:1", "the key `entries` is missing"),
            (
                "{\"version\": 2, \"rows\": []}",
                "1:13",
                "`version`: expected 1, the only version this build reads, found 2",
            ),
            (
                "{\"version\": \"1\"}",
                "1:13",
                "`version`: expected an integer, found the string \"1\"",
            ),
            (
                "{\"version\": 1.0}",
                "1:13",
                "without fraction or exponent, found the number 1.0",
            ),
            (
                "{\"version\": 1e0}",
                "1:13",
                "without fraction or exponent, found the number 1e0",
            ),
            (
                "{\"version\": true}",
                "1:13",
                "expected an integer, found true",
            ),
            (
                "{\"version\": -1}",
                "1:13",
                "an integer of at least 0, found the number -1",
            ),
            (
                "{\"version\": 18446744073709551617}",
                "1:13",
                "fits in 64 bits",
            ),
            (
                "{\"version\": 1, \"entrys\": []}",
                "1:16",
                "did you mean `entries`?",
            ),
            (
                "{\"version\": 1, \"entries\": {}}",
                "1:27",
                "`entries`: expected a list, found an object",
            ),
            (
                &list("[]"),
                "2:1",
                "an entry of `entries`: expected an object, found a list",
            ),
            (&list("null"), "2:1", "found nothing (null)"),
            (&without("nodeid"), "2:1", "the key `nodeid` is missing"),
            (&without("reason"), "2:1", "the key `reason` is missing"),
            (&without("owner"), "2:1", "the key `owner` is missing"),
            (&without("covers"), "2:1", "the key `covers` is missing"),
            (&without("frozen"), "2:1", "the key `frozen` is missing"),
            (
                &with("\"nodeId\": 1"),
                "3:1",
                "unknown key \"nodeId\"; did you mean `nodeid`?",
            ),
            (
                &with("\"status\": 1"),
                "3:1",
                "unknown key \"status\"; expected one of `nodeid`, `reason`",
            ),
            (
                &list(r#"{"covers": [], "nodeid": "./a::t"}"#),
                "2:26",
                "node id `path::name` with a canonical path, found \"./a::t\": it starts with `./`",
            ),
            (
                &list(r#"{"covers": [], "nodeid": "a\\b::t"}"#),
                "2:26",
                "a backslash",
            ),
            (
                &list(r#"{"covers": [], "nodeid": "a::"}"#),
                "2:26",
                "names without control characters after `::`",
            ),
            (
                &list(r#"{"covers": [], "nodeid": 1}"#),
                "2:26",
                "`nodeid`: expected a string",
            ),
            (
                &list(r#"{"nodeid": "a::t", "covers": "src"}"#),
                "2:30",
                "`covers`: expected a list, found the string \"src\"",
            ),
            (
                &list(r#"{"nodeid": "a::t", "reason": "", "owner": "", "covers": ["src/"]}"#),
                "2:58",
                "an entry of `covers`: expected a canonical path, found \"src/\": it ends with `/`",
            ),
            (
                &list(
                    r#"{"nodeid": "a::t", "reason": "", "owner": "", "covers": [], "frozen": 1}"#,
                ),
                "2:71",
                "`frozen`: expected true or false, found the number 1",
            ),
            (
                &list(
                    r#"{"nodeid": "a::t", "reason": "", "owner": "", "covers": [], "frozen": "true"}"#,
                ),
                "2:71",
                "only the words true and false, without quotes, are booleans",
            ),
            (
                &with("\"fixture_digest\": 1"),
                "3:19",
                "`fixture_digest`: expected a string",
            ),
            (
                &with("\"property_digest\": null"),
                "3:20",
                "`property_digest`: expected a string, found nothing (null)",
            ),
            (
                &with("\"property_id\": []"),
                "3:16",
                "`property_id`: expected a string, found a list",
            ),
            (
                &with("\"replay\": {}"),
                "3:11",
                "`replay`: expected a string, found an object",
            ),
            (
                &with("\"seed\": 1.5"),
                "3:9",
                "`seed`: expected an integer of at most 64 bits, or hex digits as a string",
            ),
            (
                &with("\"seed\": 18446744073709551616"),
                "3:9",
                "at most 64 bits",
            ),
            (
                &with("\"seed\": \"xyz\""),
                "3:9",
                "hex digits as a string, found the string \"xyz\"",
            ),
            (&with("\"seed\": \"0x\""), "3:9", "hex digits"),
            (
                &with("\"opened_at\": \"2026-01-31\""),
                "3:14",
                "`opened_at`: expected an RFC 3339 time",
            ),
            (
                &with("\"expires_at\": 1767225600"),
                "3:15",
                "`expires_at`: expected an RFC 3339 time",
            ),
            (
                &with("\"expires_at\": \"2026-02-30T00:00:00Z\""),
                "3:15",
                "or null, found the string",
            ),
        ],
    );
}

#[test]
fn the_map_is_closed_and_typed() {
    let rule = |row: &str| format!("{{\"version\": 1,\n \"rules\": [{row}]}}");
    check(
        MAP,
        &[
            (
                "1",
                "1:1",
                "the map: expected an object, found the number 1",
            ),
            ("{\"rules\": []}", "1:1", "the key `version` is missing"),
            ("{\"version\": 0}", "1:13", "`version`: expected 1"),
            ("{\"version\": 1}", "1:1", "the key `rules` is missing"),
            (
                "{\"version\": 1, \"rule\": []}",
                "1:16",
                "did you mean `rules`?",
            ),
            (
                "{\"version\": 1, \"rules\": null}",
                "1:25",
                "`rules`: expected a list, found nothing (null)",
            ),
            (
                &rule("3"),
                "2:12",
                "an entry of `rules`: expected an object",
            ),
            (
                &rule("{\"path_prefix\": \"src/\"}"),
                "2:12",
                "the key `live_properties` is missing",
            ),
            (
                &rule("{\"live_properties\": []}"),
                "2:12",
                "the key `path_prefix` is missing",
            ),
            (
                &rule("{\"path_prefix\": \"\", \"live_properties\": []}"),
                "2:28",
                "`path_prefix`: expected a canonical path, found \"\": it is empty",
            ),
            (
                &rule("{\"path_prefix\": \"/\", \"live_properties\": []}"),
                "2:28",
                "it is empty",
            ),
            (
                &rule("{\"path_prefix\": \"src//\", \"live_properties\": []}"),
                "2:28",
                "it ends with `/`",
            ),
            (
                &rule("{\"path_prefix\": \"./src\", \"live_properties\": []}"),
                "2:28",
                "it starts with `./`",
            ),
            (
                &rule("{\"path_prefix\": [], \"live_properties\": []}"),
                "2:28",
                "`path_prefix`: expected a string, found a list",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": \"x\"}"),
                "2:52",
                "`live_properties`: expected a list",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": [\"/x::y\"]}"),
                "2:53",
                "an entry of `live_properties`: expected a node id",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": [false]}"),
                "2:53",
                "expected a string, found false",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": [], \"min_live\": 0}"),
                "2:68",
                "`min_live`: expected an integer of at least 1, found the number 0",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": [], \"min_live\": 1.0}"),
                "2:68",
                "without fraction or exponent",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": [], \"min_live\": null}"),
                "2:68",
                "expected an integer, found nothing (null)",
            ),
            (
                &rule("{\"path_prefix\": \"a\", \"live_properties\": [], \"minlive\": 1}"),
                "2:56",
                "did you mean `min_live`?",
            ),
        ],
    );
}

#[test]
fn yaml_is_one_plain_document() {
    let laughs = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n";
    check(
        CONFIG,
        &[
            ("", "1:1", "the file is empty"),
            (
                "# only a comment\n",
                "1:1",
                "the file is empty but for comments",
            ),
            (
                "---\n",
                "2:1",
                "the configuration: expected an object, found nothing (null)",
            ),
            (
                "- a\n",
                "1:1",
                "the configuration: expected an object, found a list",
            ),
            (
                "observe\n",
                "1:1",
                "expected an object, found the string \"observe\"",
            ),
            (
                "mode: observe\n---\nmode: observe\n",
                "2:1",
                "found a second YAML document",
            ),
            (
                "mode: observe\n...\nx\n",
                "3:1",
                "found a second YAML document",
            ),
            (
                "mode: &m observe\n",
                "1:7",
                "expected a value without anchor, found \"&m\"; leave it out",
            ),
            (
                "agents: &a # &b\n  logins: []\n",
                "1:9",
                "without anchor, found \"&a\"",
            ),
            ("mode: *m\n", "1:7", "unknown anchor"),
            (laughs, "1:4", "without anchor, found \"&a\""),
            (
                "mode: !!str observe\n",
                "1:7",
                "expected a value without tag, found \"!!str\"; leave it out",
            ),
            ("version: ! 1\n", "1:10", "without tag, found \"!\""),
            ("&k mode: observe\n", "1:1", "without anchor, found \"&k\""),
            (
                "agents:\n  <<: {logins: [a]}\n",
                "2:3",
                "found a merge key (`<<`); write the keys out",
            ),
            (
                "mode: observe\nmode: enforce\n",
                "2:1",
                "duplicate key \"mode\"; it stands at 1:1 already",
            ),
            (
                "mode: observe\n\"m\\x6fde\": enforce\n",
                "2:1",
                "duplicate key \"mode\"",
            ),
            (
                "agents: {logins: [], 'logins': []}\n",
                "1:22",
                "duplicate key \"logins\"",
            ),
            (
                "? [a]\n: b\n",
                "1:3",
                "expected a plain word as key, found a list or an object",
            ),
            (": b\n", "1:1", "expected a key, found nothing"),
            ("mode: [observe\n", "2:1", "expected YAML: "),
            ("mode: \"observe\n", "1:7", "expected YAML: "),
            ("mode: observe\n  x: y\n", "2:4", "expected YAML: "),
            ("agents:\n\tlogins: []\n", "2:2", "expected YAML: "),
            (
                "mode: obs\u{1b}erve\n",
                "1:10",
                "expected printable characters, found U+001B",
            ),
            ("mode: a\0b\n", "1:8", "found U+0000"),
        ],
    );
}

/// A configuration with one command; it begins in line 3.
fn runner(name: &str, files: &str, command: &str, more: &str) -> String {
    let more = match more {
        "" => String::new(),
        more => format!("    {more}\n"),
    };
    format!(
        "lane:\n  runners:\n  - name: {name}\n    files: {files}\n    command: {command}\n{more}"
    )
}

#[test]
fn the_configuration_is_closed_and_typed() {
    check(
        CONFIG,
        &[
            (
                "version: 2\n",
                "1:10",
                "`version`: expected 1, the only version this build reads, found 2",
            ),
            (
                "version: '1'\n",
                "1:10",
                "`version`: expected an integer, found the string \"1\"",
            ),
            ("version: 1.0\n", "1:10", "without fraction or exponent"),
            ("version: 0x1\n", "1:10", "in plain decimal digits"),
            (
                "version:\n",
                "1:1",
                "`version`: expected an integer, found nothing (null)",
            ),
            (
                "mode: observe\nmodes: x\n",
                "2:1",
                "unknown key \"modes\"; did you mean `mode`?",
            ),
            ("apply-to: all\n", "1:1", "did you mean `apply_to`?"),
            ("zzz: 1\n", "1:1", "expected one of `version`, `mode`"),
            (
                "mode: watch\n",
                "1:7",
                "`mode`: \"watch\" is unknown; expected one of `enforce`, `observe`",
            ),
            ("mode: Enforce\n", "1:7", "did you mean `enforce`?"),
            ("mode: on\n", "1:7", "`mode`: \"on\" is unknown"),
            (
                "mode: [observe]\n",
                "1:7",
                "`mode`: expected a string, found a list",
            ),
            ("apply_to: agent\n", "1:11", "did you mean `agents`?"),
            (
                "comments: true\n",
                "1:11",
                "`comments`: expected a string, found true; put it in quotes",
            ),
            ("comments: hole\n", "1:11", "did you mean `holes`?"),
            (
                "branches: main\n",
                "1:11",
                "`branches`: expected a list, found the string \"main\"",
            ),
            (
                "branches: [1.0]\n",
                "1:12",
                "an entry of `branches`: expected a string, found the number 1.0; put it in quotes",
            ),
            ("branches: [refs/heads/v1]\n", "1:12", "write \"v1\""),
            (
                "branches: ['release/*']\n",
                "1:12",
                "expected the exact name of a branch",
            ),
            ("branches: ['']\n", "1:12", "expected a name, found \"\""),
            (
                "agents: {branches: ['bot[0-9]*']}\n",
                "1:21",
                "expected the beginning of branch names, or a pattern with `*` and `?`",
            ),
            (
                "agents: yes\n",
                "1:9",
                "`agents`: expected an object, found the string \"yes\"",
            ),
            (
                "agents:\n  # logins: [a]\nmode: observe\n",
                "1:1",
                "`agents`: expected an object, found nothing (null)",
            ),
            ("agents:\n  login: [a]\n", "2:3", "did you mean `logins`?"),
            (
                "agents:\n  labels: [a, 2]\n",
                "2:15",
                "an entry of `labels`: expected a string, found the number 2",
            ),
            ("paths:\n  product: []\n", "2:3", "unknown key \"product\""),
            (
                "paths:\n  tests: [/a]\n",
                "2:11",
                "\"/a\" is no glob: it starts with `/`",
            ),
            ("paths:\n  tests: [a/]\n", "2:11", "write `a/**`"),
            ("paths:\n  tests: ['!./a']\n", "2:11", "it starts with `./`"),
            (
                "paths:\n  tests: [a**]\n",
                "2:11",
                "`**` has to stand alone",
            ),
            ("paths:\n  tests: ['{a']\n", "2:11", "`{` without `}`"),
            ("paths:\n  tests: ['']\n", "2:11", "it is empty"),
            (
                "paths:\n  production: ['!src/gen/**', '!lib/**']\n",
                "2:15",
                "expected at least one glob that adds",
            ),
            (
                "paths:\n  production: []\n",
                "2:15",
                "expected at least one glob that adds",
            ),
            ("contract:\n  locks: a\n", "2:3", "did you mean `lock`?"),
            ("contract:\n  config: a\n", "2:3", "unknown key \"config\""),
            (
                "contract:\n  lock: true\n",
                "2:9",
                "`lock`: expected a path or `off`, found true",
            ),
            (
                "contract:\n  lock:\n",
                "2:3",
                "`lock`: expected a path or `off`, found nothing (null)",
            ),
            (
                "contract:\n  lock: ./a.json\n",
                "2:9",
                "`lock`: expected a canonical path",
            ),
            (
                "contract:\n  lock: a.json\n  map: a.json\n",
                "2:9",
                "`lock`: \"a.json\" is taken by the hunk map (a.json)",
            ),
            (
                "contract:\n  lock: test/contract/hunk-map.json\n",
                "2:9",
                "is taken by the hunk map (test/contract/hunk-map.json)",
            ),
            (
                "contract:\n  map: off\n  lock: test/contract/hunk-map.json\n",
                "3:9",
                "is taken by the hunk map",
            ),
            (
                "contract:\n  map: .github/frostline.yml\n",
                "2:8",
                "is taken by the configuration (.github/frostline.yml)",
            ),
            (
                "contract:\n  map: .github/frostline.yml/a\n",
                "2:8",
                "is taken by the configuration (.github/frostline.yml)",
            ),
            (
                "rules: []\n",
                "1:8",
                "`rules`: expected an object, found a list",
            ),
            (
                "rules:\n  golden-change: notice\n",
                "2:3",
                "unknown rule \"golden-change\"; did you mean `golden-changed`?",
            ),
            (
                "rules:\n  golden-changed: warn\n",
                "2:19",
                "unknown effect \"warn\"; expected one of `notice`",
            ),
            (
                "rules:\n  golden-changed: off\n",
                "2:19",
                "unknown effect \"off\"",
            ),
            (
                "rules:\n  golden-changed: false\n",
                "2:19",
                "`golden-changed`: expected a string, found false",
            ),
            (
                "rules:\n  golden-changed: allow_recheck\n",
                "2:19",
                "allowed: `notice`, `human_review`, `refuse`",
            ),
            (
                "rules:\n  unmapped-path: notice\n",
                "2:18",
                "`unmapped-path`: it is `refuse` and may not be lowered to `notice`; allowed: `human_review`, `refuse`",
            ),
            (
                "rules:\n  coverage-hole: human_review\n",
                "2:18",
                "allowed: `refuse`",
            ),
            (
                "rules:\n  contract-changed: notice\n",
                "2:21",
                "allowed: `human_review`, `refuse`",
            ),
            (
                "audit: {issue: off}\n",
                "1:16",
                "`issue`: expected true or false, found the string \"off\"",
            ),
            ("audit: {issues: true}\n", "1:9", "did you mean `issue`?"),
            (
                "review: true\n",
                "1:9",
                "`review`: expected an object, found true",
            ),
            (
                "review: {author_may_accept: yes}\n",
                "1:29",
                "`author_may_accept`: expected true or false, found the string \"yes\"; only the words true and false",
            ),
            (
                "review: {author_can_accept: true}\n",
                "1:10",
                "did you mean `author_may_accept`?",
            ),
            (
                "lane: {runs: 0}\n",
                "1:14",
                "`runs`: expected an integer of at least 1",
            ),
            (
                "lane: {runs: 1e1}\n",
                "1:14",
                "without fraction or exponent",
            ),
            (
                "lane: {timeout: 10s}\n",
                "1:17",
                "`timeout`: expected an integer, found the string \"10s\"",
            ),
            (
                "lane: {runs: 9, max_runs: 8}\n",
                "1:27",
                "expected at least `runs` (9), found 8",
            ),
            (
                "lane: {network: off}\n",
                "1:17",
                "expected true or false, found the string \"off\"",
            ),
            (
                "lane: {runners: pytest}\n",
                "1:17",
                "`runners`: expected a list",
            ),
            ("lane: {runners: ['']}\n", "1:18", "expected a name"),
            ("lane: {runners: [3]}\n", "1:18", "expected a string"),
            (
                &runner("lua", "[a]", "[x]", "kind: 1"),
                "6:5",
                "unknown key \"kind\"",
            ),
            (
                "lane: {runners: [{name: lua, files: [a]}]}\n",
                "1:18",
                "the key `command` is missing",
            ),
            (
                &runner("a b", "[a]", "[x]", ""),
                "3:11",
                "expected letters, digits",
            ),
            (
                &runner("vitest", "[a]", "[x]", ""),
                "3:11",
                "\"vitest\" has replay lines of its own form",
            ),
            (
                &runner("lua", "['!a']", "[x]", ""),
                "4:12",
                "at least one glob that adds",
            ),
            (
                &runner("lua", "[/a]", "[x]", ""),
                "4:13",
                "an entry of `files`",
            ),
            (
                &runner("lua", "[a]", "[]", ""),
                "5:14",
                "no word holds `{nodeid}`, so it would not know which test",
            ),
            (
                &runner("lua", "[a]", "[x, '{nodeid}']", ""),
                "5:14",
                "no word holds `{report}`, so it would not know where",
            ),
            (
                &runner("lua", "[a]", "['{nodeid}', '{report}']", ""),
                "5:15",
                "its first word is the program",
            ),
            (
                &runner(
                    "lua",
                    "[a]",
                    "[x, '{nodeid}', '-s={seeds}', '{report}']",
                    "",
                ),
                "5:30",
                "unknown placeholder `{seeds}`; did you mean",
            ),
            (
                &runner("lua", "[a]", "[x, 3]", ""),
                "5:18",
                "a word of `command`: expected a string",
            ),
            (
                &(runner("lua", "[a]", "[x, '{nodeid}', '{report}']", "")
                    + "  - name: lua\n    files: [b]\n    command: [x, '{nodeid}', '{report}']\n"),
                "6:5",
                "\"lua\" is there twice",
            ),
            ("lane: {engine: ''}\n", "1:16", "`engine`: expected a name"),
            ("lane: {cpus: 1}\n", "1:8", "unknown key \"cpus\""),
        ],
    );
    let globs = format!("paths:\n  tests: [{}]\n", "a, ".repeat(1_001));
    let long = format!("paths:\n  tests: [{}]\n", "a".repeat(1_001));
    check(
        CONFIG,
        &[
            (&globs, "2:10", "expected at most 1000 globs, found 1001"),
            (&long, "2:11", "it is longer than 1000 bytes"),
        ],
    );
}

/// Large objects are searched in another way than small ones; sorted and unsorted ones, too.
#[test]
fn duplicates_are_found_in_large_objects() {
    let object = |names: &[u32]| {
        let keys: Vec<String> = names.iter().map(|n| format!("\"k{n:03}\": 0")).collect();
        format!("{{\n{}}}", keys.join(",\n"))
    };
    let sorted: Vec<u32> = (0..100).collect();
    let beside: Vec<u32> = sorted.iter().flat_map(|n| [*n, *n]).collect();
    let far: Vec<u32> = sorted.iter().rev().chain([&40]).copied().collect();
    check(
        MAP,
        &[
            (
                &object(&beside),
                "3:1",
                "duplicate key \"k000\"; it stands at 2:1 already",
            ),
            (
                &object(&far),
                "102:1",
                "duplicate key \"k040\"; it stands at 61:1 already",
            ),
            (&object(&sorted), "1:1", "the key `version` is missing"),
        ],
    );
}
