use proptest::prelude::*;

use super::super::model::{Failure, Frame, Phase};
use super::*;

/// A red of coarse site `c`, fine message `f`, raw value `r`.
fn red(c: u8, f: u8, r: u8) -> Outcome {
    let words = ["alpha", "beta", "gamma", "delta", "omega"];
    Outcome::Red(Failure {
        phase: Phase::Call,
        exceptions: vec![format!("Error{c}")],
        frames: vec![Frame {
            file: "src/a.py".to_owned(),
            function: "f".to_owned(),
            line: 1,
        }],
        message: format!("{}\nvalue {r}", words[usize::from(f) % words.len()]),
        example: None,
    })
}

fn judged(outcomes: &[Outcome]) -> (Status, Note) {
    status(Scope::Same, &Tally::of(outcomes))
}

fn times(n: usize, outcome: Outcome) -> Vec<Outcome> {
    vec![outcome; n]
}

fn of(parts: &[Vec<Outcome>]) -> Vec<Outcome> {
    parts.concat()
}

/// Protocol 6.3, row by row.
#[test]
fn each_row_of_the_table() {
    let green = || Outcome::Green;
    let error = || Outcome::errored("no report");
    let table: &[(&str, Vec<Outcome>, Status, Note)] = &[
        ("nothing ran", vec![], Status::Inconclusive, Note::None),
        (
            "an errored run",
            of(&[times(6, green()), vec![error()]]),
            Status::Errored,
            Note::None,
        ),
        (
            "errored beside reds",
            of(&[times(3, red(0, 0, 0)), vec![error()]]),
            Status::Errored,
            Note::None,
        ),
        ("all green", times(7, green()), Status::MergeOk, Note::None),
        (
            "too few greens",
            times(6, green()),
            Status::Inconclusive,
            Note::None,
        ),
        (
            "all red, one value",
            times(14, red(0, 0, 0)),
            Status::StableViolation,
            Note::None,
        ),
        (
            "all red, values differ",
            (0..14).map(|r| red(0, 0, r)).collect(),
            Status::StableViolation,
            Note::SuspectedRace,
        ),
        (
            "all red, two messages",
            of(&[times(7, red(0, 0, 0)), times(7, red(0, 1, 0))]),
            Status::Inconclusive,
            Note::None,
        ),
        (
            "all red, every one elsewhere",
            (0..4).map(|c| red(c, 0, 0)).collect(),
            Status::Divergent,
            Note::None,
        ),
        (
            "mixed, the message recurs",
            of(&[vec![green()], times(2, red(0, 0, 0))]),
            Status::FreezeCandidate,
            Note::None,
        ),
        (
            "mixed, only the site recurs",
            of(&[vec![green()], (0..4).map(|f| red(0, f, 0)).collect()]),
            Status::FreezeCandidate,
            Note::SiteOnly,
        ),
        (
            "mixed, the top is half of the reds",
            of(&[
                vec![green()],
                times(2, red(0, 0, 0)),
                vec![red(1, 0, 0), red(2, 0, 0)],
            ]),
            Status::FreezeCandidate,
            Note::None,
        ),
        (
            "a single red",
            of(&[times(6, green()), vec![red(0, 0, 0)]]),
            Status::Inconclusive,
            Note::None,
        ),
        (
            "a single red alone",
            vec![red(0, 0, 0)],
            Status::Inconclusive,
            Note::None,
        ),
        (
            "mixed, all elsewhere",
            of(&[vec![green()], (0..4).map(|c| red(c, 0, 0)).collect()]),
            Status::Divergent,
            Note::None,
        ),
        (
            "mixed, two sites once each",
            of(&[vec![green()], vec![red(0, 0, 0), red(1, 0, 0)]]),
            Status::Inconclusive,
            Note::None,
        ),
    ];
    for (what, outcomes, status, note) in table {
        assert_eq!(judged(outcomes), (*status, *note), "{what}");
    }
    let greens = Tally::of(&times(7, Outcome::Green));
    assert_eq!(status(Scope::Missing, &greens).0, Status::CatalogBroken);
    assert_eq!(status(Scope::Drifted, &greens).0, Status::FixtureDrift);
}

