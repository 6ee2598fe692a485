//! Repositories that are renamed or transferred while there is work on them. No event tells of it.

use std::time::Duration;

use frostline::demo::forge::{Answer, CheckRun, Fault, Forge};
use frostline::model::{InstallationId, PrNumber, PullKey, RepoName};
use frostline::store::{RepoKey, Task};
use sqlx::Connection as _;

use crate::support::world::{REPO, World};

const NEW: &str = "acme/lexer";
const ELSEWHERE: &str = "globex/parser";

fn name(text: &str) -> RepoName {
    text.parse().expect("a name")
}

/// The pull request by a name of its repository, as that name's own installation reaches it.
fn key(world: &World, repo: &str, number: u64) -> PullKey {
    let id = world.forge.installation_id(repo).expect("an installation");
    PullKey {
        installation: InstallationId(id),
        repo: name(repo),
        number: PrNumber(number),
    }
}

fn runs(world: &World, repo: &str, number: u64) -> Vec<CheckRun> {
    let head = world.forge.head(repo, number).expect("a head");
    world.forge.check_runs(repo, &head)
}

fn conclusions(world: &World, repo: &str, number: u64) -> Vec<String> {
    let runs = runs(world, repo, number);
    let ends = runs.into_iter().map(|run| run.conclusion);
    ends.map(Option::unwrap_or_default).collect()
}

async fn enqueue(world: &World, pull: &PullKey) {
    world.store.enqueue(pull).await.expect("a store");
}

/// An agent's pull request with a hole, judged.
async fn judged() -> (World, u64) {
    let world = World::new().await;
    let number = world.pull("work", &[("lib/other.py", "x = 1\n")]);
    world.evaluate(number).await;
    assert_eq!(conclusions(&world, REPO, number), ["failure"]);
    (world, number)
}

async fn nothing_left(world: &World) {
    let counts = world.store.queue_counts().await.expect("counts");
    assert_eq!((counts.queued, counts.running, counts.dead), (0, 0, 0));
    world.forge.assert_clean();
}

