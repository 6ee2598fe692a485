//! Pull requests that lost something: their base branch, their commits, their head branch, their fork, or
//! their being open.

use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, NewPull};
use frostline::model::Sha;

use crate::support::world::{AGENT, PERSON, REPO, World, contract};

/// With `release` guarded beside `main`.
async fn with_release() -> World {
    let mut files = contract(&[]);
    files.push((".github/frostline.yml", "version: 1\nbranches: [release]\n").into());
    let world = World::with(files).await;
    let main = world.forge.branch(REPO, "main").expect("a branch");
    let set = world.forge.reset_branch(REPO, "release", &main);
    set.expect("a branch");
    world
}

fn into(world: &World, base: &str, branch: &str, path: &str, author: &str) -> u64 {
    world.push(branch, &[(path, "x = 1\n")], author);
    let new = NewPull {
        base,
        ..NewPull::new(branch, author, "Change something")
    };
    world.forge.open_pull(REPO, new).expect("a pull request")
}

async fn nothing_left(world: &World) {
    world.settle().await;
    let counts = world.store.queue_counts().await.expect("counts");
    assert_eq!((counts.queued, counts.running, counts.dead), (0, 0, 0));
    world.forge.assert_clean();
}

fn ends(world: &World, head: &Sha) -> Vec<(String, String, String)> {
    let runs = world.forge.check_runs(REPO, head);
    let end = |run: frostline::demo::forge::CheckRun| {
        let conclusion = run.conclusion.unwrap_or_default();
        (run.name, conclusion, run.summary.unwrap_or_default())
    };
    runs.into_iter().map(end).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_whose_guarded_base_branch_vanished_fails_with_a_sentence() {
    // Never judged before, and judged while the branch was there.
    for judged_before in [false, true] {
        let world = with_release().await;
        let number = into(&world, "release", "work", "src/new.py", AGENT);
        let mut before = Vec::new();
        if judged_before {
            world.evaluate(number).await;
            before.push("success");
        }
        world
            .forge
            .delete_branch(REPO, "release")
            .expect("a branch");
        world.evaluate(number).await;
        let head = world.forge.head(REPO, number).expect("a head");
        let all = ends(&world, &head);
        let conclusions: Vec<&str> = all.iter().map(|end| end.1.as_str()).collect();
        before.push("failure");
        assert_eq!(conclusions, before);
        let (name, _, summary) = &all[all.len() - 1];
        assert_eq!(name, "frostline (release)");
        assert!(
            summary.contains("the base branch `release` does not exist any more"),
            "{summary}"
        );
        // Once more says nothing new; when the branch is back, it is judged.
        world.evaluate(number).await;
        assert_eq!(ends(&world, &head).len(), before.len());
        let main = world.forge.branch(REPO, "main").expect("a branch");
        let set = world.forge.reset_branch(REPO, "release", &main);
        set.expect("a branch");
        world.evaluate(number).await;
        let all = ends(&world, &head);
        assert_eq!(all[all.len() - 1].1, "success");
        nothing_left(&world).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_pull_request_into_nothing_gets_nothing_where_nobody_asked() {
    let world = World::with(vec![("README.md", "Parser\n").into()]).await;
    let number = world.pull_by("work", &[("a.txt", "x\n")], PERSON);
    let head = world.forge.head(REPO, number).expect("a head");
    world.forge.delete_branch(REPO, "main").expect("a branch");
    world.evaluate(number).await;
    assert_eq!(ends(&world, &head), []);
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_into_an_unguarded_branch_that_vanished_is_judged_as_before() {
    let world = World::new().await;
    let main = world.forge.branch(REPO, "main").expect("a branch");
    let set = world.forge.reset_branch(REPO, "feature", &main);
    set.expect("a branch");
    let number = into(&world, "feature", "work", "lib/other.py", AGENT);
    world
        .forge
        .delete_branch(REPO, "feature")
        .expect("a branch");
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_without_commits_passes_and_says_that_it_changes_nothing() {
    let world = World::new().await;
    world.push("main", &[("lib/landed.py", "x = 1\n")], PERSON);
    let landed = world.forge.branch(REPO, "main").expect("a branch");
    let set = world.forge.reset_branch(REPO, "work", &landed);
    set.expect("a branch");
    world.push("main", &[("README.md", "Further\n")], PERSON);
    let new = NewPull::new("work", AGENT, "Nothing");
    let number = world.forge.open_pull(REPO, new).expect("a pull request");
    world.evaluate(number).await;
    let run = world.run(number);
    assert_eq!(run.conclusion.as_deref(), Some("success"));
    let summary = run.summary.unwrap_or_default();
    assert!(summary.starts_with("It changes nothing"), "{summary}");
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_branch_or_a_fork_that_is_gone_leaves_its_commit_to_be_judged() {
    let world = World::new().await;
    let number = world.pull("work", &[("lib/other.py", "x = 1\n")]);
    world.forge.delete_branch(REPO, "work").expect("a branch");
    let gone = world
        .forge
        .edit_pull(REPO, number, |pull| pull.fork_gone = true);
    gone.expect("a pull request");
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.write_set.len(), 1);
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_before_any_request_of_a_job_no_run_stays_open_and_no_verdict_is_posted_after_it() {
    let mut at = 0;
    loop {
        let world = World::new().await;
        let first = world.pull("first", &[("src/first.py", "x = 1\n")]);
        world.evaluate(first).await;
        let number = world.pull("work", &[("lib/other.py", "x = 1\n")]);
        let head = world.forge.head(REPO, number).expect("a head");
        let close = world.forge.closer(REPO, number);
        let fault = Fault::next("", "", Answer::AsItIs).skip(at);
        world.forge.fault(fault.calling(close));
        let from = world.forge.requests().len();
        world.evaluate(number).await;
        let asked = world.forge.requests().len() - from;
        world.settle().await;
        let all = world.forge.check_runs(REPO, &head);
        let open = all.iter().filter(|run| run.status != "completed").count();
        assert_eq!(
            (open, all.len() <= 1),
            (0, true),
            "closed before request {at}: {all:#?}"
        );
        // The event of its being closed comes after.
        world.evaluate(number).await;
        assert_eq!(world.forge.check_runs(REPO, &head).len(), all.len());
        let seen = world.store.seen_pulls(&REPO.parse().expect("a name")).await;
        let seen = seen.expect("a store");
        assert!(seen.iter().all(|pull| pull.key.number.0 != number));
        nothing_left(&world).await;
        if at >= asked {
            assert!(at > 8, "the job made {at} requests");
            return;
        }
        at += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_for_a_pull_request_that_is_gone_ends_without_a_word() {
    let world = World::new().await;
    world.evaluate(999).await;
    world.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(world.runner().drain().await.expect("a queue"), 0);
}
