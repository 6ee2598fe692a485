//! What the source says decides: ghosts, disabled tests, witnesses by item, what a test needs.

use super::scene::*;
use crate::model::*;

const PARSE_RS: &str = "src/parse.rs";
const INLINE: &str = "src/parse.rs::tests::roundtrip";

fn state_of(decision: &Decision, nodeid: &str) -> (PropertyState, String) {
    let mut listed = decision
        .coverage
        .iter()
        .flat_map(|coverage| &coverage.properties);
    let found = listed.find(|property| property.nodeid == nodeid);
    found.map_or_else(
        || panic!("{nodeid} is not listed: {:#?}", decision.coverage),
        |property| (property.state, property.why.clone()),
    )
}

/// A patch to the parser, guarded by one property whose file holds this text.
fn guarded_by(text: &str) -> Scene {
    Scene::production()
        .mapping(&[rule(PARSE, &[ROUNDTRIP])])
        .on_both(PROPERTY_FILE, text)
}

#[test]
fn a_function_that_is_not_in_its_file_is_a_ghost() {
    let decision = guarded_by("def test_other(): ...\n").expect(Verdict::Refuse);
    let (state, why) = state_of(&decision, ROUNDTRIP);
    assert_eq!(state, PropertyState::Ghost);
    assert!(why.contains("has no test_roundtrip"), "{why}");
    assert_eq!(
        decision.of_rule(Rule::GhostProperty),
        [(Effect::Notice, Some(MAP))]
    );
}

#[test]
fn a_renamed_property_is_told_by_both_ids() {
    let body = "(x):\n    assert parse(x) == x\n";
    let decision = guarded_by(&format!("def test_roundtrip{body}"))
        .change(PROPERTY_FILE, &format!("def test_inverse{body}"))
        .expect(Verdict::Refuse);
    let message = decision.message_of(Rule::GhostProperty);
    assert!(message.contains("test_roundtrip"), "{message}");
    assert!(
        message.contains("tests/properties/test_parse.py::test_inverse"),
        "{message}"
    );
}

#[test]
fn a_skipped_property_does_not_count() {
    let text = "import pytest\n\n@pytest.mark.skip\ndef test_roundtrip(): ...\n";
    let decision = guarded_by(text).expect(Verdict::Refuse);
    assert_eq!(state_of(&decision, ROUNDTRIP).0, PropertyState::Disabled);
    assert_eq!(
        decision.of_rule(Rule::DisabledProperty),
        [(Effect::Notice, Some(PROPERTY_FILE))]
    );
    let line = decision
        .findings
        .iter()
        .find(|f| f.rule == Rule::DisabledProperty);
    assert_eq!(line.and_then(|finding| finding.line), Some(3));
}

#[test]
fn a_skipped_row_whose_id_pytest_escapes_may_be_any_row() {
    let text = |id: &str| {
        format!(
            "import pytest\n\n@pytest.mark.parametrize('x', [1, pytest.param(2, id='{id}', \
             marks=pytest.mark.skip)])\ndef test_roundtrip(x): ...\n"
        )
    };
    let row = format!("{ROUNDTRIP}[1]");
    let state = |id: &str| {
        let scene = Scene::production()
            .mapping(&[rule(PARSE, &[&row])])
            .on_both(PROPERTY_FILE, &text(id));
        state_of(&scene.decide(), &row).0
    };
    assert_eq!(state("two"), PropertyState::Live);
    assert_eq!(state("caf\u{e9}"), PropertyState::Disabled);
}

#[test]
fn a_syntax_error_in_the_file_takes_its_properties_away() {
    let decision = guarded_by("def test_roundtrip(): ...\n\ndef (:\n").expect(Verdict::Refuse);
    let (state, why) = state_of(&decision, ROUNDTRIP);
    assert_eq!(state, PropertyState::Disabled);
    assert!(why.contains(":3 is no valid source"), "{why}");
}

#[test]
fn a_language_without_a_grammar_is_shown_as_not_looked_at() {
    let id = "tests/properties/ParseTest.java::roundtrip";
    let decision = Scene::production()
        .mapping(&[rule(PARSE, &[id])])
        .on_both("tests/properties/ParseTest.java", "class ParseTest {}")
        .expect(Verdict::Pass);
    let (state, why) = state_of(&decision, id);
    assert_eq!(state, PropertyState::Live);
    assert!(why.contains("not looked at: there is no grammar"), "{why}");
}

