//! Every rule of protocol 5.2 that this gate has: when it speaks, how strongly, and of which path.

use std::collections::BTreeSet;

use super::scene::*;
use crate::model::*;

struct Row {
    rule: Rule,
    scene: Scene,
    effect: Effect,
    path: Option<&'static str>,
}

fn row(rule: Rule, scene: Scene, effect: Effect, path: impl Into<Option<&'static str>>) -> Row {
    Row {
        rule,
        scene,
        effect,
        path: path.into(),
    }
}

fn with_foreign(scene: Scene) -> Scene {
    scene.tweak(|s| {
        s.foreign_checks = Some(Fact::Known(vec![ForeignCheck {
            name: "frostline".to_owned(),
            app: "other".to_owned(),
            app_id: 7,
        }]));
    })
}

fn asked_for(scene: Scene) -> Scene {
    scene.tweak(|s| {
        s.proposed_by = Some(vec![Person {
            login: "wendy".to_owned(),
            id: 7,
            is_bot: false,
        }]);
    })
}

fn in_lane(action: Action) -> Scene {
    fn results(action: Action) -> Option<LaneFact> {
        let results = [(ROUNDTRIP, action), (UNKNOWN, Action::Pass)];
        let results = results.map(|(node, action)| LaneResult {
            tree: id_of("merged"),
            property: node.parse().expect("a node id"),
            nodeid: node.parse().expect("a node id"),
            seed: None,
            action: Some(action),
            why: "why".to_owned(),
        });
        Some(LaneFact {
            results: results.into(),
        })
    }
    let scene = Scene::production();
    match action {
        Action::PinSeedNoise => scene.tweak(|s| s.lane = results(Action::PinSeedNoise)),
        _ => scene.tweak(|s| s.lane = results(Action::BlockInvariant)),
    }
}

fn contract_rules() -> Vec<Row> {
    use Effect::*;
    let quiet = Scene::quiet;
    let production = Scene::production;
    vec![
        row(
            Rule::ContractUnreadable,
            production().on_both(MAP, "{"),
            Refuse,
            MAP,
        ),
        row(
            Rule::ContractUnreadable,
            quiet().remove_on_both(LOCK),
            Refuse,
            LOCK,
        ),
        row(
            Rule::ContractUnreadable,
            quiet().change(FREEZES, "[]"),
            Refuse,
            FREEZES,
        ),
        row(
            Rule::ContractUnreadable,
            quiet().put(MAP, EntryKind::Symlink, "x"),
            Refuse,
            MAP,
        ),
        row(Rule::ContractUnreadable, quiet().remove(MAP), Refuse, MAP),
        row(
            Rule::ContractUnreadable,
            quiet().config("verison: 1\n"),
            Refuse,
            CONFIG,
        ),
        row(
            Rule::ContractUnreadable,
            quiet().put("tests/seed_freeze.json", EntryKind::Symlink, "x"),
            Refuse,
            "tests/seed_freeze.json",
        ),
        row(
            Rule::Undetermined,
            quiet().tweak(|s| s.merge_bases = Fact::Known(vec![])),
            Refuse,
            None,
        ),
        row(
            Rule::Undetermined,
            production().tweak(|s| s.foreign_checks = Some(Fact::Missing("gone".to_owned()))),
            Refuse,
            None,
        ),
        row(Rule::ForeignCheck, with_foreign(production()), Refuse, None),
        row(
            Rule::ForeignCheck,
            with_foreign(quiet().person()),
            Refuse,
            None,
        ),
        row(
            Rule::OwnProposal,
            asked_for(quiet().person()),
            HumanReview,
            None,
        ),
        row(
            Rule::LaneBlock,
            in_lane(Action::BlockInvariant),
            Refuse,
            PROPERTY_FILE,
        ),
        row(
            Rule::LaneNoise,
            in_lane(Action::PinSeedNoise),
            HumanReview,
            PROPERTY_FILE,
        ),
        row(
            Rule::ContractWithProduction,
            production().change(LOCK, &(lock_of(&[(FIXTURE, "{}")]) + "\n")),
            Refuse,
            LOCK,
        ),
        row(
            Rule::LedgerInWriteSet,
            quiet().change("tests/seed_freeze.json", "{}"),
            Refuse,
            "tests/seed_freeze.json",
        ),
        row(
            Rule::LedgerInWriteSet,
            quiet().change("frozen_tests.txt", ""),
            Refuse,
            "frozen_tests.txt",
        ),
        row(
            Rule::ContractChanged,
            quiet().change(MAP, &map_of(&[])),
            HumanReview,
            MAP,
        ),
    ]
}

