//! `frostline init` on small repositories of each layout: what it writes, what it says, and what the gate
//! makes of it. The repositories are in `tests/layouts`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use frostline::model::{Decision, Rule, Verdict};

use crate::support::repo::TestRepo;

const CONTRACT: [&str; 4] = [
    ".github/frostline.yml",
    "test/contract/fixtures.lock.json",
    "test/contract/flake-freeze.json",
    "test/contract/hunk-map.json",
];

fn frostline(repo: &TestRepo, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args(args)
        .current_dir(repo.path())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

/// Runs `init`, which has to succeed; what it says.
fn init(repo: &TestRepo, args: &[&str]) -> String {
    let output = frostline(repo, &[&["init"], args].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr, "");
    String::from_utf8(output.stdout).expect("stdout is UTF-8")
}

/// Why `init` could not run.
fn refused(repo: &TestRepo) -> String {
    let output = frostline(repo, &["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).expect("stderr is UTF-8")
}

fn judged(repo: &TestRepo, base: &str) -> Decision {
    let output = frostline(repo, &["check", "--base", base, "--format", "json"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "observing: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("a decision")
}

fn files_below(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        match path.is_dir() {
            true => files_below(&path, into),
            false => into.push(path),
        }
    }
}

/// A repository with one commit, of a layout.
fn repository(layout: &str) -> TestRepo {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/layouts")
        .join(layout);
    let mut files = Vec::new();
    files_below(&folder, &mut files);
    assert!(files.len() > 2, "{layout} has {} files", files.len());
    let repo = TestRepo::new();
    for file in files {
        let inside = file.strip_prefix(&folder).expect("a file of the layout");
        let bytes = std::fs::read(&file).expect("a readable file");
        repo.write(inside.to_str().expect("a plain path"), bytes);
    }
    repo.commit("Start");
    repo
}

fn text(repo: &TestRepo, path: &str) -> Option<String> {
    std::fs::read_to_string(repo.path().join(path)).ok()
}

/// What is there of the contract.
fn contract(repo: &TestRepo) -> BTreeMap<&'static str, String> {
    CONTRACT
        .into_iter()
        .filter_map(|path| Some((path, text(repo, path)?)))
        .collect()
}

/// What `init` says and writes.
fn proposed(repo: &TestRepo) -> String {
    let mut seen = init(repo, &[]);
    for (path, text) in contract(repo) {
        seen.push_str(&format!("--- {path}\n{text}"));
    }
    seen
}

fn rules_of(decision: &Decision) -> Vec<Rule> {
    decision
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect()
}

/// Commits the contract, which nothing may refuse, and starts a branch.
fn opt_in(repo: &TestRepo) {
    let base = repo.rev("HEAD");
    repo.commit("Opt in");
    let decision = judged(repo, &base);
    assert_eq!(decision.verdict, Verdict::NotApplicable);
    // The classes are those that the contract proposes, so nothing it names is missing.
    for unfit in [
        Rule::ContractUnreadable,
        Rule::NoProduction,
        Rule::GhostProperty,
        Rule::DeadPrefix,
        Rule::UnusedRule,
        Rule::CoverageHole,
    ] {
        assert!(
            !rules_of(&decision).contains(&unfit),
            "{:?}",
            decision.findings
        );
    }
    repo.branch("feature");
}

/// The verdict on changing `path` alone, by an agent.
fn verdict_on(repo: &TestRepo, path: &str) -> (Verdict, Vec<Rule>) {
    repo.switch("main");
    repo.git(&["branch", "--force", "feature", "main"]);
    repo.switch("feature");
    // In Rust a blank line changes nothing outside of the tests.
    let line = match path.ends_with(".rs") {
        true => "const CHANGED: u8 = 1;",
        false => "",
    };
    let changed = format!("{}{line}\n", text(repo, path).expect("a file to change"));
    repo.write(path, changed);
    repo.commit("Change");
    let decision = judged(repo, "main");
    (decision.verdict, rules_of(&decision))
}

const UNMAPPED: (Verdict, &[Rule]) = (Verdict::Refuse, &[Rule::UnmappedPath]);

fn assert_passes(repo: &TestRepo, path: &str) {
    let (verdict, rules) = verdict_on(repo, path);
    assert_eq!(verdict, Verdict::Pass, "{path}: {rules:?}");
}

fn assert_unmapped(repo: &TestRepo, path: &str) {
    let (verdict, rules) = verdict_on(repo, path);
    assert_eq!((verdict, rules.as_slice()), UNMAPPED, "{path}");
}

macro_rules! assert_proposed {
    ($layout:literal, $repo:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(concat!("init_", $layout), proposed(&$repo))
        })
    };
}

#[test]
fn python_with_src() {
    let repo = repository("python-src");
    assert_proposed!("python_src", repo);
    opt_in(&repo);
    assert_passes(&repo, "src/rows/parse.py");
    assert_passes(&repo, "src/rows/write.py");
    assert_unmapped(&repo, "src/rows/report.py");
    let (verdict, rules) = verdict_on(&repo, "tests/fixtures/orders.csv");
    assert_eq!(verdict, Verdict::Refuse);
    assert!(rules.contains(&Rule::DigestMismatch), "{rules:?}");
}

#[test]
fn python_without_src() {
    let repo = repository("python-flat");
    assert_proposed!("python_flat", repo);
    opt_in(&repo);
    assert_passes(&repo, "shapes/area.py");
    assert_unmapped(&repo, "shapes/io/load.py");
    let (verdict, rules) = verdict_on(&repo, "shapes/tests/helpers.py");
    assert_eq!((verdict, rules), (Verdict::Pass, vec![Rule::TestChanged]));
}

#[test]
fn a_second_run_proposes_nothing_and_changes_nothing() {
    let repo = repository("python-src");
    init(&repo, &[]);
    let first = contract(&repo);
    let seen = init(&repo, &[]);
    assert!(seen.contains("Nothing new to propose"), "{seen}");
    assert_eq!(contract(&repo), first);
    repo.commit("Opt in");
    let seen = init(&repo, &[]);
    assert!(seen.contains("Nothing new to propose"), "{seen}");
    assert_eq!(contract(&repo), first);
}

#[test]
fn a_dry_run_writes_nothing_and_shows_a_patch_that_applies() {
    let repo = repository("python-src");
    let seen = init(&repo, &["--dry-run"]);
    assert_eq!(contract(&repo), BTreeMap::new());
    assert!(seen.contains("would write test/contract/hunk-map.json (3 rules)"));
    assert!(!seen.contains('\u{1b}'), "no colour off a terminal");
    let patch = repo.beside("patch");
    std::fs::write(&patch, &seen).expect("a written patch");
    repo.git(&["apply", patch.to_str().expect("a plain path")]);
    let applied = contract(&repo);
    for path in CONTRACT {
        repo.remove(path);
    }
    init(&repo, &[]);
    assert_eq!(contract(&repo), applied);
}

#[test]
fn colour_is_shown_when_it_is_asked_for() {
    let repo = repository("python-src");
    let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args(["init", "--dry-run"])
        .current_dir(repo.path())
        .env_remove("NO_COLOR")
        .env("CLICOLOR_FORCE", "1")
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let seen = String::from_utf8(output.stdout).expect("stdout is UTF-8");
    assert!(seen.contains("\u{1b}[32m+version: 1\u{1b}[0m"), "{seen:?}");
}

#[test]
fn what_is_there_is_kept_and_new_rules_are_appended() {
    let repo = repository("python-src");
    let config = "version: 1\nmode: enforce\npaths:\n  properties: [tests/test_examples.py]\n";
    let map = "{\r\n\t\"version\": 1,\r\n\t\"rules\": [\r\n\t\t{\"path_prefix\": \"src/rows/parse.py\", \"live_properties\": []}\r\n\t]\r\n}";
    repo.write(CONTRACT[0], config).write(CONTRACT[3], map);
    let seen = init(&repo, &[]);
    assert!(
        seen.contains("extended test/contract/hunk-map.json (2 new rules)"),
        "{seen}"
    );
    assert_eq!(text(&repo, CONTRACT[0]).as_deref(), Some(config));
    let new = text(&repo, CONTRACT[3]).expect("a map");
    let kept = map.strip_suffix("\r\n\t]\r\n}").expect("its end");
    assert!(new.starts_with(&format!("{kept},\r\n\t\t{{\r\n")), "{new}");
    assert!(new.ends_with("\r\n\t\t}\r\n\t]\r\n}"), "{new}");
    assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
    let again = init(&repo, &[]);
    assert!(again.contains("Nothing new to propose"), "{again}");
}

#[test]
fn a_property_that_a_configuration_does_not_count_is_named_with_the_line_to_add() {
    let repo = repository("python-src");
    repo.write(CONTRACT[0], "version: 1\n");
    let seen = init(&repo, &[]);
    assert!(
        seen.contains("  properties:\n    - \"tests/test_examples.py\"\n"),
        "{seen}"
    );
    let map = text(&repo, CONTRACT[3]).expect("a map");
    assert!(!map.contains("test_examples"), "it would be a ghost: {map}");
}

#[test]
fn new_files_and_fixtures_are_told_of_in_a_second_run() {
    let repo = repository("python-src");
    init(&repo, &[]);
    repo.write(
        "src/rows/sort.py",
        "def sort(rows):\n    return sorted(rows)\n",
    );
    repo.write(
        "tests/properties/test_sort.py",
        "from hypothesis import given, strategies as st\n\nfrom rows.sort import sort\n\n\n@given(st.lists(st.text()))\ndef test_idempotent(rows):\n    assert sort(sort(rows)) == sort(rows)\n",
    );
    repo.write("tests/fixtures/new.csv", "x\n");
    repo.commit("Add sort");
    let before = contract(&repo);
    let seen = init(&repo, &[]);
    assert!(seen.contains("(1 new rule)"), "{seen}");
    assert!(seen.contains("frostline lock write"), "{seen}");
    let after = contract(&repo);
    for path in &CONTRACT[..3] {
        assert_eq!(after[path], before[path], "{path}");
    }
    let rule = "src/rows/sort.py\",\n      \"live_properties\": [\n        \"tests/properties/test_sort.py::test_idempotent\"\n";
    assert!(after[CONTRACT[3]].contains(rule), "{}", after[CONTRACT[3]]);
    assert!(after[CONTRACT[3]].starts_with(before[CONTRACT[3]].trim_end_matches("\n  ]\n}\n")));
}

#[test]
fn files_that_git_does_not_track_are_not_proposed() {
    let repo = repository("python-src");
    repo.write(
        "tests/properties/test_new.py",
        "from hypothesis import given\n",
    );
    repo.write("src/rows/new.py", "");
    assert!(init(&repo, &[]).contains("3 of 4 production files have a property."));
}

#[test]
fn an_unreadable_contract_file_stops_it_before_anything_is_written() {
    for (path, bad, place) in [
        (CONTRACT[0], "version: 2\n", ":1:10:"),
        (CONTRACT[1], "{}", ":1:1:"),
        (CONTRACT[2], "[]", ":1:1:"),
        (CONTRACT[3], "{\"version\": 1,\n \"rules\": 1}", ":2:11:"),
    ] {
        let repo = repository("python-src");
        repo.write(path, bad);
        let why = refused(&repo);
        assert!(why.contains(&format!("{path}{place}")), "{why}");
        assert!(why.contains("nothing was written"), "{why}");
        assert_eq!(contract(&repo).len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_symlink() {
    let repo = repository("python-src");
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).expect("a new folder");
    std::os::unix::fs::symlink(&outside, repo.path().join("test")).expect("a new link");
    let why = refused(&repo);
    assert!(why.contains("is a symlink"), "{why}");
    let mut files = Vec::new();
    files_below(&outside, &mut files);
    assert_eq!(files, Vec::<PathBuf>::new());
}

#[test]
fn a_repository_without_properties_gets_a_contract_and_an_example() {
    let repo = TestRepo::new();
    repo.write("src/app.py", "def run():\n    pass\n");
    repo.write("tests/test_app.py", "def test_run():\n    pass\n");
    repo.commit("Start");
    assert_proposed!("no_properties", repo);
    opt_in(&repo);
    assert_unmapped(&repo, "src/app.py");
}

#[test]
fn fixtures_that_cannot_be_pinned_are_left_out() {
    let repo = repository("python-src");
    repo.write(".gitattributes", "tests/data/** text eol=crlf\n");
    repo.commit("Convert");
    let seen = init(&repo, &[]);
    assert!(
        seen.contains("tests/data: tests/data/legacy.csv cannot be pinned: "),
        "{seen}"
    );
    let lock = text(&repo, CONTRACT[1]).expect("a lock");
    assert!(
        lock.contains("\"fixtures_root\": \"tests/fixtures\""),
        "{lock}"
    );
    opt_in(&repo);
    assert_passes(&repo, "src/rows/parse.py");
}

#[test]
fn without_anything_staged_or_a_work_tree_it_says_what_to_do() {
    let repo = TestRepo::new();
    assert!(refused(&repo).contains("`git add` the project first"));
    let repo = repository("python-src");
    repo.git(&["config", "core.bare", "true"]);
    let why = refused(&repo);
    assert!(why.contains("a bare repository has no work tree"), "{why}");
}

#[test]
fn cargo_workspace() {
    let repo = repository("cargo-workspace");
    assert_proposed!("cargo_workspace", repo);
    opt_in(&repo);
    assert_passes(&repo, "crates/lex/src/token.rs");
    assert_unmapped(&repo, "tool/src/main.rs");
    let (verdict, rules) = verdict_on(&repo, "crates/lex/tests/support/mod.rs");
    // The properties of tokens.rs need it.
    assert_eq!(
        (verdict, rules),
        (Verdict::HumanReview, vec![Rule::SupportChanged])
    );
}

#[test]
fn npm_workspace() {
    let repo = repository("npm-workspace");
    assert_proposed!("npm_workspace", repo);
    opt_in(&repo);
    assert_passes(&repo, "packages/core/src/encode.ts");
    assert_passes(&repo, "packages/cli/index.js");
    let (verdict, rules) = verdict_on(&repo, "packages/core/test/encode.test.ts");
    assert_eq!(
        (verdict, rules),
        (Verdict::HumanReview, vec![Rule::PropertyChanged])
    );
}

#[test]
fn go_module() {
    let repo = repository("go-module");
    assert_proposed!("go_module", repo);
    opt_in(&repo);
    assert_passes(&repo, "ring.go");
    assert_passes(&repo, "internal/codec/read.go");
    assert_unmapped(&repo, "store/store.go");
}

#[test]
fn a_pipe_in_place_of_a_contract_file_is_an_error() {
    let repo = repository("python-src");
    std::fs::create_dir_all(repo.path().join("test/contract")).expect("a folder");
    let status = std::process::Command::new("mkfifo")
        .arg(repo.path().join(CONTRACT[3]))
        .status();
    assert!(status.expect("mkfifo").success());
    assert!(refused(&repo).contains("is no regular file"));
}
