//! Check-runs of other Apps under the name of ours.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, CheckRun, Fault, NewPull};
use frostline::model::Sha;
use sqlx::Connection as _;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PERSON, REPO, World, contract, two_fixtures};

const COVERED: [(&str, &str); 1] = [("src/parse.py", "def parse(x):\n    return x + 1\n")];
/// GitHub Actions has such an id, and anybody's workflow can name its job.
const OTHER: u64 = 15_368;

async fn app() -> TestApp {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app
}

async fn opened(app: &TestApp, author: &str) -> (u64, Sha) {
    let head = app.forge.push(REPO, "fix", COVERED, author).unwrap();
    let number = app
        .open_pull(REPO, NewPull::new("fix", author, "Fix"))
        .await;
    app.drain().await;
    (number, head)
}

/// Our runs on the commit, oldest first.
fn ours(app: &TestApp, head: &Sha) -> Vec<CheckRun> {
    let mut runs = app.forge.check_runs(REPO, head);
    runs.retain(|run| run.app == app.forge.app_id());
    runs
}

fn ends(app: &TestApp, head: &Sha) -> Vec<String> {
    let ours = ours(app, head);
    ours.into_iter()
        .map(|run| run.conclusion.unwrap())
        .collect()
}

/// The forge tells of the newest run of that name on the commit.
async fn told(app: &TestApp, head: &Sha, name: &str, action: &str) -> u16 {
    let hook = app
        .forge
        .run_webhook(REPO, (head, name), action, (PERSON, None))
        .unwrap();
    app.deliver(&hook).await
}

#[tokio::test]
async fn a_run_of_another_app_under_our_name_fails_ours_and_is_named() {
    for (action, author) in [("created", AGENT), ("completed", PERSON)] {
        let app = app().await;
        let (_, head) = opened(&app, author).await;
        assert_eq!(ends(&app, &head), ["success"]);
        app.forge.run_by(REPO, OTHER, (&head, "frostline")).unwrap();
        assert_eq!(told(&app, &head, "frostline", action).await, 202);
        app.drain().await;
        assert_eq!(ends(&app, &head), ["success", "failure"]);
        let run = ours(&app, &head).pop().unwrap();
        let title = "Refused: 1 check-run of another App under our name";
        assert_eq!(run.title.as_deref(), Some(title));
        let summary = run.summary.unwrap();
        assert!(summary.contains("`foreign-check`"), "{summary}");
        assert!(summary.contains("app-15368"), "{summary}");
        // It is told again, and nothing is written again.
        app.forge.run_by(REPO, OTHER, (&head, "frostline")).unwrap();
        assert_eq!(told(&app, &head, "frostline", action).await, 202);
        app.drain().await;
        assert_eq!(ends(&app, &head).len(), 2);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_run_that_came_before_the_pull_request_counts_when_it_is_judged() {
    let app = app().await;
    let head = app.forge.push(REPO, "fix", COVERED, AGENT).unwrap();
    app.forge.run_by(REPO, OTHER, (&head, "frostline")).unwrap();
    assert_eq!(told(&app, &head, "frostline", "created").await, 202);
    app.drain().await;
    assert_eq!(ours(&app, &head), []);
    let new = NewPull::new("fix", AGENT, "Fix");
    app.open_pull(REPO, new).await;
    app.drain().await;
    assert_eq!(ends(&app, &head), ["failure"]);
    app.finish().await;
}

#[tokio::test]
async fn our_own_runs_and_runs_of_other_names_are_of_no_use() {
    let app = app().await;
    let (_, head) = opened(&app, AGENT).await;
    for action in ["created", "completed"] {
        assert_eq!(told(&app, &head, "frostline", action).await, 204);
    }
    for name in ["lint", "frostline-lint", "frostline ()", "Frostline (x"] {
        app.forge.run_by(REPO, OTHER, (&head, name)).unwrap();
        assert_eq!(told(&app, &head, name, "created").await, 204, "{name}");
    }
    // The name of our check for another branch says nothing about this one's.
    let name = "frostline (release/1)";
    app.forge.run_by(REPO, OTHER, (&head, name)).unwrap();
    assert_eq!(told(&app, &head, name, "created").await, 202);
    app.drain().await;
    assert_eq!(ends(&app, &head), ["success"]);
    app.finish().await;
}

#[tokio::test]
async fn a_run_that_was_told_of_and_cannot_be_read_is_undetermined() {
    for status in [403, 404] {
        let app = app().await;
        let (_, head) = opened(&app, AGENT).await;
        let id = app.forge.run_by(REPO, OTHER, (&head, "frostline")).unwrap();
        told(&app, &head, "frostline", "created").await;
        let path = format!("/check-runs/{id}");
        app.forge
            .fault(Fault::next("GET", &path, Answer::Status(status)));
        app.drain().await;
        assert_eq!(ends(&app, &head), ["success", "failure"], "{status}");
        let run = ours(&app, &head).pop().unwrap();
        let summary = run.summary.unwrap();
        assert!(summary.contains("`undetermined`"), "{summary}");
        assert!(summary.contains("check-runs of other Apps"), "{summary}");
    }
}

#[tokio::test]
async fn a_forge_that_does_not_answer_for_the_run_is_asked_again() {
    let app = app().await;
    let (_, head) = opened(&app, AGENT).await;
    let id = app.forge.run_by(REPO, OTHER, (&head, "frostline")).unwrap();
    told(&app, &head, "frostline", "created").await;
    let path = format!("/check-runs/{id}");
    app.forge
        .fault(Fault::next("GET", &path, Answer::HangUp).times(20));
    app.drain().await;
    app.forge.clear_faults();
    assert_eq!(ends(&app, &head), ["success"], "nothing is said yet");
    app.advance(TimeDelta::hours(1));
    app.drain().await;
    let run = ours(&app, &head).pop().unwrap();
    assert!(run.summary.unwrap().contains("`foreign-check`"));
    app.finish().await;
}

#[tokio::test]
async fn a_run_that_was_given_another_name_is_none_of_ours_any_more() {
    let app = app().await;
    let (number, head) = opened(&app, AGENT).await;
    let id = app.forge.run_by(REPO, OTHER, (&head, "frostline")).unwrap();
    told(&app, &head, "frostline", "created").await;
    app.drain().await;
    app.forge.rename_run(REPO, id, "lint").unwrap();
    let hook = app.forge.pull_webhook(REPO, number, "labeled").unwrap();
    app.deliver(&hook).await;
    app.drain().await;
    assert_eq!(ends(&app, &head), ["success", "failure", "success"]);
    app.finish().await;
}

#[tokio::test]
async fn a_run_that_was_told_of_is_kept_while_its_head_is_open() {
    let world = World::new().await;
    let number = world.pull("fix", &COVERED);
    world.evaluate(number).await;
    let head = world.forge.head(REPO, number).unwrap();
    let mut raw = sqlx::SqliteConnection::connect(world.database())
        .await
        .unwrap();
    for (head, at) in [(head.as_str(), 0), (&"1".repeat(40), 0)] {
        sqlx::query("INSERT INTO foreign_run VALUES ('acme/parser', ?1, 'frostline', 7, 9, ?2)")
            .bind(head)
            .bind(at)
            .execute(&mut raw)
            .await
            .unwrap();
    }
    world.store.prune().await.unwrap();
    let kept: Vec<String> = sqlx::query_scalar("SELECT head FROM foreign_run")
        .fetch_all(&mut raw)
        .await
        .unwrap();
    assert_eq!(kept, [head.as_str()]);
}
