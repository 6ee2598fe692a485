//! The commands of the lane on real repositories.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::isolation::{alive, unique};
use super::pytest::python;
use crate::support::repo::TestRepo;

/// A repository with one test file, and a folder for temporary files of its own.
struct Lane {
    repo: TestRepo,
    python: PathBuf,
    temporary: PathBuf,
}

impl Lane {
    fn new(tests: &str) -> Option<Self> {
        Self::with("pytest", tests)
    }

    /// With the packages of another environment.
    fn with(environment: &str, tests: &str) -> Option<Self> {
        let python = python(environment)?;
        let repo = TestRepo::new();
        repo.write("tests/test_f.py", tests).commit("tests");
        let temporary = repo.beside("temporary");
        std::fs::create_dir(&temporary).expect("a new folder");
        Some(Self {
            repo,
            python,
            temporary,
        })
    }

    fn command(&self, command: &str, args: &[&str]) -> Command {
        let mut started = Command::new(env!("CARGO_BIN_EXE_frostline"));
        started
            .args(["lane", command])
            .args(args)
            .args(["--python".as_ref(), self.python.as_os_str()])
            .current_dir(self.repo.path())
            .env("TMPDIR", &self.temporary)
            // A run that saw either of them would ignore its seed, or tell a secret.
            .env("CI", "true")
            .env("GITHUB_TOKEN", "secret")
            .stdin(Stdio::null());
        started
    }

    fn run(&self, command: &str, args: &[&str]) -> Answer {
        let output = self
            .command(command, args)
            .output()
            .expect("the binary runs");
        let answer = Answer::of(&output);
        self.leaves_nothing();
        answer
    }

    fn leaves_nothing(&self) {
        let left = std::fs::read_dir(&self.temporary)
            .expect("a folder")
            .count();
        assert_eq!(left, 0, "something is left in {}", self.temporary.display());
        assert_eq!(self.repo.git(&["status", "--porcelain", "--ignored"]), "");
    }
}

struct Answer {
    code: i32,
    json: Value,
    told: String,
}

impl Answer {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().expect("an exit status"),
            json: serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
            told: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn status(&self) -> &str {
        self.json["status"].as_str().unwrap_or(&self.told)
    }
}

#[test]
fn a_probe_says_whether_the_seed_is_honoured_although_ci_is_set() {
    let Some(lane) = Lane::new(
        "from hypothesis import given, settings, strategies as st\n@given(st.integers())\ndef test_p(x): pass\n@settings(derandomize=True)\n@given(st.integers())\ndef test_d(x): pass\n",
    ) else {
        return;
    };
    let answer = lane.run("probe", &["tests/test_f.py::test_p"]);
    assert_eq!(
        (answer.code, &answer.json["seed_honoured"]),
        (0, &Value::from("yes")),
        "{}",
        answer.told
    );
    assert_eq!(answer.json["versions"]["hypothesis"], "6.170.17");
    assert_eq!(answer.json["run_ms"].as_array().map(Vec::len), Some(3));
    let answer = lane.run("probe", &["tests/test_f.py::test_d"]);
    assert_eq!(
        (answer.code, &answer.json["seed_honoured"]),
        (1, &Value::from("no")),
        "{}",
        answer.told
    );
}

#[test]
fn a_diagnosis_names_the_cause_and_the_reason_in_the_row() {
    let Some(lane) = Lane::with(
        "pytest-bare",
        "def test_t():\n    assert next(iter({'a', 'b', 'c', 'd'})) in 'ab', 'order'\ndef test_green(): pass\n",
    ) else {
        return;
    };
    let answer = lane.run("window", &["tests/test_f.py::test_t", "--diagnose"]);
    assert_eq!(answer.status(), "freeze-candidate", "{}", answer.told);
    assert_eq!(answer.json["cause"], "HASHSEED", "{}", answer.told);
    assert_eq!(answer.json["reason"], "ORDER");
    let held = answer.json["diagnosis"].as_array().expect("what was tried");
    assert_eq!(held[0]["held"], "hash-seed");
    assert!(held[0]["green"] == 0 || held[0]["red"] == 0, "{held:?}");
    assert!(
        answer
            .told
            .contains("always the same with one hash seed. Its reason is ORDER."),
        "{}",
        answer.told
    );
    frostline::contract::evidence::parse("row", format!("{}\n", answer.json).as_bytes())
        .expect("a row that the ledger takes");

    let answer = lane.run("window", &["tests/test_f.py::test_green", "--diagnose"]);
    assert_eq!(answer.json["cause"], "unattributed");
    assert_eq!(answer.json["diagnosis"], Value::Null);
    assert!(
        answer.told.contains("no cause is looked for"),
        "{}",
        answer.told
    );
}

#[test]
fn a_window_of_greens_says_what_it_excludes_and_no_more() {
    let Some(lane) = Lane::new("def test_t(): pass\n") else {
        return;
    };
    let answer = lane.run("window", &["tests/test_f.py::test_t"]);
    assert_eq!(
        (answer.code, answer.status()),
        (0, "merge-ok"),
        "{}",
        answer.told
    );
    assert_eq!(answer.json["runs"], 7);
    assert!(
        answer
            .told
            .contains("7 greens exclude a failure rate above 35 %"),
        "{}",
        answer.told
    );
    let hash_seeds: Vec<_> = answer.json["each"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| (run["seed"].as_i64(), run["hash_seed"].as_i64()))
        .collect();
    let other_each_time = |at: i64| (Some(at + 1), Some(at));
    assert_eq!(
        hash_seeds,
        [0, 1, 2, 3, 4, 5, 6].map(other_each_time),
        "so that the order of sets and what pytest-randomly seeds can show"
    );
    let other = "manifest-sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let answer = lane.run("window", &["tests/test_f.py::test_t", "--expect", other]);
    assert_eq!(
        (answer.code, answer.status()),
        (1, "fixture-drift"),
        "{}",
        answer.told
    );
    assert_eq!(answer.json["runs"], 0);
}