fn write_set_rules() -> Vec<Row> {
    use Effect::*;
    let quiet = Scene::quiet;
    let production = Scene::production;
    vec![
        row(
            Rule::TestsWithProduction,
            production().change(FIXTURE, "[]"),
            Refuse,
            FIXTURE,
        ),
        row(
            Rule::TestsWithProduction,
            production().remove(PROPERTY_FILE),
            Refuse,
            PROPERTY_FILE,
        ),
        row(
            Rule::FixtureChanged,
            quiet().change(FIXTURE, "[]"),
            HumanReview,
            FIXTURE,
        ),
        row(
            Rule::PropertyChanged,
            quiet().change(PROPERTY_FILE, "x"),
            HumanReview,
            PROPERTY_FILE,
        ),
        row(
            Rule::SelfRewritingTest,
            quiet()
                .change("web/a.test.ts", "x")
                .change("web/__snapshots__/a.test.ts.snap", "y"),
            HumanReview,
            "web/a.test.ts",
        ),
        row(
            Rule::GoldenChanged,
            quiet().change("src/x.golden", "x"),
            HumanReview,
            "src/x.golden",
        ),
        row(
            Rule::SupportChanged,
            production().change("tests/strategies.py", "x"),
            HumanReview,
            "tests/strategies.py",
        ),
        row(
            Rule::TestsRemoved,
            production().on_base_only("tests/test_old.py", "x"),
            HumanReview,
            "tests/test_old.py",
        ),
        row(
            Rule::HarnessChanged,
            quiet().change("pytest.ini", "x"),
            HumanReview,
            "pytest.ini",
        ),
        row(
            Rule::TestChanged,
            quiet().change("tests/test_x.py", "x"),
            Notice,
            "tests/test_x.py",
        ),
        row(
            Rule::UnclassifiedCode,
            quiet().change("tools/x.sh", "ls"),
            HumanReview,
            "tools/x.sh",
        ),
        row(
            Rule::UnclassifiedCode,
            quiet().change("tools/run", "#!/bin/sh"),
            HumanReview,
            "tools/run",
        ),
        row(
            Rule::PathCollision,
            quiet().change("Src/mypkg/parse.py", "x"),
            Refuse,
            "Src/mypkg/parse.py",
        ),
        row(
            Rule::PathCollision,
            quiet().change("tests/Fixtures/x.json", "x"),
            Refuse,
            "tests/Fixtures/x.json",
        ),
        row(
            Rule::PathCollision,
            quiet().change(".github/frostline.yml.", "x"),
            Refuse,
            ".github/frostline.yml.",
        ),
        row(
            Rule::LinkInPlace,
            quiet().put(PARSE, EntryKind::Symlink, "../x"),
            HumanReview,
            PARSE,
        ),
    ]
}

fn fixture_rules() -> Vec<Row> {
    use Effect::*;
    let quiet = Scene::quiet;
    let mut opaque = quiet();
    opaque.opaque = Some("its attributes set ident".to_owned());
    vec![
        row(
            Rule::MissingFixture,
            quiet().remove(FIXTURE),
            Refuse,
            FIXTURE,
        ),
        row(
            Rule::DigestMismatch,
            quiet().change(FIXTURE, "[]"),
            Refuse,
            FIXTURE,
        ),
        row(
            Rule::UnlockedFixture,
            quiet().change("tests/fixtures/new.json", "x"),
            Refuse,
            "tests/fixtures/new.json",
        ),
        row(Rule::OpaqueFixture, opaque, Refuse, FIXTURE),
        row(
            Rule::OpaqueFixture,
            quiet().put(FIXTURE, EntryKind::Symlink, "x"),
            Refuse,
            FIXTURE,
        ),
        row(
            Rule::CatalogBroken,
            quiet().on_both(
                "test/contract/properties.json",
                r#"{"version": 1, "properties": [{"property_id": "p", "nodeid": "a::b", "fixtures": ["gone"], "owner": "@o"}]}"#,
            ),
            Refuse,
            "test/contract/properties.json",
        ),
        row(
            Rule::FixtureNoteMissing,
            quiet().change(FIXTURE, "[]"),
            HumanReview,
            FIXTURE,
        ),
        row(
            Rule::LockShrank,
            quiet().remove(FIXTURE).change(LOCK, &lock_of(&[])),
            Notice,
            FIXTURE,
        ),
    ]
}

