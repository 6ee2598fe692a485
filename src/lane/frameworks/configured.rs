//! Runners of the repository's configuration (`lane.runners`): a command that is given the node id and the
//! seed, and writes a JUnit report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::text::{LARGEST_REPORT, plain, quoted};
use super::{Framework, Generator, Report, Site, Start, Task, exit_status, nothing};
use crate::config::repo::RunnerCommand;
use crate::lane::junit::{self, Case, Failed, State};
use crate::lane::model::{Failure, Outcome, Phase};
use crate::lane::process::Ended;
use crate::model::NodeId;

const REPORT: &str = "report.xml";
/// The seed of runs that only look for a test.
const LOOKING: i64 = 1;

/// One command.
#[derive(Debug)]
pub struct Configured {
    command: RunnerCommand,
}

impl Configured {
    pub fn new(command: RunnerCommand) -> Self {
        Self { command }
    }

    /// # Errors
    /// When its globs cannot be used: a clause.
    pub fn is_for(&self, path: &str) -> Result<bool, String> {
        self.command.is_for(path).map_err(|error| error.to_string())
    }

    fn seed(&self, task: &Task<'_>) -> i64 {
        let stored = task.stored.map(|line| {
            let by_option = line
                .words
                .iter()
                .find_map(|word| word.strip_prefix("--seed="));
            let words = by_option
                .into_iter()
                .chain(line.words.iter().map(String::as_str));
            words.filter_map(|word| word.parse().ok()).next()
        });
        stored.flatten().or(task.seed).unwrap_or(LOOKING)
    }
}

impl Framework for Configured {
    fn name(&self) -> &str {
        &self.command.name
    }

    fn versions(&self, _: &NodeId, _: Site<'_>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn runners(&self) -> Vec<&str> {
        vec![&self.command.name]
    }

    fn needed(&self) -> &[PathBuf] {
        &[]
    }

    fn prepare(&self, _: &Path) -> std::io::Result<()> {
        Ok(())
    }

    fn start(&self, task: &Task<'_>, site: Site<'_>, folder: &Path) -> Result<Start, String> {
        let report = folder.join(REPORT).to_string_lossy().into_owned();
        let seed = self.seed(task).to_string();
        Ok(Start {
            argv: self.command.words(task.node.as_str(), &seed, &report),
            env: BTreeMap::new(),
            cwd: site.tree.to_owned(),
            // Nothing is known of its runtime.
            compiles: false,
            bears_memory_limit: false,
        })
    }

    fn read(&self, task: &Task<'_>, ended: &Ended, site: Site<'_>, folder: &Path) -> Report {
        let text = match plain(&folder.join(REPORT), LARGEST_REPORT) {
            Ok(text) => text,
            Err(why) => return nothing(Outcome::errored(why)),
        };
        let tree = site.tree.to_string_lossy();
        let outcome = outcome(text.as_deref(), task.node, &tree, ended);
        let seen = !matches!(outcome, Ok(Outcome::Errored { .. }) | Err(_));
        let mut report = nothing(outcome.unwrap_or_else(Outcome::errored));
        if seen && !task.purpose.is_a_run() {
            report.generator = Some(match self.command.takes_seed() {
                true => Generator::Configured,
                false => Generator::NoGenerator,
            });
        }
        report
    }

    fn replay_line(&self, task: &Task<'_>, _: Site<'_>) -> Result<String, String> {
        let mut words = vec![self.command.name.clone(), quoted(task.node.as_str())];
        words.extend(task.seed.map(|seed| format!("--seed={seed}")));
        Ok(words.join(" "))
    }
}

/// What the report and the exit status say together.
fn outcome(
    text: Option<&str>,
    node: &NodeId,
    tree: &str,
    ended: &Ended,
) -> Result<Outcome, String> {
    let status = exit_status(ended)?;
    let text = text.ok_or_else(|| {
        format!(
            "there is no report, and it ended with {status}: {}",
            last_line(&ended.output)
        )
    })?;
    let cases = junit::read(text).map_err(|why| format!("its report cannot be used: {why}"))?;
    let (mine, others): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.is(node, tree));
    if let Some(other) = others.iter().find(|case| case.state != State::Skipped) {
        return Err(format!(
            "its report is of another test too: {}",
            words(&other.name)
        ));
    }
    let [case] = mine.as_slice() else {
        return Err(match mine.len() {
            0 => "its report does not name the test".to_owned(),
            more => format!("its report names the test {more} times"),
        });
    };
    match (&case.state, status) {
        (State::Passed, 0) => Ok(Outcome::Green),
        (State::Failed(failed), 1..) => Ok(Outcome::Red(failure(failed))),
        (State::Skipped, _) => Err("it was skipped".to_owned()),
        (State::Repeated, _) => {
            Err("it ran more than once in one run; switch off what repeats failed tests".to_owned())
        }
        (State::Passed, _) => Err(format!(
            "its report says that it passed, and the command ended with {status}"
        )),
        (State::Failed(_), _) => {
            Err("its report says that it failed, and the command ended with 0".to_owned())
        }
    }
}

