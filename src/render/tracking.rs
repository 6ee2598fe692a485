//! The one issue that says what an audit found (protocol 5.6, 7). PURE.
//!
//! Invariant: the text depends on what was found alone, not on when it was looked for, so that it is written
//! again only when something changed.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::document::{Document, Frame};
use super::escape::{Place, code, prose};
use super::voided::owner;
use crate::gate::numbers::{OVERDUE, RowKey, keyed};
use crate::model::{Decision, Finding, FreezeRow, FreezeState, Rule};

/// First line of the issue, by which it is found again. It says nothing to a reader.
pub const TRACKING_MARKER: &str = "<!-- frostline:audit:1 -->";
pub const TRACKING_TITLE: &str = "Frostline: what the contract leaves unguarded";

/// An issue holds at most 65,536 characters.
const MAX_ISSUE: usize = 65_535;

const INTRODUCTION: &str = "The audit of the default branch judges it by its own contract, as if every \
    production path changed at once. This issue is kept up to date, closed when nothing is left, and opened \
    again when there is something new; closed by hand, it stays closed until then. `audit: {issue: false}` in `.github/frostline.yml` switches it off.";

/// The body, hidden marker first; `None` when there is nothing to say. `since`: since when each void row is,
/// by its key.
pub fn tracking(
    decision: &Decision,
    since: &BTreeMap<RowKey, DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Option<String> {
    let of = |rules: &[Rule]| -> Vec<&Finding> {
        let findings = decision.findings.iter();
        findings.filter(|one| rules.contains(&one.rule)).collect()
    };
    let holes = of(&[Rule::CoverageHole, Rule::UnmappedPath]);
    let rules = of(&[Rule::UnusedRule, Rule::DeadPrefix]);
    let (mut overdue, mut expired) = (Vec::new(), Vec::new());
    for (key, row) in keyed(decision.freezes.as_deref().unwrap_or_default()) {
        let since = since.get(&key).copied();
        match row.state {
            FreezeState::Expired => expired.push((row, since)),
            FreezeState::Void if since.is_some_and(|at| now - at >= OVERDUE) => {
                overdue.push((row, since));
            }
            _ => {}
        }
    }
    if holes.is_empty() && rules.is_empty() && overdue.is_empty() && expired.is_empty() {
        return None;
    }
    let mut document = Document::new(MAX_ISSUE);
    document.push(TRACKING_MARKER);
    document.push("\n");
    document.paragraph(INTRODUCTION);
    let mut list = |head: &str, nouns, items: Vec<String>| {
        let frame = Frame {
            head: &format!("### {head}\n\n"),
            tail: "",
            nouns,
        };
        document.rows(&frame, 50, items.into_iter());
    };
    list(
        "Rows that have been void for 14 days or more",
        ("void row", "void rows"),
        overdue.into_iter().map(row_item).collect(),
    );
    list(
        "Expired rows",
        ("expired row", "expired rows"),
        expired.into_iter().map(row_item).collect(),
    );
    list(
        "Production paths that nothing live guards",
        ("path", "paths"),
        holes.into_iter().map(finding_item).collect(),
    );
    list(
        "Rules of the map that guard nothing",
        ("rule", "rules"),
        rules.into_iter().map(finding_item).collect(),
    );
    Some(document.finish())
}

/// The body once nothing is left.
pub fn tracking_clean() -> String {
    format!(
        "{TRACKING_MARKER}\n{INTRODUCTION}\n\nNothing is left: the newest audit found none of it.\n"
    )
}

fn row_item((row, since): (&FreezeRow, Option<DateTime<Utc>>)) -> String {
    let node = code(&row.nodeid, Place::Line);
    let since = since.map_or(String::new(), |at| {
        format!(", since {}", at.format("%Y-%m-%d"))
    });
    format!(
        "- {node}, owned by {}, in {}{since}: {}\n",
        owner(row.owner.as_deref()),
        code(&row.source, Place::Line),
        prose(&row.why, Place::Line),
    )
}

fn finding_item(finding: &Finding) -> String {
    let place = finding.path.as_deref().unwrap_or("the contract");
    format!(
        "- {}: {}. *Mend:* {}\n",
        code(place, Place::Line),
        prose(&finding.message, Place::Line),
        prose(&finding.fix, Place::Line)
    )
}
