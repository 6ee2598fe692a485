use proptest::prelude::*;

use super::*;

const INVOICE: &str = "tests/test_invoice_total.py::test_total_non_negative";

fn parse_for(line: &str, nodeid: &str, seed: Option<Seed>) -> Result<Replay, String> {
    let runners: Vec<String> = ["cargo", "go", "vitest", "jest", "node", "npx", "ctest"]
        .map(str::to_owned)
        .to_vec();
    let nodeid: NodeId = nodeid.parse().expect("a node id");
    parse(
        line,
        Subject {
            nodeid: &nodeid,
            seed: seed.as_ref(),
            runners: &runners,
        },
    )
}

fn invoice(line: &str) -> Result<Replay, String> {
    parse_for(line, INVOICE, Some(Seed::Integer(1_847_912_033)))
}

#[test]
fn the_forms_of_the_seed_are_accepted() {
    for line in [
        "pytest tests/test_invoice_total.py::test_total_non_negative --hypothesis-seed=1847912033",
        "pytest tests/test_invoice_total.py::test_total_non_negative --hypothesis-seed=1847912033 --hypothesis-show-statistics",
        "pytest 'tests/test_invoice_total.py::test_total_non_negative' --hypothesis-seed 1847912033",
        "TZ=UTC LC_ALL=C.UTF-8 PYTHONHASHSEED=0 pytest -q -p no:randomly -p no:cacheprovider --hypothesis-profile=default \
         \"tests/test_invoice_total.py::test_total_non_negative\" --hypothesis-seed=1847912033 -n0",
        "pytest\ttests/test_invoice_total.py::test_total_non_negative --randomly-seed=1847912033 -p randomly",
    ] {
        assert!(invoice(line).is_ok(), "{line}: {:?}", invoice(line));
    }
}

#[test]
fn a_line_is_taken_apart_without_expansion() {
    let found = invoice(
        r#"TZ='Europe/a "b"' LC_ALL="C\"x\a" pytest 'tests/test_invoice_total.py'::test_total\_non_negative --hypothesis-seed=1847912033"#,
    )
    .expect("a replay line");
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        found.variables,
        [
            variable("TZ", "Europe/a \"b\""),
            variable("LC_ALL", "C\"x\\a")
        ]
    );
    assert_eq!(
        found.words,
        ["pytest", INVOICE, "--hypothesis-seed=1847912033"]
    );
}

#[test]
fn what_a_shell_would_take_for_its_own_is_refused() {
    let good = format!("pytest {INVOICE} --hypothesis-seed=1847912033");
    for (more, words) in [
        ("; rm -rf .", "unquoted `;`"),
        (" | sh", "unquoted `|`"),
        (" & ", "unquoted `&`"),
        (" < x", "unquoted `<`"),
        (" > x", "unquoted `>`"),
        (" $HOME", "`$` outside single quotes"),
        (" \"$(id)\"", "`$` outside single quotes"),
        (" \\$x", "`$` outside single quotes"),
        (" `id`", "outside single quotes"),
        (" \"`id`\"", "outside single quotes"),
        ("\n--x", "a line end"),
        ("\\\n", "a line end"),
        (" '\n'", "a line end"),
        ("\u{0}", "control character"),
        (" # x", "a comment"),
        (" 'x", "a single quote is not closed"),
        (" \"x", "a double quote is not closed"),
        (" \\", "ends with a backslash"),
    ] {
        let said = invoice(&format!("{good}{more}")).expect_err(more);
        assert!(said.contains(words), "{more:?}: {said}");
    }
}

