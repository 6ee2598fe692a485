//! What goes wrong between Frostline and the forge, and what comes of it: never a wrong verdict, never two of
//! one, never nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, Fault, Forge, Limits, NewPull};
use frostline::model::{InstallationId, PrNumber, PullKey, Snapshot};
use frostline::work::RunnerSettings;
use tokio_util::sync::CancellationToken;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PERSON, REPO, World, contract, two_fixtures};

const HOLE: &[(&str, &str)] = &[("app/new.py", "x = 1\n")];
const COVERED: &[(&str, &str)] = &[("src/parse.py", "def parse(x):\n    return x + 1\n")];

async fn app() -> TestApp {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app
}

/// Conclusions of the runs on a pull request's head.
fn conclusions(forge: &Forge, repo: &str, number: u64) -> Vec<String> {
    let head = forge.head(repo, number).unwrap();
    let runs = forge.check_runs(repo, &head);
    runs.into_iter().filter_map(|run| run.conclusion).collect()
}

// ---- Deliveries ----

#[tokio::test]
async fn deliveries_in_another_order_and_twice_end_at_the_newest_head() {
    let app = app().await;
    app.forge
        .push(REPO, "x", HOLE.iter().copied(), AGENT)
        .unwrap();
    let number = app
        .forge
        .open_pull(REPO, NewPull::new("x", AGENT, "X"))
        .unwrap();
    let hook = |action| app.forge.pull_webhook(REPO, number, action).unwrap();
    let opened = hook("opened");
    let old = app.forge.head(REPO, number).unwrap();
    let gone = frostline::demo::forge::FileChange::remove("app/new.py");
    app.forge.push(REPO, "x", [gone], AGENT).unwrap();
    let pushed = hook("synchronize");
    for hook in [&pushed, &opened, &pushed, &opened] {
        assert_eq!(app.deliver(hook).await, 202);
    }
    assert_eq!(app.drain().await, 1, "one job for all four");
    // The last event told of an old head: the API is believed after a while.
    app.advance(TimeDelta::minutes(1));
    app.drain().await;
    app.advance(TimeDelta::minutes(1));
    app.drain().await;
    assert_eq!(conclusions(&app.forge, REPO, number), ["success"]);
    assert_eq!(app.forge.check_runs(REPO, &old), []);
    app.finish().await;
}

#[tokio::test]
async fn thirty_events_on_each_of_ten_pull_requests_are_one_evaluation_each() {
    let app = app().await;
    let mut hooks = Vec::new();
    let mut heads = BTreeSet::new();
    let numbers: Vec<u64> = (0..10)
        .map(|n| {
            let branch = format!("b{n}");
            app.forge
                .push(REPO, &branch, HOLE.iter().copied(), AGENT)
                .unwrap();
            let new = NewPull::new(&branch, AGENT, "Burst");
            app.forge.open_pull(REPO, new).unwrap()
        })
        .collect();
    for event in 0..30 {
        for (n, number) in numbers.iter().enumerate() {
            let text = format!("x = {event}\n");
            let change = [("app/new.py", text.as_str())];
            heads.insert(
                app.forge
                    .push(REPO, &format!("b{n}"), change, AGENT)
                    .unwrap(),
            );
            hooks.push(
                app.forge
                    .pull_webhook(REPO, *number, "synchronize")
                    .unwrap(),
            );
        }
    }
    for hook in &hooks {
        assert_eq!(app.deliver(hook).await, 202);
    }
    assert_eq!(app.drain().await, 10);
    for number in &numbers {
        assert_eq!(conclusions(&app.forge, REPO, *number), ["failure"]);
        assert_eq!(app.forge.comments(REPO, *number).len(), 1);
    }
    let judged = heads
        .iter()
        .filter(|head| !app.forge.check_runs(REPO, head).is_empty());
    assert_eq!(judged.count(), 10, "no head that was overtaken");
    app.finish().await;
}

