//! Random interleavings against a model.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Op {
    Receive { number: u64, fresh: bool },
    Claim,
    Ack(usize),
    Retry(usize, u64),
    Dead(usize),
    Release(usize),
    Extend(usize),
    Advance(u64),
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1_u64..=3, prop::bool::weighted(0.8)).prop_map(|(number, fresh)| Op::Receive { number, fresh }),
        6 => Just(Op::Claim),
        2 => (0_usize..8).prop_map(Op::Ack),
        3 => (0_usize..8, 0_u64..40).prop_map(|(i, after)| Op::Retry(i, after)),
        1 => (0_usize..8).prop_map(Op::Dead),
        1 => (0_usize..8).prop_map(Op::Release),
        1 => (0_usize..8).prop_map(Op::Extend),
        4 => (1_u64..70).prop_map(Op::Advance),
        1 => Just(Op::Reopen),
    ]
}

/// A queued job of the model. Its due time is known but for the jitter.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    attempts: u32,
    earliest: i64,
    latest: i64,
    floor: i64,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    fence: i64,
    attempts: u32,
    until: i64,
}

#[derive(Debug, Default)]
struct Model {
    waiting: BTreeMap<u64, Waiting>,
    running: BTreeMap<u64, Running>,
    last_fence: i64,
    dead: u64,
}

impl Model {
    fn receive(&mut self, number: u64, now: i64) {
        let job = self.waiting.entry(number).or_insert(Waiting {
            attempts: 0,
            earliest: now,
            latest: now,
            floor: 0,
        });
        job.attempts = 0;
        job.earliest = job.floor.max(job.earliest.min(now));
        job.latest = job.floor.max(job.latest.min(now));
    }

    /// Takes a job out of `running` after an attempt that did not succeed.
    fn leave(&mut self, number: u64, after: i64, count: bool, now: i64) -> &'static str {
        let job = self.running.remove(&number).expect("a running job");
        let floor = now + after;
        if let Some(follow_up) = self.waiting.get_mut(&number) {
            follow_up.floor = follow_up.floor.max(floor);
            follow_up.earliest = follow_up.earliest.max(floor);
            follow_up.latest = follow_up.latest.max(floor);
            return "superseded";
        }
        if count && job.attempts >= MAX_ATTEMPTS {
            self.dead += 1;
            return "dead";
        }
        let full = (BASE * 2_u32.pow(job.attempts - 1)).min(CAP);
        let full = if count {
            i64::try_from(full.as_millis()).unwrap()
        } else {
            0
        };
        let waiting = Waiting {
            attempts: job.attempts - u32::from(!count),
            earliest: floor.max(now + full / 2),
            latest: floor.max(now + full),
            floor,
        };
        self.waiting.insert(number, waiting);
        "queued"
    }

    fn expire(&mut self, now: i64) {
        let expired: Vec<u64> = self
            .running
            .iter()
            .filter(|(_, job)| job.until <= now)
            .map(|(number, _)| *number)
            .collect();
        for number in expired {
            self.leave(number, 0, true, now);
        }
    }

    fn claim(&mut self, claimed: Option<&Lease>, now: i64) {
        self.expire(now);
        let Some(lease) = claimed else {
            for (number, job) in &self.waiting {
                assert!(
                    self.running.contains_key(number) || job.latest > now,
                    "{number} is due and was not given out"
                );
            }
            return;
        };
        let number = lease.task.number().unwrap().0;
        assert!(!self.running.contains_key(&number), "{number} runs already");
        let job = self.waiting.remove(&number).expect("it waited");
        assert!(job.earliest <= now, "{number} was given out too early");
        assert_eq!(lease.attempt, job.attempts + 1);
        assert!(lease.attempt <= MAX_ATTEMPTS);
        assert!(lease.fence > self.last_fence, "fences grow");
        self.last_fence = lease.fence;
        let until = now + i64::try_from(LEASE.as_millis()).unwrap();
        let running = Running {
            fence: lease.fence,
            attempts: lease.attempt,
            until,
        };
        self.running.insert(number, running);
    }

    fn holds(&self, lease: &Lease) -> bool {
        self.running
            .get(&lease.task.number().unwrap().0)
            .is_some_and(|job| job.fence == lease.fence)
    }
}

fn settled_name(settled: Settled) -> &'static str {
    match settled {
        Settled::Done => "done",
        Settled::Queued(_) => "queued",
        Settled::Superseded => "superseded",
        Settled::Dead => "dead",
        Settled::Lost => "lost",
    }
}

struct Interleaving {
    bench: Bench,
    /// Two handles on one file; the steps take turns.
    stores: [Store; 2],
    model: Model,
    leases: Vec<Lease>,
    deliveries: u64,
    /// The first delivery of each pull request, to be sent again.
    first: HashMap<u64, String>,
}

impl Interleaving {
    async fn new() -> Self {
        let bench = Bench::new().await;
        let stores = [bench.store.clone(), bench.other().await];
        Self {
            bench,
            stores,
            model: Model::default(),
            leases: Vec::new(),
            deliveries: 0,
            first: HashMap::new(),
        }
    }

