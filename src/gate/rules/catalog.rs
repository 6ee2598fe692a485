//! The catalog against the merged tree, and what a changed fixture is told by (protocol 3.6 and 5.2). PURE.

use crate::gate::case::Case;
use crate::gate::findings::{Draft, Findings};
use crate::model::{Class, Rule};

pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    broken(case, findings);
    notes(case, findings);
}

/// `catalog-broken`: a glob of the catalog that matches no file.
fn broken(case: &Case<'_>, findings: &mut Findings<'_>) {
    let catalog = &case.reading.catalog;
    let (Some(rows), Some(tree)) = (catalog.of(case.judge).ready(), case.tree()) else {
        return;
    };
    for row in &rows.properties {
        for glob in &row.fixtures {
            let draft = match tree.globs.get(glob) {
                Some(true) => continue,
                Some(false) => Draft::new(
                    Rule::CatalogBroken,
                    format!(
                        "the property {} reads {glob}, and no file of the merged tree matches that",
                        row.property_id
                    ),
                    "restore the fixture, or correct the catalog in a pull request of its own",
                )
                .at(&catalog.path)
                .line(Some(row.line))
                .node(row.nodeid.as_str())
                .owner(&row.owner),
                None => Draft::new(
                    Rule::Undetermined,
                    format!("could not be had whole: which files {glob} of the catalog matches"),
                    "make the catalog's globs begin with a folder, then evaluate again",
                ),
            };
            findings.add(draft);
        }
    }
}

/// `fixture-note-missing`: a fixture has other bytes, and nobody wrote down why.
fn notes(case: &Case<'_>, findings: &mut Findings<'_>) {
    if case.is_audit() {
        return;
    }
    let scopes = &case.snapshot.scopes;
    let changed = case.of(Class::Fixture).filter(|touched| {
        let change = touched.change;
        let ids = (change.base.as_ref(), change.merged.as_ref());
        matches!(ids, (before, Some(after)) if before.is_none_or(|before| before.id != after.id))
    });
    for touched in changed {
        if scopes.notes.contains_key(touched.path()) {
            continue;
        }
        let message = match &scopes.notes_unread {
            Some(why) => {
                format!("a fixture changes, and the behavior notes could not be read: {why}")
            }
            None => "a fixture changes, and no behavior note names its path and its new digest"
                .to_owned(),
        };
        let fix = "a person writes a note under docs/behavior that says why, with the fixture's path and its SHA-256 (`frostline digest --files` prints it)";
        findings.add(Draft::new(Rule::FixtureNoteMissing, message, fix).at(touched.path()));
    }
}
