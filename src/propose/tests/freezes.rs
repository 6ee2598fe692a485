//! Rows of the seed ledger: new ones, void ones that are bound anew, and the end of each.

use serde_json::{Value, json};

use crate::contract::freezes;
use crate::contract::ledger::{self, LedgerEntry};
use crate::contract::seed::Seed;
use crate::digest;
use crate::gate::tests::scene::{
    FIXTURE, FREEZES, ROUNDTRIP, Scene, UNKNOWN, freeze as list_row, freezes_of,
};
use crate::model::{AuthorKind, Rule, Verdict};
use crate::propose::{
    Content, NewFreeze, Proposal, Reopening, Unproposed, close, freeze, owners, reopen,
};

const LEDGER: &str = "tests/seed_freeze.json";
const EVIDENCE: &str = "test/contract/evidence.jsonl";
const FROZEN_TESTS: &str = "frozen_tests.txt";

fn manifest(content: &str) -> String {
    let digest = digest::blob(content.as_bytes()).sha256;
    digest::manifest([(FIXTURE.as_bytes(), &digest)])
}

fn row(nodeid: &str, content: &str) -> Value {
    json!({"nodeid": nodeid, "seed": 7, "fixture_digest": manifest(content), "reason": "CLOCK",
        "replay": format!("pytest {nodeid} --hypothesis-seed=7"), "opened_at": "2026-11-01T00:00:00Z",
        "expires_at": null, "status": "open", "owner": "@acme/parse"})
}

fn ledger_of(rows: &[Value]) -> String {
    json!({"schema": "seed-freeze-v1", "entries": rows}).to_string()
}

fn evidence(content: &str, status: &str) -> String {
    let row = json!({"schema": "frostline.evidence/1", "property_id": "p", "nodeid": ROUNDTRIP,
        "fixture_paths": [], "fixture_digest": manifest(content), "seed": 7, "runs": 7, "passes": 5,
        "failures": 2, "signatures": [], "status": status, "reason": "CLOCK"});
    format!("{row}\n")
}

/// A freeze whose fixture the patch changes.
fn void() -> Scene {
    Scene::quiet()
        .on_both(
            LEDGER,
            &ledger_of(&[row(UNKNOWN, "{}"), row(ROUNDTRIP, "{}")]),
        )
        .change(FIXTURE, "[]")
}

fn reopened(scene: &Scene, asked: &Reopening) -> Result<Proposal, Unproposed> {
    reopen(&scene.snapshot(), &scene.decide(), asked)
}

fn of_node(nodeid: &str) -> Reopening {
    Reopening {
        nodeid: Some(nodeid.parse().expect("a node id")),
        seed: None,
        reason: None,
    }
}

fn new_text<'a>(proposal: &'a Proposal, path: &str) -> &'a str {
    let file = proposal.files.iter().find(|file| file.path == path);
    match &file.expect("a file").content {
        Content::Text { new, .. } => new,
        other => panic!("{other:?}"),
    }
}

fn rows(proposal: &Proposal) -> Vec<LedgerEntry> {
    let text = new_text(proposal, LEDGER);
    ledger::parse(LEDGER, text.as_bytes())
        .expect("a ledger")
        .entries
}

#[test]
fn a_void_row_is_bound_to_the_bytes_that_there_are_and_waits_for_evidence() {
    let proposal = reopened(&void(), &of_node(ROUNDTRIP)).expect("a proposal");
    let rows = rows(&proposal);
    assert_eq!(rows.len(), 2, "the other row stays");
    let new = &rows[1];
    assert_eq!(new.fixture_digest, Some(manifest("[]")));
    assert_eq!(new.reopened_from, Some(manifest("{}")));
    assert_eq!(
        new.status.as_deref(),
        Some("candidate"),
        "it exempts nothing"
    );
    assert_eq!(new.owner.as_deref(), Some("@acme/parse"));
    let remark = proposal.remark.expect("what is missing");
    assert!(
        remark.contains(&format!("`frostline lane window '{ROUNDTRIP}' --seed 7`")),
        "{remark}"
    );
}