#[test]
fn a_property_is_local_when_a_file_that_it_imports_changes() {
    let text = "from tests.support.strategies import trees\n\ndef test_roundtrip(): ...\n";
    let scene = || {
        guarded_by(text)
            .on_both("tests/support/strategies.py", "from .deeper import leaf\n")
            .on_both("tests/support/deeper.py", "leaf = 1\n")
    };
    scene().expect(Verdict::Pass);
    for changed in ["tests/support/strategies.py", "tests/support/deeper.py"] {
        let decision = scene()
            .change(changed, "leaf = 2\n")
            .expect(Verdict::Refuse);
        let (state, why) = state_of(&decision, ROUNDTRIP);
        assert_eq!(state, PropertyState::Local, "{changed}");
        assert!(why.contains(changed), "{why}");
    }
    // A file that it does not need is none of its business.
    let decision = scene().change("tests/support/other.py", "x = 1\n").decide();
    assert_eq!(state_of(&decision, ROUNDTRIP).0, PropertyState::Live);
}

#[test]
fn a_module_found_by_a_path_that_is_set_when_it_runs_is_needed_too() {
    let text = "import sys\nsys.path.insert(0, 'tests/support')\nimport test_oracle\n\n\
                def test_roundtrip(): ...\n";
    let decision = guarded_by(text)
        .on_both("tests/support/test_oracle.py", "def ok(x): return x > 1\n")
        .change("tests/support/test_oracle.py", "def ok(x): return True\n")
        .expect(Verdict::Refuse);
    assert_eq!(state_of(&decision, ROUNDTRIP).0, PropertyState::Local);
}

#[test]
fn a_property_that_loads_code_by_a_path_nobody_can_read_needs_every_changed_helper() {
    let loads = [
        "import importlib.util\nspec = importlib.util.spec_from_file_location('o', PATH)\n",
        "import importlib\noracle = importlib.import_module('or' + 'acle')\n",
        "import runpy\nok = runpy.run_path('tests/support/oracle.py')['ok']\n",
        "exec(open('tests/support/oracle.py').read())\n",
        "pytest_plugins = ['tests.' + name for name in NAMES]\n",
    ];
    for load in loads {
        let text = format!("{load}\ndef test_roundtrip(): ...\n");
        let scene = || guarded_by(&text).on_both("tests/support/oracle.py", "x = 1\n");
        scene().expect(Verdict::Pass);
        let decision = scene()
            .change("tests/support/oracle.py", "x = 2\n")
            .expect(Verdict::Refuse);
        assert_eq!(
            state_of(&decision, ROUNDTRIP).0,
            PropertyState::Local,
            "{load}"
        );
    }
}

fn inline(production: &str, helper: &str, test: &str) -> String {
    format!(
        "pub fn parse() -> u8 {{ {production} }}\n\n#[cfg(test)]\nmod tests {{\n    use super::*;\n\
         \n    fn helper() -> u8 {{ {helper} }}\n\n    #[test]\n    fn roundtrip() {{ {test} }}\n\n\
             #[test]\n    fn other() {{ assert!(true); }}\n}}\n"
    )
}

fn with_inline() -> Scene {
    Scene::quiet()
        .config("paths:\n  inline_properties: [src/parse.rs]\n")
        .mapping(&[rule(PARSE_RS, &[INLINE])])
        .on_both(
            PARSE_RS,
            &inline("1", "1", "assert_eq!(parse(), helper());"),
        )
}

#[test]
fn an_inline_property_whose_text_is_unchanged_is_a_witness_of_its_own_file() {
    let test = "assert_eq!(parse(), helper());";
    let decision = with_inline()
        .change(PARSE_RS, &inline("2 - 1", "1", test))
        .expect(Verdict::Pass);
    assert_eq!(state_of(&decision, INLINE).0, PropertyState::Live);
    for (helper, test) in [("2", test), ("1", "assert!(true);")] {
        let decision = with_inline()
            .change(PARSE_RS, &inline("2", helper, test))
            .expect(Verdict::Refuse);
        assert_eq!(state_of(&decision, INLINE).0, PropertyState::Local);
    }
}

