//! What the lane has to run for a patch, and what is known of it before any run (protocol 6.1). PURE.

use std::collections::{BTreeMap, BTreeSet};

use super::case::Case;
use super::classes::is_at_or_below;
use super::findings::Findings;
use super::frozen::FrozenRows;
use super::reading::{Judge, Reading};
use super::rows::Rows;
use super::rules;
use super::scopes::{self, GlobIndex};
use crate::model::{
    Coverage, Decision, ListedProperty, NodeId, PropertyState, Rule, ScopeChange, Snapshot,
};

/// A property to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub nodeid: NodeId,
    /// `false`: a freeze takes its vote, and its outcome is only counted.
    pub votes: bool,
    /// Why it runs: a clause.
    pub why: String,
    pub scope: ScopeChange,
    /// The digest of its scope at the base tip and in the merged tree, where there is one.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Whether a listed property is one that the lane has to have a result of.
pub(super) fn needs_result(property: &ListedProperty) -> bool {
    !matches!(
        property.state,
        PropertyState::Frozen | PropertyState::Ghost | PropertyState::Disabled
    )
}

/// Coverage of the production paths that the patch itself changes.
pub(super) fn of_patch<'a>(
    case: &'a Case<'_>,
    coverage: &'a [Coverage],
) -> impl Iterator<Item = &'a ListedProperty> {
    let own = coverage.iter().filter(|one| case.touches(&one.path));
    own.flat_map(|one| &one.properties)
}

/// The properties that the patch's production paths need and those that are frozen, sorted; or the `named`
/// ones alone. A row that names a file, a folder or a test by its bare name is none that can be run, and a
/// property that is not there, or off in its source, is the gate's to refuse.
pub fn targets(snapshot: &Snapshot, decision: &Decision, named: &[NodeId]) -> Vec<Target> {
    let reading = Reading::strict(&snapshot.contract);
    let classes = reading.classifier();
    let case = Case::new(snapshot, &reading, &classes);
    let mut told_elsewhere = Findings::new(&case);
    let mut rows = Rows::new(&case, case.judge);
    rules::freezes::check(&case, &mut rows, &mut told_elsewhere);
    let frozen = FrozenRows::new(&rows.list);
    let is_frozen = |id: &NodeId| frozen.blocking(id).iter().any(|row| row.takes_vote());
    let mut wanted: BTreeMap<NodeId, (bool, String)> = BTreeMap::new();
    if named.is_empty() {
        for row in rows.list.iter().filter(|row| row.takes_vote()) {
            if row.nodeid.as_str().contains("::") && !row.by_name {
                let why = format!("frozen: {}", row.reason);
                wanted.insert(row.nodeid.clone(), (false, why));
            }
        }
        for property in of_patch(&case, &decision.coverage) {
            let Ok(nodeid) = property.nodeid.parse() else {
                continue;
            };
            if needs_result(property) {
                wanted.insert(nodeid, (true, property.why.clone()));
            } else if property.state == PropertyState::Frozen {
                wanted.insert(nodeid, (false, property.why.clone()));
            }
        }
    }
    for id in named {
        let votes = !is_frozen(id);
        wanted.insert(id.clone(), (votes, "named on the command line".to_owned()));
    }
    let targets = wanted.into_iter().map(|(nodeid, (votes, why))| {
        let (scope, before, after) = scope_of(&case, decision, &nodeid);
        Target {
            nodeid,
            votes,
            why,
            scope,
            before,
            after,
        }
    });
    targets.collect()
}

/// What became of a property's fixtures, and their digests.
fn scope_of(
    case: &Case<'_>,
    decision: &Decision,
    nodeid: &NodeId,
) -> (ScopeChange, Option<String>, Option<String>) {
    let Some(found) = scopes::of_node(case.snapshot, nodeid) else {
        return (ScopeChange::Changed, None, None);
    };
    let [before, after] = [&found.before, &found.after].map(|d| d.known().map(str::to_owned));
    let change = match (&before, &after) {
        (Some(before), Some(after)) if before == after => ScopeChange::Same,
        (Some(_), Some(_)) if is_locked(case, decision, nodeid) => ScopeChange::ChangedWithLock,
        _ => ScopeChange::Changed,
    };
    (change, before, after)
}

/// Whether the lock in force holds every file of the scope that the patch changes, as it now is.
fn is_locked(case: &Case<'_>, decision: &Decision, nodeid: &NodeId) -> bool {
    let Some(lock) = case.lock() else {
        return false;
    };
    let catalog = scopes::by_node(case.reading.catalog.base.ready());
    let default = case.reading.default_scope(Judge::BaseTip);
    let globs = scopes::globs_of(nodeid, &catalog, &default);
    let index = GlobIndex::new(globs.iter().map(String::as_str));
    let unlocked: BTreeSet<&str> = decision
        .findings
        .iter()
        .filter(|finding| {
            matches!(
                finding.rule,
                Rule::MissingFixture
                    | Rule::DigestMismatch
                    | Rule::UnlockedFixture
                    | Rule::OpaqueFixture
                    | Rule::Undetermined
            )
        })
        // What could not be had names no path, and may be any.
        .map(|finding| finding.path.as_deref().unwrap_or_default())
        .collect();
    let changes = case
        .snapshot
        .write_set
        .known()
        .map_or(&[][..], Vec::as_slice);
    let mut changed = changes.iter().filter(|change| change.base != change.merged);
    let mut work = 0;
    !unlocked.contains("")
        && changed.all(|change| {
            let path = change.path.as_str();
            let below = |root: &String| is_at_or_below(path, root);
            index.matching(path, &mut work).is_empty()
                || (lock.roots.iter().any(below) && !unlocked.contains(path))
        })
}
