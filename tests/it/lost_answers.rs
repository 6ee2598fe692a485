//! Requests whose answers are lost, in process: whatever the forge did or did not do, the next attempt
//! finishes the work without a second check-run or comment.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, Fault, NewPull};

use crate::support::app::TestApp;

const REPO: &str = "acme/parser";
const AGENT: &str = "acme-coder[bot]";

/// A repository whose `src/a.py` is guarded by a frozen property and `src/b.py` by a live one.
async fn app() -> TestApp {
    let app = TestApp::start().await;
    let map = r#"{"version": 1, "rules": [
      {"path_prefix": "src/a.py", "live_properties": ["tests/properties/test_a.py::test_a"]},
      {"path_prefix": "src/b.py", "live_properties": ["tests/properties/test_b.py::test_b"]}]}"#;
    let freezes = r#"{"version": 1, "entries": [{"nodeid": "tests/properties/test_a.py::test_a",
      "reason": "ORDER", "owner": "@ann", "covers": ["src/a.py"], "frozen": true}]}"#;
    let files = [
        (
            ".github/frostline.yml",
            "version: 1\ncontract:\n  lock: off\n",
        ),
        ("src/a.py", "a = 1\n"),
        ("src/b.py", "b = 1\n"),
        ("tests/properties/test_a.py", "def test_a():\n    pass\n"),
        ("tests/properties/test_b.py", "def test_b():\n    pass\n"),
        ("test/contract/hunk-map.json", map),
        ("test/contract/flake-freeze.json", freezes),
    ];
    app.forge.create_repo(REPO, files).unwrap();
    app.forge
        .push(REPO, "x", [("src/a.py", "a = 2\n")], AGENT)
        .unwrap();
    app
}

/// Drains, also what waits for its next attempt.
async fn work_it_off(app: &TestApp) {
    app.drain().await;
    app.forge.clear_faults();
    app.advance(TimeDelta::hours(1));
    app.drain().await;
}

fn assert_published(app: &TestApp, number: u64, conclusion: &str, folded: bool, what: &str) {
    let head = app.forge.head(REPO, number).unwrap();
    let runs = app.forge.check_runs(REPO, &head);
    let ends: Vec<_> = runs.iter().map(|run| run.conclusion.as_deref()).collect();
    assert_eq!(ends, [Some(conclusion)], "{what}");
    let comments = app.forge.comments(REPO, number);
    assert_eq!(comments.len(), 1, "{what}");
    assert_eq!(comments[0].minimized.is_some(), folded, "{what}");
}

/// Every request of both evaluations in turn, until there are no more.
async fn lose_every_request(answer: Answer, after: bool) {
    let mut losses = 0;
    for at in 0.. {
        assert!(at < 100, "no end of requests");
        let what = format!("{answer:?} to request {at}, after its effect: {after}");
        let app = app().await;
        let arm = |skip: usize| {
            let fault = Fault::next("", "", answer.clone()).skip(skip);
            app.forge.fault(if after { fault.after() } else { fault });
        };
        arm(at);
        let number = app.open_pull(REPO, NewPull::new("x", AGENT, "Two")).await;
        work_it_off(&app).await;
        assert_published(&app, number, "failure", false, &what);
        let requests = app.forge.requests().len();

        arm(at);
        let changes = [("src/a.py", "a = 1\n"), ("src/b.py", "b = 2\n")];
        app.push(REPO, number, "x", changes).await;
        work_it_off(&app).await;
        assert_published(&app, number, "success", true, &what);
        app.finish().await;
        if at > requests {
            break;
        }
        losses += 1;
    }
    assert!(losses > 8, "{losses} requests");
}

#[tokio::test]
async fn a_lost_request_is_made_again() {
    lose_every_request(Answer::HangUp, false).await;
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_check_run_or_comment() {
    lose_every_request(Answer::HangUp, true).await;
}

#[tokio::test]
async fn a_failing_forge_is_asked_again_later() {
    lose_every_request(Answer::Status(502), true).await;
}

#[tokio::test]
async fn a_limit_in_the_middle_of_anything_is_waited_for() {
    let wait = Duration::from_secs(1800);
    for limit in [
        Answer::RateLimited(wait),
        Answer::Secondary(wait),
        Answer::Status(429),
    ] {
        lose_every_request(limit, false).await;
    }
}

/// Not even the App's own signature is given up at once: a key may be being exchanged.
#[tokio::test]
async fn a_refused_token_loses_nothing() {
    lose_every_request(Answer::Status(401), false).await;
}
