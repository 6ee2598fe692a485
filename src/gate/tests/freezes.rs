//! Rows that are bound to an input: their states, what moves them, and what follows (protocol 3.3, 3.5–3.8).

use serde_json::{Value, json};

use super::scene::*;
use crate::digest;
use crate::model::*;

const LEDGER: &str = "tests/seed_freeze.json";
const CATALOG: &str = "test/contract/properties.json";
const EVIDENCE: &str = "test/contract/evidence.jsonl";
const FROZEN_TESTS: &str = "frozen_tests.txt";
const OTHER: &str = "tests/fixtures/b/other.json";

fn manifest(files: &[(&str, &str)]) -> String {
    let digests: Vec<FileDigest> = files
        .iter()
        .map(|(_, content)| digest::blob(content.as_bytes()).sha256)
        .collect();
    let paths = files.iter().map(|(path, _)| path.as_bytes());
    digest::manifest(paths.zip(&digests))
}

/// Of the quiet scene's only fixture.
fn quiet() -> String {
    manifest(&[(FIXTURE, "{}")])
}

fn row(digest: &str) -> Value {
    json!({"nodeid": ROUNDTRIP, "seed": 7, "fixture_digest": digest, "reason": "CLOCK",
        "replay": format!("pytest {ROUNDTRIP} --hypothesis-seed=7"), "opened_at": "2026-11-01T00:00:00Z",
        "expires_at": null, "status": "open", "owner": "@acme/parse"})
}

fn with(mut row: Value, key: &str, value: Value) -> Value {
    row[key] = value;
    row
}

fn ledger_of(rows: &[Value]) -> String {
    json!({"schema": "seed-freeze-v1", "entries": rows}).to_string()
}

fn catalog_of(rows: &[(&str, &str, &[&str])]) -> String {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(id, nodeid, fixtures)| json!({"property_id": id, "nodeid": nodeid, "fixtures": fixtures, "owner": "@cat"}))
        .collect();
    json!({"version": 1, "properties": rows}).to_string()
}

fn evidence_of(rows: &[(&str, &str)]) -> String {
    let row = |(digest, status): &(&str, &str)| {
        let row = json!({"schema": "frostline.evidence/1", "property_id": "p", "nodeid": ROUNDTRIP, "fixture_paths": [],
            "fixture_digest": digest, "seed": 1, "runs": 7, "passes": 5, "failures": 2, "signatures": [],
            "status": status, "reason": "CLOCK"});
        format!("{row}\n")
    };
    rows.iter().map(row).collect()
}

fn ledger(rows: &[Value]) -> Scene {
    Scene::production().on_both(LEDGER, &ledger_of(rows))
}

fn states(decision: &Decision) -> Vec<(FreezeState, &str)> {
    let rows = decision.freezes.iter().flatten();
    rows.map(|row| (row.state, row.why.as_str())).collect()
}

fn property<'d>(decision: &'d Decision, id: &str) -> &'d ListedProperty {
    let mut listed = decision
        .coverage
        .iter()
        .flat_map(|coverage| &coverage.properties);
    listed
        .find(|property| property.nodeid == id)
        .expect("a listed property")
}

#[track_caller]
fn is(scene: Scene, state: FreezeState, why: &str) -> Decision {
    let decision = scene.decide();
    let [(found, said)] = states(&decision)[..] else {
        panic!("one row: {:?}", decision.freezes);
    };
    assert_eq!(found, state, "{said}");
    assert!(said.contains(why), "{said}");
    let denied = property(&decision, ROUNDTRIP);
    let expected = match state.takes_vote() {
        true => PropertyState::Frozen,
        false => PropertyState::Void,
    };
    assert_eq!(
        denied.state, expected,
        "whatever it is worth, it gives no coverage: {}",
        denied.why
    );
    decision
}

#[test]
fn a_whole_row_of_the_ledger_takes_the_vote() {
    let decision = is(ledger(&[row(&quiet())]), FreezeState::Open, "");
    let found = &decision.freezes.as_ref().expect("rows")[0];
    assert_eq!(found.source, LEDGER);
    assert_eq!(found.recorded_digest, found.current_digest);
    assert_eq!(found.recorded_digest, Some(quiet()));
    assert!(found.touches_patch);
    assert_eq!(decision.of_rule(Rule::VoidFreeze), []);
    assert_eq!(decision.verdict, Verdict::Pass, "the other property covers");
}

