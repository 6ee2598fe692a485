//! Attempts: backoff, floors, lost leases, dead jobs.

use super::*;

#[tokio::test]
async fn a_failed_attempt_waits_for_the_backoff_which_doubles_up_to_its_cap() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    for (attempt, full) in [(1, BASE), (2, BASE * 2), (3, CAP)] {
        let lease = claim(&bench.store).await;
        assert_eq!(lease.attempt, attempt);
        let settled = bench.store.retry(&lease, Duration::ZERO, "x").await;
        let Settled::Queued(at) = settled.unwrap() else {
            panic!("attempt {attempt} is not the last");
        };
        let wait = (at - bench.clock.now()).to_std().unwrap();
        assert!(wait >= full / 2 && wait <= full, "{attempt}: {wait:?}");
        assert_eq!(bench.store.claim().await.unwrap(), None, "not before");
        bench.clock.advance(wait);
    }
    let last = claim(&bench.store).await;
    let settled = bench.store.retry(&last, Duration::ZERO, "x").await.unwrap();
    assert_eq!(settled, Settled::Dead);
    bench.clock.advance(CAP * 10);
    assert_eq!(bench.store.claim().await.unwrap(), None);
    assert_eq!(bench.store.queue_counts().await.unwrap().dead, 1);
}

#[tokio::test]
async fn the_forges_floor_is_kept_when_a_new_event_comes() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let lease = claim(&bench.store).await;
    let floor = Duration::from_secs(3600);
    bench
        .store
        .retry(&lease, floor, "rate limit")
        .await
        .unwrap();
    bench.store.receive(&delivery("d2", 7, 'b')).await.unwrap();
    bench.clock.advance(floor - Duration::from_millis(1));
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.clock.advance(Duration::from_millis(1));
    assert_eq!(claim(&bench.store).await.attempt, 1);
}

#[tokio::test]
async fn a_new_event_does_not_wait_for_the_backoff() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let lease = claim(&bench.store).await;
    bench
        .store
        .retry(&lease, Duration::ZERO, "x")
        .await
        .unwrap();
    bench.store.receive(&delivery("d2", 7, 'b')).await.unwrap();
    let lease = claim(&bench.store).await;
    assert_eq!(lease.attempt, 1, "it has all its attempts again");
}

#[tokio::test]
async fn a_job_that_fails_while_its_follow_up_waits_is_superseded() {
    let bench = Bench::new().await;
    bench.store.receive(&delivery("d1", 7, 'a')).await.unwrap();
    let first = claim(&bench.store).await;
    bench.store.receive(&delivery("d2", 7, 'b')).await.unwrap();
    let floor = Duration::from_secs(600);
    let settled = bench.store.retry(&first, floor, "rate limit").await;
    assert_eq!(settled.unwrap(), Settled::Superseded);
    assert_eq!(
        bench.store.claim().await.unwrap(),
        None,
        "the floor is the follow-up's too"
    );
    bench.clock.advance(floor);
    let second = claim(&bench.store).await;
    assert_eq!(second.delivery, Some(DeliveryId("d2".to_owned())));
}

#[tokio::test]
async fn a_job_that_kills_its_process_ends_as_dead() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let mut url_store = bench.other().await;
    for attempt in 1..=MAX_ATTEMPTS {
        let lease = claim(&url_store).await;
        assert_eq!(lease.attempt, attempt);
        // The process is gone: nothing was said about the job.
        url_store.close().await;
        url_store = bench.other().await;
        assert_eq!(
            url_store.claim().await.unwrap(),
            None,
            "its lease still runs"
        );
        bench.clock.advance(LEASE);
        assert_eq!(url_store.claim().await.unwrap(), None, "its backoff runs");
        bench.clock.advance(CAP);
    }
    assert_eq!(url_store.claim().await.unwrap(), None);
    let counts = url_store.queue_counts().await.unwrap();
    let dead = QueueCounts {
        dead: 1,
        ..QueueCounts::default()
    };
    assert_eq!(counts, dead);
    // It is not in the way of the next event.
    url_store.enqueue(&pull(7)).await.unwrap();
    assert_eq!(claim(&url_store).await.attempt, 1);
}

