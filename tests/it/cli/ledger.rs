//! `frostline ledger`: what each contract file is worth.

use super::*;

fn validate(repo: &TestRepo, args: &[&str]) -> Output {
    let mut all = vec!["ledger", "validate"];
    all.extend(args);
    run(repo.path(), &all)
}

#[test]
fn validate_says_what_each_contract_file_is() {
    let config = "version: 1\ncontract:\n  catalog: off\n  seeds: contract/seeds.json\n";
    let repo = opted_in(config, &[ROUNDTRIP]);
    repo.write(
        "tests/seed_freeze.json",
        "{\"schema\": \"seed-freeze-v1\", \"entries\": []}\n",
    );
    repo.commit("Keep a ledger");
    assert_seen!("validate_ok", validate(&repo, &[]));
}

#[test]
fn validate_names_line_and_column_of_each_file_in_error() {
    let repo = opted_in("version: 1\nmod: observe\n", &[]);
    repo.write(
        "test/contract/flake-freeze.json",
        "{\"version\": 1,\n \"entries\": [{}]}\n",
    )
    .remove("test/contract/hunk-map.json");
    repo.commit("Break the contract");
    assert_seen!("validate_errors", validate(&repo, &[]));
    assert_eq!(
        code(&validate(&repo, &["--rev", "main"])),
        1,
        "the configuration was broken before"
    );
}

#[test]
fn validate_reads_commits_unless_the_work_tree_is_asked_for() {
    let repo = opted_in(ENFORCE, &[]);
    repo.write("test/contract/hunk-map.json", "{\"version\": 2}\n");
    assert_eq!(code(&validate(&repo, &[])), 0);
    let output = validate(&repo, &["--worktree"]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("error   hunk map           test/contract/hunk-map.json:1:13: "),
        "{}",
        stdout(&output)
    );
    assert_eq!(code(&validate(&repo, &["--worktree", "--rev", "main"])), 2);
    assert_eq!(code(&validate(&repo, &["--rev", "nowhere"])), 2);
}