#[test]
fn a_row_whose_digest_is_another_is_void_and_its_test_votes_again() {
    let other = manifest(&[(FIXTURE, "other")]);
    let decision = is(ledger(&[row(&other)]), FreezeState::Void, "not those");
    assert_eq!(
        decision.of_rule(Rule::VoidFreeze),
        [(Effect::Notice, Some(LEDGER))]
    );
    let finding = decision
        .findings
        .iter()
        .find(|finding| finding.rule == Rule::VoidFreeze);
    let finding = finding.expect("a void freeze");
    assert_eq!(finding.owner.as_deref(), Some("@acme/parse"));
    assert!(
        finding.message.contains(&other) && finding.message.contains(&quiet()),
        "{}",
        finding.message
    );
    assert!(finding.fix.contains("@acme/parse"), "{}", finding.fix);
}

#[test]
fn each_field_that_a_freeze_needs_makes_the_row_invalid_when_it_is_wrong() {
    let good = row(&quiet());
    let lacking = |key: &str| {
        let mut row = good.clone();
        row.as_object_mut().expect("an object").remove(key);
        row
    };
    for (row, why) in [
        (lacking("seed"), "`seed` is missing"),
        (lacking("fixture_digest"), "`fixture_digest` is missing"),
        (lacking("reason"), "`reason` is missing"),
        (lacking("replay"), "`replay` is missing"),
        (lacking("status"), "`status` is missing"),
        (
            with(good.clone(), "fixture_digest", json!("sha256:9c1e4b0a")),
            "only illustrates",
        ),
        (
            with(good.clone(), "fixture_digest", json!("md5:x")),
            "`fixture_digest`: expected",
        ),
        (
            with(good.clone(), "reason", json!("HASH")),
            "blocks a merge",
        ),
        (
            with(good.clone(), "reason", json!("SHRINK")),
            "blocks a merge",
        ),
        (
            with(good.clone(), "reason", json!("clock")),
            "none of ORDER, CLOCK and IO",
        ),
        (
            with(good.clone(), "replay", json!("make test")),
            "`replay`:",
        ),
        (with(good.clone(), "seed", json!(8)), "another seed"),
        (
            with(good.clone(), "status", json!("candidate")),
            "exempts nothing",
        ),
        (
            with(good.clone(), "status", json!("OPEN")),
            "none of open, candidate and closed",
        ),
        (
            with(good.clone(), "property_digest", json!("x")),
            "`property_digest`",
        ),
    ] {
        let decision = is(ledger(&[row]), FreezeState::Invalid, why);
        assert_eq!(
            decision.of_rule(Rule::InvalidFreeze),
            [(Effect::Notice, Some(LEDGER))]
        );
    }
}

#[test]
fn an_invalid_row_that_the_patch_adds_is_refused_and_one_that_was_there_is_told() {
    let bad = with(row(&quiet()), "reason", json!("SHRINK"));
    let added = Scene::quiet()
        .person()
        .change(LEDGER, &ledger_of(std::slice::from_ref(&bad)));
    let decision = added.expect(Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::InvalidFreeze),
        [(Effect::Refuse, Some(LEDGER))]
    );
    let kept = Scene::quiet()
        .person()
        .on_both(LEDGER, &ledger_of(std::slice::from_ref(&bad)))
        .change(LEDGER, &ledger_of(&[bad, row(&quiet())]));
    let decision = kept.expect(Verdict::HumanReview);
    assert_eq!(
        decision.of_rule(Rule::InvalidFreeze),
        [(Effect::Notice, Some(LEDGER))]
    );
}

#[test]
fn the_scopes_of_the_properties_that_a_patch_needs_are_shown() {
    let decision = Scene::production().change(FIXTURE, "[]").decide();
    let shown: Vec<(&str, Option<String>, Option<String>)> = decision
        .fixtures
        .iter()
        .map(|found| {
            (
                found.nodeid.as_str(),
                found.before.clone(),
                found.after.clone(),
            )
        })
        .collect();
    let after = Some(manifest(&[(FIXTURE, "[]")]));
    assert_eq!(
        shown,
        [
            (ROUNDTRIP, Some(quiet()), after.clone()),
            (UNKNOWN, Some(quiet()), after)
        ]
    );
}

#[test]
fn a_closed_row_is_as_if_it_were_not_there() {
    let decision = ledger(&[with(row("x"), "status", json!("closed"))]).expect(Verdict::Pass);
    assert_eq!(states(&decision), []);
    assert_eq!(property(&decision, ROUNDTRIP).state, PropertyState::Live);
}

#[test]
fn from_the_very_second_of_expiry_on_a_row_is_void_by_date() {
    // The scene's time is 2026-11-30T12:00:00Z.
    for (at, state) in [
        ("2026-11-30T12:00:01Z", FreezeState::Open),
        ("2026-11-30T12:00:00.001Z", FreezeState::Open),
        ("2026-11-30T12:00:00Z", FreezeState::Expired),
        ("2026-11-30T13:00:00+01:00", FreezeState::Expired),
        ("2026-11-30T11:59:59Z", FreezeState::Expired),
    ] {
        let decision = is(
            ledger(&[with(row(&quiet()), "expires_at", json!(at))]),
            state,
            "",
        );
        let told = decision.of_rule(Rule::VoidFreeze).len();
        assert_eq!(told, usize::from(state == FreezeState::Expired), "{at}");
        let mut listed = freeze(ROUNDTRIP, &[]);
        listed["expires_at"] = json!(at);
        listed["fixture_digest"] = json!(quiet());
        is(Scene::production().freezing(&[listed]), state, "");
    }
}

