//! Runners of the configuration, on real processes.

use std::process::Command;

use frostline::contract::evidence;
use serde_json::Value;

use crate::support::repo::TestRepo;

/// Runs a shell script as a test: its first line says which tests the report names.
const RUNNER: &str = r#"#!/bin/sh
# $1 node id, $2 seed, $3 report
case=$(printf '%s' "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g')
. "./${1%%::*}"
"#;

struct Lane(TestRepo);

impl Lane {
    fn new(script: &str) -> Self {
        let repo = TestRepo::new();
        let config = "version: 1\nlane:\n  runners:\n    - name: shell\n      files: ['spec/**/*.sh']\n      command: [sh, tools/run.sh, '{nodeid}', '{seed}', '{report}']\n";
        repo.write(".github/frostline.yml", config)
            .write("tools/run.sh", RUNNER)
            .write("spec/a.sh", script)
            .commit("tests");
        Self(repo)
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, Value, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
            .arg("lane")
            .args(args)
            .current_dir(self.0.path())
            .output()
            .expect("the binary runs");
        let json = serde_json::from_slice::<Value>(&output.stdout).unwrap_or(Value::Null);
        (
            output.status.code(),
            json,
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }
}

const PASSED: &str = r#"printf '<testsuites><testcase name="%s"/></testsuites>' "$case" > "$3""#;
const FAILED: &str = r#"printf '<testsuites><testcase name="%s"><failure type="E" message="seed %s"/></testcase></testsuites>' "$case" "$2" > "$3"; exit 1"#;

#[test]
fn a_command_is_given_test_seed_and_report() {
    let lane = Lane::new(PASSED);
    let node = "spec/a.sh::adds \"1\" & <2>";
    let (code, row, told) = lane.run(&["window", node]);
    assert_eq!(
        (code, &row["status"]),
        (Some(0), &Value::from("merge-ok")),
        "{told}"
    );
    assert_eq!(row["framework"], "shell");

    let lane = Lane::new(FAILED);
    let (code, row, told) = lane.run(&["window", node, "--seed", "7"]);
    assert_eq!(
        (code, &row["status"]),
        (Some(1), &Value::from("stable-violation")),
        "{told}"
    );
    assert_eq!(
        row["replay"],
        "shell 'spec/a.sh::adds \"1\" & <2>' --seed=7"
    );
    evidence::parse("e.jsonl", format!("{row}\n").as_bytes()).expect("a row of evidence");
    let file = lane.0.beside("row.json");
    std::fs::write(&file, row.to_string()).expect("a row");
    let (code, replayed, told) = lane.run(&["replay", "--row", &file.to_string_lossy()]);
    assert_eq!(
        (code, &replayed["reproduced"]),
        (Some(0), &Value::from(true)),
        "{told}"
    );
    assert!(told.contains("reproduced"), "{told}");
}

#[test]
fn a_report_that_is_missing_forged_or_of_another_test_is_no_pass() {
    for (script, why) in [
        ("exit 0", "there is no report"),
        ("echo '<testsuites>' > \"$3\"", "cannot be used"),
        (
            "echo '<!DOCTYPE x [<!ENTITY a \"b\">]><testsuites/>' > \"$3\"",
            "cannot be used",
        ),
        ("mkdir \"$3\"", "there is no report"),
        ("ln -s /dev/zero \"$3\"", "there is no report"),
        (
            "echo '<testsuites><testcase name=\"spec/b.sh::t\"/></testsuites>' > \"$3\"",
            "of another test too",
        ),
        ("echo '<testsuites/>' > \"$3\"", "does not name the test"),
        (
            "echo '<testsuites><testcase name=\"t\" file=\"spec/a.sh\"/><testcase name=\"t\" file=\"spec/a.sh\"/></testsuites>' > \"$3\"",
            "2 times",
        ),
        (
            "echo '<testsuites><testcase name=\"t\" file=\"spec/a.sh\"/></testsuites>' > \"$3\"; exit 3",
            "passed, and the command ended with 3",
        ),
        (
            "echo '<testsuites><testcase name=\"t\" file=\"spec/a.sh\"><failure/></testcase></testsuites>' > \"$3\"",
            "failed, and the command ended with 0",
        ),
        (
            "echo '<testsuites><testcase name=\"t\" file=\"spec/a.sh\"/></testsuites>' > \"$3\"; kill -9 $$",
            "signal 9",
        ),
    ] {
        let lane = Lane::new(script);
        let (code, _, told) = lane.run(&["window", "spec/a.sh::t"]);
        assert_eq!(code, Some(2), "{script}: {told}");
        assert!(told.contains(why), "{script}: {told}");
    }
}

#[test]
fn whether_a_configured_runner_honours_its_seed_cannot_be_told() {
    let lane = Lane::new(PASSED);
    let (code, probe, told) = lane.run(&["probe", "spec/a.sh::t"]);
    assert_eq!(
        (code, &probe["seed_honoured"]),
        (Some(1), &Value::from("no")),
        "{told}"
    );
    assert!(told.contains("no generated value was seen"), "{told}");
    let (code, _, told) = lane.run(&["probe", "tools/run.sh::t"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("no framework of this version runs tools/run.sh"),
        "{told}"
    );
}
