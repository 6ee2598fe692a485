//! Every format of a decision, from the real binary.

use frostline::model::Rule;
use serde_json::Value;

use super::*;
use crate::support::third_party::third_party;

const FORMATS: [&str; 5] = ["text", "json", "markdown", "sarif", "github"];

/// A patch with a finding of each effect: a hole, an unmapped path, a mismatch, a frozen test.
fn refused() -> TestRepo {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    repo.write("src/new, file: 100%.py", "x = 1\n")
        .write("tests/fixtures/a.json", "{\"a\": 1}\n")
        .write("Makefile", "all:\n");
    repo.commit("Rewrite a fixture, add a module");
    repo
}

fn sarif_of(repo: &TestRepo) -> Value {
    let output = run(repo.path(), &["check", "--format", "sarif"]);
    let text = stdout(&output);
    let machine = repo.path().parent().expect("a folder");
    assert!(!text.contains(machine.to_str().expect("UTF-8")), "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn check_prints_sarif_and_workflow_commands() {
    let repo = refused();
    let sarif = sarif_of(&repo);
    insta::with_settings!({ omit_expression => true, filters => [(r"\b[0-9a-f]{40}\b", "[id]"), (r"\b[0-9a-f]{12}\b", "[short id]")] }, {
        let run = &sarif["runs"][0];
        let shown = serde_json::json!({ "results": run["results"], "properties": run["properties"] });
        insta::assert_snapshot!("check_sarif", format!("{shown:#}"));
    });
    assert_seen!(
        "check_github",
        run(repo.path(), &["check", "--format", "github"])
    );
    for format in FORMATS {
        let output = run(repo.path(), &["check", "--format", format]);
        assert_eq!(
            (code(&output), stderr(&output)),
            (1, String::new()),
            "{format}"
        );
    }
}

#[test]
fn sarif_is_valid_and_each_result_has_its_rule_and_its_place() {
    let Some(package) = third_party("sarif") else {
        return;
    };
    let schema = package.join("lib/schemas/sarif-2.1.0-rtm.5.json");
    let mut schema: Value =
        serde_json::from_slice(&std::fs::read(schema).expect("the schema")).expect("JSON");
    // One published pattern has a bracket too many for strict readers; nothing here has a language.
    for place in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][place]["properties"]["language"];
        language
            .as_object_mut()
            .expect("a schema")
            .remove("pattern");
    }
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft4)
        .build(&schema)
        .expect("a valid schema");
    let not_opted_in = TestRepo::new();
    not_opted_in.write("src/a.py", "x = 1\n");
    not_opted_in.commit("Begin");
    let conflict = with_patch(ENFORCE, &[]);
    conflict.switch("main");
    conflict.write("src/parse.py", "def parse(text):\n    return text\n");
    conflict.commit("Change the same line");
    conflict.switch("patch");
    for (repo, results) in [
        (refused(), 9),
        (with_patch(ENFORCE, &[]), 0),
        (not_opted_in, 0),
        (conflict, 3),
    ] {
        let sarif = sarif_of(&repo);
        let errors: Vec<String> = validator
            .iter_errors(&sarif)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        let run = &sarif["runs"][0];
        let found = run["results"].as_array().expect("results");
        assert_eq!(found.len(), results, "{:#}", run["results"]);
        for result in found {
            let index = result["ruleIndex"].as_u64().expect("an index");
            let rule = &run["tool"]["driver"]["rules"][usize::try_from(index).expect("small")];
            assert_eq!(rule["id"], result["ruleId"]);
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            assert_eq!(place["uriBaseId"], "%SRCROOT%");
            let uri = place["uri"].as_str().expect("a URI");
            assert!(
                !uri.starts_with('/') && !uri.contains([' ', ':', ',']),
                "{uri}"
            );
        }
    }
    let mut broken = sarif_of(&refused());
    broken["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!validator.is_valid(&broken), "the schema looks at results");
}

#[test]
fn workflow_commands_are_no_errors_under_observe() {
    let repo = with_patch("version: 1\nmode: observe\n", &[ROUNDTRIP, TOTAL]);
    let output = run(repo.path(), &["check", "--format", "github"]);
    let text = stdout(&output);
    assert!(
        text.contains("::warning file=src/parse.py,line=2,endLine=2,title="),
        "{text}"
    );
    assert!(!text.contains("::error"), "{text}");
    assert_eq!(
        text.lines().last(),
        Some("would refuse: 1 coverage hole"),
        "{text}"
    );
}

/// In every text of a contract file, and nowhere else.
const MARK: &str = "zqxmark";

fn marked_freezes(more: &str) -> String {
    let row = |nodeid: &str, covers: &str, rest: &str| {
        format!(
            r#"{{"nodeid": "{nodeid}", "reason": "{MARK} reason", "owner": "@{MARK}", "covers": ["{covers}"], "frozen": true{rest}}}"#
        )
    };
    let digest = format!(
        r#", "fixture_digest": "{MARK}", "replay": "pytest {MARK}", "property_id": "{MARK}-id", "opened_at": "2031-01-01T00:00:00Z""#
    );
    let rows = [
        row(
            &format!("tests/properties/test_parse.py::test_{MARK}"),
            "src/parse.py",
            "",
        ),
        row(
            &format!("tests/old.py::test_{MARK}[{MARK}]"),
            &format!("src/{MARK}.py"),
            &digest,
        ),
    ];
    format!(
        "{{\"version\": 1, \"entries\": [{}{more}]}}\n",
        rows.join(",")
    )
}

