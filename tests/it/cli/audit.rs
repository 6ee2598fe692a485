//! `frostline audit`: one commit by its own contract.

use serde_json::Value;

use super::*;

fn audit(repo: &TestRepo, args: &[&str]) -> Output {
    let mut all = vec!["audit"];
    all.extend(args);
    run(repo.path(), &all)
}

fn rules(repo: &TestRepo) -> Vec<(String, String, Option<String>)> {
    let output = audit(repo, &["--format", "json"]);
    let decision: Value = serde_json::from_slice(&output.stdout).expect("a decision");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    decision["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|finding| {
            let rule = text(&finding["rule"]).expect("a rule");
            let effect = text(&finding["effect"]).expect("an effect");
            (rule, effect, text(&finding["path"]))
        })
        .collect()
}

fn found(repo: &TestRepo, rule: &str, effect: &str, path: Option<&str>) -> bool {
    let wanted = (rule.to_owned(), effect.to_owned(), path.map(str::to_owned));
    rules(repo).contains(&wanted)
}

#[test]
fn audit_passes_a_commit_whose_production_is_guarded() {
    let repo = opted_in(ENFORCE, &[]);
    assert_seen!("audit_pass", audit(&repo, &[]));
}

#[test]
fn audit_finds_the_holes_that_freezes_and_renames_opened() {
    let repo = opted_in(ENFORCE, &[ROUNDTRIP, TOTAL]);
    repo.git(&["mv", "src/parse.py", "src/parser.py"]);
    repo.write("src/parse.py", "import parser\n")
        .write("tools/run.py", "x = 1\n")
        .write("tests/fixtures/a.json", "other\n");
    repo.commit("Split the parser");
    assert_seen!("audit_refuse", audit(&repo, &[]));
    for format in ["markdown", "sarif", "github"] {
        let output = audit(&repo, &["--format", format]);
        assert_eq!(code(&output), 1, "{format}");
        assert!(stdout(&output).contains("Audit refuses: "), "{format}");
    }
    // What the patch would be judged by is another question: nothing of it is in the map.
    assert!(found(
        &repo,
        "unmapped-path",
        "refuse",
        Some("src/parser.py")
    ));
    assert!(found(
        &repo,
        "coverage-hole",
        "refuse",
        Some("src/parse.py")
    ));
    assert!(found(
        &repo,
        "digest-mismatch",
        "refuse",
        Some("tests/fixtures/a.json")
    ));
}

#[test]
fn audit_reads_the_revision_that_is_named_and_nothing_else() {
    let repo = opted_in(ENFORCE, &[]);
    repo.write("src/new.py", "x = 1\n");
    repo.commit("Leave a path unmapped");
    repo.write("src/newer.py", "x = 1\n");
    assert_eq!(code(&audit(&repo, &[])), 1);
    assert_eq!(code(&audit(&repo, &["--rev", "main"])), 0);
    let json = audit(&repo, &["--rev", "patch", "--format", "json"]);
    let decision: Decision = serde_json::from_slice(&json.stdout).expect("a decision");
    assert_eq!(decision.base, decision.head);
    let paths: Vec<&str> = decision.write_set.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["src/new.py", "src/parse.py"]);
    assert_eq!(code(&audit(&repo, &["--rev", "nowhere"])), 2);
}

#[test]
fn audit_notes_code_that_only_other_holds_and_rules_of_the_map_that_guard_nothing() {
    let repo = opted_in("version: 1\npaths:\n  ignored: [examples/**]\n", &[]);
    repo.write("tools/run.py", "x = 1\n")
        .write("examples/run.py", "x = 1\n")
        .write("notes.txt", "words\n")
        .write(
            "test/contract/hunk-map.json",
            format!(
                r#"{{"version": 1, "rules": [
  {{"path_prefix": "src/parse.py", "live_properties": ["{ROUNDTRIP}"]}},
  {{"path_prefix": "src/gone/", "live_properties": ["{ROUNDTRIP}"]}},
  {{"path_prefix": "src/parse", "live_properties": ["tests/properties/gone.py::test_x"]}}
]}}"#
            ),
        );
    repo.commit("Map what is not there");
    let map = Some("test/contract/hunk-map.json");
    assert!(found(
        &repo,
        "unclassified-code",
        "notice",
        Some("tools/run.py")
    ));
    assert!(!found(
        &repo,
        "unclassified-code",
        "notice",
        Some("examples/run.py")
    ));
    assert!(found(&repo, "unused-rule", "notice", map));
    assert!(found(&repo, "dead-prefix", "notice", map));
    assert!(found(&repo, "ghost-property", "notice", map));
    assert_eq!(code(&audit(&repo, &[])), 0, "notices refuse nothing");
}

#[test]
fn audit_refuses_globs_of_production_that_match_nothing() {
    let repo = opted_in("version: 1\npaths:\n  production: [lib/**]\n", &[]);
    repo.switch("main");
    repo.write(
        "test/contract/hunk-map.json",
        "{\"version\": 1, \"rules\": []}\n",
    );
    repo.commit("Guard nothing");
    assert!(found(&repo, "no-production", "refuse", None));
    assert!(found(
        &repo,
        "unclassified-code",
        "notice",
        Some("src/parse.py")
    ));
    assert_eq!(code(&audit(&repo, &[])), 1);
}

#[test]
fn no_property_is_local_to_an_audit() {
    let config = "version: 1\npaths:\n  inline_properties: [src/**]\n";
    let repo = opted_in(config, &[]);
    repo.write("src/lib.py", "def test_inline():\n    pass\n").write(
        "test/contract/hunk-map.json",
        r#"{"version": 1, "rules": [{"path_prefix": "src/", "live_properties": ["src/lib.py::test_inline"]}]}"#,
    );
    repo.commit("Keep properties beside the code");
    let output = audit(&repo, &[]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
}

#[test]
fn audit_under_observe_exits_0_and_says_what_it_would_do() {
    let repo = opted_in("version: 1\nmode: observe\n", &[ROUNDTRIP, TOTAL]);
    let output = audit(&repo, &[]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).starts_with("Audit would refuse: 1 coverage hole\n"));
    let bare = TestRepo::new();
    bare.write("src/a.py", "x = 1\n");
    bare.commit("Begin");
    let output = audit(&bare, &[]);
    assert_eq!(code(&output), 0);
    assert!(
        stdout(&output).starts_with("Not opted in: "),
        "{}",
        stdout(&output)
    );
}