#[test]
fn a_hunk_wholly_inside_a_test_item_is_no_production_hunk() {
    let test = "assert_eq!(parse(), helper());";
    let other = inline("1", "1", test).replace("assert!(true)", "assert!(1 == 1)");
    let decision = with_inline().change(PARSE_RS, &other).expect(Verdict::Pass);
    assert_eq!(decision.write_set[0].class, Class::Test);
    assert!(decision.coverage.is_empty());
    // The property's own text is a property's change.
    let decision = with_inline()
        .change(PARSE_RS, &inline("1", "1", "assert!(true);"))
        .expect(Verdict::HumanReview);
    assert_eq!(decision.write_set[0].class, Class::Property);
    // A production function that becomes a test item is a production change.
    let gone = inline("1", "1", test).replacen("pub fn", "#[cfg(test)]\npub fn", 1);
    let decision = with_inline().change(PARSE_RS, &gone).decide();
    assert_eq!(decision.write_set[0].class, Class::Production);
}

#[test]
fn tests_that_are_gone_from_a_file_with_production_need_a_person() {
    let file = "tests/test_plain.py";
    let decision = Scene::production()
        .on_both(
            file,
            "def make(): ...\n\ndef test_a(): ...\n\ndef test_b(): ...\n",
        )
        .change(file, "def test_a(): ...\n")
        .expect(Verdict::HumanReview);
    assert_eq!(
        decision.of_rule(Rule::TestsRemoved),
        [(Effect::HumanReview, Some(file))]
    );
    assert!(
        decision
            .message_of(Rule::TestsRemoved)
            .ends_with(": test_b")
    );
}

#[test]
fn a_manifest_that_changes_in_other_keys_is_other() {
    let before = "[project]\nversion = \"1\"\n[tool.pytest.ini_options]\naddopts = \"-q\"\n";
    let scene = Scene::quiet().on_both("pyproject.toml", before);
    let other = scene
        .clone()
        .change("pyproject.toml", &before.replace("\"1\"", "\"2\""))
        .expect(Verdict::Pass);
    assert_eq!(other.write_set[0].class, Class::Other);
    let harness = scene
        .clone()
        .change("pyproject.toml", &before.replace("-q", "-k nothing"))
        .expect(Verdict::HumanReview);
    assert_eq!(harness.write_set[0].class, Class::Harness);
    // A repository that names it harness means all of it.
    let named = scene
        .config("paths:\n  harness: [pyproject.toml]\n")
        .change("pyproject.toml", &before.replace("\"1\"", "\"2\""))
        .expect(Verdict::HumanReview);
    assert_eq!(named.write_set[0].class, Class::Harness);
}

#[test]
fn a_source_that_could_not_be_had_is_undetermined() {
    let decision = Scene::production()
        .tweak(|snapshot| {
            let Fact::Known(sources) = &mut snapshot.sources else {
                panic!("the scene has sources");
            };
            let fact = sources
                .properties
                .get_mut(ROUNDTRIP)
                .expect("a listed property");
            fact.presence = Presence::Unavailable("cut off".to_owned());
        })
        .expect(Verdict::Refuse);
    assert!(decision.message_of(Rule::Undetermined).contains("cut off"));
}

#[test]
fn an_inline_property_and_its_production_do_not_change_together() {
    let second = "src/parse.rs::tests::other";
    let scene = || with_inline().mapping(&[rule(PARSE_RS, &[INLINE, second])]);
    let test = "assert_eq!(parse(), helper());";
    let weaker = inline("2", "1", "assert!(true);");
    let decision = scene().change(PARSE_RS, &weaker).expect(Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::TestsWithProduction),
        [(Effect::Refuse, Some(PARSE_RS))]
    );
    let (kept, rest) = weaker
        .split_once("    #[test]\n    fn roundtrip")
        .expect("the test");
    let (_, rest) = rest.split_once('\n').expect("its line");
    let decision = scene()
        .change(PARSE_RS, &format!("{kept}{rest}"))
        .expect(Verdict::Refuse);
    assert_eq!(decision.of_rule(Rule::TestsWithProduction).len(), 1);
    assert_eq!(decision.of_rule(Rule::TestsRemoved).len(), 1);
    // A further test beside it is none of the property's business.
    let more = inline("2 - 1", "1", test)
        .replace("fn other()", "fn new() {}\n\n    #[test]\n    fn other()");
    scene().change(PARSE_RS, &more).expect(Verdict::Pass);
}

