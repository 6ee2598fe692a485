//! A push to a guarded branch: what it changed is judged again, and a changed contract is audited.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, CheckRun, Fault, NewPull};
use frostline::model::PrNumber;
use serde_json::json;
use sqlx::Connection as _;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PERSON, PROPERTY, REPO, contract, two_fixtures};

const MAP: &str = "test/contract/hunk-map.json";

async fn app() -> TestApp {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app
}

async fn open(app: &TestApp, branch: &str, path: &str) -> u64 {
    app.forge
        .push(REPO, branch, [(path, "x = 1\n")], AGENT)
        .unwrap();
    let new = NewPull::new(branch, AGENT, "Change the parser");
    let number = app.open_pull(REPO, new).await;
    settle(app).await;
    number
}

async fn settle(app: &TestApp) {
    loop {
        app.drain().await;
        let counts = app.store.queue_counts().await.unwrap();
        if counts.queued + counts.running == 0 {
            return;
        }
        app.advance(TimeDelta::minutes(31));
    }
}

/// Pushes to a branch and tells the App.
async fn push(app: &TestApp, branch: &str, files: &[(&str, &str)]) {
    app.forge
        .push(REPO, branch, files.iter().copied(), PERSON)
        .unwrap();
    let hook = app.forge.push_webhook(REPO, branch).unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
}

fn map_with(prefixes: &[&str]) -> String {
    let rules: Vec<_> = prefixes
        .iter()
        .map(|prefix| json!({"path_prefix": prefix, "live_properties": [PROPERTY]}))
        .collect();
    json!({"version": 1, "rules": rules}).to_string()
}

fn runs(app: &TestApp, number: u64) -> Vec<CheckRun> {
    let head = app.forge.head(REPO, number).unwrap();
    app.forge.check_runs(REPO, &head)
}

fn ends(runs: &[CheckRun]) -> Vec<&str> {
    runs.iter()
        .map(|run| run.conclusion.as_deref().unwrap_or(&run.status))
        .collect()
}

fn audits(app: &TestApp) -> Vec<CheckRun> {
    let tip = app.forge.branch(REPO, "main").unwrap();
    let mut runs = app.forge.check_runs(REPO, &tip);
    runs.retain(|run| run.name == "frostline audit");
    runs
}

#[tokio::test]
async fn a_changed_contract_judges_again_and_what_nobody_read_does_not() {
    let app = app().await;
    let number = open(&app, "fix", "app/new.py").await;
    assert_eq!(ends(&runs(&app, number)), ["failure"]);
    let from = app.forge.requests().len();
    push(
        &app,
        "main",
        &[("README.md", "Another text\n"), ("src/else.py", "x = 1\n")],
    )
    .await;
    settle(&app).await;
    assert_eq!(runs(&app, number).len(), 1);
    let asked = app.forge.requests()[from..].to_vec();
    let pulls = asked
        .iter()
        .filter(|request| request.path.contains("/pulls/"));
    assert_eq!(pulls.count(), 0, "{asked:#?}");
    push(&app, "main", &[(MAP, &map_with(&["src/", "app/"]))]).await;
    settle(&app).await;
    assert_eq!(ends(&runs(&app, number)), ["failure", "success"]);
    // The same push told again changes nothing.
    let hook = app.forge.push_webhook(REPO, "main").unwrap();
    app.deliver(&hook).await;
    settle(&app).await;
    assert_eq!(runs(&app, number).len(), 2);
    app.finish().await;
}

