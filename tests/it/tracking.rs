//! The one issue that says what the audit of the default branch found.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Access, Answer, Fault, Issue, NewPull};
use frostline::store::Task;
use serde_json::json;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PERSON, PROPERTY, REPO, contract, manifest, two_fixtures};

const LEDGER: &str = "tests/seed_freeze.json";

/// A repository whose default branch the App has seen, and whose issues it may write.
async fn app() -> TestApp {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app.forge
        .set_right(REPO, "issues", Some(Access::Write))
        .unwrap();
    app
}

async fn settle(app: &TestApp) {
    for _ in 0..60 {
        app.drain().await;
        let counts = app.store.queue_counts().await.unwrap();
        if counts.queued + counts.running == 0 {
            return;
        }
        app.advance(TimeDelta::minutes(31));
    }
    panic!("the queue does not come to rest");
}

async fn push(app: &TestApp, files: &[(&str, &str)]) {
    app.forge
        .push(REPO, "main", files.iter().copied(), PERSON)
        .unwrap();
    let hook = app.forge.push_webhook(REPO, "main").unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
    settle(app).await;
}

async fn sweep(app: &TestApp) {
    app.store
        .enqueue_task(Task::Sweep, Duration::ZERO)
        .await
        .unwrap();
    settle(app).await;
}

fn map(prefixes: &[&str]) -> String {
    let rules: Vec<_> = prefixes
        .iter()
        .map(|prefix| json!({"path_prefix": prefix, "live_properties": [PROPERTY]}))
        .collect();
    json!({"version": 1, "rules": rules}).to_string()
}

const MAP: &str = "test/contract/hunk-map.json";

fn ledger(digest: &str, expires: Option<&str>) -> String {
    let row = json!({"nodeid": PROPERTY, "seed": 7, "fixture_digest": digest, "reason": "CLOCK",
        "replay": format!("pytest {PROPERTY} --hypothesis-seed=7"), "opened_at": "2026-01-01T00:00:00Z",
        "expires_at": expires, "status": "open", "owner": "@ann"});
    json!({"schema": "seed-freeze-v1", "entries": [row]}).to_string()
}

fn issues(app: &TestApp) -> Vec<Issue> {
    app.forge.issues(REPO)
}

fn the_issue(app: &TestApp) -> Issue {
    let issues = issues(app);
    assert_eq!(issues.len(), 1, "{issues:#?}");
    issues[0].clone()
}

/// Requests that write issues since the first `from`.
fn writes(app: &TestApp, from: usize) -> usize {
    let requests = app.forge.requests();
    let of_issues = |path: &str| path.contains("/issues") && !path.contains("/comments");
    requests[from..]
        .iter()
        .filter(|request| request.method != "GET" && of_issues(&request.path))
        .count()
}

#[tokio::test]
async fn one_issue_is_edited_when_something_changed_closed_when_clean_and_opened_again() {
    let app = app().await;
    push(&app, &[(MAP, &map(&["src/", "lib/"]))]).await;
    let issue = the_issue(&app);
    assert_eq!(issue.author, app.forge.bot_login());
    assert!(
        issue.open && issue.body.contains("`lib/`"),
        "{}",
        issue.body
    );
    // Audited again, and found the same: nothing is written.
    let from = app.forge.requests().len();
    app.advance(TimeDelta::hours(25));
    sweep(&app).await;
    assert_eq!(writes(&app, from), 0);

    push(
        &app,
        &[(MAP, &map(&["src/parse.py"])), ("src/new.py", "x = 1\n")],
    )
    .await;
    let issue = the_issue(&app);
    assert!(
        issue.open && issue.body.contains("`src/new.py`"),
        "{}",
        issue.body
    );
    assert!(!issue.body.contains("`lib/`"), "{}", issue.body);

    push(&app, &[(MAP, &map(&["src/"]))]).await;
    let issue = the_issue(&app);
    assert!(
        !issue.open && issue.body.contains("Nothing is left"),
        "{}",
        issue.body
    );
    let from = app.forge.requests().len();
    push(&app, &[(MAP, &(map(&["src/"]) + "\n"))]).await;
    assert_eq!(writes(&app, from), 0);

    push(&app, &[(MAP, &map(&["src/parse.py"]))]).await;
    assert!(the_issue(&app).open);
    app.finish().await;
}