#[test]
fn a_file_that_a_property_needs_does_not_change_alone_unseen() {
    let text = "from tests.support.strategies import trees\n\ndef test_roundtrip(): ...\n";
    let helper = "tests/support/strategies.py";
    let scene = || {
        Scene::quiet()
            .on_both(PROPERTY_FILE, text)
            .on_both(helper, "trees = 1\n")
    };
    for changed in [
        scene().change(helper, "trees = 0\n"),
        scene().remove(helper),
    ] {
        let decision = changed.expect(Verdict::HumanReview);
        assert_eq!(
            decision.of_rule(Rule::SupportChanged),
            [(Effect::HumanReview, Some(helper))]
        );
    }
    scene()
        .change("tests/support/other.py", "x = 1\n")
        .expect(Verdict::Pass);
}

#[test]
fn a_property_that_the_patch_disables_is_told_of_without_production() {
    let text = "import pytest\n\n@pytest.mark.skip\ndef test_roundtrip(): ...\n";
    let decision = Scene::quiet()
        .change(PROPERTY_FILE, text)
        .expect(Verdict::HumanReview);
    assert_eq!(decision.of_rule(Rule::DisabledProperty).len(), 1);
    let decision = Scene::quiet()
        .change(PROPERTY_FILE, "def test_other(): ...\n")
        .expect(Verdict::HumanReview);
    assert_eq!(decision.of_rule(Rule::GhostProperty).len(), 1);
}

#[test]
fn a_property_that_the_patch_takes_away_is_no_witness() {
    let decision = guarded_by("def test_roundtrip(): ...\n")
        .change(PROPERTY_FILE, "def test_other(): ...\n")
        .expect(Verdict::Refuse);
    let row = decision
        .table
        .iter()
        .find(|row| row.step == 2)
        .expect("step 2");
    assert_eq!(row.detail, "0 of 1 listed properties are witnesses");
}

/// Attacks on the claim that only tests change.
#[test]
fn what_production_may_be_made_of_is_no_test_item() {
    let before = "struct Door;\nimpl Door {\n    fn ok(&self) -> bool { false }\n}\n";
    for after in [
        before.replace(
            "    fn ok",
            "    #[rustfmt::cfg(test)]\n    fn no(&self) {}\n    fn ok",
        ),
        format!("{before}#[rustfmt::test]\nfn drop<T>(t: T) {{ std::mem::forget(t) }}\n"),
        format!("{before}#[clippy::cfg(test)]\nimpl Drop for Door {{ fn drop(&mut self) {{}} }}\n"),
        format!("{before}#[tokio::test]\nfn drop<T>(t: T) {{ std::mem::forget(t) }}\n"),
        format!("{before}nop!{{ cr#\"x\" }}\n#[cfg(test)]\nnop!{{ \"y\"# }}\n"),
    ] {
        let decision = Scene::quiet()
            .on_both("src/door.rs", before)
            .change("src/door.rs", &after)
            .expect(Verdict::Refuse);
        assert_eq!(
            decision.of_rule(Rule::UnmappedPath),
            [(Effect::Refuse, Some("src/door.rs"))],
            "{after}"
        );
    }
}

#[test]
fn what_an_inline_property_reaches_is_its_context() {
    let test = "assert_eq!(parse(), helper());";
    let before = format!(
        "#[cfg(test)]\nfn holds() -> bool {{ check() }}\n\n{}",
        inline("1", "1", test)
    );
    let scene = || with_inline().on_both(PARSE_RS, &before);
    let broken = before.replace("{ 1 }\n\n#[cfg", "{ 2 }\n\n#[cfg");
    assert_ne!(before, broken);
    scene().change(PARSE_RS, &broken).expect(Verdict::Pass);
    let called = before
        .replace("#[cfg(test)]\nfn holds", "#[test]\nfn holds")
        .replace(test, "holds();");
    let decision = with_inline()
        .on_both(PARSE_RS, &called)
        .change(
            PARSE_RS,
            &called
                .replace("{ 1 }\n\n#[cfg", "{ 2 }\n\n#[cfg")
                .replace("check()", "true"),
        )
        .expect(Verdict::Refuse);
    assert_eq!(state_of(&decision, INLINE).0, PropertyState::Local);
    let mac = "macro_rules! assert_eq { ($($x:tt)*) => {} }\n";
    for after in [
        broken.replace("check()", "true"),
        format!("#[cfg(test)]\n{mac}{broken}"),
        format!("{mac}{broken}"),
        broken.replace(
            "use super::*;",
            &format!("use super::*;\n    #[macro_use] mod quiet {{ {mac} }}\n"),
        ),
        broken.replace(
            "use super::*;",
            "use super::*;\n    mod gen { impl super::super::Gen for u8 {} }\n",
        ),
    ] {
        let decision = scene().change(PARSE_RS, &after).expect(Verdict::Refuse);
        assert_eq!(
            state_of(&decision, INLINE).0,
            PropertyState::Local,
            "{after}"
        );
    }
}

