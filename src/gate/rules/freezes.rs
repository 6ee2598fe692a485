//! The freeze list: rows that name no test, rows bound to no digest, sensitive paths. PURE.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::freezes::{FreezeEntry, Freezes};
use crate::gate::case::{Case, Touched};
use crate::gate::findings::{Draft, Findings};
use crate::gate::frozen::{FrozenRows, names_no_test};
use crate::gate::prefixes::PrefixIndex;
use crate::model::{Effect, Rule, TreeFacts};

pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let Some(freezes) = case.freezes() else {
        return;
    };
    let list = case.reading.freezes.path.as_str();
    for row in freezes.entries.iter().filter(|row| row.frozen) {
        if row.fixture_digest.is_none() {
            let message = "the freeze is bound to no fixture digest, so it does not say which input it is about";
            let fix = "add `fixture_digest` to the row (`frostline digest` prints it), or set `frozen: false`";
            findings.add(on_row(Rule::UnboundFreeze, message, fix, list, row));
        }
    }
    if let Some(tree) = case.tree() {
        dangling(case, freezes, tree, list, findings);
    }
    sensitive(case, freezes, findings);
}

fn on_row(rule: Rule, message: &str, fix: &str, list: &str, row: &FreezeEntry) -> Draft {
    Draft::new(rule, message, fix)
        .at(list)
        .line(Some(row.line))
        .node(row.nodeid.as_str())
        .owner(&row.owner)
}

fn dangling(
    case: &Case<'_>,
    freezes: &Freezes,
    tree: &TreeFacts,
    list: &str,
    findings: &mut Findings<'_>,
) {
    let known: BTreeSet<&str> = case
        .reading
        .freezes
        .base
        .ready()
        .into_iter()
        .flat_map(|base| &base.entries)
        .map(|row| row.nodeid.as_str())
        .collect();
    for row in freezes.entries.iter().filter(|row| row.frozen) {
        if names_no_test(&row.nodeid, tree) {
            let message = "the row names no test of the merged tree, and denies coverage to each property that it could mean";
            let fix = "correct the node id, or remove the row";
            let draft = on_row(Rule::DanglingFreeze, message, fix, list, row);
            let added = !known.contains(row.nodeid.as_str());
            findings.add(if added {
                draft.effect(Effect::Refuse)
            } else {
                draft
            });
        }
    }
}

/// `sensitive-freeze`: a sensitive path changes while a freeze names it, or blocks a property that
/// a rule lists for it.
fn sensitive(case: &Case<'_>, freezes: &Freezes, findings: &mut Findings<'_>) {
    let touched: Vec<&str> = case
        .touched
        .iter()
        .map(Touched::path)
        .filter(|path| case.classes.is_sensitive(path))
        .collect();
    if touched.is_empty() {
        return;
    }
    let mut by_cover: BTreeMap<&str, Vec<&FreezeEntry>> = BTreeMap::new();
    for row in freezes.entries.iter().filter(|row| row.frozen) {
        for cover in &row.covers {
            by_cover
                .entry(cover.trim_end_matches('/'))
                .or_default()
                .push(row);
        }
    }
    let frozen = FrozenRows::new(Some(freezes), case.tree());
    let rules = case.map().map_or(&[][..], |map| map.rules.as_slice());
    let index = PrefixIndex::new(rules.iter().map(|rule| rule.path_prefix.as_str()));
    for path in touched {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let named = above
            .chain([path])
            .filter_map(|at| by_cover.get(at))
            .flatten()
            .copied();
        let listed = index
            .matching(path)
            .flat_map(|rule| &rules[rule].live_properties);
        let blocked = listed.flat_map(|property| frozen.blocking(property));
        let rows: BTreeMap<&str, &FreezeEntry> = named
            .chain(blocked)
            .map(|row| (row.nodeid.as_str(), row))
            .collect();
        for row in rows.values() {
            let message = "a test for this sensitive path is frozen; such a freeze takes no vote";
            let fix = "close the freeze first, in a pull request of its own";
            findings.add(
                Draft::new(Rule::SensitiveFreeze, message, fix)
                    .at(path)
                    .node(row.nodeid.as_str())
                    .owner(&row.owner),
            );
        }
    }
}
