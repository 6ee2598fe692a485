use proptest::prelude::*;
use regex::Regex;

use super::super::model::{Frame, Phase};
use super::normalise::{AFTER_HEX, BEFORE_HEX, MASKS};
use super::*;

fn failure(exceptions: &[&str], message: &str) -> Failure {
    Failure {
        phase: Phase::Call,
        exceptions: exceptions.iter().map(|&name| name.to_owned()).collect(),
        frames: vec![
            Frame {
                file: "tests/test_a.py".to_owned(),
                function: "test_a".to_owned(),
                line: 3,
            },
            Frame {
                file: "src/a.py".to_owned(),
                function: "parse".to_owned(),
                line: 9,
            },
        ],
        message: message.to_owned(),
        example: None,
    }
}

#[test]
fn every_rule_is_a_regular_expression() {
    for (pattern, _) in BEFORE_HEX.iter().chain(AFTER_HEX).chain(MASKS) {
        assert!(Regex::new(pattern).is_ok(), "{pattern}");
    }
}

/// lane-facts 4.1, rule by rule.
#[test]
fn what_varies_by_itself_is_taken_out() {
    let table = [
        ("\x1b[31mred\x1b[0m", "red"),
        ("#x1B[1m#x1B[31mE x", "E x"),
        (
            "[Errno 111] Connection refused",
            "[Errno 111] Connection refused",
        ),
        ("assert 'aaa...zzz' == 'b'", "assert <STR> == 'b'"),
        (
            "id 123e4567-e89b-12d3-a456-426614174000 gone",
            "id <UUID> gone",
        ),
        ("at 2026-11-30T12:00:01.5Z late", "at <TIME> late"),
        ("took until 12:00:01 today", "took until <TIME> today"),
        ("<object at 0x7f1c2b3a4d50>", "<object at <ADDR>>"),
        (
            "thread 'main' (4400) panicked",
            "thread 'main' <TID> panicked",
        ),
        ("bad Falsifying example: t(x=3)", "bad <CEX>"),
        ("no /tmp/pytest-of-root/x-1 there", "no <TMP> there"),
        ("no file tmpab12cd_9", "no file <TMP>"),
        ("no /home/ada/x there", "no <HOME>/x there"),
        ("src/lib.rs:12:3 bad", "src/lib.rs:<L> bad"),
        ("at line 12 of it", "at line <L> of it"),
        (
            "connect 127.0.0.1:40123 refused",
            "connect <N>.<N>:<PORT> refused",
        ),
        ("no port 8080 free", "no port <PORT> free"),
        ("took 1.25 ms, of 200ms", "took <DUR>, of <DUR>"),
        ("process 4711 died", "process <N> died"),
        ("blob deadbeefcafe1 lost", "blob <HEX> lost"),
        // A hexadecimal rule without the letter would eat this decimal.
        ("assert 123456789012345 == 3", "assert <N> == <N>"),
        ("assert 3 == -4.5e-7", "assert <N> == <N>"),
        ("list [1, 2, 30] and [7]", "list [<N>*] and [<N>]"),
        ("v14 and utf8 and sha256_x", "v14 and utf8 and sha256_x"),
        ("a \t  b", "a b"),
        ("\n\n  first\nsecond", "first"),
    ];
    for (message, expected) in table {
        assert_eq!(normalised(message), expected, "{message:?}");
    }
    assert_eq!(normalised(&"é".repeat(1000)).chars().count(), 300);
}

/// The first version used the whole message: diff lines made nearly every failure distinct.
#[test]
fn only_the_first_line_makes_a_failure_distinct() {
    let one = Signature::of(&failure(&["AssertionError"], "assert 1 == 2\n  - 1\n  + 2"));
    let two = Signature::of(&failure(&["AssertionError"], "assert 3 == 4\n  - 3\n  + 4"));
    assert_eq!(one.fine, two.fine);
    assert_eq!(one.id(), two.id());
    assert_ne!(one.raw, two.raw);
}

#[test]
fn coarse_is_phase_types_and_the_deepest_function_of_the_repository() {
    let flaky = failure(
        &[
            "FlakyFailure",
            "ExceptionGroup",
            "ValueError",
            "AssertionError",
        ],
        "x",
    );
    let signature = Signature::of(&flaky);
    assert_eq!(
        signature.coarse,
        "call | AssertionError+ValueError @ src/a.py::parse"
    );
    assert!(flaky.is_flaky_by_its_framework());
    let mut bare = failure(&["hypothesis.errors.FlakyFailure"], "x");
    bare.frames.clear();
    assert_eq!(
        Signature::of(&bare).coarse,
        "call | hypothesis.errors.FlakyFailure @ -"
    );
}

#[test]
fn no_line_number_of_a_frame_is_in_a_signature() {
    let mut moved = failure(&["ValueError"], "x");
    let before = Signature::of(&moved);
    for frame in &mut moved.frames {
        frame.line += 40;
    }
    assert_eq!(Signature::of(&moved), before);
}

#[test]
fn raw_masks_addresses_temporary_names_and_durations_only() {
    let raw = |message| Signature::of(&failure(&["E"], message)).raw;
    assert_eq!(
        raw("at 0x7f00 in /tmp/a1 for 3 ms"),
        raw("at 0x8f00 in /tmp/b2 for 9 ms")
    );
    assert_ne!(raw("sum is 41"), raw("sum is 42"));
    let with = |example: &str| {
        let mut failure = failure(&["E"], "x");
        failure.example = Some(example.to_owned());
        Signature::of(&failure).raw
    };
    assert_ne!(with("t(x=1)"), with("t(x=2)"));
}

proptest! {
    #[test]
    fn any_message_has_one_bounded_line(message in "\\PC{0,400}(\n\\PC{0,40})?") {
        let line = normalised(&message);
        prop_assert!(line.chars().count() <= 300);
        prop_assert!(!line.contains('\n'));
    }

    #[test]
    fn numbers_never_tell_two_failures_apart(a in any::<i64>(), b in any::<i64>()) {
        let of = |n: i64| normalised(&format!("assert {n} == total, got ({n}, {n})"));
        prop_assert_eq!(of(a), of(b));
    }
}
