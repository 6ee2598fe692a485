//! A writer changes its row and nothing else, in whatever layout people keep the file (protocol 3.3, 3.4,
//! 3.6–3.8). Those of the ledger and of the seed corpus are looked at beside their readers, that of the lock
//! beside its own.

use std::fmt::Debug;

use frostline::contract::rows::Edit;
use frostline::contract::seed::Seed;
use frostline::contract::{catalog, evidence, freezes, frozen_tests, map};
use frostline::model::NodeId;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A JSON file with one list of rows.
struct List<T> {
    head: &'static str,
    key: &'static str,
    /// Its rows, each with line 0.
    read: fn(&[u8]) -> Vec<T>,
    edit: fn(&[u8], &Edit<T>) -> Vec<u8>,
}

const FREEZES: List<freezes::FreezeEntry> = List {
    head: "\"version\": 1",
    key: "entries",
    read: |bytes| {
        let mut list = freezes::parse("f.json", bytes).expect("a list").entries;
        list.iter_mut().for_each(|row| row.line = 0);
        list
    },
    edit: |bytes, edit| freezes::edit("f.json", Some(bytes), edit).expect("a file that is read"),
};

const MAP: List<map::MapRule> = List {
    head: "\"version\": 1",
    key: "rules",
    read: |bytes| {
        let mut list = map::parse("m.json", bytes).expect("a map").rules;
        list.iter_mut().for_each(|row| row.line = 0);
        list
    },
    edit: |bytes, edit| map::edit("m.json", Some(bytes), edit).expect("a file that is read"),
};

const CATALOG: List<catalog::Property> = List {
    head: "\"version\": 1",
    key: "properties",
    read: |bytes| {
        let list = catalog::parse("c.json", bytes).expect("a catalog");
        let mut list = list.properties;
        list.iter_mut().for_each(|row| row.line = 0);
        list
    },
    edit: |bytes, edit| catalog::edit("c.json", Some(bytes), edit).expect("a file that is read"),
};

impl<T: Clone + Debug + PartialEq> List<T> {
    /// Layouts in which people keep such files.
    fn laid_out(&self, rows: &[String], layout: usize) -> String {
        let (head, key) = (self.head, self.key);
        match layout {
            0 => format!(
                "{{\n  {head},\n  \"{key}\": [\n    {}\n  ]\n}}\n",
                rows.join(",\n    ")
            ),
            1 => format!("{{{head},\"{key}\":[{}]}}", rows.join(",")),
            2 => format!(
                "{{\r\n\t\"{key}\" : [ {} ],\r\n\t{head}\r\n}}\r\n",
                rows.join(" , ")
            ),
            _ => format!("{{{head}, \"{key}\": [{}]}}\n\n", rows.join(", ")),
        }
    }

    /// Adding `row` and taking it away gives the old bytes, and each edit leaves the text of every other row
    /// where and as it was.
    fn touches_its_row_alone(
        &self,
        texts: &[String],
        layout: usize,
        at: usize,
        row: &T,
    ) -> Result<(), TestCaseError> {
        let old = self.laid_out(texts, layout);
        let before = (self.read)(old.as_bytes());
        let edit = |bytes: &str, edit: Edit<T>| {
            let bytes = (self.edit)(bytes.as_bytes(), &edit);
            let rows = (self.read)(&bytes);
            (String::from_utf8(bytes).expect("UTF-8"), rows)
        };
        let (added, rows) = edit(&old, Edit::Add(row.clone()));
        prop_assert_eq!(&rows[..texts.len()], &before[..]);
        prop_assert_eq!(&rows[texts.len()], row);
        prop_assert_eq!(&edit(&added, Edit::Remove(texts.len())).0, &old);

        let (changed, rows) = edit(&old, Edit::Replace(at, row.clone()));
        prop_assert_eq!(&rows[at], row);
        let place = old.find(&texts[at]).expect("the row");
        prop_assert_eq!(&changed[..place], &old[..place]);
        prop_assert!(changed.ends_with(&old[place + texts[at].len()..]));
        prop_assert_eq!(&edit(&changed, Edit::Replace(at, row.clone())).0, &changed);

        let (less, rows) = edit(&old, Edit::Remove(at));
        prop_assert_eq!(rows.len(), texts.len() - 1);
        for (other, text) in texts.iter().enumerate().filter(|(other, _)| *other != at) {
            prop_assert!(less.contains(text.as_str()), "row {other} is gone: {less}");
        }
        Ok(())
    }
}

