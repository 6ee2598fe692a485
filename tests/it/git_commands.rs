//! `frostline lock` and `frostline digest`, as a user runs them.

use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::support::repo::TestRepo;

/// Exit status, stdout, stderr.
fn frostline(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the binary");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().expect("no signal"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

const LOCK: &str = "test/contract/fixtures.lock.json";

fn with_fixtures() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("tests/fixtures/a/x.json", "{}\n")
        .write("tests/fixtures/a.json", "[]\n")
        .commit("fixtures");
    repo
}

#[test]
fn a_lock_is_written_from_what_is_staged_and_written_again_without_a_diff() {
    let repo = with_fixtures();
    repo.write("tests/fixtures/new.json", "staged\n");
    repo.git(&["add", "tests/fixtures/new.json"]);
    repo.write("tests/fixtures/new.json", "not staged\n")
        .write("tests/fixtures/untracked", "x");
    let (code, out, err) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(
        out,
        format!("wrote {LOCK}: 3 fixtures, 3 added, 0 changed, 0 removed\n")
    );
    let text = std::fs::read_to_string(repo.path().join(LOCK)).expect("a lock");
    let lock: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(lock["fixtures_root"], "tests/fixtures");
    assert_eq!(lock["files"]["a/x.json"], sha256(b"{}\n"));
    assert_eq!(lock["files"]["new.json"], sha256(b"staged\n"));
    assert_eq!(lock["files"].as_object().map(serde_json::Map::len), Some(3));

    let (code, out, _) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!(
        (code, out),
        (0, format!("{LOCK} is up to date: 3 fixtures\n"))
    );
    assert_eq!(
        std::fs::read_to_string(repo.path().join(LOCK)).expect("a lock"),
        text
    );
}

#[test]
fn verify_names_every_difference() {
    let repo = with_fixtures();
    frostline(repo.path(), &["lock", "write"]);
    repo.commit("lock");
    assert_eq!(frostline(repo.path(), &["lock", "verify"]).0, 0);
    repo.write("tests/fixtures/a.json", "changed\n")
        .write("tests/fixtures/new.json", "new\n")
        .remove("tests/fixtures/a/x.json")
        .commit("drift");
    let (code, out, _) = frostline(repo.path(), &["lock", "verify"]);
    assert_eq!(code, 1);
    for line in [
        "differs   tests/fixtures/a.json: ",
        "unlocked  tests/fixtures/new.json\n",
        "missing   tests/fixtures/a/x.json\n",
        ": 2 of 2 fixtures not as pinned, 1 row without its fixture; look",
    ] {
        assert!(out.contains(line), "{line:?} in {out}");
    }
    assert_eq!(
        frostline(repo.path(), &["lock", "verify", "--rev", "HEAD~1"]).0,
        0
    );
}

#[test]
fn the_lock_is_of_stored_bytes_and_the_hint_tells_of_line_ends() {
    let repo = TestRepo::new();
    repo.write(".gitattributes", "* text\n")
        .write("tests/fixtures/a.txt", "one\r\ntwo\r\n");
    repo.git(&["-c", "core.autocrlf=true", "add", "--all"]);
    let (code, _, err) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let text = std::fs::read_to_string(repo.path().join(LOCK)).expect("a lock");
    assert!(text.contains(&sha256(b"one\ntwo\n")), "{text}");

    let crlf = TestRepo::new();
    crlf.write("tests/fixtures/a.txt", "one\r\ntwo\r\n")
        .write(LOCK, text)
        .commit("stored with CRLF");
    let (code, out, _) = frostline(crlf.path(), &["lock", "verify"]);
    assert_eq!(code, 1);
    assert!(out.contains("only line endings differ"), "{out}");
}