#[cfg(unix)]
#[test]
fn validate_takes_a_link_for_no_contract_file() {
    let repo = opted_in(ENFORCE, &[]);
    repo.remove("test/contract/hunk-map.json");
    std::os::unix::fs::symlink(
        "/etc/passwd",
        repo.path().join("test/contract/hunk-map.json"),
    )
    .expect("a link");
    let output = validate(&repo, &["--worktree"]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("expected a regular file, found a symlink"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn nothing_is_needed_where_nobody_has_opted_in() {
    let repo = TestRepo::new();
    repo.write("src/a.py", "x = 1\n");
    repo.commit("Begin");
    let output = validate(&repo, &[]);
    assert_eq!(code(&output), 0);
    assert!(
        stdout(&output)
            .lines()
            .all(|line| line.starts_with("absent ")),
        "{}",
        stdout(&output)
    );
    assert!(
        stderr(&output).contains("this repository has not opted in"),
        "{}",
        stderr(&output)
    );
    let opted_in = validate(&opted_in(ENFORCE, &[]), &[]);
    assert_eq!(stderr(&opted_in), "");
}

const SEEDED: &str = "tests/seed_freeze.json";

/// A repository whose ledger has a row in each state.
fn with_rows() -> TestRepo {
    let repo = opted_in(ENFORCE, &[ROUNDTRIP]);
    let digest = stdout(&run(repo.path(), &["digest", "tests/fixtures"]));
    let digest = digest
        .split_whitespace()
        .next()
        .expect("a digest")
        .to_owned();
    let row = |digest: &str, expires: Option<&str>, reason: &str| {
        serde_json::json!({"nodeid": ROUNDTRIP, "seed": 7, "fixture_digest": digest, "reason": reason,
            "replay": format!("pytest {ROUNDTRIP} --hypothesis-seed=7"), "opened_at": "2026-01-01T00:00:00Z",
            "expires_at": expires, "status": "open", "owner": "@acme/parse"})
    };
    let rows = [
        row(&digest, None, "CLOCK"),
        row(
            &format!("manifest-sha256:{}", "0".repeat(64)),
            None,
            "CLOCK",
        ),
        row(&digest, Some("2026-02-01T00:00:00Z"), "CLOCK"),
        row(&digest, None, "SHRINK"),
    ];
    let ledger = serde_json::json!({"schema": "seed-freeze-v1", "entries": rows});
    repo.write(SEEDED, ledger.to_string());
    repo.write(
        "frozen_tests.txt",
        "range_parser unstable_since=2026-08-29 frozen_runs=3 note=\"TLS\"\n",
    );
    repo.commit("Freeze");
    repo
}

#[test]
fn list_says_what_each_row_is_worth_and_export_prints_it_a_row_a_line() {
    let repo = with_rows();
    let output = run(repo.path(), &["ledger", "list", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let all: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(all["schema"], "frostline.freezes/1");
    let rows = all["rows"].as_array().expect("rows");
    let seeded: Vec<&serde_json::Value> =
        rows.iter().filter(|row| row["source"] == SEEDED).collect();
    let states: Vec<&str> = seeded
        .iter()
        .filter_map(|row| row["state"].as_str())
        .collect();
    assert_eq!(states, ["open", "void", "expired", "invalid"]);
    assert_eq!(seeded[0]["recorded_digest"], seeded[0]["current_digest"]);
    assert_ne!(seeded[1]["recorded_digest"], seeded[1]["current_digest"]);
    assert!(seeded[3]["why"].as_str().expect("why").contains("SHRINK"));
    assert!(
        seeded
            .iter()
            .all(|row| row["owner"] == "@acme/parse" && row["age_days"].as_i64() > Some(300))
    );
    let named = rows
        .iter()
        .find(|row| row["nodeid"] == "range_parser")
        .expect("a frozen test");
    assert_eq!(
        (&named["state"], &named["reason"]),
        (&"unbound".into(), &"TLS".into())
    );

    let output = run(repo.path(), &["ledger", "export"]);
    let lines: Vec<serde_json::Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON object"))
        .collect();
    assert_eq!(lines.len(), rows.len());
    assert!(lines.iter().all(|line| line["commit"] == all["commit"]));

    let text = stdout(&run(repo.path(), &["ledger", "list"]));
    assert!(text.contains("void     tests/properties/"), "{text}");
    assert!(
        text.ends_with("6 rows, 3 of them without effect on the vote\n"),
        "{text}"
    );
}

#[test]
fn list_does_not_pass_over_a_file_that_it_cannot_read() {
    let repo = with_rows();
    repo.write(SEEDED, "{}");
    repo.commit("Break the ledger");
    for args in [&["ledger", "list"][..], &["ledger", "export"]] {
        let output = run(repo.path(), args);
        assert_eq!(code(&output), 2);
        assert!(
            stderr(&output).contains("the key `schema` is missing"),
            "{}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
    assert_eq!(
        code(&run(repo.path(), &["ledger", "list", "--rev", "HEAD~1"])),
        0
    );
}

/// The seed ledger with rows about these digests.
fn ledger_of(digests: &[&str]) -> String {
    let rows: Vec<serde_json::Value> = digests
        .iter()
        .map(|digest| {
            serde_json::json!({"nodeid": ROUNDTRIP, "seed": 7, "fixture_digest": digest, "reason": "CLOCK",
                "replay": format!("pytest {ROUNDTRIP} --hypothesis-seed=7"), "opened_at": "2026-01-01T00:00:00Z",
                "expires_at": null, "status": "open", "owner": "@acme/parse"})
        })
        .collect();
    serde_json::json!({"schema": "seed-freeze-v1", "entries": rows}).to_string()
}

fn stats(repo: &TestRepo, args: &[&str]) -> serde_json::Value {
    let mut all = vec!["ledger", "stats", "--format", "json"];
    all.extend(args);
    let output = run(repo.path(), &all);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// Two commits opt in and freeze, a third changes the fixture that the row is about.
fn with_history() -> TestRepo {
    let repo = opted_in(ENFORCE, &[]);
    let digest = stdout(&run(repo.path(), &["digest", "tests/fixtures"]));
    let digest = digest.split_whitespace().next().expect("a digest");
    repo.write(SEEDED, ledger_of(&[digest]));
    repo.commit("Freeze");
    repo.write("src/parse.py", "def parse(text):\n    return []\n");
    repo.commit("Patch");
    repo.write("tests/fixtures/a.json", "{\"a\": 1}\n");
    repo.commit("Change the fixture");
    repo
}

#[test]
fn stats_follows_rows_corpus_and_void_rows_through_the_history() {
    let repo = with_history();
    let all = stats(&repo, &["--since", "2000-01-01"]);
    assert_eq!(all["schema"], "frostline.stats/1");
    let commits: u64 = repo
        .git(&["rev-list", "--count", "HEAD"])
        .parse()
        .expect("a number");
    assert_eq!(all["patches"], commits);
    assert_eq!(all["rows"], serde_json::json!({"first": 0, "last": 1}));
    assert_eq!(
        (&all["added"], &all["closed"], &all["voided"]),
        (&1.into(), &0.into(), &1.into())
    );
    let rate = all["voided_per_100_patches"].as_f64().expect("a rate");
    assert!((rate - 100.0 / commits as f64).abs() < 1e-9, "{rate}");
    // No corpus, no number of it.
    assert!(all["corpus"].is_null());
    let since = all["void"][0]["since"].as_str().expect("a time");
    let voided = repo.git(&["log", "-1", "--format=%ct"]);
    let since = chrono::DateTime::parse_from_rfc3339(since).expect("a time");
    assert_eq!(since.timestamp().to_string(), voided);

    // Restored, and a row closed.
    repo.write("tests/fixtures/a.json", "{}\n").write(
        "test/contract/seeds.json",
        "{\"version\": 1, \"seeds\": {\"tests/a.py::b\": [1, 2]}}\n",
    );
    repo.commit("Restore the fixture, begin a corpus");
    let again = stats(&repo, &["--since", "2000-01-01"]);
    assert_eq!(
        (&again["reopened"], &again["void"]),
        (&1.into(), &serde_json::json!([]))
    );
    assert_eq!(again["corpus"], serde_json::json!({"first": 0, "last": 2}));
    repo.write(SEEDED, ledger_of(&[]));
    repo.commit("Close");
    let last = stats(&repo, &["--since", "2000-01-01"]);
    assert_eq!(
        (&last["closed"], &last["rows"]["last"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn stats_counts_the_shrink_blocks_that_were_written_down() {
    let repo = with_history();
    let day = "2000-01-01";
    let block = |seed: u8, status: &str| serde_json::json!({"nodeid": ROUNDTRIP, "seed": seed, "reason": "SHRINK", "status": status});
    let write = |rows: &[serde_json::Value]| {
        let ledger = serde_json::json!({"schema": "seed-freeze-v1", "entries": rows});
        repo.write(SEEDED, ledger.to_string());
        repo.commit("Write blocks down");
    };
    assert_eq!(stats(&repo, &["--since", day])["shrink_blocks"], 0);
    write(&[block(1, "open"), block(2, "closed")]);
    write(&[block(2, "closed")]);
    let all = stats(&repo, &["--since", day]);
    assert_eq!(all["shrink_blocks"], 2);
    let patches = all["patches"].as_f64().expect("a number");
    let rate = all["shrink_blocks_per_100_patches"].as_f64();
    assert!((rate.expect("a rate") - 200.0 / patches).abs() < 1e-9);
    let text = stdout(&run(repo.path(), &["ledger", "stats", "--since", day]));
    assert!(text.contains("\nshrunk    2, "), "{text}");
    let said = |text: &str| text.contains("no BLOCK_SHRINK was written down");
    assert!(!said(&text), "{text}");
}

#[test]
fn stats_points_out_void_rows_and_a_ledger_that_outgrows_the_corpus() {
    let repo = with_history();
    repo.write(
        "test/contract/seeds.json",
        "{\"version\": 1, \"seeds\": {}}\n",
    );
    repo.commit("Begin a corpus");
    let text = |args: &[&str]| {
        let mut all = vec!["ledger", "stats"];
        all.extend(args);
        stdout(&run(repo.path(), &all))
    };
    let shown = text(&["--since", "2000-01-01"]);
    assert!(
        shown.contains("! the ledger grows faster than the corpus (+1 rows, +0 seeds)"),
        "{shown}"
    );
    assert!(shown.contains("owner @acme/parse"), "{shown}");
    // Nothing landed in the window: no rate, and the row has been void since before it.
    let quiet = text(&[]);
    assert!(quiet.starts_with("0 patches, from "), "{quiet}");
    assert!(quiet.contains("\nvoided    0\n"), "{quiet}");
    assert!(quiet.contains("  at least "), "{quiet}");
    let output = run(repo.path(), &["ledger", "stats", "--since", "2999-01-01"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("in the future"),
        "{}",
        stderr(&output)
    );
    let output = run(repo.path(), &["ledger", "stats", "--since", "yesterday"]);
    assert_eq!(code(&output), 2);
}

#[test]
fn stats_passes_over_a_commit_whose_contract_cannot_be_read_and_says_so() {
    let repo = with_history();
    repo.write(SEEDED, "{}");
    repo.commit("Break the ledger");
    let output = run(repo.path(), &["ledger", "stats"]);
    assert_eq!(code(&output), 2);
    repo.write(SEEDED, ledger_of(&[]));
    repo.commit("Mend it");
    let output = run(repo.path(), &["ledger", "stats", "--since", "2000-01-01"]);
    assert_eq!(code(&output), 0);
    assert!(
        stderr(&output).contains("cannot be read at 1 commit;"),
        "{}",
        stderr(&output)
    );
}
