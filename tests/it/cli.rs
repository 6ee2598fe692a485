//! The real binary in real repositories: exit status, stdout and stderr of each command.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use frostline::model::{DECISION_SCHEMA, Decision, Verdict};
use sha2::{Digest as _, Sha256};

use crate::support::repo::TestRepo;

/// The binary, away from the terminal, the user's environment and any colour setting.
fn frostline(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    frostline(folder, args).output().expect("the binary runs")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit status")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("stderr is UTF-8")
}

/// What a user sees, with ids and times made equal.
fn seen(output: &Output) -> String {
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        code(output),
        stdout(output),
        stderr(output)
    )
}

macro_rules! assert_seen {
    ($name:literal, $output:expr) => {
        insta::with_settings!({
            omit_expression => true,
            filters => [
                (r"\b[0-9a-f]{40}\b", "[id]"),
                (r"\b[0-9a-f]{12}\b", "[short id]"),
                (r#""elapsed_ms": \d+"#, r#""elapsed_ms": [ms]"#),
                (r"(/[\w.-]+)+/repo\b", "[repo]"),
                (r"frostline \d+\.\d+\.\d+", "frostline [version]"),
            ],
        }, { insta::assert_snapshot!($name, seen(&$output)) })
    };
}

mod audit;
mod formats;
mod ledger;

const ROUNDTRIP: &str = "tests/properties/test_parse.py::test_roundtrip";
const TOTAL: &str = "tests/properties/test_parse.py::test_total";

fn lock(bytes: &str) -> String {
    let digest = hex::encode(Sha256::digest(bytes));
    format!(
        "{{\n  \"fixtures_root\": \"tests/fixtures\",\n  \"files\": {{\n    \"a.json\": \"{digest}\"\n  }}\n}}\n"
    )
}

fn freezes(frozen: &[&str]) -> String {
    let rows: Vec<String> = frozen
        .iter()
        .map(|nodeid| {
            format!(
                r#"  {{"nodeid": "{nodeid}", "reason": "fails at times", "owner": "@ada", "covers": ["src/parse.py"], "frozen": true}}"#
            )
        })
        .collect();
    format!(
        "{{\"version\": 1, \"entries\": [\n{}\n]}}\n",
        rows.join(",\n")
    )
}

/// A repository that has opted in: one parser with two properties and one fixture, on `main`; HEAD is
/// the new branch `patch`.
fn opted_in(config: &str, frozen: &[&str]) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/parse.py", "def parse(text):\n    return text.split()\n")
        .write(
            "tests/properties/test_parse.py",
            "def test_roundtrip():\n    pass\n\n\ndef test_total():\n    pass\n",
        )
        .write("tests/fixtures/a.json", "{}\n")
        .write(".github/frostline.yml", config)
        .write("test/contract/fixtures.lock.json", lock("{}\n"))
        .write("test/contract/flake-freeze.json", freezes(frozen))
        .write(
            "test/contract/hunk-map.json",
            format!(
                "{{\"version\": 1, \"rules\": [\n  {{\"path_prefix\": \"src/parse.py\", \"live_properties\": [\"{ROUNDTRIP}\", \"{TOTAL}\"]}}\n]}}\n"
            ),
        );
    repo.commit("Opt in");
    repo.branch("patch");
    repo
}

/// A patch of the parser, committed on `patch`.
fn with_patch(config: &str, frozen: &[&str]) -> TestRepo {
    let repo = opted_in(config, frozen);
    repo.write(
        "src/parse.py",
        "def parse(text):\n    return text.split(',')\n",
    );
    repo.commit("Split at commas");
    repo
}

const ENFORCE: &str = "version: 1\n";

#[test]
fn check_passes_a_covered_patch() {
    let repo = with_patch(ENFORCE, &[]);
    assert_seen!("check_pass", run(repo.path(), &["check"]));
}