#[test]
fn a_row_of_the_freeze_list_is_unbound_until_it_states_a_digest() {
    is(
        Scene::production().freezing(&[freeze(ROUNDTRIP, &[])]),
        FreezeState::Unbound,
        "",
    );
    for (key, value, state) in [
        ("fixture_digest", quiet(), FreezeState::Open),
        ("fixture_digest", manifest(&[]), FreezeState::Void),
        (
            "fixture_digest",
            "sha256:9c1e4b0a".to_owned(),
            FreezeState::Invalid,
        ),
        ("reason", "HASH".to_owned(), FreezeState::Invalid),
        ("replay", "rm -rf .".to_owned(), FreezeState::Invalid),
    ] {
        is(
            Scene::production().freezing(&[with(freeze(ROUNDTRIP, &[]), key, json!(value))]),
            state,
            "",
        );
    }
}

#[test]
fn a_fixture_edit_voids_exactly_the_freezes_whose_scope_holds_it() {
    let files = [("tests/fixtures/a/x.json", "x"), (OTHER, "y")];
    let scope = |path: &str, content: &str| manifest(&[(path, content)]);
    let catalog = catalog_of(&[
        ("a", ROUNDTRIP, &["tests/fixtures/a/**"]),
        ("b", UNKNOWN, &["tests/fixtures/b/*.json"]),
    ]);
    let of_b = with(row(&scope(OTHER, "y")), "nodeid", json!(UNKNOWN));
    let of_b = with(
        of_b,
        "replay",
        json!(format!("pytest {UNKNOWN} --hypothesis-seed=7")),
    );
    let base = Scene::quiet()
        .remove_on_both(FIXTURE)
        .on_both(files[0].0, files[0].1)
        .on_both(OTHER, "y")
        .on_both(LOCK, &lock_of(&files))
        .on_both(CATALOG, &catalog)
        .on_both(LEDGER, &ledger_of(&[row(&scope(files[0].0, "x")), of_b]));
    let both = |decision: &Decision| -> Vec<FreezeState> {
        states(decision).iter().map(|s| s.0).collect()
    };
    assert_eq!(both(&base.decide()), [FreezeState::Open, FreezeState::Open]);

    let changed = base.clone().change(OTHER, "z").decide();
    assert_eq!(
        states(&changed),
        [
            (FreezeState::Open, ""),
            (
                FreezeState::Void,
                "this patch changes the fixtures that it is about"
            )
        ]
    );
    let scopes: Vec<(&str, bool)> = changed
        .fixtures
        .iter()
        .map(|found| (found.nodeid.as_str(), found.before == found.after))
        .collect();
    assert_eq!(scopes, [(ROUNDTRIP, true), (UNKNOWN, false)]);
    assert_eq!(changed.fixtures[1].before, Some(scope(OTHER, "y")));
    assert_eq!(changed.fixtures[1].after, Some(scope(OTHER, "z")));

    let renamed = base
        .clone()
        .remove(OTHER)
        .change("tests/fixtures/b/new.json", "y");
    assert_eq!(
        both(&renamed.decide()),
        [FreezeState::Open, FreezeState::Void]
    );
    let deleted = base.clone().remove(OTHER);
    let decision = deleted.decide();
    assert_eq!(both(&decision), [FreezeState::Open, FreezeState::Void]);
    assert_eq!(
        decision.of_rule(Rule::CatalogBroken),
        [(Effect::Refuse, Some(CATALOG))]
    );
    let added = base.change("tests/fixtures/b/more.json", "y");
    assert_eq!(
        both(&added.decide()),
        [FreezeState::Open, FreezeState::Void]
    );
}

#[test]
fn a_fixture_that_two_scopes_share_voids_both() {
    let catalog = catalog_of(&[
        ("a", ROUNDTRIP, &["tests/fixtures/**"]),
        (
            "b",
            UNKNOWN,
            &["tests/fixtures/*.json", "tests/fixtures/ok.json"],
        ),
    ]);
    let of_b = with(row(&quiet()), "nodeid", json!(UNKNOWN));
    let of_b = with(
        of_b,
        "replay",
        json!(format!("pytest {UNKNOWN} --hypothesis-seed=7")),
    );
    let scene = Scene::quiet()
        .on_both(CATALOG, &catalog)
        .on_both(LEDGER, &ledger_of(&[row(&quiet()), of_b]));
    let all = |scene: Scene| -> Vec<FreezeState> {
        states(&scene.decide()).iter().map(|s| s.0).collect()
    };
    assert_eq!(all(scene.clone()), [FreezeState::Open, FreezeState::Open]);
    assert_eq!(
        all(scene.change(FIXTURE, "[]")),
        [FreezeState::Void, FreezeState::Void]
    );
}

