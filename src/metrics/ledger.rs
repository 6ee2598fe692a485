//! What the freezes of all repositories come to (protocol 7).

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus_client::registry::Registry;

use super::{Level, Levels, add, with_unit};
use crate::gate::numbers::per_100;
use crate::model::FreezeState;

/// Read when the page is asked for. The window is of 30 days.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerLevels {
    /// Pull requests whose newest verdict is of the window, and the freezes that they void.
    pub patches: u64,
    pub voided: u64,
    /// Rows that are not closed, by the name of their state, as the newest audits found them.
    pub rows: BTreeMap<&'static str, u64>,
    /// By how much rows and seeds grew in the window; `None` where no audited branch keeps a corpus.
    pub growth: Option<(i64, i64)>,
    /// How long the row has been void that has been so longest.
    pub oldest_void: Duration,
    /// Void rows that are due to be pointed out.
    pub overdue: u64,
}

pub(super) struct Ledger {
    patches: Level,
    voided: Level,
    rate: Level,
    rows: Levels,
    growth: Level,
    corpus: Level,
    oldest_void: Level,
    overdue: Level,
}

impl Ledger {
    pub fn new(registry: &mut Registry) -> Self {
        Self {
            patches: add(
                registry,
                "patches",
                "Pull requests whose newest verdict is of the last 30 days",
            ),
            voided: add(
                registry,
                "patches_voided_freezes",
                "Freezes that those pull requests void",
            ),
            rate: add(
                registry,
                "voided_freezes_per_100_patches",
                "The same for 100 pull requests; NaN where there are none",
            ),
            rows: add(
                registry,
                "ledger_rows",
                "Rows that are not closed, by state, as the newest audit of each guarded branch found them",
            ),
            growth: add(
                registry,
                "ledger_growth_rows",
                "Rows more than at the first audit of the last 30 days, where a corpus is kept",
            ),
            corpus: add(
                registry,
                "corpus_growth_seeds",
                "Seeds more than at the first audit of the last 30 days",
            ),
            oldest_void: with_unit(
                registry,
                "ledger_void_oldest_age",
                "How long the row has been void that has been so longest",
            ),
            overdue: add(
                registry,
                "ledger_void_overdue",
                "Rows that have been void for 14 days or more",
            ),
        }
    }

    /// `None`: the database could not be read.
    pub fn show(&self, levels: Option<&LedgerLevels>) {
        let show = |level: &Level, of: &dyn Fn(&LedgerLevels) -> Option<f64>| {
            level.set(levels.and_then(of).unwrap_or(f64::NAN));
        };
        show(&self.patches, &|levels| Some(levels.patches as f64));
        show(&self.voided, &|levels| Some(levels.voided as f64));
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        show(&self.rate, &|levels| {
            per_100(size(levels.voided), size(levels.patches))
        });
        for state in FreezeState::ALL {
            let rows = self.rows.get_or_create(&[("state", state.name())]);
            show(&rows, &|levels| {
                Some(levels.rows.get(state.name()).copied().unwrap_or(0) as f64)
            });
        }
        show(&self.growth, &|levels| levels.growth.map(|by| by.0 as f64));
        show(&self.corpus, &|levels| levels.growth.map(|by| by.1 as f64));
        show(&self.oldest_void, &|levels| {
            Some(levels.oldest_void.as_secs_f64())
        });
        show(&self.overdue, &|levels| Some(levels.overdue as f64));
    }
}
