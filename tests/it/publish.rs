//! Publishing is done once, wherever it is broken off.

use std::time::Duration;

use frostline::demo::forge::{Answer, Fault};

use crate::support::world::{AGENT, REPO, World};

const HOLE: &[(&str, &str)] = &[("app/new.py", "x = 1\n")];

async fn known_world() -> World {
    let world = World::new().await;
    let first = world.pull("first", &[("src/parse.py", "x = 1\n")]);
    world.evaluate(first).await;
    world
}

fn assert_published_once(world: &World, number: u64, case: &str) {
    let runs = world.runs(number);
    assert_eq!(runs.len(), 1, "{case}: {runs:#?}");
    assert_eq!(runs[0].status, "completed", "{case}");
    assert_eq!(runs[0].conclusion.as_deref(), Some("failure"), "{case}");
    assert_eq!(runs[0].annotations.len(), 1, "{case}");
    let comments = world.comments(number);
    assert_eq!(comments.len(), 1, "{case}: {comments:#?}");
    assert!(comments[0].body.contains("app/new.py"), "{case}");
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_not_made_twice() {
    for (method, path) in [
        ("POST", "/check-runs"),
        ("PATCH", "/check-runs/"),
        ("GET", "/comments"),
        ("POST", "/comments"),
    ] {
        for after in [false, true] {
            for answer in [Answer::Status(502), Answer::HangUp] {
                let case = format!("{method} {path}, after: {after}, {answer:?}");
                let world = known_world().await;
                let number = world.pull("fix", HOLE);
                let fault = Fault::next(method, path, answer);
                world.forge.fault(if after { fault.after() } else { fault });
                world.evaluate(number).await;
                world.settle().await;
                assert_published_once(&world, number, &case);
                world.forge.assert_clean();
            }
        }
    }
}

#[tokio::test]
async fn annotations_of_a_broken_off_publication_are_not_sent_again() {
    let world = known_world().await;
    let files: Vec<(String, String)> = (0..120)
        .map(|n| (format!("app/m{n:03}.py"), "x = 1\n".to_owned()))
        .collect();
    world.forge.push(REPO, "big", files, AGENT).unwrap();
    let new = frostline::demo::forge::NewPull::new("big", AGENT, "Big");
    let number = world.forge.open_pull(REPO, new).unwrap();
    // The second of three batches arrives, and its answer is lost.
    world.forge.fault(
        Fault::next("PATCH", "/check-runs/", Answer::HangUp)
            .skip(1)
            .after(),
    );
    world.evaluate(number).await;
    assert_eq!(world.runs(number)[0].annotations.len(), 100);
    world.settle().await;
    let run = world.run(number);
    let paths: std::collections::BTreeSet<_> = run
        .annotations
        .iter()
        .map(|annotation| annotation["path"].as_str().unwrap())
        .collect();
    assert_eq!((run.annotations.len(), paths.len()), (120, 120));
}

#[tokio::test]
async fn a_run_with_another_decisions_annotations_is_given_up() {
    let world = known_world().await;
    let files: Vec<(String, String)> = (0..60)
        .map(|n| (format!("app/m{n:03}.py"), "x = 1\n".to_owned()))
        .collect();
    world.forge.push(REPO, "big", files, AGENT).unwrap();
    let new = frostline::demo::forge::NewPull::new("big", AGENT, "Big");
    let number = world.forge.open_pull(REPO, new).unwrap();
    world
        .forge
        .fault(Fault::next("PATCH", "/check-runs/", Answer::HangUp).after());
    world.evaluate(number).await;
    // The base moves before the next attempt: it is another decision now.
    world.push("main", &[("README.md", "newer\n")], "alice");
    world.settle().await;
    let runs = world.runs(number);
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].conclusion.as_deref(), Some("cancelled"));
    assert_eq!(runs[1].conclusion.as_deref(), Some("failure"));
    assert_eq!(runs[1].annotations.len(), 60);
}

#[tokio::test]
async fn a_comment_that_somebody_deleted_is_made_anew_when_there_is_something_to_say() {
    let world = known_world().await;
    let number = world.pull("fix", HOLE);
    world.evaluate(number).await;
    world.forge.fault(Fault::next(
        "PATCH",
        "/issues/comments/",
        Answer::Status(404),
    ));
    world.push("fix", &[("app/more.py", "y = 1\n")], AGENT);
    world.evaluate(number).await;
    let comments = world.comments(number);
    // The fake forge still has it, and it is found again by its marker.
    assert_eq!(comments.len(), 1);
    assert!(comments[0].body.contains("app/more.py"));
}

#[tokio::test]
async fn a_locked_conversation_does_not_undo_the_check() {
    let world = known_world().await;
    let number = world.pull("fix", HOLE);
    world
        .forge
        .fault(Fault::next("POST", "/comments", Answer::Status(403)));
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    assert_eq!(world.store.queue_counts().await.unwrap().dead, 0);
}

/// Killed after every single request that the forge answered.
#[tokio::test]
async fn killed_at_any_request_the_next_start_finishes_without_doing_anything_twice() {
    let requests = {
        let world = known_world().await;
        let number = world.pull("fix", HOLE);
        let before = world.forge.requests().len();
        world.evaluate(number).await;
        world.forge.requests().len() - before
    };
    assert!(requests >= 8, "{requests}");
    for kill_after in 1..=requests {
        let mut world = known_world().await;
        let number = world.pull("fix", HOLE);
        world.store.enqueue(&world.key(number)).await.unwrap();
        let until = world.forge.requests().len() + kill_after;
        let runner = world.runner();
        tokio::select! {
            biased;
            waited = world.forge.wait_until(Duration::from_secs(30), |forge| forge.requests().len() >= until) => waited.unwrap(),
            ran = runner.drain() => { ran.unwrap(); }
        }
        drop(runner);
        world.restart().await;
        world.advance(Duration::from_secs(120));
        world.settle().await;
        assert_published_once(
            &world,
            number,
            &format!("killed after request {kill_after}"),
        );
        world.forge.assert_clean();
    }
}

/// Killed before every single write to the database, which is also after the write before it.
#[tokio::test]
async fn killed_before_any_commit_the_next_start_finishes_without_doing_anything_twice() {
    for reads in 1.. {
        let mut world = known_world().await;
        let number = world.pull("fix", HOLE);
        world.store.enqueue(&world.key(number)).await.unwrap();
        world.set_fuse(reads);
        let runner = world.runner();
        // It ends by the panic, or as a failed attempt where the panic was the handler's.
        let _ = tokio::spawn(async move { runner.drain().await }).await;
        let is_over = !world.is_burnt();
        world.set_fuse(0);
        world.restart().await;
        world.advance(Duration::from_secs(120));
        world.settle().await;
        assert_published_once(
            &world,
            number,
            &format!("killed at the clock's reading {reads}"),
        );
        world.forge.assert_clean();
        if is_over {
            assert!(reads > 12, "{reads} readings");
            break;
        }
    }
}