#[test]
fn a_fixture_that_is_changed_back_makes_its_freeze_valid_again_and_that_is_told() {
    let scene = Scene::quiet()
        .on_both(FIXTURE, "[]")
        .on_both(LEDGER, &ledger_of(&[row(&quiet())]))
        .change(FIXTURE, "{}");
    let decision = scene.decide();
    assert_eq!(
        states(&decision),
        [(
            FreezeState::Open,
            "valid again: this patch brings back the fixtures that it is about"
        )]
    );
    assert_eq!(decision.of_rule(Rule::VoidFreeze), []);
    let row = &decision.freezes.as_ref().expect("rows")[0];
    assert!(row.touches_patch, "so that the check tells of it");
}

/// Why rows are written in the manifest form: the seed form takes these two trees for one, so that a freeze
/// stays valid on other fixtures.
#[test]
fn the_seed_form_is_read_and_takes_two_trees_for_one_where_the_manifest_does_not() {
    let one: &[(&str, &str)] = &[("tests/fixtures/a", "x\0b\0y")];
    let two: &[(&str, &str)] = &[("tests/fixtures/a", "x"), ("tests/fixtures/b", "y")];
    let tree = |files: &[(&str, &str)], digest: &str| {
        let mut scene = Scene::production()
            .remove_on_both(FIXTURE)
            .on_both(LOCK, &lock_of(files))
            .on_both(LEDGER, &ledger_of(&[row(digest)]));
        for (path, content) in files {
            scene = scene.on_both(path, content);
        }
        scene
    };
    let seed = digest::seed_form([(b"a".as_slice(), b"x\0b\0y".as_slice())]);
    is(tree(one, &seed), FreezeState::Open, "");
    is(tree(two, &seed), FreezeState::Open, "");
    is(tree(one, &manifest(one)), FreezeState::Open, "");
    is(tree(two, &manifest(one)), FreezeState::Void, "");
    let other = digest::seed_form([(b"a".as_slice(), b"z".as_slice())]);
    is(tree(one, &other), FreezeState::Void, "");
    let catalog = catalog_of(&[("p", ROUNDTRIP, &["tests/fixtures/a", "tests/fixtures/b"])]);
    let scattered = tree(two, &seed).on_both(CATALOG, &catalog);
    is(scattered, FreezeState::Void, "of one folder");
}

#[test]
fn a_scope_may_hold_files_outside_the_fixtures_root() {
    let golden = "tests/golden/out.txt";
    let catalog = catalog_of(&[("p", ROUNDTRIP, &[golden])]);
    let scene = ledger(&[row(&manifest(&[(golden, "1")]))])
        .on_both(golden, "1")
        .on_both(CATALOG, &catalog);
    is(scene.clone(), FreezeState::Open, "");
    is(
        scene.change(golden, "2"),
        FreezeState::Void,
        "this patch changes",
    );
}

#[test]
fn a_row_is_bound_to_the_identity_and_to_the_file_of_its_property() {
    let catalog = catalog_of(&[("parse.roundtrip", ROUNDTRIP, &["tests/fixtures/**"])]);
    let good = row(&quiet());
    for (id, state) in [
        ("parse.roundtrip", FreezeState::Open),
        ("parse.other", FreezeState::Invalid),
    ] {
        let scene =
            ledger(&[with(good.clone(), "property_id", json!(id))]).on_both(CATALOG, &catalog);
        is(scene, state, "");
    }
    let digest = digest::blob(b"def test_roundtrip(): ...").sha256;
    for text in [digest.to_string(), format!("sha256:{digest}")] {
        let scene = ledger(&[with(good.clone(), "property_digest", json!(text))]);
        is(scene.clone(), FreezeState::Open, "");
        let decision = scene
            .on_both(PROPERTY_FILE, "def test_roundtrip(): pass")
            .decide();
        assert_eq!(states(&decision)[0].0, FreezeState::Void);
    }
}

#[test]
fn a_catalogued_glob_without_a_file_is_refused_whoever_brings_the_patch() {
    let catalog = catalog_of(&[("p", ROUNDTRIP, &["tests/fixtures/**", "tests/gone/*.json"])]);
    let scene = Scene::production().on_both(CATALOG, &catalog);
    for scene in [scene.clone(), scene.person()] {
        let decision = scene.expect(Verdict::Refuse);
        assert_eq!(
            decision.of_rule(Rule::CatalogBroken),
            [(Effect::Refuse, Some(CATALOG))]
        );
        assert!(
            decision
                .message_of(Rule::CatalogBroken)
                .contains("tests/gone/*.json")
        );
    }
}