#[test]
fn what_other_files_hold_for_tests_changes_under_a_persons_eyes() {
    let testing = "#![cfg(test)]\npub fn holds(x: u8) -> bool { x > 1 }\n";
    let lib = "pub mod parse;\n#[cfg(test)]\nmod calc_props;\n";
    let scene = || {
        with_inline()
            .on_both("src/testing.rs", testing)
            .on_both("src/lib.rs", lib)
    };
    for (path, after) in [
        ("src/testing.rs", testing.replace("x > 1", "true")),
        (
            "src/lib.rs",
            format!(
                "#[cfg(test)]\n#[macro_use]\nmod quiet {{ macro_rules! assert {{ () => {{}} }} }}\n{lib}"
            ),
        ),
        (
            "src/lib.rs",
            lib.replace("#[cfg(test)]\nmod calc_props;\n", ""),
        ),
    ] {
        let decision = scene().change(path, &after).expect(Verdict::HumanReview);
        assert_eq!(
            decision.of_rule(Rule::SupportChanged),
            [(Effect::HumanReview, Some(path))],
            "{after}"
        );
    }
}

#[test]
fn a_property_in_a_module_that_is_no_longer_declared_is_not_live() {
    let id = "src/calc_props.rs::prop";
    let property = "#![cfg(test)]\n#[test]\nfn prop() { assert!(crate::next(1) == 2); }\n";
    let lib = "pub fn next(x: u8) -> u8 { x + 1 }\n#[cfg(test)]\nmod calc_props;\n";
    let scene = || {
        Scene::quiet()
            .config("paths:\n  inline_properties: [src/calc_props.rs]\n")
            .mapping(&[rule("src/", &[id])])
            .on_both("src/calc_props.rs", property)
            .on_both("src/lib.rs", lib)
    };
    scene()
        .change("src/lib.rs", &lib.replace("x + 1", "1 + x"))
        .expect(Verdict::Pass);
    for after in [
        lib.replace("#[cfg(test)]\nmod calc_props;\n", "")
            .replace("x + 1", "x"),
        lib.replace("#[cfg(test)]\nmod", "#[cfg(test)]\n#[cfg(windows)]\nmod")
            .replace("x + 1", "x"),
    ] {
        let decision = scene().change("src/lib.rs", &after).expect(Verdict::Refuse);
        assert_eq!(state_of(&decision, id).0, PropertyState::Local, "{after}");
    }
}

#[test]
fn a_test_that_changes_with_a_golden_that_its_strings_name_rewrites_itself() {
    let golden = "expected/render/page.html";
    let fixture = "tests/fixtures/rows.json";
    let told = |path: &str, text: &str| {
        let scene = Scene::quiet().on_both(path, "1").change(path, "2").change(
            PROPERTY_FILE,
            &format!("def test_roundtrip():\n    {text}\n"),
        );
        scene.decide().of_rule(Rule::SelfRewritingTest).len()
    };
    for text in [
        "read('expected/render/page.html')",
        "read('../../expected/render/page.html')",
        "read(HERE / 'page.html')",
        "read(f'{HERE}/render/page.html')",
        "glob('expected/render/')",
    ] {
        assert_eq!(told(golden, text), 1, "{text}");
    }
    for text in [
        "read('expected/render/page.htm')",
        "read('render')",
        "read('other/page.html')",
        "read('e.html')",
        "read('http://expected/render/page.html')",
        "pass  # expected/render/page.html",
    ] {
        assert_eq!(told(golden, text), 0, "{text}");
    }
    assert_eq!(told(fixture, "read('rows.json')"), 1, "a fixture");
    let many: String = (0..1_001).map(|n| format!("'{n}.txt', ")).collect();
    assert_eq!(
        told(golden, &format!("x = [{many}]")),
        1,
        "more than can be kept"
    );
}
