//! What an evidence window says (protocol 6.3): its status, when it stops, and what it could not see.
//! PURE.
//!
//! Invariant: a window never makes a test pass by accident. Nothing run, too little run, or one run
//! that came to nothing is never `merge-ok`; a failure in every run is never a candidate for a freeze.

mod bound;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use bound::{Bound, missed, missed_rates};

use super::model::{Colour, Outcome};
use super::signature::Signature;

/// Runs of a window to begin with; fewer greens say nothing.
pub const FIRST_RUNS: usize = 7;
/// Reds in a row, from the start, after which the window stops.
const STABLE_RUNS: usize = 14;
/// Runs at which a window stops whatever it saw, when nothing else is asked for.
pub const MOST_RUNS: usize = 30;
/// Reds at which a mixed window stops although no failure came twice.
const ENOUGH_REDS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    CatalogBroken,
    FixtureDrift,
    Errored,
    MergeOk,
    StableViolation,
    FreezeCandidate,
    Inconclusive,
    Divergent,
}

impl Status {
    pub const ALL: &[Self] = &[
        Self::CatalogBroken,
        Self::FixtureDrift,
        Self::Errored,
        Self::MergeOk,
        Self::StableViolation,
        Self::FreezeCandidate,
        Self::Inconclusive,
        Self::Divergent,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::CatalogBroken => "catalog-broken",
            Self::FixtureDrift => "fixture-drift",
            Self::Errored => "errored",
            Self::MergeOk => "merge-ok",
            Self::StableViolation => "stable-violation",
            Self::FreezeCandidate => "freeze-candidate",
            Self::Inconclusive => "inconclusive",
            Self::Divergent => "divergent",
        }
    }
}

/// What is known of the fixtures before anything is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// As recorded, or nothing was recorded.
    Same,
    /// A catalogued fixture is not there.
    Missing,
    /// Another digest than the recorded one.
    Drifted,
}

/// Why a window has the status that it has, beside the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    None,
    /// Every run failed alike, with other values each time: a race that is lost nearly always.
    SuspectedRace,
    /// The place and the exception recur, the message does not.
    SiteOnly,
}

/// What a window came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub status: Status,
    pub note: Note,
    pub tally: Tally,
}

/// The counts of a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub runs: usize,
    pub green: usize,
    pub red: usize,
    pub errored: usize,
    /// Reds by signature.
    pub raw: BTreeMap<String, usize>,
    pub fine: BTreeMap<String, usize>,
    pub coarse: BTreeMap<String, usize>,
}

impl Tally {
    pub fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut tally = Self::default();
        for outcome in outcomes {
            tally.add(outcome);
        }
        tally
    }

    pub fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        match outcome.colour() {
            Colour::Green => self.green += 1,
            Colour::Red => self.red += 1,
            Colour::Errored => self.errored += 1,
        }
        if let Some(failure) = outcome.failure() {
            let signature = Signature::of(failure);
            *self.raw.entry(signature.raw).or_default() += 1;
            *self.fine.entry(signature.fine).or_default() += 1;
            *self.coarse.entry(signature.coarse).or_default() += 1;
        }
    }

    fn is_mixed(&self) -> bool {
        self.red > 0 && self.green > 0
    }

    /// At least twice, and at least half of the reds.
    fn recurs(&self, top: usize) -> bool {
        top >= 2 && 2 * top >= self.red
    }

    /// At least three places or exceptions, and two failures picked at random agree less than one time
    /// in three (lane-facts 4.3).
    fn is_varied(&self) -> bool {
        let pairs: usize = self.coarse.values().map(|c| c * (c - 1)).sum();
        self.coarse.len() >= 3 && 3 * pairs < self.red * (self.red - 1)
    }
}

fn top(counts: &BTreeMap<String, usize>) -> usize {
    counts.values().copied().max().unwrap_or(0)
}