/// What the proposal makes of the base tip, judged by itself.
#[test]
fn a_candidate_may_be_added_and_takes_no_vote() {
    let proposal = reopened(&void(), &of_node(ROUNDTRIP)).expect("a proposal");
    let scene = void().change(LEDGER, new_text(&proposal, LEDGER));
    let decision = scene.person().decide();
    let refused: Vec<_> = decision
        .findings
        .iter()
        .filter(|finding| finding.rule == Rule::InvalidFreeze)
        .map(|finding| finding.effect)
        .collect();
    assert_eq!(refused, [crate::model::Effect::Notice]);
}

#[test]
fn evidence_on_these_very_bytes_opens_the_row_or_says_why_not() {
    let with = |content: &str, status: &str| void().on_both(EVIDENCE, &evidence(content, status));
    let status = |scene: &Scene| {
        let proposal = reopened(scene, &of_node(ROUNDTRIP)).expect("a proposal");
        rows(&proposal)[1].status.clone().expect("a status")
    };
    assert_eq!(status(&with("[]", "freeze-candidate")), "open");
    assert_eq!(
        status(&with("{}", "freeze-candidate")),
        "candidate",
        "other bytes"
    );
    for open_question in ["inconclusive", "errored", "fixture-drift", "catalog-broken"] {
        assert_eq!(
            status(&with("[]", open_question)),
            "candidate",
            "{open_question}"
        );
    }
    for (refusal, why) in [("stable-violation", "no noise"), ("divergent", "isolation")] {
        let refused = reopened(&with("[]", refusal), &of_node(ROUNDTRIP)).expect_err(refusal);
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let over = reopened(&with("[]", "merge-ok"), &of_node(ROUNDTRIP)).expect("a proposal");
    assert!(over.subject.starts_with("close/"), "{over:?}");
    assert_eq!(rows(&over).len(), 1);
}

/// A row of the freeze list that is bound to a digest, whose fixture the patch changes.
fn listed(seed: Option<u8>) -> Scene {
    let mut bound = list_row(ROUNDTRIP, &["src/mypkg"]);
    bound["fixture_digest"] = json!(manifest("{}"));
    if let Some(seed) = seed {
        bound["seed"] = json!(seed);
    }
    Scene::quiet()
        .freezing(&[list_row(UNKNOWN, &[]), bound])
        .change(FIXTURE, "[]")
}

#[test]
fn a_row_of_the_freeze_list_is_bound_anew_with_evidence_and_only_with_it() {
    let waits = reopened(&listed(Some(7)), &of_node(ROUNDTRIP)).expect_err("no evidence");
    let command = format!("`frostline lane window '{ROUNDTRIP}' --seed 7`");
    assert!(waits.to_string().contains(&command), "{waits}");

    let proved = listed(Some(7)).on_both(EVIDENCE, &evidence("[]", "freeze-candidate"));
    for scene in [
        proved.clone(),
        proved
            .clone()
            .config("version: 1\ncontract: {ledger: off}\n"),
    ] {
        let proposal = reopened(&scene, &of_node(ROUNDTRIP)).expect("a proposal");
        let text = new_text(&proposal, FREEZES);
        let rows = freezes::parse(FREEZES, text.as_bytes())
            .expect("a list")
            .entries;
        assert_eq!(rows.len(), 2, "the other row stays");
        assert_eq!(rows[1].fixture_digest, Some(manifest("[]")));
        assert_eq!(rows[1].opened_at.as_deref(), Some("2026-11-30T12:00:00Z"));
        assert_eq!(rows[1].covers, ["src/mypkg"]);
        assert_eq!(rows[1].reason, "clock jitter");
        assert_eq!(rows[1].replay, None, "it stated none");
        // The gate takes it for what it is.
        let after = scene.clone().person().change(FREEZES, text).decide();
        let open = after.freezes.iter().flatten();
        let open: Vec<&str> = open
            .filter(|row| row.state == crate::model::FreezeState::Open)
            .map(|row| row.nodeid.as_str())
            .collect();
        assert_eq!(open, [ROUNDTRIP]);
    }
    let over = listed(Some(7)).on_both(EVIDENCE, &evidence("[]", "merge-ok"));
    let over = reopened(&over, &of_node(ROUNDTRIP)).expect("a proposal");
    assert!(over.subject.starts_with("close/"), "{over:?}");

    let seedless = listed(None).on_both(EVIDENCE, &evidence("[]", "freeze-candidate"));
    let why = reopened(&seedless, &of_node(ROUNDTRIP)).expect_err("no seed");
    assert!(why.to_string().contains("seed=N"), "{why}");
    let asked = Reopening {
        seed: Seed::of_word("7"),
        ..of_node(ROUNDTRIP)
    };
    let proposal = reopened(&seedless, &asked).expect("a proposal");
    let text = new_text(&proposal, FREEZES);
    assert!(text.contains("\"seed\":7"), "{text}");
}

#[test]
fn rows_of_other_files_are_closed_where_the_ledger_is_off() {
    let off = "version: 1\ncontract: {ledger: off}\n";
    let ledger = ledger_of(&[row(ROUNDTRIP, "{}")]);
    let scene = Scene::quiet()
        .config(off)
        .on_both(LEDGER, &ledger)
        .freezing(&[list_row(ROUNDTRIP, &[])]);
    let nodeid = ROUNDTRIP.parse().expect("a node id");
    let proposal = close(&scene.snapshot(), &nodeid).expect("a proposal");
    let paths: Vec<&str> = proposal
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(paths, [FREEZES], "what is off is left alone");
    assert_eq!(owners(&scene.snapshot(), &nodeid), ["@acme/parse"]);
    // A list that cannot be read could hold such a row too.
    let broken = Scene::quiet()
        .on_both(LEDGER, &ledger)
        .on_both(FREEZES, "{");
    let why = close(&broken.snapshot(), &nodeid).expect_err("half of it is unknown");
    assert!(why.to_string().contains(FREEZES), "{why}");
}

/// An agent's patch could bring evidence for itself.
#[test]
fn evidence_that_a_patch_brings_counts_only_from_a_person() {
    let brought = void().change(EVIDENCE, &evidence("[]", "freeze-candidate"));
    let status = |scene: &Scene| {
        let proposal = reopened(scene, &of_node(ROUNDTRIP)).expect("a proposal");
        rows(&proposal)[1].status.clone().expect("a status")
    };
    assert_eq!(brought.author, AuthorKind::Agent);
    assert_eq!(status(&brought), "candidate");
    assert_eq!(status(&brought.person()), "open");
}

#[test]
fn without_a_name_the_one_void_row_is_meant() {
    let any = Reopening {
        nodeid: None,
        seed: None,
        reason: None,
    };
    let several = reopened(&void(), &any).expect_err("two rows are void");
    assert!(several.to_string().contains(UNKNOWN), "{several}");
    let one = Scene::quiet()
        .on_both(LEDGER, &ledger_of(&[row(ROUNDTRIP, "{}")]))
        .change(FIXTURE, "[]");
    assert!(reopened(&one, &any).is_ok());
    let none = Scene::quiet().on_both(LEDGER, &ledger_of(&[row(ROUNDTRIP, "{}")]));
    let why = reopened(&none, &any).expect_err("nothing is void");
    assert_eq!(why.to_string(), "no freeze is void");
    let why = reopened(&none, &of_node(ROUNDTRIP)).expect_err("it is valid");
    assert!(why.to_string().contains("nothing to reopen"), "{why}");
    let why = reopened(&none, &of_node("tests/a.py::t")).expect_err("no row");
    assert!(why.to_string().contains("no row names"), "{why}");
}

fn new_freeze(nodeid: &str, replay: Option<&str>) -> NewFreeze {
    NewFreeze {
        nodeid: nodeid.parse().expect("a node id"),
        seed: Seed::of_word("7").expect("a seed"),
        reason: "IO".to_owned(),
        owner: "@ann".to_owned(),
        replay: replay.map(str::to_owned),
    }
}

#[test]
fn a_new_row_is_a_whole_one_once_there_is_evidence() {
    let scene = Scene::production().on_both(EVIDENCE, &evidence("{}", "freeze-candidate"));
    let proposal = freeze(&scene.snapshot(), &new_freeze(ROUNDTRIP, None)).expect("a proposal");
    let rows = rows(&proposal);
    assert_eq!(rows[0].status.as_deref(), Some("open"));
    assert_eq!(rows[0].fixture_digest, Some(manifest("{}")));
    assert_eq!(proposal.remark, None);
    // The gate takes it for what it is.
    let decision = Scene::quiet()
        .person()
        .change(LEDGER, new_text(&proposal, LEDGER))
        .expect(Verdict::HumanReview);
    let states: Vec<_> = decision
        .freezes
        .iter()
        .flatten()
        .map(|row| row.state)
        .collect();
    assert_eq!(states, [crate::model::FreezeState::Open]);
}

#[test]
fn a_new_row_is_refused_where_there_is_one_or_its_replay_line_is_none() {
    let snapshot = Scene::quiet()
        .on_both(LEDGER, &ledger_of(&[row(ROUNDTRIP, "{}")]))
        .snapshot();
    let why = freeze(&snapshot, &new_freeze(ROUNDTRIP, None)).expect_err("there is a row");
    assert!(why.to_string().contains("reopen or close"), "{why}");
    let why = freeze(&snapshot, &new_freeze("src/a.rs::tests::t", None)).expect_err("no pytest");
    assert!(why.to_string().contains("has to be given"), "{why}");
    let sly = "pytest tests/x.py::t --hypothesis-seed=7; rm -rf /";
    let why = freeze(&snapshot, &new_freeze("tests/x.py::t", Some(sly))).expect_err("a shell line");
    assert!(
        why.to_string().contains("replay line cannot be used"),
        "{why}"
    );
    // A node id with a quote stays one word.
    let odd = "tests/x.py::t[it's; $(x)]";
    let proposal = freeze(&snapshot, &new_freeze(odd, None)).expect("a proposal");
    assert!(
        rows(&proposal)[1]
            .replay
            .as_deref()
            .is_some_and(|line| line.contains("it'\\''s"))
    );
}

#[test]
fn a_close_removes_every_row_of_that_very_node_and_no_other() {
    let list = freezes_of(&[list_row(ROUNDTRIP, &[]), list_row(UNKNOWN, &[])]);
    let tests = format!(
        "# kept\n{ROUNDTRIP} unstable_since=2026-01-01 frozen_runs=3 note=\"clock\"\nother unstable_since=2026-01-01 frozen_runs=1 note=\"x\"\n"
    );
    let scene = Scene::quiet()
        .on_both(
            LEDGER,
            &ledger_of(&[row(UNKNOWN, "{}"), row(ROUNDTRIP, "{}")]),
        )
        .on_both(FREEZES, &list)
        .on_both(FROZEN_TESTS, &tests);
    let snapshot = scene.snapshot();
    let nodeid = ROUNDTRIP.parse().expect("a node id");
    let proposal = close(&snapshot, &nodeid).expect("a proposal");
    assert_eq!(rows(&proposal).len(), 1);
    let left = new_text(&proposal, FREEZES);
    assert!(
        left.contains(UNKNOWN) && !left.contains(ROUNDTRIP),
        "{left}"
    );
    let left = new_text(&proposal, FROZEN_TESTS);
    assert_eq!(
        left,
        "# kept\nother unstable_since=2026-01-01 frozen_runs=1 note=\"x\"\n"
    );
    // The row of the list of frozen tests has no owner, so that a maintainer has to close them all.
    assert_eq!(owners(&snapshot, &nodeid), ["@acme/parse", "nobody"]);

    let inside = format!("{ROUNDTRIP}[a]").parse().expect("a node id");
    let why = close(&snapshot, &inside).expect_err("no row of its own");
    assert!(why.to_string().contains("names exactly"), "{why}");
}

#[test]
fn nothing_in_a_title_comes_alive_and_none_is_longer_than_the_forge_takes() {
    for odd in [
        "tests/x.py::t[fixes #1, closes: #2]",
        "tests/x.py::t[@acme/all \u{202e}x]",
        &format!("tests/x.py::{}", "x".repeat(900)),
    ] {
        let proposal = freeze(&Scene::quiet().snapshot(), &new_freeze(odd, None));
        let title = proposal.expect("a proposal").title;
        let dull = |c: char| c.is_ascii_alphanumeric() || " /.:_-".contains(c);
        assert!(title.chars().all(dull), "{title}");
        assert!(title.len() < 200, "{title}");
    }
}
