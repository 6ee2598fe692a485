//! Who ends a need for human review, by the rules of protocol 5.3, on hand-made facts.

use super::scene::{PROPERTY_FILE, Scene};
use crate::model::*;

const WRITER: u64 = 7;
const MAINTAINER: u64 = 8;
const AUTHOR: u64 = 9;

fn patch() -> Scene {
    let text = "def test_roundtrip():\n    assert 2\ndef test_unknown(): ...";
    Scene::quiet().change(PROPERTY_FILE, text)
}

/// Somebody who says something of the decision with `key`.
fn given(id: u64, says: Says, permission: Permission, key: &str) -> Review {
    Review {
        by: Person {
            login: format!("user{id}"),
            id,
            is_bot: false,
        },
        says,
        at: "2026-11-30T12:00:00Z".parse().expect("a time"),
        permission: Fact::Known(permission),
        key: Some(key.to_owned()),
        reason: None,
    }
}

/// The decision with what people said; `say` gets the decision's key.
fn decided(scene: &Scene, say: impl FnOnce(&str) -> Vec<Review>) -> Decision {
    let mut snapshot = scene.snapshot();
    let first = crate::gate::decide(&snapshot);
    assert_eq!(first.verdict, Verdict::HumanReview, "{:#?}", first.findings);
    assert_eq!(first.review, None);
    snapshot.reviews = Some(Reviews {
        given: Fact::Known(say(first.decision_key.as_deref().expect("a key"))),
        tied: Fact::Known(vec![Tied {
            id: AUTHOR,
            tie: Tie::Author,
        }]),
    });
    crate::gate::decide(&snapshot)
}

fn standing(decision: &Decision) -> Standing {
    assert_eq!(decision.verdict, Verdict::HumanReview);
    decision
        .review
        .as_ref()
        .expect("reviews were given")
        .standing
}

#[test]
fn an_approval_counts_by_right_by_distance_and_by_key() {
    let approve = |id, permission| {
        decided(&patch(), |key| {
            vec![given(id, Says::Approved, permission, key)]
        })
    };
    assert!(approve(WRITER, Permission::Write).is_approved());
    assert!(approve(WRITER, Permission::Admin).is_approved());
    assert_eq!(standing(&approve(WRITER, Permission::Read)), Standing::Open);
    assert_eq!(
        standing(&approve(AUTHOR, Permission::Admin)),
        Standing::Open
    );
    let other = decided(&patch(), |_| {
        vec![given(WRITER, Says::Approved, Permission::Write, "another")]
    });
    assert_eq!(standing(&other), Standing::Open);
    let notes = &other.review.expect("a review").notes;
    assert_eq!(notes[..], ["user7 approved another state of this patch"]);
}

#[test]
fn what_is_not_known_approves_nothing() {
    let unknown = Fact::Unavailable("403".to_owned());
    let no_rights = decided(&patch(), |key| {
        let review = given(WRITER, Says::Approved, Permission::Write, key);
        vec![Review {
            permission: unknown,
            ..review
        }]
    });
    assert_eq!(standing(&no_rights), Standing::Open);
    let no_key = decided(&patch(), |key| {
        let review = given(WRITER, Says::Approved, Permission::Write, key);
        vec![Review {
            key: None,
            ..review
        }]
    });
    assert_eq!(standing(&no_key), Standing::Open);

    let mut snapshot = patch().snapshot();
    let key = crate::gate::decide(&snapshot).decision_key.expect("a key");
    let approval = given(WRITER, Says::Approved, Permission::Write, &key);
    for (given, tied) in [
        (
            Fact::Truncated("too many".to_owned()),
            Fact::Known(Vec::new()),
        ),
        (
            Fact::Known(vec![approval]),
            Fact::Truncated("too many".to_owned()),
        ),
    ] {
        snapshot.reviews = Some(Reviews { given, tied });
        assert_eq!(standing(&crate::gate::decide(&snapshot)), Standing::Open);
    }
}

