//! Every row of the verdict table (protocol 5.3).

use super::scene::*;
use crate::model::*;

#[test]
fn production_with_matching_fixtures_and_a_live_property_passes() {
    let decision = Scene::production().expect(Verdict::Pass);
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 7,
            rule: None
        }
    );
    assert_eq!(decision.coverage.len(), 1);
    assert_eq!(decision.coverage[0].live, 2);
    assert_eq!(decision.table[2].detail, "1 of 1 match");
}

#[test]
fn production_with_a_mismatch_is_refused_whoever_changed_the_fixture() {
    let decision = Scene::production()
        .on_both(FIXTURE, "[]")
        .expect(Verdict::Refuse);
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 3,
            rule: Some(Rule::DigestMismatch)
        }
    );
    assert!(
        decision
            .message_of(Rule::DigestMismatch)
            .contains("not this patch")
    );
}

#[test]
fn production_whose_covering_tests_are_all_frozen_is_refused() {
    let rows = [freeze(ROUNDTRIP, &[]), freeze(UNKNOWN, &[])];
    let decision = Scene::production().freezing(&rows).expect(Verdict::Refuse);
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 5,
            rule: Some(Rule::CoverageHole)
        }
    );
    assert!(
        decision.coverage[0]
            .properties
            .iter()
            .all(|p| p.state == PropertyState::Frozen)
    );
    assert!(
        decision
            .freezes
            .iter()
            .flatten()
            .all(|row| row.touches_patch)
    );
}

#[test]
fn production_whose_covering_test_is_a_ghost_is_refused() {
    let decision = Scene::production()
        .mapping(&[rule(PARSE, &["tests/properties/test_gone.py::test_x"])])
        .expect(Verdict::Refuse);
    assert_eq!(decision.decided_by.rule, Some(Rule::CoverageHole));
    assert_eq!(
        decision.of_rule(Rule::GhostProperty),
        [(Effect::Notice, Some(MAP))]
    );
}

#[test]
fn production_that_is_not_in_the_map_is_refused() {
    let decision = Scene::production()
        .change("src/other.py", "x")
        .expect(Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::UnmappedPath),
        [(Effect::Refuse, Some("src/other.py"))]
    );
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 5,
            rule: Some(Rule::UnmappedPath)
        }
    );
}

#[test]
fn a_deleted_production_path_needs_a_rule_and_a_live_property_too() {
    Scene::quiet()
        .remove(PARSE)
        .change("src/keep.py", "x")
        .expect(Verdict::Refuse);
    let decision = Scene::quiet()
        .on_base_only("src/old.py", "x")
        .expect(Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::UnmappedPath),
        [(Effect::Refuse, Some("src/old.py"))]
    );
}

#[test]
fn production_with_fixtures_or_properties_is_refused() {
    let lock = lock_of(&[(FIXTURE, "[]")]);
    Scene::production()
        .change(FIXTURE, "[]")
        .on_both(LOCK, &lock)
        .expect(Verdict::Refuse);
    let decision = Scene::production()
        .change(PROPERTY_FILE, "pass")
        .expect(Verdict::Refuse);
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 1,
            rule: Some(Rule::TestsWithProduction)
        }
    );
}

#[test]
fn production_with_contract_is_refused() {
    for path in [
        CONFIG,
        LOCK,
        FREEZES,
        MAP,
        "tests/seed_freeze.json",
        "frozen_tests.txt",
    ] {
        let text = match path {
            CONFIG => "version: 1\n".to_owned(),
            LOCK => lock_of(&[(FIXTURE, "{}")]) + "\n",
            FREEZES => freezes_of(&[freeze(UNKNOWN, &[])]),
            MAP => map_of(&[rule("src/", &[UNKNOWN])]),
            _ => "{}".to_owned(),
        };
        let decision = Scene::production()
            .change(path, &text)
            .expect(Verdict::Refuse);
        assert_eq!(
            decision.of_rule(Rule::ContractWithProduction),
            [(Effect::Refuse, Some(path))]
        );
    }
}