#[test]
fn what_is_not_on_a_list_is_refused() {
    for (line, words) in [
        ("", "names no runner"),
        ("TZ=UTC", "names no runner"),
        (
            "PYTHONPATH=evil pytest X --hypothesis-seed=S",
            "may not set \"PYTHONPATH\"",
        ),
        (
            "PROPTEST_CASES=1 pytest X --hypothesis-seed=S",
            "may not set",
        ),
        (
            "'TZ=UTC' pytest X --hypothesis-seed=S",
            "is no allowed runner",
        ),
        ("/bin/pytest X --hypothesis-seed=S", "is no allowed runner"),
        ("sh -c pytest X --hypothesis-seed=S", "is no allowed runner"),
        (
            "python -m pytest X --hypothesis-seed=S",
            "is no allowed runner",
        ),
        ("pytest X", "does not state the row's seed"),
        ("pytest --hypothesis-seed=S", "does not name the row's test"),
        (
            "pytest tests/test_invoice_total.py --hypothesis-seed=S",
            "is no word",
        ),
        ("pytest X[1] --hypothesis-seed=S", "is no word"),
        ("pytest X --hypothesis-seed=7", "another seed"),
        (
            "pytest X --hypothesis-seed=S --randomly-seed=7",
            "another seed",
        ),
        (
            "PROPTEST_RNG_SEED=7 pytest X --hypothesis-seed=S",
            "another seed",
        ),
        ("pytest X --hypothesis-seed=+S", "another seed"),
        ("pytest X --hypothesis-seed", "lacks its value"),
        ("pytest X --hypothesis-seed=S -p evil", "is no value"),
        ("pytest X --hypothesis-seed=S -pevil", "is no value"),
        ("pytest X --hypothesis-seed=S -p no:../x", "is no value"),
        ("pytest X --hypothesis-seed=S --rootdir=/tmp", "is no word"),
        ("pytest X --hypothesis-seed=S -c evil.ini", "is no word"),
        ("pytest X --hypothesis-seed=S --deselect X", "is no word"),
        (
            "pytest X --hypothesis-seed=S --hypothesis-profile=--x",
            "is no value",
        ),
        ("pytest X --hypothesis-seed=S TZ=UTC", "is no word"),
    ] {
        let line = line
            .replace('X', INVOICE)
            .replace("=S", "=1847912033")
            .replace("+S", "+1847912033");
        let said = invoice(&line).expect_err(&line);
        assert!(said.contains(words), "{line}: {said}");
    }
    let long = format!("pytest {}", "x".repeat(5_000));
    assert!(invoice(&long).expect_err("long").contains("longer than"));
}

#[test]
fn other_runners_have_selectors_of_their_own() {
    let seed = || Some(Seed::Integer(9));
    let rust = "crates/p/src/lex.rs::tests::roundtrip";
    let go = "pkg/x_test.go::TestX::a.b";
    let web = r"web/sum.test.ts::outer::adds \:\: up";
    for (line, nodeid) in [
        (
            "PROPTEST_RNG_SEED=9 cargo test -p p lex::tests::roundtrip -- --exact",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo test -p p --bin tool lex::tests::roundtrip -- --exact",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo nextest run -E 'binary_id(p::p) & test(=lex::tests::roundtrip)'",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo nextest run -E 'test(=tests::roundtrip)'",
            rust,
        ),
        (
            r"go test -run '^TestX$/^a\.b$' -count=1 ./pkg -rapid.seed=9 -rapid.nofailfile",
            go,
        ),
        (
            r"FC_SEED=9 vitest run web/sum.test.ts -t '^outer > adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 jest -i web/sum.test.ts -t '^outer adds \:\: up$'",
            web,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo test --locked --all-features -F a,b --test lex -j2 -- --exact tests::roundtrip \
             --nocapture --test-threads=1",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo nextest run --profile ci --run-ignored all --no-capture -E 'test(=tests::roundtrip)'",
            rust,
        ),
        (
            r"go test -run='^TestX$/^a\.b$' -count=1 -race -short -timeout=30s -tags=a,b -mod=vendor -vet=off ./pkg -rapid.seed=9",
            go,
        ),
        (
            r"FC_SEED=9 npx vitest run web/sum.test.ts --pool=forks --reporter verbose --maxWorkers=1 -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 npx jest --runInBand --ci --runTestsByPath web/sum.test.ts --testNamePattern='^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 node --test --test-name-pattern='^adds \:\: up$' --test-reporter=tap web/sum.test.ts",
            web,
        ),
        (
            r"FC_SEED=9 node --test --test-name-pattern '^outer adds \:\: up$' web/sum.test.ts",
            web,
        ),
        (
            r"FC_SEED=9 vitest run web/t.js -t '^sums \[a\]$'",
            "web/t.js::sums [a]",
        ),
        (
            r"FC_SEED=9 jest -i web/t.js -t '^sums \[a\]( \(with seed=-?\d+\))?$'",
            "web/t.js::sums [a]",
        ),
        ("ctest tests/a.cpp::parses --seed=9", "tests/a.cpp::parses"),
        ("ctest tests/a.cpp::parses 9", "tests/a.cpp::parses"),
    ] {
        let found = parse_for(line, nodeid, seed());
        assert!(found.is_ok(), "{line}: {found:?}");
    }
    for (line, nodeid) in [
        ("PROPTEST_RNG_SEED=9 cargo run lex::tests::roundtrip", rust),
        ("PROPTEST_RNG_SEED=9 cargo test roundtrip", rust),
        ("PROPTEST_RNG_SEED=9 cargo test xtests::roundtrip", rust),
        (
            "PROPTEST_RNG_SEED=9 cargo nextest run -E 'test(=tests::roundtrip) | all()'",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo nextest run -E 'binary_id(p) | all() & test(=tests::roundtrip)'",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo --config evil test tests::roundtrip",
            rust,
        ),
        ("go test -run TestX -count=1 ./pkg -rapid.seed=9", go),
        (
            r"go test -run '^TestX$/^a\.b$' -exec evil -rapid.seed=9",
            go,
        ),
        ("FC_SEED=9 vitest run web/sum.test.ts -t outer", web),
        (
            r"FC_SEED=9 npx evil vitest run web/sum.test.ts -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 npx -y vitest run web/sum.test.ts -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 vitest run web/sum.test.ts --reporter=evil -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 vitest run web/sum.test.ts --pool ./evil.js -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 vitest run web/sum.test.ts --retry=3 -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 jest web/sum.test.ts --setupFilesAfterEnv evil.js -t '^outer adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 node --import ./evil.mjs --test --test-name-pattern='^adds \:\: up$' web/sum.test.ts",
            web,
        ),
        (
            r"FC_SEED=9 node --test --import ./evil.mjs --test-name-pattern='^adds \:\: up$' web/sum.test.ts",
            web,
        ),
        (
            r"FC_SEED=9 node web/sum.test.ts --test-name-pattern='^adds \:\: up$'",
            web,
        ),
        (
            r"FC_SEED=9 node --test --test-name-pattern='^adds' web/sum.test.ts",
            web,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo nextest run --retries 3 -E 'test(=tests::roundtrip)'",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo test --manifest-path /tmp/evil/Cargo.toml tests::roundtrip",
            rust,
        ),
        (
            "PROPTEST_RNG_SEED=9 cargo test tests::roundtrip --features a,,b",
            rust,
        ),
        (
            r"go test -run '^TestX$/^a\.b$' -tags a,-exec=evil -rapid.seed=9",
            go,
        ),
        (r"go test -run '^TestX$/^a\.b$' -rapid.seed=9 ./other", go),
        ("FC_SEED=9 vitest run web/sum.test.ts --config evil.js", web),
        (
            "unknown tests/a.cpp::parses --seed=9",
            "tests/a.cpp::parses",
        ),
    ] {
        assert!(parse_for(line, nodeid, seed()).is_err(), "{line}");
    }
}

