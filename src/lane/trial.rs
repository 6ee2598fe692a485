//! One property with one pinned seed, taken through the order of protocol 6.1.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::action::{Known, Step, next};
use super::bench::{Bench, Run};
use super::classify::FIRST_RUNS;
use super::example::{Conditions, Order, shrunk};
use super::frameworks::{Generator, Purpose, Task};
use super::model::{Colour, Failure, Outcome};
use super::signature::Signature;
use crate::model::{Action, NodeId, ScopeChange};

/// Runs of the base tip before a test that is mixed on the merged tree counts as green there.
pub const BASE_RUNS: usize = FIRST_RUNS;

/// What a run was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    First,
    Replay,
    Second,
    Base,
}

impl Role {
    /// In the order in which they are needed.
    pub const ALL: [Self; 4] = [Self::First, Self::Replay, Self::Second, Self::Base];

    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Replay => "replay",
            Self::Second => "second",
            Self::Base => "base",
        }
    }
}

/// One run that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    pub role: Role,
    pub ms: u64,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The recorded counterexample of a seed, and what of its circumstances still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub example: String,
    /// Coarse signature of the recorded failure.
    pub coarse: Option<String>,
    pub fixtures_equal: bool,
    pub test_file_equal: bool,
    pub framework_equal: bool,
}

/// One property with one seed.
#[derive(Debug, Clone)]
pub struct Trial {
    pub node: NodeId,
    /// `None` where nothing takes one.
    pub seed: Option<i64>,
    pub generator: Generator,
    /// `false`: it runs once and is counted.
    pub votes: bool,
    pub scope: ScopeChange,
    pub recorded: Option<Recorded>,
    pub ran: Vec<Ran>,
}

impl Trial {
    /// The run that is needed next; `None` when all is known.
    pub fn needs(&self) -> Option<Role> {
        if !self.votes {
            return self.ran.is_empty().then_some(Role::First);
        }
        match next(self.known()) {
            Step::RunFirst => Some(Role::First),
            Step::Replay => Some(Role::Replay),
            Step::RunSecond => Some(Role::Second),
            Step::RunBase => Some(Role::Base),
            Step::Done(_) => None,
        }
    }

    /// What the result asks for; `None` while a run is needed, and for one without a vote.
    pub fn action(&self) -> Option<Action> {
        match next(self.known()) {
            Step::Done(action) if self.votes => Some(action),
            _ => None,
        }
    }

    fn known(&self) -> Known {
        Known {
            digest: self.scope,
            first: self.colour(Role::First),
            replay: self.colour(Role::Replay),
            smaller: self.order() == Some(Ok(Order::Smaller)),
            second: self.colour(Role::Second),
            base: self.base(),
        }
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Ran> {
        self.ran.iter().filter(move |ran| ran.role == role)
    }

    fn colour(&self, role: Role) -> Option<Colour> {
        self.of(role).next().map(|ran| ran.outcome.colour())
    }

    /// One green of the base tip says little: a test that fails now and then is green most of the time.
    fn base(&self) -> Option<Colour> {
        let seen = |colour| {
            self.of(Role::Base)
                .any(|ran| ran.outcome.colour() == colour)
        };
        if seen(Colour::Red) {
            Some(Colour::Red)
        } else if seen(Colour::Errored) {
            Some(Colour::Errored)
        } else {
            (self.of(Role::Base).count() >= BASE_RUNS).then_some(Colour::Green)
        }
    }

    fn failure(&self, role: Role) -> Option<&Failure> {
        self.of(role).find_map(|ran| ran.outcome.failure())
    }

    /// The failure of the merged tree that is told.
    pub fn first_failure(&self) -> Option<&Failure> {
        self.failure(Role::First)
    }

    /// How the counterexample stands to the recorded one, or why that can't be told; `None` where there are
    /// not two reds.
    pub fn order(&self) -> Option<Result<Order, &'static str>> {
        let first = self.failure(Role::First)?;
        let replay = self.failure(Role::Replay)?;
        let coarse = Signature::of(first).coarse;
        let recorded = self.recorded.as_ref();
        let holds = |what: fn(&Recorded) -> bool| recorded.is_some_and(what);
        Some(shrunk(&Conditions {
            fixtures_equal: holds(|recorded| recorded.fixtures_equal),
            test_file_equal: holds(|recorded| recorded.test_file_equal),
            framework_equal: holds(|recorded| recorded.framework_equal),
            signature_equal: recorded.is_some_and(|r| r.coarse.as_deref() == Some(&coarse))
                && Signature::of(replay).coarse == coarse,
            flaky: first.is_flaky_by_its_framework() || replay.is_flaky_by_its_framework(),
            recorded: recorded.map(|recorded| recorded.example.as_str()),
            first: first.example.as_deref(),
            replay: replay.example.as_deref(),
        }))
    }

    /// A red of the merged tree was seen.
    pub fn is_red(&self) -> bool {
        let own = self.ran.iter().filter(|ran| ran.role != Role::Base);
        own.into_iter().any(|ran| ran.outcome.failure().is_some())
    }

    /// The task of a run. Seed and hash seed are the same in each.
    pub fn task(&self) -> Task<'_> {
        Task {
            node: &self.node,
            seed: self.seed,
            hash_seed: 0,
            generator: self.generator,
            purpose: Purpose::Vote,
            stored: None,
        }
    }
}

/// One run of each of these trials, so many at a time; in their order. `told` hears of each as it ends.
pub fn wave(
    bench: &Bench<'_>,
    trials: &[&Trial],
    workers: usize,
    told: &(dyn Fn(&Trial, &Run) + Sync),
) -> Vec<Run> {
    side_by_side(trials.len(), workers, |at| {
        let run = bench.run(&trials[at].task());
        if !run.cancelled {
            told(trials[at], &run);
        }
        run
    })
}

/// `work(0)`, `work(1)`, … on so many threads; the results in that order.
pub fn side_by_side<T: Send>(
    count: usize,
    workers: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        break;
                    }
                    let result = work(at);
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
