//! What no webhook told is found by the next sweep.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, Fault, NewPull};
use frostline::model::PrNumber;
use frostline::store::Task;
use serde_json::json;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PERSON, REPO, contract, two_fixtures};

async fn app() -> TestApp {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app
}

/// Opens a pull request; nobody tells the App.
fn open(app: &TestApp, branch: &str, path: &str) -> u64 {
    app.forge
        .push(REPO, branch, [(path, "x = 1\n")], AGENT)
        .unwrap();
    let new = NewPull::new(branch, AGENT, "Change the parser");
    app.forge.open_pull(REPO, new).unwrap()
}

/// Sweeps until nothing is queued; gives how many jobs ran.
async fn sweep(app: &TestApp) -> usize {
    app.store
        .enqueue_task(Task::Sweep, Duration::ZERO)
        .await
        .unwrap();
    settle(app).await
}

async fn settle(app: &TestApp) -> usize {
    let mut ran = 0;
    loop {
        ran += app.drain().await;
        let counts = app.store.queue_counts().await.unwrap();
        if counts.queued + counts.running == 0 {
            return ran;
        }
        app.advance(TimeDelta::minutes(31));
    }
}

fn conclusions(app: &TestApp, number: u64) -> Vec<String> {
    let head = app.forge.head(REPO, number).unwrap();
    let runs = app.forge.check_runs(REPO, &head);
    runs.into_iter()
        .map(|run| run.conclusion.unwrap_or(run.status))
        .collect()
}

#[tokio::test]
async fn a_lost_webhook_is_repaired_within_one_sweep() {
    let app = app().await;
    let number = open(&app, "fix", "src/parse.py");
    sweep(&app).await;
    assert_eq!(conclusions(&app, number), ["success"]);
    // Nothing is out of date: nobody is judged, and nothing is written.
    let from = app.forge.requests().len();
    sweep(&app).await;
    let requests = app.forge.requests();
    let writes = requests[from..]
        .iter()
        .filter(|request| request.method != "GET" && !request.path.ends_with("/access_tokens"));
    assert_eq!(writes.count(), 0);
    let judged = requests[from..]
        .iter()
        .any(|request| request.path.ends_with(&format!("/pulls/{number}")));
    assert!(!judged);
    app.finish().await;
}

#[tokio::test]
async fn a_lost_push_to_a_pull_request_or_to_its_base_is_repaired_too() {
    let app = app().await;
    let number = open(&app, "fix", "src/parse.py");
    sweep(&app).await;
    app.forge
        .push(REPO, "fix", [("app/new.py", "x = 1\n")], AGENT)
        .unwrap();
    sweep(&app).await;
    assert_eq!(conclusions(&app, number), ["failure"]);
    // On the base a rule for it comes.
    let map = json!({"version": 1, "rules": [
        {"path_prefix": "src/", "live_properties": [crate::support::world::PROPERTY]},
        {"path_prefix": "app/", "live_properties": [crate::support::world::PROPERTY]},
    ]});
    let map = map.to_string();
    let files = [("test/contract/hunk-map.json", map.as_str())];
    app.forge.push(REPO, "main", files, PERSON).unwrap();
    sweep(&app).await;
    assert_eq!(conclusions(&app, number), ["failure", "success"]);
    app.finish().await;
}

#[tokio::test]
async fn deliveries_that_failed_are_made_again_whatever_their_failure_was() {
    let app = app().await;
    let hook = |number| app.forge.pull_webhook(REPO, number, "opened").unwrap();
    let (lost, refused, late, twice, old) = (
        open(&app, "lost", "src/a.py"),
        open(&app, "refused", "src/b.py"),
        open(&app, "late", "src/c.py"),
        open(&app, "twice", "src/d.py"),
        open(&app, "old", "src/e.py"),
    );
    let (lost, refused, late, twice, old) = (
        hook(lost),
        hook(refused),
        hook(late),
        hook(twice),
        hook(old),
    );
    app.forge.note_old_delivery(&old, None, TimeDelta::days(8));
    app.forge.note_delivery(&lost, None);
    app.forge.note_delivery(&refused, Some(502));
    // Stored, and the answer came too late; failed at first, and arrived then.
    assert_eq!(app.deliver(&late).await, 202);
    app.forge.note_delivery(&late, None);
    app.forge.note_delivery(&twice, Some(503));
    app.forge.note_delivery(&twice, Some(202));
    // The failed ones are not on the first page.
    for _ in 0..250 {
        let ping = app.forge.webhook("ping", &json!({"zen": "x"})).unwrap();
        app.forge.note_delivery(&ping, Some(204));
    }
    sweep(&app).await;
    let mut asked: Vec<String> = app
        .forge
        .take_redeliveries()
        .iter()
        .map(|hook| hook.delivery.clone())
        .collect();
    asked.sort_unstable();
    let mut wanted = vec![lost.delivery.clone(), refused.delivery.clone()];
    wanted.sort_unstable();
    assert_eq!(asked, wanted);
    // It arrives, and is not asked for again.
    for hook in [&lost, &refused] {
        assert_eq!(app.deliver(hook).await, 202);
    }
    sweep(&app).await;
    assert_eq!(app.forge.take_redeliveries().len(), 0);
    app.finish().await;
}

