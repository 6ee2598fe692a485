use super::*;
use crate::contract::map::MapRule;

fn map(prefixes: &[&str]) -> HunkMap {
    HunkMap {
        rules: prefixes
            .iter()
            .map(|prefix| MapRule {
                path_prefix: (*prefix).to_owned(),
                live_properties: Vec::new(),
                min_live: None,
                line: 1,
            })
            .collect(),
    }
}

fn class_of(config: &RepoConfig, prefixes: &[&str], path: &str) -> Class {
    let map = map(prefixes);
    Classifier::new(config, vec!["tests/fixtures".to_owned()], Some(&map)).classify(path)
}

#[test]
fn languages_are_sorted_for_the_search() {
    assert!(LANGUAGES.is_sorted());
    assert!(is_code("a/B.PY") && is_code("x.tsx") && !is_code("x.json") && !is_code(".py"));
}

#[test]
fn every_built_in_glob_compiles() {
    for list in [
        PROPERTIES,
        HARNESS,
        GOLDEN,
        TESTS_BY_NAME,
        PRODUCTION,
        NOTES,
        TEST_DIRS,
    ] {
        GlobList::new(list.iter().copied()).expect("built-in globs are globs");
    }
}

#[test]
fn the_first_class_that_matches_wins() {
    let config = RepoConfig::default();
    let cases = [
        ("test/contract/hunk-map.json", Class::Contract),
        (".github/frostline.yml", Class::Contract),
        ("frozen_tests.txt", Class::Contract),
        ("tests/seed_freeze.json", Class::Contract),
        ("tests/fixtures/records/ok.json", Class::Fixture),
        ("tests/fixtures/conftest.py", Class::Fixture),
        ("tests/fixtures", Class::Fixture),
        ("tests/fixtures2/a.json", Class::Golden),
        ("tests/properties/test_a.py", Class::Property),
        ("tests/properties/conftest.py", Class::Property),
        ("conftest.py", Class::Harness),
        ("src/mypkg/conftest.py", Class::Harness),
        ("crates/a/Cargo.toml", Class::Harness),
        ("crates/a/build.rs", Class::Harness),
        ("web/package-lock.json", Class::Harness),
        (".github/workflows/ci.yml", Class::Harness),
        ("sub/pytest.ini", Class::Other),
        ("src/__snapshots__/a.snap", Class::Golden),
        ("pkg/x/testdata/in.txt", Class::Golden),
        ("tests/data/case.json", Class::Golden),
        ("tests/data/LICENCE", Class::Golden),
        ("tests/README.md", Class::Test),
        ("src/a_test.go", Class::Test),
        ("src/app.test.ts", Class::Test),
        ("src/tests.rs", Class::Test),
        ("src/mypkg/parse.py", Class::Production),
        ("src/README.md", Class::Other),
        ("crates/p/src/lex.rs", Class::Production),
        ("crates/p/benches/lex.rs", Class::Other),
        ("apps/web/page.tsx", Class::Production),
        ("docs/behavior/ranges.md", Class::Note),
        ("tests/helpers.py", Class::Test),
        ("tests/it/main.rs", Class::Test),
        ("tools/build.sh", Class::Other),
        ("README.md", Class::Other),
    ];
    for (path, class) in cases {
        assert_eq!(class_of(&config, &[], path), class, "{path}");
    }
}

#[test]
fn a_map_rule_makes_production_of_what_it_matches_prose_too() {
    let config = RepoConfig::default();
    assert_eq!(
        class_of(&config, &["prompts/"], "prompts/system.md"),
        Class::Production
    );
    assert_eq!(
        class_of(&config, &["tests/"], "tests/fixtures/a"),
        Class::Fixture
    );
}

#[test]
fn configured_globs_add_and_a_bang_removes() {
    let mut config = RepoConfig::default();
    config.paths.properties = vec!["props/**".to_owned(), "!props/old/**".to_owned()];
    config.paths.harness = vec!["!Makefile".to_owned()];
    assert_eq!(class_of(&config, &[], "props/test_a.py"), Class::Property);
    assert_eq!(
        class_of(&config, &[], "tests/properties/test_a.py"),
        Class::Property
    );
    assert_eq!(class_of(&config, &[], "props/old/x.toml"), Class::Other);
    assert_eq!(class_of(&config, &[], "Makefile"), Class::Other);
}

#[test]
fn configured_production_replaces_the_default() {
    let mut config = RepoConfig::default();
    config.paths.production = vec!["!engine/gen/**".to_owned(), "engine/**".to_owned()];
    assert_eq!(class_of(&config, &[], "engine/a.py"), Class::Production);
    assert_eq!(class_of(&config, &[], "engine/notes.md"), Class::Production);
    assert_eq!(class_of(&config, &[], "engine/gen/a.py"), Class::Other);
    assert_eq!(class_of(&config, &[], "src/a.py"), Class::Other);
}

#[test]
fn a_moved_layer_frees_its_default_path_and_an_off_one_does_not() {
    use crate::config::repo::LayerSetting;
    let mut config = RepoConfig::default();
    let moved = LayerSetting::Path("contract/map.json".to_owned());
    config.contract.insert(Layer::Map, moved);
    config.contract.insert(Layer::Freezes, LayerSetting::Off);
    assert_eq!(class_of(&config, &[], "contract/map.json"), Class::Contract);
    assert_eq!(
        class_of(&config, &[], "test/contract/hunk-map.json"),
        Class::Golden
    );
    assert_eq!(
        class_of(&config, &[], "test/contract/flake-freeze.json"),
        Class::Contract
    );
}
