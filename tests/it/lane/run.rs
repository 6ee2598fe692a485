//! `frostline lane run` and `frostline check --lane` on real repositories (protocol 6.1).

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::pytest::python;
use crate::support::repo::TestRepo;

const FILE: &str = "tests/properties/test_p.py";
const LANE: &str = "lane.jsonl";

/// A repository with a contract, whose `main` is guarded and whose `feature` changes production.
struct Gate {
    repo: TestRepo,
    python: PathBuf,
}

struct Said {
    code: i32,
    out: String,
    told: String,
}

impl Said {
    fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }

    /// The result of a property of [`FILE`].
    fn of(&self, name: &str) -> Value {
        let id = format!("{FILE}::{name}");
        let mut lines = self.lines().into_iter();
        let found = lines.find(|line| line["nodeid"] == id.as_str());
        found.unwrap_or_else(|| panic!("no result of {name}: {}\n{}", self.out, self.told))
    }
}

fn roles(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let runs = result["runs"].as_array().expect("runs").iter();
    runs.map(|run| (text(&run["role"]), text(&run["outcome"])))
        .collect()
}

impl Gate {
    /// `tests` are the properties, of which the map lists `listed`.
    fn new(tests: &str, listed: &[&str]) -> Option<Self> {
        let python = python("pytest")?;
        let repo = TestRepo::new();
        let ids: Vec<String> = listed
            .iter()
            .map(|name| format!("{FILE}::{name}"))
            .collect();
        let map = json!({"version": 1, "rules": [{"path_prefix": "src/", "live_properties": ids}]});
        repo.write(FILE, tests)
            .write("src/pkg.py", "LIMIT = 1000\n")
            .write("tests/fixtures/a.json", "{}")
            .write("test/contract/hunk-map.json", map.to_string())
            .write(
                "test/contract/flake-freeze.json",
                r#"{"version": 1, "entries": []}"#,
            );
        repo.commit("base");
        let gate = Self { repo, python };
        assert_eq!(gate.frostline(&["lock", "write"]).code, 0);
        gate.repo.commit("lock");
        Some(gate)
    }

    /// Commits a change of production on a branch of `main`.
    fn patch(&self, branch: &str, limit: &str) -> &Self {
        self.repo.branch(branch);
        self.repo.write("src/pkg.py", format!("LIMIT = {limit}\n"));
        self.repo.commit("patch");
        self
    }

