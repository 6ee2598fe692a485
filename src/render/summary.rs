//! The decision as Markdown, in the order of interfaces section 5. PURE.

use super::document::{Document, Frame};
use super::escape::{Place, code, prose};
use super::words::{HOW_TO_START, by_strength, count, opts_in, sentence, state_and_why};
use crate::model::{
    AuthorKind, ChangeStatus, Class, Coverage, DECISION_SCHEMA, Decision, Finding, FreezeRow,
    ListedProperty, PropertyState, Requirement, Says, Standing, Subject, Verdict,
};

/// Names that one cell of the coverage table lists before it counts the rest.
const NAMES_IN_A_CELL: usize = 5;

/// Everything below the title, at most `limit` bytes.
pub fn summary(decision: &Decision, limit: usize) -> String {
    let mut document = Document::new(limit);
    document.paragraph(&sentence(decision));
    if let Some(branch) = &decision.into_unguarded {
        document.paragraph(&format!(
            "{} is no guarded branch: judged as if it went into {}.",
            code(branch, Place::Line),
            code(&decision.branch, Place::Line)
        ));
    }
    if let Some(text) = decision
        .required
        .and_then(|it| unpinned(it, &decision.branch))
    {
        document.paragraph(&text);
    }
    if decision.verdict == Verdict::NotApplicable && !opts_in(decision) {
        for (number, line) in HOW_TO_START.iter().enumerate() {
            document.push(&format!("{}. {line}\n", number + 1));
        }
        document.push("\n");
        return document.finish();
    }
    review(&mut document, decision);
    table(&mut document, decision);
    coverage(&mut document, decision);
    findings(&mut document, decision);
    freezes(&mut document, decision);
    write_set(&mut document, decision);
    commits(&mut document, decision);
    document.finish()
}

/// Why the check may not hold a merge back, or that this is not known.
pub(super) fn unpinned(required: Requirement, branch: &str) -> Option<String> {
    let branch = code(branch, Place::Line);
    match required {
        Requirement::Pinned => None,
        Requirement::AnyApp => Some(format!(
            "`unpinned`: a rule of {branch} requires this check without saying that it is this App's, so that \
             another App's check-run of the same name would do. Set this App as its source."
        )),
        Requirement::NotRequired => Some(format!(
            "`unpinned`: no rule of {branch} requires this check, so that it holds no merge back."
        )),
        Requirement::Unknown => Some(format!(
            "Whether a rule of {branch} requires this check of this App is unknown: the rules could not be read."
        )),
    }
}

/// Who approved, or what is missing for it.
fn review(document: &mut Document, decision: &Decision) {
    let Some(review) = &decision.review else {
        return;
    };
    let by = code(review.by.as_deref().unwrap_or_default(), Place::Line);
    let text = match (review.standing, review.says) {
        (Standing::Approved, Some(Says::Accepted)) => format!("Accepted by {by}"),
        (Standing::Approved, _) => format!("Approved by {by}"),
        (Standing::Held, _) => format!("{by} requests changes, which holds it"),
        (Standing::Open, _) => HOW_TO_APPROVE.to_owned(),
    };
    let reason = match &review.reason {
        Some(reason) => format!(": {}", code(reason, Place::Line)),
        None => String::new(),
    };
    document.paragraph(&format!("{text}{reason}."));
    let frame = Frame {
        head: "What does not count:\n\n",
        tail: "",
        nouns: ("review", "reviews"),
    };
    let rows = review.notes.iter();
    document.rows(
        &frame,
        10,
        rows.map(|note| format!("- {}.\n", prose(note, Place::Line))),
    );
}

/// Without its full stop.
const HOW_TO_APPROVE: &str = "An approving review by somebody with write access ends this, or \
     `/frostline accept` by a maintainer: not by who brings the patch, nor by a bot or an agent, and given \
     on what is shown here";

fn table(document: &mut Document, decision: &Decision) {
    let frame = Frame {
        head: "| | step | result | detail |\n| --- | --- | --- | --- |\n",
        tail: "",
        nouns: ("step", "steps"),
    };
    let rows = decision.table.iter().map(|row| {
        let mark = if row.step == decision.decided_by.step {
            "➤"
        } else {
            ""
        };
        format!(
            "| {mark} | {}. {} | `{}` | {} |\n",
            row.step,
            prose(&row.name, Place::Cell),
            row.result,
            prose(&row.detail, Place::Cell)
        )
    });
    document.rows(&frame, 30, rows);
}

