//! The rows that take votes away: those that are void or no freeze, name no test, are bound to no digest, or
//! are about sensitive paths. PURE.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::case::{Case, Touched};
use crate::gate::findings::{Draft, Findings};
use crate::gate::frozen::FrozenRows;
use crate::gate::prefixes::PrefixIndex;
use crate::gate::reading::Judge;
use crate::gate::rows::{Row, Rows, Target};
use crate::model::{Effect, FreezeState, Layer, Rule};

pub fn check(case: &Case<'_>, rows: &mut Rows<'_>, findings: &mut Findings<'_>) {
    for at in sensitive(case, rows, findings) {
        rows.list[at].is_sensitive = true;
    }
    for row in &rows.list {
        if let Some(why) = &row.unknown {
            let message = format!("could not be had whole: {why}");
            let fix = "make the object available, then evaluate again";
            findings.add(Draft::new(Rule::Undetermined, message, fix));
        }
        if row.dangles() {
            continue;
        }
        match row.state {
            FreezeState::Open => {}
            FreezeState::Unbound => unbound(row, findings),
            FreezeState::Void | FreezeState::Expired => void(row, findings),
            FreezeState::Invalid => invalid(row, findings),
        }
    }
    dangling(case, rows, findings);
}

fn on_row(rule: Rule, message: &str, fix: &str, row: &Row<'_>) -> Draft {
    let draft = Draft::new(rule, message, fix)
        .at(row.file)
        .line(Some(row.line))
        .node(row.nodeid.as_str());
    match row.owner {
        Some(owner) => draft.owner(owner),
        None => draft,
    }
}

fn unbound(row: &Row<'_>, findings: &mut Findings<'_>) {
    let message =
        "the freeze is bound to no fixture digest, so it does not say which input it is about";
    let fix = match row.layer {
        Layer::FrozenTests => {
            "give the test a row with `fixture_digest` in the seed ledger (`frostline digest` prints it), or mend it and write its cause in the note"
        }
        _ => {
            "add `fixture_digest` to the row (`frostline digest` prints it), or set `frozen: false`"
        }
    };
    findings.add(on_row(Rule::UnboundFreeze, message, fix, row));
}

/// `void-freeze`.
fn void(row: &Row<'_>, findings: &mut Findings<'_>) {
    let digests = match (row.recorded, &row.current) {
        (Some(recorded), Some(current)) if recorded != current => {
            format!("; it records {recorded}, and the merged tree has {current}")
        }
        _ => String::new(),
    };
    let message = format!(
        "the freeze is void, so its test votes again and gives no coverage: {}{digests}",
        row.why
    );
    let who = row.owner.unwrap_or("a maintainer");
    let node = &row.nodeid;
    let reopen = match row.layer {
        Layer::Ledger | Layer::Freezes => format!("writes `/frostline reopen {node}`"),
        _ => format!("binds the row in {} to the new digest", row.file),
    };
    let bytes = match row.state {
        FreezeState::Void => "; or restore the bytes",
        _ => "",
    };
    let fix =
        format!("{who} {reopen}, with evidence on it, or writes `/frostline close {node}`{bytes}");
    findings.add(on_row(Rule::VoidFreeze, &message, &fix, row));
}

/// `invalid-freeze`.
fn invalid(row: &Row<'_>, findings: &mut Findings<'_>) {
    let message = format!(
        "the row is no freeze, so its test votes and gives no coverage: {}",
        row.why
    );
    let fix = "complete the row, or remove it, in a pull request of its own";
    let draft = on_row(Rule::InvalidFreeze, &message, fix, row);
    // A row that waits for evidence takes no vote, and may be added.
    findings.add(match row.is_added && !row.is_candidate {
        true => draft.effect(Effect::Refuse),
        false => draft,
    });
}

fn dangling(case: &Case<'_>, rows: &Rows<'_>, findings: &mut Findings<'_>) {
    let all: Vec<&Row<'_>> = rows.list.iter().filter(|row| row.dangles()).collect();
    if all.is_empty() {
        return;
    }
    let base = Rows::new(case, Judge::BaseTip);
    let known: BTreeSet<(Layer, &str)> = base
        .list
        .iter()
        .map(|row| (row.layer, row.nodeid.as_str()))
        .collect();
    for row in all {
        let what = match row.target {
            Target::NoTest => "the row's file is in the merged tree and holds no such test",
            _ => "the row names no test of the merged tree",
        };
        let message = format!("{what}, so it denies coverage to each property that it could mean");
        let fix = "correct the node id, or remove the row";
        let draft = on_row(Rule::DanglingFreeze, &message, fix, row);
        let added = !known.contains(&(row.layer, row.nodeid.as_str()));
        findings.add(match added {
            true => draft.effect(Effect::Refuse),
            false => draft,
        });
    }
}

/// `sensitive-freeze`: a sensitive path changes while a freeze names it, or blocks a property that
/// a rule lists for it. Gives the rows' positions.
fn sensitive(case: &Case<'_>, rows: &Rows<'_>, findings: &mut Findings<'_>) -> BTreeSet<usize> {
    let touched: Vec<&str> = case
        .touched
        .iter()
        .map(Touched::path)
        .filter(|path| case.classes.is_sensitive(path))
        .collect();
    let mut all = BTreeSet::new();
    if touched.is_empty() {
        return all;
    }
    let mut by_cover: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.list.iter().enumerate() {
        for cover in row.covers {
            let cover = cover.trim_end_matches('/');
            by_cover.entry(cover).or_default().push(at);
        }
    }
    let frozen = FrozenRows::new(&rows.list);
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
        let blocked = listed.flat_map(|property| frozen.positions(property));
        let found: BTreeSet<usize> = named.chain(blocked).collect();
        let by_node: BTreeMap<&str, &Row<'_>> = found
            .iter()
            .map(|at| (rows.list[*at].nodeid.as_str(), &rows.list[*at]))
            .collect();
        for row in by_node.values() {
            let message = "a test for this sensitive path is frozen; such a freeze takes no vote";
            let fix = "close the freeze first, in a pull request of its own";
            let draft = on_row(Rule::SensitiveFreeze, message, fix, row);
            findings.add(draft.at(path).line(None));
        }
        all.extend(found);
    }
    all
}