#[test]
fn a_row_without_a_seed_asks_for_none_and_hex_is_compared_as_hex() {
    let hex = Some(Seed::Hex("0xDEADbeef".to_owned()));
    let line = |seed: &str| format!("pytest {INVOICE} --hypothesis-seed={seed}");
    assert!(parse_for(&format!("pytest {INVOICE}"), INVOICE, None).is_ok());
    assert!(parse_for(&line("12"), INVOICE, None).is_ok());
    assert!(parse_for(&line("deadBEEF"), INVOICE, hex.clone()).is_ok());
    assert!(parse_for(&line("3735928559"), INVOICE, hex).is_err());
    assert!(parse_for(&line("-4"), INVOICE, Some(Seed::Integer(-4))).is_ok());
}

proptest! {
    /// Whatever stands between single quotes comes out as it is.
    #[test]
    fn quoting_keeps_words_whole(words in prop::collection::vec("[ -&(-~é]{0,12}", 1..6)) {
        let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let split = words::split(&line.join(" ")).expect("quoted words");
        let split: Vec<String> = split.into_iter().map(|word| word.text).collect();
        prop_assert_eq!(split, words);
    }

    /// A line that is accepted holds no character by which a shell would do more than start the runner.
    #[test]
    fn no_accepted_line_has_a_word_that_is_not_known(more in "[ -~]{0,20}") {
        let line = format!("pytest {INVOICE} --hypothesis-seed=1847912033 {more}");
        if let Ok(found) = invoice(&line) {
            for word in &found.words[3..] {
                let known = word == INVOICE || word == "1847912033" || word.starts_with('-')
                    || word.starts_with("no:") || word.bytes().all(|b| b.is_ascii_alphanumeric());
                prop_assert!(known, "{word}");
            }
        }
    }
}
