//! Fixtures: attributes of the merged tree, digests, and the cache of digests.

use frostline::model::{Fact, FixtureEntry, Snapshot};
use sha2::{Digest as _, Sha256};

use crate::git_support::{gather, request};
use crate::support::repo::{TestRepo, fast_commit};

/// `main` is empty, `work` has the files.
fn with_files(files: &[(&str, &[u8])]) -> TestRepo {
    let repo = TestRepo::new();
    repo.commit("root");
    repo.branch("work");
    for (path, bytes) in files {
        repo.write(path, bytes);
    }
    repo.commit("files");
    repo
}

/// The same with the very bytes, whatever attributes `git add` would heed; nothing is checked out.
fn stored(files: &[(&str, &[u8])]) -> Snapshot {
    let repo = TestRepo::new();
    let first = fast_commit(&repo, "main", &[], &[(b"a", "100644", b"x")]);
    let entries: Vec<(&[u8], &str, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.as_bytes(), "100644", *bytes))
        .collect();
    fast_commit(&repo, "work", &[&first], &entries);
    let mut request = request(&repo);
    request.head = "work".into();
    gather(&request)
}

fn fixtures(snapshot: &Snapshot) -> &[FixtureEntry] {
    snapshot.fixtures.known().expect("fixtures")
}

fn opaque<'a>(snapshot: &'a Snapshot, path: &str) -> Option<&'a str> {
    let entry = fixtures(snapshot).iter().find(|entry| entry.path == path);
    entry
        .unwrap_or_else(|| panic!("{path} is no fixture"))
        .opaque
        .as_deref()
}

#[test]
fn attributes_that_change_bytes_make_a_fixture_opaque() {
    let snapshot = stored(&[
        (
            ".gitattributes",
            b"[attr]converted eol=lf\n*.eol eol=crlf\n*.id ident\n*.enc working-tree-encoding=UTF-16\n\
              *.sub export-subst\n*.filter filter=other\n*.macro converted\n*.text text\n*.bin binary\n\
              *.off -filter -ident !eol\n*.lfs filter=lfs diff=lfs merge=lfs -text\n",
        ),
        ("tests/fixtures/a.eol", b"a"),
        ("tests/fixtures/a.id", b"b"),
        ("tests/fixtures/a.enc", b"c"),
        ("tests/fixtures/a.sub", b"d"),
        ("tests/fixtures/a.filter", b"e"),
        ("tests/fixtures/a.macro", b"f"),
        ("tests/fixtures/a.text", b"g"),
        ("tests/fixtures/a.bin", b"h"),
        ("tests/fixtures/a.off", b"i"),
        ("tests/fixtures/a.lfs", b"j"),
        ("tests/fixtures/plain", b"k"),
    ]);
    for (path, word) in [
        ("a.eol", "eol=crlf"),
        ("a.id", "ident"),
        ("a.enc", "working-tree-encoding"),
        ("a.sub", "export-subst"),
        ("a.filter", "filter=other"),
        ("a.macro", "eol=lf"),
    ] {
        let why = opaque(&snapshot, &format!("tests/fixtures/{path}"))
            .unwrap_or_else(|| panic!("{path} is plain"));
        assert!(why.contains(word), "{path}: {why}");
    }
    for path in ["a.text", "a.bin", "a.off", "a.lfs", "plain"] {
        assert_eq!(
            opaque(&snapshot, &format!("tests/fixtures/{path}")),
            None,
            "{path}"
        );
    }
    let lfs: Vec<_> = fixtures(&snapshot)
        .iter()
        .filter(|entry| entry.lfs)
        .map(|entry| &entry.path)
        .collect();
    assert_eq!(lfs, ["tests/fixtures/a.lfs"]);
}

#[test]
fn the_nearest_attributes_win_and_stay_in_their_folder() {
    let snapshot = stored(&[
        (".gitattributes", b"*.json eol=lf\n"),
        ("tests/fixtures/.gitattributes", b"*.txt ident\n"),
        (
            "tests/fixtures/deep/.gitattributes",
            b"*.json !eol\n[attr]mine ident\n*.md mine\n",
        ),
        ("tests/fixtures/deep/a.json", b"1"),
        ("tests/fixtures/deep/a.md", b"2"),
        ("tests/fixtures/deep/a.txt", b"3"),
        ("tests/fixtures/deeper/a.json", b"4"),
        ("tests/fixtures/z.txt", b"5"),
        ("other/z.txt", b"6"),
    ]);
    assert_eq!(opaque(&snapshot, "tests/fixtures/deep/a.json"), None);
    assert_eq!(
        opaque(&snapshot, "tests/fixtures/deep/a.md"),
        None,
        "a macro is only defined at the top"
    );
    assert!(opaque(&snapshot, "tests/fixtures/deep/a.txt").is_some());
    assert!(opaque(&snapshot, "tests/fixtures/deeper/a.json").is_some());
    assert!(opaque(&snapshot, "tests/fixtures/z.txt").is_some());
}

