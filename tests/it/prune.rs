//! What is deleted, and when: caches that nobody uses, evaluations that nobody asks for.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use frostline::model::{DeliveryId, PrNumber};
use frostline::store::{Delivery, Pushed, RunKey, Task};
use sqlx::Connection as _;

use crate::support::world::{AGENT, REPO, World};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const COVERED: &[(&str, &str)] = &[("src/parse.py", "def parse(x):\n    return x + 1\n")];

async fn count(world: &World, table: &'static str) -> i64 {
    let mut raw = sqlx::SqliteConnection::connect(world.database())
        .await
        .unwrap();
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(&mut raw).await.unwrap()
}

async fn caches(world: &World) -> [i64; 3] {
    [
        count(world, "tree_listing").await,
        count(world, "blob_bytes").await,
        count(world, "source_facts").await,
    ]
}

#[tokio::test]
async fn what_is_used_stays_and_what_nobody_asks_for_goes() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    world.evaluate(number).await;
    world.push("fix", &[("docs/a.md", "a\n")], AGENT);
    world.evaluate(number).await;
    assert_eq!(count(&world, "evaluation").await, 2);
    let full = caches(&world).await;
    assert!(full.iter().all(|rows| *rows > 0), "{full:?}");
    world.store.prune().await.unwrap();
    assert_eq!(caches(&world).await, full);
    assert_eq!(count(&world, "evaluation").await, 2);

    // Two months on another pull request uses the base's listing, contract and sources.
    world.advance(59 * DAY);
    let second = world.pull("second", COVERED);
    world.evaluate(second).await;
    world.advance(40 * DAY);
    world.store.prune().await.unwrap();
    let used = caches(&world).await;
    assert!(used.iter().all(|rows| *rows > 0), "{used:?}");
    // The overtaken head's evaluation is gone, the newest one's decision is not.
    assert_eq!(count(&world, "evaluation").await, 2);
    let repo = REPO.parse().unwrap();
    let newest = world.store.newest_decision(&repo, PrNumber(number));
    let (decision, snapshot) = newest.await.unwrap().unwrap();
    assert!(decision.contains("docs/a.md"));
    assert_eq!(snapshot, None);

    world.advance(61 * DAY);
    world.store.prune().await.unwrap();
    assert_eq!(caches(&world).await, [0, 0, 0]);
    // Nothing is published anew, and what is missing costs requests only.
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
    assert!(caches(&world).await.iter().all(|rows| *rows > 0));
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_cache_that_is_too_large_loses_what_was_used_longest_ago() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    world.evaluate(number).await;
    let [_, bytes, sources] = caches(&world).await;
    assert!(bytes > 1 && sources > 0);
    world.store.prune_to(1 << 20).await.unwrap();
    assert_eq!(caches(&world).await[1..], [bytes, sources]);
    world.store.prune_to(300).await.unwrap();
    let [_, fewer, _] = caches(&world).await;
    assert!(fewer < bytes && fewer > 0, "{fewer} of {bytes}");
    world.store.prune_to(0).await.unwrap();
    assert_eq!(caches(&world).await[1..], [0, 0]);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
}

#[tokio::test]
async fn what_approvals_and_commands_rest_on_goes_half_a_year_after_the_pull_request() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    let fixtures = count(&world, "blob_digest").await;
    assert_eq!(fixtures, 0);
    world.evaluate(number).await;
    let key = world.key(number);
    let pushed = |at: &'static str| Delivery {
        id: DeliveryId(at.to_owned()),
        event: "pull_request".to_owned(),
        action: "synchronize".to_owned(),
        tasks: vec![Task::from(&key)],
        pushed: Some(Pushed {
            head: world.forge.head(REPO, number).unwrap(),
            account: 7,
        }),
        foreign: None,
        rerun: None,
        ask: None,
    };
    world.store.receive(&pushed("first")).await.unwrap();
    world.runner().drain().await.unwrap();
    let tables = ["shown", "pusher", "blob_digest"];
    let all = async || {
        let mut all = Vec::new();
        for table in tables {
            all.push(count(&world, table).await);
        }
        all
    };
    let full = all().await;
    assert!(full.iter().all(|rows| *rows > 0), "{full:?}");
    // While it is open nothing goes but what can be had again.
    world.advance(400 * DAY);
    world.store.prune().await.unwrap();
    assert_eq!(all().await, [full[0], full[1], 0]);
    let close = world
        .forge
        .edit_pull(REPO, number, |pull| pull.open = false);
    close.unwrap();
    world.evaluate(number).await;
    world.store.prune().await.unwrap();
    assert_eq!(all().await, [0, 1, 0]);
    // Who pushed is not known any more, which is not nobody.
    let pushes = world.store.pushes(&run_key(&world, number)).await.unwrap();
    let accounts: Vec<u64> = pushes.iter().map(|(pushed, _)| pushed.account).collect();
    assert_eq!(accounts, [0]);
    world.store.prune().await.unwrap();
    assert_eq!(all().await, [0, 1, 0]);
}

fn run_key(world: &World, number: u64) -> RunKey {
    RunKey {
        repo: REPO.parse().unwrap(),
        pull: PrNumber(number),
        head: world.forge.head(REPO, number).unwrap(),
        check_name: "frostline".to_owned(),
    }
}
