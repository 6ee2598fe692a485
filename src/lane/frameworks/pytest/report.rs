//! What the plugin's report and the exit status say together. No I/O.
//!
//! Invariant: green needs both, and exactly the test that was asked for; red needs both as well.

use serde::Deserialize;

use super::super::text::first_words;
use super::super::{Generator, Report, Stream, exit_status, nothing};
use crate::lane::model::{Failure, Frame, Outcome, Phase};
use crate::lane::process::Ended;

#[derive(Debug, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
enum Row {
    Collected {
        ids: Vec<String>,
        count: usize,
        seed: Option<String>,
        neutralised: Vec<String>,
    },
    Phase(PhaseRow),
    /// A subtest that failed.
    Part {
        message: String,
    },
    Stream(Stream),
    End {
        status: i32,
        foreign: Vec<String>,
    },
}

#[derive(Debug, Deserialize)]
struct PhaseRow {
    id: String,
    phase: Phase,
    outcome: String,
    xfail: bool,
    #[serde(default)]
    exceptions: Vec<String>,
    #[serde(default)]
    frames: Vec<Frame>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    example: Option<String>,
}

/// Judges the run of the test `id` by its report's text.
pub(super) fn judge(text: &str, id: &str, ended: &Ended) -> Report {
    let rows: Result<Vec<Row>, _> = text.lines().map(serde_json::from_str).collect();
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => {
            return nothing(Outcome::errored(format!("its report is damaged: {error}")));
        }
    };
    let mut report = nothing(Outcome::Green);
    for row in &rows {
        match row {
            Row::Collected {
                ids,
                count,
                seed,
                neutralised,
            } => {
                if ids.len() == *count {
                    report.ids.clone_from(ids);
                }
                report.generator = seed.as_deref().and_then(generator);
                report.neutralised.clone_from(neutralised);
            }
            Row::Stream(stream) => report.stream = Some(stream.clone()),
            _ => {}
        }
    }
    report.outcome = outcome(&rows, id, ended).unwrap_or_else(Outcome::errored);
    report
}

fn generator(word: &str) -> Option<Generator> {
    Some(match word {
        "hypothesis" => Generator::Hypothesis,
        "randomly" => Generator::Randomly,
        "derandomize" => Generator::Derandomize,
        "seed-in-source" => Generator::SeedInSource,
        "no-generator" => Generator::NoGenerator,
        _ => return None,
    })
}

fn outcome(rows: &[Row], id: &str, ended: &Ended) -> Result<Outcome, String> {
    let status = status_of(ended)?;
    let phases = phases_of(rows, id, status, ended)?;
    if let Some(row) = phases.iter().find(|row| row.outcome == "failed") {
        return match status {
            1 => Ok(Outcome::Red(failure(row))),
            _ => Err(format!(
                "its report says that it failed, and pytest ended with {status}"
            )),
        };
    }
    let part = rows.iter().find_map(|row| match row {
        Row::Part { message } => Some(message),
        _ => None,
    });
    if let Some(message) = part {
        return match status {
            1 => Ok(Outcome::Red(Failure {
                phase: Phase::Call,
                exceptions: vec!["Failed".to_owned()],
                frames: Vec::new(),
                message: message.clone(),
                example: None,
            })),
            _ => Err(format!(
                "a part of it failed, and pytest ended with {status}"
            )),
        };
    }
    if let Some(row) = phases.iter().find(|row| row.outcome == "skipped") {
        let what = if row.xfail {
            "is expected to fail"
        } else {
            "was skipped"
        };
        return Err(format!("it {what}: {}", first_words(&row.message)));
    }
    if phases.iter().any(|row| row.xfail) {
        return Err("it is expected to fail, and passed".to_owned());
    }
    if status != 0 {
        return Err(format!(
            "its report says that it passed, and pytest ended with {status}"
        ));
    }
    let whole = [Phase::Setup, Phase::Call, Phase::Teardown]
        .iter()
        .all(|phase| {
            phases
                .iter()
                .any(|row| row.phase == *phase && row.outcome == "passed")
        });
    if !whole {
        return Err("its report lacks a part of the test".to_owned());
    }
    Ok(Outcome::Green)
}

