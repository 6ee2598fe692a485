//! The seed ledger, the catalog, the evidence ledger, the list of frozen tests and the seed corpus
//! (protocol 3.5–3.9): what is read, what is refused where, and that a writer changes its row alone.

use frostline::contract::rows::Edit;
use frostline::contract::seed::Seed;
use frostline::contract::{catalog, evidence, freezes, frozen_tests, ledger, seeds};
use proptest::prelude::*;
use serde_json::json;

use super::refusals::{CATALOG, EVIDENCE, LEDGER, SEEDS, check};
use super::text_of;

#[test]
fn a_ledger_is_read_with_what_each_row_states() {
    let ledger = ledger::parse("l.json", text_of(LEDGER, 0)).expect("a ledger");
    let [first, second] = &ledger.entries[..] else {
        panic!("two rows");
    };
    assert_eq!((first.line, second.line), (4, 14));
    assert_eq!(first.seed, Some(Seed::Integer(1_847_912_033)));
    assert_eq!(first.status.as_deref(), Some("open"));
    assert_eq!((&first.expires_at, &first.owner), (&None, &None));
    assert_eq!(second.replay, None);
    assert_eq!(second.owner.as_deref(), Some("@o"));
}

#[test]
fn the_ledger_is_closed_and_typed() {
    let row = |row: &str| format!("{{\"schema\": \"seed-freeze-v1\", \"entries\": [{row}]}}");
    for (text, place, words) in [
        (
            "{\"entries\": []}".to_owned(),
            "1:1",
            "the key `schema` is missing",
        ),
        (
            "{\"schema\": \"seed-freeze-v2\"}".to_owned(),
            "1:12",
            "expected \"seed-freeze-v1\"",
        ),
        ("{\"schema\": 1}".to_owned(), "1:12", "expected a string"),
        (row("{}"), "1:42", "the key `nodeid` is missing"),
        (
            row("{\"nodeid\": \"../a::b\"}"),
            "1:53",
            "a component `.` or `..`",
        ),
        (
            row("{\"nodeid\": \"a::b\", \"statuss\": 1}"),
            "1:61",
            "did you mean `status`?",
        ),
        (
            row("{\"nodeid\": \"a::b\", \"seed\": 1.5}"),
            "1:69",
            "an integer of at most 64 bits",
        ),
        (
            row("{\"nodeid\": \"a::b\", \"seed\": 18446744073709551616}"),
            "1:69",
            "64 bits",
        ),
        (
            row("{\"nodeid\": \"a::b\", \"seed\": \"xyz\"}"),
            "1:69",
            "hex digits",
        ),
        (
            row("{\"nodeid\": \"a::b\", \"expires_at\": \"soon\"}"),
            "1:75",
            "an RFC 3339 time",
        ),
        (
            row("{\"nodeid\": \"a::b\", \"reason\": null}"),
            "1:71",
            "expected a string",
        ),
    ] {
        check(LEDGER, &[(&text, place, words)]);
    }
}

#[test]
fn the_catalog_is_closed_typed_and_unique() {
    let row = |row: &str| format!("{{\"version\": 1, \"properties\": [\n{row}]}}");
    let good = |id: &str, node: &str| {
        format!(
            "{{\"property_id\": \"{id}\", \"nodeid\": \"{node}\", \"fixtures\": [\"a\"], \"owner\": \"@o\"}}"
        )
    };
    for (text, place, words) in [
        (
            row("{\"property_id\": \"a\"}"),
            "2:1",
            "the key `nodeid` is missing",
        ),
        (
            row("{\"property_id\": \" a\"}"),
            "2:17",
            "white space around it",
        ),
        (
            row("{\"property_id\": \"a\\u0000\"}"),
            "2:17",
            "control characters",
        ),
        (
            row(&good("a", "x::y").replace("[\"a\"]", "[]")),
            "2:52",
            "1 to 1000 globs, found 0",
        ),
        (
            row(&good("a", "x::y").replace("\"a\"]", "\"!a\"]")),
            "2:53",
            "a scope only adds",
        ),
        (
            row(&good("a", "x::y").replace("\"a\"]", "\"../a\"]")),
            "2:53",
            "is no glob",
        ),
        (
            row(&format!("{},\n{}", good("a", "x::y"), good("a", "x::z"))),
            "3:1",
            "`property_id`: \"a\" stands at 2:1 already",
        ),
        (
            row(&format!("{},\n{}", good("a", "x::y"), good("b", "x::y"))),
            "3:1",
            "`nodeid`: \"x::y\" stands at 2:1 already",
        ),
    ] {
        check(CATALOG, &[(&text, place, words)]);
    }
}

