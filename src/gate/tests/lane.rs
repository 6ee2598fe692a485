//! Step 6, the lane (protocol 5.1 and 6.1).

use super::scene::*;
use crate::model::*;

fn result(node: &str, action: Option<Action>) -> LaneResult {
    LaneResult {
        tree: id_of("merged"),
        property: node.parse().expect("a node id"),
        nodeid: node.parse().expect("a node id"),
        seed: Some(7),
        action,
        why: "why".to_owned(),
    }
}

fn decide(scene: &Scene, results: Vec<LaneResult>) -> Decision {
    let mut snapshot = scene.snapshot();
    snapshot.lane = Some(LaneFact { results });
    crate::gate::decide(&snapshot)
}

fn step(decision: &Decision) -> Option<&Step> {
    decision.table.iter().find(|step| step.step == 6)
}

#[test]
fn the_row_is_shown_only_where_a_lane_ran() {
    assert_eq!(step(&Scene::production().decide()), None);
    let both = [ROUNDTRIP, UNKNOWN].map(|node| result(node, Some(Action::Pass)));
    let decision = decide(&Scene::production(), both.into());
    assert_eq!(decision.verdict, Verdict::Pass, "{:?}", decision.findings);
    let row = step(&decision).expect("a row");
    assert_eq!(
        (row.result, row.detail.as_str()),
        (StepResult::Pass, "2 of 2 results passed")
    );
    let decision = decide(&Scene::quiet(), Vec::new());
    assert_eq!(decision.verdict, Verdict::Pass, "no property is needed");
}

#[test]
fn each_action_brings_its_effect() {
    for (action, verdict, rule) in [
        (Action::PinSeedNoise, Verdict::HumanReview, Rule::LaneNoise),
        (Action::BlockHash, Verdict::Refuse, Rule::LaneBlock),
        (Action::BlockShrink, Verdict::Refuse, Rule::LaneBlock),
        (Action::BlockInvariant, Verdict::Refuse, Rule::LaneBlock),
        (Action::BlockErrored, Verdict::Refuse, Rule::LaneBlock),
        (Action::BlockNoise, Verdict::Refuse, Rule::LaneBlock),
    ] {
        let results = vec![
            result(ROUNDTRIP, Some(action)),
            result(UNKNOWN, Some(Action::Pass)),
        ];
        let decision = decide(&Scene::production(), results);
        assert_eq!(decision.verdict, verdict, "{action:?}");
        assert_eq!(
            decision.decided_by,
            DecidedBy {
                step: 6,
                rule: Some(rule)
            }
        );
        let path = Some(PROPERTY_FILE);
        assert_eq!(
            decision.of_rule(rule),
            [(rule.default_effect(), path)],
            "{action:?}"
        );
        assert!(
            decision.message_of(rule).starts_with(action.name()),
            "{action:?}"
        );
    }
}

#[test]
fn results_of_another_tree_and_properties_without_one_are_undetermined() {
    let mut other = [ROUNDTRIP, UNKNOWN].map(|node| result(node, Some(Action::Pass)));
    for one in &mut other {
        one.tree = id_of("another");
    }
    let decision = decide(&Scene::production(), other.into());
    assert_eq!(decision.verdict, Verdict::Refuse);
    assert_eq!(
        decision.of_rule(Rule::Undetermined).len(),
        3,
        "{:?}",
        decision.findings
    );
    let one = vec![result(ROUNDTRIP, Some(Action::Pass)), result(UNKNOWN, None)];
    let decision = decide(&Scene::production(), one);
    assert!(decision.message_of(Rule::Undetermined).contains(UNKNOWN));
    let row = step(&decision).expect("a row");
    assert_eq!(row.detail, "1 of 1 results passed, 1 without a result");
}

#[test]
fn a_frozen_property_has_no_vote_in_the_lane_either() {
    let scene = Scene::production().freezing(&[freeze(ROUNDTRIP, &[])]);
    let results = vec![
        result(ROUNDTRIP, Some(Action::BlockInvariant)),
        result(UNKNOWN, Some(Action::Pass)),
    ];
    assert_eq!(decide(&scene, results).of_rule(Rule::LaneBlock), []);
    // Nor does a frozen one need a result.
    let decision = decide(&scene, vec![result(UNKNOWN, Some(Action::Pass))]);
    assert_eq!(decision.verdict, Verdict::Pass, "{:?}", decision.findings);
}

#[test]
fn a_parameter_answers_for_the_property_that_the_map_lists() {
    let mut results = vec![
        result(ROUNDTRIP, Some(Action::Pass)),
        result(UNKNOWN, Some(Action::Pass)),
    ];
    results[0].nodeid = format!("{ROUNDTRIP}[a]").parse().expect("a node id");
    assert_eq!(decide(&Scene::production(), results).verdict, Verdict::Pass);
}

#[test]
fn a_person_who_is_not_bound_is_told() {
    let results = vec![
        result(ROUNDTRIP, Some(Action::BlockInvariant)),
        result(UNKNOWN, Some(Action::Pass)),
    ];
    let decision = decide(&Scene::production().person(), results);
    assert_eq!(decision.verdict, Verdict::Pass);
    assert_eq!(
        decision.of_rule(Rule::LaneBlock),
        [(Effect::Notice, Some(PROPERTY_FILE))]
    );
}
