//! The write-set of real histories (protocol section 1).

use frostline::git::GitError;
use frostline::model::{Change, ChangeStatus, EntryKind, Fact, Hunk};

use crate::git_support::{gather, request, write_set};
use crate::support::repo::{TestRepo, fast_commit};

fn at<'a>(changes: &'a [Change], path: &str) -> &'a Change {
    changes
        .iter()
        .find(|change| change.path == path)
        .unwrap_or_else(|| panic!("{path} is not in {:?}", paths(changes)))
}

fn paths(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

fn twenty_lines() -> String {
    (1..=20).map(|line| format!("line {line}\n")).collect()
}

/// `main` with one production file of twenty lines; on the branch `work`.
fn started() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.py", twenty_lines())
        .write("README.md", "hello\n")
        .commit("one");
    repo.branch("work");
    repo
}

#[test]
fn a_rename_is_on_both_sides() {
    let repo = started();
    repo.remove("src/a.py")
        .write("src/b.py", twenty_lines().replace("line 3\n", "changed\n"))
        .commit("move");
    let changes = write_set(&repo);
    assert_eq!(paths(&changes), ["src/a.py", "src/b.py"]);
    assert_eq!(at(&changes, "src/a.py").status, ChangeStatus::Removed);
    let new = at(&changes, "src/b.py");
    assert_eq!(new.status, ChangeStatus::Renamed);
    assert_eq!(new.old_path.as_deref(), Some("src/a.py"));
    let hunk = Hunk {
        old_start: 3,
        old_lines: 1,
        new_start: 3,
        new_lines: 1,
    };
    assert_eq!(new.hunks, [hunk]);
}

#[test]
fn hunks_are_of_production_and_on_heads_lines() {
    let repo = started();
    let text = twenty_lines()
        .replace("line 5\n", "")
        .replace("line 10\n", "line 10\nmore\n");
    repo.write("src/a.py", text)
        .write("README.md", "changed\n")
        .write("src/new.py", "a\nb\n")
        .commit("edit");
    let changes = write_set(&repo);
    let hunks = &at(&changes, "src/a.py").hunks;
    let lines: Vec<_> = hunks
        .iter()
        .map(|h| (h.old_start, h.old_lines, h.new_start, h.new_lines))
        .collect();
    assert_eq!(lines, [(5, 1, 4, 0), (10, 0, 10, 1)]);
    let new = &at(&changes, "src/new.py").hunks;
    assert_eq!((new.len(), new[0].new_start, new[0].new_lines), (1, 1, 2));
    assert!(at(&changes, "README.md").hunks.is_empty());
}

#[test]
fn binary_and_large_files_have_no_hunks() {
    let repo = started();
    repo.write("src/binary.py", b"\0\x01\n")
        .write("src/large.py", "x\n".repeat(600_000))
        .commit("add");
    for change in write_set(&repo) {
        assert!(change.hunks.is_empty(), "{}", change.path);
    }
}

#[test]
fn deletions_modes_links_and_submodules_are_changes() {
    let repo = TestRepo::new();
    let module = "1".repeat(40);
    let base: &[(&[u8], &str, &[u8])] = &[
        (b"gone", "100644", b"x\n"),
        (b"run", "100644", b"echo\n"),
        (b"link", "100644", b"target\n"),
        (b"module", "160000", module.as_bytes()),
    ];
    let first = fast_commit(&repo, "main", &[], base);
    let other = "2".repeat(40);
    let head: &[(&[u8], &str, &[u8])] = &[
        (b"run", "100755", b"echo\n"),
        (b"link", "120000", b"target"),
        (b"module", "160000", other.as_bytes()),
    ];
    fast_commit(&repo, "work", &[&first], head);
    let mut request = request(&repo);
    request.head = "work".into();
    let snapshot = gather(&request);
    let changes = snapshot.write_set.known().expect("a write-set");
    assert_eq!(paths(changes), ["gone", "link", "module", "run"]);
    assert_eq!(at(changes, "gone").status, ChangeStatus::Removed);
    assert_eq!(at(changes, "run").status, ChangeStatus::TypeChanged);
    assert_eq!(at(changes, "link").status, ChangeStatus::TypeChanged);
    let module = at(changes, "module");
    assert_eq!(module.status, ChangeStatus::Modified);
    assert_eq!(
        module.merged.as_ref().map(|entry| entry.kind),
        Some(EntryKind::Submodule)
    );
}

#[test]
fn what_the_base_has_already_is_no_change() {
    let repo = started();
    repo.write("README.md", "same\n")
        .write("src/a.py", "mine\n")
        .commit("both");
    repo.switch("main")
        .write("README.md", "same\n")
        .commit("the same, by itself");
    repo.switch("work");
    assert_eq!(paths(&write_set(&repo)), ["src/a.py"]);
}

#[test]
fn what_only_the_base_changed_is_no_change() {
    let repo = started();
    repo.write("other", "x\n").commit("work goes on");
    repo.switch("main")
        .write("README.md", "base\n")
        .commit("base moves on");
    repo.switch("work");
    assert_eq!(paths(&write_set(&repo)), ["other"]);
}

