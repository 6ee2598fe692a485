//! What each command proposes, on hand-made Snapshots.

use super::{Content, Proposal, Unproposed, lock};
use crate::digest;
use crate::gate::tests::scene::{CONFIG, FIXTURE, LOCK, PARSE, Scene, lock_of};
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
    assert!(why_not(&off).contains("switches the lock off"), "{CONFIG}");
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