/// A freeze with a digest of so many times a digit.
fn bound(nodeid: &str, digit: &str) -> serde_json::Value {
    let mut row = freeze(nodeid, &[]);
    row["fixture_digest"] = format!("manifest-sha256:{}", digit.repeat(64)).into();
    row
}

fn freeze_rules() -> Vec<Row> {
    use Effect::*;
    let sensitive = || Scene::production().config("paths: {sensitive: ['src/mypkg/**']}\n");
    vec![
        row(
            Rule::SensitiveFreeze,
            sensitive()
                .on_both("tests/test_x.py", "x")
                .freezing(&[freeze("tests/test_x.py::test_y", &["src/mypkg"])]),
            Refuse,
            PARSE,
        ),
        row(
            Rule::SensitiveFreeze,
            sensitive().freezing(&[freeze(UNKNOWN, &[])]),
            Refuse,
            PARSE,
        ),
        row(
            Rule::VoidFreeze,
            Scene::production().freezing(&[bound(UNKNOWN, "0")]),
            Notice,
            FREEZES,
        ),
        row(
            Rule::InvalidFreeze,
            Scene::production().freezing(&[bound(UNKNOWN, "")]),
            Notice,
            FREEZES,
        ),
        row(
            Rule::InvalidFreeze,
            Scene::quiet().change(FREEZES, &freezes_of(&[bound(UNKNOWN, "")])),
            Refuse,
            FREEZES,
        ),
        row(
            Rule::DanglingFreeze,
            Scene::production().freezing(&[freeze("tests/gone.py::test_y", &[])]),
            Notice,
            FREEZES,
        ),
        row(
            Rule::DanglingFreeze,
            Scene::quiet().change(
                FREEZES,
                &freezes_of(&[freeze("tests/gone.py::test_y", &[])]),
            ),
            Refuse,
            FREEZES,
        ),
        row(
            Rule::UnboundFreeze,
            Scene::quiet().freezing(&[freeze(UNKNOWN, &[])]),
            Notice,
            FREEZES,
        ),
    ]
}

fn map_rules() -> Vec<Row> {
    use Effect::*;
    let production = Scene::production;
    let ghost = "tests/properties/test_gone.py::test_x";
    vec![
        row(
            Rule::UnmappedPath,
            production().change("src/b.py", "x"),
            Refuse,
            "src/b.py",
        ),
        row(
            Rule::CoverageHole,
            production().mapping(&[rule(PARSE, &[ghost])]),
            Refuse,
            PARSE,
        ),
        row(
            Rule::CoverageHole,
            production()
                .mapping(&[rule(PARSE, &["tests/test_plain.py::test_x"])])
                .on_both("tests/test_plain.py", "x"),
            Refuse,
            PARSE,
        ),
        row(
            Rule::SpecificRuleDark,
            production().mapping(&[rule("src/", &[UNKNOWN]), rule(PARSE, &[ghost])]),
            HumanReview,
            PARSE,
        ),
        row(
            Rule::GhostProperty,
            production().mapping(&[rule(PARSE, &[ghost, UNKNOWN])]),
            Notice,
            MAP,
        ),
        row(
            Rule::DisabledProperty,
            production().on_both(
                PROPERTY_FILE,
                "import unittest\n@unittest.skip('x')\ndef test_roundtrip(): ...\n",
            ),
            Notice,
            PROPERTY_FILE,
        ),
        row(
            Rule::NoProduction,
            Scene::quiet()
                .remove_on_both(PARSE)
                .mapping(&[rule("gone/", &[UNKNOWN])]),
            Refuse,
            None,
        ),
        row(
            Rule::SeedInSource,
            Scene::quiet().change(
                "tests/test_x.py",
                "from hypothesis import given, seed\n\n@seed(1)\n@given(x)\ndef test_x(x): ...\n",
            ),
            Notice,
            "tests/test_x.py",
        ),
        row(
            Rule::LiveSetShrank,
            production().freezing(&[freeze(UNKNOWN, &[])]),
            Notice,
            PARSE,
        ),
        row(
            Rule::LoosePrefix,
            Scene::quiet()
                .mapping(&[rule("src/mypkg/pars", &[UNKNOWN])])
                .change("src/mypkg/parsnip.py", "x"),
            Notice,
            "src/mypkg/parsnip.py",
        ),
        row(
            Rule::UnusedRule,
            production().mapping(&[rule(PARSE, &[UNKNOWN]), rule("x/", &[UNKNOWN])]),
            Notice,
            MAP,
        ),
        row(
            Rule::DeadPrefix,
            production().mapping(&[rule(PARSE, &[ghost])]),
            Notice,
            MAP,
        ),
    ]
}