#[test]
fn the_corpus_is_closed_and_typed() {
    for (text, place, words) in [
        (
            "{\"version\": 1, \"seeds\": {\"/a\": []}}",
            "1:26",
            "a key of `seeds`: expected a node id",
        ),
        (
            "{\"version\": 1, \"seeds\": {\"a\": 1}}",
            "1:31",
            "expected a list",
        ),
        (
            "{\"version\": 1, \"seeds\": {\"a\": [1.0]}}",
            "1:32",
            "a seed: expected an integer",
        ),
        (
            "{\"version\": 1, \"seeds\": {\"a\": [\"ff\"]}}",
            "1:32",
            "a seed: expected an integer",
        ),
    ] {
        check(SEEDS, &[(text, place, words)]);
    }
}

fn evidence_row(id: &str, digest: &str, status: &str) -> String {
    let row = json!({"schema": "frostline.evidence/1", "property_id": id, "nodeid": "t/a.py::f", "fixture_paths": [],
        "fixture_digest": digest, "seed": 1, "runs": 7, "passes": 5, "failures": 2, "signatures": [],
        "status": status, "reason": "CLOCK"});
    format!("{row}\n")
}

#[test]
fn the_last_row_of_a_property_and_a_digest_decides() {
    let text = [
        evidence_row("a", "x", "frozen"),
        evidence_row("a", "y", "frozen"),
        evidence_row("b", "x", "frozen"),
        evidence_row("a", "x", "merge-ok"),
    ]
    .concat();
    let read = evidence::parse("e.jsonl", text.as_bytes()).expect("evidence");
    let last: Vec<_> = read
        .last
        .iter()
        .map(|row| (row.line, row.property_id.as_str(), row.status.as_str()))
        .collect();
    assert_eq!(read.rows, 4);
    assert_eq!(
        last,
        [(2, "a", "frozen"), (3, "b", "frozen"), (4, "a", "merge-ok")]
    );
    let empty = evidence::parse("e.jsonl", b"").expect("no rows");
    assert_eq!(empty, evidence::Evidence::default());
    let lacking = evidence_row("a", "x", "frozen").replace("\"runs\":7,", "");
    let read = evidence::parse("e.jsonl", lacking.as_bytes()).expect("evidence");
    assert_eq!(read.last[0].missing, Some("runs"));
}

#[test]
fn evidence_is_one_ascii_object_a_line() {
    let good = evidence_row("a", "x", "frozen");
    let parse = |text: &str| match evidence::parse(EVIDENCE.name, text.as_bytes()) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => format!("{}:{}: {}", error.line, error.column, error.message),
    };
    for (text, said) in [
        (
            format!("{good}\n"),
            "2:1: expected a JSON object, found an empty line",
        ),
        (format!("{good}{}", good.trim_end()), "has no line end"),
        (
            format!("{good}{}\r\n", good.trim_end()),
            "ends at LF alone, found CR",
        ),
        (good.replace("CLOCK", "é"), "expected ASCII"),
        (format!("{good}[]\n"), "2:1: a row: expected an object"),
        (
            format!("{good}{}", good.replace("evidence/1", "evidence/2")),
            "only schema this build reads",
        ),
        (
            format!("{good}{}", good.replace("\"runs\":7", "\"runs\":-7")),
            "an integer of at least 0",
        ),
        (
            format!(
                "{good}{}",
                good.replace("\"runs\":7", "\"runs\":7,\"runs\":7")
            ),
            "duplicate key",
        ),
        (
            format!("{good}{{\"schema\": \"frostline.evidence/1\"\n}}\n"),
            "2:",
        ),
    ] {
        assert!(parse(&text).contains(said), "{text}: {}", parse(&text));
    }
}

#[test]
fn an_evidence_ledger_grows_and_shrinks_by_whole_lines() {
    let old = evidence_row("a", "x", "frozen");
    let members = [
        ("property_id", json!("é\n")),
        ("nodeid", json!("t/a.py::f")),
        ("fixture_digest", json!("x")),
        ("status", json!("merge-ok")),
        (
            "signatures",
            json!([{"id": "é", "count": 1, "summary": "\u{1F9CA}"}]),
        ),
    ];
    let more = evidence::append(old.as_bytes(), &members);
    assert!(more.starts_with(old.as_bytes()));
    let read = evidence::parse("e.jsonl", &more).expect("evidence");
    assert_eq!(read.last[1].property_id, "é\n");
    assert_eq!(evidence::remove(&more, 2), old.as_bytes());
    assert_eq!(evidence::append(b"", &members), evidence::remove(&more, 1));
}