/// A repository whose contract files hold the mark, and a patch of its production code.
fn marked(freezes: &str) -> TestRepo {
    let repo = opted_in(ENFORCE, &[]);
    repo.switch("main");
    repo.write("test/contract/flake-freeze.json", freezes)
        .write(
            ".github/frostline.yml",
            format!(
                "version: 1\nagents:\n  logins: [{MARK}]\npaths:\n  sensitive: [src/parse.py, {MARK}/**]\n  ignored: [{MARK}/x/**]\n"
            ),
        )
        .write(
            "test/contract/hunk-map.json",
            format!(
                r#"{{"version": 1, "rules": [
  {{"path_prefix": "src/parse", "live_properties": ["tests/properties/test_parse.py::test_{MARK}", "tests/properties/{MARK}.py::test_a"], "min_live": 2}},
  {{"path_prefix": "src/{MARK}/", "live_properties": ["{MARK}/test_x.py::test_y"]}}
]}}"#
            ),
        )
        .write("tests/fixtures/a.json", "{\"other\": 1}\n");
    repo.commit("Mark the contract");
    repo.git(&["branch", "--force", "patch", "main"]);
    repo.switch("patch");
    repo.write("src/parse.py", "def parse(text):\n    return []\n")
        .write("src/new.py", "x = 1\n");
    repo.commit("Change the parser");
    repo
}

#[test]
fn for_agent_says_nothing_of_the_contract_in_any_format() {
    let pinned = hex::encode(Sha256::digest("{}\n"));
    let broken = marked_freezes(&format!(r#", {{"{MARK}": 1}}"#));
    for freezes in [marked_freezes(""), broken] {
        let repo = marked(&freezes);
        for format in FORMATS {
            let whole = run(repo.path(), &["check", "--format", format]);
            let withheld = run(repo.path(), &["check", "--format", format, "--for-agent"]);
            assert!(
                stdout(&whole).contains(MARK),
                "{format} quotes the contract"
            );
            let text = stdout(&withheld);
            for secret in [MARK, &pinned[..12], "2031-01-01", "said by --author"] {
                assert!(!text.contains(secret), "{format}: {secret}: {text}");
            }
            assert!(text.contains("src/parse.py"), "{format}: {text}");
            // The rule's prefix `src/parse` is a beginning of the path, so it is looked for beside it.
            let rest = text.replace("src/parse.py", "");
            assert!(!rest.contains("src/parse"), "{format}: {text}");
            assert_eq!(code(&withheld), code(&whole));
        }
    }
}

#[test]
fn for_agent_keeps_verdict_paths_and_ways_out() {
    let repo = refused();
    assert_seen!("for_agent", run(repo.path(), &["check", "--for-agent"]));
    let json = |args: &[&str]| -> Value {
        let mut all = vec!["check", "--format", "json"];
        all.extend(args);
        serde_json::from_slice(&run(repo.path(), &all).stdout).expect("JSON")
    };
    let (whole, withheld) = (json(&[]), json(&["--for-agent"]));
    assert_eq!(withheld["verdict"], whole["verdict"]);
    assert_eq!(withheld["decided_by"], whole["decided_by"]);
    assert_eq!(withheld["write_set"], whole["write_set"]);
    assert!(whole["freezes"].is_array());
    assert!(withheld.get("freezes").is_none(), "left out, not empty");
    let rules = |decision: &Value| -> Vec<usize> {
        let coverage = decision["coverage"].as_array().into_iter().flatten();
        let rules = coverage.map(|covered| covered["rules"].as_array().map_or(0, Vec::len));
        rules.collect()
    };
    assert_eq!(rules(&whole), [0, 1], "one path is mapped");
    assert_eq!(rules(&withheld), [0, 0]);
    let again: Decision = serde_json::from_value(withheld).expect("a decision");
    assert_eq!(again.freezes, None);
}

#[test]
fn for_agent_sends_to_a_maintainer_for_a_file_that_it_may_not_name() {
    let repo = marked(&marked_freezes(r#", {"nodeid": 1}"#));
    let output = run(repo.path(), &["check", "--for-agent", "--format", "json"]);
    let decision: Decision = serde_json::from_slice(&output.stdout).expect("a decision");
    let unreadable = decision
        .findings
        .iter()
        .find(|finding| finding.rule == Rule::ContractUnreadable)
        .expect("a finding");
    assert_eq!(unreadable.path, None);
    assert!(
        unreadable.fix.contains("ask a maintainer"),
        "{unreadable:?}"
    );
}

#[test]
fn decide_withholds_the_same() {
    let repo = refused();
    let check = run(
        repo.path(),
        &["check", "--for-agent", "--snapshot-out", "../s.json"],
    );
    let decide = run(repo.path(), &["decide", "../s.json", "--for-agent"]);
    assert_eq!(stdout(&decide), stdout(&check));
}
