use super::failure::function_at;
use super::*;
use crate::lane::model::Failure;
use crate::lane::process::How;

const ID: &str = "src/lib.rs::tests::t";

fn asked(node: &NodeId) -> Asked<'_> {
    Asked {
        node,
        path: "tests::t".to_owned(),
        whole: true,
        nextest: false,
        tree: Path::new("/nowhere"),
        root: Path::new(""),
    }
}

fn judged(text: &str, how: How) -> Outcome {
    let node: NodeId = ID.parse().expect("a node id");
    let ended = Ended {
        how,
        output: text.to_owned(),
        written: 0,
        wall_ms: 9,
    };
    judge(&asked(&node), &ended)
}

fn text(inside: &str, end: &str) -> String {
    format!(
        "\nrunning 1 test\n{inside}\n\ntest result: {end}; 0 measured; 2 filtered out; finished in 0.00s\n\n"
    )
}

const PASSED: &str = "ok. 1 passed; 0 failed; 0 ignored";
const FAILS: &str = "FAILED. 0 passed; 1 failed; 0 ignored";

#[test]
fn only_the_report_and_the_exit_status_together_make_a_green() {
    for inside in [
        "test tests::t ... ok",
        "some words of its owntest tests::t ... ok",
        "test tests::t - should panic ... ok",
    ] {
        let green = text(inside, PASSED);
        assert_eq!(judged(&green, How::Exit(0)), Outcome::Green, "{inside}");
    }
    let green = text("test tests::t ... ok", PASSED);
    let table: &[(String, How, &str)] = &[
        (String::new(), How::Exit(0), "no end"),
        (
            "running 1 test\n".to_owned(),
            How::Exit(0),
            "left without its harness",
        ),
        (
            "running 1 test\n".to_owned(),
            How::Exit(101),
            "left without its harness",
        ),
        (green.clone(), How::Exit(101), "do not agree"),
        (green.clone(), How::Exit(139), "signal 11"),
        (green.clone(), How::Signal(6), "signal 6"),
        (green.clone(), How::TimedOut, "9 ms"),
        (format!("{green}{green}"), How::Exit(0), "another test"),
        (
            text("test tests::u ... ok", PASSED),
            How::Exit(0),
            "another test",
        ),
        (
            text("test x::tests::t ... ok", PASSED),
            How::Exit(0),
            "another test",
        ),
        (
            text("", "ok. 0 passed; 0 failed; 0 ignored"),
            How::Exit(0),
            "no such test",
        ),
        (
            text(
                "test tests::t ... ignored, slow",
                "ok. 0 passed; 0 failed; 1 ignored",
            ),
            How::Exit(0),
            "ignored: slow",
        ),
        (
            text("test tests::t ... FAILED", FAILS),
            How::Exit(0),
            "do not agree",
        ),
        (
            text("test tests::t ... ok", "ok. many"),
            How::Exit(0),
            "damaged",
        ),
        (
            text(
                "proptest: The env-var PROPTEST_RNG_SEED=-3 can't be parsed as u64, using default of random.\ntest tests::t ... ok",
                PASSED,
            ),
            How::Exit(0),
            "seed was not taken",
        ),
        (
            text(
                "proptest: Ignoring unknown env-var PROPTEST_RNG_SEED.\ntest tests::t ... FAILED",
                FAILS,
            ),
            How::Exit(101),
            "seed was not taken",
        ),
    ];
    for (text, how, why) in table {
        match judged(text, *how) {
            Outcome::Errored { why: said } => assert!(said.contains(why), "{why}: {said}"),
            other => panic!("{why}: {other:?}"),
        }
    }
}

