//! The one comment on a pull request (interfaces section 6). PURE.

use std::collections::BTreeMap;

use super::answers::{Answer, item as item_of};
use super::document::{Document, Frame};
use super::escape::{Place, code, prose};
use super::summary::{listed, mend, place_of};
use super::voided::{self, voided};
use super::words::{headline, is_hole};
use crate::model::{
    ClassifiedChange, CommentPolicy, Coverage, Decision, Finding, Hunk, PropertyState, Rule,
    Verdict,
};

/// First line of the comment, by which it is found again. It says nothing to a reader.
pub const COMMENT_MARKER: &str = "<!-- frostline:comment:1 -->";

/// A comment holds at most 65,536 characters.
const MAX_COMMENT: usize = 65_535;
/// Hunks of one path that are listed before the rest is counted.
const HUNKS_SHOWN: usize = 8;
/// Properties of one path that are listed before the rest is counted.
const PROPERTIES_SHOWN: usize = 10;

/// The body of the one comment, hidden marker first; `None` when there is nothing to name.
pub fn comment(decision: &Decision) -> Option<String> {
    comment_with(decision, &[])
}

/// [`comment`] with answers to those who get no reply of their own; it exists for them alone too.
pub fn comment_with(decision: &Decision, answers: &[Answer]) -> Option<String> {
    let something = decision.findings.iter().any(is_named) || !voided(decision).is_empty();
    let names_something = binds(decision) && something;
    let judged = decision.verdict != Verdict::NotApplicable;
    let wanted = match decision.comments {
        CommentPolicy::Never => false,
        CommentPolicy::Holes => names_something || (judged && !answers.is_empty()),
        CommentPolicy::Always => judged,
    };
    wanted.then(|| body(decision, names_something, answers))
}

/// The comment's body once everything that it named is resolved: one line.
pub fn comment_resolved(decision: &Decision) -> String {
    format!(
        "{COMMENT_MARKER}\nResolved at `{}`: {}.\n",
        decision.head.short(),
        headline(decision)
    )
}

/// A person's pull request under `apply_to: agents` gets no comment on what does not bind it; a freeze
/// list that opens holes does, whoever brings it (protocol 5.3).
fn binds(decision: &Decision) -> bool {
    decision.verdict != Verdict::NotApplicable
        && (decision.bound || decision.verdict >= Verdict::AllowRecheck)
}

fn is_named(finding: &Finding) -> bool {
    is_hole(finding) || matches!(finding.rule, Rule::LiveSetShrank | Rule::SensitiveFreeze)
}

fn body(decision: &Decision, names_something: bool, answers: &[Answer]) -> String {
    let mut document = Document::new(MAX_COMMENT);
    document.push(COMMENT_MARKER);
    document.push("\n");
    document.paragraph(&format!("**Frostline: {}**", headline(decision)));
    if !names_something {
        document.paragraph(
            "Nothing is left to name: no hole, no shrunk live set, no sensitive freeze, no void one.",
        );
    } else {
        named(&mut document, decision);
    }
    document.rows(
        &Frame {
            head: "### Answers\n\n",
            tail: "",
            nouns: ("answer", "answers"),
        },
        100,
        answers.iter().map(item_of),
    );
    document.finish()
}

fn named(document: &mut Document, decision: &Decision) {
    let of = |wanted: fn(&Finding) -> bool| -> Vec<&Finding> {
        decision.findings.iter().filter(|f| wanted(f)).collect()
    };
    let paths = Paths::new(decision);
    let holes = of(is_hole).into_iter().map(|finding| paths.hole(finding));
    document.rows(
        &Frame {
            head: "### Production paths that no live property guards\n\n",
            tail: "",
            nouns: ("path", "paths"),
        },
        70,
        holes,
    );
    let shrunk = of(|f| f.rule == Rule::LiveSetShrank).into_iter().map(item);
    document.rows(
        &Frame {
            head: "### Still covered, by fewer properties than the map lists\n\n",
            tail: "",
            nouns: ("path", "paths"),
        },
        60,
        shrunk,
    );
    let voided = voided(decision).into_iter();
    document.rows(
        &Frame {
            head: "### Freezes that this patch voids\n\n",
            tail: "",
            nouns: ("freeze", "freezes"),
        },
        70,
        voided.map(|row| voided::item(decision, row)),
    );
    let sensitive = of(|f| f.rule == Rule::SensitiveFreeze)
        .into_iter()
        .map(item);
    document.rows(
        &Frame {
            head: "### Freezes that reach sensitive paths\n\n",
            tail: "",
            nouns: ("freeze", "freezes"),
        },
        90,
        sensitive,
    );
}

/// What the decision says of a path.
struct Paths<'a> {
    changes: BTreeMap<&'a str, &'a ClassifiedChange>,
    coverage: BTreeMap<&'a str, &'a Coverage>,
}

impl<'a> Paths<'a> {
    fn new(decision: &'a Decision) -> Self {
        let changes = decision.write_set.iter();
        let coverage = decision.coverage.iter();
        Self {
            changes: changes.map(|c| (c.path.as_str(), c)).collect(),
            coverage: coverage.map(|c| (c.path.as_str(), c)).collect(),
        }
    }

    /// The path, its hunks, the properties that do not count, and the way out.
    fn hole(&self, finding: &Finding) -> String {
        let path = finding.path.as_deref().unwrap_or("");
        let mut row = format!("- {}", code(path, Place::Line));
        if let Some(change) = self.changes.get(path).filter(|c| !c.hunks.is_empty()) {
            row.push_str(&format!(", {}", lines(&change.hunks)));
        }
        row.push_str(&format!(": {}\n", prose(&finding.message, Place::Line)));
        if let Some(coverage) = self.coverage.get(path) {
            row.push_str(&properties(coverage));
        }
        row.push_str(&mend(finding));
        row
    }
}

/// "lines 10–13 and 20".
fn lines(hunks: &[Hunk]) -> String {
    let mut shown: Vec<String> = hunks
        .iter()
        .take(HUNKS_SHOWN)
        .map(|hunk| match hunk.new_lines {
            0 => format!("after line {}", hunk.new_start),
            1 => format!("line {}", hunk.new_start),
            n => format!(
                "lines {}–{}",
                hunk.new_start,
                hunk.new_start.saturating_add(n - 1)
            ),
        })
        .collect();
    if hunks.len() > HUNKS_SHOWN {
        shown.push(format!("{} more hunks", hunks.len() - HUNKS_SHOWN));
    }
    shown.join(", ")
}

/// Each listed property that does not count, and why.
fn properties(coverage: &Coverage) -> String {
    let dead: Vec<_> = coverage
        .properties
        .iter()
        .filter(|property| property.state != PropertyState::Live)
        .collect();
    let mut text: String = dead
        .iter()
        .take(PROPERTIES_SHOWN)
        .map(|property| format!("  - {}\n", listed(property, Place::Line)))
        .collect();
    if dead.len() > PROPERTIES_SHOWN {
        text.push_str(&format!(
            "  - and {} more that do not count\n",
            dead.len() - PROPERTIES_SHOWN
        ));
    }
    text
}

fn item(finding: &Finding) -> String {
    let at = place_of(finding, Place::Line);
    let separator = if at.is_empty() { "" } else { ": " };
    format!(
        "- {at}{separator}{}\n{}",
        prose(&finding.message, Place::Line),
        mend(finding)
    )
}