#[test]
fn check_refuses_holes_mismatches_and_unmapped_paths() {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    repo.write("src/new.py", "x = 1\n")
        .write("tests/fixtures/a.json", "{\"a\": 1}\n");
    repo.commit("Rewrite a fixture, add a module");
    assert_seen!("check_refuse", run(repo.path(), &["check"]));
}

#[test]
fn check_asks_for_a_person_when_the_contract_changes() {
    let repo = opted_in(ENFORCE, &[TOTAL]);
    repo.write("test/contract/flake-freeze.json", freezes(&[]));
    repo.commit("Thaw");
    assert_seen!("check_human_review", run(repo.path(), &["check"]));
}

#[test]
fn check_blocks_nothing_under_observe() {
    let repo = with_patch("version: 1\nmode: observe\n", &[ROUNDTRIP, TOTAL]);
    let output = run(repo.path(), &["check"]);
    assert_seen!("check_observe", output);
    let json = run(repo.path(), &["check", "--format", "json"]);
    let decision: Decision = serde_json::from_slice(&json.stdout).expect("a decision");
    assert_eq!((code(&json), decision.verdict), (0, Verdict::Refuse));
}

#[test]
fn check_tells_a_repository_without_contract_how_to_start() {
    let repo = TestRepo::new();
    repo.write("src/a.py", "x = 1\n");
    repo.commit("Begin");
    repo.branch("patch");
    repo.write("src/a.py", "x = 2\n");
    repo.commit("Change");
    assert_seen!("check_not_opted_in", run(repo.path(), &["check"]));
}