#[tokio::test]
async fn the_head_that_the_api_shows_must_be_the_events_head() {
    let app = app().await;
    app.forge
        .push(REPO, "x", HOLE.iter().copied(), AGENT)
        .unwrap();
    let number = app.open_pull(REPO, NewPull::new("x", AGENT, "X")).await;
    app.drain().await;
    let old = app.forge.head(REPO, number).unwrap();
    let before = app.forge.check_runs(REPO, &old);
    let gone = frostline::demo::forge::FileChange::remove("app/new.py");
    app.push(REPO, number, "x", [gone]).await;
    let behind = Some((old.clone(), 2));
    app.forge
        .edit_pull(REPO, number, |pull| pull.behind = behind)
        .unwrap();
    for _ in 0..2 {
        assert_eq!(app.drain().await, 1);
        assert_eq!(app.drain().await, 0, "it waits for the API");
        assert_eq!(conclusions(&app.forge, REPO, number), [""; 0]);
        app.advance(TimeDelta::minutes(1));
    }
    assert_eq!(app.drain().await, 1);
    assert_eq!(conclusions(&app.forge, REPO, number), ["success"]);
    assert_eq!(
        app.forge.check_runs(REPO, &old),
        before,
        "the old head was left alone"
    );
    app.finish().await;
}

// ---- Moving targets ----

