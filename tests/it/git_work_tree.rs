//! `--head WORKTREE`: the work tree is judged as the commit that git would make of it.

use std::path::Path;

use frostline::git::{GitError, Head};
use frostline::model::{Snapshot, Subject};

use crate::git_support::{gather, request};
use crate::support::repo::TestRepo;

fn work_tree(repo: &TestRepo) -> Result<Snapshot, GitError> {
    let mut request = request(repo);
    request.head = Head::WorkTree;
    frostline::git::gather(&request)
}

/// A commit on `main` with one of everything, and the branch `patch`.
fn begun() -> TestRepo {
    let repo = TestRepo::new();
    for name in [
        "kept",
        "edited",
        "removed",
        "staged",
        "run",
        "becomes_a_folder",
        "becomes_a_link",
    ] {
        repo.write(&format!("src/{name}"), format!("{name}\n"));
    }
    repo.write("folder/a", "a\n")
        .write(".gitignore", "*.log\n/build/\n")
        .write("src/tracked.log", "tracked all the same\n");
    repo.commit("Begin");
    repo.branch("patch");
    repo
}

/// Files below a folder with their bytes: what must not change.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("a file");
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

/// Judges the work tree, has git commit it, and compares.
#[track_caller]
fn assert_as_git_commits_it(repo: &TestRepo) {
    let git_dir = repo.path().join(".git");
    let before = files(&git_dir);
    let judged = work_tree(repo).expect("a snapshot");
    assert!(before == files(&git_dir), "nothing is written");
    assert_eq!(judged.subject, Subject::WorkTree);
    repo.git(&["add", "--all"]);
    repo.git(&[
        "commit",
        "--quiet",
        "--no-verify",
        "-m",
        "What git makes of it",
    ]);
    let committed = gather(&request(repo));
    assert_eq!(judged.write_set, committed.write_set);
    assert_eq!(judged.merged_tree, committed.merged_tree);
    assert_eq!(judged.merge_bases, committed.merge_bases);
    assert_ne!(judged.head, committed.head, "it is a commit of nobody");
}

#[test]
fn edits_removals_and_untracked_files_count_and_ignored_ones_do_not() {
    let repo = begun();
    repo.write("src/edited", "other\n")
        .write("src/new/deep/file", "new\n")
        .write("src/debug.log", "ignored\n")
        .write("build/out", "ignored\n")
        .write("src/tracked.log", "changed\n")
        .write("excluded/x", "ignored\n")
        .write(".git/info/exclude", "/excluded/\n")
        .remove("src/removed")
        .remove("folder/a");
    assert_as_git_commits_it(&repo);
}

#[test]
fn what_is_staged_and_what_is_only_meant_to_be_added_count() {
    let repo = begun();
    repo.write("src/staged", "staged\n");
    repo.git(&["add", "src/staged"]);
    repo.write("src/staged", "edited again\n")
        .write("src/later", "later\n");
    repo.git(&["add", "--intent-to-add", "src/later"]);
    repo.git(&["rm", "--quiet", "--cached", "src/kept"]);
    assert_as_git_commits_it(&repo);
}

#[cfg(unix)]
#[test]
fn modes_links_and_changes_of_kind_count() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let repo = begun();
    let at = |path: &str| repo.path().join(path);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at("src/run"), executable.clone()).expect("a mode");
    repo.remove("src/becomes_a_folder")
        .write("src/becomes_a_folder/inside", "x\n")
        .remove("src/becomes_a_link")
        .remove("folder/a");
    std::fs::remove_dir(at("folder")).expect("an empty folder");
    repo.write("folder", "a file now\n")
        .write("new.sh", "#!/bin/sh\n");
    std::fs::set_permissions(at("new.sh"), executable).expect("a mode");
    symlink("nowhere", at("src/becomes_a_link")).expect("a link");
    symlink("src", at("link")).expect("a link");
    assert_as_git_commits_it(&repo);
}

#[test]
fn bytes_are_those_that_git_would_store() {
    let repo = begun();
    repo.write(
        ".gitattributes",
        "*.txt text\n*.utf working-tree-encoding=UTF-16LE\n",
    );
    repo.commit("Say what is text");
    repo.write("src/a.txt", "one\r\ntwo\r\n")
        .write("src/edited", "one\r\ntwo\r\n");
    repo.write("src/b.utf", [0x61, 0, 0x0a, 0]);
    assert_as_git_commits_it(&repo);
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("src/c", "one\r\ntwo\r\n");
    assert_as_git_commits_it(&repo);
}

#[test]
fn a_filter_of_the_repositorys_own_is_not_run() {
    let repo = begun();
    repo.git(&["config", "filter.evil.clean", "touch ran; cat"]);
    repo.write(".gitattributes", "* filter=evil\n")
        .write("src/new", "x\n");
    work_tree(&repo).expect("a snapshot");
    assert!(!repo.path().join("ran").exists());
}

#[test]
fn a_submodule_is_at_the_commit_that_is_staged() {
    let repo = begun();
    let inner = TestRepo::new();
    inner.write("a", "a\n");
    inner.commit("Inside");
    let url = inner.path().to_str().expect("UTF-8");
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url,
        "vendor/inner",
    ]);
    repo.write("vendor/inner/a", "dirty\n");
    let judged = work_tree(&repo).expect("a snapshot");
    repo.git(&["commit", "--quiet", "-m", "Add the submodule"]);
    assert_eq!(judged.write_set, gather(&request(&repo)).write_set);
}

#[test]
fn a_clean_work_tree_is_head() {
    let repo = begun();
    repo.write("src/edited", "other\n");
    let head = repo.commit("Edit");
    let judged = work_tree(&repo).expect("a snapshot");
    assert_eq!(judged.head.as_str(), head);
    assert_eq!(judged.subject, Subject::Patch);
    repo.write("src/edited", "more\n");
    let first = work_tree(&repo).expect("a snapshot").head;
    assert_eq!(work_tree(&repo).expect("a snapshot").head, first);
}

#[test]
fn an_unmerged_index_and_a_bare_repository_are_errors_that_say_so() {
    let repo = begun();
    repo.write("src/edited", "ours\n");
    repo.commit("Ours");
    repo.switch("main");
    repo.write("src/edited", "theirs\n");
    repo.commit("Theirs");
    assert!(!repo.try_git(&["merge", "patch"]).status.success());
    let error = work_tree(&repo).expect_err("a conflict").to_string();
    assert!(error.contains("finish the merge first"), "{error}");
    assert!(!error.contains("fsck"), "{error}");
    repo.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let mut request = request(&repo);
    request.head = Head::WorkTree;
    request.repo = repo.beside("bare.git");
    let error = frostline::git::gather(&request)
        .expect_err("no work tree")
        .to_string();
    assert!(
        error.contains("a bare repository has no work tree"),
        "{error}"
    );
}

#[test]
fn a_file_too_large_to_read_is_an_error_that_names_it() {
    let repo = TestRepo::new();
    repo.write("a", "x").commit("root");
    let file = std::fs::File::create(repo.path().join("huge.bin")).expect("a file");
    // It holds nothing on the disk.
    file.set_len(600 * 1024 * 1024).expect("a length");
    let error = work_tree(&repo).expect_err("too large").to_string();
    assert!(
        error.contains("huge.bin") && error.contains("629145600"),
        "{error}"
    );
}
