//! The decision for a person at a terminal: verdict first, then the table, holes, findings. PURE.
//!
//! Invariant: lines wrap, nothing is cut, and what comes from a repository cannot draw on the terminal.

use anstyle::{AnsiColor, Color, Style};
use comfy_table::{ContentArrangement, Table, presets};

use super::TextStyle;
use super::escape::visible;
use super::summary::{author_kind, classes, is_hole};
use super::words::{
    HOW_TO_START, by_strength, count, headline, nouns, opts_in, sentence, state_and_why,
};
use crate::model::{
    Coverage, Decision, Effect, Finding, FreezeRow, PropertyState, Subject, Verdict,
};

/// The decision for a person at a terminal.
pub fn text(decision: &Decision, style: TextStyle) -> String {
    let mut page = Page {
        out: String::new(),
        style,
    };
    page.verdict(decision);
    if decision.verdict == Verdict::NotApplicable && !opts_in(decision) {
        for line in HOW_TO_START {
            page.wrapped("", "  ", line);
        }
        return page.out;
    }
    page.table(decision);
    page.holes(decision);
    page.findings(decision);
    page.freezes(decision);
    page.out
}

struct Page {
    out: String,
    style: TextStyle,
}

impl Page {
    fn painted(&self, style: Style, text: &str) -> String {
        if self.style.colour {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.out.push('\n');
        let painted = self.painted(Style::new().bold(), text);
        self.line(&painted);
    }

    /// Text in lines of the page's width; `rest` begins every line but the first.
    fn wrapped(&mut self, first: &str, rest: &str, text: &str) {
        for line in wrap(first, rest, text, self.style.width) {
            self.line(&line);
        }
    }

    fn verdict(&mut self, decision: &Decision) {
        // One line whatever its length: programs look for it, and a terminal wraps it by itself.
        let painted = self.painted(verdict_style(decision), &headline(decision));
        self.line(&painted);
        if decision.verdict != Verdict::NotApplicable || opts_in(decision) {
            self.wrapped("", "", &sentence(decision).replace('`', ""));
            self.about(decision);
        }
        if let Some(branch) = &decision.into_unguarded {
            let note = format!(
                "{} is no guarded branch: judged as if it went into {}.",
                visible(branch),
                visible(&decision.branch)
            );
            self.wrapped("", "", &note);
        }
    }

    fn about(&mut self, decision: &Decision) {
        let (name, what) = subject(decision);
        let author = format!(
            "{} ({})",
            author_kind(decision),
            visible(&decision.author.evidence)
        );
        for (name, text) in [
            (name, what),
            ("author", author),
            ("paths", classes(decision)),
        ] {
            self.wrapped(&format!("  {name:<8}"), "          ", &text);
        }
    }

    fn table(&mut self, decision: &Decision) {
        if decision.table.is_empty() {
            return;
        }
        self.out.push('\n');
        let mut table = self.empty_table();
        for row in &decision.table {
            let decided = row.step == decision.decided_by.step;
            table.add_row([
                if decided { MARK } else { "" }.to_owned(),
                format!("{}. {}", row.step, visible(&row.name)),
                row.result.to_string(),
                visible(&row.detail),
            ]);
        }
        let style = verdict_style(decision);
        for line in table.lines() {
            let line = line.trim_end();
            if line.trim_start().starts_with(MARK) {
                let painted = self.painted(style, line);
                self.line(&painted);
            } else {
                self.line(line);
            }
        }
    }

    fn empty_table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(self.style.width).unwrap_or(u16::MAX));
        table
    }

    fn holes(&mut self, decision: &Decision) {
        let holes: Vec<&Coverage> = decision.coverage.iter().filter(|c| is_hole(c)).collect();
        if holes.is_empty() {
            return;
        }
        self.heading(&format!(
            "Coverage: {} of {} without enough live properties",
            holes.len(),
            count(
                decision.coverage.len(),
                "production path",
                "production paths"
            )
        ));
        for hole in holes {
            self.hole(decision, hole);
        }
    }

    fn hole(&mut self, decision: &Decision, hole: &Coverage) {
        let (path, live, needed) = (visible(&hole.path), hole.live, hole.min_live);
        let line = if decision.freezes.is_none() {
            // Rules and listed properties are left out.
            format!("{path}  {live} live, {needed} needed")
        } else if hole.rules.is_empty() {
            format!("{path}  no map rule matches it")
        } else {
            let rules: Vec<String> = hole.rules.iter().map(|rule| visible(rule)).collect();
            let (rules, listed) = (rules.join(", "), hole.properties.len());
            format!("{path}  rule {rules}: {live} live of {listed} listed, {needed} needed")
        };
        self.wrapped("  ", "    ", &line);
        for property in &hole.properties {
            if property.state != PropertyState::Live {
                let line = format!(
                    "{}  {}",
                    visible(&property.nodeid),
                    visible(&state_and_why(property))
                );
                self.wrapped("    ", "      ", &line);
            }
        }
    }

    fn findings(&mut self, decision: &Decision) {
        let findings = by_strength(decision);
        for group in findings.chunk_by(|a, b| a.rule == b.rule && a.effect == b.effect) {
            let Some(first) = group.first() else { continue };
            let (one, many) = nouns(first.rule);
            let effect = self.painted(effect_style(first.effect), first.effect.name());
            self.out.push('\n');
            let heading = self.painted(
                Style::new().bold(),
                &format!("{} ({})", first.rule, count(group.len(), one, many)),
            );
            self.line(&format!("{effect}  {heading}"));
            // A fix that several findings share is said once, after the last of them.
            for same_fix in group.chunk_by(|a, b| a.fix == b.fix) {
                for finding in same_fix {
                    self.wrapped("  ", "    ", &finding_line(finding));
                }
                if let Some(finding) = same_fix.first().filter(|f| !f.fix.is_empty()) {
                    self.wrapped("    mend: ", "      ", &visible(&finding.fix));
                }
            }
        }
    }

    fn freezes(&mut self, decision: &Decision) {
        let touching: Vec<&FreezeRow> = decision
            .freezes
            .iter()
            .flatten()
            .filter(|row| row.touches_patch)
            .collect();
        if touching.is_empty() {
            return;
        }
        self.heading("Freezes that touch this patch");
        for row in touching {
            let owner = row.owner.as_deref().unwrap_or("nobody");
            let since = row
                .opened_at
                .as_deref()
                .map_or_else(String::new, |at| format!(", since {}", visible(at)));
            let why = match row.why.as_str() {
                "" => String::new(),
                why => format!(" ({})", visible(why)),
            };
            let line = format!(
                "{}  {}{why}, owner {}{since}, {}: {}",
                visible(&row.nodeid),
                row.state.name(),
                visible(owner),
                visible(&row.source),
                visible(&row.reason)
            );
            self.wrapped("  ", "    ", &line);
        }
    }
}