fn expected(forge: &Forge, base: &str, head: &str) -> BTreeSet<String> {
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(forge.git_dir(REPO))
        .args([
            "diff",
            "--name-only",
            "--no-renames",
            &format!("{base}...{head}"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn paths(snapshot: &Snapshot) -> BTreeSet<String> {
    let changes = snapshot.write_set.known().expect("a write-set");
    changes.iter().map(|change| change.path.clone()).collect()
}

/// The base branch moves right after any one request: what is published belongs to one base, and after
/// the push's own evaluation to the new one.
#[tokio::test]
async fn a_base_that_moves_while_it_is_judged_is_never_mixed_with_the_one_before() {
    for at in 0.. {
        let world = Arc::new(World::new().await);
        let first = world.pull("first", COVERED);
        world.evaluate(first).await;
        let number = world.pull("fix", HOLE);
        world.push("main", &[("README.md", "diverged\n")], PERSON);
        let pusher = world.clone();
        let before = world.forge.requests().len();
        let push = Fault::next("", "", Answer::AsItIs)
            .skip(at)
            .after()
            .calling(move || pusher.push("main", &[("lib/base.py", "base = 1\n")], PERSON));
        world.forge.fault(push);
        world.evaluate(number).await;
        world.settle().await;
        let requests = world.forge.requests().len() - before;
        let (_, snapshot) = world.decision(number).await;
        let base = snapshot.base.to_string();
        assert_eq!(
            paths(&snapshot),
            expected(&world.forge, &base, "fix"),
            "request {at}"
        );
        assert_eq!(world.comments(number).len(), 1, "request {at}");
        world.forge.clear_faults();
        world.push("main", &[("docs/last.md", "last\n")], PERSON);
        world.evaluate(number).await;
        let (_, snapshot) = world.decision(number).await;
        assert_eq!(snapshot.base, world.forge.branch(REPO, "main").unwrap());
        let runs = world.runs(number);
        assert!(
            runs.iter().all(|run| run.status == "completed"),
            "request {at}: {runs:#?}"
        );
        assert_eq!(runs.last().unwrap().conclusion.as_deref(), Some("failure"));
        world.forge.assert_clean();
        if at > requests {
            assert!(at > 6, "{at} requests");
            break;
        }
    }
}

/// The head moves right after any one request: the old head ends as cancelled or with its own verdict, the
/// new one is judged.
#[tokio::test]
async fn a_head_that_moves_while_it_is_judged_gets_the_verdict() {
    for at in 0.. {
        let world = Arc::new(World::new().await);
        let first = world.pull("first", COVERED);
        world.evaluate(first).await;
        let number = world.pull("fix", HOLE);
        let old = world.forge.head(REPO, number).unwrap();
        let pusher = world.clone();
        let before = world.forge.requests().len();
        let push = Fault::next("", "", Answer::AsItIs)
            .skip(at)
            .after()
            .calling(move || pusher.push("fix", &[("app/more.py", "y = 1\n")], AGENT));
        world.forge.fault(push);
        world.evaluate(number).await;
        let requests = world.forge.requests().len() - before;
        world.evaluate(number).await;
        world.settle().await;
        let (_, snapshot) = world.decision(number).await;
        let new = world.forge.head(REPO, number).unwrap();
        assert_eq!(snapshot.head, new, "request {at}");
        let runs = world.forge.check_runs(REPO, &old);
        assert!(
            runs.iter().all(|run| run.status == "completed"),
            "request {at}: {runs:#?}"
        );
        assert_eq!(world.conclusion(number), "failure");
        assert_eq!(world.comments(number).len(), 1);
        if at > requests {
            assert!(at > 6, "{at} requests");
            break;
        }
    }
}

#[tokio::test]
async fn a_test_merge_of_other_parents_is_not_believed() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    world.push("main", &[("README.md", "diverged\n")], PERSON);
    // The pull request is shown, then the base moves: the test merge that was shown is of the base before.
    let world = Arc::new(world);
    let pusher = world.clone();
    let push = Fault::next("GET", "/pulls/", Answer::AsItIs)
        .after()
        .calling(move || pusher.push("main", &[("README.md", "further\n")], PERSON));
    world.forge.fault(push);
    assert_eq!(world.evaluate(number).await, 1);
    assert!(
        world
            .runs(number)
            .iter()
            .all(|run| run.status != "completed")
    );
    world.settle().await;
    assert_eq!(world.conclusion(number), "success");
    let (_, snapshot) = world.decision(number).await;
    assert_eq!(snapshot.base, world.forge.branch(REPO, "main").unwrap());
}

// ---- Tokens ----

#[tokio::test]
async fn a_token_that_expires_before_any_request_is_replaced_within_the_job() {
    for at in 0.. {
        let world = World::new().await;
        // Both tokens are there; a fresh one that is refused is another matter.
        let first = world.pull("first", HOLE);
        world.evaluate(first).await;
        let number = world.pull("fix", HOLE);
        let before = world.forge.requests().len();
        let expire = world.forge.expirer();
        let fault = Fault::next("", "/repos/", Answer::AsItIs)
            .skip(at)
            .calling(expire);
        world.forge.fault(fault);
        assert_eq!(world.evaluate(number).await, 1, "request {at}: one attempt");
        assert_eq!(world.conclusion(number), "failure", "request {at}");
        assert_eq!(world.comments(number).len(), 1, "request {at}");
        let requests = world.forge.requests().len() - before;
        if at > requests {
            assert!(at > 6, "{at} requests");
            break;
        }
    }
}

#[tokio::test]
async fn a_clock_that_is_wrong_does_no_harm() {
    type Move = fn(&Forge, Duration) -> anyhow::Result<()>;
    // A little, and so much that the forge refuses the App's signature.
    let moves: [(Move, u64, usize); 4] = [
        (Forge::set_back, 45, 0),
        (Forge::advance, 8 * 60, 0),
        (Forge::set_back, 20 * 60, 1),
        (Forge::advance, 3 * 60 * 60, 1),
    ];
    for (away, seconds, refusals) in moves {
        let world = World::new().await;
        away(&world.forge, Duration::from_secs(seconds)).unwrap();
        let number = world.pull("fix", COVERED);
        assert_eq!(world.evaluate(number).await, 1);
        assert_eq!(world.conclusion(number), "success", "{seconds} s");
        // It is refused once, and signed by the forge's clock from then on.
        world.app.installations().await.unwrap();
        let all = world.forge.requests();
        let refused = all.iter().filter(|request| request.status == 401);
        assert_eq!(refused.count(), refusals, "{seconds} s");
        // Its tokens are good for as long as by a clock that is right.
        let mints = |world: &World| {
            let all = world.forge.requests();
            let mint = |path: &str| path.ends_with("/access_tokens");
            all.iter().filter(|request| mint(&request.path)).count()
        };
        let before = mints(&world);
        world.client().repository().await.unwrap();
        assert_eq!(mints(&world), before, "{seconds} s");
    }
}

#[tokio::test]
async fn a_signature_that_is_refused_by_a_clock_that_is_right_is_not_repeated() {
    let world = World::new().await;
    let refused = Fault::next("GET", "/app/installations", Answer::Status(401)).times(9);
    world.forge.fault(refused);
    world.app.installations().await.unwrap_err();
    assert_eq!(world.forge.requests().len(), 1);
}

#[tokio::test]
async fn a_refused_signature_is_tried_again_later() {
    let world = World::new().await;
    let refused = Fault::next("POST", "/access_tokens", Answer::Status(401));
    world.forge.fault(refused);
    let number = world.pull("fix", COVERED);
    world.evaluate(number).await;
    assert_eq!(world.runs(number), []);
    world.settle().await;
    assert_eq!(world.conclusion(number), "success");
}

// ---- The comment and the annotations ----

/// The comment stands on the second page, which needs the token as well.
#[tokio::test]
async fn the_comment_is_found_beyond_a_hundred_others() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    for n in 0..130 {
        world
            .forge
            .add_comment(REPO, number, PERSON, &format!("No. {n}"))
            .unwrap();
    }
    let lost = Fault::next("POST", "/comments", Answer::HangUp).after();
    world.forge.fault(lost);
    world.evaluate(number).await;
    assert_eq!(world.comments(number).len(), 131);
    world.settle().await;
    assert_eq!(world.comments(number).len(), 131, "found, not made again");
    let pages = world.forge.requests();
    let second = pages
        .iter()
        .filter(|r| r.path.ends_with("/comments") && r.query.contains("page=2"));
    assert!(second.count() >= 1);
    world.push("fix", &[("app/more.py", "y = 1\n")], AGENT);
    world.evaluate(number).await;
    let ours: Vec<_> = world
        .comments(number)
        .into_iter()
        .filter(|comment| comment.author == world.forge.bot_login())
        .collect();
    assert_eq!(ours.len(), 1);
    assert!(ours[0].body.contains("app/more.py"));
    world.forge.assert_clean();
}

#[tokio::test]
async fn annotations_that_the_forge_refuses_are_left_out_and_counted() {
    for known in [false, true] {
        let world = World::new().await;
        if known {
            let first = world.pull("first", COVERED);
            world.evaluate(first).await;
        }
        world.forge.set_limits(Limits {
            refused_annotations: Some("7.py"),
            ..Limits::default()
        });
        let files: Vec<(String, String)> = (0..70)
            .map(|n| (format!("app/m{n:02}.py"), "x = 1\n".to_owned()))
            .collect();
        world.forge.push(REPO, "big", files, AGENT).unwrap();
        let number = world
            .forge
            .open_pull(REPO, NewPull::new("big", AGENT, "Big"))
            .unwrap();
        world.evaluate(number).await;
        let run = world.run(number);
        assert_eq!(run.conclusion.as_deref(), Some("failure"));
        let paths: BTreeSet<_> = run
            .annotations
            .iter()
            .map(|a| a["path"].as_str().unwrap())
            .collect();
        assert_eq!(
            (run.annotations.len(), paths.len()),
            (63, 63),
            "opted in before: {known}"
        );
        assert!(run.summary.unwrap().contains("refused 7 annotations"));
        // Also when they are all in the request that would make the run.
        let one = world.pull("one", &[("app/7.py", "x = 1\n")]);
        world.evaluate(one).await;
        let run = world.run(one);
        assert_eq!(run.annotations.len(), 0);
        assert!(run.summary.unwrap().contains("refused 1 annotation"));
        assert_eq!(world.store.queue_counts().await.unwrap().dead, 0);
    }
}

// ---- Workers ----

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_that_wakes_after_its_lease_writes_nothing_more() {
    let world = Arc::new(World::new().await);
    let first = world.pull("first", COVERED);
    world.evaluate(first).await;
    let number = world.pull("fix", HOLE);
    let (stalled, is_stalled) = tokio::sync::oneshot::channel();
    let (wake, woken) = mpsc::channel::<()>();
    let stall = Fault::next("GET", "/compare/", Answer::AsItIs).calling(move || {
        let _ = stalled.send(());
        let _ = woken.recv();
    });
    world.forge.fault(stall);
    world.store.enqueue(&world.key(number)).await.unwrap();
    let sleeper = {
        let runner = world.runner();
        tokio::spawn(async move { runner.step().await })
    };
    is_stalled.await.unwrap();
    world.advance(Duration::from_secs(120));
    // Gives back the expired lease, and works it off after its backoff.
    world.settle().await;
    assert_eq!(world.conclusion(number), "failure");
    let before = world.forge.requests().len();
    wake.send(()).unwrap();
    assert!(sleeper.await.unwrap().unwrap());
    let writes = |from: usize| {
        let all = world.requests_since(from);
        all.into_iter()
            .filter(|r| !r.starts_with("GET") && !r.ends_with("/access_tokens"))
    };
    assert_eq!(writes(before).collect::<Vec<_>>(), [""; 0]);
    assert!(world.forge.requests().len() > before, "it did wake");
    // Looked at once more, and nothing is left to do.
    world.settle().await;
    assert_eq!(writes(before).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(
        (world.runs(number).len(), world.comments(number).len()),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_repository_that_gets_no_answers_delays_no_other() {
    const SLOW: &str = "acme/slow";
    let world = World::new().await;
    world
        .forge
        .create_repo(SLOW, contract(&two_fixtures()))
        .unwrap();
    let installation = InstallationId(world.forge.installation_id(SLOW).unwrap());
    for n in 0..12 {
        let branch = format!("b{n}");
        world
            .forge
            .push(SLOW, &branch, COVERED.iter().copied(), AGENT)
            .unwrap();
        let number = world
            .forge
            .open_pull(SLOW, NewPull::new(&branch, AGENT, "Slow"))
            .unwrap();
        let key = PullKey {
            installation,
            repo: SLOW.parse().unwrap(),
            number: PrNumber(number),
        };
        world.store.enqueue(&key).await.unwrap();
    }
    world
        .forge
        .fault(Fault::next("", SLOW, Answer::Silence).times(1_000));
    let number = world.pull("fix", COVERED);
    world.store.enqueue(&world.key(number)).await.unwrap();
    let stop = CancellationToken::new();
    let settings = RunnerSettings {
        grace: Duration::ZERO,
        ..RunnerSettings::default()
    };
    let running = tokio::spawn(world.runner_with(settings).run(stop.clone()));
    let done = |forge: &Forge| !conclusions(forge, REPO, number).is_empty();
    world
        .forge
        .wait_until(Duration::from_secs(20), done)
        .await
        .unwrap();
    assert_eq!(conclusions(&world.forge, REPO, number), ["success"]);
    stop.cancel();
    running.await.unwrap();
}

/// A busy repository stops before the installation's requests are used up; another one goes on.
#[tokio::test]
async fn what_is_left_of_a_limit_is_kept_for_other_repositories() {
    const BUSY: &str = "acme/busy";
    let world = World::new().await;
    world
        .forge
        .create_repo(BUSY, contract(&two_fixtures()))
        .unwrap();
    world.forge.set_limits(Limits {
        rate: 200,
        ..Limits::default()
    });
    let installation = InstallationId(world.forge.installation_id(BUSY).unwrap());
    let mut waiting = 0;
    for n in 0..40 {
        let branch = format!("b{n}");
        world
            .forge
            .push(BUSY, &branch, COVERED.iter().copied(), AGENT)
            .unwrap();
        let number = world
            .forge
            .open_pull(BUSY, NewPull::new(&branch, AGENT, "Busy"))
            .unwrap();
        let key = PullKey {
            installation,
            repo: BUSY.parse().unwrap(),
            number: PrNumber(number),
        };
        world.store.enqueue(&key).await.unwrap();
        world.runner().drain().await.unwrap();
        if world.store.queue_counts().await.unwrap().queued > 0 {
            waiting = number;
            break;
        }
    }
    assert!(waiting > 0, "it was never stopped");
    let used = world
        .forge
        .requests()
        .iter()
        .filter(|r| r.status != 304)
        .count();
    assert!((150..190).contains(&used), "{used} of 200");
    let number = world.pull("fix", COVERED);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
    assert_eq!(world.store.queue_counts().await.unwrap().dead, 0);
}