#[test]
fn evidence_freezes_only_as_the_last_row_of_its_property_and_the_current_digest() {
    let catalog = catalog_of(&[("p", ROUNDTRIP, &["tests/fixtures/**"])]);
    let now = quiet();
    let old = manifest(&[]);
    let scene = |rows: &[(&str, &str)]| {
        Scene::production()
            .on_both(CATALOG, &catalog)
            .on_both(EVIDENCE, &evidence_of(rows))
    };
    is(scene(&[(&now, "frozen")]), FreezeState::Open, "");
    is(
        scene(&[(&now, "merge-ok"), (&now, "frozen")]),
        FreezeState::Open,
        "",
    );
    is(scene(&[(&old, "frozen")]), FreezeState::Void, "");
    is(
        scene(&[(&old, "frozen"), (&now, "inconclusive")]),
        FreezeState::Void,
        "",
    );
    is(
        scene(&[(&old, "frozen"), (&now, "frozen")]),
        FreezeState::Open,
        "",
    );
    for rows in [
        &[(now.as_str(), "freeze-candidate")][..],
        &[(now.as_str(), "frozen"), (now.as_str(), "merge-ok")],
        &[(old.as_str(), "frozen"), (now.as_str(), "merge-ok")],
    ] {
        assert_eq!(states(&scene(rows).decide()), [], "{rows:?}");
    }
    let lacking = scene(&[]).on_both(
        EVIDENCE,
        &evidence_of(&[(&now, "frozen")]).replace("\"runs\":7,", ""),
    );
    is(lacking, FreezeState::Invalid, "`runs` is missing");
    let renamed = catalog_of(&[("q", ROUNDTRIP, &["tests/fixtures/**"])]);
    is(
        scene(&[(&now, "frozen")]).on_both(CATALOG, &renamed),
        FreezeState::Invalid,
        "calls its test \"q\"",
    );
    let uncatalogued = Scene::production().on_both(EVIDENCE, &evidence_of(&[(&now, "frozen")]));
    is(uncatalogued, FreezeState::Invalid, "no row of the catalog");
}

#[test]
fn a_frozen_test_takes_the_vote_by_its_id_or_by_its_name_alone() {
    for name in [ROUNDTRIP, "test_roundtrip", "test_roundtrip[1]"] {
        let list = format!("{name} unstable_since=2026-08-29 frozen_runs=3 note=\"\"\n");
        let scene = Scene::production().on_both(FROZEN_TESTS, &list);
        let decision = is(scene, FreezeState::Unbound, "");
        assert_eq!(
            decision.of_rule(Rule::UnboundFreeze),
            [(Effect::Notice, Some(FROZEN_TESTS))]
        );
    }
    let other = "test_other unstable_since=2026-08-29 frozen_runs=3 note=\"x\"\n";
    let decision = Scene::production().on_both(FROZEN_TESTS, other).decide();
    assert_eq!(property(&decision, ROUNDTRIP).state, PropertyState::Live);
}

#[test]
fn taking_a_frozen_test_off_the_list_needs_a_person() {
    let row = |note: &str| {
        format!("test_roundtrip unstable_since=2026-08-29 frozen_runs=3 note=\"{note}\"\n")
    };
    for (note, told) in [("", true), ("  ", true), ("shared fixture mutated", false)] {
        let scene = Scene::quiet()
            .person()
            .on_both(FROZEN_TESTS, &row(note))
            .change(FROZEN_TESTS, "");
        let decision = scene.expect(Verdict::HumanReview);
        assert_eq!(
            decision
                .message_of(Rule::ContractChanged)
                .contains("test_roundtrip"),
            told,
            "{note:?}"
        );
    }
}

#[test]
fn a_dangling_row_of_any_list_denies_what_it_could_mean() {
    let gone = "tests/gone.py::test_roundtrip";
    let replay = format!("pytest {gone} --hypothesis-seed=7");
    let dangling = with(
        with(row(&quiet()), "nodeid", json!(gone)),
        "replay",
        json!(replay),
    );
    let decision = ledger(std::slice::from_ref(&dangling)).decide();
    assert_eq!(property(&decision, ROUNDTRIP).state, PropertyState::Void);
    assert_eq!(
        decision.of_rule(Rule::DanglingFreeze),
        [(Effect::Notice, Some(LEDGER))]
    );
    assert_eq!(decision.of_rule(Rule::InvalidFreeze), []);
    let added = Scene::quiet().change(LEDGER, &ledger_of(&[dangling]));
    assert_eq!(
        added.expect(Verdict::Refuse).of_rule(Rule::DanglingFreeze),
        [(Effect::Refuse, Some(LEDGER))]
    );
}