    fn frostline(&self, args: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
            .args(args)
            .current_dir(self.repo.path())
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        Said {
            code: output.status.code().expect("an exit status"),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            told: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn lane(&self, command: &str, args: &[&str]) -> Said {
        let python = self.python.display().to_string();
        let all = ["lane", command, "--python", &python];
        self.frostline(&[&all, args].concat())
    }

    /// The gate's verdict on `branch` with these results.
    fn check(&self, branch: &str, results: &str) -> (i32, Value) {
        let file = self.repo.beside("lane.jsonl");
        std::fs::write(&file, results).expect("a file");
        let file = file.display().to_string();
        let args = [
            "check", "--base", "main", "--head", branch, "--format", "json", "--lane", &file,
        ];
        let said = self.frostline(&args);
        (
            said.code,
            serde_json::from_str(&said.out).unwrap_or(said.told.into()),
        )
    }

    fn run(&self, args: &[&str]) -> Said {
        self.lane("run", &[&["--base", "main"], args].concat())
    }
}

/// Properties that each end in another action, with the limit of production as their only say; those that
/// are told of `counter` fail in the runs that are named, counted over all of them.
fn properties(counter: &str) -> String {
    format!(
        r#"
import os, random
import pytest
from hypothesis import given, strategies as st
import pkg

def nth(name):
    path = os.path.join({counter:?}, name)
    with open(path, "a") as file:
        file.write("x")
    return os.path.getsize(path)

@given(st.integers())
def test_pass(x):
    assert x == x

@given(st.integers())
def test_invariant(x):
    assert x < pkg.LIMIT or pkg.LIMIT == 1000

def test_errored():
    os._exit(0)

def test_flaky_before():
    random.random()
    assert nth("before") not in (1, 4)

def test_flaky_now():
    assert nth("now") != 1

@pytest.mark.parametrize("x", [1, 2])
def test_each(x):
    assert x
"#
    )
}

fn flaky(listed: &[&str]) -> Option<(Gate, PathBuf)> {
    let counter = tempfile::tempdir().expect("a folder").keep();
    let gate = Gate::new(&properties(&counter.display().to_string()), listed)?;
    Some((gate, counter))
}

#[test]
fn each_action_has_its_order_of_runs() {
    let listed = [
        "test_pass",
        "test_invariant",
        "test_errored",
        "test_flaky_before",
        "test_flaky_now",
        "test_each",
    ];
    let Some((gate, counter)) = flaky(&listed) else {
        return;
    };
    gate.patch("feature", "10");
    // Only there can a test count its own runs.
    let said = gate.run(&["--isolation", "plain"]);
    assert_eq!(said.code, 1, "{}", said.told);
    let pair = |role: &str, outcome: &str| (role.to_owned(), outcome.to_owned());
    let is = |name: &str, action: &str, expected: &[(String, String)]| {
        let result = said.of(name);
        assert_eq!(result["action"], action, "{name}: {result}");
        assert_eq!(roles(&result), expected, "{name}");
        result
    };
    let result = is("test_pass", "PASS", &[pair("first", "green")]);
    assert_eq!(
        (&result["seed"], &result["seed_from"]),
        (&json!(1), &json!("default"))
    );
    assert_eq!(result["tree"], gate.repo.rev("feature^{tree}").as_str());
    assert_eq!(result["framework"]["versions"]["hypothesis"], "6.170.17");
    assert_eq!(result["label"], "PROPERTY");
    let red = pair("first", "red");
    let result = is(
        "test_invariant",
        "BLOCK_INVARIANT",
        &[red.clone(), pair("replay", "red")],
    );
    assert_eq!(
        result["proposal"],
        json!({"what": "corpus-seed", "nodeid": format!("{FILE}::test_invariant"), "seed": 1})
    );
    let result = is("test_errored", "BLOCK_ERRORED", &[pair("first", "errored")]);
    assert!(
        result["why"].as_str().expect("why").contains("no end"),
        "{result}"
    );

    let mixed = vec![red, pair("replay", "green"), pair("second", "green")];
    let base_red = [mixed.clone(), vec![pair("base", "red")]].concat();
    let result = is("test_flaky_before", "PIN_SEED_NOISE", &base_red);
    assert_eq!(result["proposal"]["row"]["seed"], 1, "{result}");
    let base_green = [mixed, vec![pair("base", "green"); 7]].concat();
    is("test_flaky_now", "BLOCK_NOISE", &base_green);
    let (code, decision) = gate.check("feature", &said.out);
    assert_eq!(
        (code, &decision["decided_by"]),
        (1, &json!({"step": 6, "rule": "lane-block"}))
    );
    let refused = decision["findings"].as_array().expect("findings").iter();
    let refused: Vec<&str> = refused
        .filter(|finding| finding["rule"] == "lane-block")
        .filter_map(|finding| finding["message"].as_str()?.split([' ', ':']).next())
        .collect();
    assert_eq!(refused, ["BLOCK_ERRORED", "BLOCK_NOISE", "BLOCK_INVARIANT"]);
    let keep = |line: &&str| !line.contains("BLOCK_");
    let cut: String = said
        .out
        .lines()
        .filter(keep)
        .map(|line| format!("{line}\n"))
        .collect();
    let (code, told) = gate.check("feature", &cut);
    assert!(
        code == 2 && told.to_string().contains("so it is not whole"),
        "{told}"
    );
    for name in ["test_each[1]", "test_each[2]"] {
        let result = is(name, "PASS", &[pair("first", "green")]);
        assert_eq!(result["property"], format!("{FILE}::test_each").as_str());
    }

    // A later run of the same tree would be green, and reads the red.
    let only = format!("{FILE}::test_flaky_before");
    let runs = || {
        std::fs::metadata(counter.join("before"))
            .expect("a count")
            .len()
    };
    let before = runs();
    let again = gate.run(&["--isolation", "plain", "--property", &only]);
    assert_eq!(again.code, 3, "{}", again.told);
    let result = again.of("test_flaky_before");
    assert_eq!(roles(&result), base_red);
    assert!(result["kept_since"].is_string(), "{result}");
    assert!(
        again.told.contains("which no later run erases"),
        "{}",
        again.told
    );
    let why = "only the seed is probed, A, A, B, and the proposed row's replay line";
    assert_eq!(runs(), before + 4, "{why}");

    // The others that the patch needs have no result here.
    let (code, decision) = gate.check("feature", &again.out);
    assert_eq!(
        (code, &decision["decided_by"]["rule"]),
        (1, &json!("undetermined"))
    );

    // Another tree is another question.
    gate.patch("other", "11");
    let other = gate.run(&["--isolation", "plain", "--property", &only]);
    assert_eq!(
        (other.code, &other.of("test_flaky_before")["action"]),
        (0, &json!("PASS"))
    );
    // A file that cannot be read whole may lack a red.
    let kept = gate.repo.path().join(".git/frostline/lane-reds.jsonl");
    std::fs::write(&kept, "{}\n").expect("a file");
    let damaged = gate.run(&["--property", &only]);
    assert!(
        damaged.code == 2 && damaged.told.contains("line 1 of"),
        "{}",
        damaged.told
    );
    std::fs::remove_dir_all(counter).expect("the folder");
}

#[test]
fn other_fixtures_than_those_of_the_lock_block_before_any_run() {
    let Some((gate, counter)) = flaky(&["test_flaky_now"]) else {
        return;
    };
    gate.repo
        .branch("feature")
        .write("tests/fixtures/a.json", "[]");
    gate.repo.write("src/pkg.py", "LIMIT = 10\n").commit("both");
    let said = gate.run(&["--isolation", "plain"]);
    let result = said.of("test_flaky_now");
    assert_eq!(
        (said.code, &result["action"]),
        (1, &json!("BLOCK_HASH")),
        "{}",
        said.told
    );
    let (code, decision) = gate.check("feature", &said.out);
    assert!(
        code == 1 && decision.to_string().contains("BLOCK_HASH"),
        "{decision}"
    );
    assert_eq!(roles(&result), []);
    assert!(!counter.join("now").exists(), "it ran");
    std::fs::remove_dir_all(counter).expect("the folder");
}

#[test]
fn an_example_that_is_smaller_than_the_recorded_one_blocks_as_shrunk() {
    let tests = "from hypothesis import given, strategies as st\nimport pkg\n@given(st.integers())\ndef test_p(x):\n    assert x < pkg.LIMIT\n";
    let Some(gate) = Gate::new(tests, &["test_p"]) else {
        return;
    };
    let node = format!("{FILE}::test_p");
    let out = "test/contract/evidence.jsonl";
    let window = gate.lane(
        "window",
        &[
            &node,
            "--seed",
            "1",
            "--out",
            out,
            "--rev",
            "main",
            "--max-runs",
            "7",
        ],
    );
    assert_eq!(window.code, 1, "{}", window.told);
    gate.repo.commit("evidence");
    gate.patch("smaller", "10");
    let said = gate.run(&[]);
    let result = said.of("test_p");
    assert_eq!(
        (&result["action"], &result["order"]),
        (&json!("BLOCK_SHRINK"), &json!("SMALLER")),
        "{}",
        said.told
    );
    let (code, decision) = gate.check("smaller", &said.out);
    assert!(
        code == 1 && decision.to_string().contains("BLOCK_SHRINK"),
        "{decision}"
    );
    // Larger, or of another test file: no shrink.
    gate.repo.switch("main");
    gate.patch("larger", "2000");
    let result = gate.run(&[]).of("test_p");
    assert_eq!(
        (&result["action"], &result["order"]),
        (&json!("BLOCK_INVARIANT"), &json!("LARGER"))
    );
}

#[test]
fn seeds_of_the_corpus_run_and_frozen_tests_are_only_counted() {
    let Some((gate, counter)) = flaky(&["test_pass", "test_invariant"]) else {
        return;
    };
    let row = json!({"nodeid": format!("{FILE}::test_invariant"), "reason": "known", "owner": "@a", "covers": [], "frozen": true});
    let freezes = json!({"version": 1, "entries": [row]}).to_string();
    let seeds = json!({"version": 1, "seeds": {format!("{FILE}::test_pass"): [3, -4]}}).to_string();
    gate.repo.write("test/contract/flake-freeze.json", freezes);
    gate.repo
        .write("test/contract/seeds.json", seeds)
        .commit("contract");
    gate.patch("feature", "10");
    let said = gate.run(&["--out", LANE]);
    assert_eq!(said.code, 0, "{}", said.told);
    let file = gate.repo.path().join(LANE);
    let out = std::fs::read_to_string(&file).expect("results");
    let said = Said { out, ..said };
    let seeds: Vec<Value> = said
        .lines()
        .iter()
        .filter(|line| line["seed_from"] == "corpus")
        .map(|line| line["seed"].clone())
        .collect();
    assert_eq!(seeds, [json!(3), json!(-4)]);
    let frozen = said.of("test_invariant");
    assert_eq!(
        (&frozen["votes"], &frozen["action"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(frozen["runs"][0]["outcome"], "red", "it runs all the same");
    let counted = |said: &Said| {
        let counters = &said.of("test_invariant")["counters"];
        ["runs", "passes", "failures_in_a_row"].map(|name| counters[name].as_u64())
    };
    assert_eq!(counted(&said), [Some(1), Some(0), Some(1)]);
    assert_eq!(said.of("test_pass")["counters"], Value::Null);
    let again = gate.run(&[]);
    assert_eq!(counted(&again), [Some(2), Some(0), Some(2)]);
    assert!(
        again.told.contains("passed; 2 failures in a row"),
        "{}",
        again.told
    );
    let kept = gate.repo.path().join(".git/frostline/lane-frozen.json");
    std::fs::write(&kept, "{}").expect("a file");
    let broken = gate.run(&[]);
    assert!(
        broken.code == 2 && broken.told.contains("counting begins anew"),
        "{}",
        broken.told
    );
    std::fs::remove_file(&kept).expect("it is there");
    assert!(
        said.told.contains("2 passed, 0 block, 0 noise, 1 frozen"),
        "{}",
        said.told
    );
    let (code, decision) = gate.check("feature", &said.out);
    assert_eq!(
        (code, &decision["verdict"]),
        (0, &json!("pass")),
        "{decision}"
    );
    let (code, told) = gate.check("feature", "{\"schema\": \"frostline.evidence/1\"}");
    assert!(
        code == 2 && told.to_string().contains("line 1 is no result"),
        "{told}"
    );
    // Of another tree they say nothing.
    gate.repo.switch("main");
    gate.patch("another", "12");
    let (code, decision) = gate.check("another", &said.out);
    assert_eq!(
        (code, &decision["decided_by"]["rule"]),
        (1, &json!("undetermined"))
    );
    // Nothing to run is no failure.
    gate.repo
        .switch("main")
        .remove("test/contract/seeds.json")
        .branch("docs");
    gate.repo.write(
        "test/contract/flake-freeze.json",
        r#"{"version": 1, "entries": []}"#,
    );
    gate.repo.commit("unfreeze");
    let said = gate.run(&[]);
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{}", said.told);
    std::fs::remove_dir_all(counter).expect("the folder");
}

#[test]
fn noise_alone_asks_for_a_person() {
    let Some((gate, counter)) = flaky(&["test_flaky_before"]) else {
        return;
    };
    gate.patch("feature", "10");
    let said = gate.run(&["--isolation", "plain"]);
    assert_eq!(said.code, 3, "{}", said.told);
    let (code, decision) = gate.check("feature", &said.out);
    assert_eq!(
        (code, &decision["decided_by"]),
        (3, &json!({"step": 6, "rule": "lane-noise"})),
        "{decision}"
    );
    std::fs::remove_dir_all(counter).expect("the folder");
}
