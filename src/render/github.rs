//! The decision as workflow commands of GitHub Actions: annotations on the lines of a job's patch. PURE.
//!
//! Invariant: each line that begins with `::` is a whole command of ours; nothing from a repository ends
//! a line, a property or a message, so it cannot begin a command of its own.

use super::check::title;
use super::escape::visible;
use super::lines::Lines;
use super::words::{by_strength_of, count, headline, shown_findings};
use crate::model::{Decision, Effect, Finding};

/// A step of a job shows ten annotations of each level, strongest first; the rest would not be seen.
const SHOWN: usize = 10;

/// At most ten commands of each level, then the verdict in one line.
pub fn github(decision: &Decision) -> String {
    let lines = Lines::new(decision);
    let findings = by_strength_of(shown_findings(decision));
    let mut out = String::new();
    let mut left_out = 0;
    for level in [Level::Error, Level::Warning, Level::Notice] {
        let of_level = || findings.iter().filter(|f| Level::of(decision, f) == level);
        for finding in of_level().take(SHOWN) {
            out.push_str(&command(level, finding, &lines));
        }
        left_out += of_level().count().saturating_sub(SHOWN);
    }
    out.push_str(&headline(decision));
    if left_out > 0 {
        let more = count(left_out, "more finding", "more findings");
        out.push_str(&format!(
            " ({more} not annotated; --format text prints all)"
        ));
    }
    out.push('\n');
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
    Notice,
}

impl Level {
    /// Under `mode: observe` nothing is an error: it would look as if the job had failed.
    fn of(decision: &Decision, finding: &Finding) -> Self {
        match finding.effect {
            Effect::Refuse if !decision.observe => Self::Error,
            Effect::Refuse | Effect::HumanReview => Self::Warning,
            Effect::AllowRecheck | Effect::Notice => Self::Notice,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

fn command(level: Level, finding: &Finding, lines: &Lines<'_>) -> String {
    let mut properties = Vec::new();
    if let Some(path) = &finding.path {
        properties.push(format!("file={}", property(&visible(path))));
        if let Some((start, end)) = lines.of(finding) {
            properties.push(format!("line={start},endLine={end}"));
        }
    }
    let heading = format!("{} ({})", title(finding.rule), finding.rule);
    properties.push(format!("title={}", property(&heading)));
    let mut message = visible(&finding.message);
    if let Some(nodeid) = &finding.nodeid {
        message.push_str(&format!(" [{}]", visible(nodeid)));
    }
    if !finding.fix.is_empty() {
        message.push_str(&format!("\nMend: {}", visible(&finding.fix)));
    }
    format!(
        "::{} {}::{}\n",
        level.name(),
        properties.join(","),
        data(&message)
    )
}

/// The text after the command: the runner undoes these three, and a line ends nowhere else.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property's value: a comma ends it, and a colon could end the properties.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
