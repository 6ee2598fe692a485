//! On which lines of head's text a finding stands. PURE.

use std::collections::BTreeMap;

use super::words::is_hole;
use crate::model::{ChangeStatus, ClassifiedChange, Decision, Finding};

/// The patch's hunks, by path.
pub struct Lines<'a> {
    changes: BTreeMap<&'a str, &'a ClassifiedChange>,
}

impl<'a> Lines<'a> {
    pub fn new(decision: &'a Decision) -> Self {
        let changes = decision
            .write_set
            .iter()
            .filter(|change| change.status != ChangeStatus::Removed)
            .map(|change| (change.path.as_str(), change))
            .collect();
        Self { changes }
    }

    /// First and last line, 1-based: of a hole its first hunk, else the finding's own line.
    pub fn of(&self, finding: &Finding) -> Option<(u32, u32)> {
        self.hunk_of(finding).or_else(|| {
            let line = finding.line?.max(1);
            Some((line, line))
        })
    }

    /// How many hunks a hole has beyond the first.
    pub fn further_hunks(&self, finding: &Finding) -> usize {
        self.change(finding)
            .map_or(0, |change| change.hunks.len().saturating_sub(1))
    }

    /// A pure deletion is shown at the line before it.
    fn hunk_of(&self, finding: &Finding) -> Option<(u32, u32)> {
        let hunk = self.change(finding)?.hunks.first()?;
        let start = hunk.new_start.max(1);
        let end = start.saturating_add(hunk.new_lines.saturating_sub(1));
        Some((start, end))
    }

    fn change(&self, finding: &Finding) -> Option<&'a ClassifiedChange> {
        let path = finding.path.as_deref().filter(|_| is_hole(finding))?;
        self.changes.get(path).copied()
    }
}
