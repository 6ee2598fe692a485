//! Runs an evidence window (protocol 6.3), and asks whether a seed is honoured (6.1).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::bench::{Bench, Run};
use super::classify::{Scope, Stop, Tally, Verdict, classify, may_start, stop};
use super::frameworks::{Generator, Purpose, Task};
use super::model::Outcome;
use crate::model::NodeId;

/// A window that has ended.
#[derive(Debug)]
pub struct Window {
    /// In the order in which they were begun.
    pub runs: Vec<Run>,
    pub stop: Stop,
    pub verdict: Verdict,
}

/// What to run a window of.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    pub node: &'a NodeId,
    pub seed: Option<i64>,
    pub generator: Generator,
    /// The most runs.
    pub cap: usize,
    /// Runs at the same time.
    pub workers: usize,
}

impl Wish<'_> {
    /// The seed of a run. What pytest-randomly seeds is all the chance that such a test has: with one seed
    /// no window would ever see it flake.
    pub(super) fn seed_of(&self, at: usize) -> Option<i64> {
        let step = match self.generator {
            Generator::Randomly => i64::try_from(at).unwrap_or(i64::MAX),
            _ => 0,
        };
        // Seeds of pytest-randomly are not negative, and fit in 32 bits for all that it seeds.
        self.seed.map(|seed| match seed.checked_add(step) {
            Some(next) if step > 0 && next <= i64::from(u32::MAX) => next,
            _ if step > 0 => step,
            _ => seed,
        })
    }
}

#[derive(Default)]
struct State {
    begun: usize,
    tally: Tally,
    runs: Vec<(usize, Run)>,
    cancelled: bool,
}

/// Runs a window to its end. Each run has the same seed and another hash seed, so that what hangs on the
/// order of sets can show; one whose only generator is `random` has another seed too. `None` when it was cancelled; `told` hears of each run as it ends.
pub fn window(bench: &Bench<'_>, wish: Wish<'_>, told: &(dyn Fn(&Run) + Sync)) -> Option<Window> {
    let state = Mutex::new(State::default());
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..wish.workers.max(1) {
            scope.spawn(|| {
                while let Some(at) = begin(&state, &changed, wish.cap) {
                    let run = bench.run(&Task {
                        node: wish.node,
                        seed: wish.seed_of(at),
                        hash_seed: u32::try_from(at).unwrap_or(u32::MAX),
                        generator: wish.generator,
                        purpose: Purpose::Vote,
                        stored: None,
                    });
                    let mut state = lock(&state);
                    if run.cancelled {
                        state.cancelled = true;
                    } else {
                        told(&run);
                        state.tally.add(&run.outcome);
                    }
                    state.runs.push((at, run));
                    changed.notify_all();
                }
            });
        }
    });
    let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if state.cancelled {
        return None;
    }
    state.runs.sort_by_key(|(at, _)| *at);
    Some(Window {
        stop: stop(&state.tally, wish.cap),
        verdict: classify(Scope::Same, &state.tally),
        runs: state.runs.into_iter().map(|(_, run)| run).collect(),
    })
}

/// The number of the next run, once it is known to be needed; `None` when none is.
fn begin(state: &Mutex<State>, changed: &Condvar, cap: usize) -> Option<usize> {
    let mut now = lock(state);
    loop {
        if now.cancelled || stop(&now.tally, cap) != Stop::GoOn {
            return None;
        }
        let under_way = now.begun - now.runs.len();
        if may_start(&now.tally, under_way, cap) {
            now.begun += 1;
            return Some(now.begun - 1);
        }
        if under_way == 0 {
            return None;
        }
        now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a seed decides what is generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Honoured {
    /// Seeds A, A, B gave the streams X, X, Y.
    Yes,
    /// Why not, or why it can't be told: a clause.
    No(String),
    /// Nothing is generated.
    DoesNotApply,
}

/// Seeds of the probe when none is asked for.
const SEED: i64 = 1;

/// Runs A, A, B and compares the streams of generated values. Such runs are no votes.
pub fn honours_seed(
    bench: &Bench<'_>,
    (node, generator): (&NodeId, Generator),
    seed: Option<i64>,
    told: &dyn Fn(&Run),
) -> Honoured {
    if generator == Generator::NoGenerator {
        return Honoured::DoesNotApply;
    }
    if !generator.is_decided_by_seed() {
        return Honoured::No(format!("its generator is {}", generator.words()));
    }
    let seed = seed.unwrap_or(SEED);
    let mut streams = Vec::new();
    for (seed, hash_seed) in [(seed, 0), (seed, 1), (seed.wrapping_add(1), 0)] {
        let run = bench.run(&Task {
            node,
            seed: Some(seed),
            hash_seed,
            generator,
            purpose: Purpose::Stream,
            stored: None,
        });
        told(&run);
        if run.cancelled {
            return Honoured::No("it was cancelled".to_owned());
        }
        match run.stream {
            Some(stream) if stream.values > 0 => streams.push(stream),
            _ => {
                let why = match run.outcome {
                    Outcome::Errored { why } => why,
                    _ => "no generated value was seen".to_owned(),
                };
                return Honoured::No(why);
            }
        }
    }
    match streams.as_slice() {
        [a, again, _] if a != again => {
            Honoured::No("the same seed gave other values the second time".to_owned())
        }
        [a, _, b] if a == b => Honoured::No("another seed gave the same values".to_owned()),
        _ => Honoured::Yes,
    }
}
