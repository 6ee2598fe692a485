//! The decision table: one row a step (protocol 5.1). PURE.

use super::case::Case;
use super::reading::Read;
use super::rules::fixtures::Tally;
use super::rules::{coverage, lane, step_of};
use super::verdict::{self, VERDICT_STEP};
use crate::model::{Coverage, Finding, FreezeRow, PropertyState, Rule, Step, StepResult, Verdict};

/// What the rows are made from.
pub struct Rows<'a> {
    pub case: &'a Case<'a>,
    pub findings: &'a [Finding],
    pub tally: Tally,
    /// Where a lane ran.
    pub lane: Option<lane::Tally>,
    pub coverage: &'a [Coverage],
    pub freezes: &'a [FreezeRow],
    pub verdict: Verdict,
}

impl Rows<'_> {
    pub fn table(&self) -> Vec<Step> {
        let reading = self.case.reading;
        let mut steps = vec![
            self.row(1, "write-set", false, self.write_set()),
            self.row(2, "witness or local", false, self.witnesses()),
            self.row(
                3,
                "fixture digests",
                reading.lock.base == Read::Off,
                self.fixtures(),
            ),
            self.row(
                4,
                "freezes",
                reading.freezes.base == Read::Off,
                self.freezes(),
            ),
            self.row(
                5,
                "hunk map and live properties",
                reading.map.base == Read::Off,
                coverage::detail(self.coverage, self.findings),
            ),
        ];
        if let Some(tally) = self.lane {
            steps.push(self.row(6, "lane", false, lane::detail(tally)));
        }
        steps.push(self.verdict());
        steps
    }

    fn row(&self, step: u8, name: &str, off: bool, detail: String) -> Step {
        let result = verdict::step_result(self.findings, step);
        // A layer that is off can still hold findings: a change of its file is guarded.
        let (result, detail) = if off && result == StepResult::Pass {
            (StepResult::Off, "off by configuration".to_owned())
        } else if self.is_unknown(step) {
            (
                result,
                "not evaluated: what it needs could not be had".to_owned(),
            )
        } else {
            (result, detail)
        };
        Step {
            step,
            name: name.to_owned(),
            result,
            detail,
        }
    }

    /// The step's rules were left out for want of the merged tree or of a readable contract file.
    fn is_unknown(&self, step: u8) -> bool {
        let case = self.case;
        match step {
            1 => case.snapshot.write_set.known().is_none(),
            3 => case.lock().is_none() || case.snapshot.fixtures.known().is_none(),
            4 => case.reading.freezes.of(case.judge).ready().is_none(),
            5 => case.map().is_none() || case.tree().is_none(),
            6 => case.map().is_none() || case.snapshot.merged_tree.known().is_none(),
            _ => false,
        }
    }

    fn write_set(&self) -> String {
        let counts = self.case.counts();
        if counts.is_empty() {
            return "no path changes".to_owned();
        }
        let parts: Vec<String> = counts
            .iter()
            .map(|(class, count)| class.counted(*count))
            .collect();
        let parts = parts.join(", ");
        match self.case.is_audit() {
            true => format!("all that is guarded or should be: {parts}"),
            false => parts,
        }
    }

    fn witnesses(&self) -> String {
        let edited = |id: &str| {
            let fact = self
                .case
                .sources()
                .and_then(|sources| sources.properties.get(id));
            fact.is_some_and(|fact| !fact.unchanged)
        };
        let listed: std::collections::BTreeMap<&str, bool> = self
            .coverage
            .iter()
            .flat_map(|coverage| &coverage.properties)
            .map(|property| {
                let id = property.nodeid.as_str();
                (id, property.state == PropertyState::Local || edited(id))
            })
            .collect();
        if listed.is_empty() {
            return "no listed property concerns this patch".to_owned();
        }
        let local = listed.values().filter(|local| **local).count();
        format!(
            "{} of {} listed properties are witnesses",
            listed.len() - local,
            listed.len()
        )
    }

    fn fixtures(&self) -> String {
        let Tally { pinned, matching } = self.tally;
        let others = self
            .findings
            .iter()
            .filter(|f| matches!(f.rule, Rule::UnlockedFixture | Rule::OpaqueFixture))
            .count();
        let more = if others > 0 {
            format!(", {others} not pinned or opaque")
        } else {
            String::new()
        };
        format!("{matching} of {pinned} match{more}")
    }

    fn freezes(&self) -> String {
        let touching = self.freezes.iter().filter(|row| row.touches_patch).count();
        match self.freezes.len() {
            0 => "no frozen test".to_owned(),
            total => {
                let worthless = self.freezes.iter();
                let worthless = worthless.filter(|row| !row.state.takes_vote()).count();
                let more = match worthless {
                    0 => String::new(),
                    worthless => format!(", {worthless} that take no vote"),
                };
                format!("{total} frozen{more}, {touching} of them about this patch")
            }
        }
    }

    fn verdict(&self) -> Step {
        let (result, detail) = match self.verdict {
            Verdict::NotApplicable => (
                StepResult::Off,
                "the repository has not opted in".to_owned(),
            ),
            Verdict::Pass if !self.case.all_binds => (
                StepResult::Pass,
                "not bound: a person's pull request".to_owned(),
            ),
            Verdict::Pass => (
                StepResult::Pass,
                "every path has an effect, and none is stronger".to_owned(),
            ),
            Verdict::AllowRecheck => (StepResult::AllowRecheck, self.because()),
            Verdict::HumanReview => (StepResult::HumanReview, self.because()),
            Verdict::Refuse => (StepResult::Refuse, self.because()),
        };
        Step {
            step: VERDICT_STEP,
            name: "verdict".to_owned(),
            result,
            detail,
        }
    }

    fn because(&self) -> String {
        let decided = verdict::decided_by(self.findings, self.verdict);
        let Some(rule) = decided.rule else {
            return String::new();
        };
        let same = |f: &&Finding| f.rule == rule && step_of(f.rule) == decided.step;
        let count = self.findings.iter().filter(same).count();
        format!("decided by step {}: {rule} ({count})", decided.step)
    }
}
