//! Several processes and repositories on one queue, and what is deleted of it.

use super::*;

#[tokio::test]
async fn old_rows_are_deleted_and_dead_jobs_kept_for_a_month() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d", 1, 'a')).await.unwrap();
    let done = claim(&bench.store).await;
    bench.store.ack(&done).await.unwrap();
    bench.store.enqueue(&pull(2)).await.unwrap();
    let lease = claim(&bench.store).await;
    bench.store.dead(&lease, "x").await.unwrap();
    bench.store.enqueue(&pull(3)).await.unwrap();
    assert_eq!(bench.store.prune().await.unwrap(), 0);
    let days = |n: u64| Duration::from_secs(n * 24 * 60 * 60);
    bench.clock.advance(days(8));
    assert_eq!(
        bench.store.prune().await.unwrap(),
        1,
        "the job that is done"
    );
    let counts = bench.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.dead, counts.done), (1, 1, 0));
    bench.clock.advance(days(23));
    assert_eq!(
        bench.store.prune().await.unwrap(),
        2,
        "a job and a delivery"
    );
    let counts = bench.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.dead, counts.done), (1, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_share_the_file_take_each_job_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shared.db", folder.path().display());
    let clock = ManualClock::new();
    // All of them find no file, and create it at the same moment.
    let mut opened = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (url, clock) = (url.clone(), clock.clone());
        opened.spawn(async move { open(&url, &clock).await });
    }
    let stores = opened.join_all().await;
    for number in 1..=40 {
        stores[0].enqueue(&pull(number)).await.unwrap();
    }
    let mut takers = tokio::task::JoinSet::new();
    for store in stores {
        takers.spawn(async move {
            let mut taken = Vec::new();
            while let Some(lease) = store.claim().await.unwrap() {
                taken.push(lease.task.number().unwrap().0);
                assert_eq!(store.ack(&lease).await.unwrap(), Settled::Done);
            }
            taken
        });
    }
    let mut taken: Vec<u64> = takers.join_all().await.concat();
    taken.sort_unstable();
    assert_eq!(taken, (1..=40).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_repository_does_not_take_every_place() {
    let bench = Bench::new().await;
    for number in 1..=3 {
        bench.store.enqueue(&pull(number)).await.unwrap();
    }
    let other = PullKey {
        repo: "acme/parser2".parse().unwrap(),
        ..pull(9)
    };
    bench.store.enqueue(&other).await.unwrap();
    let mut numbers = Vec::new();
    while let Some(lease) = bench.store.claim_fairly(2).await.unwrap() {
        numbers.push(lease.task.number().unwrap().0);
    }
    assert_eq!(numbers, [1, 2, 9]);
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(3)));
}