#[test]
fn attributes_count_as_git_reads_them() {
    let long = format!("{} filter=lfs\n*.json -eol\n", "x".repeat(3000));
    let long_lfs = format!("*.long {} filter=lfs\n", "attribute ".repeat(300));
    let files: &[(&str, &[u8])] = &[
        (".gitattributes", &[long.as_bytes(), long_lfs.as_bytes(), b"\"quoted name\" eol=lf\n!*.no filter=x\n[ab].c ident\n**/deep/** -text ident=no\n"].concat()),
        ("tests/fixtures/a.long", b"1"),
        ("tests/fixtures/quoted name", b"2"),
        ("tests/fixtures/x.no", b"3"),
        ("tests/fixtures/a.c", b"4"),
        ("tests/fixtures/deep/x", b"5"),
    ];
    let repo = with_files(files);
    let snapshot = gather(&request(&repo));
    for entry in fixtures(&snapshot) {
        let of = |name: &str| {
            let line = repo.git(&["check-attr", "--source", "work", name, "--", &entry.path]);
            line.rsplit(": ").next().unwrap_or_default().to_owned()
        };
        let changes = ["eol", "ident", "filter"]
            .into_iter()
            .any(|name| !matches!(of(name).as_str(), "unspecified" | "unset" | "lfs"));
        assert_eq!(
            entry.opaque.is_some(),
            changes,
            "{} {:?}",
            entry.path,
            entry.opaque
        );
        assert_eq!(entry.lfs, of("filter") == "lfs", "{}", entry.path);
    }
    assert_eq!(fixtures(&snapshot).len(), 5);
}

#[test]
fn attributes_come_from_the_merged_tree() {
    let repo = with_files(&[("tests/fixtures/a.json", b"{}")]);
    repo.switch("main")
        .write(".gitattributes", "*.json eol=lf\n")
        .commit("attributes");
    repo.switch("work");
    assert!(opaque(&gather(&request(&repo)), "tests/fixtures/a.json").is_some());
}

#[test]
fn links_submodules_and_strange_paths_are_opaque() {
    let repo = TestRepo::new();
    let first = fast_commit(&repo, "main", &[], &[(b"a", "100644", b"x")]);
    let module = "1".repeat(40);
    let files: &[(&[u8], &str, &[u8])] = &[
        (b"tests/fixtures/link", "120000", b"/etc/passwd"),
        (b"tests/fixtures/module", "160000", module.as_bytes()),
        (b"tests/fixtures/back\\slash", "100644", b"1"),
        (b"tests/fixtures/tab\there", "100644", b"2"),
        (b"tests/fixtures/raw\xff", "100644", b"3"),
        (b"tests/fixtures/.gitattributes", "120000", b"elsewhere"),
        (b"tests/fixtures/run", "100755", b"4"),
        (b"tests/fixtures-not/x", "100644", b"5"),
    ];
    fast_commit(&repo, "work", &[&first], files);
    let mut request = request(&repo);
    request.head = "work".into();
    let snapshot = gather(&request);
    let plain: Vec<_> = fixtures(&snapshot)
        .iter()
        .filter(|entry| entry.opaque.is_none())
        .map(|entry| &entry.path)
        .collect();
    assert_eq!(plain, ["tests/fixtures/run"]);
    assert_eq!(fixtures(&snapshot).len(), 7);
    assert_eq!(snapshot.digests.len(), 1);
}

#[test]
fn digests_are_of_the_stored_bytes() {
    let repo = with_files(&[
        (".gitattributes", b"*.txt text\n"),
        ("tests/fixtures/a.txt", b"one\r\ntwo\r\n"),
        ("tests/fixtures/b.bin", b"\0\r\n"),
    ]);
    let snapshot = gather(&request(&repo));
    assert_eq!(snapshot.stats.fixtures, 2);
    for entry in fixtures(&snapshot) {
        let stored = repo
            .try_git(&["cat-file", "blob", entry.id.as_str()])
            .stdout;
        let Some(Fact::Known(digest)) = snapshot.digests.get(&entry.id) else {
            panic!("no digest of {}", entry.path);
        };
        assert_eq!(
            digest.sha256.as_str(),
            hex::encode(Sha256::digest(&stored)),
            "{}",
            entry.path
        );
    }
}