    fn lease(&self, index: usize) -> Option<Lease> {
        // Counted from the newest, so that most hit a lease that is still held.
        self.leases.iter().rev().nth(index % 8).cloned()
    }

    async fn step(&mut self, turn: usize, op: &Op) {
        let store = self.stores[turn % 2].clone();
        let now = self.bench.clock.ms();
        match op {
            Op::Receive { number, fresh } => self.receive(&store, *number, *fresh).await,
            Op::Claim => {
                let claimed = store.claim().await.unwrap();
                self.model.claim(claimed.as_ref(), now);
                self.leases.extend(claimed);
            }
            Op::Extend(index) => {
                if let Some(lease) = self.lease(*index) {
                    let held = self.model.holds(&lease);
                    assert_eq!(store.extend(&lease).await.unwrap(), held);
                    if held {
                        let until = now + i64::try_from(LEASE.as_millis()).unwrap();
                        self.model
                            .running
                            .get_mut(&lease.task.number().unwrap().0)
                            .unwrap()
                            .until = until;
                    }
                }
            }
            Op::Ack(i) | Op::Retry(i, _) | Op::Dead(i) | Op::Release(i) => {
                if let Some(lease) = self.lease(*i) {
                    self.settle(&store, &lease, op, now).await;
                }
            }
            Op::Advance(seconds) => self.bench.clock.advance(Duration::from_secs(*seconds)),
            Op::Reopen => {
                // Dropped without a word, as by a kill.
                self.stores[turn % 2] = self.bench.other().await;
            }
        }
        self.check(&store).await;
    }

    async fn receive(&mut self, store: &Store, number: u64, fresh: bool) {
        let again = self.first.get(&number).filter(|_| !fresh).cloned();
        let expected = if again.is_some() {
            Received::Duplicate
        } else {
            Received::New
        };
        let id = again.unwrap_or_else(|| {
            self.deliveries += 1;
            format!("d{}", self.deliveries)
        });
        let received = store.receive(&delivery(&id, number, 'a')).await.unwrap();
        assert_eq!(received, expected);
        self.first.entry(number).or_insert(id);
        self.model.receive(number, self.bench.clock.ms());
    }

    async fn settle(&mut self, store: &Store, lease: &Lease, op: &Op, now: i64) {
        let number = lease.task.number().unwrap().0;
        let held = self.model.holds(lease);
        let (settled, expected) = match op {
            Op::Retry(_, after) => {
                let wait = Duration::from_secs(*after);
                let expected = held.then(|| {
                    let after = i64::try_from(wait.as_millis()).unwrap();
                    self.model.leave(number, after, true, now)
                });
                (store.retry(lease, wait, "x").await, expected)
            }
            Op::Release(_) => {
                let expected = held.then(|| self.model.leave(number, 0, false, now));
                (store.release(lease).await, expected)
            }
            Op::Dead(_) => {
                let expected = held.then(|| {
                    self.model.running.remove(&number);
                    self.model.dead += 1;
                    "dead"
                });
                (store.dead(lease, "x").await, expected)
            }
            _ => {
                let expected = held.then(|| {
                    self.model.running.remove(&number);
                    "done"
                });
                (store.ack(lease).await, expected)
            }
        };
        assert_eq!(settled_name(settled.unwrap()), expected.unwrap_or("lost"));
    }

    async fn check(&self, store: &Store) {
        let counts = store.queue_counts().await.unwrap();
        assert_eq!(counts.queued, self.model.waiting.len() as u64, "coalesced");
        assert_eq!(counts.running, self.model.running.len() as u64);
        assert_eq!(counts.dead, self.model.dead);
        let mut holders: HashMap<u64, usize> = HashMap::new();
        for lease in self.leases.iter().rev().take(8) {
            let holds = store.holds(lease).await.unwrap();
            assert_eq!(holds, self.model.holds(lease));
            *holders.entry(lease.task.number().unwrap().0).or_default() += usize::from(holds);
        }
        assert!(holders.values().all(|n| *n <= 1), "{holders:?}");
    }

    /// With handlers that succeed from now on, every job that waits or runs comes to its end.
    async fn finish(mut self) {
        for _ in 0..20 {
            self.bench.clock.advance(LEASE + CAP);
            while let Some(lease) = self.stores[0].claim().await.unwrap() {
                self.model.claim(Some(&lease), self.bench.clock.ms());
                assert_eq!(self.stores[0].ack(&lease).await.unwrap(), Settled::Done);
                self.model.running.remove(&lease.task.number().unwrap().0);
            }
            self.model.claim(None, self.bench.clock.ms());
        }
        let counts = self.stores[0].queue_counts().await.unwrap();
        assert_eq!((counts.queued, counts.running), (0, 0), "nothing is lost");
        assert!(self.model.waiting.is_empty() && self.model.running.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_interleaving_loses_a_job_or_lets_two_hold_it(ops in prop::collection::vec(op(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut interleaving = Interleaving::new().await;
            for (turn, op) in ops.iter().enumerate() {
                interleaving.step(turn, op).await;
            }
            interleaving.finish().await;
        });
    }
}
