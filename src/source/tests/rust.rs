use super::*;
use crate::model::Generator;

const RS: Language = Language::Rust;

#[test]
fn functions_with_a_test_attribute_run() {
    all_run(
        RS,
        "a",
        &[
            "#[test]\nfn a() {}\n",
            "#[tokio::test(flavor = \"multi_thread\")]\nasync fn a() {}\n",
            "#[rstest]\nfn a() {}\n",
            "#[test_case(1)]\nfn a(x: u8) {}\n",
            "#[quickcheck]\nfn a(x: u8) -> bool { true }\n",
            "#[proptest]\nfn a(x: u8) {}\n",
            "#[wasm_bindgen_test]\nfn a() {}\n",
            "#[test]\n#[should_panic(expected = \"x\")]\nfn a() {}\n",
            "#[cfg(test)]\n#[test]\nfn a() {}\n",
            "#[cfg(not(miri))]\n#[test]\nfn a() {}\n",
            "#[cfg_attr(miri, ignore)]\n#[test]\nfn a() {}\n",
            "#![cfg(test)]\n#[test]\nfn a() {}\n",
            "proptest! { #[test] fn a(x in 0..3u8) { prop_assert!(x < 3); } }\n",
            "proptest! {\n    #![proptest_config(Config::default())]\n    /// Doc.\n    #[test]\n    fn a(x in 0..3u8) {}\n}\n",
            "quickcheck! { fn a(x: u8) -> bool { true } }\n",
            "quickcheck::quickcheck! { fn b() -> bool { true } fn a(x: u8) -> bool { true } }\n",
        ],
    );
    all_run(
        RS,
        "tests::deep::a",
        &[
            "#[cfg(test)]\nmod tests { mod deep { #[test] fn a() {} } }\n",
            "#[cfg(all(test))]\nmod tests { mod deep { proptest! { #[test] fn a(x in b()) {} } } }\n",
        ],
    );
}

#[test]
fn what_is_ignored_or_built_only_sometimes_is_disabled() {
    all_disabled(
        RS,
        "a",
        &[
            "#[test]\n#[ignore]\nfn a() {}\n",
            "#[ignore = \"slow\"]\n#[test]\nfn a() {}\n",
            "#[test]\n#[/* x */ ignore]\nfn a() {}\n",
            "#[test]\n#[cfg(any())]\nfn a() {}\n",
            "#[cfg(FALSE)]\n#[test]\nfn a() {}\n",
            "#[cfg(not(test))]\n#[test]\nfn a() {}\n",
            "#[cfg(miri)]\n#[test]\nfn a() {}\n",
            "#[cfg(feature = \"x\")]\n#[test]\nfn a() {}\n",
            "#[cfg(all(test, unix))]\n#[test]\nfn a() {}\n",
            "#[cfg(any(test, not(x)))]\n#[cfg(windows)]\n#[test]\nfn a() {}\n",
            "#[cfg_attr(windows, ignore)]\n#[test]\nfn a() {}\n",
            "#[cfg_attr(all(), ignore)]\n#[test]\nfn a() {}\n",
            "#[cfg_attr(feature = \"x\", test)]\nfn a() {}\n",
            "#![cfg(any())]\n#[test]\nfn a() {}\n",
            "#![cfg(target_os = \"linux\")]\n#[test]\nfn a() {}\n",
            "#[test]\nfn a() { return; }\n",
            "proptest! { #[test] #[ignore] fn a(x in b()) {} }\n",
            "#[cfg(any())]\nproptest! { #[test] fn a(x in b()) {} }\n",
        ],
    );
    all_disabled(
        RS,
        "tests::a",
        &[
            "#[cfg(any())]\nmod tests { #[test] fn a() {} }\n",
            "#[cfg(feature = \"x\")]\nmod tests { #[test] fn a() {} }\n",
            "mod tests { #![cfg(any())]\n #[test] fn a() {} }\n",
            "#[cfg(test)]\nmod tests { #[ignore]\n#[test] fn a() {} }\n",
        ],
    );
    assert_eq!(
        state(
            RS,
            "#[test]\n#[cfg(all(test, feature = \"x\"))]\nfn a() {}\n",
            "a"
        ),
        "built only under #[cfg(all(test, feature=\"x\"))] at 2"
    );
}

