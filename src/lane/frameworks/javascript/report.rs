//! What the rows of a run and its exit status say together. No I/O.
//!
//! Invariant: green needs both, and exactly the test that was asked for; red needs both as well.

use serde::Deserialize;

use super::super::text::first_words;
use super::super::{Generator, Purpose, Report, Stream, exit_status};
use super::failure::{Folders, Thrown, failure, seed};
use crate::digest::Pieces;
use crate::lane::model::{Outcome, Phase};
use crate::lane::process::Ended;

/// One thing that a runner told.
#[derive(Debug, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
enum Row {
    Test(TestRow),
    /// A suite of node's own runner.
    Suite {},
    /// A file that could not be loaded, or what failed outside of tests.
    Broken {
        errors: Vec<Thrown>,
    },
    End {},
}

#[derive(Debug, Deserialize)]
struct TestRow {
    /// Absolute.
    file: String,
    titles: Vec<String>,
    state: String,
    /// It passes when its body fails.
    inverted: bool,
    runs: u64,
    #[serde(default)]
    why: Option<String>,
    errors: Vec<Thrown>,
}

impl TestRow {
    /// Its body ran.
    fn ran(&self) -> bool {
        ["passed", "failed"].contains(&self.state.as_str())
    }

    /// node's own runner has a row for the file itself.
    fn is_file(&self) -> bool {
        self.titles.len() == 1 && self.titles.first() == Some(&self.file)
    }
}

/// What the hooks in fast-check told.
#[derive(Debug, Deserialize)]
#[serde(tag = "row", rename_all = "lowercase")]
enum Told {
    /// The setup file was loaded to its end.
    Ready,
    Hooked,
    Value {
        text: String,
    },
    Asserted {
        own: bool,
    },
}

/// What was asked for.
pub(super) struct Asked<'a> {
    pub runner: &'static str,
    /// Absolute.
    pub file: &'a str,
    pub titles: &'a [String],
    pub purpose: Purpose,
    /// The seed that a generator was to take.
    pub seed: Option<i64>,
    pub folders: Folders<'a>,
}

/// Judges a run by the text of its report and, outside of votes, of what was generated.
pub(super) fn judge(text: &str, values: &str, asked: &Asked<'_>, ended: &Ended) -> Report {
    let mut report = super::super::nothing(Outcome::Green);
    let found = match exactly_it(text, asked, ended) {
        Ok(found) => found,
        Err(why) => {
            report.outcome = Outcome::errored(why);
            return report;
        }
    };
    if !asked.purpose.is_a_run() {
        match generated(values) {
            Ok((generator, stream)) => {
                report.generator = Some(generator);
                report.stream = Some(stream);
            }
            Err(why) => {
                report.outcome = Outcome::errored(why);
                return report;
            }
        }
    }
    report.outcome = outcome(&found, asked, ended).unwrap_or_else(Outcome::errored);
    report
}

/// The one row of the test that was asked for, where nothing else ran.
fn exactly_it(text: &str, asked: &Asked<'_>, ended: &Ended) -> Result<TestRow, String> {
    let status = status_of(asked, ended)?;
    let rows: Result<Vec<Row>, _> = text.lines().map(serde_json::from_str).collect();
    let rows = rows.map_err(|error| format!("its report is damaged: {error}"))?;
    if rows.is_empty() {
        return Err(format!("there is no report{}", told(ended)));
    }
    let ends = rows.iter().filter(|row| matches!(row, Row::End {})).count();
    if ends != 1 || !matches!(rows.last(), Some(Row::End {})) {
        return Err("its report has no end: the process left without its runner".to_owned());
    }
    let mut broken = None;
    let (mut mine, mut others) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            Row::Broken { errors } => broken = broken.or_else(|| errors.into_iter().next()),
            Row::Test(row) if row.is_file() => {
                if row.state == "failed" {
                    broken = broken.or_else(|| row.errors.into_iter().next());
                }
            }
            Row::Test(row) if is_it(&row, asked) => mine.push(row),
            // Parts of the test: where one fails, the test does.
            Row::Test(row) if is_part(&row, asked) => {}
            Row::Test(row) if row.ran() => others.push(row),
            Row::Test(_) | Row::Suite {} | Row::End {} => {}
        }
    }
    if let Some(other) = others.first() {
        return Err(format!(
            "{} ran {} tests where one was asked for, and cannot select it alone; another is {}",
            asked.runner,
            others.len() + mine.len(),
            other.titles.join(" > ")
        ));
    }
    let runner = asked.runner;
    match (mine.pop(), mine.len(), broken) {
        (Some(row), 0, Some(error)) if !row.ran() => Err(format!(
            "it did not run: {}: {}",
            error.name,
            first_words(&error.message)
        )),
        (Some(row), 0, _) => Ok(row),
        (Some(_), more, _) => Err(format!("{runner} found {} tests of this name", more + 1)),
        (None, _, Some(error)) => Err(format!(
            "its file could not be run: {}: {}",
            error.name,
            first_words(&error.message)
        )),
        (None, ..) if status == 0 => Err(format!("{runner} found no such test")),
        (None, ..) => Err(format!("{runner} told nothing of it{}", told(ended))),
    }
}