/// The exit status, where it says something of a test: 0 or 1.
fn status_of(ended: &Ended) -> Result<i32, String> {
    let status = exit_status(ended)?;
    match status {
        0 | 1 => Ok(status),
        2 => Err(format!("pytest could not collect it{}", told(ended))),
        4 => Err(format!("pytest found no such test{}", told(ended))),
        5 => Err("pytest ran no test".to_owned()),
        _ => Err(format!("pytest ended with {status}{}", told(ended))),
    }
}

/// The line by which pytest tells what was wrong.
fn told(ended: &Ended) -> String {
    let starts = |word: &str| ended.output.lines().find(|line| line.starts_with(word));
    let line = starts("E  ").or_else(|| starts("ERROR"));
    line.map_or_else(String::new, |line| {
        format!(": {}", first_words(line.trim_start_matches("E ").trim()))
    })
}

/// The phases of exactly this test, each told once.
fn phases_of<'r>(
    rows: &'r [Row],
    id: &str,
    status: i32,
    ended: &Ended,
) -> Result<Vec<&'r PhaseRow>, String> {
    let ends: Vec<(i32, &Vec<String>)> = rows
        .iter()
        .filter_map(|row| match row {
            Row::End { status, foreign } => Some((*status, foreign)),
            _ => None,
        })
        .collect();
    let [(said, foreign)] = ends.as_slice() else {
        return Err(match rows.is_empty() {
            true => format!("there is no report{}", told(ended)),
            false => "its report has no end: the process left without pytest".to_owned(),
        });
    };
    if *said != status {
        return Err(format!(
            "its report says that pytest ended with {said}, and it ended with {status}"
        ));
    }
    if let Some(path) = foreign.first() {
        return Err(format!(
            "it imported {path}, which is of the checkout and not of the tree that is judged; install the project's dependencies without the project itself"
        ));
    }
    let collected = rows.iter().filter_map(|row| match row {
        Row::Collected { ids, count, .. } => Some((ids, *count)),
        _ => None,
    });
    match collected.collect::<Vec<_>>().as_slice() {
        [(ids, 1)] if ids.len() == 1 && ids[0] == id => {}
        [(ids, count)] => {
            let first = ids.first().map_or("", String::as_str);
            return Err(format!(
                "pytest found {count} tests where one was asked for; the first is {first}"
            ));
        }
        _ => return Err("its report lacks what was collected".to_owned()),
    }
    let phases: Vec<&PhaseRow> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Phase(row) => Some(row),
            _ => None,
        })
        .collect();
    if let Some(other) = phases.iter().find(|row| row.id != id) {
        return Err(format!("its report is of another test: {}", other.id));
    }
    let again = |phase| phases.iter().filter(|row| row.phase == phase).count() > 1;
    if [Phase::Setup, Phase::Call, Phase::Teardown]
        .into_iter()
        .any(again)
    {
        return Err(
            "it ran more than once in one run; switch off what repeats failed tests".to_owned(),
        );
    }
    Ok(phases)
}

