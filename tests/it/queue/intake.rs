//! Deliveries: stored once, coalesced into one job a key.

use super::*;

#[tokio::test]
async fn a_burst_of_events_is_one_job_with_the_newest_head() {
    let bench = Bench::new().await;
    for (n, head) in ('a'..='f').enumerate() {
        let id = format!("d{n}");
        let received = bench.store.receive(&delivery(&id, 7, head)).await.unwrap();
        assert_eq!(received, Received::New);
    }
    let lease = claim(&bench.store).await;
    assert_eq!(lease.task.number(), Some(PrNumber(7)));
    assert_eq!(lease.task.head().unwrap().as_str(), "f".repeat(40));
    assert_eq!(lease.delivery, Some(DeliveryId("d5".to_owned())));
    assert_eq!(bench.store.ack(&lease).await.unwrap(), Settled::Done);
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn names_of_a_repository_in_other_letters_are_one_key() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let mut shouted = pull(7);
    shouted.repo = "ACME/Parser".parse().unwrap();
    shouted.installation = InstallationId(2);
    bench.store.enqueue(&shouted).await.unwrap();
    assert_eq!(bench.store.queue_counts().await.unwrap().queued, 1);
}

#[tokio::test]
async fn jobs_of_other_kinds_are_other_jobs_and_coalesce_by_their_own_keys() {
    let bench = Bench::new().await;
    let head = |of: char| Task::Head {
        repo: RepoKey {
            installation: InstallationId(1),
            repo: "acme/parser".parse().unwrap(),
        },
        head: of.to_string().repeat(40).parse().unwrap(),
    };
    for task in [of(7), head('a'), head('b'), head('a'), of(7)] {
        bench
            .store
            .enqueue_task(task, Duration::ZERO)
            .await
            .unwrap();
    }
    let mut taken = Vec::new();
    while let Some(lease) = bench.store.claim().await.unwrap() {
        taken.push(lease.task.clone());
        bench.store.ack(&lease).await.unwrap();
    }
    assert_eq!(taken, [of(7), head('a'), head('b')]);
}

#[tokio::test]
async fn a_delivery_may_ask_for_several_tasks() {
    let bench = Bench::new().await;
    let mut two = delivery("d", 7, 'a');
    two.tasks.push(of(8));
    bench.store.receive(&two).await.unwrap();
    for number in [7, 8] {
        let lease = claim(&bench.store).await;
        assert_eq!(lease.task.number(), Some(PrNumber(number)));
        assert_eq!(lease.delivery, Some(DeliveryId("d".to_owned())));
    }
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn a_task_for_later_waits_and_is_not_put_off_by_a_later_one() {
    let bench = Bench::new().await;
    let minutes = |n: u64| Duration::from_secs(60 * n);
    bench.store.enqueue_task(of(7), minutes(5)).await.unwrap();
    bench.store.enqueue_task(of(7), minutes(9)).await.unwrap();
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.clock.advance(minutes(5));
    assert_eq!(claim(&bench.store).await.task, of(7));
    // An event makes what waits due at once.
    bench.store.enqueue_task(of(8), minutes(5)).await.unwrap();
    bench.store.receive(&delivery("d", 8, 'a')).await.unwrap();
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(8)));
}

#[tokio::test]
async fn a_delivery_seen_before_is_told_and_enqueued_all_the_same() {
    let bench = Bench::new().await;
    let first = delivery("d", 7, 'a');
    assert_eq!(bench.store.receive(&first).await.unwrap(), Received::New);
    let lease = claim(&bench.store).await;
    bench.store.ack(&lease).await.unwrap();
    assert_eq!(
        bench.store.receive(&first).await.unwrap(),
        Received::Duplicate
    );
    // The head that it told of may be an old one by now: the forge need not show it.
    assert_eq!(claim(&bench.store).await.task, Task::from(&pull(7)));
}

#[tokio::test]
async fn an_old_delivery_sent_again_does_not_replace_a_newer_one() {
    let bench = Bench::new().await;
    let old = delivery("old", 7, 'a');
    bench.store.receive(&old).await.unwrap();
    bench.store.receive(&delivery("new", 7, 'b')).await.unwrap();
    bench.store.receive(&old).await.unwrap();
    let lease = claim(&bench.store).await;
    assert_eq!(lease.delivery, Some(DeliveryId("new".to_owned())));
}

#[tokio::test]
async fn while_a_job_runs_events_make_one_follow_up_that_waits_for_its_end() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let first = claim(&bench.store).await;
    for (id, head) in [("d2", 'b'), ("d3", 'c')] {
        bench.store.receive(&delivery(id, 7, head)).await.unwrap();
    }
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.store.enqueue(&pull(8)).await.unwrap();
    assert_eq!(
        claim(&bench.store).await.task,
        of(8),
        "another pull request does not wait"
    );

    bench.store.ack(&first).await.unwrap();
    let second = claim(&bench.store).await;
    assert_eq!(second.delivery, Some(DeliveryId("d3".to_owned())));
    assert_ne!(second.job_id, first.job_id);
    assert!(second.fence > first.fence);
    bench.store.ack(&second).await.unwrap();
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

