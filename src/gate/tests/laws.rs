//! What must hold whatever the patch: laws of the gate, on random patches.

use proptest::prelude::*;

use super::scene::*;
use crate::gate::verdict;
use crate::model::*;

/// One change for each class, and for each special case in a class.
const PATHS: &[&str] = &[
    MAP,
    LOCK,
    FREEZES,
    CONFIG,
    "tests/seed_freeze.json",
    FIXTURE,
    "tests/fixtures/new.json",
    PROPERTY_FILE,
    "conftest.py",
    "Cargo.lock",
    "web/__snapshots__/a.snap",
    "tests/test_plain.py",
    "tests/strategies.py",
    PARSE,
    "src/unmapped.py",
    "docs/behavior/a.md",
    "tools/x.sh",
    "README.md",
    "Src/Readme",
];

fn touch(scene: Scene, path: &str) -> Scene {
    match path {
        MAP => scene.change(MAP, &map_of(&[rule(PARSE, &[ROUNDTRIP])])),
        LOCK => scene.change(LOCK, &(lock_of(&[(FIXTURE, "{}")]) + "\n")),
        FREEZES => scene.change(FREEZES, &freezes_of(&[freeze(UNKNOWN, &[])])),
        CONFIG => scene.change(CONFIG, "version: 1\n"),
        other => scene.change(other, "something new"),
    }
}

fn scene_of(paths: &[&str], agent: bool) -> Scene {
    let scene = if agent {
        Scene::quiet()
    } else {
        Scene::quiet().person()
    };
    paths.iter().fold(scene, |scene, path| touch(scene, path))
}

fn bytes(decision: &Decision) -> String {
    serde_json::to_string(decision).expect("a decision is JSON")
}

fn subset() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(PATHS, 0..=PATHS.len())
}

fn finding() -> impl Strategy<Value = Finding> {
    (
        proptest::sample::select(Rule::ALL),
        proptest::sample::select(Effect::ALL),
    )
        .prop_map(|(rule, effect)| Finding {
            rule,
            effect,
            path: None,
            line: None,
            nodeid: None,
            owner: None,
            message: String::new(),
            fix: String::new(),
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_finding_never_improves_a_verdict(
        findings in proptest::collection::vec(finding(), 0..8),
        more in finding(),
    ) {
        let before = verdict::of(&findings, true);
        let mut all = findings;
        let effect = more.effect;
        all.push(more);
        let after = verdict::of(&all, true);
        prop_assert!(after >= before);
        if effect == Effect::Refuse {
            prop_assert_eq!(after, Verdict::Refuse);
        }
    }

    #[test]
    fn adding_a_path_never_improves_a_verdict(
        paths in subset(),
        more in proptest::sample::select(PATHS),
        agent in any::<bool>(),
    ) {
        let before = scene_of(&paths, agent).decide().verdict;
        let mut all = paths;
        all.push(more);
        let after = scene_of(&all, agent).decide().verdict;
        prop_assert!(after >= before, "{:?} was {}, is {}", all, before, after);
    }

    #[test]
    fn the_order_of_inputs_changes_nothing(
        paths in subset(),
        agent in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let snapshot = scene_of(&paths, agent).snapshot();
        let mut shuffled = snapshot.clone();
        let turn = |len: usize| if len == 0 { 0 } else { usize::try_from(seed % 7).unwrap_or(0) % len };
        if let Fact::Known(changes) = &mut shuffled.write_set {
            changes.reverse();
            let by = turn(changes.len());
            changes.rotate_left(by);
        }
        if let Fact::Known(fixtures) = &mut shuffled.fixtures {
            fixtures.reverse();
        }
        prop_assert_eq!(
            bytes(&crate::gate::decide(&snapshot)),
            bytes(&crate::gate::decide(&shuffled))
        );
    }

    #[test]
    fn the_same_snapshot_gives_the_same_bytes_also_after_being_stored(
        paths in subset(),
        agent in any::<bool>(),
    ) {
        let snapshot = scene_of(&paths, agent).snapshot();
        let stored = serde_json::to_string(&snapshot).expect("a snapshot is JSON");
        let loaded: Snapshot = serde_json::from_str(&stored).expect("what was stored loads");
        prop_assert_eq!(&snapshot, &loaded);
        prop_assert_eq!(
            bytes(&crate::gate::decide(&snapshot)),
            bytes(&crate::gate::decide(&loaded))
        );
    }

    #[test]
    fn undetermined_never_becomes_pass(paths in subset(), agent in any::<bool>(), which in 0..5_usize) {
        let mut snapshot = scene_of(&paths, agent).snapshot();
        let why = "cut off".to_owned();
        match which {
            0 => snapshot.merged_tree = Fact::Unavailable(why),
            1 => snapshot.write_set = Fact::Truncated(why),
            2 => snapshot.merge_bases = Fact::Missing(why),
            3 => snapshot.fixtures = Fact::Truncated(why),
            _ => snapshot.tree = Fact::Truncated(why),
        }
        let decision = crate::gate::decide(&snapshot);
        prop_assert_eq!(decision.verdict, Verdict::Refuse);
    }

    #[test]
    fn the_order_of_rules_and_rows_changes_no_verdict(
        order in Just([0, 1, 2, 3]).prop_shuffle(),
        frozen in proptest::sample::subsequence(&[ROUNDTRIP, UNKNOWN, "tests/gone.py::x"][..], 0..=3),
    ) {
        let rules = [
            rule(PARSE, &[ROUNDTRIP]),
            rule("src/", &[UNKNOWN]),
            rule("src/mypkg", &[ROUNDTRIP, UNKNOWN]),
            rule("lib/", &[UNKNOWN]),
        ];
        let rows: Vec<_> = frozen.iter().map(|id| freeze(id, &[])).collect();
        let mut turned = rows.clone();
        turned.reverse();
        let shuffled: Vec<_> = order.iter().map(|at| rules[*at].clone()).collect();
        let before = Scene::production().mapping(&rules).freezing(&rows).decide();
        let after = Scene::production().mapping(&shuffled).freezing(&turned).decide();
        prop_assert_eq!(before.verdict, after.verdict);
        prop_assert_eq!(before.coverage, after.coverage);
    }
}

#[test]
fn every_combination_of_classes_has_a_verdict() {
    let one_each = [
        MAP,
        FIXTURE,
        PROPERTY_FILE,
        "conftest.py",
        "a/__snapshots__/x",
        "tests/test_a.py",
        PARSE,
        "docs/behavior/a.md",
        "README.md",
    ];
    let mut seen = std::collections::BTreeSet::new();
    for combination in 0_u32..(1 << one_each.len()) {
        let paths: Vec<&str> = one_each
            .iter()
            .enumerate()
            .filter(|(at, _)| combination & (1 << at) != 0)
            .map(|(_, path)| *path)
            .collect();
        for agent in [true, false] {
            let decision = scene_of(&paths, agent).decide();
            let classes: std::collections::BTreeSet<Class> = decision
                .write_set
                .iter()
                .map(|change| change.class)
                .collect();
            assert_eq!(
                classes.len(),
                paths.len(),
                "each path has a class of its own"
            );
            assert_ne!(decision.verdict, Verdict::NotApplicable);
            let strongest = decision.findings.iter().map(|finding| finding.effect).max();
            let stopped = strongest.is_some_and(|effect| effect > Effect::Notice);
            assert_eq!(decision.verdict == Verdict::Pass, !stopped);
            seen.extend(classes);
        }
    }
    assert_eq!(seen.len(), Class::ALL.len());
}