#[test]
fn the_lock_is_empty_once_the_last_fixture_is_gone() {
    let repo = TestRepo::new();
    repo.write("tests/fixtures/a.json", "[]\n")
        .commit("a fixture");
    let write = || frostline(repo.path(), &["lock", "write"]);
    assert_eq!(
        write().1,
        format!("wrote {LOCK}: 1 fixture, 1 added, 0 changed, 0 removed\n")
    );
    repo.git(&["rm", "--quiet", "tests/fixtures/a.json"]);
    let (code, out, err) = write();
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        format!("wrote {LOCK}: 0 fixtures, 0 added, 0 changed, 1 removed\n")
    );
    let text = std::fs::read_to_string(repo.path().join(LOCK)).expect("a lock");
    let lock: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(lock["files"], serde_json::json!({}));
    assert_eq!(write().1, format!("{LOCK} is up to date: 0 fixtures\n"));
    repo.git(&["add", LOCK]);
    let (code, out, _) = frostline(repo.path(), &["lock", "verify"]);
    assert_eq!(
        (code, out),
        (0, format!("{LOCK} matches the index: 0 fixtures\n"))
    );
    repo.remove(LOCK);
    let (code, _, err) = write();
    assert_eq!(code, 2, "no lock and nothing to pin");
    assert!(err.contains("holds no file below tests/fixtures"), "{err}");
}

#[test]
fn a_lock_that_is_not_staged_is_asked_for() {
    let repo = with_fixtures();
    let verify = || frostline(repo.path(), &["lock", "verify"]);
    assert!(verify().2.contains("write it with `frostline lock write`"));
    frostline(repo.path(), &["lock", "write"]);
    let (code, _, err) = verify();
    assert_eq!(code, 2);
    assert_eq!(
        err,
        format!("error: {LOCK} is in the work tree and not in the index; `git add` it\n")
    );
    repo.git(&["add", LOCK]);
    assert_eq!(verify().0, 0);
}

/// The way out that `digest-mismatch` and its like name, taken word by word.
#[test]
fn a_fixture_lands_with_its_lock_and_not_without() {
    let repo = with_fixtures();
    let (code, ..) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!(code, 0);
    repo.write(".github/frostline.yml", "version: 1\n")
        .write("src/a.py", "x = 1\n")
        .write(
            "test/contract/flake-freeze.json",
            r#"{"version": 1, "entries": []}"#,
        )
        .write(
            "test/contract/hunk-map.json",
            r#"{"version": 1, "rules": []}"#,
        )
        .commit("opt in");
    repo.branch("patch");
    let check = || frostline(repo.path(), &["check"]);
    let old = std::fs::read(repo.path().join(LOCK)).expect("a lock");
    repo.write("tests/fixtures/a.json", "[1]\n");
    repo.git(&["add", "tests/fixtures/a.json"]);
    assert_eq!(frostline(repo.path(), &["lock", "write"]).0, 0);
    let new = std::fs::read(repo.path().join(LOCK)).expect("a lock");
    repo.write("tests/fixtures/a.json", "[]\n")
        .commit("lock alone");
    let (code, out, _) = check();
    assert_eq!(code, 1, "{out}");
    assert!(
        out.replace("\n      ", " ")
            .contains("land fixture and lock together"),
        "{out}"
    );
    repo.write(LOCK, old)
        .write("tests/fixtures/a.json", "[1]\n")
        .commit("fixture alone");
    assert_eq!(check().0, 1);
    repo.write(LOCK, new).commit("both");
    let (code, out, _) = check();
    assert_eq!(code, 3, "{out}");
}

#[test]
fn what_cannot_be_pinned_is_not() {
    let repo = with_fixtures();
    repo.write(".gitattributes", "*.json eol=crlf\n")
        .commit("attributes");
    let (code, out, err) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("tests/fixtures/a.json") && err.contains("eol=crlf"),
        "{err}"
    );
    assert!(!repo.path().join(LOCK).exists());
}

#[cfg(unix)]
#[test]
fn a_lock_is_never_written_through_a_link() {
    let repo = with_fixtures();
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).expect("a folder");
    std::os::unix::fs::symlink(&outside, repo.path().join("test")).expect("a link");
    let (code, _, err) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!(code, 2);
    assert!(err.contains("symlink"), "{err}");
    assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
}

#[test]
fn a_lock_that_is_off_or_broken_says_so() {
    let repo = with_fixtures();
    repo.write(
        ".github/frostline.yml",
        "version: 1\ncontract:\n  lock: off\n",
    )
    .commit("off");
    let (code, _, err) = frostline(repo.path(), &["lock", "write"]);
    assert_eq!(code, 2);
    assert!(err.contains("lock: off"), "{err}");
    repo.write(".github/frostline.yml", "version: 1\n")
        .write(LOCK, "{\"files\": 1}")
        .commit("broken");
    for action in ["write", "verify"] {
        let (code, _, err) = frostline(repo.path(), &["lock", action]);
        assert_eq!(code, 2);
        assert!(err.contains(&format!("{LOCK}:1:")), "{err}");
    }
}