#[test]
fn rows_that_a_person_adds_to_the_freeze_list_alone_are_allowed_and_the_holes_listed() {
    let kept = freeze("tests/test_other.py::test_x", &[]);
    let added = [freeze(ROUNDTRIP, &[]), kept.clone(), freeze(UNKNOWN, &[])];
    let scene = Scene::quiet()
        .person()
        .on_both("tests/test_other.py", "def test_x(): ...")
        .freezing(std::slice::from_ref(&kept))
        .change(FREEZES, &freezes_of(&added));
    let decision = scene.clone().expect(Verdict::AllowRecheck);
    assert_eq!(
        decision.of_rule(Rule::CoverageHole),
        [(Effect::Notice, Some(PARSE))]
    );
    assert_eq!(
        decision.coverage.len(),
        1,
        "the hole is shown before it lands"
    );

    let mut by_an_agent = scene.clone();
    by_an_agent.author = AuthorKind::Agent;
    by_an_agent.expect(Verdict::HumanReview);
    scene
        .clone()
        .change("README.md", "x")
        .expect(Verdict::HumanReview);
    scene
        .clone()
        .change(FREEZES, &freezes_of(&[freeze(UNKNOWN, &[])]))
        .expect(Verdict::HumanReview);
    let mut closed = kept;
    closed["frozen"] = false.into();
    scene
        .change(FREEZES, &freezes_of(&[closed]))
        .expect(Verdict::HumanReview);
}

#[test]
fn a_freeze_list_that_could_not_be_read_on_the_base_is_no_such_case() {
    let decision = Scene::quiet()
        .person()
        .on_both(FREEZES, "{")
        .change(FREEZES, &freezes_of(&[]))
        .expect(Verdict::HumanReview);
    assert_eq!(
        decision.of_rule(Rule::ContractUnreadable),
        [(Effect::Notice, Some(FREEZES))]
    );
}

#[test]
fn another_contract_change_needs_a_person() {
    let map = map_of(&[rule(PARSE, &[ROUNDTRIP])]);
    let decision = Scene::quiet()
        .change(MAP, &map)
        .expect(Verdict::HumanReview);
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 1,
            rule: Some(Rule::ContractChanged)
        }
    );
}

#[test]
fn fixtures_with_the_lock_that_matches_them_need_a_person() {
    let lock = lock_of(&[(FIXTURE, "[]")]);
    Scene::quiet()
        .change(FIXTURE, "[]")
        .change(LOCK, &lock)
        .expect(Verdict::HumanReview);
}

#[test]
fn a_lock_that_does_not_match_the_merged_tree_is_refused() {
    let lock = lock_of(&[(FIXTURE, "[]")]);
    let decision = Scene::quiet().change(LOCK, &lock).expect(Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::DigestMismatch),
        [(Effect::Refuse, Some(FIXTURE))]
    );
}

#[test]
fn fixtures_without_their_lock_are_refused() {
    let decision = Scene::quiet().change(FIXTURE, "[]").expect(Verdict::Refuse);
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 3,
            rule: Some(Rule::DigestMismatch)
        }
    );
}

#[test]
fn properties_and_an_agents_harness_or_goldens_need_a_person() {
    for path in [
        PROPERTY_FILE,
        "conftest.py",
        "Cargo.lock",
        "src/__snapshots__/a.snap",
    ] {
        Scene::quiet()
            .change(path, "new")
            .expect(Verdict::HumanReview);
    }
}

#[test]
fn plain_tests_docs_and_other_only_pass() {
    let decision = Scene::quiet()
        .change("tests/test_plain.py", "x")
        .change("README.md", "x")
        .change("docs/behavior/x.md", "x")
        .change("data/table.csv", "x")
        .expect(Verdict::Pass);
    assert_eq!(decision.of_rule(Rule::TestChanged).len(), 1);
}

