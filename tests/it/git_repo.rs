//! The repositories that tests are made of.

use crate::support::repo::{TestRepo, fast_commit};

#[test]
fn the_same_calls_give_the_same_ids() {
    let make = || {
        let repo = TestRepo::new();
        repo.write("src/a.rs", "fn a() {}\n").commit("one");
        repo.branch("work").remove("src/a.rs").commit("two")
    };
    assert_eq!(make(), make());
}

#[test]
fn a_fast_commit_holds_any_path() {
    let repo = TestRepo::new();
    let path: &[u8] = b"a\xff\n\"b";
    let id = fast_commit(&repo, "main", &[], &[(path, "100644", b"x\n")]);
    let output = repo.try_git(&["ls-tree", "-r", "-z", "--name-only", &id]);
    assert_eq!(output.stdout, b"a\xff\n\"b\0");
}
