//! The holes that a contract patch would open.

use super::{Covered, Coverer};
use crate::gate::case::Case;
use crate::gate::findings::{Draft, Findings};
use crate::gate::frozen::FrozenRows;
use crate::gate::liveness::Liveness;
use crate::gate::reading::Judge;
use crate::gate::rows::Rows;
use crate::model::{Coverage, Effect, Rule, TreeFacts};

/// The holes that a contract patch would open (protocol 5.3): paths that lack coverage by the
/// proposed contract and have it by the base tip's. Notices, shown before the patch lands.
pub(super) fn holes(
    case: &Case<'_>,
    tree: &TreeFacts,
    findings: &mut Findings<'_>,
) -> Vec<Coverage> {
    let reading = case.reading;
    if tree.production.is_empty() {
        return Vec::new();
    }
    let Some(proposed_map) = reading.map.merged().ready() else {
        return Vec::new();
    };
    let own = Rows::new(case, Judge::MergedTree);
    let old = Rows::new(case, Judge::BaseTip);
    let proposed = Coverer::new(
        proposed_map,
        Liveness::new(case, tree, FrozenRows::new(&own.list)).after_merge(),
    );
    let base = reading.map.base.ready().map(|map| {
        let rows = FrozenRows::new(&old.list);
        Coverer::new(map, Liveness::new(case, tree, rows).after_merge())
    });
    let lacks = |covered: &Covered| covered.coverage.rules.is_empty() || covered.hole.is_some();
    let mut opened = Vec::new();
    for path in &tree.production {
        let after = proposed.cover(path);
        if !lacks(&after) || base.as_ref().is_some_and(|base| lacks(&base.cover(path))) {
            continue;
        }
        let (rule, message) = match &after.hole {
            Some(hole) => (
                Rule::CoverageHole,
                format!("this patch would open a coverage hole: {hole}"),
            ),
            None => (
                Rule::UnmappedPath,
                "this patch would leave the path without a map rule".to_owned(),
            ),
        };
        let fix = "keep a live property for the path, or accept the hole knowingly";
        findings.add(
            Draft::new(rule, message, fix)
                .at(path)
                .effect(Effect::Notice),
        );
        opened.push(after.coverage);
    }
    opened
}