#[test]
fn a_row_is_appended_to_the_ledger_and_its_line_runs_again() {
    let Some(lane) = Lane::new(
        "from hypothesis import given, strategies as st\n@given(st.integers())\ndef test_p(x): assert x < 1000\ndef test_g(): pass\n",
    ) else {
        return;
    };
    let node = "tests/test_f.py::test_p";
    let file = lane.repo.beside("evidence.jsonl");
    let out = file.display().to_string();
    let answer = lane.run(
        "window",
        &[node, "--seed", "7", "--out", &out, "--max-runs", "7"],
    );
    assert_eq!(answer.code, 1, "{}", answer.told);
    let row = std::fs::read(&file).expect("a row");
    let evidence = frostline::contract::evidence::parse("evidence.jsonl", &row).expect("a ledger");
    let [last] = evidence.last.as_slice() else {
        panic!("{evidence:?}");
    };
    assert_eq!(
        (last.status.as_str(), last.missing),
        ("stable-violation", None)
    );

    let answer = lane.run("replay", &["--row", &out]);
    assert_eq!(
        (answer.code, &answer.json["reproduced"]),
        (0, &Value::from(true)),
        "{}",
        answer.told
    );
    assert_eq!(answer.json["order"], "SAME");
    let line = answer.json["replay"].as_str().expect("a line");
    assert!(
        line.contains("--hypothesis-seed=7") && line.starts_with("PYTHONHASHSEED=0 pytest"),
        "{line}"
    );

    let edited = String::from_utf8(row)
        .expect("ASCII")
        .replace("x=1000", "x=1001");
    std::fs::write(&file, edited).expect("another example");
    let answer = lane.run("replay", &["--row", &out]);
    assert_eq!(
        (answer.code, &answer.json["order"]),
        (1, &Value::from("SMALLER")),
        "{}",
        answer.told
    );

    let hostile = format!(
        r#"{{"nodeid": "{node}", "seed": 7, "replay": "pytest {node} --hypothesis-seed=7 -p evil"}}"#
    );
    std::fs::write(&file, hostile).expect("another line");
    let answer = lane.run("replay", &["--row", &out]);
    assert!(
        answer.code == 2 && answer.told.contains("evil"),
        "{}",
        answer.told
    );

    // What a file of another kind holds is not touched.
    std::fs::write(&file, "notes\n").expect("another file");
    let answer = lane.run("window", &["tests/test_f.py::test_g", "--out", &out]);
    assert!(
        answer.code == 2 && answer.told.contains("no evidence ledger"),
        "{}",
        answer.told
    );
    assert_eq!(std::fs::read(&file).expect("the file"), b"notes\n");
}

#[test]
fn an_interrupted_window_leaves_nothing() {
    let mark = unique(7_000);
    let tests = format!(
        "import subprocess\ndef test_t():\n    subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n    subprocess.run(['sleep', '{mark}'])\n"
    );
    let Some(lane) = Lane::new(&tests) else {
        return;
    };
    for level in ["bubblewrap", "plain"] {
        let mut command =
            lane.command("window", &["tests/test_f.py::test_t", "--isolation", level]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        while alive(&mark) == 0 {
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .expect("kill")
                .success()
        );
        let answer = Answer::of(&child.wait_with_output().expect("it ends"));
        assert!(
            answer.code == 2 && answer.told.contains("interrupted"),
            "{level}: {}",
            answer.told
        );
        assert_eq!(alive(&mark), 0, "{level}");
        lane.leaves_nothing();
    }
}

#[test]
fn a_test_that_kills_its_parent_errs_and_leaves_nothing() {
    let mark = unique(8_000);
    let tests = format!(
        "import os, subprocess\ndef test_t():\n    subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n    os.chmod(os.environ['HOME'], 0)\n    os.kill(os.getppid(), 9)\n"
    );
    let Some(lane) = Lane::new(&tests) else {
        return;
    };
    let answer = lane.run(
        "window",
        &[
            "tests/test_f.py::test_t",
            "--isolation",
            "plain",
            "--workers",
            "1",
        ],
    );
    assert_eq!(
        (answer.code, answer.status()),
        (2, "errored"),
        "{}",
        answer.told
    );
    assert!(
        answer.told.contains("killed by the test"),
        "{}",
        answer.told
    );
    assert_eq!(alive(&mark), 0);
}

#[test]
fn what_cannot_be_run_is_told_in_one_sentence() {
    let Some(lane) = Lane::new("def test_t(): pass\n") else {
        return;
    };
    lane.repo.write("src/a.go", "").commit("go");
    for (node, why) in [
        ("tests/test_f.py", "names no test"),
        ("src/a.go::t", "*.rs by cargo"),
        ("tests/gone.py::t", "has no file tests/gone.py"),
        ("tests/test_f.py::test_gone", "no such test"),
    ] {
        let answer = lane.run("probe", &[node]);
        assert!(
            answer.code == 2 && answer.told.contains(why),
            "{node}: {}",
            answer.told
        );
    }
    let without = lane
        .command("probe", &["tests/test_f.py::test_t", "--timeout", "0"])
        .output()
        .expect("runs");
    assert_eq!(without.status.code(), Some(2));
    assert!(Path::new(&lane.python).exists());
}