#[test]
fn what_is_no_test_is_no_item() {
    for text in [
        "fn a() {}\n",
        "fn b() { #[test] fn a() {} }\n",
        "// #[test] fn a() {}\n",
        "const X: &str = \"#[test] fn a() {}\";\n",
        "macro_rules! m { () => { #[test] fn a() {} } }\n",
        "proptest! { fn a(x in b()) {} }\n",
        "impl X { #[test] fn a() {} }\n",
        "mod m { #[test] fn a() {} }\n",
    ] {
        assert_eq!(state(RS, text, "a"), "nothing", "{text}");
    }
    assert_eq!(state(RS, "make_tests! { a: 1, b: 2 }\n", "a"), "computed");
    assert_eq!(state(RS, "make_tests! { b: 2 }\n", "a"), "nothing");
    let cases = "#[rstest]\n#[case(1)]\nfn a(#[case] x: u8) {}\n";
    assert_eq!(state(RS, cases, "a::case_1"), "computed");
}

#[test]
fn generators_and_seeds_are_seen() {
    for (text, generator, seed) in [
        ("#[test]\nfn a() {}\n", None, None),
        (
            "proptest! { #[test] fn a(x in b()) {} }\n",
            Some(Generator::Proptest),
            None,
        ),
        (
            "#[test]\nfn a() { proptest!(|(x in b())| { }); }\n",
            Some(Generator::Proptest),
            None,
        ),
        (
            "#[test]\nfn a() { TestRunner::default().run(&s, f); }\n",
            Some(Generator::Proptest),
            None,
        ),
        (
            "#[proptest]\nfn a(x: u8) {}\n",
            Some(Generator::Proptest),
            None,
        ),
        (
            "quickcheck! { fn a(x: u8) -> bool { true } }\n",
            Some(Generator::Quickcheck),
            None,
        ),
        (
            "#[test]\nfn a() { quickcheck(p as fn(u8) -> bool); }\n",
            Some(Generator::Quickcheck),
            None,
        ),
        (
            "proptest! {\n#![proptest_config(Config { rng_seed: RngSeed::Fixed(4), ..d() })]\n#[test] fn a(x in b()) {} }\n",
            Some(Generator::Proptest),
            Some(2),
        ),
        (
            "#[test]\nfn a() {\n    let r = StdRng::seed_from_u64(42);\n}\n",
            None,
            Some(3),
        ),
        (
            "#[test]\nfn a() {\n    let r = StdRng::seed_from_u64(seed);\n}\n",
            None,
            None,
        ),
    ] {
        let found = item(RS, text, "a");
        assert_eq!((found.generator, found.seed), (generator, seed), "{text}");
    }
}

const FILE: &str = "\
use std::fmt;

/// Production.
pub fn keep() -> u8 { 3 }

impl Thing {
    pub fn new() -> Self { Self }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper() -> u8 { 3 }

    #[test]
    fn a() {
        assert_eq!(keep(), helper());
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn p(x in 0..3u8) { prop_assert!(x < 3); }
    }
}
";

#[test]
fn production_is_what_is_left_without_tests() {
    let rest = facts(RS, FILE).rest;
    for same in [
        FILE.replace(
            "    #[test]\n    fn a()",
            "    #[test]\n    fn b() {}\n\n    #[test]\n    fn a()",
        ),
        FILE.replace("fn helper() -> u8 { 3 }", "fn helper() -> u8 { 4 }"),
        FILE.replace(
            "pub fn new() -> Self { Self }",
            "pub fn new() -> Self { Self }\n    #[cfg(test)]\n    fn probe(&self) {}",
        ),
        FILE.replace("impl Thing", "\n\n#[test]\nfn inline() {}\n\nimpl Thing"),
        FILE.replace("#[cfg(test)]\nmod", "// The tests.\n#[cfg(test)]\nmod"),
        FILE.replace(
            "use std::fmt;\n",
            "use std::fmt;\n#[cfg(test)]\nuse std::collections::HashMap;\n",
        ),
        FILE[..FILE.find("#[cfg(test)]").expect("a test module")].to_owned(),
    ] {
        assert_eq!(facts(RS, &same).rest, rest, "{same}");
    }
    for other in [
        FILE.replace("{ 3 }\n\nimpl", "{ 4 }\n\nimpl"),
        FILE.replace("/// Production.\npub", "/// Production.\n#[cfg(test)]\npub"),
        FILE.replace("    pub fn new", "    #[cfg(test)]\n    pub fn new"),
        FILE.replace("use std::fmt;", "use std::io;"),
        FILE.replace("#[cfg(test)]\nmod tests", "mod tests"),
        FILE.replace(
            "#[cfg(test)]\nmod tests",
            "#[cfg(any(test, feature = \"x\"))]\nmod tests",
        ),
        FILE.replace("impl Thing", "#[contest]\nfn more() {}\nimpl Thing"),
        format!("#![cfg(unix)]\n{FILE}"),
    ] {
        assert_ne!(facts(RS, &other).rest, rest, "{other}");
    }
}