fn failed(inside: &str) -> Failure {
    let text = text(
        &format!("{inside}\ntest tests::t ... FAILED\n\nfailures:\n\nfailures:\n    tests::t"),
        FAILS,
    );
    match judged(&text, How::Exit(101)) {
        Outcome::Red(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_is_the_last_panic_of_the_tests_own_thread() {
    let failure = failed(
        "\nthread 'tests::t' (7) panicked at src/lib.rs:4:52:\nnothing there\n  left: 1\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\nthread '<unnamed>' (8) panicked at src/other.rs:1:1:\nlater",
    );
    assert_eq!(failure.message, "nothing there\n  left: 1");
    assert_eq!(failure.kinds(), ["panic"]);
    assert_eq!(failure.example, None);
    assert_eq!(failure.frames.len(), 1);
    assert_eq!(failure.frames[0].function, "t");
}

#[test]
fn a_property_fails_with_its_smallest_input() {
    let failure = failed(
        "\nthread 'tests::t' (7) panicked at src/lib.rs:1:27:\ntoo big 1000\n\nthread 'tests::t' (7) panicked at tests/props.rs:2:1:\nTest failed: too big 1000.\nminimal failing input: x = 1000, v = [\n    1,\n]\n\tsuccesses: 0\n\tlocal rejects: 0\n\tglobal rejects: 0\n",
    );
    assert_eq!(failure.message, "too big 1000");
    assert_eq!(failure.kinds(), ["TestError::Fail", "panic"]);
    assert_eq!(
        failure.example.as_deref(),
        Some("x = 1000, v = [\n    1,\n]")
    );
    let aborted = failed(
        "\nthread 'tests::t' (7) panicked at tests/props.rs:2:1:\nTest aborted: Too many global rejects\n\tsuccesses: 0\n",
    );
    assert_eq!(aborted.kinds(), ["TestError::Abort"]);
    assert_eq!(aborted.message, "Too many global rejects");
}

#[test]
fn quickcheck_tells_its_arguments() {
    let failure = failed(
        "\nthread 'tests::t' (7) panicked at /r/quickcheck-1.1.0/src/tester.rs:165:28:\n[quickcheck] TEST FAILED. Arguments: (7, [])\n",
    );
    assert_eq!(failure.example.as_deref(), Some("(7, [])"));
    assert_eq!(failure.message, "[quickcheck] TEST FAILED");
}

#[test]
fn other_ways_to_fail_are_told_too() {
    let result = failed("Error: \"bad thing\"");
    assert_eq!(
        (result.kinds(), result.message.as_str()),
        (vec!["Error"], "\"bad thing\"")
    );
    let not = failed(
        "---- tests::t stdout ----\nnote: test did not panic as expected at src/lib.rs:6:32",
    );
    assert_eq!(not.kinds(), ["should_panic"]);
    assert!(not.message.starts_with("test did not panic"));
}

#[test]
fn a_stored_line_may_name_the_test_below_modules() {
    let node: NodeId = "src/lex.rs::tests::t".parse().expect("a node id");
    let asked = Asked {
        whole: false,
        ..asked(&node)
    };
    let other = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out\n";
    let output = format!(
        "{other}{}{other}",
        text("test lex::tests::t ... ok", PASSED)
    );
    let ended = Ended {
        how: How::Exit(0),
        output,
        written: 0,
        wall_ms: 1,
    };
    assert_eq!(judge(&asked, &ended), Outcome::Green);
}

#[test]
fn a_stored_line_of_nextest_is_read_by_its_own_words() {
    let node: NodeId = "src/lex.rs::tests::t".parse().expect("a node id");
    let asked = Asked {
        whole: false,
        nextest: true,
        ..asked(&node)
    };
    let judged = |output: &str, status| {
        let ended = Ended {
            how: How::Exit(status),
            output: output.to_owned(),
            written: 0,
            wall_ms: 1,
        };
        judge(&asked, &ended)
    };
    let green = "        PASS [   0.015s] (1/1) p lex::tests::t\n     Summary [   0.015s] 1 test run: 1 passed, 3 skipped\n";
    assert_eq!(judged(green, 0), Outcome::Green);
    let red = "    running 1 test\n    thread 'lex::tests::t' (1) panicked at src/lex.rs:1:2:\n    Test failed: no.\n    minimal failing input: x = 1\n    successes: 0\n    test lex::tests::t ... FAILED\n    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n";
    match judged(red, 100) {
        Outcome::Red(failure) => assert_eq!(failure.example.as_deref(), Some("x = 1")),
        other => panic!("{other:?}"),
    }
    for (output, status) in [
        (green, 4),
        (green, 100),
        (red, 0),
        (&*green.replace("lex::tests::t", "lex::tests::u"), 0),
        (&*green.replace("1 test run: 1", "2 tests run: 2"), 0),
    ] {
        let errored = matches!(judged(output, status), Outcome::Errored { .. });
        assert!(errored, "{status} {output}");
    }
}

#[test]
fn a_list_holds_exactly_the_test() {
    let node: NodeId = ID.parse().expect("a node id");
    let list = |output: &str, how| {
        let ended = Ended {
            how,
            output: output.to_owned(),
            written: 0,
            wall_ms: 1,
        };
        listed(&asked(&node), &ended)
    };
    assert_eq!(list("tests::t: test\n", How::Exit(0)), Ok(()));
    for (output, status) in [
        ("", 0),
        ("tests::u: test\n", 0),
        ("tests::t: test\ntests::t2: test\n", 0),
        ("tests::t: benchmark\n", 0),
        ("tests::t: test\n", 1),
    ] {
        assert!(
            list(output, How::Exit(status)).is_err(),
            "{output} {status}"
        );
    }
}

#[test]
fn a_stream_is_the_inputs_and_nothing_else() {
    let one =
        stream("proptest: Next test input: x = 1\nnoise 1\nproptest: Next test input: x = 2\n");
    let same =
        stream("proptest: Next test input: x = 1\nother\nproptest: Next test input: x = 2\n");
    assert_eq!((one.values, &one), (2, &same));
    assert_ne!(one, stream("proptest: Next test input: x = 1\n"));
    assert_eq!(stream("").values, 0);
}

#[test]
fn the_function_of_a_line_is_the_last_that_began() {
    let text = "fn a() {\n    x\n}\n// fn no() {\npub(crate) const fn b_2<T>() {\n    y\n}\nlet often = 1;\n";
    for (line, name) in [
        (1, Some("a")),
        (2, Some("a")),
        (4, Some("a")),
        (6, Some("b_2")),
        (8, Some("b_2")),
        (0, None),
    ] {
        assert_eq!(function_at(text, line).as_deref(), name, "{line}");
    }
}
