//! Whom the gate binds (protocol 5.4), and what the configuration may change.

use super::scene::*;
use crate::model::*;

#[test]
fn for_a_person_under_apply_to_agents_only_consistency_binds() {
    let decision = Scene::production()
        .person()
        .change("src/other.py", "x")
        .change(PROPERTY_FILE, "x")
        .expect(Verdict::Pass);
    assert!(!decision.bound);
    assert_eq!(
        decision.of_rule(Rule::UnmappedPath),
        [(Effect::Notice, Some("src/other.py"))]
    );
    assert_eq!(
        decision.of_rule(Rule::TestsWithProduction),
        [(Effect::Notice, Some(PROPERTY_FILE))]
    );

    Scene::production()
        .person()
        .change(FIXTURE, "[]")
        .expect(Verdict::Refuse);
    Scene::production()
        .person()
        .change(MAP, "{")
        .expect(Verdict::Refuse);
    Scene::quiet()
        .person()
        .change(MAP, &map_of(&[]))
        .expect(Verdict::HumanReview);
}

#[test]
fn a_persons_contract_change_with_production_is_judged_by_the_merged_trees_contract() {
    let lock = lock_of(&[(FIXTURE, "[]")]);
    let decision = Scene::production()
        .person()
        .change(FIXTURE, "[]")
        .change(LOCK, &lock)
        .expect(Verdict::HumanReview);
    assert_eq!(decision.decided_by.rule, Some(Rule::ContractChanged));
}

#[test]
fn an_agents_contract_change_with_production_is_judged_by_the_base_tips_contract() {
    let decision = Scene::production()
        .change(FIXTURE, "[]")
        .change(LOCK, &lock_of(&[(FIXTURE, "[]")]))
        .expect(Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::DigestMismatch),
        [(Effect::Refuse, Some(FIXTURE))]
    );
}

#[test]
fn under_apply_to_all_everything_binds_a_person() {
    let decision = Scene::production()
        .config("apply_to: all\n")
        .person()
        .change("src/other.py", "x")
        .expect(Verdict::Refuse);
    assert!(decision.bound);
}

#[test]
fn harness_golden_and_test_rules_are_about_agents_even_under_apply_to_all() {
    Scene::quiet()
        .config("apply_to: all\n")
        .person()
        .change("conftest.py", "x")
        .change("tests/data/a.json", "x")
        .expect(Verdict::Pass);
}

#[test]
fn a_rules_effect_may_be_made_stronger_and_a_marked_one_weaker() {
    let harness = Scene::quiet().change("Makefile", "all:");
    harness
        .clone()
        .config("rules: {harness-changed: refuse}\n")
        .expect(Verdict::Refuse);
    harness
        .config("rules: {harness-changed: notice}\n")
        .expect(Verdict::Pass);
    Scene::production()
        .change("src/other.py", "x")
        .config("rules: {unmapped-path: human_review}\n")
        .expect(Verdict::HumanReview);
    Scene::quiet()
        .change("tests/test_plain.py", "x")
        .config("rules: {test-changed: human_review}\n")
        .expect(Verdict::HumanReview);
}

#[test]
fn a_layer_that_is_off_is_not_evaluated_and_its_file_is_still_guarded() {
    let scene = Scene::production()
        .config("contract: {map: off, lock: off}\n")
        .on_both(FIXTURE, "[]");
    let decision = scene
        .clone()
        .change("src/other.py", "x")
        .expect(Verdict::Pass);
    assert_eq!(decision.table[2].result, StepResult::Off);
    assert_eq!(decision.table[4].result, StepResult::Off);
    assert_eq!(decision.table[4].detail, "off by configuration");
    scene.change(MAP, "anything").expect(Verdict::Refuse);
}

#[test]
fn the_patchs_own_configuration_has_no_say() {
    Scene::production()
        .change(
            CONFIG,
            "mode: observe\napply_to: agents\ncontract: {map: off}\n",
        )
        .change("src/other.py", "x")
        .expect(Verdict::Refuse);
}

#[test]
fn several_fixture_roots_have_keys_from_the_repository_root() {
    let digest = crate::digest::blob(b"{}").sha256.to_string();
    let lock = serde_json::json!({
        "fixtures_root": ["data/in", "tests/fixtures"],
        "files": {"data/in/a": digest, FIXTURE: digest},
    });
    let scene = Scene::production()
        .on_both(LOCK, &lock.to_string())
        .on_both("data/in/a", "{}");
    let decision = scene.clone().expect(Verdict::Pass);
    assert_eq!(decision.table[2].detail, "2 of 2 match");
    scene.on_both("data/in/b", "{}").expect(Verdict::Refuse);
}

#[test]
fn a_rule_with_min_live_counts_its_own_distinct_functions() {
    let row = |min: u64, ids: &[&str]| {
        let mut row = rule(PARSE, ids);
        row["min_live"] = min.into();
        row
    };
    let (a, b) = (format!("{ROUNDTRIP}[1]"), format!("{ROUNDTRIP}[2]"));
    Scene::production()
        .mapping(&[row(2, &[ROUNDTRIP, UNKNOWN])])
        .expect(Verdict::Pass);
    Scene::production()
        .mapping(&[row(2, &[&a, &b])])
        .expect(Verdict::Refuse);
    Scene::production()
        .mapping(&[row(2, &[ROUNDTRIP]), rule("src/", &[UNKNOWN])])
        .expect(Verdict::Refuse);
}

#[test]
fn an_inline_property_counts_while_its_text_is_outside_the_write_set() {
    let text = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn roundtrip() { checks(); }\n}\n";
    let scene = Scene::production()
        .config("paths: {inline_properties: ['src/inline.rs']}\n")
        .on_both("src/inline.rs", text)
        .mapping(&[rule("src/", &["src/inline.rs::tests::roundtrip"])]);
    scene.clone().expect(Verdict::Pass);
    let weaker = text.replace("checks();", "");
    let decision = scene
        .change("src/inline.rs", &weaker)
        .expect(Verdict::Refuse);
    assert_eq!(
        decision.coverage[0].properties[0].state,
        PropertyState::Local
    );
}

#[test]
fn a_property_is_local_when_a_conftest_above_it_changes() {
    for conftest in [
        "conftest.py",
        "tests/conftest.py",
        "tests/properties/conftest.py",
    ] {
        let decision = Scene::production()
            .change(conftest, "x")
            .expect(Verdict::Refuse);
        assert!(
            !decision.of_rule(Rule::CoverageHole).is_empty(),
            "{conftest}"
        );
    }
    Scene::production()
        .change("tools/conftest.py", "x")
        .expect(Verdict::HumanReview);
}

#[test]
fn an_lfs_pointer_stands_for_its_oid_only_under_its_attribute() {
    let real = crate::digest::blob(b"real bytes").sha256;
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{real}\nsize 10\n");
    let lock = serde_json::json!({"fixtures_root": "tests/fixtures", "files": {"ok.json": real}});
    let mut scene = Scene::production()
        .on_both(FIXTURE, &pointer)
        .on_both(LOCK, &lock.to_string());
    scene.clone().expect(Verdict::Refuse);
    scene.lfs = true;
    scene.expect(Verdict::Pass);
}

#[test]
fn a_mismatch_of_line_endings_only_is_a_mismatch_and_says_so() {
    let decision = Scene::production()
        .on_both(FIXTURE, "a\r\nb\r\n")
        .on_both(LOCK, &lock_of(&[(FIXTURE, "a\nb\n")]))
        .expect(Verdict::Refuse);
    assert!(
        decision
            .message_of(Rule::DigestMismatch)
            .contains("only line endings differ")
    );
}