fn rows() -> Vec<Row> {
    [
        contract_rules(),
        write_set_rules(),
        fixture_rules(),
        freeze_rules(),
        map_rules(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_rule_speaks_when_the_protocol_says_so() {
    for Row {
        rule,
        scene,
        effect,
        path,
    } in rows()
    {
        let decision = scene.decide();
        assert!(
            decision.of_rule(rule).contains(&(effect, path)),
            "{rule} for {path:?}: {:#?}",
            decision.findings
        );
    }
}

#[test]
fn no_rule_speaks_without_cause() {
    let decision = Scene::production().decide();
    assert_eq!(decision.findings, []);
    assert_eq!(Scene::quiet().decide().findings, []);
    let looked = Scene::quiet().tweak(|s| s.foreign_checks = Some(Fact::Known(Vec::new())));
    assert_eq!(looked.decide().findings, []);
}

#[test]
fn every_rule_has_a_row() {
    let tested: BTreeSet<Rule> = rows().iter().map(|row| row.rule).collect();
    let missing: Vec<&Rule> = Rule::ALL
        .iter()
        .filter(|rule| !tested.contains(rule))
        .collect();
    assert_eq!(missing, [] as [&Rule; 0]);
}

#[test]
fn an_opaque_fixture_has_no_other_fixture_finding() {
    let decision = Scene::quiet()
        .put(FIXTURE, EntryKind::Symlink, "x")
        .decide();
    assert!(decision.of_rule(Rule::DigestMismatch).is_empty());
    assert!(decision.of_rule(Rule::UnlockedFixture).is_empty());
    assert!(decision.of_rule(Rule::MissingFixture).is_empty());
}

#[test]
fn what_could_not_be_had_is_undetermined_and_refuses() {
    let tweaks: [fn(&mut Snapshot); 9] = [
        |s| s.foreign_checks = Some(Fact::Unavailable("not allowed".to_owned())),
        |s| s.merge_bases = Fact::Missing("no common commit".to_owned()),
        |s| s.merged_tree = Fact::Unavailable("src/a.py conflicts".to_owned()),
        |s| s.write_set = Fact::Truncated("3,000 files are listed".to_owned()),
        |s| s.fixtures = Fact::Truncated("the tree is cut off".to_owned()),
        |s| s.tree = Fact::Unavailable("no merged tree".to_owned()),
        |s| s.digests.clear(),
        |s| {
            let gone = Fact::Missing("the object is missing".to_owned());
            s.digests
                .values_mut()
                .for_each(|digest| *digest = gone.clone());
        },
        |s| {
            let gone = BlobFact::Unavailable("the object is missing".to_owned());
            if let Some(map) = s.contract.get_mut(&Layer::Map) {
                map.base = gone;
            }
        },
    ];
    for tweak in tweaks {
        for scene in [Scene::quiet(), Scene::production(), Scene::quiet().person()] {
            let decision = scene.tweak(tweak).expect(Verdict::Refuse);
            assert!(
                decision
                    .of_rule(Rule::Undetermined)
                    .contains(&(Effect::Refuse, None))
            );
        }
    }
}

#[test]
fn one_spelling_is_no_collision() {
    let decision = Scene::quiet()
        .change("src/mypkg/new.py", "x")
        .change("src/a/b.py", "y")
        .decide();
    assert_eq!(decision.of_rule(Rule::PathCollision), []);
}

#[test]
fn unicode_spellings_of_one_path_collide() {
    for (a, b) in [
        ("src/é.py", "src/e\u{301}.py"),
        ("src/ﬁ.py", "src/fi.py"),
        ("src/ß.py", "src/SS.py"),
    ] {
        let decision = Scene::quiet().on_both(a, "x").change(b, "y").decide();
        assert_eq!(
            decision.of_rule(Rule::PathCollision),
            [(Effect::Refuse, Some(b))]
        );
    }
}