#[test]
fn a_change_that_head_took_back_is_a_change_against_the_base() {
    // The base tip has what head had once and undid: no merge would bring it back, and yet the
    // second merge base tells them apart.
    let repo = TestRepo::new();
    repo.write("a", "1\n").commit("root");
    repo.branch("work")
        .write("a", "2\n")
        .commit("work changes a");
    repo.switch("main").write("b", "1\n").commit("main adds b");
    let (main, work) = (repo.rev("main"), repo.rev("work"));
    repo.git(&["merge", "--quiet", "--no-edit", &work]);
    repo.switch("work");
    repo.git(&["merge", "--quiet", "--no-edit", &main]);
    repo.write("a", "1\n").commit("work takes a back");
    let changes = write_set(&repo);
    assert_eq!(paths(&changes), ["a"]);
}

#[test]
fn every_merge_base_of_a_criss_cross_counts() {
    let repo = TestRepo::new();
    repo.write("a", "1\n").write("b", "1\n").commit("root");
    repo.branch("work")
        .write("a", "2\n")
        .commit("work changes a");
    repo.switch("main")
        .write("b", "2\n")
        .commit("main changes b");
    let (main, work) = (repo.rev("main"), repo.rev("work"));
    repo.git(&["merge", "--quiet", "--no-edit", &work]);
    repo.switch("work");
    repo.git(&["merge", "--quiet", "--no-edit", &main]);
    repo.write("c", "new\n").commit("work adds c");
    let snapshot = gather(&request(&repo));
    let bases = snapshot.merge_bases.known().expect("merge bases");
    assert_eq!(bases.len(), 2);
    let changes = snapshot.write_set.known().expect("a write-set");
    assert_eq!(paths(changes), ["c"], "both sides have a and b alike");
    let expected = repo.git(&["merge-tree", "--write-tree", "main", "work"]);
    assert_eq!(
        snapshot.merged_tree.known().map(ToString::to_string),
        Some(expected)
    );
}

#[test]
fn a_conflict_is_undetermined_and_names_the_path() {
    let repo = started();
    repo.write("src/a.py", "mine\n")
        .write("new", "x\n")
        .commit("mine");
    repo.switch("main")
        .write("src/a.py", "theirs\n")
        .commit("theirs");
    repo.switch("work");
    let snapshot = gather(&request(&repo));
    let why = snapshot.merged_tree.why_not().expect("a conflict");
    assert!(why.contains("src/a.py") && why.contains("rebase"), "{why}");
    assert!(matches!(snapshot.fixtures, Fact::Unavailable(_)));
    assert!(matches!(snapshot.tree, Fact::Unavailable(_)));
    let changes = snapshot
        .write_set
        .known()
        .expect("the part that is certain");
    assert_eq!(paths(changes), ["new", "src/a.py"]);
}

#[test]
fn unrelated_histories_are_undetermined() {
    let repo = started();
    repo.git(&["checkout", "--quiet", "--orphan", "alien"]);
    repo.write("x", "x\n").commit("alien");
    let snapshot = gather(&request(&repo));
    assert!(matches!(snapshot.merge_bases, Fact::Missing(_)));
    assert!(matches!(snapshot.merged_tree, Fact::Missing(_)));
    assert!(snapshot.write_set.known().is_none());
}

#[test]
fn a_head_behind_the_base_changes_nothing() {
    let repo = started();
    repo.switch("main")
        .write("README.md", "later\n")
        .commit("later");
    repo.switch("work");
    let snapshot = gather(&request(&repo));
    assert_eq!(snapshot.write_set, Fact::Known(Vec::new()));
    let tree = repo.rev("main^{tree}");
    assert_eq!(
        snapshot.merged_tree.known().map(ToString::to_string),
        Some(tree)
    );
}

#[test]
fn a_path_that_is_not_utf_8_keeps_its_bytes() {
    let repo = TestRepo::new();
    let first = fast_commit(&repo, "main", &[], &[(b"a", "100644", b"x\n")]);
    fast_commit(
        &repo,
        "work",
        &[&first],
        &[(b"a", "100644", b"x\n"), (b"b\xff", "100644", b"y\n")],
    );
    let mut request = request(&repo);
    request.head = "work".into();
    let snapshot = gather(&request);
    let changes = snapshot.write_set.known().expect("a write-set");
    assert_eq!(changes[0].path, "b\u{fffd}");
    assert_eq!(changes[0].raw_path_hex.as_deref(), Some("62ff"));
}

#[test]
fn renames_beyond_the_limit_are_added_and_removed() {
    let repo = TestRepo::new();
    let file = |number: usize, last: &str| format!("{number}\n{}{last}\n", "same\n".repeat(5));
    for number in 0..1100 {
        repo.write(&format!("old/{number}"), file(number, "old"));
    }
    repo.commit("many");
    repo.branch("work");
    for number in 0..1100 {
        repo.remove(&format!("old/{number}"))
            .write(&format!("new/{number}"), file(number, "new"));
    }
    repo.commit("moved");
    let changes = write_set(&repo);
    assert_eq!(changes.len(), 2200);
    assert!(changes.iter().all(|change| change.old_path.is_none()));
}

#[test]
fn a_script_is_known_by_its_first_bytes() {
    let repo = started();
    repo.write("tools/run", "#!/bin/sh\n")
        .write("tools/data", "plain\n")
        .commit("tools");
    let changes = write_set(&repo);
    assert!(at(&changes, "tools/run").shebang);
    assert!(!at(&changes, "tools/data").shebang);
}

#[test]
fn a_revision_that_names_nothing_says_so() {
    let repo = started();
    let mut request = request(&repo);
    request.head = "nowhere".into();
    let error = frostline::git::gather(&request).expect_err("no such revision");
    assert!(matches!(error, GitError::UnknownRevision { .. }), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}
