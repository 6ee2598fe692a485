//! Pull requests and their heads: which are found by a commit, and which speaks for it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, NewPull};
use frostline::model::PrNumber;
use frostline::store::{RepoKey, RunKey, Task};

use crate::support::world::{AGENT, PERSON, REPO, World};

const HOLE: &[(&str, &str)] = &[("app/new.py", "x = 1\n")];

fn repo(world: &World) -> RepoKey {
    let key = world.key(1);
    RepoKey {
        installation: key.installation,
        repo: key.repo,
    }
}

#[tokio::test]
async fn open_pull_requests_are_found_by_their_head_alone() {
    let world = World::new().await;
    let found = world.pull("fix", HOLE);
    let closed = world.pull("closed", HOLE);
    world
        .forge
        .edit_pull(REPO, closed, |pull| pull.open = false)
        .unwrap();
    // Its head lies in the other's history.
    world.push("longer", &[], AGENT);
    let head = world.forge.head(REPO, found).unwrap();
    world.forge.reset_branch(REPO, "longer", &head).unwrap();
    world.push("longer", &[("app/more.py", "x = 1\n")], AGENT);
    let longer = NewPull::new("longer", AGENT, "Longer");
    let longer = world.forge.open_pull(REPO, longer).unwrap();
    for head in [head, world.forge.head(REPO, closed).unwrap()] {
        let repo = repo(&world);
        let task = Task::Head { repo, head };
        world
            .store
            .enqueue_task(task, Duration::ZERO)
            .await
            .unwrap();
    }
    world.runner().drain().await.unwrap();
    assert_eq!(world.conclusion(found), "failure");
    assert_eq!(world.runs(closed), []);
    assert_eq!(world.runs(longer), []);
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_commit_that_the_forge_does_not_know_is_no_pull_requests() {
    let world = World::new().await;
    let task = Task::Head {
        repo: repo(&world),
        head: "1".repeat(40).parse().unwrap(),
    };
    world
        .store
        .enqueue_task(task, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(world.runner().drain().await.unwrap(), 1);
    let counts = world.store.queue_counts().await.unwrap();
    assert_eq!((counts.done, counts.dead), (1, 0));
}

/// A second pull request with the head of `first`.
fn twin(world: &World, first: u64, branch: &str, author: &str) -> u64 {
    twin_into(world, first, branch, author, "main")
}

fn twin_into(world: &World, first: u64, branch: &str, author: &str, base: &str) -> u64 {
    let head = world.forge.head(REPO, first).unwrap();
    world.forge.reset_branch(REPO, branch, &head).unwrap();
    let new = NewPull {
        base,
        ..NewPull::new(branch, author, "The same again")
    };
    world.forge.open_pull(REPO, new).unwrap()
}

#[tokio::test]
async fn a_second_pull_request_with_the_same_head_changes_nothing_at_the_check() {
    let world = World::new().await;
    let first = world.pull("fix", HOLE);
    world.evaluate(first).await;
    let run = world.run(first);
    let second = twin(&world, first, "again", AGENT);
    world.evaluate(second).await;
    world.settle().await;
    assert_eq!(world.runs(second), [run]);
    // What is to be said, it is told in its own conversation.
    assert!(world.comments(second)[0].body.contains("app/new.py"));
    assert_eq!(world.comments(first).len(), 1);
    world.forge.assert_clean();
}

#[tokio::test]
async fn evidence_of_a_second_pull_request_counts_for_the_head_that_both_have() {
    let world = World::new().await;
    let first = world.pull_by("fix", HOLE, PERSON);
    world.evaluate(first).await;
    assert_eq!(world.conclusion(first), "success");
    let second = twin(&world, first, "again", AGENT);
    world.evaluate(second).await;
    world.settle().await;
    let runs = world.runs(first);
    let ends: Vec<_> = runs
        .iter()
        .filter_map(|r| r.conclusion.as_deref())
        .collect();
    assert_eq!(ends, ["success", "failure"]);
    // However often either is looked at, nothing more is written.
    for number in [second, first, second] {
        world.evaluate(number).await;
        world.settle().await;
    }
    assert_eq!(world.runs(first).len(), 2);
}

#[tokio::test]
async fn who_goes_into_the_guarded_branch_speaks_before_who_goes_into_another() {
    let world = World::new().await;
    world.push("topic", &[("docs/x.md", "x\n")], PERSON);
    world.push("main", &[("docs/y.md", "y\n")], PERSON);
    world.push("fix", &[("src/parse.py", "x = 1\n")], AGENT);
    // The stacked one comes first: head and main have diverged only later.
    let new = NewPull {
        base: "topic",
        ..NewPull::new("fix", AGENT, "On top of the topic")
    };
    let stacked = world.forge.open_pull(REPO, new).unwrap();
    world.evaluate(stacked).await;
    let direct = twin(&world, stacked, "fix-main", AGENT);
    world.push("main", &[("docs/z.md", "z\n")], PERSON);
    world.evaluate(direct).await;
    let runs = world.runs(direct);
    assert_eq!(runs.last().unwrap().conclusion.as_deref(), Some("success"));
    // By itself it would be undetermined now: the forge tests no merge of it into main.
    world.evaluate(stacked).await;
    world.settle().await;
    assert_eq!(world.runs(direct), runs);
    world.forge.assert_clean();
}

#[tokio::test]
async fn when_the_speaker_is_gone_the_other_one_speaks() {
    let world = World::new().await;
    let first = world.pull("fix", HOLE);
    world.evaluate(first).await;
    let second = twin(&world, first, "again", AGENT);
    world.evaluate(second).await;
    // Nobody told us that it was closed.
    world
        .forge
        .edit_pull(REPO, first, |pull| pull.open = false)
        .unwrap();
    world.push("main", &[("docs/y.md", "y\n")], PERSON);
    world.evaluate(second).await;
    world.settle().await;
    let (decision, _) = world.decision(second).await;
    let tip = world.forge.branch(REPO, "main").unwrap();
    assert_eq!(decision.base, tip);
    assert_eq!(world.runs(second).len(), 2, "another base is another input");
}

#[tokio::test]
async fn a_run_that_is_open_when_its_pull_request_moves_on_goes_to_who_has_the_head_still() {
    let world = World::new().await;
    let known = world.pull("known", &[("src/parse.py", "x = 1\n")]);
    world.evaluate(known).await;
    let first = world.pull("fix", HOLE);
    let second = twin(&world, first, "again", AGENT);
    let head = world.forge.head(REPO, first).unwrap();
    world.evaluate(second).await;
    // The base moved, and while the first is judged anew its work breaks off with a run in progress.
    world.push("main", &[("docs/y.md", "y\n")], PERSON);
    let ended = world.runs(first);
    world
        .forge
        .fault(Fault::next("POST", "/check-runs", Answer::HangUp).after());
    world.evaluate(first).await;
    assert_eq!(world.runs(first).len(), ended.len() + 1);
    world.push("fix", &[("app/more.py", "x = 1\n")], AGENT);
    world.settle().await;
    let runs = world.forge.check_runs(REPO, &head);
    assert!(
        runs.iter().all(|run| run.status == "completed"),
        "{runs:#?}"
    );
    let ends: Vec<_> = runs
        .iter()
        .filter_map(|r| r.conclusion.as_deref())
        .collect();
    assert!(!ends.contains(&"cancelled"), "{ends:?}");
    assert_eq!(world.conclusion(first), "failure");
}

#[tokio::test]
async fn only_one_running_job_publishes_for_a_head() {
    let world = World::new().await;
    let head = world.forge.branch(REPO, "main").unwrap();
    let key = |pull| RunKey {
        repo: REPO.parse().unwrap(),
        pull: PrNumber(pull),
        head: head.clone(),
        check_name: "frostline".to_owned(),
    };
    let mut leases = Vec::new();
    for number in [1, 2] {
        world.store.enqueue(&world.key(number)).await.unwrap();
        leases.push(world.store.claim().await.unwrap().unwrap());
    }
    let [first, second] = &leases[..] else {
        panic!()
    };
    assert!(world.store.take_head(&key(1), first).await.unwrap());
    assert!(
        world.store.take_head(&key(1), first).await.unwrap(),
        "again"
    );
    assert!(!world.store.take_head(&key(2), second).await.unwrap());
    world.store.ack(first).await.unwrap();
    assert!(world.store.take_head(&key(2), second).await.unwrap());
    assert!(!world.store.take_head(&key(1), first).await.unwrap());
}