#[test]
fn agents_and_bots_approve_nothing() {
    let scene = patch().config("agents: {logins: [user7]}\n");
    let configured = decided(&scene, |key| {
        vec![given(WRITER, Says::Approved, Permission::Admin, key)]
    });
    assert_eq!(standing(&configured), Standing::Open);
    let bot = decided(&patch(), |key| {
        let mut review = given(WRITER, Says::Approved, Permission::Admin, key);
        review.by.is_bot = true;
        vec![review]
    });
    assert_eq!(standing(&bot), Standing::Open);
}

#[test]
fn a_request_for_changes_holds_unless_its_sender_surely_may_not_write() {
    let held_by = |permission: Fact<Permission>| {
        standing(&decided(&patch(), |key| {
            let mut no = given(WRITER, Says::ChangesRequested, Permission::None, key);
            no.permission = permission;
            // In either order.
            let yes = given(MAINTAINER, Says::Approved, Permission::Maintain, key);
            vec![yes, no]
        }))
    };
    assert_eq!(held_by(Fact::Known(Permission::Write)), Standing::Held);
    assert_eq!(held_by(Fact::Unavailable("403".to_owned())), Standing::Held);
    assert_eq!(held_by(Fact::Known(Permission::Read)), Standing::Approved);
}

#[test]
fn accept_needs_a_maintainer_and_for_their_own_the_configuration() {
    let accept = |scene: &Scene, id, permission| {
        standing(&decided(scene, |key| {
            vec![given(id, Says::Accepted, permission, key)]
        }))
    };
    assert_eq!(
        accept(&patch(), MAINTAINER, Permission::Maintain),
        Standing::Approved
    );
    assert_eq!(accept(&patch(), WRITER, Permission::Write), Standing::Open);
    assert_eq!(accept(&patch(), AUTHOR, Permission::Admin), Standing::Open);
    let one = patch().config("review: {author_may_accept: true}\n");
    assert_eq!(accept(&one, AUTHOR, Permission::Admin), Standing::Approved);
    // For an approving review it changes nothing.
    let approval = decided(&one, |key| {
        vec![given(AUTHOR, Says::Approved, Permission::Admin, key)]
    });
    assert_eq!(standing(&approval), Standing::Open);
}

#[test]
fn the_key_is_of_branch_write_set_and_findings_and_of_nothing_else() {
    let key = |snapshot: &Snapshot| crate::gate::decide(snapshot).decision_key.expect("a key");
    let snapshot = patch().snapshot();
    let first = key(&snapshot);
    let with = |change: fn(&mut Snapshot)| {
        let mut changed = snapshot.clone();
        change(&mut changed);
        key(&changed)
    };
    let other = |letter: &str| -> Sha { letter.repeat(40).parse().expect("an id") };
    let base = other("b");
    let mut moved = snapshot.clone();
    (moved.base, moved.head) = (base, other("c"));
    moved.now += chrono::TimeDelta::hours(1);
    moved.author.login = Some("someone".to_owned());
    assert_eq!(key(&moved), first);
    assert_ne!(with(|s| s.branch = "next".to_owned()), first);
    assert_ne!(
        with(|s| {
            if let Fact::Known(changes) = &mut s.write_set {
                changes[0].merged.as_mut().expect("an entry").kind = EntryKind::Executable;
            }
        }),
        first
    );
    let more = patch().change("tests/properties/test_more.py", "def test_more(): ...");
    assert_ne!(key(&more.snapshot()), first);
}

#[test]
fn only_a_need_for_human_review_has_a_key_and_an_end() {
    let mut snapshot = Scene::production().snapshot();
    snapshot.reviews = Some(Reviews {
        given: Fact::Known(Vec::new()),
        tied: Fact::Known(Vec::new()),
    });
    let decision = crate::gate::decide(&snapshot);
    assert_eq!(decision.verdict, Verdict::Pass);
    assert_eq!((decision.decision_key, decision.review), (None, None));
}