async fn rows(world: &World, repo: &str) -> usize {
    let seen = world.store.seen_pulls(&name(repo)).await;
    seen.expect("a store").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_by_the_old_name_goes_on_by_the_new_one_and_repeats_nothing() {
    // With the old name's token still good, and without one.
    for restarted in [false, true] {
        let (mut world, number) = judged().await;
        let old = world.key(number);
        world.forge.move_repo(REPO, NEW, true).expect("a name");
        if restarted {
            world.restart().await;
        }
        enqueue(&world, &old).await;
        world.settle().await;
        assert_eq!(conclusions(&world, NEW, number), ["failure"]);
        assert_eq!(world.forge.comments(NEW, number).len(), 1);
        assert_eq!((rows(&world, REPO).await, rows(&world, NEW).await), (0, 1));
        nothing_left(&world).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_by_the_new_name_finds_what_was_published_under_the_old_one() {
    let (world, number) = judged().await;
    world.forge.move_repo(REPO, NEW, true).expect("a name");
    enqueue(&world, &key(&world, NEW, number)).await;
    world.settle().await;
    assert_eq!(conclusions(&world, NEW, number), ["failure"]);
    assert_eq!(world.forge.comments(NEW, number).len(), 1);
    assert_eq!((rows(&world, REPO).await, rows(&world, NEW).await), (0, 1));
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn renamed_before_any_request_of_a_job_there_is_one_run_and_one_comment() {
    let mut at = 0;
    loop {
        let world = World::new().await;
        let number = world.pull("work", &[("lib/other.py", "x = 1\n")]);
        let old = world.key(number);
        let forge = std::sync::Arc::new(world.forge.mover(REPO, NEW));
        let mover = std::sync::Arc::clone(&forge);
        let fault = Fault::next("", "", Answer::AsItIs).skip(at);
        world.forge.fault(fault.calling(move || mover()));
        enqueue(&world, &old).await;
        world.settle().await;
        if world.forge.installation_id(NEW).is_err() {
            assert!(at > 8, "the job made {at} requests");
            return;
        }
        // Whatever is left is found by a sweep at the latest.
        enqueue(&world, &key(&world, NEW, number)).await;
        world.settle().await;
        let ends = conclusions(&world, NEW, number);
        assert_eq!(ends, ["failure"], "renamed before request {at}");
        let comments = world.forge.comments(NEW, number).len();
        assert_eq!(comments, 1, "renamed before request {at}");
        nothing_left(&world).await;
        at += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_brings_along_what_was_kept_under_the_old_name() {
    let (world, number) = judged().await;
    world.forge.move_repo(REPO, NEW, true).expect("a name");
    let task = Task::Installation {
        installation: key(&world, NEW, number).installation,
    };
    let swept = world.store.enqueue_task(task, Duration::ZERO).await;
    swept.expect("a store");
    world.settle().await;
    assert_eq!((rows(&world, REPO).await, rows(&world, NEW).await), (0, 1));
    let first = &runs(&world, NEW, number)[0];
    assert_eq!(first.conclusion.as_deref(), Some("failure"));
    assert_eq!(runs(&world, NEW, number).len(), 1);
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_another_repository_takes_over_brings_nothing_of_the_first_one() {
    let (mut world, number) = judged().await;
    world.forge.move_repo(REPO, NEW, true).expect("a name");
    // The name's token is the first one's until it expires.
    world.restart().await;
    world
        .forge
        .create_repo(REPO, crate::support::world::contract(&[]))
        .expect("a repository");
    let second = world.pull("work", &[("lib/second.py", "x = 1\n")]);
    assert_eq!(second, number);
    world.evaluate(second).await;
    world.settle().await;
    assert_eq!(conclusions(&world, REPO, second), ["failure"]);
    assert_eq!(world.forge.comments(REPO, second).len(), 1);
    // And the first one is known again when it shows.
    enqueue(&world, &key(&world, NEW, number)).await;
    world.settle().await;
    assert_eq!(conclusions(&world, NEW, number), ["failure"]);
    assert_eq!(world.forge.comments(NEW, number).len(), 1);
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_went_out_of_reach_ends_its_jobs_and_is_forgotten() {
    for restarted in [false, true] {
        let (mut world, number) = judged().await;
        let old = world.key(number);
        world
            .forge
            .move_repo(REPO, ELSEWHERE, false)
            .expect("an owner");
        if restarted {
            world.restart().await;
        }
        enqueue(&world, &old).await;
        let branch = Task::Branch {
            repo: RepoKey {
                installation: old.installation,
                repo: old.repo.clone(),
            },
            branch: "main".to_owned(),
            default_branch: "main".to_owned(),
        };
        let asked = world.store.enqueue_task(branch, Duration::ZERO).await;
        asked.expect("a store");
        let from = world.forge.requests().len();
        world.settle().await;
        let asked = world.requests_since(from).len();
        assert!(asked < 16, "{asked} requests for what is out of reach");
        assert_eq!(rows(&world, REPO).await, 0);
        assert_eq!(conclusions(&world, ELSEWHERE, number), ["failure"]);
        nothing_left(&world).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_repository_that_the_app_sees_again_goes_on_where_it_was() {
    let (world, number) = judged().await;
    let old = world.key(number);
    world
        .forge
        .move_repo(REPO, ELSEWHERE, true)
        .expect("an owner");
    let new = key(&world, ELSEWHERE, number);
    assert_ne!(new.installation, old.installation);
    // The old owner's installation hears of it first.
    enqueue(&world, &old).await;
    world.settle().await;
    enqueue(&world, &new).await;
    world.settle().await;
    assert_eq!(conclusions(&world, ELSEWHERE, number), ["failure"]);
    assert_eq!(world.forge.comments(ELSEWHERE, number).len(), 1);
    let seen = world.store.seen_pulls(&new.repo).await.expect("a store");
    assert_eq!(seen[0].key.installation, new.installation);
    nothing_left(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_goes_to_another_host_and_its_answer_is_not_believed() {
    let (world, number) = judged().await;
    let other = Forge::start_with(crate::support::api::app_key())
        .await
        .expect("a forge");
    let files = crate::support::world::contract(&[]);
    other.create_repo(REPO, files).expect("a repository");
    // What the other host answers would do as an answer, if it were believed.
    let to = format!("{}/healthy", other.url());
    world
        .forge
        .fault(Fault::next("GET", &format!("/pulls/{number}"), Answer::Redirect(to)).times(99));
    let pull = world.client().pull(PrNumber(number)).await;
    let error = pull.expect_err("another host's answer");
    assert!(
        error.to_string().contains("another host answered"),
        "{error}"
    );
    let heard = other.requests();
    assert_eq!(heard.len(), 1, "{heard:#?}");
    // It came without credentials.
    assert_eq!(heard[0].status, 401);
    assert_eq!(heard[0].answer["message"], "Requires authentication");
}

/// The columns that name a repository in a table of the database.
const COLUMNS: &str = "SELECT one.name || ': ' || field.name FROM sqlite_master AS one,
    pragma_table_info(one.name) AS field
    WHERE one.type = 'table' AND field.name = 'repository'";

#[tokio::test]
async fn every_table_of_a_repository_goes_along() {
    let world = World::new().await;
    let mut raw = sqlx::SqliteConnection::connect(world.database())
        .await
        .expect("a database");
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS)
        .fetch_all(&mut raw)
        .await
        .expect("columns");
    assert!(columns.len() > 15, "{columns:#?}");
    let source = include_str!("../../src/store/names.rs");
    for column in columns {
        // Deliveries say what came, and leases end.
        let stays = ["delivery: repository", "head_lease: repository"];
        let moves = column.replace(": ", "\": \"");
        let is_named = source.contains(&format!("\"{moves}\","));
        assert!(is_named || stays.contains(&column.as_str()), "{column}");
    }
}