#[test]
fn a_row_whose_file_is_there_and_whose_test_is_not_dangles() {
    let file = "tests/test_other.py";
    let text = "class TestX:\n    def test_y(self): ...\n    def test_roundtrip(self): ...\n";
    let at = |nodeid: &str| freeze(nodeid, &[]);
    let scene = |nodeid: &str, text: &str| {
        let scene = Scene::production().on_both(file, text);
        scene.freezing(&[at(nodeid)])
    };
    let gone = format!("{file}::test_roundtrip");
    let decision = scene(&gone, text).decide();
    assert_eq!(
        decision.of_rule(Rule::DanglingFreeze),
        [(Effect::Notice, Some(FREEZES))]
    );
    let message = decision.message_of(Rule::DanglingFreeze);
    assert!(message.contains("holds no such test"), "{message}");
    assert_eq!(states(&decision)[0].0, FreezeState::Invalid);
    assert_eq!(
        property(&decision, ROUNDTRIP).state,
        PropertyState::Void,
        "its text may mean a test of that name that went elsewhere"
    );
    let adds = Scene::quiet().on_both(file, text);
    let adds = adds.change(FREEZES, &freezes_of(&[at(&gone)]));
    assert_eq!(
        adds.expect(Verdict::Refuse).of_rule(Rule::DanglingFreeze),
        [(Effect::Refuse, Some(FREEZES))]
    );
    for there in [
        "TestX",
        "TestX::test_y",
        "TestX::test_y[a::b]",
        "TestX::test_y[1-x]",
    ] {
        let decision = scene(&format!("{file}::{there}"), text).decide();
        assert_eq!(decision.of_rule(Rule::DanglingFreeze), [], "{there}");
        assert_eq!(states(&decision)[0].0, FreezeState::Unbound);
    }
}

#[test]
fn a_row_of_which_its_file_does_not_tell_keeps_its_vote_and_denies_what_it_could_mean() {
    let row = |nodeid: &str| [freeze(nodeid, &[])];
    for (file, text) in [
        ("tests/test_other.py", "def test_(: broken"),
        ("tests/test_other.py", "from helpers import *\n"),
        ("tests/test_other.py", "setattr(TestX, name, made)\n"),
    ] {
        let decision = Scene::production()
            .on_both(file, text)
            .freezing(&row(&format!("{file}::test_roundtrip")))
            .decide();
        assert_eq!(decision.of_rule(Rule::DanglingFreeze), [], "{text}");
        assert_eq!(states(&decision)[0].0, FreezeState::Unbound, "{text}");
        let state = property(&decision, ROUNDTRIP).state;
        assert_eq!(state, PropertyState::Frozen, "{text}");
    }
    let unread = "tests/Other.java";
    let decision = Scene::production()
        .on_both(unread, "class Other {}")
        .freezing(&row(&format!("{unread}::test_roundtrip")))
        .decide();
    assert_eq!(decision.of_rule(Rule::DanglingFreeze), []);
    assert_eq!(property(&decision, ROUNDTRIP).state, PropertyState::Live);
}

#[test]
fn a_patch_that_takes_a_frozen_test_away_leaves_its_row_dangling() {
    let file = "tests/test_other.py";
    let decision = Scene::quiet()
        .on_both(file, "def test_x(): ...\n")
        .change(file, "def test_renamed(): ...\n")
        .freezing(&[freeze(&format!("{file}::test_x"), &[])])
        .decide();
    assert_eq!(
        decision.of_rule(Rule::DanglingFreeze),
        [(Effect::Notice, Some(FREEZES))],
        "the patch did not add the row"
    );
}

#[test]
fn a_sensitive_path_refuses_a_freeze_of_any_list() {
    let sensitive = "version: 1\npaths: {sensitive: [\"src/mypkg/**\"]}\n";
    let list = "test_roundtrip unstable_since=2026-08-29 frozen_runs=3 note=\"\"\n";
    for scene in [
        ledger(&[row(&quiet())]),
        Scene::production().on_both(FROZEN_TESTS, list),
        Scene::production()
            .freezing(&[freeze("tests/x.py::y", &["src/mypkg"])])
            .on_both("tests/x.py", ""),
    ] {
        let decision = scene.config(sensitive).expect(Verdict::Refuse);
        assert_eq!(
            decision.of_rule(Rule::SensitiveFreeze),
            [(Effect::Refuse, Some(PARSE))]
        );
        let state = property(&decision, ROUNDTRIP).state;
        assert_ne!(state, PropertyState::Frozen, "such a freeze takes no vote");
    }
}