#[tokio::test]
async fn a_sweep_that_is_limited_goes_on_when_the_limit_ends() {
    let app = app().await;
    let number = open(&app, "fix", "src/parse.py");
    let limit = Answer::RateLimited(Duration::from_secs(600));
    app.forge
        .fault(Fault::next("GET", "/installation/repositories", limit));
    sweep(&app).await;
    assert_eq!(conclusions(&app, number), ["success"]);
    app.finish().await;
}

#[tokio::test]
async fn a_run_that_is_open_on_a_closed_pull_request_is_ended() {
    let app = app().await;
    let known = open(&app, "known", "src/parse.py");
    sweep(&app).await;
    assert_eq!(conclusions(&app, known), ["success"]);
    let number = open(&app, "fix", "src/more.py");
    let hook = app.forge.pull_webhook(REPO, number, "opened").unwrap();
    app.deliver(&hook).await;
    app.forge
        .fault(Fault::next("GET", "/compare/", Answer::Status(502)));
    app.drain().await;
    assert_eq!(conclusions(&app, number), ["in_progress"]);
    // Its job is lost as well.
    let lease = loop {
        app.advance(TimeDelta::minutes(1));
        if let Some(lease) = app.store.claim().await.unwrap() {
            break lease;
        }
    };
    app.store.ack(&lease).await.unwrap();
    app.forge
        .edit_pull(REPO, number, |pull| pull.open = false)
        .unwrap();
    sweep(&app).await;
    assert_eq!(conclusions(&app, number), ["cancelled"]);
    app.finish().await;
}

#[tokio::test]
async fn a_new_installation_is_looked_at_and_a_lost_one_forgotten() {
    let app = app().await;
    let number = open(&app, "fix", "src/parse.py");
    let id = app.forge.installation_id(REPO).unwrap();
    let event = |action: &str| {
        let payload = json!({"action": action, "installation": {"id": id}});
        app.forge.webhook("installation", &payload).unwrap()
    };
    assert_eq!(app.deliver(&event("created")).await, 202);
    settle(&app).await;
    assert_eq!(conclusions(&app, number), ["success"]);
    let repo = REPO.parse().unwrap();
    assert_eq!(app.store.seen_pulls(&repo).await.unwrap().len(), 1);
    // What waits is not tried in vain.
    let hook = app.forge.pull_webhook(REPO, number, "reopened").unwrap();
    app.deliver(&event("deleted")).await;
    app.deliver(&hook).await;
    app.store
        .enqueue_task(Task::from(&key(id, 99)), Duration::from_secs(60))
        .await
        .unwrap();
    app.drain().await;
    assert_eq!(app.store.seen_pulls(&repo).await.unwrap(), []);
    assert_eq!(app.store.queue_counts().await.unwrap().queued, 0);
    app.finish().await;
}

fn key(installation: u64, number: u64) -> frostline::model::PullKey {
    frostline::model::PullKey {
        installation: frostline::model::InstallationId(installation),
        repo: REPO.parse().unwrap(),
        number: PrNumber(number),
    }
}

#[tokio::test]
async fn repositories_that_come_and_go_are_looked_at_and_forgotten() {
    let app = app().await;
    let number = open(&app, "fix", "src/parse.py");
    let id = app.forge.installation_id(REPO).unwrap();
    let event = |action: &str, added: &[&str], removed: &[&str]| {
        let rows = |names: &[&str]| -> Vec<_> {
            names
                .iter()
                .map(|name| json!({"full_name": name}))
                .collect()
        };
        let payload = json!({"action": action, "installation": {"id": id},
            "repositories_added": rows(added), "repositories_removed": rows(removed)});
        app.forge
            .webhook("installation_repositories", &payload)
            .unwrap()
    };
    assert_eq!(app.deliver(&event("added", &[REPO], &[])).await, 202);
    settle(&app).await;
    assert_eq!(conclusions(&app, number), ["success"]);
    assert_eq!(app.deliver(&event("removed", &[], &[REPO])).await, 202);
    settle(&app).await;
    let repo = REPO.parse().unwrap();
    assert_eq!(app.store.seen_pulls(&repo).await.unwrap(), []);
    assert_eq!(app.deliver(&event("removed", &[], &[])).await, 204);
    app.finish().await;
}

#[tokio::test]
async fn a_job_that_always_kills_its_process_ends_as_failure_with_the_reason() {
    let app = app().await;
    open(&app, "known", "src/parse.py");
    sweep(&app).await;
    let number = open(&app, "fix", "src/more.py");
    let hook = app.forge.pull_webhook(REPO, number, "opened").unwrap();
    app.deliver(&hook).await;
    loop {
        // Taken, and never heard of again; the next look finds its lease run out.
        app.advance(TimeDelta::minutes(31));
        match app.store.claim().await.unwrap() {
            Some(lease) if lease.attempt + 1 == lease.max_attempts => break,
            _ => {}
        }
    }
    for _ in 0..2 {
        app.advance(TimeDelta::minutes(31));
        app.drain().await;
    }
    assert_eq!(conclusions(&app, number), ["failure"]);
    let head = app.forge.head(REPO, number).unwrap();
    let run = &app.forge.check_runs(REPO, &head)[0];
    assert!(
        run.summary.as_ref().unwrap().contains("again and again"),
        "{run:#?}"
    );
    assert_eq!(app.store.queue_counts().await.unwrap().dead, 1);
}
