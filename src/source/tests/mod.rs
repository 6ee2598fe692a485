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
fn a_text_says_what_it_surely_does_not_hold() {
    const JS: &str =
        "describe('A', () => { it('a', () => {}); beforeEach(() => { reset(); }); });\n";
    for (language, text, names, expected) in [
        (
            Language::Python,
            "def test_a(): ...\n",
            "test_a",
            Some(true),
        ),
        (
            Language::Python,
            "def test_a(): ...\n",
            "test_b",
            Some(false),
        ),
        (
            Language::Python,
            "def test_a(): ...\n",
            "test_ab",
            Some(false),
        ),
        (
            Language::Python,
            "def test_1(): ...\n",
            "test_17",
            Some(false),
        ),
        (Language::Python, "def test_a(): ...\n", "test_a_0_x", None),
        (Language::Python, "def test_a(): ...\n", "test_a1", None),
        (
            Language::Python,
            "def test_a(): ...\n",
            "test_a::inner",
            None,
        ),
        (
            Language::Python,
            "class TestX: ...\n",
            "TestX::test_a",
            Some(false),
        ),
        (
            Language::Python,
            "class TestX: ...\n",
            "TestX_0::test_a",
            None,
        ),
        (
            Language::Python,
            "class TestX(Base): ...\n",
            "TestX::test_a",
            None,
        ),
        (Language::Python, "from a import test_a\n", "test_a", None),
        (Language::Python, "from a import *\n", "test_a", None),
        (
            Language::Python,
            "globals()['test_a'] = f\n",
            "test_a",
            None,
        ),
        (
            Language::Python,
            "X.__dict__['test_a'] = f\n",
            "test_a",
            None,
        ),
        (
            Language::Python,
            "def load_tests(a, b, c): ...\n",
            "test_a",
            None,
        ),
        (Language::Rust, "#[test] fn a() {}\n", "b", Some(false)),
        (Language::Rust, "#[inline] fn a() {}\n", "b", Some(false)),
        (Language::Rust, "#[test] fn a() {}\n", "a::case_1", None),
        (Language::Rust, "#[sqlx::property] fn a() {}\n", "a", None),
        (Language::Rust, "tests! { a, c }\n", "b", None),
        (Language::Rust, "include!(\"tests.inc\");\n", "b", None),
        (Language::JavaScript, JS, "A::a", Some(true)),
        (Language::JavaScript, JS, "A::b", Some(false)),
        (
            Language::JavaScript,
            "it(`a ${x}`, () => {});\n",
            "a 1",
            None,
        ),
        (Language::JavaScript, "mine('a', () => {});\n", "a", None),
        (
            Language::JavaScript,
            "for (const x of y) mine(x);\n",
            "a",
            None,
        ),
        (
            Language::JavaScript,
            "describe('A', () => { shared(); });\n",
            "A::a",
            None,
        ),
        (
            Language::Go,
            "package p\nfunc TestA(t *testing.T) {}\n",
            "TestB",
            Some(false),
        ),
        (
            Language::Go,
            "package p\nfunc TestA(t *testing.T) {}\n",
            "TestA::x",
            None,
        ),
    ] {
        let facts = facts(language, text);
        let names: Vec<String> = names.split("::").map(str::to_owned).collect();
        assert_eq!(
            Held::new(&facts).has(&names),
            expected,
            "{names:?} in\n{text}"
        );
    }
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

#[test]
fn text_that_nests_without_end_is_read_without_recursion() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(20_000), close.repeat(20_000));
    for text in [
        format!("x = {}\n", deep("[", "]")),
        format!("const X: u8 = {};\n", deep("(", ")")),
        deep("mod a {", "}"),
        deep("describe('a', () => {", "});"),
        format!("package p\nvar x = {}\n", deep("(", ")")),
        "(".repeat(40_000),
        "a()".repeat(20_000),
        "@a\n".repeat(20_000),
    ] {
        for language in Language::ALL {
            let facts = read(language, text.as_bytes());
            assert!(
                facts.broken.is_some() || facts.items.is_empty(),
                "{language:?}"
            );
        }
    }
}

#[test]
fn names_that_lie_too_deep_and_items_past_the_limit_are_broken() {
    let mods = format!(
        "{}#[test] fn t() {{}}{}",
        "mod a {".repeat(70),
        "}".repeat(70)
    );
    assert_eq!(read(Language::Rust, mods.as_bytes()).broken, Some(1));
    let many = "def test_a(): pass\n".repeat(20_001);
    assert_eq!(read(Language::Python, many.as_bytes()).broken, Some(20_001));
}

#[test]
fn blank_lines_above_an_item_change_no_digest() {
    for (language, text, names) in [
        (
            Language::Python,
            "import x\n\nL = 1\n\n@given(x)\ndef test_a(x):\n    assert x\n",
            "test_a",
        ),
        (
            Language::Rust,
            "use x;\n\nfn h() {}\n\n#[test]\nfn a() {\n    h();\n}\n",
            "a",
        ),
        (
            Language::TypeScript,
            "import 'x';\n\nconst l = 1;\n\nit('a', () => {\n  l;\n});\n",
            "a",
        ),
        (
            Language::Go,
            "package p\n\nvar l = 1\n\nfunc TestA(t *testing.T) {\n\tl()\n}\n",
            "TestA",
        ),
    ] {
        let before = item(language, text, names);
        let (top, bottom) = text.rsplit_once("\n\n").expect("an item at the end");
        let lower = format!("{top}\n\n\n\n\n{bottom}");
        let after = item(language, &lower, names);
        assert_eq!(after.line, before.line + 3, "{language:?}");
        assert_eq!(
            (&after.text, &after.shape),
            (&before.text, &before.shape),
            "{language:?}"
        );
        assert_eq!(after.context, before.context, "{language:?}");
        assert_eq!(
            facts(language, text).rest,
            facts(language, &lower).rest,
            "{language:?}"
        );
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

#[test]
fn literals_that_could_be_paths_are_kept_in_every_language() {
    for (language, text) in [
        (
            Language::Python,
            "A = ['a/b.json', f\"{x}/c.txt\", 'word', 'x']\n",
        ),
        (
            Language::Rust,
            "const A: &[&str] = &[\"a/b.json\", r\"/c.txt\", \"word\"];\n",
        ),
        (
            Language::JavaScript,
            "const a = ['a/b.json', `${x}/c.txt`, 'word'];\n",
        ),
        (
            Language::TypeScript,
            "const a: string[] = ['a/b.json', `${x}/c.txt`, 'word'];\n",
        ),
        (
            Language::Tsx,
            "const a = ['a/b.json', `${x}/c.txt`, 'word'];\n",
        ),
        (
            Language::Go,
            "package a\n\nvar a = []string{\"a/b.json\", `/c.txt`, \"word\"}\n",
        ),
    ] {
        let found = facts(language, text).literals;
        assert_eq!(found, ["/c.txt", "a/b.json"], "{language:?}");
    }
}