#[test]
fn a_changed_fixture_needs_a_note_with_its_path_and_its_new_digest() {
    let note = "docs/behavior/2026-records.md";
    let digest = digest::blob(b"[]").sha256;
    let scene = Scene::quiet()
        .change(FIXTURE, "[]")
        .change(LOCK, &lock_of(&[(FIXTURE, "[]")]))
        .on_both(
            "docs/behavior/old.md",
            &format!("{FIXTURE} {}", digest::blob(b"{}").sha256),
        );
    let missing = |scene: &Scene| scene.decide().of_rule(Rule::FixtureNoteMissing).len();
    assert_eq!(
        scene.decide().of_rule(Rule::FixtureNoteMissing),
        [(Effect::HumanReview, Some(FIXTURE))]
    );
    assert_eq!(
        missing(
            &scene
                .clone()
                .change(note, &format!("`{FIXTURE}` is now sha256:{digest}: empty"))
        ),
        0
    );
    assert_eq!(
        missing(
            &scene
                .clone()
                .on_both(note, &format!("{FIXTURE}\n{digest}\n"))
        ),
        0
    );
    assert_eq!(missing(&scene.clone().change(note, FIXTURE)), 1);
    assert_eq!(missing(&scene.change(note, digest.as_str())), 1);
    assert_eq!(
        missing(&Scene::quiet().remove(FIXTURE)),
        0,
        "what is gone has no digest"
    );
}

#[test]
fn a_digest_that_could_not_be_had_refuses_and_voids() {
    let scene = ledger(&[row(&quiet())]).tweak(|snapshot| {
        for digest in snapshot.digests.values_mut() {
            *digest = Fact::Unavailable("gone".to_owned());
        }
    });
    let decision = is(scene, FreezeState::Void, "could not be had");
    assert_eq!(decision.verdict, Verdict::Refuse);
    assert!(!decision.of_rule(Rule::Undetermined).is_empty());
    let scene = ledger(&[row(&quiet())])
        .tweak(|snapshot| snapshot.scopes.unread = Some("no attributes".to_owned()));
    let decision = is(scene, FreezeState::Void, "no attributes");
    assert_eq!(decision.verdict, Verdict::Refuse);
    let seed = digest::seed_form([(b"ok.json".as_slice(), b"{}".as_slice())]);
    let scene = ledger(&[row(&seed)]).tweak(|snapshot| {
        snapshot.scopes.seed_forms.clear();
    });
    let decision = is(scene, FreezeState::Void, "could not be had");
    assert_eq!(decision.verdict, Verdict::Refuse);
}

#[test]
fn what_is_left_to_the_patchs_author_holds_no_scope() {
    let decision = crate::render::for_agent(ledger(&[row(&quiet())]).decide());
    assert!(decision.fixtures.is_empty() && decision.freezes.is_none());
}

#[test]
fn many_rows_and_fixtures_cost_their_sum() {
    let fixtures: Vec<(String, String)> = (0..400)
        .map(|n| (format!("tests/fixtures/d{n}/x.json"), n.to_string()))
        .collect();
    let mut scene = Scene::quiet().remove_on_both(FIXTURE);
    let files: Vec<(&str, &str)> = fixtures
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    for (path, text) in &files {
        scene = scene.on_both(path, text);
    }
    let ids: Vec<String> = (0..400)
        .map(|n| format!("{PROPERTY_FILE}::test_{n}"))
        .collect();
    let tests: String = (0..400).map(|n| format!("def test_{n}(): ...\n")).collect();
    let globs: Vec<String> = (0..400)
        .map(|n| format!("tests/fixtures/d{n}/**"))
        .collect();
    let catalog: Vec<Value> = ids
        .iter()
        .zip(&globs)
        .map(|(id, glob)| json!({"property_id": id, "nodeid": id, "fixtures": [glob], "owner": "@o"}))
        .collect();
    let rows: Vec<Value> = ids
        .iter()
        .zip(&files)
        .map(|(id, file)| {
            let replay = format!("pytest {id} --hypothesis-seed=7");
            with(
                with(row(&manifest(&[*file])), "nodeid", json!(id)),
                "replay",
                json!(replay),
            )
        })
        .collect();
    let scene = scene
        .on_both(LOCK, &lock_of(&files))
        .on_both(PROPERTY_FILE, &tests)
        .on_both(
            CATALOG,
            &json!({"version": 1, "properties": catalog}).to_string(),
        )
        .on_both(LEDGER, &ledger_of(&rows))
        .change("tests/fixtures/d7/x.json", "other");
    let decision = scene.decide();
    let void: Vec<&str> = decision
        .freezes
        .iter()
        .flatten()
        .filter(|row| row.state == FreezeState::Void)
        .map(|row| row.nodeid.as_str())
        .collect();
    assert_eq!(void, [ids[7].as_str()]);
}

