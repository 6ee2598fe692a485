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
