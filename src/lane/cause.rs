//! Why a test flakes, found by taking one kind of chance away at a time (protocol 6.3, lane-facts 4.4).
//! PURE.
//!
//! Invariant: a cause is named only when a pinned condition made the outcome the same in so many runs that
//! chance alone would hardly have done it. A name that is missing costs a person a look; a wrong one costs
//! them the trust in all others.

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::classify::{FIRST_RUNS, MOST_RUNS, Tally};

/// The chance, at most, that runs agree although the condition that was pinned has nothing to do with it.
const CHANCE: f64 = 0.01;

/// One condition that is held still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intervention {
    /// The order of sets and dictionaries is the same in each run.
    HashSeed,
    /// What draws from the language's own random numbers draws the same ones in each run.
    Rng,
    /// Time stands still; whoever sleeps wakes up at once.
    Clock,
    /// All threads and processes share one processor.
    OneCpu,
}

impl Intervention {
    pub const ALL: [Self; 4] = [Self::HashSeed, Self::Rng, Self::Clock, Self::OneCpu];

    /// For a sentence: "with …".
    pub fn words(self) -> &'static str {
        match self {
            Self::HashSeed => "one hash seed",
            Self::Rng => "one seed of the random numbers",
            Self::Clock => "a clock that stands still",
            Self::OneCpu => "one processor",
        }
    }

    /// What it shows when it makes the outcome the same.
    pub fn cause(self) -> Cause {
        match self {
            Self::HashSeed => Cause::HashSeed,
            Self::Rng => Cause::Rng,
            Self::Clock => Cause::Clock,
            Self::OneCpu => Cause::Sched,
        }
    }
}

/// What makes a test flake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    HashSeed,
    Rng,
    Clock,
    Sched,
    Unattributed,
}

impl Cause {
    /// As a row of the evidence ledger has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::HashSeed => "HASHSEED",
            Self::Rng => "RNG",
            Self::Clock => "CLOCK",
            Self::Sched => "SCHED",
            Self::Unattributed => "unattributed",
        }
    }

    /// The reason of protocol 3.2 that a ledger row would give; `None` where none of the five fits.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::HashSeed => Some("ORDER"),
            Self::Clock => Some("CLOCK"),
            Self::Rng | Self::Sched | Self::Unattributed => None,
        }
    }
}

/// What came of an intervention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    pub intervention: Intervention,
    pub tally: Tally,
}

impl Tried {
    /// Whether one run more can still show something.
    pub fn goes_on(&self, enough: usize) -> bool {
        self.agrees() && self.tally.runs < enough
    }

    fn settles(&self, enough: usize) -> bool {
        self.agrees() && self.tally.runs >= enough
    }

    /// All green, or all red in the same way.
    fn agrees(&self) -> bool {
        let tally = &self.tally;
        tally.green == tally.runs || (tally.red == tally.runs && tally.fine.len() == 1)
    }
}

/// Runs of an intervention that have to agree. `None`: the window was not mixed, or one of its outcomes is
/// so rare that [`MOST_RUNS`] agreeing runs would say little.
pub fn enough(window: &Tally) -> Option<usize> {
    if window.errored > 0 || window.red == 0 || window.green == 0 {
        return None;
    }
    // One more of each: what a short window saw is no rate.
    let counts = [window.red + 1, window.green + 1].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let red = f64::from(counts[0]) / (f64::from(counts[0]) + f64::from(counts[1]));
    let chance = |runs: usize| {
        let runs = i32::try_from(runs).unwrap_or(i32::MAX);
        red.powi(runs) + (1.0 - red).powi(runs)
    };
    (FIRST_RUNS..=MOST_RUNS).find(|runs| chance(*runs) <= CHANCE)
}

/// The cause, and what else there is to say of it.
pub fn cause(tried: &[Tried], enough: usize) -> (Cause, Option<&'static str>) {
    let settled: Vec<Intervention> = tried
        .iter()
        .filter(|tried| tried.settles(enough))
        .map(|tried| tried.intervention)
        .collect();
    match settled.as_slice() {
        [one] => (one.cause(), None),
        [] => (
            Cause::Unattributed,
            Some("No condition that was held still made the outcome the same."),
        ),
        [Intervention::Clock, Intervention::OneCpu] => (
            Cause::Unattributed,
            Some(
                "Unclear: a clock that stands still also wakes every sleeper at once, so time and the order of threads can't be told apart.",
            ),
        ),
        _ => (
            Cause::Unattributed,
            Some("Unclear: more than one condition that was held still made the outcome the same."),
        ),
    }
}
