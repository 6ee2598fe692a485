//! The commands of the lane on repositories with Rust in them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::pytest::python;
use crate::support::repo::TestRepo;

const MANIFEST: &str = "[package]\nname = \"c\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[[test]]\nname = \"t\"\npath = \"tests/properties/t.rs\"\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"c\"\nversion = \"0.1.0\"\n";
const TESTS: &str = "#[test]\nfn red() {\n    assert_eq!(1 + 1, 3);\n}\n\n#[test]\nfn green() {}\n";

struct Lane {
    repo: TestRepo,
    temporary: PathBuf,
}

struct Answer {
    code: i32,
    out: String,
    told: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}{}", self.out, self.told))
    }
}

impl Lane {
    /// A package that needs no other, so that it is built in a second.
    fn new() -> Self {
        let repo = TestRepo::new();
        repo.write("Cargo.toml", MANIFEST)
            .write("Cargo.lock", LOCK)
            .write("src/lib.rs", "pub const LIMIT: u32 = 1;\n")
            .write("tests/properties/t.rs", TESTS)
            .write(
                ".github/frostline.yml",
                "version: 1\nlane: {runners: [cargo]}\n",
            )
            .commit("base");
        let temporary = repo.beside("temporary");
        std::fs::create_dir(&temporary).expect("a new folder");
        Self { repo, temporary }
    }

    fn run(&self, args: &[&str]) -> Answer {
        let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
            .args(args)
            .current_dir(self.repo.path())
            .env("TMPDIR", &self.temporary)
            .env("PROPTEST_CASES", "1")
            .env("CI", "true")
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs");
        let left = std::fs::read_dir(&self.temporary).expect("a folder");
        assert_eq!(left.count(), 0, "something is left behind");
        assert_eq!(self.repo.git(&["status", "--porcelain", "--ignored"]), "");
        Answer {
            code: output.status.code().expect("an exit status"),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            told: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

#[test]
fn a_row_of_a_rust_test_is_written_and_its_line_runs_again() {
    let lane = Lane::new();
    let file = lane.repo.beside("evidence.jsonl");
    let out = file.display().to_string();
    let window = [
        "lane",
        "window",
        "tests/properties/t.rs::red",
        "--max-runs",
        "7",
    ];
    let answer = lane.run(&[&window[..], &["--out", &out]].concat());
    assert_eq!(answer.code, 1, "{}", answer.told);
    assert!(
        answer.told.contains("building the tests below ./, once"),
        "{}",
        answer.told
    );
    let row = std::fs::read(&file).expect("a row");
    let evidence = frostline::contract::evidence::parse("evidence.jsonl", &row).expect("a ledger");
    assert_eq!(evidence.last[0].status, "stable-violation");
    let row: Value = serde_json::from_slice(&row).expect("one row");
    assert_eq!(row["replay"], "cargo test -p c --test t red -- --exact");
    let framework = row["framework"].as_str().expect("a text");
    assert!(framework.starts_with("cargo, rustc 1."), "{framework}");

    let mut lines = vec!["cargo test -p c --test t red -- --exact"];
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .output();
    match nextest.is_ok_and(|output| output.status.success()) {
        true => lines.push("cargo nextest run -E 'test(=red)'"),
        false => {
            assert!(
                std::env::var_os("CI").is_none(),
                "cargo nextest is not installed"
            );
            eprintln!("SKIPPED for nextest, which is not installed");
        }
    }
    for line in lines {
        let stored = json!({"nodeid": "tests/properties/t.rs::red", "seed": null, "replay": line});
        std::fs::write(&file, stored.to_string()).expect("a file");
        let answer = lane.run(&["lane", "replay", "--row", &out]);
        assert_eq!(
            (answer.code, &answer.json()["reproduced"]),
            (0, &json!(true)),
            "{line}: {}",
            answer.told
        );
        let passes = line.replace("red", "green");
        let stored =
            json!({"nodeid": "tests/properties/t.rs::green", "seed": null, "replay": passes});
        std::fs::write(&file, stored.to_string()).expect("a file");
        let answer = lane.run(&["lane", "replay", "--row", &out]);
        assert_eq!(
            (answer.code, &answer.json()["outcome"]),
            (1, &json!("green")),
            "{line}: {}",
            answer.told
        );
    }

    // A line of another runner is none for this file.
    let stored = json!({"nodeid": "tests/properties/t.rs::red", "seed": null, "replay": "pytest tests/properties/t.rs::red"});
    std::fs::write(&file, stored.to_string()).expect("a file");
    let answer = lane.run(&["lane", "replay", "--row", &out]);
    assert!(
        answer.code == 2 && answer.told.contains("only lines of cargo"),
        "{}",
        answer.told
    );
}

#[test]
fn properties_of_two_frameworks_run_in_one_lane() {
    let Some(python) = python("pytest") else {
        return;
    };
    let lane = Lane::new();
    let map = json!({"version": 1, "rules": [{
        "path_prefix": "src/",
        "live_properties": ["tests/properties/t.rs::green", "tests/properties/test_p.py::test_p", "tests/properties/t.rs::red"],
    }]});
    lane.repo
        .write("tests/properties/test_p.py", "def test_p(): pass\n")
        .write("tests/fixtures/a.json", "{}")
        .write("test/contract/hunk-map.json", map.to_string())
        .write("test/contract/flake-freeze.json", r#"{"version": 1, "entries": []}"#)
        .write(
            "test/contract/fixtures.lock.json",
            r#"{"fixtures_root": "tests/fixtures", "files": {"a.json": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}}"#,
        )
        .commit("contract");
    lane.repo.branch("feature");
    lane.repo
        .write("src/lib.rs", "pub const LIMIT: u32 = 2;\n")
        .commit("patch");
    let python = python.display().to_string();
    let answer = lane.run(&[
        "lane", "run", "--base", "main", "--head", "feature", "--python", &python,
    ]);
    assert_eq!(answer.code, 1, "{}", answer.told);
    let lines = answer
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut found: Vec<(String, String, String)> = lines
        .map(|line| {
            let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
            (
                text(&line["nodeid"]),
                text(&line["action"]),
                text(&line["framework"]["name"]),
            )
        })
        .collect();
    found.sort();
    let found: Vec<(&str, &str, &str)> = found.iter().map(|(a, b, c)| (&**a, &**b, &**c)).collect();
    assert_eq!(
        found,
        [
            ("tests/properties/t.rs::green", "PASS", "cargo"),
            ("tests/properties/t.rs::red", "BLOCK_INVARIANT", "cargo"),
            ("tests/properties/test_p.py::test_p", "PASS", "pytest"),
        ],
        "{}",
        answer.told
    );
}