#[tokio::test]
async fn all_show_in_progress_before_any_is_judged_the_newest_first() {
    let app = app().await;
    let mut numbers = Vec::new();
    for n in 0..25 {
        numbers.push(open(&app, &format!("fix-{n}"), &format!("app/m{n}.py")).await);
    }
    push(&app, "main", &[(MAP, &map_with(&["src/", "app/"]))]).await;
    // The branch's own job.
    assert!(app.step().await);
    for number in &numbers {
        assert_eq!(ends(&runs(&app, *number)), ["failure", "in_progress"]);
    }
    // Twenty at once, and the older ones a little later, each after the other.
    let waits = "SELECT (run_at - created_at + 500) / 1000 FROM job WHERE kind = 'pull' AND state = 'queued' ORDER BY run_at";
    let mut raw = sqlx::SqliteConnection::connect(&app.url).await.unwrap();
    let waits: Vec<i64> = sqlx::query_scalar(waits).fetch_all(&mut raw).await.unwrap();
    let later = (1..=5).map(|nth| nth * 15);
    assert_eq!(waits, [0; 20].into_iter().chain(later).collect::<Vec<_>>());
    app.drain().await;
    let judged: Vec<bool> = numbers
        .iter()
        .map(|number| ends(&runs(&app, *number))[1] == "success")
        .collect();
    // On a slow machine the turn of the older ones has come by now.
    assert!(judged[5..].iter().all(|judged| *judged), "{judged:?}");
    assert!(judged.is_sorted(), "the newest first: {judged:?}");
    settle(&app).await;
    for number in &numbers {
        assert_eq!(ends(&runs(&app, *number)), ["failure", "success"]);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_push_that_breaks_off_anywhere_is_finished_with_one_run_each() {
    for skip in 0..3 {
        let app = app().await;
        let numbers = [
            open(&app, "one", "app/a.py").await,
            open(&app, "two", "app/b.py").await,
        ];
        let fault = Fault::next("POST", "/check-runs", Answer::HangUp).skip(skip);
        app.forge
            .fault(if skip == 1 { fault.after() } else { fault });
        push(&app, "main", &[(MAP, &map_with(&["src/", "app/"]))]).await;
        settle(&app).await;
        for number in numbers {
            assert_eq!(ends(&runs(&app, number)), ["failure", "success"], "{skip}");
        }
        app.finish().await;
    }
}

#[tokio::test]
async fn a_changed_contract_is_audited_on_the_commit_and_daily() {
    let app = app().await;
    open(&app, "fix", "src/parse.py").await;
    push(
        &app,
        "main",
        &[("src/new.py", "x = 1\n"), (MAP, &map_with(&["src/parse"]))],
    )
    .await;
    settle(&app).await;
    let found = audits(&app);
    assert_eq!(ends(&found), ["failure"]);
    let paths: Vec<_> = found[0]
        .annotations
        .iter()
        .map(|one| &one["path"])
        .collect();
    assert_eq!(paths, ["src/new.py"]);
    // Neither a contract nor a day: the new tip has none.
    push(&app, "main", &[("README.md", "Text\n")]).await;
    settle(&app).await;
    assert_eq!(audits(&app), []);
    app.advance(TimeDelta::hours(25));
    let hook = app.forge.push_webhook(REPO, "main").unwrap();
    app.deliver(&hook).await;
    settle(&app).await;
    assert_eq!(ends(&audits(&app)), ["failure"]);
    push(&app, "main", &[(MAP, &map_with(&["src/"]))]).await;
    settle(&app).await;
    assert_eq!(ends(&audits(&app)), ["success"]);
    // The forge set it back when a person asked for it again.
    let tip = app.forge.branch(REPO, "main").unwrap();
    let run = (&tip, "frostline audit");
    let hook = app
        .forge
        .run_webhook(REPO, run, "rerequested", (PERSON, None));
    assert_eq!(app.deliver(&hook.unwrap()).await, 202);
    settle(&app).await;
    assert_eq!(ends(&audits(&app)), ["success", "success"]);
    app.finish().await;
}

#[tokio::test]
async fn an_audit_that_cannot_be_made_ends_as_failure() {
    let app = app().await;
    open(&app, "fix", "src/parse.py").await;
    app.forge.fault(
        Fault::next("GET", "/git/trees/", Answer::Status(403))
            .skip(1)
            .times(50),
    );
    push(&app, "main", &[(MAP, &map_with(&["src/", "app/"]))]).await;
    app.drain().await;
    app.forge.clear_faults();
    let open = app
        .forge
        .check_runs(REPO, &app.forge.branch(REPO, "main").unwrap());
    assert!(
        open.iter().all(|run| run.status == "completed"),
        "{open:#?}"
    );
}

#[tokio::test]
async fn a_push_to_a_branch_that_nobody_guards_asks_nothing_of_the_forge() {
    let app = app().await;
    open(&app, "fix", "src/parse.py").await;
    let from = app.forge.requests().len();
    push(&app, "topic", &[("README.md", "Text\n")]).await;
    settle(&app).await;
    assert_eq!(app.forge.requests().len(), from);
    app.finish().await;
}

#[tokio::test]
async fn a_branch_that_becomes_guarded_has_its_pull_requests_judged_by_it() {
    let app = app().await;
    push(&app, "release", &[("README.md", "Release\n")]).await;
    settle(&app).await;
    app.forge
        .push(REPO, "fix", [("app/new.py", "x = 1\n")], AGENT)
        .unwrap();
    let new = NewPull {
        base: "release",
        ..NewPull::new("fix", AGENT, "Into the release")
    };
    let number = app.open_pull(REPO, new).await;
    settle(&app).await;
    assert_eq!(runs(&app, number)[0].name, "frostline");
    push(
        &app,
        "main",
        &[(".github/frostline.yml", "branches: [release]\n")],
    )
    .await;
    settle(&app).await;
    let names: Vec<_> = runs(&app, number).into_iter().map(|run| run.name).collect();
    assert!(
        names.contains(&"frostline (release)".to_owned()),
        "{names:?}"
    );
    assert!(
        runs(&app, number)
            .iter()
            .all(|run| run.status == "completed")
    );
    app.finish().await;
}

#[tokio::test]
async fn a_repository_that_opts_in_has_its_open_pull_requests_judged() {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, [("src/parse.py", "x = 0\n"), ("README.md", "x\n")])
        .unwrap();
    let number = open(&app, "fix", "src/parse.py").await;
    assert_eq!(ends(&runs(&app, number)), ["neutral"]);
    push(&app, "main", &[("README.md", "y\n")]).await;
    settle(&app).await;
    assert_eq!(runs(&app, number).len(), 1);
    push(&app, "main", &[(MAP, &map_with(&["src/"]))]).await;
    settle(&app).await;
    assert_eq!(ends(&runs(&app, number)), ["neutral", "failure"]);
    app.finish().await;
}

#[tokio::test]
async fn a_tip_that_was_replaced_has_everything_judged_again() {
    let app = app().await;
    let start = app.forge.branch(REPO, "main").unwrap();
    push(&app, "main", &[("docs/a.md", "a\n")]).await;
    let number = open(&app, "fix", "src/parse.py").await;
    app.forge.reset_branch(REPO, "main", &start).unwrap();
    let hook = app.forge.push_webhook(REPO, "main").unwrap();
    app.deliver(&hook).await;
    settle(&app).await;
    assert_eq!(ends(&runs(&app, number)), ["success", "success"]);
    // It waits at most for the queue's backoff.
    app.advance(TimeDelta::from_std(Duration::from_secs(1)).unwrap());
    app.finish().await;
}

/// The process was killed after the run had ended and before that was noted: a look at the branch makes no
/// second run.
#[tokio::test]
async fn what_was_never_noted_as_settled_is_judged_again_without_a_second_run() {
    let app = app().await;
    let number = open(&app, "work", "src/parse.py").await;
    assert_eq!(ends(&runs(&app, number)), ["success"]);
    let (repo, head) = (REPO.parse().unwrap(), app.forge.head(REPO, number).unwrap());
    let settled = app.store.settle_pull(&repo, PrNumber(number), &head, None);
    settled.await.unwrap();
    let hook = app.forge.push_webhook(REPO, "main").unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
    settle(&app).await;
    assert_eq!(ends(&runs(&app, number)), ["success"]);
    app.finish().await;
}