/// The status of a window by protocol 6.3, its rows in their order.
///
/// | outcome | status |
/// | --- | --- |
/// | a catalogued fixture is missing | catalog-broken |
/// | another digest than the recorded one | fixture-drift |
/// | a run errored | errored |
/// | every run green (7 at least) | merge-ok |
/// | every run red, one fine signature, one raw value | stable-violation |
/// | every run red, one fine signature, raw values differ | stable-violation, a suspected race |
/// | mixed, the top fine signature recurs; or the top coarse one | freeze-candidate |
/// | a single red | inconclusive |
/// | three coarse signatures or more that hardly agree | divergent |
/// | anything else | inconclusive |
pub fn classify(scope: Scope, tally: &Tally) -> Verdict {
    let (status, note) = status(scope, tally);
    Verdict {
        status,
        note,
        tally: tally.clone(),
    }
}

fn status(scope: Scope, tally: &Tally) -> (Status, Note) {
    match scope {
        Scope::Missing => return (Status::CatalogBroken, Note::None),
        Scope::Drifted => return (Status::FixtureDrift, Note::None),
        Scope::Same => {}
    }
    if tally.errored > 0 {
        return (Status::Errored, Note::None);
    }
    let all_red = tally.red == tally.runs && tally.runs >= 2;
    if tally.green == tally.runs {
        let enough = tally.runs >= FIRST_RUNS;
        let status = if enough {
            Status::MergeOk
        } else {
            Status::Inconclusive
        };
        return (status, Note::None);
    }
    if all_red && tally.fine.len() == 1 {
        let note = match tally.raw.len() {
            1 => Note::None,
            _ => Note::SuspectedRace,
        };
        return (Status::StableViolation, note);
    }
    if tally.is_mixed() {
        if tally.recurs(top(&tally.fine)) {
            return (Status::FreezeCandidate, Note::None);
        }
        if tally.recurs(top(&tally.coarse)) {
            return (Status::FreezeCandidate, Note::SiteOnly);
        }
    }
    if tally.red >= 2 && tally.is_varied() {
        return (Status::Divergent, Note::None);
    }
    (Status::Inconclusive, Note::None)
}

/// Whether a window goes on, and why it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    GoOn,
    /// A run that came to nothing: no verdict from the others.
    Errored,
    /// Only greens, as many as a window begins with.
    Greens,
    /// Only reds, 14 of them.
    Reds,
    /// Greens and reds, and enough of both.
    Mixed,
    Cap,
}

/// Whether greens and reds are enough to tell what recurs. Of failures of three kinds or more, two alike
/// may be chance: seven reds tell those that recur from those that have nothing in common.
fn tells_mixed(tally: &Tally) -> bool {
    let needed = match (tally.coarse.len(), top(&tally.fine)) {
        (3.., _) => FIRST_RUNS,
        (_, 2..) => 2,
        _ => ENOUGH_REDS,
    };
    tally.green >= 1 && tally.red >= needed
}

/// The adaptive stop of protocol 6.3. `cap` is the most runs, at least [`FIRST_RUNS`].
pub fn stop(tally: &Tally, cap: usize) -> Stop {
    let cap = cap.max(FIRST_RUNS);
    if tally.errored > 0 {
        Stop::Errored
    } else if tally.red == 0 && tally.green >= FIRST_RUNS {
        Stop::Greens
    } else if tally.green == 0 && tally.red >= STABLE_RUNS.min(cap) {
        Stop::Reds
    } else if tells_mixed(tally) {
        Stop::Mixed
    } else if tally.runs >= cap {
        Stop::Cap
    } else {
        Stop::GoOn
    }
}

/// Whether a run more is certain to be needed beside those that are under way: no worker makes one that
/// the window may stop without.
pub fn may_start(tally: &Tally, under_way: usize, cap: usize) -> bool {
    let cap = cap.max(FIRST_RUNS);
    let needed = match (tally.green, tally.red) {
        (_, 0) => FIRST_RUNS,
        (0, _) => STABLE_RUNS.min(cap),
        _ => cap,
    };
    stop(tally, cap) == Stop::GoOn && tally.runs + under_way < needed
}