#[test]
fn an_empty_write_set_passes() {
    Scene::quiet().expect(Verdict::Pass);
}

#[test]
fn a_repository_that_has_not_opted_in_is_not_applicable_and_findings_keep_their_effect() {
    let mut scene = Scene::production()
        .change(MAP, "{")
        .change(LOCK, &lock_of(&[]));
    scene.opted_in = false;
    for path in [LOCK, FREEZES, MAP] {
        scene = scene.clone().on_base_only(path, "x").remove_on_both(path);
    }
    let decision = scene.change(MAP, "{").expect(Verdict::NotApplicable);
    assert!(
        decision
            .of_rule(Rule::ContractUnreadable)
            .contains(&(Effect::Refuse, Some(MAP)))
    );
    assert_eq!(
        decision.decided_by,
        DecidedBy {
            step: 7,
            rule: None
        }
    );
}

#[test]
fn observe_changes_no_verdict() {
    let decision = Scene::production()
        .config("mode: observe\n")
        .change("src/other.py", "x")
        .expect(Verdict::Refuse);
    assert!(decision.observe);
}

#[test]
fn a_patch_to_a_repository_that_has_not_opted_in_is_told_of_nothing_missing() {
    let mut scene = Scene::production();
    scene.opted_in = false;
    for path in [LOCK, FREEZES, MAP] {
        scene = scene.remove_on_both(path);
    }
    let decision = scene.clone().expect(Verdict::NotApplicable);
    assert_eq!(decision.of_rule(Rule::ContractUnreadable), []);

    let opting_in = scene
        .change(LOCK, &lock_of(&[(FIXTURE, "{}")]))
        .change(FREEZES, &freezes_of(&[]));
    let decision = opting_in.clone().expect(Verdict::NotApplicable);
    assert_eq!(
        decision.of_rule(Rule::ContractUnreadable),
        [(Effect::Refuse, Some(MAP))],
        "a patch that opts in brings all of it"
    );
    let whole = opting_in.change(MAP, &map_of(&[rule(PARSE, &[ROUNDTRIP])]));
    let decision = whole.expect(Verdict::NotApplicable);
    assert_eq!(decision.of_rule(Rule::ContractUnreadable), []);
    assert_eq!(decision.table[2].detail, "1 of 1 match");
}

/// Nothing of a contract on the base; the patch brings all of it, with globs of its own.
fn bringing_a_contract(paths: &str) -> Scene {
    let mut scene = Scene::quiet();
    for path in [LOCK, FREEZES, MAP] {
        scene = scene.remove_on_both(path);
    }
    scene
        .on_both("checks/inv_parse.py", "def inv(): ...")
        .change(CONFIG, &format!("paths: {paths}\n"))
        .change(LOCK, &lock_of(&[(FIXTURE, "{}")]))
        .change(FREEZES, &freezes_of(&[]))
        .change(MAP, &map_of(&[rule(PARSE, &["checks/inv_parse.py::inv"])]))
}

#[test]
fn a_patch_that_opts_in_is_shown_by_the_globs_that_it_proposes() {
    let mut scene = bringing_a_contract("{properties: [checks/**]}");
    scene.opted_in = false;
    let decision = scene.expect(Verdict::NotApplicable);
    assert_eq!(decision.of_rule(Rule::DeadPrefix), []);
    assert_eq!(decision.of_rule(Rule::CoverageHole), []);
}

#[test]
fn proposed_globs_have_no_say_where_the_default_branch_has_opted_in() {
    let scene =
        bringing_a_contract("{production: [none/**]}").change(PARSE, "def parse(): return 1");
    let decision = scene.expect(Verdict::Refuse);
    assert!(
        !decision.of_rule(Rule::ContractWithProduction).is_empty(),
        "{:?}",
        decision.findings
    );
}