fn failure(failed: &Failed) -> Failure {
    let message = match failed.message.trim().is_empty() {
        true => &failed.text,
        false => &failed.message,
    };
    Failure {
        phase: Phase::Call,
        exceptions: vec![match failed.kind.is_empty() {
            true => "failure".to_owned(),
            false => failed.kind.clone(),
        }],
        frames: Vec::new(),
        message: message.clone(),
        example: None,
    }
}

fn last_line(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    words(line.unwrap_or_default().trim())
}

fn words(text: &str) -> String {
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::process::How;

    const ID: &str = "spec/a.lua::adds";

    fn judged(text: Option<&str>, how: How) -> Result<Outcome, String> {
        let ended = Ended {
            how,
            output: "one\nno such file\n\n".to_owned(),
            written: 0,
            wall_ms: 9,
        };
        outcome(text, &ID.parse().expect("a node id"), "/tree", &ended)
    }

    fn report(inside: &str) -> String {
        format!("<testsuites><testsuite>{inside}</testsuite></testsuites>")
    }

    #[test]
    fn green_needs_exactly_the_test_and_status_0() {
        let passed = "<testcase file='spec/a.lua' name='adds'/>";
        let skipped = "<testcase name='other'><skipped/></testcase>";
        let green = judged(Some(&report(&format!("{skipped}{passed}"))), How::Exit(0));
        assert_eq!(green, Ok(Outcome::Green));
        let failed = "<testcase name='spec/a.lua::adds'><failure/></testcase>";
        for (text, how, why) in [
            (
                None,
                How::Exit(0),
                "no report, and it ended with 0: no such file",
            ),
            (Some("x"), How::Exit(0), "cannot be used"),
            (Some(&*report("")), How::Exit(0), "does not name"),
            (Some(&*report(skipped)), How::Exit(0), "does not name"),
            (
                Some(&*report(&format!("{passed}{passed}"))),
                How::Exit(0),
                "2 times",
            ),
            (
                Some(&*report(&format!("{passed}<testcase name='b'/>"))),
                How::Exit(0),
                "another test too: b",
            ),
            (
                Some(&*report(passed)),
                How::Exit(1),
                "passed, and the command ended with 1",
            ),
            (
                Some(&*report(failed)),
                How::Exit(0),
                "failed, and the command ended with 0",
            ),
            (Some(&*report(passed)), How::Exit(139), "signal 11"),
            (Some(&*report(passed)), How::Signal(9), "signal 9"),
            (Some(&*report(passed)), How::TimedOut, "9 ms"),
            (Some(&*report(passed)), How::LeftAlive, "could not be ended"),
            (
                Some(&*report(
                    "<testcase name='spec/a.lua::adds'><skipped/></testcase>",
                )),
                How::Exit(0),
                "skipped",
            ),
            (
                Some(&*report(
                    "<testcase name='spec/a.lua::adds'><rerunFailure/></testcase>",
                )),
                How::Exit(0),
                "more than once",
            ),
        ] {
            let said = judged(text, how).expect_err(why);
            assert!(said.contains(why), "{why}: {said}");
        }
    }

    #[test]
    fn a_red_tells_type_and_message() {
        let red = |inside: &str| {
            let text = report(&format!("<testcase name='{ID}'>{inside}</testcase>"));
            match judged(Some(&text), How::Exit(2)) {
                Ok(Outcome::Red(failure)) => failure,
                other => panic!("{other:?}"),
            }
        };
        let failure = red("<failure type='E' message='m'>text</failure>");
        assert_eq!(
            (failure.exceptions, failure.message),
            (vec!["E".to_owned()], "m".to_owned())
        );
        let bare = red("<error>text</error>");
        assert_eq!(
            (bare.exceptions, bare.message),
            (vec!["failure".to_owned()], "text".to_owned())
        );
    }
}