#[test]
fn fixtures_of_a_repository_without_any_are_an_empty_list() {
    let snapshot = gather(&request(&with_files(&[("src/a.py", b"x")])));
    assert_eq!(snapshot.fixtures, Fact::Known(Vec::new()));
}

fn cached(repo: &TestRepo) -> Snapshot {
    let mut request = request(repo);
    request.cache = true;
    gather(&request)
}

fn two_fixtures() -> TestRepo {
    with_files(&[
        ("tests/fixtures/a", b"one\r\n"),
        ("tests/fixtures/b", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"),
    ])
}

#[test]
fn a_digest_is_read_once() {
    let repo = two_fixtures();
    let first = cached(&repo);
    assert_eq!(
        (first.stats.fixtures_hashed, first.stats.bytes_hashed),
        (2, 135)
    );
    let second = cached(&repo);
    assert_eq!(
        (second.stats.fixtures_hashed, second.stats.bytes_hashed),
        (0, 0)
    );
    assert_eq!(second.digests, first.digests);
    let without = gather(&request(&repo));
    assert_eq!(
        (without.stats.fixtures_hashed, without.digests),
        (2, first.digests)
    );
    repo.write("tests/fixtures/c", "three").commit("a third");
    assert_eq!(cached(&repo).stats.fixtures_hashed, 1);
}

#[test]
fn no_cache_writes_nothing() {
    let repo = two_fixtures();
    gather(&request(&repo));
    assert!(!repo.path().join(".git/frostline").exists());
}

#[test]
fn a_cache_that_is_not_whole_is_ignored_and_written_anew() {
    let repo = two_fixtures();
    let expected = cached(&repo).digests;
    let path = repo.path().join(".git/frostline/digests");
    let whole = std::fs::read(&path).expect("a cache");
    let mut flipped = whole.clone();
    flipped[40] ^= 1;
    let broken: &[&[u8]] = &[
        b"",
        b"garbage",
        &whole[..whole.len() - 1],
        &flipped,
        &whole[1..],
    ];
    for bytes in broken {
        std::fs::write(&path, bytes).expect("a broken cache");
        let snapshot = cached(&repo);
        assert_eq!(
            (snapshot.stats.fixtures_hashed, &snapshot.digests),
            (2, &expected),
            "{bytes:?}"
        );
        assert_eq!(cached(&repo).stats.fixtures_hashed, 0, "written anew");
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let repo = two_fixtures();
    std::fs::write(
        repo.path().join(".git/frostline"),
        "a file where the folder should be",
    )
    .expect("a file");
    assert_eq!(cached(&repo).stats.fixtures_hashed, 2);
    assert_eq!(cached(&repo).stats.fixtures_hashed, 2);
}

#[test]
fn linked_worktrees_share_the_cache() {
    let repo = two_fixtures();
    cached(&repo);
    let linked = repo.beside("linked");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &linked.to_string_lossy(),
    ]);
    let mut request = request(&repo);
    request.repo = linked;
    request.cache = true;
    assert_eq!(gather(&request).stats.fixtures_hashed, 0);
}

#[test]
fn a_fixture_of_many_megabytes_is_hashed_loose_and_packed() {
    let bytes = vec![b'a'; 20 * 1024 * 1024];
    let repo = with_files(&[("tests/fixtures/large.txt", &bytes)]);
    let mut request = request(&repo);
    request.cache = false;
    let digest = |request| {
        let snapshot = gather(request);
        let id = &fixtures(&snapshot)[0].id;
        let known = snapshot.digests[id].known().expect("a digest");
        known.sha256.as_str().to_owned()
    };
    let expected = hex::encode(Sha256::digest(&bytes));
    assert_eq!(digest(&request), expected, "loose");
    repo.git(&["repack", "-adq"]);
    assert_eq!(digest(&request), expected, "packed");
}

/// Only whoever can write to the git directory can put it there, but a check should not wait for ever.
#[test]
fn a_pipe_or_a_link_in_place_of_the_cache_is_passed_over() {
    let repo = with_files(&[("tests/fixtures/a.json", b"{}")]);
    let folder = repo.path().join(".git/frostline");
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["digests", "sources"] {
        let status = std::process::Command::new("mkfifo")
            .arg(folder.join(name))
            .status();
        assert!(status.expect("mkfifo").success());
    }
    assert_eq!(gather(&request(&repo)).stats.fixtures_hashed, 1);
    std::fs::remove_file(folder.join("digests")).expect("the pipe or the new file");
    std::os::unix::fs::symlink("/dev/zero", folder.join("digests")).expect("a link");
    assert_eq!(gather(&request(&repo)).stats.fixtures_hashed, 1);
}
