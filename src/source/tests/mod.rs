//! What every language's reader keeps, and helpers for the tables of each.

mod go;
mod javascript;
mod needs;
mod python;
mod rust;

use proptest::prelude::*;

use super::*;
use crate::model::{NodeId, TestItem};

fn facts(language: Language, text: &str) -> SourceFacts {
    let facts = read(language, text.as_bytes());
    assert_eq!(facts.broken, None, "a text that parses:\n{text}");
    facts
}

/// What becomes of the item that `names` (joined by `::`) name: `runs`, why it does not, `computed`
/// or `nothing`.
fn state(language: Language, text: &str, names: &str) -> String {
    let facts = facts(language, text);
    let names: Vec<&str> = names.split("::").collect();
    match find(&facts, &names) {
        Found::Item(item) => match &item.disabled {
            None => "runs".to_owned(),
            Some(disabled) => format!("{} at {}", disabled.why, disabled.line),
        },
        Found::Computed => "computed".to_owned(),
        Found::Nothing => "nothing".to_owned(),
    }
}

fn item(language: Language, text: &str, names: &str) -> TestItem {
    let facts = facts(language, text);
    let names: Vec<&str> = names.split("::").collect();
    match find(&facts, &names) {
        Found::Item(item) => item.clone(),
        other => panic!("{names:?} is {other:?} in\n{text}\n{:#?}", facts.items),
    }
}

/// Each text holds the item, and does not run it.
fn all_disabled(language: Language, names: &str, texts: &[&str]) {
    let bad: Vec<String> = texts
        .iter()
        .map(|text| (text, state(language, text, names)))
        .filter(|(_, state)| matches!(state.as_str(), "runs" | "nothing" | "computed"))
        .map(|(text, state)| format!("{state}:\n{text}"))
        .collect();
    assert!(bad.is_empty(), "not disabled:\n{}", bad.join("\n---\n"));
}

/// Each text holds the item, and runs it.
fn all_run(language: Language, names: &str, texts: &[&str]) {
    let bad: Vec<String> = texts
        .iter()
        .map(|text| (text, state(language, text, names)))
        .filter(|(_, state)| state != "runs")
        .map(|(text, state)| format!("{state}:\n{text}"))
        .collect();
    assert!(bad.is_empty(), "does not run:\n{}", bad.join("\n---\n"));
}

#[test]
fn languages_go_by_extension() {
    for (path, language) in [
        ("a/b.py", Some(Language::Python)),
        ("b.pyi", Some(Language::Python)),
        ("src/x.rs", Some(Language::Rust)),
        ("x.test.mjs", Some(Language::JavaScript)),
        ("x.jsx", Some(Language::JavaScript)),
        ("x.d.ts", Some(Language::TypeScript)),
        ("x.tsx", Some(Language::Tsx)),
        ("x_test.go", Some(Language::Go)),
        ("py", None),
        ("a.py/b", None),
        ("x.rb", None),
    ] {
        assert_eq!(Language::of_path(path), language, "{path}");
    }
}

#[test]
fn node_ids_are_split_as_their_language_writes_them() {
    for (id, names, param) in [
        (
            "t/a.py::TestX::test_y[a::b]",
            vec!["TestX", "test_y"],
            Some("a::b"),
        ),
        ("t/a.py::test_y", vec!["test_y"], None),
        ("t/a.py", vec![], None),
        (
            "a.test.ts::parser::keeps a\\:\\:b",
            vec!["parser", "keeps a::b"],
            None,
        ),
        ("a.test.ts::reads [x]", vec!["reads [x]"], None),
        (
            "p/x_test.go::TestX::an empty one",
            vec!["TestX", "an_empty_one"],
            None,
        ),
    ] {
        let node: NodeId = id.parse().expect("a node id");
        let expected = names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            names_of(&node),
            (expected, param.map(str::to_owned)),
            "{id}"
        );
    }
}

#[test]
fn what_is_no_text_is_broken() {
    for language in Language::ALL {
        assert_eq!(read(language, b"\xff\xfe").broken, Some(1));
        assert_eq!(read(language, b"x\0").broken, Some(1));
        assert_eq!(read(language, b"\n\n((((").broken, Some(3), "{language:?}");
        assert_eq!(read(language, b"").broken, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for language in Language::ALL {
            let _ = read(language, &bytes);
        }
    }
}

#[test]
fn names_and_reasons_that_repeat_with_each_item_are_bounded() {
    let methods: String = (0..19_000)
        .map(|n| format!("    def test_{n}(self): ...\n"))
        .collect();
    let text = format!("class Test{}:\n{methods}", "x".repeat(400_000));
    assert!(read(Language::Python, text.as_bytes()).broken.is_some());
    let reason = "a".repeat(50_000);
    let text = format!("#[cfg({reason})]\nmod m {{\n    #[test]\n    fn t() {{}}\n}}\n");
    let facts = facts(Language::Rust, &text);
    let longest = facts.items.iter().filter_map(|item| item.disabled.as_ref());
    assert!(longest.map(|off| off.why.len()).max().expect("a reason") < 1_000);
}
