//! Answers to commands. PURE.

use super::escape::{Place, code, prose};
use super::summary::{author_kind, finding_row, listed, status_name};
use super::words::{by_strength_of, count, headline, sentence, state_and_why};
use crate::command::COMMANDS;
use crate::model::{Coverage, Decision, Finding, FreezeRow, ListedProperty, Sha};

/// Findings, and properties of a path, that one answer names before it counts the rest.
const NAMED: usize = 10;
/// An answer is cut here; bytes.
const MAX_ANSWER: usize = 8_000;
/// Start of the hidden first line of a reply, by which it is found again.
const REPLY_MARKER: &str = "<!-- frostline:reply:";

/// The commands, as a table.
pub fn help() -> String {
    let mut text = "| command | for | what it does |\n| --- | --- | --- |\n".to_owned();
    for row in COMMANDS {
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            code(&row.usage(), Place::Cell),
            row.who.words(),
            prose(row.help, Place::Cell)
        ));
    }
    text.push_str(
        "\nA command is the first line of a new comment; up to five may follow each other.\n",
    );
    text
}

/// How the pull request stands at `head`. `decision` is the newest one of it.
pub fn status(decision: Option<&Decision>, head: &Sha) -> String {
    let Some(decision) = decision.filter(|decision| decision.head == *head) else {
        return not_judged(head);
    };
    let mut text = format!(
        "**{}**\n\n{}\n\n- Head {}, judged by the contract of {} at {}.\n- Author: {}, {}.\n",
        headline(decision),
        sentence(decision),
        code(head.short(), Place::Line),
        code(&decision.branch, Place::Line),
        code(decision.base.short(), Place::Line),
        author_kind(decision),
        prose(&decision.author.evidence, Place::Line),
    );
    text.push_str(&findings(&decision.findings.iter().collect::<Vec<_>>()));
    cut(text)
}

fn not_judged(head: &Sha) -> String {
    format!(
        "Head {} has not been judged yet; the check-run appears on it when it has.\n",
        code(head.short(), Place::Line)
    )
}

/// What the decision says of a path or a node id, and whether it says anything.
pub fn explain(decision: Option<&Decision>, head: &Sha, subject: &str) -> (bool, String) {
    let Some(decision) = decision.filter(|decision| decision.head == *head) else {
        return (false, not_judged(head));
    };
    let known = path(decision, subject).or_else(|| node(decision, subject));
    let shown = code(subject, Place::Line);
    match known {
        Some(text) => (true, cut(format!("{shown}: {text}"))),
        None => (
            false,
            format!(
                "{shown} is no path that this pull request changes, and no property or freeze that the \
                 decision rests on.\n"
            ),
        ),
    }
}

fn path(decision: &Decision, subject: &str) -> Option<String> {
    let change = decision.write_set.iter().find(|c| c.path == subject)?;
    let mut text = format!(
        "{} here, of class `{}`.\n",
        status_name(change.status),
        change.class
    );
    if let Some(coverage) = decision.coverage.iter().find(|c| c.path == subject) {
        text.push_str(&covered(coverage));
    }
    let of_path = |finding: &&Finding| finding.path.as_deref() == Some(subject);
    let own: Vec<&Finding> = decision.findings.iter().filter(of_path).collect();
    if own.is_empty() {
        text.push_str("- Nothing was found about it.\n");
    }
    text.push_str(&findings(&own));
    Some(text)
}

fn covered(coverage: &Coverage) -> String {
    let rules: Vec<String> = coverage
        .rules
        .iter()
        .take(NAMED)
        .map(|rule| code(rule, Place::Line))
        .collect();
    let mut text = match rules.is_empty() {
        true => "- No rule of the map matches it.\n".to_owned(),
        false => format!(
            "- Guarded by the map's {}: {}, {} needed.\n",
            rules.join(", "),
            count(coverage.live, "live property", "live properties"),
            coverage.min_live
        ),
    };
    let properties = coverage.properties.iter().take(NAMED);
    text.extend(properties.map(|property| format!("  - {}\n", listed(property, Place::Line))));
    text.push_str(&more(coverage.properties.len(), "  - "));
    text
}

fn node(decision: &Decision, subject: &str) -> Option<String> {
    let named = |property: &&ListedProperty| property.nodeid == subject;
    let guarded: Vec<(&Coverage, &ListedProperty)> = decision
        .coverage
        .iter()
        .filter_map(|coverage| Some((coverage, coverage.properties.iter().find(named)?)))
        .collect();
    let rows: Vec<&FreezeRow> = decision
        .freezes
        .iter()
        .flatten()
        .filter(|row| row.nodeid == subject)
        .collect();
    if guarded.is_empty() && rows.is_empty() {
        return None;
    }
    let mut text = String::new();
    if let Some((_, property)) = guarded.first() {
        text.push_str(&format!(
            "a property, {}, listed for {}.\n",
            prose(&state_and_why(property), Place::Line),
            count(guarded.len(), "changed path", "changed paths")
        ));
        let paths = guarded.iter().take(NAMED);
        text.extend(
            paths.map(|(coverage, _)| format!("- {}\n", code(&coverage.path, Place::Line))),
        );
        text.push_str(&more(guarded.len(), "- "));
    } else {
        text.push_str("no property of a changed path.\n");
    }
    for row in rows.iter().take(NAMED) {
        text.push_str(&format!(
            "- A row in {}, {}{}: {}{}\n",
            code(&row.source, Place::Line),
            row.state,
            match row.why.as_str() {
                "" => String::new(),
                why => format!(" ({})", prose(why, Place::Line)),
            },
            prose(&row.reason, Place::Line),
            match &row.owner {
                Some(owner) => format!(", owned by {}", code(owner, Place::Line)),
                None => String::new(),
            }
        ));
    }
    Some(text)
}

fn findings(all: &[&Finding]) -> String {
    let shown = by_strength_of(all.to_vec());
    let mut text: String = shown.iter().take(NAMED).map(|f| finding_row(f)).collect();
    text.push_str(&more(all.len(), "- "));
    text
}

fn more(total: usize, bullet: &str) -> String {
    match total.saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!("{bullet}and {rest} more\n"),
    }
}

/// Whole lines only, so that no code span is cut open.
fn cut(text: String) -> String {
    if text.len() <= MAX_ANSWER {
        return text;
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > MAX_ANSWER {
            break;
        }
        kept.push_str(line);
    }
    kept.push_str("\nThe check-run has the rest.\n");
    kept
}

/// What came of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Login of who asked.
    pub by: String,
    /// The line as it was written.
    pub command: String,
    /// Markdown, ready to be shown.
    pub text: String,
}

/// The hidden line by which a reply is found again: to a comment, or else to the ask that a button made.
pub fn reply_marker(comment: Option<u64>, ask: i64) -> String {
    match comment {
        Some(comment) => format!("{REPLY_MARKER}{comment} -->"),
        None => format!("{REPLY_MARKER}button-{ask} -->"),
    }
}

/// A reply that begins with its marker.
pub fn reply(marker: &str, answers: &[Answer]) -> String {
    let items: String = answers.iter().map(item).collect();
    format!("{marker}\n{}\n", items.trim_end())
}

/// Each command with its answer, as an item for itself.
pub(super) fn item(answer: &Answer) -> String {
    format!(
        "{} by {}:\n\n{}\n\n",
        code(&answer.command, Place::Line),
        code(&answer.by, Place::Line),
        answer.text.trim_end()
    )
}

/// A sentence that may quote a repository or a forge, as an answer.
pub fn told(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    let text: String = first.chain(chars).collect();
    format!("{}.\n", prose(&text, Place::Line))
}
