//! What becomes of the rows over time (protocol 7): added, closed, void, and how the seed corpus keeps up.
//! PURE.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use super::reading::{Read, Reading};
use crate::model::{ContractFile, Decision, FreezeRow, FreezeState, Layer};

/// A void row without its owner's action is pointed out from this age on.
pub const OVERDUE: TimeDelta = TimeDelta::days(14);

/// Seeds in the corpus at the base tip; `None` where there is no corpus that could be read.
pub fn corpus(contract: &BTreeMap<Layer, ContractFile>) -> Option<u64> {
    match Reading::new(contract).seeds.base {
        Read::Ready(corpus) => {
            let seeds: usize = corpus.nodes.iter().map(|node| node.seeds.len()).sum();
            u64::try_from(seeds).ok()
        }
        Read::Off | Read::Absent | Read::Broken(_) | Read::Unavailable(_) => None,
    }
}

/// A merge block that somebody wrote down: a row of the seed ledger whose reason is SHRINK, open or closed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShrinkBlock {
    nodeid: String,
    seed: Option<String>,
    fixture_digest: Option<String>,
    opened_at: Option<String>,
}

/// Those of the ledger at the base tip. What a lane blocked and nobody wrote down is in no file.
pub fn shrink_blocks(contract: &BTreeMap<Layer, ContractFile>) -> BTreeSet<ShrinkBlock> {
    let reading = Reading::new(contract);
    let rows = reading.ledger.base.ready();
    let rows = rows.into_iter().flat_map(|ledger| &ledger.entries);
    rows.filter(|row| row.reason.as_deref() == Some("SHRINK"))
        .map(|row| ShrinkBlock {
            nodeid: row.nodeid.to_string(),
            seed: row.seed.as_ref().map(ToString::to_string),
            fixture_digest: row.fixture_digest.clone(),
            opened_at: row.opened_at.clone(),
        })
        .collect()
}

/// What tells a row from another while both change: its file, its node, and its place among those of the
/// same node there. A row that is reopened on another digest keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    pub source: String,
    pub nodeid: String,
    pub nth: u32,
}

/// Each row by its key. `rows` are in the order of the decision.
pub fn keyed(rows: &[FreezeRow]) -> Vec<(RowKey, &FreezeRow)> {
    let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    rows.iter()
        .map(|row| {
            let nth = seen.entry((&row.source, &row.nodeid)).or_default();
            let key = RowKey {
                source: row.source.clone(),
                nodeid: row.nodeid.clone(),
                nth: *nth,
            };
            *nth += 1;
            (key, row)
        })
        .collect()
}

/// It waits for its owner: void by its digest, or by date.
pub fn is_void(row: &FreezeRow) -> bool {
    matches!(row.state, FreezeState::Void | FreezeState::Expired)
}

/// When a row became void, where the row itself says so.
pub fn void_by_date(row: &FreezeRow) -> Option<DateTime<Utc>> {
    let at = row.expires_at.as_deref()?;
    (row.state == FreezeState::Expired)
        .then(|| instant(at))
        .flatten()
}

/// A time or a day, as rows have them.
pub fn instant(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(at.to_utc());
    }
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc())
}

/// When the first of the freezes about a patch that take a vote becomes void by date.
pub fn next_expiry(decision: &Decision) -> Option<DateTime<Utc>> {
    let rows = decision.freezes.iter().flatten();
    rows.filter(|row| row.touches_patch && row.state.takes_vote())
        .filter_map(|row| instant(row.expires_at.as_deref()?))
        .min()
}

/// The rows and the corpus at one time.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub at: DateTime<Utc>,
    pub rows: Vec<FreezeRow>,
    pub corpus: Option<u64>,
    pub shrink_blocks: BTreeSet<ShrinkBlock>,
}

/// A row that is void at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoidRow {
    pub row: FreezeRow,
    /// When it became void; at the latest, where `or_earlier`.
    pub since: DateTime<Utc>,
    pub or_earlier: bool,
}

/// What happened between the first state and the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Movement {
    /// Rows that are not closed, first and last.
    pub rows: (u64, u64),
    pub added: u64,
    pub closed: u64,
    /// When a row became void that was not.
    pub voided: Vec<DateTime<Utc>>,
    /// Void rows that take their test's vote again.
    pub reopened: u64,
    /// Seeds, first and last; `None` where the last state has no corpus. One that began in between grew
    /// from nothing.
    pub corpus: Option<(u64, u64)>,
    /// BLOCK_SHRINKs that were written down.
    pub shrink_blocks: usize,
    /// The first state holds one: here they are written down.
    pub records_shrinks: bool,
    /// Sorted by age, the oldest first.
    pub void: Vec<VoidRow>,
}

/// Follows each row through `states`, which are in the order of time. `whole`: the first is what was there
/// before anything else, so that what is void there became so then.
pub fn movement(states: &[State], whole: bool) -> Movement {
    let (Some(first), Some(last)) = (states.first(), states.last()) else {
        return Movement::default();
    };
    let count = |rows: &[FreezeRow]| u64::try_from(rows.len()).unwrap_or(u64::MAX);
    let mut moved = Movement {
        rows: (count(&first.rows), count(&last.rows)),
        corpus: last.corpus.map(|seeds| (first.corpus.unwrap_or(0), seeds)),
        shrink_blocks: recorded_after(first, states),
        records_shrinks: !first.shrink_blocks.is_empty(),
        ..Movement::default()
    };
    // Of each row, since when it is void, if it is; and whether that may have been earlier.
    let mut known: BTreeMap<RowKey, Option<(DateTime<Utc>, bool)>> = BTreeMap::new();
    for (place, state) in states.iter().enumerate() {
        let mut now = BTreeMap::new();
        for (key, row) in keyed(&state.rows) {
            let before = known.remove(&key);
            moved.added += u64::from(place > 0 && before.is_none());
            let before = before.flatten();
            let since = match before {
                _ if !is_void(row) => {
                    moved.reopened += u64::from(before.is_some() && row.state.takes_vote());
                    None
                }
                Some(since) => Some(since),
                None => {
                    let by_date = void_by_date(row);
                    if place > 0 {
                        moved.voided.push(by_date.unwrap_or(state.at));
                    }
                    let or_earlier = by_date.is_none() && place == 0 && !whole;
                    Some((by_date.unwrap_or(state.at), or_earlier))
                }
            };
            now.insert(key, since);
        }
        moved.closed += u64::try_from(known.len()).unwrap_or(u64::MAX);
        known = now;
    }
    for (key, row) in keyed(&last.rows) {
        if let Some(Some((since, or_earlier))) = known.get(&key) {
            moved.void.push(VoidRow {
                row: row.clone(),
                since: *since,
                or_earlier: *or_earlier,
            });
        }
    }
    moved.void.sort_by_key(|void| void.since);
    moved
}

/// How many BLOCK_SHRINKs were written down after the first state, be it that their rows went again.
fn recorded_after(first: &State, states: &[State]) -> usize {
    let all: BTreeSet<&ShrinkBlock> = states.iter().flat_map(|s| &s.shrink_blocks).collect();
    let new = all.into_iter();
    new.filter(|block| !first.shrink_blocks.contains(block))
        .count()
}

/// How many in 100; `None` where there is nothing to go by.
pub fn per_100(events: usize, patches: usize) -> Option<f64> {
    // Counts of commits are exact in a double.
    (patches > 0).then(|| events as f64 * 100.0 / patches as f64)
}

#[cfg(test)]
mod tests;