/// The adaptive stop, as far as it has to go and no further.
#[test]
fn the_window_stops_where_the_protocol_says() {
    let table: &[(&str, Vec<Outcome>, Stop)] = &[
        ("6 greens", times(6, Outcome::Green), Stop::GoOn),
        ("7 greens", times(7, Outcome::Green), Stop::Greens),
        ("7 reds", times(7, red(0, 0, 0)), Stop::GoOn),
        ("14 reds", times(14, red(0, 0, 0)), Stop::Reds),
        (
            "1 red, 1 green",
            of(&[vec![Outcome::Green], vec![red(0, 0, 0)]]),
            Stop::GoOn,
        ),
        (
            "1 red, 28 greens",
            of(&[times(28, Outcome::Green), vec![red(0, 0, 0)]]),
            Stop::GoOn,
        ),
        (
            "1 red, 29 greens",
            of(&[times(29, Outcome::Green), vec![red(0, 0, 0)]]),
            Stop::Cap,
        ),
        (
            "2 like reds, 1 green",
            of(&[vec![Outcome::Green], times(2, red(0, 0, 0))]),
            Stop::Mixed,
        ),
        (
            "3 reds that differ, 1 green",
            of(&[vec![Outcome::Green], (0..3).map(|f| red(0, f, 0)).collect()]),
            Stop::GoOn,
        ),
        (
            "4 reds that differ, 1 green",
            of(&[vec![Outcome::Green], (0..4).map(|f| red(0, f, 0)).collect()]),
            Stop::Mixed,
        ),
        (
            "6 reds of three kinds, two of them alike, 1 green",
            of(&[
                vec![Outcome::Green],
                [0, 1, 2, 2, 1, 0].map(|c| red(c, 0, 0)).into(),
            ]),
            Stop::GoOn,
        ),
        (
            "7 reds of three kinds, 1 green",
            of(&[
                vec![Outcome::Green],
                [0, 1, 2, 2, 1, 0, 2].map(|c| red(c, 0, 0)).into(),
            ]),
            Stop::Mixed,
        ),
        ("errored", vec![Outcome::errored("x")], Stop::Errored),
    ];
    for (what, outcomes, expected) in table {
        assert_eq!(stop(&Tally::of(outcomes), MOST_RUNS), *expected, "{what}");
    }
}

/// Lane-facts 4.2: eight exceptions in turn and a green now and then. Stopped at two alike of whatever came
/// before, most of these windows would be candidates; what is left began with two alike.
#[test]
fn failures_that_have_nothing_in_common_are_seldom_a_candidate() {
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % 9
    };
    let mut candidates = 0;
    for _ in 0..2000 {
        let mut tally = Tally::default();
        while stop(&tally, MOST_RUNS) == Stop::GoOn {
            let kind = u8::try_from(draw()).expect("small");
            tally.add(&match kind {
                8 => Outcome::Green,
                kind => red(kind, 0, 0),
            });
        }
        let is_candidate = classify(Scope::Same, &tally).status == Status::FreezeCandidate;
        candidates += u32::from(is_candidate);
    }
    assert!(candidates < 400, "{candidates} of 2000");
}

#[test]
fn no_run_is_started_that_a_window_of_one_colour_does_not_need() {
    let greens = |n| Tally::of(&times(n, Outcome::Green));
    assert!(may_start(&greens(5), 1, MOST_RUNS));
    assert!(!may_start(&greens(5), 2, MOST_RUNS));
    assert!(!may_start(&greens(7), 0, MOST_RUNS));
    let one_red = Tally::of(&of(&[times(6, Outcome::Green), vec![red(0, 0, 0)]]));
    assert!(may_start(&one_red, 1, MOST_RUNS));
    let reds = |n| Tally::of(&times(n, red(0, 0, 0)));
    assert!(may_start(&reds(12), 1, MOST_RUNS));
    assert!(!may_start(&reds(13), 1, MOST_RUNS));
}

/// The figures of lane-facts 6.
#[test]
fn bounds_and_missed_rates_are_those_that_were_measured() {
    let greens = |n| Tally::of(&times(n, Outcome::Green));
    let rate = |tally: &Tally| match Bound::of(tally) {
        Some(Bound::AtMost(rate) | Bound::AtLeast(rate)) => rate,
        None => f64::NAN,
    };
    assert!((rate(&greens(7)) - 0.3482).abs() < 1e-3);
    assert!((rate(&greens(14)) - 0.1926).abs() < 1e-3);
    assert!((rate(&greens(59)) - 0.0495).abs() < 1e-3);
    // 95 % one-sided upper bound of 2 in 10.
    let mixed = Tally::of(&of(&[times(8, Outcome::Green), times(2, red(0, 0, 0))]));
    assert!((rate(&mixed) - 0.5069).abs() < 1e-3);
    for (rate, percent) in [(0.01, 93), (0.05, 70), (0.10, 48), (0.20, 21), (0.35, 5)] {
        assert_eq!((missed(rate, 7) * 100.0).round() as i64, percent);
    }
    assert_eq!(
        Bound::of(&greens(7))
            .expect("runs")
            .sentence(&greens(7), Stop::Greens),
        "7 greens exclude a failure rate above 35 % (one-sided, level 5 %), and no more."
    );
    assert_eq!(Bound::of(&greens(0)), None);
}

