//! What each command proposes, on hand-made Snapshots.

mod freezes;

use super::{Content, Proposal, Unproposed, lock, map, note};
use crate::contract;
use crate::digest;
use crate::gate::tests::scene::{CONFIG, FIXTURE, LOCK, MAP, PARSE, ROUNDTRIP, Scene, lock_of};
use crate::model::{EntryKind, Fact, PrNumber, Verdict};

const ADDED: &str = "tests/fixtures/new.json";

fn proposed(scene: &Scene) -> Result<Proposal, Unproposed> {
    lock(&scene.snapshot(), PrNumber(7))
}

fn why_not(scene: &Scene) -> String {
    proposed(scene).expect_err("nothing to propose").to_string()
}

fn text_of<'a>(proposal: &'a Proposal, path: &str) -> &'a str {
    let file = proposal.files.iter().find(|file| file.path == path);
    match &file.expect("a file").content {
        Content::Text { new, .. } => new,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lock_pins_the_fixtures_of_the_patch_and_takes_nothing_else_of_it() {
    let scene = Scene::production().change(FIXTURE, "[]").change(ADDED, "1");
    let proposal = proposed(&scene).expect("a proposal");
    let paths: Vec<&str> = proposal
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    let mut expected = vec![LOCK, FIXTURE, ADDED];
    expected.sort_unstable();
    assert_eq!(paths, expected, "not {PARSE}");
    let digest = |text: &str| digest::blob(text.as_bytes()).sha256.to_string();
    assert!(text_of(&proposal, LOCK).contains(&digest("[]")));
    assert!(text_of(&proposal, LOCK).contains(&digest("1")));
    assert!(!text_of(&proposal, LOCK).contains(&digest("{}")));
    let changed: Vec<_> = proposal
        .digests
        .iter()
        .map(|row| (row.path.as_str(), row.old.is_some(), row.new.is_some()))
        .collect();
    assert_eq!(changed, [(ADDED, false, true), (FIXTURE, true, true)]);
    assert_eq!(proposal.subject, "lock/pull-7");
}

/// What the proposal makes of the base tip, judged by itself.
#[test]
fn what_a_lock_proposes_needs_a_person_and_nothing_more() {
    let scene = Scene::production().change(FIXTURE, "[]");
    let proposal = proposed(&scene).expect("a proposal");
    Scene::quiet()
        .person()
        .change(FIXTURE, "[]")
        .change(LOCK, text_of(&proposal, LOCK))
        .expect(Verdict::HumanReview);
}

#[test]
fn a_removed_fixture_leaves_the_lock() {
    let proposal = proposed(&Scene::quiet().remove(FIXTURE)).expect("a proposal");
    let removed = proposal.files.iter().find(|file| file.path == FIXTURE);
    assert_eq!(removed.map(|file| &file.content), Some(&Content::Removed));
    assert!(
        !text_of(&proposal, LOCK).contains("ok.json"),
        "{proposal:?}"
    );
}

#[test]
fn a_lock_that_is_wrong_on_the_base_already_is_mended_alone() {
    let stale = lock_of(&[(FIXTURE, "old")]);
    let proposal = proposed(&Scene::production().on_both(LOCK, &stale)).expect("a proposal");
    let paths: Vec<&str> = proposal
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(paths, [LOCK]);
}

#[test]
fn what_cannot_be_pinned_is_told_and_nothing_is_proposed() {
    assert!(why_not(&Scene::production()).contains("already"));
    let none = Scene::production().remove_on_both(LOCK);
    assert!(why_not(&none).contains("frostline lock write"));
    let off = Scene::production().config("version: 1\ncontract: {lock: off}\n");
    assert!(
        why_not(&off).contains("switches the fixture lock off"),
        "{CONFIG}"
    );
    let broken = Scene::production().on_both(LOCK, "{");
    assert!(why_not(&broken).contains("has to be mended first"));
    let link = Scene::quiet().put(ADDED, EntryKind::Symlink, "x");
    assert!(why_not(&link).contains(ADDED));
    let unread = Scene::quiet()
        .change(FIXTURE, "[]")
        .tweak(|s| s.fixtures = Fact::Truncated("too many".to_owned()));
    assert!(why_not(&unread).contains("too many"));
    let unhashed = Scene::quiet()
        .change(FIXTURE, "[]")
        .tweak(|s| s.digests.clear());
    assert!(why_not(&unhashed).contains(FIXTURE));
    let attributes = Scene::quiet()
        .change(FIXTURE, "[]")
        .change(".gitattributes", "*.json eol=crlf\n");
    assert!(why_not(&attributes).contains(".gitattributes"));
}

#[test]
fn a_path_gets_a_rule_of_its_own_or_joins_the_one_it_has() {
    let id = |text: &str| text.parse().expect("a node id");
    let snapshot = Scene::production().snapshot();
    let added = map(&snapshot, "src/mypkg/new.py", &[id(ROUNDTRIP)]).expect("a proposal");
    let old = text_of_base(&snapshot);
    let new = contract::map::parse(MAP, text_of(&added, MAP).as_bytes()).expect("a map");
    assert_eq!(new.rules.len(), old.rules.len() + 1);
    assert_eq!(new.rules[0], old.rules[0]);
    assert_eq!(new.rules[1].path_prefix, "src/mypkg/new.py");

    let other = "tests/properties/test_more.py::test_more";
    let joined = map(&snapshot, PARSE, &[id(other), id(ROUNDTRIP)]).expect("a proposal");
    let new = contract::map::parse(MAP, text_of(&joined, MAP).as_bytes()).expect("a map");
    assert_eq!(new.rules.len(), old.rules.len());
    let listed = new.rules[0].live_properties.iter();
    assert_eq!(listed.filter(|id| id.as_str() == ROUNDTRIP).count(), 1);
    assert!(text_of(&joined, MAP).contains(other));

    let nothing = map(&snapshot, PARSE, &[id(ROUNDTRIP)]).expect_err("listed already");
    assert!(nothing.to_string().contains("already"), "{nothing}");
    let broken = Scene::production().on_both(MAP, "{").snapshot();
    let broken = map(&broken, PARSE, &[id(ROUNDTRIP)]).expect_err("a broken map");
    assert!(broken.to_string().contains("mended first"), "{broken}");
}

fn text_of_base(snapshot: &crate::model::Snapshot) -> contract::map::HunkMap {
    let file = &snapshot.contract[&crate::model::Layer::Map];
    let crate::model::BlobFact::Content { bytes, .. } = &file.base else {
        panic!("a map");
    };
    contract::map::parse(MAP, &bytes.0).expect("a map")
}

#[test]
fn a_note_names_the_fixture_and_its_digest() {
    let snapshot = Scene::quiet().change(FIXTURE, "[]").snapshot();
    let noted = note(&snapshot, FIXTURE, "Ranges are closed now.").expect("a proposal");
    let [file] = noted.files.as_slice() else {
        panic!("one file: {noted:?}");
    };
    assert!(
        file.path
            .starts_with("docs/behavior/tests-fixtures-ok-json-"),
        "{}",
        file.path
    );
    let text = text_of(&noted, &file.path);
    let digest = digest::blob(b"[]").sha256.to_string();
    for part in [FIXTURE, &digest, "Ranges are closed now."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = Scene::quiet()
        .change(FIXTURE, "[]")
        .on_both(&file.path, text)
        .snapshot();
    let again = note(&again, FIXTURE, "Something else.").expect_err("nobody's words are replaced");
    assert!(again.to_string().contains(&file.path), "{again}");
    let none = note(&snapshot, "src/parse.py", "x").expect_err("no fixture");
    assert!(none.to_string().contains("is no fixture"), "{none}");
}