/// Who closes it has seen what it says; that is no reason to keep quiet about something else.
#[tokio::test]
async fn closed_by_hand_it_stays_closed_until_something_else_is_found() {
    let app = app().await;
    push(&app, &[(MAP, &map(&["src/", "lib/"]))]).await;
    let number = the_issue(&app).number;
    app.forge.close_issue(REPO, number);
    let from = app.forge.requests().len();
    for _ in 0..3 {
        app.advance(TimeDelta::hours(25));
        sweep(&app).await;
    }
    assert!(!the_issue(&app).open);
    assert_eq!(writes(&app, from), 0);
    let tip = app.forge.branch(REPO, "main").unwrap();
    let runs = app.forge.check_runs(REPO, &tip);
    let audit = runs.iter().find(|run| run.name == "frostline audit");
    let summary = audit.unwrap().summary.clone().unwrap();
    assert!(
        summary.contains("`lib/`"),
        "the check-run goes on: {summary}"
    );

    push(&app, &[(MAP, &map(&["src/", "app/"]))]).await;
    let issue = the_issue(&app);
    assert!(
        issue.open && issue.body.contains("`app/`"),
        "{}",
        issue.body
    );
    assert_eq!(issue.number, number);
    app.finish().await;
}

#[tokio::test]
async fn a_clean_branch_gets_no_issue() {
    let app = app().await;
    push(&app, &[("README.md", "x\n")]).await;
    assert_eq!(issues(&app), []);
    app.finish().await;
}

#[tokio::test]
async fn dates_pass_without_a_push() {
    let app = app().await;
    let other = format!("manifest-sha256:{}", "0".repeat(64));
    push(
        &app,
        &[
            (LEDGER, &ledger(&other, None)),
            ("tests/properties/test_more.py", "def test_a():\n    pass\n"),
            (
                MAP,
                &json!({"version": 1, "rules": [{"path_prefix": "src/", "live_properties":
            [PROPERTY, "tests/properties/test_more.py::test_a"]}]})
                .to_string(),
            ),
        ],
    )
    .await;
    assert_eq!(
        issues(&app),
        [],
        "a row that became void today is not pointed out"
    );
    for _ in 0..15 {
        app.advance(TimeDelta::hours(25));
        sweep(&app).await;
    }
    let body = the_issue(&app).body;
    assert!(
        body.contains("void for 14 days or more") && body.contains("owned by @ann, in"),
        "{body}"
    );
    // From the second of its date on.
    let tomorrow = (chrono::Utc::now() + TimeDelta::days(17))
        .to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    push(
        &app,
        &[(LEDGER, &ledger(&manifest(&two_fixtures()), Some(&tomorrow)))],
    )
    .await;
    assert!(!the_issue(&app).open);
    app.advance(TimeDelta::hours(50));
    sweep(&app).await;
    let issue = the_issue(&app);
    assert!(
        issue.open && issue.body.contains("Expired rows"),
        "{}",
        issue.body
    );
    app.finish().await;
}

#[tokio::test]
async fn without_the_right_or_switched_off_the_check_run_says_all() {
    for off in [false, true] {
        let app = app().await;
        if off {
            app.forge
                .push(
                    REPO,
                    "main",
                    [(".github/frostline.yml", "audit: {issue: false}\n")],
                    PERSON,
                )
                .unwrap();
        } else {
            app.forge
                .set_right(REPO, "issues", Some(Access::Read))
                .unwrap();
        }
        push(
            &app,
            &[(MAP, &map(&["src/parse.py"])), ("src/new.py", "x = 1\n")],
        )
        .await;
        assert_eq!(issues(&app), []);
        let tip = app.forge.branch(REPO, "main").unwrap();
        let runs = app.forge.check_runs(REPO, &tip);
        let audit = runs
            .iter()
            .find(|run| run.name == "frostline audit")
            .unwrap();
        assert_eq!(audit.conclusion.as_deref(), Some("failure"));
        assert_eq!(app.store.queue_counts().await.unwrap().dead, 0);
        // Granted later, the next audit writes it.
        if !off {
            app.forge
                .set_right(REPO, "issues", Some(Access::Write))
                .unwrap();
            app.advance(TimeDelta::hours(25));
            sweep(&app).await;
            assert!(the_issue(&app).open);
        }
        app.finish().await;
    }
}

