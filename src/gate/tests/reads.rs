//! A decision that a push need not look at again is the same on the new base tip.

use proptest::prelude::*;

use super::scene::*;
use crate::gate::reads::{How, Pushed, reads};
use crate::model::*;

/// What a patch or a push may touch.
const PATHS: &[&str] = &[
    MAP,
    FREEZES,
    CONFIG,
    FIXTURE,
    "tests/fixtures/new.json",
    PROPERTY_FILE,
    "conftest.py",
    "tests/test_plain.py",
    PARSE,
    "src/mypkg/other.py",
    "src/Mypkg/parse.py",
    "src/unmapped.py",
    "docs/behavior/a.md",
    "docs/guide.md",
    "tools/x.sh",
    "README.md",
    ".gitattributes",
    LEDGER,
    CATALOG,
    "tools/expected.txt",
];

const LEDGER: &str = "tests/seed_freeze.json";
const CATALOG: &str = "test/contract/properties.json";

fn content(path: &str, by: &str) -> String {
    match path {
        MAP => map_of(&[rule(PARSE, &[ROUNDTRIP])]),
        FREEZES => freezes_of(&[freeze(UNKNOWN, &[])]),
        CONFIG => "version: 1\n".to_owned(),
        LEDGER => r#"{"schema": "seed-freeze-v1", "entries": []}"#.to_owned(),
        CATALOG => catalog("docs/guide.md"),
        _ => format!("by {by}"),
    }
}

fn catalog(scope: &str) -> String {
    serde_json::json!({"version": 1, "properties": [
        {"property_id": "p", "nodeid": ROUNDTRIP, "fixtures": [scope], "owner": "@o"}]})
    .to_string()
}

/// A freeze whose scope is a file of class other.
fn ledger() -> String {
    let digest = crate::digest::blob(b"1").sha256;
    let digest = crate::digest::manifest([(b"tools/expected.txt".as_slice(), &digest)]);
    serde_json::json!({"schema": "seed-freeze-v1", "entries": [{"nodeid": ROUNDTRIP, "seed": 7,
        "fixture_digest": digest, "reason": "IO", "status": "open",
        "replay": format!("pytest {ROUNDTRIP} --hypothesis-seed=7")}]})
    .to_string()
}

/// The repository with the files of class other and production that a push may remove.
fn repository() -> Scene {
    Scene::quiet()
        .on_both("src/mypkg/other.py", "x = 1")
        .on_both("docs/guide.md", "old")
        .on_both("tools/expected.txt", "1")
        .on_both(LEDGER, &ledger())
        .on_both(CATALOG, &catalog("tools/expected.*"))
        .mapping(&[
            rule(PARSE, &[ROUNDTRIP, UNKNOWN]),
            rule("src/later/", &[ROUNDTRIP]),
            rule("src/mypkg/other.py", &[UNKNOWN]),
        ])
}

fn patched(mut scene: Scene, patch: &[&str]) -> Scene {
    for path in patch {
        scene = scene.change(path, &content(path, "the patch"));
    }
    scene
}

fn push(path: &str, how: How) -> Pushed {
    Pushed {
        path: path.to_owned(),
        how,
    }
}

/// Bytes without the base tip's id.
fn told(scene: &Scene) -> String {
    serde_json::to_string(&scene.decide()).expect("a decision is JSON")
}

proptest! {
    #[test]
    fn what_a_decision_did_not_read_does_not_change_it(
        patch in proptest::sample::subsequence(PATHS, 1..4),
        pushed in proptest::sample::subsequence(PATHS, 1..4),
        remove in any::<bool>(),
    ) {
        let before = patched(repository(), &patch);
        let mut base = repository();
        let mut rows = Vec::new();
        for path in &pushed {
            let was = base.has(path);
            let how = match (was, remove) {
                (true, true) => How::Removed,
                (true, false) => How::Changed,
                (false, _) => How::Added,
            };
            base = match how {
                How::Removed => base.remove_on_both(path),
                _ => base.on_both(path, &content(path, "the push")),
            };
            rows.push(push(path, how));
        }
        if !reads(&before.snapshot(), &rows) {
            prop_assert_eq!(told(&before), told(&patched(base, &patch)));
        }
    }
}

#[test]
fn other_production_files_and_prose_are_not_read() {
    let snapshot = patched(repository(), &[PARSE]).snapshot();
    for one in [
        push("src/unmapped.py", How::Changed),
        push("src/else/new.py", How::Added),
        push("README.md", How::Changed),
        push("tools/x.sh", How::Added),
    ] {
        assert!(!reads(&snapshot, std::slice::from_ref(&one)), "{one:?}");
    }
}

#[test]
fn what_the_decision_rests_on_is_read() {
    let snapshot = patched(repository(), &[PARSE]).snapshot();
    for one in [
        push(MAP, How::Changed),
        push(LOCK, How::Changed),
        push(FIXTURE, How::Changed),
        push("tests/fixtures/more.json", How::Added),
        push(PROPERTY_FILE, How::Changed),
        push("conftest.py", How::Added),
        push(".gitattributes", How::Added),
        push("tools/expected.txt", How::Changed),
        push("tools/expected.json", How::Added),
        push(PARSE, How::Changed),
        push(PARSE, How::Removed),
        // The first file of a rule, a file where the patch is at work, and another spelling.
        push("src/later/a.py", How::Added),
        push("src/mypkg/new.py", How::Added),
        push("src/mypkg", How::Added),
        push("SRC/readme", How::Added),
        push("src/unmapped.py", How::Removed),
    ] {
        assert!(reads(&snapshot, std::slice::from_ref(&one)), "{one:?}");
    }
    assert!(!reads(&snapshot, &[]));
}

#[test]
fn what_could_not_be_had_is_looked_at_again() {
    let readme = [push("README.md", How::Changed)];
    let lacking: [fn(&mut Snapshot); 5] = [
        |snapshot| snapshot.merged_tree = Fact::Unavailable("a conflict".to_owned()),
        |snapshot| snapshot.write_set = Fact::Truncated("cut".to_owned()),
        |snapshot| snapshot.tree = Fact::Unavailable("cut".to_owned()),
        |snapshot| snapshot.sources = Fact::Unavailable("cut".to_owned()),
        |snapshot| snapshot.merge_bases = Fact::Missing("none".to_owned()),
    ];
    for tweak in lacking {
        let scene = patched(repository(), &[PARSE]).tweak(tweak);
        assert!(reads(&scene.snapshot(), &readme));
    }
}