/// The test's own row. `@fast-check/vitest` and `@fast-check/jest` put the seed behind the title.
fn is_it(row: &TestRow, asked: &Asked<'_>) -> bool {
    let bare = |title: &String| without_seed(title).to_owned();
    row.file == asked.file
        && (row.titles == asked.titles
            || row.titles.len() == asked.titles.len()
                && row
                    .titles
                    .split_last()
                    .map(|(last, rest)| (bare(last), rest))
                    == asked
                        .titles
                        .split_last()
                        .map(|(last, rest)| (last.clone(), rest)))
}

/// `sum (with seed=-3)` without what is in parentheses.
fn without_seed(title: &str) -> &str {
    let bare = || {
        let inside = title.strip_suffix(')')?;
        let (name, seed) = inside.rsplit_once(" (with seed=")?;
        let digits = seed.strip_prefix('-').unwrap_or(seed);
        (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(name)
    };
    bare().unwrap_or(title)
}

fn is_part(row: &TestRow, asked: &Asked<'_>) -> bool {
    row.file == asked.file
        && row.titles.len() > asked.titles.len()
        && row.titles.starts_with(asked.titles)
}

fn outcome(row: &TestRow, asked: &Asked<'_>, ended: &Ended) -> Result<Outcome, String> {
    let status = status_of(asked, ended)?;
    if row.runs > 1 {
        return Err(
            "it ran more than once in one run; switch off what repeats failed tests".to_owned(),
        );
    }
    if row.inverted {
        return Err("it is expected to fail".to_owned());
    }
    let runner = asked.runner;
    match (row.state.as_str(), status) {
        ("passed", 0) => Ok(Outcome::Green),
        ("failed", 1) => {
            let ran = seed(&row.errors);
            let wanted = asked.seed.map(as_fast_check_has_it);
            if let (Some(wanted), Some(ran)) = (wanted, ran)
                && wanted != ran
            {
                return Err(format!(
                    "fast-check ran with the seed {ran}, and not with {wanted}"
                ));
            }
            let phase = match row.why.as_deref() {
                Some("hookFailed") => Phase::Setup,
                _ => Phase::Call,
            };
            Ok(Outcome::Red(failure(&row.errors, phase, &asked.folders)))
        }
        ("passed" | "failed", _) => Err(format!(
            "its report says that it {}, and {runner} ended with {status}{}",
            row.state,
            told(ended)
        )),
        ("todo", _) => Err("it is a todo".to_owned()),
        _ => Err("it was skipped".to_owned()),
    }
}

/// fast-check takes the number modulo 2^32, as JavaScript does.
fn as_fast_check_has_it(seed: i64) -> i64 {
    // Past 2^53 JavaScript's numbers are as coarse as these.
    let modulo = (seed as f64).rem_euclid(4_294_967_296.0) as u32;
    i64::from(modulo.cast_signed())
}

/// What chooses the test's values, and the values.
fn generated(values: &str) -> Result<(Generator, Stream), String> {
    let rows: Result<Vec<Told>, _> = values.lines().map(serde_json::from_str).collect();
    let rows = rows.map_err(|error| format!("what it told of its values is damaged: {error}"))?;
    if !rows.iter().any(|row| matches!(row, Told::Ready)) {
        return Err("the setup file that sets the seed was not loaded".to_owned());
    }
    let mut digest = Pieces::default();
    let mut stream = Stream {
        sha256: String::new(),
        values: 0,
    };
    let (mut foreign, mut asserted) = (false, false);
    for row in &rows {
        match row {
            Told::Value { text } => {
                digest.add(text.as_bytes());
                stream.values += 1;
            }
            Told::Asserted { own } => {
                asserted = true;
                foreign |= !own;
            }
            Told::Ready | Told::Hooked => {}
        }
    }
    stream.sha256 = digest.finish().as_str().to_owned();
    let generator = if foreign {
        Generator::SeedInSource
    } else if asserted || stream.values > 0 {
        // Of versions whose values cannot be seen, nobody will say that the seed is honoured.
        Generator::FastCheck
    } else {
        Generator::NoGenerator
    };
    Ok((generator, stream))
}

/// The exit status, where it says something of a test: 0 or 1.
fn status_of(asked: &Asked<'_>, ended: &Ended) -> Result<i32, String> {
    let status = exit_status(ended)?;
    match status {
        0 | 1 => Ok(status),
        _ => Err(format!(
            "{} ended with {status}{}",
            asked.runner,
            told(ended)
        )),
    }
}

/// The line that tells what was wrong.
fn told(ended: &Ended) -> String {
    let is_error = |line: &&str| line.contains("Error") || line.contains("ERR_");
    let mut lines = ended.output.lines().map(str::trim);
    lines
        .find(is_error)
        .map_or_else(String::new, |line| format!(": {}", first_words(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::process::How;

    const FILE: &str = "/s/tree/t.test.js";

    fn ended(how: How) -> Ended {
        Ended {
            how,
            output: "a\nTypeError: no\n".to_owned(),
            written: 0,
            wall_ms: 9,
        }
    }

    fn test(titles: &[&str], state: &str, more: &str) -> String {
        let titles = serde_json::to_string(titles).expect("JSON");
        format!(
            r#"{{"row":"test","file":"{FILE}","titles":{titles},"state":"{state}","inverted":false,"runs":1,"errors":[{{"name":"E","message":"Property failed after 1 tests\n{{ seed: 3, path: \"0\" }}\nCounterexample: [1]\nShrunk 0 time(s)"}}]{more}}}"#
        ) + "\n"
    }

    const END: &str = "{\"row\":\"end\"}\n";

    fn judged(text: &str, values: &str, purpose: Purpose, how: How) -> Report {
        let titles = ["outer".to_owned(), "sum".to_owned()];
        let asked = Asked {
            runner: "vitest",
            file: FILE,
            titles: &titles,
            purpose,
            seed: Some(3),
            folders: Folders {
                tree: "/s/tree",
                run: "/s/run",
            },
        };
        judge(text, values, &asked, &ended(how))
    }

    #[track_caller]
    fn errored(text: &str, how: How, why: &str) {
        match judged(text, "", Purpose::Vote, how).outcome {
            Outcome::Errored { why: said } => assert!(said.contains(why), "{why}: {said}"),
            other => panic!("{why}: {other:?}"),
        }
    }

    #[test]
    fn only_a_whole_report_and_its_exit_status_make_a_green() {
        let passed = test(&["outer", "sum"], "passed", "");
        let skipped = test(&["outer", "other"], "skipped", "");
        let part = test(&["outer", "sum", "step"], "passed", "");
        let seeded = test(&["outer", "sum (with seed=-12)"], "passed", "");
        for text in [
            format!("{passed}{END}"),
            format!("{skipped}{part}{passed}{END}"),
            format!("{seeded}{END}"),
            passed.replace("\"test\"", "\"suite\"") + &passed + END,
        ] {
            let outcome = judged(&text, "", Purpose::Vote, How::Exit(0)).outcome;
            assert_eq!(outcome, Outcome::Green, "{text}");
        }
        let green = format!("{passed}{END}");
        let broken = "{\"row\":\"broken\",\"file\":\"\",\"errors\":[{\"name\":\"SyntaxError\",\"message\":\"bad\"}]}\n";
        for (text, how, why) in [
            ("", How::Exit(0), "no report: TypeError: no"),
            (&*passed, How::Exit(0), "no end"),
            (&*format!("{green}{END}"), How::Exit(0), "no end"),
            (&*format!("{green}{passed}"), How::Exit(0), "no end"),
            (&*format!("{green}x"), How::Exit(0), "damaged"),
            (
                &*green,
                How::Exit(1),
                "says that it passed, and vitest ended with 1",
            ),
            (&*green, How::Exit(3), "ended with 3"),
            (&*green, How::Exit(134), "signal 6"),
            (&*green, How::Signal(9), "signal 9"),
            (&*green, How::TimedOut, "9 ms"),
            (&*green, How::LeftAlive, "could not be ended"),
            (END, How::Exit(0), "found no such test"),
            (END, How::Exit(1), "told nothing of it: TypeError"),
            (
                &*format!("{skipped}{END}"),
                How::Exit(0),
                "found no such test",
            ),
            (
                &*format!("{passed}{passed}{END}"),
                How::Exit(0),
                "2 tests of this name",
            ),
            (
                &*format!("{passed}{}{END}", skipped.replace("skipped", "passed")),
                How::Exit(0),
                "ran 2 tests where one was asked for, and cannot select it alone; another is outer > other",
            ),
            (
                &*format!("{}{END}", passed.replace("t.test.js", "u.test.js")),
                How::Exit(0),
                "ran 1 tests",
            ),
            (
                &*format!("{broken}{END}"),
                How::Exit(1),
                "could not be run: SyntaxError: bad",
            ),
            (
                &*format!("{}{broken}{END}", test(&["outer", "sum"], "skipped", "")),
                How::Exit(1),
                "did not run: SyntaxError",
            ),
            (
                &*format!("{}{END}", test(&["outer", "sum"], "skipped", "")),
                How::Exit(0),
                "was skipped",
            ),
            (
                &*format!("{}{END}", test(&["outer", "sum"], "todo", "")),
                How::Exit(0),
                "todo",
            ),
            (
                &*green.replace("\"inverted\":false", "\"inverted\":true"),
                How::Exit(0),
                "expected to fail",
            ),
            (
                &*green.replace("\"runs\":1", "\"runs\":2"),
                How::Exit(0),
                "more than once",
            ),
            (
                &*green.replace("outer", "other"),
                How::Exit(0),
                "ran 1 tests",
            ),
            (
                &*green.replace("sum", "sum (with seed=x)"),
                How::Exit(0),
                "ran 1 tests",
            ),
        ] {
            errored(text, how, why);
        }
    }

    #[test]
    fn a_red_needs_both_as_well_and_the_seed_that_was_asked_for() {
        let failed = format!("{}{END}", test(&["outer", "sum"], "failed", ""));
        match judged(&failed, "", Purpose::Vote, How::Exit(1)).outcome {
            Outcome::Red(failure) => assert_eq!(failure.example.as_deref(), Some("[1]")),
            other => panic!("{other:?}"),
        }
        errored(&failed, How::Exit(0), "says that it failed");
        errored(
            &failed.replace("seed: 3", "seed: 4"),
            How::Exit(1),
            "with the seed 4, and not with 3",
        );
        let hook = format!(
            "{}{END}",
            test(&["outer", "sum"], "failed", ",\"why\":\"hookFailed\"")
        );
        match judged(&hook, "", Purpose::Vote, How::Exit(1)).outcome {
            Outcome::Red(failure) => assert_eq!(failure.phase, Phase::Setup),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_generates_is_told_by_the_values_that_were_seen() {
        let passed = format!("{}{END}", test(&["outer", "sum"], "passed", ""));
        let (ready, value) = (
            "{\"row\":\"ready\"}\n",
            "{\"row\":\"value\",\"text\":\"1\"}\n",
        );
        let hooked = "{\"row\":\"hooked\"}\n";
        let of = |values: &str| judged(&passed, values, Purpose::Collect, How::Exit(0));
        for (values, generator, count) in [
            (ready.to_owned(), Generator::NoGenerator, 0),
            (format!("{hooked}{ready}"), Generator::NoGenerator, 0),
            (
                format!("{hooked}{ready}{value}{value}{{\"row\":\"asserted\",\"own\":true}}\n"),
                Generator::FastCheck,
                2,
            ),
            (
                format!("{hooked}{ready}{{\"row\":\"asserted\",\"own\":true}}\n"),
                Generator::FastCheck,
                0,
            ),
            (
                format!("{hooked}{ready}{value}{{\"row\":\"asserted\",\"own\":false}}\n"),
                Generator::SeedInSource,
                1,
            ),
        ] {
            let report = of(&values);
            assert_eq!(report.generator, Some(generator), "{values}");
            assert_eq!(report.stream.expect("a stream").values, count, "{values}");
        }
        for values in ["", hooked, "x"] {
            let report = of(values);
            assert_eq!(report.generator, None, "{values}");
            assert!(
                matches!(report.outcome, Outcome::Errored { .. }),
                "{values}"
            );
        }
        let other = judged(END, ready, Purpose::Collect, How::Exit(0));
        assert_eq!(other.generator, None);
    }

    #[test]
    fn seeds_are_as_fast_check_takes_them() {
        for (seed, expected) in [
            (3, 3),
            (-3, -3),
            (2_147_483_648, -2_147_483_648),
            (4_294_967_297, 1),
            (-4_294_967_297, -1),
        ] {
            assert_eq!(as_fast_check_has_it(seed), expected, "{seed}");
        }
    }
}