#[test]
fn check_reads_the_contract_of_a_patch_that_opts_in() {
    let repo = opted_in(ENFORCE, &[]);
    // Another `main`, with the same files but for the contract, which stays in the work tree.
    repo.git(&["checkout", "--quiet", "--orphan", "bare"]);
    repo.git(&["rm", "--quiet", "-r", "--cached", ".github", "test"]);
    repo.git(&["commit", "--quiet", "-m", "Without a contract"]);
    repo.git(&["branch", "--force", "main", "bare"]);
    repo.git(&["checkout", "--quiet", "-b", "opt-in"]);
    repo.commit("Opt in");
    let output = run(repo.path(), &["check"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 0);
    assert!(
        text.starts_with("Not opted in yet: the contract that this patch brings can be read\n"),
        "{text}"
    );
    repo.write("test/contract/hunk-map.json", "{\"version\": 2}\n");
    repo.commit("Break the map");
    let text = stdout(&run(repo.path(), &["check"]));
    assert!(
        text.starts_with("Not opted in yet; once opted in, this would be refused: 1 unreadable"),
        "{text}"
    );
}

#[test]
fn check_names_the_place_of_a_broken_contract() {
    let repo = opted_in("version: 1\nmod: observe\n", &[]);
    repo.write("README.md", "words\n");
    repo.commit("Document");
    let output = run(repo.path(), &["check"]);
    assert!(
        stdout(&output).contains(".github/frostline.yml:2"),
        "{}",
        stdout(&output)
    );
    assert_seen!("check_broken_contract", output);
}

#[test]
fn check_binds_a_person_to_what_keeps_the_branch_consistent_only() {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    assert_seen!(
        "check_human",
        run(repo.path(), &["check", "--author", "human"])
    );
    let repo = with_patch("version: 1\napply_to: all\n", &[ROUNDTRIP, TOTAL]);
    assert_eq!(code(&run(repo.path(), &["check", "--author", "human"])), 1);
}

#[test]
fn check_prints_json_and_markdown() {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    let json = run(repo.path(), &["check", "--format", "json"]);
    let decision: Decision = serde_json::from_slice(&json.stdout).expect("a decision");
    assert_eq!(decision.schema, DECISION_SCHEMA);
    assert_eq!((code(&json), decision.verdict), (1, Verdict::Refuse));
    assert_seen!("check_json", json);
    assert_seen!(
        "check_markdown",
        run(repo.path(), &["check", "--format", "markdown"])
    );
}

#[test]
fn check_judges_the_revisions_that_are_named() {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    repo.switch("main");
    assert_eq!(code(&run(repo.path(), &["check"])), 0, "nothing differs");
    let named = run(repo.path(), &["check", "--base", "main", "--head", "patch"]);
    assert_eq!(code(&named), 1, "{}", stdout(&named));
    let folder = repo.path().join("src");
    let from_below = run(&folder, &["check", "--head", "patch"]);
    assert_eq!(stdout(&from_below), stdout(&named));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let path = repo.path().to_str().expect("a UTF-8 path");
    let from_elsewhere = run(
        elsewhere.path(),
        &["check", "--repo", path, "--head", "patch"],
    );
    assert_eq!(stdout(&from_elsewhere), stdout(&named));
}

#[test]
fn check_reads_commits_and_not_the_work_tree() {
    let repo = with_patch(ENFORCE, &[]);
    let before = stdout(&run(repo.path(), &["check"]));
    repo.write("src/other.py", "x = 1\n")
        .write("tests/fixtures/a.json", "changed\n");
    assert_eq!(stdout(&run(repo.path(), &["check"])), before);
}

#[test]
fn check_judges_the_work_tree_when_it_is_asked_to() {
    let repo = opted_in(ENFORCE, &[]);
    let clean = run(repo.path(), &["check", "--head", "WORKTREE"]);
    assert_eq!(code(&clean), 0, "{}", stdout(&clean));
    repo.write("src/parse.py", "def parse(text):\n    return []\n")
        .write("src/new.py", "x = 1\n");
    assert_seen!(
        "check_work_tree",
        run(repo.path(), &["check", "--head", "WORKTREE"])
    );
    let json = run(
        repo.path(),
        &["check", "--head", "WORKTREE", "--format", "json"],
    );
    let decision: Decision = serde_json::from_slice(&json.stdout).expect("a decision");
    assert_eq!(decision.subject, frostline::model::Subject::WorkTree);
    let known = repo.try_git(&["cat-file", "-e", decision.head.as_str()]);
    assert!(!known.status.success(), "the commit exists nowhere");
    assert_eq!(
        repo.git(&["status", "--porcelain"]),
        " M src/parse.py\n?? src/new.py"
    );
}

#[test]
fn check_without_a_cache_says_the_same() {
    let repo = with_patch(ENFORCE, &[]);
    let cold = stdout(&run(repo.path(), &["check", "--no-cache"]));
    assert!(
        !repo.path().join(".git/frostline").exists(),
        "nothing is kept"
    );
    assert_eq!(stdout(&run(repo.path(), &["check"])), cold);
    assert_eq!(stdout(&run(repo.path(), &["check"])), cold);
}

#[test]
fn what_cannot_run_says_why_in_one_sentence() {
    let repo = with_patch(ENFORCE, &[]);
    let empty = tempfile::tempdir().expect("a folder");
    let no_repo = run(empty.path(), &["check"]);
    assert_seen!("check_no_repository", no_repo);
    assert_seen!(
        "check_unknown_revision",
        run(repo.path(), &["check", "--head", "nowhere"])
    );
    let unwritable = run(
        repo.path(),
        &["check", "--snapshot-out", "no/such/folder/x"],
    );
    assert_seen!("check_snapshot_not_written", unwritable);
    for output in [no_repo, unwritable] {
        assert_eq!(code(&output), 2);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn a_repository_without_a_commit_says_so() {
    let repo = TestRepo::new();
    repo.write("src/a.py", "x = 1\n");
    for args in [
        &["check"][..],
        &["check", "--base", "main"],
        &["check", "--head", "WORKTREE"],
        &["audit"],
        &["ledger", "validate"],
    ] {
        let output = run(repo.path(), args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert_eq!(
            stderr(&output),
            "error: there is no commit yet to read; make the first one with `git commit`\n",
            "{args:?}"
        );
    }
}

#[test]
fn a_revision_that_is_no_commit_is_told_in_plain_words() {
    let repo = with_patch(ENFORCE, &[]);
    for (revision, says) in [
        ("nope", "there is no revision \"nope\"; `git fetch` it"),
        (
            "0000000",
            "there is no revision \"0000000\", or several ids begin so;",
        ),
        (
            "HEAD:src",
            "\"HEAD:src\" names a file or a folder; name a commit",
        ),
    ] {
        let output = run(repo.path(), &["check", "--base", revision]);
        assert_eq!(code(&output), 2, "{revision}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

#[test]
fn observe_asks_no_person_to_approve() {
    let repo = opted_in("version: 1\nmode: observe\n", &[]);
    repo.write(".github/frostline.yml", ENFORCE);
    repo.commit("Enforce");
    let text = stdout(&run(repo.path(), &["check"]));
    assert!(text.starts_with("would need human review"), "{text}");
    assert!(
        text.contains("Under mode: enforce a person would have to approve this"),
        "{text}"
    );
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_seen!(
        "usage_unknown_flag",
        run(folder.path(), &["check", "--bases", "x"])
    );
    assert_seen!(
        "usage_unknown_format",
        run(folder.path(), &["check", "--format", "xml"])
    );
    for args in [&[][..], &["nothing"], &["decide"]] {
        assert_eq!(code(&run(folder.path(), args)), 2, "{args:?}");
    }
}

#[test]
fn decide_gives_the_decision_of_check() {
    for (config, frozen) in [(ENFORCE, &[][..]), (ENFORCE, &[ROUNDTRIP, TOTAL][..])] {
        let repo = with_patch(config, frozen);
        let args = [
            "check",
            "--snapshot-out",
            "../snapshot.json",
            "--format",
            "json",
        ];
        let check = run(repo.path(), &args);
        let snapshot = repo.beside("snapshot.json");
        let path = snapshot.to_str().expect("a UTF-8 path");
        let elsewhere = tempfile::tempdir().expect("a folder");
        let decide = run(elsewhere.path(), &["decide", path, "--format", "json"]);
        assert_eq!(stdout(&decide), stdout(&check));
        assert_eq!(code(&decide), code(&check));

        let mut from_stdin = frostline(elsewhere.path(), &["decide", "-", "--format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let bytes = std::fs::read(&snapshot).expect("the snapshot");
        let mut pipe = from_stdin.stdin.take().expect("a pipe");
        pipe.write_all(&bytes).expect("the binary reads");
        drop(pipe);
        let from_stdin = from_stdin.wait_with_output().expect("the binary ends");
        assert_eq!(stdout(&from_stdin), stdout(&check));
    }
}

#[test]
fn decide_refuses_what_is_no_snapshot() {
    let repo = with_patch(ENFORCE, &[]);
    let check = run(repo.path(), &["check", "--snapshot-out", "../whole.json"]);
    assert_eq!(code(&check), 0, "{}", stderr(&check));
    let whole = std::fs::read_to_string(repo.beside("whole.json")).expect("the snapshot");
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a written file");
    };
    // What stands before this key has the same length in every run.
    let cut = whole.find("\"merge_bases\"").expect("the key");
    write("truncated.json", &whole[..cut + 6]);
    write(
        "newer.json",
        &whole.replace("frostline.snapshot/1", "frostline.snapshot/9"),
    );
    write("other.json", "{\"a\": 1}\n");
    write(
        "wrong.json",
        &whole.replace("\"opted_in\": true", "\"opted_in\": 7"),
    );
    write("list.json", "[]\n");
    write("empty.json", "");
    for name in [
        "missing",
        "truncated",
        "newer",
        "other",
        "wrong",
        "list",
        "empty",
    ] {
        let file = format!("{name}.json");
        let output = run(folder.path(), &["decide", &file]);
        let error = stderr(&output);
        assert_eq!(code(&output), 2, "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(&file), "{error}");
    }
    assert_seen!(
        "decide_missing",
        run(folder.path(), &["decide", "missing.json"])
    );
    assert_seen!(
        "decide_truncated",
        run(folder.path(), &["decide", "truncated.json"])
    );
    assert_seen!(
        "decide_newer",
        run(folder.path(), &["decide", "newer.json"])
    );
    assert_seen!(
        "decide_other",
        run(folder.path(), &["decide", "other.json"])
    );
}

#[test]
fn colour_only_where_it_is_asked_for() {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    let plain = stdout(&run(repo.path(), &["check"]));
    assert!(!plain.contains('\u{1b}'), "no terminal, no colour");
    let forced = frostline(repo.path(), &["check"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("the binary runs");
    assert!(stdout(&forced).contains('\u{1b}'));
    let stripped = anstream::adapter::strip_str(&stdout(&forced)).to_string();
    assert_eq!(stripped, plain, "colour adds nothing else");
    let refused = frostline(repo.path(), &["check"])
        .env("CLICOLOR_FORCE", "1")
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary runs");
    assert_eq!(stdout(&refused), plain);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let repo = with_patch(ENFORCE, &[ROUNDTRIP, TOTAL]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = frostline(repo.path(), &["check"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
        .wait_with_output()
        .expect("the binary ends");
    assert_eq!((code(&output), stderr(&output)), (1, String::new()));
}

#[cfg(unix)]
#[test]
fn a_hostile_path_cannot_draw_on_the_terminal() {
    let repo = opted_in(ENFORCE, &[]);
    repo.write("src/\u{1b}[2J\u{202e}evil\n.py", "x = 1\n");
    repo.commit("Draw");
    let text = stdout(&run(repo.path(), &["check"]));
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert!(text.contains(r"src/\u{1b}[2J\u{202e}evil\n.py"), "{text}");
}

#[test]
fn completions_know_every_command_in_every_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = stdout(&run(folder.path(), &["--help"]));
    let commands: Vec<&str> = help
        .split("\nCommands:\n")
        .nth(1)
        .expect("commands")
        .lines()
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(folder.path(), &["completions", shell]);
        let script = stdout(&output);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
        for word in commands.iter().chain(&["--for-agent", "--snapshot-out"]) {
            let bare = word.trim_start_matches('-');
            assert!(script.contains(bare), "{shell}: {word}");
        }
    }
    let script = stdout(&run(folder.path(), &["completions", "bash"]));
    let parsed = Command::new("bash")
        .args(["-n", "-c", &script])
        .status()
        .expect("bash on the PATH");
    assert!(parsed.success());
    assert_eq!(code(&run(folder.path(), &["completions", "tcl"])), 2);
}

#[test]
fn every_command_explains_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_seen!("help", run(folder.path(), &["--help"]));
    for command in [
        "audit",
        "check",
        "completions",
        "decide",
        "demo",
        "digest",
        "doctor",
        "init",
        "lane",
        "lane probe",
        "lane replay",
        "lane window",
        "ledger",
        "ledger validate",
        "lock",
        "lock write",
        "lock verify",
        "schema",
        "serve",
        "setup",
    ] {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.push("--help");
        let long = run(folder.path(), &args);
        assert_eq!(code(&long), 0, "{command}");
        for part in ["\nUsage: ", "\nExit status:\n", "\nExamples:\n"] {
            assert!(stdout(&long).contains(part), "{command} lacks{part}");
        }
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(format!("help_{}", command.replace(' ', "_")), seen(&long));
        });
    }
    let version = stdout(&run(folder.path(), &["--version"]));
    assert_eq!(
        version,
        format!("frostline {}\n", env!("CARGO_PKG_VERSION"))
    );
}