/// A row's text, on one line or on several with blanks where people put them.
fn written(row: &Value, is_long: bool) -> String {
    let members = row.as_object().expect("an object");
    if !is_long {
        return row.to_string();
    }
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("      {} : {value}", json!(key)))
        .collect();
    format!("{{\n{}\n    }}", members.join(",\n"))
}

const TEXT: &str = "[a-z\"\\\\é,:\\[{}\\]/@#\u{1}\u{202e}]{0,8}";

/// Texts of rows, each of them once.
fn rows(row: fn(usize, &str) -> Value) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((TEXT, any::<bool>()), 1..5).prop_map(move |texts| {
        let rows = texts.iter().enumerate();
        rows.map(|(at, (text, is_long))| written(&row(at, text), *is_long))
            .collect()
    })
}

/// As much of a text as a name may hold.
fn name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn node(at: usize, text: &str) -> String {
    format!("t/a.py::{at}{}", name(text))
}

fn id(text: &str) -> NodeId {
    text.parse().expect("a node id")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_edit_of_the_freeze_list_touches_its_row_alone(
        texts in rows(|at, text| json!({"nodeid": node(at, text), "reason": text, "owner": "@o", "covers": ["src/é"],
            "frozen": at != 1, "seed": at})),
        (layout, at, text) in (0..4_usize, any::<prop::sample::Index>(), TEXT),
    ) {
        let row = freezes::FreezeEntry {
            nodeid: id("t/new.py::x"), reason: text.clone(), owner: "@acme/ü".to_owned(), covers: Vec::new(),
            frozen: true, property_id: None, property_digest: None, fixture_digest: Some(text.clone()),
            seed: Seed::of_word("7"), replay: Some(text), opened_at: None, expires_at: None, line: 0,
        };
        FREEZES.touches_its_row_alone(&texts, layout, at.index(texts.len()), &row)?;
    }

    #[test]
    fn an_edit_of_the_map_touches_its_rule_alone(
        texts in rows(|at, text| json!({"path_prefix": format!("src/{at}"), "live_properties": [node(at, text)]})),
        (layout, at, text) in (0..4_usize, any::<prop::sample::Index>(), TEXT),
        min_live in prop::option::of(1..9_u64),
    ) {
        let row = map::MapRule {
            path_prefix: "lib/é/".to_owned(), live_properties: vec![id(&node(0, &text)), id("t/b.py::y")], min_live,
            line: 0,
        };
        MAP.touches_its_row_alone(&texts, layout, at.index(texts.len()), &row)?;
    }

    #[test]
    fn an_edit_of_the_catalog_touches_its_property_alone(
        texts in rows(|at, text| json!({"property_id": format!("{at}{}", name(text)), "nodeid": node(at, text),
            "fixtures": ["tests/fixtures/**"], "owner": "@o"})),
        (layout, at, text) in (0..4_usize, any::<prop::sample::Index>(), TEXT),
    ) {
        let row = catalog::Property {
            property_id: format!("new{}", name(&text)), nodeid: id(&format!("new/{}", node(9, &text))),
            fixtures: vec!["tests/fixtures/ü/*.json".to_owned()], owner: "@acme/parse".to_owned(), runner: None,
            seed: Seed::of_word("-3"), line: 0,
        };
        CATALOG.touches_its_row_alone(&texts, layout, at.index(texts.len()), &row)?;
    }

    /// Comments, blank lines and line ends stay; a row that is written is read again as it was.
    #[test]
    fn an_edit_of_the_frozen_tests_touches_its_line_alone(
        texts in prop::collection::vec((TEXT, 0..4_u8), 0..6),
        (newline, is_ended) in (prop::sample::select(vec!["\n", "\r\n"]), any::<bool>()),
        (at, note) in (any::<prop::sample::Index>(), TEXT),
    ) {
        let lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(at, (text, kind))| match kind {
                0 => String::new(),
                1 => format!("# {}", node(at, text)),
                _ => {
                    let (name, note) = (json!(node(at, text)), json!(text));
                    format!("{name} unstable_since=2026-08-29 frozen_runs={at} note={note}")
                }
            })
            .collect();
        let end = if is_ended && !lines.is_empty() { newline } else { "" };
        let old = format!("{}{end}", lines.join(newline));
        let read = |bytes: &[u8]| frozen_tests::parse("f.txt", bytes).expect("a list").rows;
        let bare = |row: &frozen_tests::FrozenTest| frozen_tests::FrozenTest { line: 0, ..row.clone() };
        let before = read(old.as_bytes());
        let row = frozen_tests::FrozenTest {
            nodeid: id("t/new.py::x y"), unstable_since: "2026-09-01".to_owned(), frozen_runs: 3, note, line: 0,
        };
        let added = frozen_tests::edit(old.as_bytes(), None, Some(&row));
        prop_assert!(added.starts_with(old.as_bytes()));
        let rows = read(&added);
        prop_assert_eq!(bare(rows.last().expect("a row")), bare(&row));
        let gone = frozen_tests::edit(&added, Some(rows.last().expect("a row").line), None);
        let old_lines = String::from_utf8(gone).expect("UTF-8");
        prop_assert_eq!(old_lines.trim_end_matches(['\r', '\n']), old.trim_end_matches(['\r', '\n']));
        if before.is_empty() {
            return Ok(());
        }
        let at = at.index(before.len());
        let line = before[at].line;
        let changed = frozen_tests::edit(old.as_bytes(), Some(line), Some(&row));
        let rows = read(&changed);
        prop_assert_eq!(bare(&rows[at]), bare(&row));
        let changed = String::from_utf8(changed).expect("UTF-8");
        let differ = old.split('\n').zip(changed.split('\n')).zip(1..);
        let differ: Vec<u32> = differ.filter(|((a, b), _)| a != b).map(|(_, at)| at).collect();
        prop_assert_eq!(differ, [line]);
        let less = read(&frozen_tests::edit(old.as_bytes(), Some(line), None));
        prop_assert_eq!(less.len(), before.len() - 1);
    }

    /// One ASCII line more behind what is there; taking it away gives the old bytes.
    #[test]
    fn evidence_is_added_behind_what_is_there(
        texts in prop::collection::vec(TEXT, 0..4),
        (text, seed, is_ended) in (TEXT, any::<i64>(), any::<bool>()),
    ) {
        let members = |text: &str| -> Vec<(&'static str, Value)> {
            vec![
                ("property_id", json!(format!("p{text}"))), ("nodeid", json!(node(0, text))),
                ("fixture_paths", json!(["tests/é"])), ("fixture_digest", json!("x")), ("seed", json!(seed)),
                ("runs", json!(7)), ("passes", json!(5)), ("failures", json!(2)),
                ("signatures", json!([{"id": text, "count": 2, "summary": text}])),
                ("status", json!("freeze-candidate")), ("reason", json!("IO")), ("example", json!(text)),
            ]
        };
        let mut old = Vec::new();
        for text in &texts {
            old = evidence::append(&old, &members(text));
        }
        if !is_ended {
            old.pop();
        }
        let new = evidence::append(&old, &members(&text));
        let is_one_line = new.starts_with(&old) && new.is_ascii() && new.ends_with(b"}\n");
        prop_assert!(is_one_line);
        let read = evidence::parse("e.jsonl", &new).expect("evidence");
        prop_assert_eq!(read.rows, texts.len() + 1);
        let last = read.last.last().expect("a row");
        prop_assert_eq!(&last.property_id, &format!("p{text}"));
        prop_assert_eq!(last.nodeid.as_str(), node(0, &text));
        prop_assert_eq!(last.seed.as_ref(), Some(&Seed::Integer(seed.into())));
        let less = evidence::remove(&new, texts.len() + 1);
        let ended = if is_ended || old.is_empty() { "" } else { "\n" };
        prop_assert_eq!(less, [old.as_slice(), ended.as_bytes()].concat());
    }
}