#[test]
fn no_sentence_claims_that_a_property_is_right() {
    for reds in 0..=7 {
        let tally = Tally::of(&of(&[
            times(7 - reds, Outcome::Green),
            times(reds, red(0, 0, 0)),
        ]));
        let bound = Bound::of(&tally).expect("runs");
        for stop in [Stop::Greens, Stop::Reds, Stop::Mixed, Stop::Cap] {
            let text = bound.sentence(&tally, stop) + &missed_rates(7);
            for word in [
                "confiden", "correct", "proof", "prove", "certain", "safe", "interval",
            ] {
                assert!(!text.to_lowercase().contains(word), "{text}");
            }
        }
        assert!(
            bound.sentence(&tally, Stop::Mixed).contains("not fixed"),
            "an adaptive stop is told"
        );
    }
}

fn outcomes() -> impl Strategy<Value = Vec<Outcome>> {
    let one = prop_oneof![
        4 => Just(Outcome::Green),
        4 => (0u8..4, 0u8..3, 0u8..3).prop_map(|(c, f, r)| red(c, f, r)),
        1 => Just(Outcome::errored("no report")),
    ];
    proptest::collection::vec(one, 0..32)
}

proptest! {
    #[test]
    fn merge_ok_is_seven_greens_and_nothing_else(runs in outcomes()) {
        let tally = Tally::of(&runs);
        let (status, _) = judged(&runs);
        prop_assert_eq!(
            status == Status::MergeOk,
            tally.green == tally.runs && tally.runs >= 7
        );
    }

    #[test]
    fn a_candidate_has_failed_and_passed_and_failed_alike_twice(runs in outcomes()) {
        let tally = Tally::of(&runs);
        let (status, note) = judged(&runs);
        if status == Status::FreezeCandidate {
            prop_assert!(tally.green >= 1 && tally.red >= 2 && tally.errored == 0);
            let counts = if note == Note::SiteOnly { &tally.coarse } else { &tally.fine };
            prop_assert!(2 * top(counts) >= tally.red && top(counts) >= 2);
        }
        if note == Note::SuspectedRace {
            prop_assert_eq!(status, Status::StableViolation);
        }
    }

    #[test]
    fn an_errored_run_leaves_no_verdict(runs in outcomes()) {
        let errored = runs.iter().any(|run| run.colour() == Colour::Errored);
        prop_assert_eq!(judged(&runs).0 == Status::Errored, errored);
    }

    #[test]
    fn the_order_of_the_runs_does_not_matter(runs in outcomes(), seed in any::<u64>()) {
        let mut shuffled = runs.clone();
        let len = shuffled.len();
        for at in 1..len {
            shuffled.swap(at, (seed as usize).wrapping_mul(at + 7) % (at + 1));
        }
        prop_assert_eq!(judged(&runs), judged(&shuffled));
    }

    #[test]
    fn every_window_ends_and_never_past_its_cap(runs in proptest::collection::vec(any::<(bool, u8)>(), 64), cap in 1usize..40) {
        let mut tally = Tally::default();
        for (green, kind) in runs {
            if stop(&tally, cap) != Stop::GoOn {
                break;
            }
            tally.add(&if green { Outcome::Green } else { red(kind % 4, kind % 3, kind) });
        }
        prop_assert!(stop(&tally, cap) != Stop::GoOn);
        prop_assert!(tally.runs <= cap.max(FIRST_RUNS));
    }

    #[test]
    fn more_greens_exclude_more(n in 1usize..200) {
        let rate = |n| match Bound::of(&Tally::of(&times(n, Outcome::Green))) {
            Some(Bound::AtMost(rate)) => rate,
            _ => 2.0,
        };
        prop_assert!(rate(n + 1) < rate(n));
    }
}