fn failure(row: &PhaseRow) -> Failure {
    Failure {
        phase: row.phase,
        exceptions: row.exceptions.clone(),
        frames: row.frames.clone(),
        message: row.message.clone(),
        example: row.example.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::process::How;

    const ID: &str = "tests/t.py::t";

    fn ended(how: How) -> Ended {
        Ended {
            how,
            output: "E   ImportError: no x\n".to_owned(),
            written: 0,
            wall_ms: 9,
        }
    }

    fn collected(ids: &[&str]) -> String {
        let (ids, count) = (serde_json::to_string(ids).expect("JSON"), ids.len());
        format!(
            "{{\"row\":\"collected\",\"ids\":{ids},\"count\":{count},\"seed\":\"hypothesis\",\"neutralised\":[]}}\n"
        )
    }

    fn phase(phase: &str, outcome: &str, xfail: bool) -> String {
        format!(
            "{{\"row\":\"phase\",\"id\":\"{ID}\",\"phase\":\"{phase}\",\"outcome\":\"{outcome}\",\"xfail\":{xfail},\"message\":\"why\",\"exceptions\":[\"E\"]}}\n"
        )
    }

    fn end(status: i32, foreign: &str) -> String {
        format!("{{\"row\":\"end\",\"status\":{status},\"foreign\":[{foreign}]}}\n")
    }

    fn passed() -> String {
        ["setup", "call", "teardown"]
            .map(|p| phase(p, "passed", false))
            .concat()
    }

    #[test]
    fn only_a_whole_report_and_its_exit_status_make_a_green() {
        let one = collected(&[ID]);
        let green = format!("{one}{}{}", passed(), end(0, ""));
        let report = judge(&green, ID, &ended(How::Exit(0)));
        assert_eq!(report.outcome, Outcome::Green);
        assert_eq!(report.generator, Some(Generator::Hypothesis));

        let two_parts = phase("setup", "passed", false) + &phase("teardown", "passed", false);
        let skipped = phase("setup", "skipped", false);
        let xfailed = passed().replace("false", "true");
        let errored: Vec<(String, How, &str)> = vec![
            (String::new(), How::Exit(0), "no report"),
            (format!("{one}{}", passed()), How::Exit(0), "no end"),
            (
                green.clone(),
                How::Exit(1),
                "ended with 0, and it ended with 1",
            ),
            (green.clone(), How::Exit(2), "collect it: ImportError: no x"),
            (green.clone(), How::Exit(4), "no such test"),
            (green.clone(), How::Exit(5), "no test"),
            (green.clone(), How::Exit(139), "signal 11"),
            (green.clone(), How::Signal(9), "signal 9"),
            (green.clone(), How::TimedOut, "9 ms"),
            (green.clone(), How::LeftAlive, "could not be ended"),
            (
                format!("{green}{}", passed()),
                How::Exit(0),
                "more than once",
            ),
            (format!("{green}{}", end(0, "")), How::Exit(0), "no end"),
            (format!("{green}not json"), How::Exit(0), "damaged"),
            (
                format!("{}{}{}", collected(&[]), passed(), end(0, "")),
                How::Exit(0),
                "found 0 tests",
            ),
            (
                format!("{}{}{}", collected(&[ID, "x"]), passed(), end(0, "")),
                How::Exit(0),
                "found 2",
            ),
            (
                format!("{}{}{}", collected(&["x"]), passed(), end(0, "")),
                How::Exit(0),
                "first is x",
            ),
            (
                format!("{one}{two_parts}{}", end(0, "")),
                How::Exit(0),
                "lacks a part",
            ),
            (
                format!("{one}{skipped}{}", end(0, "")),
                How::Exit(0),
                "skipped: why",
            ),
            (
                format!("{one}{xfailed}{}", end(0, "")),
                How::Exit(0),
                "and passed",
            ),
            (
                format!("{one}{}{}", passed(), end(1, "")),
                How::Exit(1),
                "says that it passed",
            ),
            (
                green.replace("[]}\n", "[\"/home/x/a.py\"]}\n"),
                How::Exit(0),
                "/home/x/a.py",
            ),
        ];
        for (text, how, why) in errored {
            match judge(&text, ID, &ended(how)).outcome {
                Outcome::Errored { why: said } => assert!(said.contains(why), "{why}: {said}"),
                other => panic!("{why}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_red_needs_both_as_well() {
        let setup = phase("setup", "passed", false);
        let call = phase("call", "failed", false);
        let rest = phase("teardown", "failed", false);
        let text = |status| format!("{}{setup}{call}{rest}{}", collected(&[ID]), end(status, ""));
        match judge(&text(1), ID, &ended(How::Exit(1))).outcome {
            Outcome::Red(failure) => assert_eq!(failure.phase, Phase::Call),
            other => panic!("{other:?}"),
        }
        let disagree = judge(&text(0), ID, &ended(How::Exit(0))).outcome;
        assert!(matches!(disagree, Outcome::Errored { .. }), "{disagree:?}");
    }

    #[test]
    fn a_failed_part_is_a_red() {
        let part = "{\"row\":\"part\",\"id\":\"x\",\"outcome\":\"failed\",\"message\":\"m\"}\n";
        let text = format!("{}{}{part}{}", collected(&[ID]), passed(), end(1, ""));
        let outcome = judge(&text, ID, &ended(How::Exit(1))).outcome;
        assert!(matches!(outcome, Outcome::Red(_)), "{outcome:?}");
    }
}