#[test]
fn a_test_that_changes_with_what_its_catalogued_scope_holds_rewrites_itself() {
    let golden = "expected/elsewhere/out.txt";
    let catalog = catalog_of(&[("p", ROUNDTRIP, &["expected/elsewhere/*.txt"])]);
    let scene = Scene::quiet()
        .on_both(golden, "1")
        .on_both(CATALOG, &catalog)
        .change(PROPERTY_FILE, "def test_roundtrip(): pass");
    assert_eq!(scene.decide().of_rule(Rule::SelfRewritingTest), []);
    let decision = scene.change(golden, "2").decide();
    assert_eq!(
        decision.of_rule(Rule::SelfRewritingTest),
        [(Effect::HumanReview, Some(PROPERTY_FILE))]
    );
}

/// What a hostile row would be in every field that can hold it.
#[test]
fn nothing_that_a_row_says_comes_alive_wherever_it_is_shown() {
    let trick = "@acme/all <img src=x> [a](//evil) ![b](//evil) **x** | `code` ``` ~~~ --> ::error:: #12 \u{202e}\u{200b}";
    let long = format!("{trick}{}", "x".repeat(10_000));
    let node = format!("{PROPERTY_FILE}::test_roundtrip[{long}]");
    let ledger_row = json!({"nodeid": node, "seed": 7, "fixture_digest": long, "reason": long, "replay": long,
        "status": long, "owner": long, "property_id": long, "property_digest": long, "evidence": long,
        "reopened_from": long});
    let mut listed = freeze(&node, &[]);
    listed["reason"] = json!(format!("{long}\n\r# heading\n"));
    listed["owner"] = json!(format!("@acme/all\n@acme/all {long}"));
    listed["fixture_digest"] = json!(long);
    let list = format!(
        "{} unstable_since=2026-08-29 frozen_runs=3 note={}\n",
        json!(node),
        json!(long)
    );
    let catalog = json!({"version": 1, "properties": [{"property_id": long, "nodeid": node, "owner": long,
        "fixtures": ["gone/@acme/all `x` <img>"]}]});
    let decision = ledger(&[ledger_row])
        .freezing(&[listed])
        .on_both(FROZEN_TESTS, &list)
        .on_both(CATALOG, &catalog.to_string())
        .decide();
    assert_eq!(decision.freezes.as_ref().map(Vec::len), Some(3));
    let run = crate::render::check_run(&decision);
    let comment = crate::render::comment(&decision).unwrap_or_default();
    for text in [&run.summary, &comment] {
        assert!(text.len() <= 65_535);
        let html = {
            let mut html = String::new();
            pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(text));
            html
        };
        for alive in ["<img", "href=\"//evil", "<strong>x"] {
            assert!(!html.contains(alive), "{alive} in {html}");
        }
        let outside_code = html
            .split("<code>")
            .map(|part| part.split("</code>").last().unwrap_or_default());
        for part in outside_code {
            assert!(!part.contains("@acme"), "a mention comes alive: {part}");
        }
        assert!(!text.contains('\u{202e}') && !text.contains('\u{200b}'));
    }
    let plain = crate::render::text(
        &decision,
        crate::render::TextStyle {
            colour: false,
            width: 100,
        },
    );
    assert!(!plain.contains('\u{202e}') && !plain.contains("\n# heading"));
    let sarif: Value = serde_json::from_str(&crate::render::sarif(&decision)).expect("JSON");
    assert!(
        sarif["runs"][0]["results"]
            .as_array()
            .is_some_and(|found| !found.is_empty())
    );
    let whole: Decision = serde_json::from_str(&crate::render::json(&decision)).expect("JSON");
    assert_eq!(whole, decision);
}

/// Control characters and paths that lead out of the repository do not get past the parsers.
#[test]
fn a_row_that_names_no_path_of_the_repository_makes_its_file_unreadable() {
    for nodeid in [
        "../../etc/passwd::f",
        "/etc/passwd::f",
        "a\\b::f",
        "a::f\ng",
        "a\u{0}::f",
        "",
    ] {
        let decision =
            ledger(&[with(row(&quiet()), "nodeid", json!(nodeid))]).expect(Verdict::Refuse);
        assert_eq!(
            decision.of_rule(Rule::ContractUnreadable),
            [(Effect::Refuse, Some(LEDGER))]
        );
        let listed = with(freeze(ROUNDTRIP, &[]), "nodeid", json!(nodeid));
        let decision = Scene::production()
            .freezing(&[listed])
            .expect(Verdict::Refuse);
        assert_eq!(
            decision.of_rule(Rule::ContractUnreadable),
            [(Effect::Refuse, Some(FREEZES))]
        );
    }
}