async fn deliveries_behind_a_writer(broken_off: bool) {
    use sqlx::Connection as _;
    let bench = Bench::new().await;
    let mut writer = sqlx::SqliteConnection::connect(&bench.url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut writer)
        .await
        .unwrap();
    let mut waiting = Vec::new();
    for number in 1..=20_u64 {
        let store = bench.store.clone();
        let delivery = delivery(&format!("d{number}"), number % 5 + 1, 'a');
        waiting.push(tokio::spawn(async move { store.receive(&delivery).await }));
        tokio::task::yield_now().await;
    }
    if broken_off {
        waiting[0].abort();
    }
    sqlx::query("COMMIT").execute(&mut writer).await.unwrap();
    for (at, receive) in waiting.into_iter().enumerate() {
        match soon("an answer", receive).await {
            Ok(received) => assert_eq!(received.unwrap(), Received::New, "{at}"),
            Err(error) => assert!(
                error.is_cancelled() && broken_off && at == 0,
                "{at}: {error}"
            ),
        }
    }
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM delivery WHERE id <> 'd1'")
        .fetch_one(&mut writer)
        .await
        .unwrap();
    assert_eq!(stored, 19);
    assert_eq!(bench.store.queue_counts().await.unwrap().queued, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_come_together_are_all_stored() {
    deliveries_behind_a_writer(false).await;
}

/// A clock that tells another time whenever it is asked.
#[derive(Default)]
struct Counting(AtomicI64);

impl Clock for Counting {
    fn now(&self) -> DateTime<Utc> {
        let at = self.0.fetch_add(1, Ordering::SeqCst);
        DateTime::from_timestamp_millis(1_700_000_000_000 + at).unwrap()
    }
}

/// One transaction asks the clock once, so that as many times as were told are as many commits.
#[tokio::test]
async fn deliveries_that_wait_together_are_stored_by_one_commit() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/one.db", folder.path().display());
    let clock = Arc::new(Counting::default());
    let store = Store::open_with(&url, clock, settings()).await.unwrap();
    let mut raw = sqlx::SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut raw)
        .await
        .unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 1..=20_u64 {
        let (store, delivery) = (store.clone(), delivery(&format!("d{number}"), number, 'a'));
        waiting.spawn(async move { store.receive(&delivery).await });
        tokio::task::yield_now().await;
    }
    sqlx::query("COMMIT").execute(&mut raw).await.unwrap();
    for received in soon("the answers", waiting.join_all()).await {
        assert_eq!(received.unwrap(), Received::New);
    }
    let commits: i64 = sqlx::query_scalar("SELECT count(DISTINCT received_at) FROM delivery")
        .fetch_one(&mut raw)
        .await
        .unwrap();
    assert_eq!(commits, 2, "the first alone, and then all that waited");
}

#[tokio::test]
async fn of_deliveries_with_one_id_that_come_together_one_is_new() {
    use sqlx::Connection as _;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/one.db", folder.path().display());
    let store = Store::open(&url).await.unwrap();
    let mut raw = sqlx::SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut raw)
        .await
        .unwrap();
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (store, delivery) = (store.clone(), delivery("the same", 1, 'a'));
        waiting.spawn(async move { store.receive(&delivery).await });
    }
    tokio::task::yield_now().await;
    sqlx::query("COMMIT").execute(&mut raw).await.unwrap();
    let received = soon("the answers", waiting.join_all()).await;
    let new = received
        .into_iter()
        .filter(|one| matches!(one, Ok(Received::New)));
    assert_eq!(new.count(), 1);
    let times: Vec<i64> = sqlx::query_scalar("SELECT times FROM delivery")
        .fetch_all(&mut raw)
        .await
        .unwrap();
    assert_eq!(times, [10]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_broken_off_takes_no_other_with_it() {
    for _ in 0..20 {
        deliveries_behind_a_writer(true).await;
    }
}

/// Whatever ends the task that stores deliveries, the next one is stored by another.
#[test]
fn a_delivery_is_stored_after_the_task_that_stored_others_was_ended() {
    use sqlx::Connection as _;
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (first, second) = (runtime(), runtime());
    let (one, two) = (delivery("d1", 1, 'a'), delivery("d2", 2, 'a'));
    let (bench, mut writer) = first.block_on(async {
        let bench = Bench::new().await;
        let mut writer = sqlx::SqliteConnection::connect(&bench.url).await.unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut writer)
            .await
            .unwrap();
        let mut receiving = Box::pin(bench.store.receive(&one));
        assert!(is_pending(&mut receiving), "it waits for the other writer");
        drop(receiving);
        (bench, writer)
    });
    drop(first);
    second.block_on(async {
        sqlx::query("ROLLBACK").execute(&mut writer).await.unwrap();
        let received = bench.store.receive(&two);
        assert_eq!(soon("an answer", received).await.unwrap(), Received::New);
    });
}

/// Polls once; whether it is pending.
fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    let waker = std::task::Waker::noop();
    std::pin::Pin::new(future)
        .poll(&mut std::task::Context::from_waker(waker))
        .is_pending()
}