#[test]
fn a_test_in_a_test_module_stands_in_that_module_alone() {
    let before = item(RS, FILE, "tests::a");
    for same in [
        FILE.replace("{ 3 }\n\nimpl", "{ 4 }\n\nimpl"),
        FILE.replace(
            "    #[test]\n    fn a()",
            "    #[test]\n    fn b() {}\n\n    #[test]\n    fn a()",
        ),
        FILE.replace("x < 3", "true"),
        format!("{FILE}\n#[cfg(test)]\nmod more {{ #[test] fn a() {{}} }}\n"),
    ] {
        let after = item(RS, &same, "tests::a");
        assert_eq!(
            (&before.text, &before.context),
            (&after.text, &after.context),
            "{same}"
        );
    }
    for other in [
        FILE.replace("fn helper() -> u8 { 3 }", "fn helper() -> u8 { keep() }"),
        FILE.replace("use super::*;", "use super::other::*;"),
    ] {
        assert_ne!(
            before.context,
            item(RS, &other, "tests::a").context,
            "{other}"
        );
    }
    let config = FILE.replace("config()", "no_cases()");
    assert_ne!(
        item(RS, FILE, "tests::p").context,
        item(RS, &config, "tests::p").context
    );
    assert_eq!(before.context, item(RS, &config, "tests::a").context);
}

#[test]
fn an_integration_test_stands_in_its_file() {
    let text = "mod common;\nfn helper() -> u8 { 3 }\n#[test]\nfn a() { helper(); }\n";
    let before = item(RS, text, "a").context;
    let changed = text.replace("{ 3 }", "{ 4 }");
    assert_ne!(before, item(RS, &changed, "a").context);
    let more = format!("{text}\n#[test]\nfn b() {{}}\nmod group {{ #[test] fn c() {{}} }}\n");
    assert_eq!(before, item(RS, &more, "a").context);
}

#[test]
fn a_renamed_test_keeps_its_shape() {
    let renamed = FILE.replace("fn p(", "fn renamed(");
    assert_eq!(
        item(RS, FILE, "tests::p").shape,
        item(RS, &renamed, "tests::renamed").shape
    );
}

#[test]
fn modules_and_paths_are_imports() {
    let text = "\
use super::{common, strategies::*};
use crate::a::b as c;
mod used;
mod listed;
#[path = \"../shared.rs\"]
mod shared;
#[cfg(test)]
mod arb;
include!(\"gen.rs\");
fn f() { used::g(); shared::h(); proptest!(|(x in crate::z::any())| {}); }
";
    let found: Vec<String> = facts(RS, text)
        .imports
        .into_iter()
        .map(|i| format!("{} {}", i.target, i.names.join(",")))
        .collect();
    for expected in [
        "super common",
        "super::strategies ",
        "crate::a b",
        "mod used ",
        "mod shared ",
        "\"../shared.rs\" ",
        "mod arb ",
        "\"gen.rs\" ",
        "used g",
        "crate::z any",
    ] {
        assert!(
            found.iter().any(|own| own == expected),
            "{expected:?} in {found:#?}"
        );
    }
    assert!(!found.iter().any(|own| own == "mod listed "), "{found:#?}");
}