/// What is judged: its name in the first column, and the rest of the line.
fn subject(decision: &Decision) -> (&'static str, String) {
    let (head, branch) = (decision.head.short(), visible(&decision.branch));
    let repository = visible(&decision.repository);
    let into = format!("into {branch} at {} of {repository}", decision.base.short());
    match decision.subject {
        Subject::Patch => ("patch", format!("{head} {into}")),
        Subject::WorkTree => ("patch", format!("the work tree {into}")),
        Subject::Audit => (
            "commit",
            format!("{head} of {repository}, audited by its own contract"),
        ),
    }
}

/// Marks the row that decided.
const MARK: &str = "▸";

fn finding_line(finding: &Finding) -> String {
    let mut line = String::new();
    if let Some(path) = &finding.path {
        line.push_str(&visible(path));
        if let Some(number) = finding.line {
            line.push_str(&format!(":{number}"));
        }
        line.push_str("  ");
    }
    line.push_str(&visible(&finding.message));
    if let Some(nodeid) = &finding.nodeid {
        let nodeid = visible(nodeid);
        if !line.contains(&nodeid) {
            line.push_str(&format!(" [{nodeid}]"));
        }
    }
    if let Some(owner) = &finding.owner {
        line.push_str(&format!(" (owner {})", visible(owner)));
    }
    line
}

fn colour(colour: AnsiColor) -> Style {
    Style::new().bold().fg_color(Some(Color::Ansi(colour)))
}

fn verdict_style(decision: &Decision) -> Style {
    match decision.verdict {
        Verdict::Refuse => colour(AnsiColor::Red),
        Verdict::HumanReview => colour(AnsiColor::Yellow),
        Verdict::AllowRecheck | Verdict::NotApplicable => colour(AnsiColor::Cyan),
        Verdict::Pass => colour(AnsiColor::Green),
    }
}

fn effect_style(effect: Effect) -> Style {
    match effect {
        Effect::Refuse => colour(AnsiColor::Red),
        Effect::HumanReview => colour(AnsiColor::Yellow),
        Effect::AllowRecheck | Effect::Notice => colour(AnsiColor::Cyan),
    }
}

/// Breaks `text` at spaces into lines of `width` columns. A word longer than a line stays whole: a path
/// has to be copied in one piece.
fn wrap(first: &str, rest: &str, text: &str, width: usize) -> Vec<String> {
    use unicode_width::UnicodeWidthStr as _;
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut columns = line.width();
    let mut empty = true;
    for word in text.split(' ') {
        let needed = word.width() + usize::from(!empty);
        if !empty && columns + needed > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            columns = rest.width();
            empty = true;
        }
        if !empty {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += word.width();
        empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_wrap_and_long_words_stay_whole() {
        assert_eq!(
            wrap("- ", "    ", "aaa bbb a-very-long-word c", 10),
            ["- aaa bbb", "    a-very-long-word", "    c"]
        );
    }
}