/// Holes come first, so that a limit takes the covered paths.
fn coverage(document: &mut Document, decision: &Decision) {
    let mut paths: Vec<&Coverage> = decision.coverage.iter().collect();
    paths.sort_by_key(|coverage| !is_hole(coverage));
    let frame = Frame {
        head: "### Coverage by production path\n\n\
               | path | rule | live / listed | missing |\n| --- | --- | --- | --- |\n",
        tail: "",
        nouns: ("production path", "production paths"),
    };
    let names_all = decision.freezes.is_some();
    let rows = paths
        .into_iter()
        .map(|coverage| coverage_row(coverage, names_all));
    document.rows(&frame, 45, rows);
}

/// Has this path too few live properties?
pub fn is_hole(coverage: &Coverage) -> bool {
    coverage.live < coverage.min_live
}

/// `names_all`: rules and listed properties are not left out, so their number says something.
fn coverage_row(coverage: &Coverage, names_all: bool) -> String {
    let (rules, listed) = match names_all {
        true => (
            names(coverage.rules.iter().map(String::as_str)),
            coverage.properties.len().to_string(),
        ),
        false => ("not shown".to_owned(), "not shown".to_owned()),
    };
    format!(
        "| {} | {} | {} / {} | {} |\n",
        code(&coverage.path, Place::Cell),
        rules,
        coverage.live,
        listed,
        missing(coverage, names_all)
    )
}

fn names<'a>(mut all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let rest = all.len().saturating_sub(NAMES_IN_A_CELL);
    let mut shown: Vec<String> = all
        .by_ref()
        .take(NAMES_IN_A_CELL)
        .map(|name| code(name, Place::Cell))
        .collect();
    match rest {
        0 if shown.is_empty() => return "none".to_owned(),
        0 => {}
        n => shown.push(format!("{n} more")),
    }
    shown.join(", ")
}

fn missing(coverage: &Coverage, names_all: bool) -> String {
    if names_all && coverage.rules.is_empty() {
        return "a map rule".to_owned();
    }
    if !is_hole(coverage) {
        return "nothing".to_owned();
    }
    let needed = coverage.min_live.saturating_sub(coverage.live);
    let dead: Vec<String> = coverage
        .properties
        .iter()
        .filter(|property| property.state != PropertyState::Live)
        .take(NAMES_IN_A_CELL)
        .map(|property| listed(property, Place::Cell))
        .collect();
    let text = count(needed, "live property", "live properties");
    if dead.is_empty() {
        text
    } else {
        format!("{text}: {}", dead.join("; "))
    }
}

/// A property and why it counts or does not.
pub fn listed(property: &ListedProperty, place: Place) -> String {
    format!(
        "{} · {}",
        code(&property.nodeid, place),
        prose(&state_and_why(property), place)
    )
}

fn findings(document: &mut Document, decision: &Decision) {
    let frame = Frame {
        head: "### Findings\n\n",
        tail: "",
        nouns: ("finding", "findings"),
    };
    document.rows(
        &frame,
        70,
        by_strength(decision).into_iter().map(finding_row),
    );
}

/// `path:line` of a finding, in code; empty for a finding about no path.
pub fn place_of(finding: &Finding, place: Place) -> String {
    match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{} line {line}", code(path, place)),
        (Some(path), None) => code(path, place),
        (None, _) => String::new(),
    }
}

/// How to mend a finding, as an item below the finding's own; empty when there is nothing to say.
pub fn mend(finding: &Finding) -> String {
    if finding.fix.is_empty() {
        String::new()
    } else {
        format!("  - *Mend:* {}\n", prose(&finding.fix, Place::Line))
    }
}

/// A finding as an item of a list, with how to mend it.
pub fn finding_row(finding: &Finding) -> String {
    let mut row = format!("- **{}** `{}`", finding.effect, finding.rule);
    let at = place_of(finding, Place::Line);
    if !at.is_empty() {
        row.push_str(" · ");
        row.push_str(&at);
    }
    if let Some(nodeid) = &finding.nodeid {
        row.push_str(" · ");
        row.push_str(&code(nodeid, Place::Line));
    }
    if let Some(owner) = &finding.owner {
        row.push_str(" · owner ");
        row.push_str(&code(owner, Place::Line));
    }
    row.push_str(" · ");
    row.push_str(&prose(&finding.message, Place::Line));
    row.push('\n');
    row.push_str(&mend(finding));
    row
}

