//! Every kind of local repository, and configuration that must have no effect.

use frostline::git::{GitError, Request};
use frostline::model::{Fact, Snapshot};

use crate::git_support::{gather, request};
use crate::support::repo::{TestRepo, git_in};

/// Base and head with a rename, a fixture and a contract.
fn pull_request() -> TestRepo {
    let repo = TestRepo::new();
    let text: String = (0..30).map(|line| format!("line {line}\n")).collect();
    repo.write("src/a.py", &text)
        .write("tests/fixtures/a.json", "{}\n")
        .write(".github/frostline.yml", "version: 1\n")
        .commit("base");
    repo.branch("work")
        .remove("src/a.py")
        .write("src/b.py", &text)
        .commit("head");
    repo.switch("main")
        .write("src/a.py", text.replace("line 20\n", "base\n"))
        .commit("base moves on");
    repo.switch("work");
    repo
}

/// What a snapshot says, apart from what it cost and what the repository is called.
fn facts(mut snapshot: Snapshot) -> Snapshot {
    snapshot.stats = frostline::model::Stats::default();
    snapshot.repository = String::new();
    snapshot
}

fn in_folder(folder: std::path::PathBuf, repo: &TestRepo) -> Request {
    Request {
        repo: folder,
        head: "work".into(),
        ..request(repo)
    }
}

#[test]
fn packed_loose_bare_linked_and_borrowed_objects_say_the_same() {
    let repo = pull_request();
    let expected = facts(gather(&request(&repo)));
    assert!(expected.merged_tree.known().is_some() && expected.opted_in);

    let bare = repo.beside("bare.git");
    repo.git(&["clone", "--quiet", "--bare", ".", &bare.to_string_lossy()]);
    let borrowed = repo.beside("borrowed");
    repo.git(&[
        "clone",
        "--quiet",
        "--shared",
        "--bare",
        ".",
        &borrowed.to_string_lossy(),
    ]);
    let linked = repo.beside("linked");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &linked.to_string_lossy(),
        "work",
    ]);
    let separate = repo.beside("separate");
    let git_dir = repo.beside("separate.git");
    repo.git(&[
        "clone",
        "--quiet",
        "--separate-git-dir",
        &git_dir.to_string_lossy(),
        ".",
        &separate.to_string_lossy(),
    ]);
    git_in(&separate, 1_800_000_000, &["branch", "main", "origin/main"]);
    let inside = repo.path().join("src");
    for folder in [bare, borrowed, linked, separate, inside] {
        let name = folder.display().to_string();
        assert_eq!(facts(gather(&in_folder(folder, &repo))), expected, "{name}");
    }
    repo.git(&["gc", "--quiet"]);
    assert_eq!(facts(gather(&request(&repo))), expected, "packed");
}

#[test]
fn hostile_configuration_changes_nothing() {
    let repo = pull_request();
    let expected = facts(gather(&request(&repo)));
    for (key, value) in [
        ("diff.renames", "false"),
        ("merge.renames", "false"),
        ("merge.directoryRenames", "true"),
        ("merge.default", "evil"),
        ("merge.evil.driver", "touch /tmp/frostline-evil; true"),
        ("core.attributesFile", "evil-attributes"),
        ("core.fsmonitor", "touch evil"),
        ("core.bigFileThreshold", "1"),
        ("diff.algorithm", "patience"),
        ("include.path", "/dev/null"),
    ] {
        repo.git(&["config", key, value]);
    }
    std::fs::write(
        repo.path().join(".git/info/attributes"),
        "* filter=evil merge=evil -text eol=crlf\n",
    )
    .expect("info/attributes");
    std::fs::write(
        repo.path().join("evil-attributes"),
        "* merge=evil filter=evil\n",
    )
    .expect("attributes");
    assert_eq!(facts(gather(&request(&repo))), expected);
    assert!(!repo.path().join("evil").exists());
}

#[test]
fn replacement_objects_and_grafts_change_nothing() {
    let repo = pull_request();
    let expected = facts(gather(&request(&repo)));
    let (main, work) = (repo.rev("main"), repo.rev("work"));
    repo.git(&["replace", &work, &main]);
    repo.git(&[
        "replace",
        &repo.rev("main:src/a.py"),
        &repo.rev("main:tests/fixtures/a.json"),
    ]);
    assert_eq!(facts(gather(&request(&repo))), expected, "replaced");
    std::fs::write(repo.path().join(".git/info/grafts"), format!("{main}\n")).expect("grafts");
    assert_eq!(facts(gather(&request(&repo))), expected, "grafted");
}

#[test]
fn a_shallow_repository_without_the_merge_base_says_how_to_deepen() {
    let repo = TestRepo::new();
    repo.write("a", "0\n").commit("root");
    repo.branch("work");
    for number in 0..4 {
        repo.write("work", number.to_string()).commit("work");
    }
    repo.switch("main").write("a", "1\n").commit("main");
    let origin = format!("file://{}", repo.path().display());
    let shallow = repo.beside("shallow");
    let clone = |depth: &str| {
        let _ = std::fs::remove_dir_all(&shallow);
        repo.git(&[
            "clone",
            "--quiet",
            "--bare",
            "--no-single-branch",
            "--depth",
            depth,
            &origin,
            &shallow.to_string_lossy(),
        ]);
        frostline::git::gather(&in_folder(shallow.clone(), &repo))
    };
    let error = clone("2").expect_err("too shallow");
    assert!(matches!(error, GitError::Shallow { .. }), "{error}");
    assert!(error.to_string().contains("git fetch --deepen"), "{error}");
    let snapshot = clone("5").expect("deep enough");
    assert_eq!(snapshot.write_set.known().map(Vec::len), Some(1));
}