#[tokio::test]
async fn whoever_lost_the_lease_changes_nothing() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let lost = claim(&bench.store).await;
    assert!(bench.store.holds(&lost).await.unwrap());
    bench.clock.advance(LEASE);
    assert_eq!(bench.store.claim().await.unwrap(), None);
    bench.clock.advance(CAP);
    let held = claim(&bench.store).await;
    assert_eq!(held.job_id, lost.job_id);

    let store = &bench.store;
    assert!(!store.holds(&lost).await.unwrap());
    assert!(!store.extend(&lost).await.unwrap());
    assert_eq!(store.ack(&lost).await.unwrap(), Settled::Lost);
    let retried = store.retry(&lost, Duration::ZERO, "x").await.unwrap();
    assert_eq!(retried, Settled::Lost);
    assert_eq!(store.dead(&lost, "x").await.unwrap(), Settled::Lost);
    assert_eq!(store.release(&lost).await.unwrap(), Settled::Lost);

    assert!(store.holds(&held).await.unwrap());
    assert_eq!(store.ack(&held).await.unwrap(), Settled::Done);
}

#[tokio::test]
async fn a_lost_lease_makes_the_pull_request_be_looked_at_once_more_but_not_for_ever() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let lost = claim(&bench.store).await;
    bench.clock.advance(LEASE + CAP);
    bench.store.claim().await.unwrap();
    bench.clock.advance(CAP);
    let held = claim(&bench.store).await;
    bench.store.requeue_lost(&lost).await.unwrap();
    bench.store.ack(&held).await.unwrap();
    let again = claim(&bench.store).await;
    assert_eq!(again.attempt, lost.attempt + 1, "attempts go on counting");
    bench.store.ack(&again).await.unwrap();

    let spent = Lease {
        attempt: MAX_ATTEMPTS,
        ..lost
    };
    bench.store.requeue_lost(&spent).await.unwrap();
    assert_eq!(bench.store.claim().await.unwrap(), None);
}

#[tokio::test]
async fn an_extended_lease_does_not_expire() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(7)).await.unwrap();
    let lease = claim(&bench.store).await;
    for _ in 0..3 {
        bench.clock.advance(LEASE - Duration::from_millis(1));
        assert!(bench.store.extend(&lease).await.unwrap());
        assert_eq!(bench.store.claim().await.unwrap(), None);
    }
    assert_eq!(bench.store.ack(&lease).await.unwrap(), Settled::Done);
}

#[tokio::test]
async fn a_payload_of_another_version_does_not_stop_the_queue() {
    let bench = Bench::new().await;
    bench.store.enqueue(&pull(1)).await.unwrap();
    raw(&bench.url, "UPDATE job SET payload = '{}'").await;
    bench.clock.advance(Duration::from_millis(1));
    bench.store.enqueue(&pull(2)).await.unwrap();
    assert_eq!(claim(&bench.store).await.task, of(2));
    assert_eq!(bench.store.queue_counts().await.unwrap().dead, 1);
}

/// Deliveries that wait while another process writes. The first of them is the one that would store all;
/// `broken_off` aborts it.

#[tokio::test]
async fn a_limit_puts_off_what_waits_of_the_same_installation_only() {
    let bench = Bench::new().await;
    let other = PullKey {
        installation: InstallationId(2),
        repo: "other/parser".parse().unwrap(),
        ..pull(9)
    };
    bench.store.enqueue(&pull(1)).await.unwrap();
    bench.store.enqueue(&other).await.unwrap();
    let ten_minutes = Duration::from_secs(600);
    bench
        .store
        .hold_back(InstallationId(1), ten_minutes)
        .await
        .unwrap();
    // A new event does not lift it.
    bench.store.receive(&delivery("d", 1, 'a')).await.unwrap();
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(9)));
    assert!(bench.store.claim().await.unwrap().is_none());
    bench.clock.advance(ten_minutes);
    assert_eq!(claim(&bench.store).await.task.number(), Some(PrNumber(1)));
}