#[test]
fn a_moved_lock_is_found_where_the_configuration_says() {
    let repo = with_fixtures();
    repo.write(
        ".github/frostline.yml",
        "version: 1\ncontract:\n  lock: ci/lock.json\n",
    )
    .commit("moved");
    assert_eq!(frostline(repo.path(), &["lock", "write"]).0, 0);
    assert!(repo.path().join("ci/lock.json").exists());
}

#[test]
fn a_manifest_can_be_checked_with_the_common_tools() {
    let repo = with_fixtures();
    let lines = format!(
        "{}  tests/fixtures/a.json\n{}  tests/fixtures/a/x.json\n",
        sha256(b"[]\n"),
        sha256(b"{}\n")
    );
    let (code, out, err) = frostline(repo.path(), &["digest", "tests/fixtures"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        format!(
            "manifest-sha256:{}  tests/fixtures\n",
            sha256(lines.as_bytes())
        )
    );
    let (_, files, _) = frostline(repo.path(), &["digest", "--files", "tests/fixtures"]);
    assert_eq!(files, lines);
    // From a folder inside, and with a detour, it is the same path.
    let (_, inside, _) = frostline(&repo.path().join("tests"), &["digest", "./a/../fixtures"]);
    assert_eq!(inside, out);
}

#[test]
fn the_seed_form_orders_by_components() {
    let repo = with_fixtures();
    let bytes = b"a/x.json\0{}\n\0a.json\0[]\n\0";
    let (code, out, err) = frostline(repo.path(), &["digest", "--seed-form", "tests/fixtures"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, format!("sha256:{}  tests/fixtures\n", sha256(bytes)));
    let (code, _, err) = frostline(
        repo.path(),
        &["digest", "--seed-form", "tests/fixtures/a.json"],
    );
    assert_eq!(code, 2);
    assert!(err.contains("directory"), "{err}");
}

#[test]
fn digests_are_of_head_or_of_the_disk() {
    let repo = with_fixtures();
    repo.write("tests/fixtures/a.json", "on disk\n");
    let digest = |args: &[&str]| {
        let (code, out, err) = frostline(repo.path(), args);
        assert_eq!((code, err.as_str()), (0, ""));
        out.split("  ").next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        digest(&["digest", "--files", "tests/fixtures/a.json"]),
        sha256(b"[]\n")
    );
    assert_eq!(
        digest(&["digest", "--files", "--worktree", "tests/fixtures/a.json"]),
        sha256(b"on disk\n")
    );
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("f"), "f").expect("a file");
    let (code, out, err) = frostline(outside.path(), &["digest", "--files", "f"]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (0, &*format!("{}  f\n", sha256(b"f")), "")
    );
}

#[test]
fn a_path_that_is_not_there_is_no_empty_digest() {
    let repo = with_fixtures();
    for (args, word) in [
        (&["digest", "nowhere"][..], "nowhere"),
        (&["digest", "../elsewhere"], "elsewhere"),
        (&["digest", "--worktree", "nowhere"], "nowhere"),
        (&["digest", "--rev", "v9", "tests"], "v9"),
    ] {
        let (code, out, err) = frostline(repo.path(), args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(word), "{args:?}: {err}");
    }
}

#[test]
fn a_pointer_under_lfs_stands_for_its_bytes() {
    let repo = TestRepo::new();
    let oid = sha256(b"the real bytes");
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 14\n");
    repo.write("tests/fixtures/a.bin", &pointer)
        .write("tests/fixtures/b.txt", &pointer);
    repo.git(&["add", "--all"]);
    repo.write(".gitattributes", "*.bin filter=lfs\n")
        .commit("pointers");
    let (code, out, _) = frostline(repo.path(), &["digest", "--files", "tests/fixtures"]);
    let expected = format!(
        "{oid}  tests/fixtures/a.bin\n{}  tests/fixtures/b.txt\n",
        sha256(pointer.as_bytes())
    );
    assert_eq!((code, out), (0, expected));
    let (code, _, err) = frostline(repo.path(), &["digest", "--seed-form", "tests/fixtures"]);
    assert_eq!(code, 2);
    assert!(err.contains("LFS"), "{err}");
}
