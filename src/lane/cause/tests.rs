use proptest::prelude::*;

use super::*;
use crate::lane::model::{Failure, Outcome, Phase};

fn red(message: &str) -> Outcome {
    Outcome::Red(Failure {
        phase: Phase::Call,
        exceptions: vec!["AssertionError".to_owned()],
        frames: Vec::new(),
        message: message.to_owned(),
        example: None,
    })
}

fn tally(green: usize, reds: usize) -> Tally {
    let red = red("no");
    let outcomes = [(&Outcome::Green, green), (&red, reds)];
    Tally::of(
        outcomes
            .into_iter()
            .flat_map(|(one, times)| std::iter::repeat_n(one, times)),
    )
}

fn tried(intervention: Intervention, green: usize, reds: usize) -> Tried {
    Tried {
        intervention,
        tally: tally(green, reds),
    }
}

#[test]
fn the_farther_a_rate_is_from_one_half_the_more_runs_have_to_agree() {
    assert_eq!(enough(&tally(5, 5)), Some(8));
    assert_eq!(enough(&tally(3, 4)), Some(9));
    assert_eq!(enough(&tally(8, 2)), Some(17));
    assert_eq!(enough(&tally(2, 8)), Some(17));
    assert_eq!(enough(&tally(29, 1)), None);
}

#[test]
fn what_was_not_mixed_has_no_cause_to_be_found() {
    assert_eq!(enough(&tally(7, 0)), None);
    assert_eq!(enough(&tally(0, 14)), None);
    assert_eq!(enough(&Tally::default()), None);
    let mut errored = tally(5, 5);
    errored.add(&Outcome::errored("gone"));
    assert_eq!(enough(&errored), None);
}

#[test]
fn the_one_condition_that_makes_runs_agree_is_the_cause() {
    let rows = [
        (Intervention::HashSeed, Cause::HashSeed, Some("ORDER")),
        (Intervention::Clock, Cause::Clock, Some("CLOCK")),
        (Intervention::Rng, Cause::Rng, None),
        (Intervention::OneCpu, Cause::Sched, None),
    ];
    for (right, expected, reason) in rows {
        for (green, reds) in [(8, 0), (0, 8)] {
            let all = Intervention::ALL.map(|one| match one == right {
                true => tried(one, green, reds),
                false => tried(one, 2, 1),
            });
            assert_eq!(cause(&all, 8), (expected, None));
        }
        assert_eq!(expected.reason(), reason);
    }
}

#[test]
fn two_conditions_name_none() {
    let clock = tried(Intervention::Clock, 8, 0);
    let cpu = tried(Intervention::OneCpu, 8, 0);
    let (found, why) = cause(&[clock.clone(), cpu], 8);
    assert_eq!(found, Cause::Unattributed);
    assert!(why.is_some_and(|why| why.contains("order of threads")));
    let (found, why) = cause(&[tried(Intervention::Rng, 0, 8), clock], 8);
    assert_eq!(found, Cause::Unattributed);
    assert!(why.is_some_and(|why| why.contains("more than one")));
}

#[test]
fn too_few_runs_and_reds_that_differ_settle_nothing() {
    let few = tried(Intervention::HashSeed, 7, 0);
    assert!(few.goes_on(8));
    assert_eq!(cause(&[few], 8).0, Cause::Unattributed);
    let reds = [red("one"), red("two")];
    let differing = Tried {
        intervention: Intervention::HashSeed,
        tally: Tally::of(reds.iter().cycle().take(8)),
    };
    assert!(!differing.goes_on(8));
    assert_eq!(cause(&[differing], 8).0, Cause::Unattributed);
    let mut broken = tried(Intervention::HashSeed, 8, 0);
    broken.tally.add(&Outcome::errored("gone"));
    assert_eq!(cause(&[broken], 8).0, Cause::Unattributed);
}

proptest! {
    /// Whatever the rate, a condition that does nothing is seldom named: with as many runs as are asked
    /// for, the chance that all agree is at most one in a hundred at the rate that the window suggests.
    #[test]
    fn agreement_by_chance_is_rare(green in 1_usize..30, reds in 1_usize..30) {
        if let Some(runs) = enough(&tally(green, reds)) {
            let rate = (reds as f64 + 1.0) / ((green + reds) as f64 + 2.0);
            let runs = i32::try_from(runs).expect("few");
            prop_assert!(rate.powi(runs) + (1.0 - rate).powi(runs) <= 0.01);
            prop_assert!((7..=30).contains(&runs));
        }
    }

    #[test]
    fn mixed_interventions_never_name_a_cause(counts in prop::collection::vec((1_usize..20, 1_usize..20), 4)) {
        let all: Vec<Tried> = Intervention::ALL
            .into_iter()
            .zip(counts)
            .map(|(one, (green, reds))| tried(one, green, reds))
            .collect();
        prop_assert_eq!(cause(&all, 7).0, Cause::Unattributed);
    }
}