const LIST: &str = "# read by the runner\nrange_parser_stress_alloc      unstable_since=2026-08-29 frozen_runs=3 note=\"uses TLS state\"\n\
    \n\"a title with \\\"spaces\\\"\" unstable_since=2026-08-29 frozen_runs=0 note=\"\"\n\
    tests/test_a.py::test_x[1] unstable_since=2024-02-29 frozen_runs=1 note=\"\\u00e9\"\n";

#[test]
fn a_list_of_frozen_tests_is_read_line_by_line() {
    let list = frozen_tests::parse("f.txt", LIST.as_bytes()).expect("a list");
    let rows: Vec<_> = list
        .rows
        .iter()
        .map(|row| {
            (
                row.line,
                row.nodeid.as_str(),
                row.frozen_runs,
                row.note.as_str(),
                row.states_cause(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (2, "range_parser_stress_alloc", 3, "uses TLS state", true),
            (4, "a title with \"spaces\"", 0, "", false),
            (5, "tests/test_a.py::test_x[1]", 1, "é", true),
        ]
    );
    for (text, said) in [
        (
            "a",
            "1:2: expected `unstable_since=` after a space, found the end of the line",
        ),
        (
            "a unstable_since=2026-02-30 frozen_runs=1 note=\"\"",
            "1:18: expected a date",
        ),
        (
            "a unstable_since=2026-2-3 frozen_runs=1 note=\"\"",
            "1:18: expected a date",
        ),
        (
            "#\na unstable_since=2026-02-03 frozen_runs=-1 note=\"\"",
            "2:41: expected a count",
        ),
        (
            "a unstable_since=2026-02-03 frozen_runs=1 note=x",
            "expected a string in double quotes",
        ),
        (
            "a unstable_since=2026-02-03 frozen_runs=1 note=\"x",
            "expected a string in double quotes",
        ),
        (
            "a unstable_since=2026-02-03 frozen_runs=1 note=\"\\q\"",
            "1:49: expected one of the escapes",
        ),
        (
            "a unstable_since=2026-02-03 frozen_runs=1 note=\"\" x",
            "the end of the line after `note`",
        ),
        (
            "a unstable_since=2026-02-03 frozen_runs=1",
            "expected `note=`",
        ),
        (
            "a b unstable_since=2026-02-03 frozen_runs=1 note=\"\"",
            "1:3: expected `unstable_since=`",
        ),
        (
            "\"a\\n\" unstable_since=2026-02-03 frozen_runs=1 note=\"\"",
            "a node id, or a test's name",
        ),
        (
            "a\u{1} unstable_since=2026-02-03 frozen_runs=1 note=\"\"",
            "1:2: expected no control character",
        ),
    ] {
        let error = frozen_tests::parse("f.txt", text.as_bytes()).expect_err(text);
        let found = format!("{}:{}: {}", error.line, error.column, error.message);
        assert!(found.contains(said), "{text}: {found}");
    }
    assert!(
        frozen_tests::parse("f.txt", b"\n")
            .expect("no rows")
            .rows
            .is_empty()
    );
}

#[test]
fn a_line_of_frozen_tests_changes_alone() {
    let mut row = frozen_tests::parse("f.txt", LIST.as_bytes())
        .expect("a list")
        .rows[0]
        .clone();
    row.note = "state is per thread\n".to_owned();
    let changed = frozen_tests::edit(LIST.as_bytes(), Some(2), Some(&row));
    let lines = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8(text.to_vec()).expect("UTF-8");
        text.split('\n').map(str::to_owned).collect()
    };
    let (old, new) = (lines(LIST.as_bytes()), lines(&changed));
    let differ: Vec<usize> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
    assert_eq!(differ, [1]);
    assert_eq!(
        new[1],
        "range_parser_stress_alloc unstable_since=2026-08-29 frozen_runs=3 note=\"state is per thread\\u000a\""
    );
    let crlf = LIST.replace('\n', "\r\n");
    let more = frozen_tests::edit(crlf.as_bytes(), None, Some(&row));
    assert!(more.starts_with(crlf.as_bytes()) && more.ends_with(b"\r\n"));
    assert_eq!(frozen_tests::edit(&more, Some(6), None), crlf.as_bytes());
}

/// Layouts in which people keep such files.
fn laid_out(rows: &[String], layout: usize) -> String {
    let head = "\"schema\": \"seed-freeze-v1\"";
    match layout {
        0 => format!(
            "{{\n  {head},\n  \"entries\": [\n    {}\n  ]\n}}\n",
            rows.join(",\n    ")
        ),
        1 => format!("{{{head},\"entries\":[{}]}}", rows.join(",")),
        2 => format!(
            "{{\r\n\t\"entries\" : [ {} ],\r\n\t{head}\r\n}}\r\n",
            rows.join(" , ")
        ),
        _ => format!("{{{head}, \"entries\": [{}]}}\n\n", rows.join(", ")),
    }
}

fn ledger_row() -> impl Strategy<Value = String> {
    ("[a-z\"\\\\é,:\\[{}\\]]{0,8}", any::<i64>(), any::<bool>()).prop_map(|(text, seed, is_long)| {
        let row = json!({"nodeid": format!("t/a.py::{}x", text.replace('\\', "")), "seed": seed, "reason": text,
            "expires_at": null});
        match is_long {
            true => format!("{{\n      \"nodeid\": {},\n      \"seed\": {seed},\n      \"expires_at\" : null\n    }}", row["nodeid"]),
            false => row.to_string(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the layout: adding a row and taking it away gives the old bytes, and each edit leaves the
    /// text of every other row where and as it was.
    #[test]
    fn an_edit_of_a_ledger_touches_its_row_alone(
        rows in prop::collection::vec(ledger_row(), 1..5),
        layout in 0..4_usize,
        at in any::<prop::sample::Index>(),
    ) {
        let old = laid_out(&rows, layout);
        let read = ledger::parse("l.json", old.as_bytes()).expect("a ledger");
        let at = at.index(rows.len());
        let mut row = read.entries[at].clone();
        row.owner = Some("@acme/\"ü\"\u{1}".to_owned());
        let edit = |bytes: &[u8], edit: Edit<ledger::LedgerEntry>| {
            let bytes = ledger::edit("l.json", Some(bytes), &edit).expect("a ledger");
            let read = ledger::parse("l.json", &bytes).expect("still a ledger");
            (String::from_utf8(bytes).expect("UTF-8"), read.entries)
        };
        let bare = |row: &ledger::LedgerEntry| ledger::LedgerEntry { line: 0, ..row.clone() };

        let (added, entries) = edit(old.as_bytes(), Edit::Add(row.clone()));
        prop_assert_eq!(bare(&entries[rows.len()]), bare(&row));
        prop_assert_eq!(edit(added.as_bytes(), Edit::Remove(rows.len())).0, old.clone());

        let (changed, entries) = edit(old.as_bytes(), Edit::Replace(at, row.clone()));
        prop_assert_eq!(bare(&entries[at]), bare(&row));
        let before: usize = old.find(&rows[at]).expect("the row");
        if rows.iter().filter(|other| **other == rows[at]).count() == 1 {
            prop_assert_eq!(&changed[..before], &old[..before]);
            let rest = &old[before + rows[at].len()..];
            prop_assert!(changed.ends_with(rest));
        }
        let (less, entries) = edit(old.as_bytes(), Edit::Remove(at));
        prop_assert_eq!(entries.len(), rows.len() - 1);
        for (other, text) in rows.iter().enumerate().filter(|(other, _)| *other != at) {
            prop_assert!(less.contains(text.as_str()), "row {} is gone: {}", other, less);
        }
    }

    #[test]
    fn a_seed_is_added_to_its_node_alone(first in any::<i64>(), second in any::<i64>()) {
        let nodeid = "a.py::é: x".parse().expect("a node id");
        let one = seeds::add("s.json", None, &nodeid, first).expect("a corpus");
        let two = seeds::add("s.json", Some(&one), &nodeid, second).expect("a corpus");
        let read = seeds::parse("s.json", &two).expect("a corpus");
        let expected: Vec<Seed> = match first == second {
            true => vec![Seed::Integer(first.into())],
            false => vec![Seed::Integer(first.into()), Seed::Integer(second.into())],
        };
        prop_assert_eq!(&read.nodes[0].seeds, &expected);
        let other = "b.py::y".parse().expect("a node id");
        let three = seeds::add("s.json", Some(&two), &other, 1).expect("a corpus");
        prop_assert_eq!(seeds::remove("s.json", &three, &other).expect("a corpus"), two);
    }
}

#[test]
fn a_new_row_is_laid_out_as_its_neighbours() {
    let one = "{\n    \"version\": 1,\n    \"entries\": [\n        {\n            \"nodeid\": \"a::b\",\n            \"reason\": \"r\",\n            \
        \"owner\": \"o\",\n            \"covers\": [],\n            \"frozen\": true\n        }\n    ]\n}\n";
    let list = freezes::parse("f.json", one.as_bytes()).expect("a freeze list");
    let two = freezes::edit(
        "f.json",
        Some(one.as_bytes()),
        &Edit::Add(list.entries[0].clone()),
    )
    .expect("a list");
    let two = String::from_utf8(two).expect("UTF-8");
    let row = &one[one.find("        {\n").expect("a row")..one.find("\n    ]").expect("an end")];
    assert_eq!(two, one.replace(row, &format!("{row},\n{row}")));
    let fresh = freezes::edit("f.json", None, &Edit::Add(list.entries[0].clone())).expect("a list");
    assert_eq!(
        String::from_utf8(fresh).expect("UTF-8"),
        "{\n  \"version\": 1,\n  \"entries\": [\n    {\"nodeid\": \"a::b\", \"reason\": \"r\", \"owner\": \"o\", \"covers\": [], \"frozen\": true}\n  ]\n}\n"
    );
    let empty = "{\"version\":1,\"entries\":[]}";
    let added = freezes::edit(
        "f.json",
        Some(empty.as_bytes()),
        &Edit::Add(list.entries[0].clone()),
    )
    .expect("a list");
    assert_eq!(
        String::from_utf8(added).expect("UTF-8"),
        "{\"version\":1,\"entries\":[{\"nodeid\":\"a::b\",\"reason\":\"r\",\"owner\":\"o\",\"covers\":[],\"frozen\":true}]}"
    );
}

#[test]
fn a_property_of_the_catalog_is_edited_in_place() {
    let text = text_of(CATALOG, 0);
    let read = catalog::parse("c.json", text).expect("a catalog");
    let mut row = read.properties[0].clone();
    row.fixtures.push("tests/fixtures/ü/**".to_owned());
    let changed =
        catalog::edit("c.json", Some(text), &Edit::Replace(0, row.clone())).expect("a catalog");
    let changed = String::from_utf8(changed).expect("UTF-8");
    let old = String::from_utf8(text.to_vec()).expect("UTF-8");
    let lines: Vec<(&str, &str)> = old
        .lines()
        .zip(changed.lines())
        .filter(|(a, b)| a != b)
        .collect();
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].1.contains("\"tests/fixtures/\\u00fc/**\"]"),
        "{}",
        lines[0].1
    );
    assert!(catalog::edit("c.json", Some(b"{}"), &Edit::Remove(0)).is_err());
}

#[test]
fn a_long_evidence_ledger_is_read_line_by_line() {
    let line = evidence_row("invoice.total", "manifest-sha256:1", "merge-ok");
    let text = line.repeat(200_000);
    let read = evidence::parse("e.jsonl", text.as_bytes()).expect("evidence");
    assert_eq!((read.rows, read.last.len()), (200_000, 1));
    assert_eq!(read.last[0].line, 200_000);
}

/// The three kinds of rows in one list: what a writer is given comes out of the parser again.
#[test]
fn a_row_that_is_written_is_read_again_as_it_was() {
    let list = freezes::parse("f.json", text_of(super::FREEZES, 1)).expect("a freeze list");
    for row in &list.entries {
        let bytes = freezes::edit("f.json", None, &Edit::Add(row.clone())).expect("a list");
        let read = freezes::parse("f.json", &bytes).expect("a list");
        assert!(read.entries[0].same_row(row));
    }
    let catalog = catalog::parse("c.json", text_of(CATALOG, 0)).expect("a catalog");
    for row in &catalog.properties {
        let bytes = catalog::edit("c.json", None, &Edit::Add(row.clone())).expect("a catalog");
        let read = catalog::parse("c.json", &bytes).expect("a catalog");
        let line = read.properties[0].line;
        assert_eq!(
            read.properties[0],
            catalog::Property {
                line,
                ..row.clone()
            }
        );
    }
    let ledger = ledger::parse("l.json", text_of(LEDGER, 0)).expect("a ledger");
    for row in &ledger.entries {
        let bytes = ledger::edit("l.json", None, &Edit::Add(row.clone())).expect("a ledger");
        let read = ledger::parse("l.json", &bytes).expect("a ledger");
        let line = read.entries[0].line;
        assert_eq!(
            read.entries[0],
            ledger::LedgerEntry {
                line,
                ..row.clone()
            }
        );
    }
}