#[tokio::test]
async fn a_marker_of_somebody_else_is_not_ours_and_a_deleted_issue_is_made_anew() {
    let app = app().await;
    let forged = app
        .forge
        .open_issue(REPO, "mallory", "<!-- frostline:audit:1 -->\nmine")
        .unwrap();
    push(&app, &[(MAP, &map(&["src/", "lib/"]))]).await;
    let all = issues(&app);
    assert_eq!(all.len(), 2);
    assert_eq!(
        (all[0].number, all[0].body.as_str()),
        (forged, "<!-- frostline:audit:1 -->\nmine")
    );
    app.forge.delete_issue(REPO, forged);
    app.forge.delete_issue(REPO, all[1].number);
    push(&app, &[(MAP, &map(&["src/", "app/"]))]).await;
    assert!(the_issue(&app).body.contains("`app/`"));
    app.finish().await;
}

/// Every request of the audit in turn, before it takes effect and after.
#[tokio::test]
async fn a_lost_request_or_answer_makes_no_second_issue() {
    for after in [false, true] {
        for what in [
            ("POST", "/issues"),
            ("GET", "/issues"),
            ("PATCH", "/issues"),
            ("POST", "/access_tokens"),
        ] {
            for skip in 0..3 {
                let app = app().await;
                let arm = || {
                    let fault = Fault::next(what.0, what.1, Answer::HangUp).skip(skip);
                    app.forge.fault(if after { fault.after() } else { fault });
                };
                arm();
                push(&app, &[(MAP, &map(&["src/", "lib/"]))]).await;
                assert!(
                    the_issue(&app).body.contains("`lib/`"),
                    "{what:?} {skip} {after}"
                );
                app.forge.clear_faults();
                arm();
                push(&app, &[(MAP, &map(&["src/"]))]).await;
                assert!(!the_issue(&app).open, "{what:?} {skip} {after}");
                app.forge.clear_faults();
                app.finish().await;
            }
        }
    }
}

#[tokio::test]
async fn what_a_repository_says_stays_inert_in_the_issue() {
    let app = app().await;
    let evil = "src/@acme/everyone <img src=x> [a](b) #1.py";
    push(&app, &[(MAP, &map(&["src/parse.py"])), (evil, "x = 1\n")]).await;
    let body = the_issue(&app).body;
    assert!(body.contains(&format!("- `{evil}`")), "{body}");
    let bare: String = body.split('`').step_by(2).collect();
    for alive in ["<img", "@acme", "[a]", "#1"] {
        assert!(!bare.contains(alive), "{alive}: {body}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_pull_request_whose_freeze_expired_since_is_judged_again_by_the_sweep() {
    let app = app().await;
    let soon = (chrono::Utc::now() + TimeDelta::days(2))
        .to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    push(
        &app,
        &[(LEDGER, &ledger(&manifest(&two_fixtures()), Some(&soon)))],
    )
    .await;
    let mut numbers = Vec::new();
    for (branch, path) in [("code", "src/parse.py"), ("docs", "docs/a.md")] {
        app.forge
            .push(REPO, branch, [(path, "x = 1\n")], AGENT)
            .unwrap();
        numbers.push(
            app.open_pull(REPO, NewPull::new(branch, AGENT, "Change"))
                .await,
        );
        settle(&app).await;
    }
    let runs = |number| {
        let head = app.forge.head(REPO, number).unwrap();
        app.forge.check_runs(REPO, &head).len()
    };
    sweep(&app).await;
    assert_eq!((runs(numbers[0]), runs(numbers[1])), (1, 1));
    app.advance(TimeDelta::days(3));
    sweep(&app).await;
    assert_eq!(
        (runs(numbers[0]), runs(numbers[1])),
        (2, 1),
        "only what rests on the freeze"
    );
    sweep(&app).await;
    assert_eq!(runs(numbers[0]), 2);
    app.finish().await;
}
