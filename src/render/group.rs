//! The check-run of a merge group (protocol 5.5). PURE.

use super::CheckOutput;
use super::document::{Document, Frame};
use super::escape::{Place, code, prose};
use super::summary::{author_kind, finding_row, unpinned};
use super::words::{HOW_TO_START, by_strength, count, headline, sentence};
use crate::model::{Decision, ForeignCheck, MergeGroup, PrNumber, Requirement, Verdict};

/// Below the forge's limit of 65,535 characters, counted in bytes.
const MAX_SUMMARY: usize = 65_000;

/// Members whose findings are named: each takes room for its heading, whatever fits below it.
const MOST_DETAILED: usize = 20;

/// What is said of a merge group.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    pub group: &'a MergeGroup,
    pub opted_in: bool,
    /// Nothing is blocked.
    pub observe: bool,
    /// Each member by its number, with its verdict on the group's tree.
    pub members: &'a [(PrNumber, Decision)],
    /// What could not be accounted for; a sentence each.
    pub unresolved: &'a [String],
    /// Other Apps' check-runs under our name on its head.
    pub foreign: &'a [ForeignCheck],
    /// What the rules of its branch say of the check, where that was asked.
    pub required: Option<Requirement>,
}

/// The check-run's texts.
pub fn group(group: &Group<'_>) -> CheckOutput {
    let title = title(group);
    let mut text = Document::new(MAX_SUMMARY);
    if !group.opted_in {
        text.paragraph("The default branch holds no Frostline contract, so nothing is judged.");
        for line in HOW_TO_START {
            text.push(&format!("- {line}\n"));
        }
    } else {
        text.paragraph(
            "Each member of the merge group is judged with its own changes on the group's tree, by the \
             contract at the group's base. The group takes the strongest verdict.",
        );
        let branch = &group.group.branch;
        if let Some(why) = group.required.and_then(|it| unpinned(it, branch)) {
            text.paragraph(&why);
        }
        foreign(&mut text, group.foreign);
        unresolved(&mut text, group.unresolved);
        members(&mut text, group.members);
        findings(&mut text, group.members);
    }
    let MergeGroup {
        head, base, branch, ..
    } = group.group;
    text.push(&format!(
        "\nGroup head {} on {} at {}.\n",
        code(head.short(), Place::Line),
        code(branch, Place::Line),
        code(base.short(), Place::Line)
    ));
    CheckOutput {
        title,
        summary: text.finish(),
        annotations: Vec::new(),
        offers_lock: false,
        offers_reopen: false,
    }
}

fn title(group: &Group<'_>) -> String {
    if !group.opted_in {
        return "Nothing is judged: no Frostline contract".to_owned();
    }
    let [refused, waiting, passed] = match group.observe {
        true => ["would refuse", "would need human review", "would pass"],
        false => ["Refused", "Needs human review", "Passed"],
    };
    if !group.foreign.is_empty() {
        let what = count(group.foreign.len(), "check-run", "check-runs");
        return format!("{refused}: {what} of another App under our name");
    }
    if !group.unresolved.is_empty() {
        let what = count(group.unresolved.len(), "part", "parts");
        return format!("{refused}: {what} of the merge group can't be accounted for");
    }
    match group.members {
        [] => format!("{refused}: the merge group has no member"),
        [(number, decision)] => format!("Pull request {number}: {}", headline(decision)),
        members => {
            let verdicts = members.iter().filter(|(_, member)| !member.is_approved());
            let verdicts: Vec<Verdict> = verdicts.map(|(_, member)| member.verdict).collect();
            let of = |verdict| verdicts.iter().filter(|of| **of == verdict).count();
            let all = members.len();
            match (of(Verdict::Refuse), of(Verdict::HumanReview)) {
                (0, 0) => format!("{passed}: {all} pull requests"),
                (0, n) => format!("{waiting}: {n} of {all} pull requests"),
                (n, _) => format!("{refused}: {n} of {all} pull requests"),
            }
        }
    }
}

fn foreign(text: &mut Document, foreign: &[ForeignCheck]) {
    let frame = Frame {
        head: "**`foreign-check`: what could be taken for this check**\n\n",
        tail: "",
        nouns: ("check-run", "check-runs"),
    };
    let rows = foreign.iter().map(|one| {
        format!(
            "- the App {} (id {}) has a check-run named {} on the group's head\n",
            code(&one.app, Place::Line),
            one.app_id,
            code(&one.name, Place::Line)
        )
    });
    text.rows(&frame, 20, rows);
}

fn unresolved(text: &mut Document, unresolved: &[String]) {
    let frame = Frame {
        head: "**What can't be accounted for**\n\n",
        tail: "",
        nouns: ("reason", "reasons"),
    };
    let rows = unresolved
        .iter()
        .map(|why| format!("- {}\n", prose(why, Place::Line)));
    text.rows(&frame, 40, rows);
}

fn members(text: &mut Document, members: &[(PrNumber, Decision)]) {
    let frame = Frame {
        head: "| pull request | verdict | author | why |\n| --- | --- | --- | --- |\n",
        tail: "",
        nouns: ("member", "members"),
    };
    let rows = members.iter().map(|(number, decision)| {
        format!(
            "| {number} | {} | {} | {} |\n",
            headline(decision),
            author_kind(decision),
            sentence(decision)
        )
    });
    text.rows(&frame, 60, rows);
}

/// Of the members with the strongest verdicts first.
fn findings(text: &mut Document, members: &[(PrNumber, Decision)]) {
    let mut found: Vec<_> = members
        .iter()
        .filter(|(_, decision)| !decision.findings.is_empty())
        .collect();
    found.sort_by_key(|(number, decision)| (std::cmp::Reverse(decision.verdict), *number));
    for (number, decision) in found.iter().take(MOST_DETAILED) {
        findings_of(text, *number, decision);
    }
    let further = found.len().saturating_sub(MOST_DETAILED);
    if further > 0 {
        let further = count(further, "further member has", "further members have");
        text.paragraph(&format!(
            "{further} findings; their own check-runs name them."
        ));
    }
}

fn findings_of(text: &mut Document, number: PrNumber, decision: &Decision) {
    let head = format!("**Findings of pull request {number}**\n\n");
    let frame = Frame {
        head: &head,
        tail: "",
        nouns: ("finding", "findings"),
    };
    let rows: Vec<String> = by_strength(decision).into_iter().map(finding_row).collect();
    text.rows(&frame, 50, rows.into_iter());
}
