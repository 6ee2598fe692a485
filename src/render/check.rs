//! The check-run's texts (interfaces section 5). PURE.

use super::escape::{Place, prose, visible};
use super::lines::Lines;
use super::words::{self, by_strength, is_hole, nouns};
use super::{Annotation, AnnotationLevel, CheckOutput, summary};
use crate::model::{Decision, Effect, Finding, Rule};

/// The forge's limit is 65,535 characters; counted in bytes it holds however characters are counted.
const MAX_SUMMARY: usize = 65_535;
/// Room in it for what is said of annotations.
const ROOM_FOR_NOTES: usize = 400;
/// Annotations of one check-run: twenty requests. Nobody reads more, and the forge counts requests.
const MOST_ANNOTATIONS: usize = 1_000;
/// Limits of the forge on an annotation, in characters and bytes.
const MAX_ANNOTATION_TITLE: usize = 255;
const MAX_ANNOTATION_MESSAGE: usize = 60_000;

/// The check-run's texts.
pub fn check_run(decision: &Decision) -> CheckOutput {
    let mut annotations = annotations(decision);
    let beyond = annotations.len().saturating_sub(MOST_ANNOTATIONS);
    annotations.truncate(MOST_ANNOTATIONS);
    let mut summary = summary::summary(decision, MAX_SUMMARY - ROOM_FOR_NOTES);
    if beyond > 0 {
        let further = words::count(beyond, "further place has", "further places have");
        summary.push_str(&format!(
            "\n{further} no annotation on the files: the first {MOST_ANNOTATIONS} have one.\n"
        ));
    }
    CheckOutput {
        title: words::headline(decision),
        summary,
        annotations,
        offers_reopen: decision
            .findings
            .iter()
            .any(|finding| finding.rule == Rule::VoidFreeze),
        offers_lock: decision.findings.iter().any(|finding| {
            matches!(
                finding.rule,
                Rule::DigestMismatch | Rule::MissingFixture | Rule::UnlockedFixture
            )
        }),
    }
}

/// Adds to the summary that the forge refused some annotations.
pub fn note_refused(output: &mut CheckOutput, refused: usize) {
    let some = words::count(refused, "annotation", "annotations");
    output.summary.push_str(&format!(
        "\nThe forge refused {some} on the files; what they say stands above.\n"
    ));
}

/// The texts of a check-run for an evaluation that could not be made; `reason` is one sentence.
pub fn could_not_evaluate(reason: &str) -> CheckOutput {
    CheckOutput {
        title: "Could not evaluate".to_owned(),
        summary: format!(
            "The gate could not judge this patch, and it never passes by accident.\n\n\
             Reason: {}\n\n\
             Press *Re-check*, or comment `/frostline recheck`, to have it evaluated again.\n",
            prose(reason, Place::Line)
        ),
        annotations: Vec::new(),
        offers_lock: false,
        offers_reopen: false,
    }
}

/// One for each hole, mismatch and unreadable contract file; holes first. None for a person's pull
/// request that the gate does not bind.
fn annotations(decision: &Decision) -> Vec<Annotation> {
    if !decision.bound {
        return Vec::new();
    }
    let mut findings: Vec<&Finding> = by_strength(decision)
        .into_iter()
        .filter(|finding| {
            is_hole(finding)
                || matches!(
                    finding.rule,
                    Rule::DigestMismatch | Rule::ContractUnreadable
                )
        })
        .collect();
    findings.sort_by_key(|finding| !is_hole(finding));
    let lines = Lines::new(decision);
    findings
        .into_iter()
        .filter_map(|finding| annotation(decision, finding, &lines))
        .collect()
}

fn annotation(decision: &Decision, finding: &Finding, lines: &Lines<'_>) -> Option<Annotation> {
    let path = finding.path.clone()?;
    let (start_line, end_line) = lines.of(finding).unwrap_or((1, 1));
    let mut message = visible(&finding.message);
    if !finding.fix.is_empty() {
        message.push_str("\n\nMend: ");
        message.push_str(&visible(&finding.fix));
    }
    let further = lines.further_hunks(finding);
    if further > 0 {
        message.push_str(&format!(
            "\n\nThe patch has {} in this file.",
            words::count(further, "further hunk", "further hunks")
        ));
    }
    Some(Annotation {
        path,
        start_line,
        end_line,
        level: level(decision, finding.effect),
        title: title(finding.rule),
        message: shorten(&message, MAX_ANNOTATION_MESSAGE),
    })
}

fn level(decision: &Decision, effect: Effect) -> AnnotationLevel {
    match effect {
        Effect::Refuse if decision.observe => AnnotationLevel::Warning,
        Effect::Refuse => AnnotationLevel::Failure,
        Effect::HumanReview | Effect::AllowRecheck => AnnotationLevel::Warning,
        Effect::Notice => AnnotationLevel::Notice,
    }
}

/// "Coverage hole".
pub fn title(rule: Rule) -> String {
    let (one, _) = nouns(rule);
    let mut chars = one.chars();
    let title: String = chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    });
    shorten(&title, MAX_ANNOTATION_TITLE)
}

/// At most `max` bytes, ending with the number of characters that were left out.
pub fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max.saturating_sub(48);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!(
        "{}… (and {} characters more)",
        &text[..end],
        text[end..].chars().count()
    )
}
