//! Check-runs of other Apps under the name of ours, and branch rules that would take them for it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, CheckRun, Fault, NewPull, Required};
use frostline::model::{Requirement, Sha};
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

fn required(context: &str, app: Option<u64>, by_protection: bool) -> Required {
    Required {
        branch: "main".to_owned(),
        context: context.to_owned(),
        app,
        by_protection,
    }
}

/// What one evaluation in a repository whose branch requires this says.
async fn said(required: Vec<Required>, fault: Option<Fault>) -> (Option<Requirement>, String) {
    let world = World::new().await;
    world.forge.require(REPO, required).unwrap();
    let number = world.pull("fix", &COVERED);
    if let Some(fault) = fault {
        world.forge.fault(fault);
    }
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success", "it changes no verdict");
    let (decision, _) = world.decision(number).await;
    world.forge.assert_clean();
    (decision.required, world.run(number).summary.unwrap())
}

#[tokio::test]
async fn a_check_that_no_rule_pins_to_this_app_is_unpinned() {
    let ours = World::new().await.forge.app_id();
    let other = Some(OTHER);
    for by_protection in [false, true] {
        let check = |context, app| required(context, app, by_protection);
        let lint = check("lint", Some(ours));
        for (checks, expected) in [
            (vec![], Requirement::NotRequired),
            (vec![lint.clone()], Requirement::NotRequired),
            (
                vec![check("frostline (x)", Some(ours))],
                Requirement::NotRequired,
            ),
            (vec![check("frostline", None)], Requirement::AnyApp),
            (vec![check("frostline", other)], Requirement::AnyApp),
            (
                vec![
                    lint,
                    check("frostline", None),
                    check("frostline", Some(ours)),
                ],
                Requirement::Pinned,
            ),
        ] {
            let (says, summary) = said(checks.clone(), None).await;
            assert_eq!(says, Some(expected), "{checks:?}");
            let is_told = summary.contains("`unpinned`");
            assert_eq!(is_told, expected != Requirement::Pinned, "{summary}");
        }
    }
}

#[tokio::test]
async fn rules_that_cannot_be_read_are_unknown_unless_the_others_pin_it() {
    let ours = Some(World::new().await.forge.app_id());
    for (path, by_protection) in [
        ("/rules/branches/main", true),
        ("parser/branches/main", false),
    ] {
        for status in [403, 404] {
            let fault = || Some(Fault::next("GET", path, Answer::Status(status)));
            let any = vec![required("frostline", None, by_protection)];
            let (says, summary) = said(any, fault()).await;
            assert_eq!(says, Some(Requirement::Unknown), "{path}");
            assert!(summary.contains("is unknown"), "{summary}");
            let pinned = vec![required("frostline", ours, by_protection)];
            let (says, _) = said(pinned, fault()).await;
            assert_eq!(says, Some(Requirement::Pinned), "{path}");
        }
    }
}

#[tokio::test]
async fn what_the_rules_say_is_read_again_after_an_hour() {
    let world = World::new().await;
    let number = world.pull("fix", &COVERED);
    world.evaluate(number).await;
    let ours = Some(world.forge.app_id());
    let pinned = vec![required("frostline", ours, false)];
    world.forge.require(REPO, pinned).unwrap();
    let before = world.forge.requests().len();
    world.advance(Duration::from_secs(59 * 60));
    world.evaluate(number).await;
    let asked = world.requests_since(before);
    assert!(
        asked.iter().all(|request| !request.contains("/rules/")),
        "{asked:?}"
    );
    assert_eq!(world.runs(number).len(), 1);
    world.advance(Duration::from_secs(2 * 60));
    world.evaluate(number).await;
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.required, Some(Requirement::Pinned));
    let runs = world.runs(number);
    assert_eq!(runs.len(), 2);
    assert!(!runs[1].summary.as_ref().unwrap().contains("unpinned"));
}

#[tokio::test]
async fn a_check_of_another_guarded_branch_is_looked_for_by_its_own_name() {
    let mut files = contract(&two_fixtures());
    files.push((".github/frostline.yml", "branches: [release/1]\n").into());
    let world = World::with(files).await;
    let tip = world.forge.branch(REPO, "main").unwrap();
    world.forge.reset_branch(REPO, "release/1", &tip).unwrap();
    let required = Required {
        branch: "release/1".to_owned(),
        ..required("frostline (release/1)", Some(world.forge.app_id()), false)
    };
    world.forge.require(REPO, vec![required]).unwrap();
    world.push("fix", &COVERED, AGENT);
    let new = NewPull {
        base: "release/1",
        ..NewPull::new("fix", AGENT, "Fix")
    };
    let number = world.forge.open_pull(REPO, new).unwrap();
    world.evaluate(number).await;
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.branch, "release/1");
    assert_eq!(decision.required, Some(Requirement::Pinned));
    world.forge.assert_clean();
}