#[test]
fn a_shallow_edge_that_could_hide_a_further_merge_base_is_no_answer() {
    let repo = TestRepo::new();
    repo.write("a", "0\n").commit("root");
    repo.branch("side");
    for number in 0..3 {
        repo.write("side", number.to_string()).commit("side");
    }
    repo.switch("main")
        .branch("work")
        .write("w", "1\n")
        .commit("work");
    repo.git(&["merge", "--quiet", "--no-edit", "side"]);
    repo.switch("main").write("m", "1\n").commit("main");
    let origin = format!("file://{}", repo.path().display());
    let shallow = repo.beside("shallow");
    repo.git(&[
        "clone",
        "--quiet",
        "--bare",
        "--no-single-branch",
        "--depth",
        "3",
        &origin,
        &shallow.to_string_lossy(),
    ]);
    // The root is there through main, but side's own history is cut off.
    let error = frostline::git::gather(&in_folder(shallow, &repo)).expect_err("side is cut off");
    assert!(matches!(error, GitError::Shallow { .. }), "{error}");
}

#[test]
fn a_sha_256_repository_is_refused_by_name() {
    let repo = TestRepo::init(&["--object-format=sha256", "--initial-branch=main"]);
    repo.write("a", "a\n").commit("one");
    let error = frostline::git::gather(&request(&repo)).expect_err("not SHA-1");
    assert!(matches!(error, GitError::Sha256 { .. }), "{error}");
    assert!(error.to_string().contains("SHA-256"), "{error}");
}

#[test]
fn no_repository_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let repo = TestRepo::new();
    let error =
        frostline::git::gather(&in_folder(folder.path().to_owned(), &repo)).expect_err("none");
    assert!(matches!(error, GitError::NoRepository { .. }), "{error}");
}

#[test]
fn the_base_is_the_upstream_default_branch() {
    let repo = pull_request();
    let clone = repo.beside("clone");
    repo.git(&["clone", "--quiet", ".", &clone.to_string_lossy()]);
    let mut request = in_folder(clone.clone(), &repo);
    request.base = None;
    request.head = "HEAD".into();
    let branch = |request: &Request| gather(request).branch;
    assert_eq!(branch(&request), "work", "origin/HEAD");
    git_in(
        &clone,
        1_800_000_000,
        &["remote", "set-head", "origin", "--delete"],
    );
    assert_eq!(branch(&request), "main", "origin/main");
    git_in(&clone, 1_800_000_000, &["remote", "remove", "origin"]);
    let error = frostline::git::gather(&request).expect_err("only the branch work is there");
    assert!(matches!(error, GitError::NoDefaultBranch), "{error}");
    assert!(error.to_string().contains("--base"), "{error}");
}

#[test]
fn a_repository_is_named_by_its_remote() {
    let repo = pull_request();
    assert_eq!(gather(&request(&repo)).repository, "repo");
    repo.git(&["remote", "add", "origin", "git@github.com:acme/parser.git"]);
    assert_eq!(gather(&request(&repo)).repository, "acme/parser");
}

#[test]
fn an_unreadable_fixture_is_a_fact_and_an_unreadable_tree_an_error() {
    let repo = pull_request();
    let object = |id: &str| {
        repo.path()
            .join(".git/objects")
            .join(&id[..2])
            .join(&id[2..])
    };
    std::fs::remove_file(object(&repo.rev("work:tests/fixtures/a.json"))).expect("a loose blob");
    let snapshot = gather(&request(&repo));
    let digests: Vec<_> = snapshot.digests.values().collect();
    assert!(
        matches!(digests.as_slice(), [Fact::Unavailable(_)]),
        "{digests:?}"
    );
    std::fs::remove_file(object(&repo.rev("work:tests"))).expect("a loose tree");
    let error = frostline::git::gather(&request(&repo)).expect_err("no tree");
    assert!(matches!(error, GitError::Object { .. }), "{error}");
}

#[test]
fn a_missing_commit_is_no_end_of_history() {
    let repo = pull_request();
    let middle = repo.rev("main");
    repo.write("x", "x\n").commit("more");
    repo.switch("main").write("y", "y\n").commit("more");
    repo.switch("work");
    std::fs::remove_file(
        repo.path()
            .join(".git/objects")
            .join(&middle[..2])
            .join(&middle[2..]),
    )
    .expect("loose");
    let error = frostline::git::gather(&request(&repo)).expect_err("a hole in the history");
    assert!(matches!(error, GitError::Object { .. }), "{error}");
}

#[test]
fn a_few_objects_that_stand_for_billions_of_files_are_refused() {
    let repo = pull_request();
    let mut tree = repo.rev("work:tests");
    for _ in 0..12 {
        let lines: String = (0..12)
            .map(|number| format!("040000 tree {tree}\t{number}\n"))
            .collect();
        tree = feed(&repo, &["mktree"], &lines);
    }
    let commit = repo.git(&["commit-tree", "-p", "main", "-m", "bomb", &tree]);
    let mut request = request(&repo);
    request.head = commit.as_str().into();
    let error = frostline::git::gather(&request).expect_err("too many files");
    assert!(matches!(error, GitError::TooManyFiles { .. }), "{error}");
}

/// What git says to this input.
fn feed(repo: &TestRepo, args: &[&str], input: &str) -> String {
    use std::io::Write as _;
    let mut child = crate::support::repo::command(repo.path(), 1_800_000_000, args)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("git on the PATH");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input.as_bytes()).expect("git reads");
    drop(pipe);
    let output = child.wait_with_output().expect("git ends");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
