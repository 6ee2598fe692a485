//! What a test binary's text and its exit status say together.
//!
//! Invariant: green needs both, and exactly the test that was asked for; red needs both as well. No
//! match ends with 0, and so does a test that leaves the process (lane-facts 0.4).

mod failure;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::super::text::first_words;
use super::super::{Stream, exit_status};
use crate::digest::Pieces;
use crate::lane::model::Outcome;
use crate::lane::process::Ended;
use crate::model::NodeId;

/// What the harness ends with when a test fails.
const FAILED: i32 = 101;
/// What nextest ends with when a test fails.
const NEXTEST_FAILED: i32 = 100;
/// Lines by which proptest says that it does not do what it was told.
const NOT_TAKEN: [&str; 2] = ["proptest: The env-var", "proptest: Ignoring unknown"];
const INPUT: &str = "proptest: Next test input: ";

/// What was asked for.
pub(super) struct Asked<'a> {
    pub node: &'a NodeId,
    /// As the binary names it.
    pub path: String,
    /// `false`: modules may stand before it.
    pub whole: bool,
    /// A stored line of nextest, which tells what failed as an indented text and what passed in a line.
    pub nextest: bool,
    pub tree: &'a Path,
    /// Where the paths in messages begin, from the tree's root.
    pub root: &'a Path,
}

impl Asked<'_> {
    fn is(&self, name: &str) -> bool {
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        name == self.path
            || (!self.whole
                && name
                    .strip_suffix(&self.path)
                    .is_some_and(|before| before.ends_with("::")))
    }
}

/// Whether a list of tests holds exactly the one that was asked for.
pub(super) fn listed(asked: &Asked<'_>, ended: &Ended) -> Result<(), String> {
    let status = exit_status(ended)?;
    let mut names = ended
        .output
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    match (status, names.next(), names.next()) {
        (0, Some(name), None) if name == asked.path => Ok(()),
        (0, ..) => Err(format!(
            "its test binary has no such test: {} is not listed",
            asked.path
        )),
        _ => Err(format!(
            "its test binary cannot list its tests: {}",
            first_words(&ended.output)
        )),
    }
}

/// Judges a run by what it printed and how it ended.
pub(super) fn judge(asked: &Asked<'_>, ended: &Ended) -> Outcome {
    outcome(asked, ended).unwrap_or_else(Outcome::errored)
}

fn outcome(asked: &Asked<'_>, ended: &Ended) -> Result<Outcome, String> {
    let status = exit_status(ended)?;
    let dedented: Option<String> = asked.nextest.then(|| {
        let lines = ended.output.lines();
        let lines = lines.map(|line| line.strip_prefix("    ").unwrap_or(line));
        lines.flat_map(|line| [line, "\n"]).collect()
    });
    let text = dedented.as_ref().unwrap_or(&ended.output);
    let not_taken = text
        .lines()
        .find(|line| NOT_TAKEN.iter().any(|start| line.starts_with(start)));
    if let Some(line) = not_taken {
        return Err(format!("its seed was not taken: {}", first_words(line)));
    }
    if text
        .lines()
        .any(|line| line.starts_with("error: could not compile"))
    {
        let error = text.lines().find(|line| line.starts_with("error"));
        return Err(format!(
            "it could not be built: {}",
            error.unwrap_or_default()
        ));
    }
    if asked.nextest && status != NEXTEST_FAILED {
        return nextest(asked, text, status);
    }
    let total = total(text, status)?;
    let said = verdict(asked, text);
    match (said, total, status) {
        (Some(Said::Passed), (1, 0, 0), 0) => Ok(Outcome::Green),
        (Some(Said::Failed), (0, 1, 0), FAILED | NEXTEST_FAILED) => {
            Ok(Outcome::Red(failure::of(asked, text)))
        }
        (Some(Said::Ignored(why)), _, _) => Err(format!("it is ignored{why}")),
        (None, (0, 0, _), _) => Err("its test binary has no such test".to_owned()),
        (None, ..) => Err("its report is of another test".to_owned()),
        _ => Err(format!(
            "its report and its exit status {status} do not agree"
        )),
    }
}

/// What nextest says of a test that did not fail: `PASS [   0.015s] (1/1) p::props t`.
fn nextest(asked: &Asked<'_>, text: &str, status: i32) -> Result<Outcome, String> {
    let passed = |line: &str| {
        let name = line.rsplit(' ').next().unwrap_or(line);
        line.trim_start().starts_with("PASS [") && asked.is(name)
    };
    let alone = |line: &str| line.contains("Summary [") && line.contains("1 test run: 1 passed");
    match status {
        0 if text.lines().any(alone) && text.lines().any(passed) => Ok(Outcome::Green),
        0 => Err("its report does not say that this test alone passed".to_owned()),
        4 => Err("nextest found no such test".to_owned()),
        _ => Err(format!(
            "nextest ended with {status}: {}",
            first_words(text)
        )),
    }
}

/// How many tests passed, failed and were ignored.
type Total = (usize, usize, usize);

/// The sum of the last lines of each binary that ran; there is one where it was run by itself.
fn total(text: &str, status: i32) -> Result<Total, String> {
    let mut sum = (0, 0, 0);
    let mut ends = 0;
    for line in text.lines() {
        let Some(counts) = line.strip_prefix("test result: ") else {
            continue;
        };
        let count = |what: &str| {
            let before = counts.split_once(what)?.0;
            before
                .rsplit([' ', '.'])
                .find(|word| !word.is_empty())?
                .parse::<usize>()
                .ok()
        };
        let (Some(passed), Some(failed), Some(ignored)) =
            (count(" passed;"), count(" failed;"), count(" ignored;"))
        else {
            return Err(format!("its report is damaged: {}", first_words(line)));
        };
        sum = (sum.0 + passed, sum.1 + failed, sum.2 + ignored);
        ends += 1;
    }
    match ends {
        0 => Err(format!(
            "its report has no end, and it ended with {status}: the process left without its harness{}",
            match first_words(text) {
                words if words.is_empty() || words.starts_with("running ") => String::new(),
                words => format!(": {words}"),
            }
        )),
        _ => Ok(sum),
    }
}

enum Said {
    Passed,
    Failed,
    /// With why, where it is told.
    Ignored(String),
}

/// What the harness says of the test; `None` where it says nothing, or more than one thing.
fn verdict(asked: &Asked<'_>, text: &str) -> Option<Said> {
    let mut found = None;
    for line in text.lines() {
        // What the test printed last may stand before it.
        let Some((before, word)) = line.rsplit_once(" ... ") else {
            continue;
        };
        let named = before
            .rfind("test ")
            .map(|at| &before[at + "test ".len()..]);
        if !named.is_some_and(|name| asked.is(name)) {
            continue;
        }
        let said = match word {
            "ok" => Said::Passed,
            "FAILED" => Said::Failed,
            _ => match word.strip_prefix("ignored") {
                Some(why) => Said::Ignored(why.replacen(", ", ": ", 1)),
                None => continue,
            },
        };
        if found.replace(said).is_some() {
            return None;
        }
    }
    found
}

/// The values that proptest says it tries.
pub(super) fn stream(text: &str) -> Stream {
    let mut all = Pieces::default();
    let mut values = 0;
    for value in text.lines().filter_map(|line| line.strip_prefix(INPUT)) {
        all.add(value.as_bytes());
        values += 1;
    }
    Stream {
        sha256: all.finish().as_str().to_owned(),
        values,
    }
}