fn freezes(document: &mut Document, decision: &Decision) {
    let touching: Vec<&FreezeRow> = decision
        .freezes
        .iter()
        .flatten()
        .filter(|row| row.touches_patch)
        .collect();
    let frame = Frame {
        head: "### Freezes that touch this patch\n\n\
               | test | state | owner | since | list | reason |\n| --- | --- | --- | --- | --- | --- |\n",
        tail: "",
        nouns: ("freeze", "freezes"),
    };
    let optional = |text: &Option<String>| {
        text.as_deref()
            .map_or_else(|| "not said".to_owned(), |text| code(text, Place::Cell))
    };
    let rows = touching.into_iter().map(|row| {
        format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            code(&row.nodeid, Place::Cell),
            state(row),
            optional(&row.owner),
            optional(&row.opened_at),
            code(&row.source, Place::Cell),
            code(&row.reason, Place::Cell),
        )
    });
    document.rows(&frame, 60, rows);
}

/// The state, and why it is in it.
fn state(row: &FreezeRow) -> String {
    match row.why.as_str() {
        "" => row.state.to_string(),
        why => format!("{}: {}", row.state, code(why, Place::Cell)),
    }
}

fn write_set(document: &mut Document, decision: &Decision) {
    let mut changes: Vec<_> = decision.write_set.iter().collect();
    changes.sort_by_key(|change| change.class);
    let head = format!(
        "<details>\n<summary>Write-set: {}</summary>\n\n",
        classes(decision)
    );
    let frame = Frame {
        head: &head,
        tail: "\n</details>\n",
        nouns: ("path", "paths"),
    };
    let rows = changes.into_iter().map(|change| {
        let from = change.old_path.as_deref().map_or_else(String::new, |old| {
            format!(" from {}", code(old, Place::Line))
        });
        format!(
            "- {} · {} · {}{from}\n",
            change.class,
            status_name(change.status),
            code(&change.path, Place::Line)
        )
    });
    document.rows(&frame, 80, rows);
}

/// What happened to a path.
pub fn status_name(status: ChangeStatus) -> &'static str {
    match status {
        ChangeStatus::Added => "added",
        ChangeStatus::Removed => "removed",
        ChangeStatus::Modified => "modified",
        ChangeStatus::Renamed => "renamed",
        ChangeStatus::TypeChanged => "type changed",
    }
}

/// "1 fixture, 2 production files".
pub fn classes(decision: &Decision) -> String {
    let counts: Vec<String> = Class::ALL
        .iter()
        .filter_map(|class| {
            let of_class = decision.write_set.iter().filter(|c| c.class == *class);
            match of_class.count() {
                0 => None,
                n => Some(class.counted(n)),
            }
        })
        .collect();
    if counts.is_empty() {
        "no path".to_owned()
    } else {
        counts.join(", ")
    }
}

fn commits(document: &mut Document, decision: &Decision) {
    if decision.subject == Subject::Audit {
        document.push("<details>\n<summary>Commit and versions</summary>\n\n");
        document.push(&format!("- audited `{}`\n", decision.head));
        document.push(&format!("{}\n</details>\n", versions()));
        return;
    }
    let head = match decision.subject {
        Subject::WorkTree => "work tree",
        _ => "head",
    };
    let merge_base = decision
        .merge_base
        .as_ref()
        .map_or_else(|| "unknown".to_owned(), |sha| format!("`{sha}`"));
    document.push("<details>\n<summary>Commits and versions</summary>\n\n");
    document.push(&format!("- base `{}`\n", decision.base));
    document.push(&format!("- merge base {merge_base}\n"));
    document.push(&format!("- {head} `{}`\n", decision.head));
    document.push(&format!(
        "- judged by the contract of {}\n",
        code(&decision.branch, Place::Line)
    ));
    document.push(&format!(
        "- author: {}, {}\n",
        author_kind(decision),
        prose(&decision.author.evidence, Place::Line)
    ));
    document.push(&format!("{}\n</details>\n", versions()));
}

fn versions() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("- frostline {version}, {DECISION_SCHEMA}\n")
}

/// "agent" or "person".
pub fn author_kind(decision: &Decision) -> &'static str {
    match decision.author.kind {
        AuthorKind::Agent => "agent",
        AuthorKind::Person => "person",
    }
}
