//! What a number of runs excludes, and what it could have missed (lane-facts 6). PURE.
//!
//! Invariant: one bound, for runs whose number was fixed before; never a claim that a property holds.

use super::{Stop, Tally};

/// The level of the one-sided bound.
const LEVEL: f64 = 0.05;
/// Rates that a window of greens is measured against.
const RATES: &[f64] = &[0.01, 0.05, 0.10, 0.20, 0.35];

/// The one-sided exact binomial bound for `red` of `runs`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The failure rate is not above this.
    AtMost(f64),
    /// Every run failed: the rate is not below this.
    AtLeast(f64),
}

impl Bound {
    /// `None` when nothing ran, or a run came to nothing.
    pub fn of(tally: &Tally) -> Option<Self> {
        if tally.runs == 0 || tally.errored > 0 {
            return None;
        }
        Some(if tally.red == tally.runs {
            Self::AtLeast(LEVEL.powf(1.0 / count(tally.runs)))
        } else {
            Self::AtMost(upper(tally.red, tally.runs))
        })
    }

    /// A sentence: what the runs exclude, and whether their number was fixed.
    pub fn sentence(self, tally: &Tally, stop: Stop) -> String {
        let runs = tally.runs;
        let seen = if tally.red == 0 {
            format!("{runs} greens")
        } else {
            format!("{} reds in {runs} runs", tally.red)
        };
        let what = match self {
            Self::AtMost(rate) => format!("a failure rate above {}", percent_up(rate)),
            Self::AtLeast(rate) => format!("a failure rate below {}", percent_down(rate)),
        };
        let adaptive = match stop {
            Stop::Greens | Stop::Cap => "",
            _ => {
                " The number of runs was not fixed: the window stopped by what it saw, so the bound is only a rough one."
            }
        };
        format!("{seen} exclude {what} (one-sided, level 5 %), and no more.{adaptive}")
    }
}

/// The rate at which `red` or fewer of `runs` are as rare as the level.
fn upper(red: usize, runs: usize) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(red, runs, middle) > LEVEL {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// How likely at most `red` of `runs` fail at this rate.
fn at_most(red: usize, runs: usize, rate: f64) -> f64 {
    let mut term = (1.0 - rate).powf(count(runs));
    let mut sum = term;
    for k in 0..red.min(runs) {
        term *= count(runs - k) / count(k + 1) * rate / (1.0 - rate);
        sum += term;
    }
    sum
}

/// How many of the windows of `runs` runs show no red of a property that fails at `rate`; 0 to 1.
pub fn missed(rate: f64, runs: usize) -> f64 {
    (1.0 - rate).powf(count(runs))
}

/// A sentence: how often so many greens are seen of a property that does fail.
pub fn missed_rates(runs: usize) -> String {
    let parts: Vec<String> = RATES
        .iter()
        .map(|&rate| {
            format!(
                "{} of those that fail in {} of runs",
                percent(missed(rate, runs)),
                percent(rate)
            )
        })
        .collect();
    format!(
        "{runs} greens are also seen of properties that fail: of {}.",
        parts.join(", ")
    )
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

/// Rounded so that the sentence stays true.
fn percent_up(rate: f64) -> String {
    format!("{:.0} %", (rate * 100.0).ceil())
}

fn percent_down(rate: f64) -> String {
    format!("{:.0} %", (rate * 100.0).floor())
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
