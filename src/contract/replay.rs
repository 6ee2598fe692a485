//! Replay lines: the command that shows a failure again (protocol 3.5). PURE.
//!
//! Invariant: a line that is accepted holds nothing but an allowed runner, the row's own test and seed, and
//! words that are known to choose neither other code nor other input. It is given to a runner as words; no
//! shell ever sees it.

mod runners;
mod selectors;
#[cfg(test)]
mod tests;
mod words;

use super::seed::Seed;
use crate::model::NodeId;
use runners::{Meaning, Runner};

pub use selectors::{title_pattern, titles};
use words::Word;

/// Environment variables that a line may set, each before the runner.
const VARIABLES: [&str; 5] = [
    "PROPTEST_RNG_SEED",
    "FC_SEED",
    "PYTHONHASHSEED",
    "TZ",
    "LC_ALL",
];
/// Bytes a line may have.
const LONGEST: usize = 4_096;
/// The runner that is allowed whatever the configuration says.
pub const DEFAULT_RUNNER: &str = "pytest";

/// What a line has to be about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub nodeid: &'a NodeId,
    /// The row's seed; a row of the freeze list may have none, and then none is asked for.
    pub seed: Option<&'a Seed>,
    /// Runners that are allowed beside [`DEFAULT_RUNNER`].
    pub runners: &'a [String],
}

/// A line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Names and values, in the order of the line.
    pub variables: Vec<(String, String)>,
    /// The runner and its words.
    pub words: Vec<String>,
}

/// Takes a line apart.
///
/// # Errors
/// Why it is no replay line for `subject`: a clause fit for "`replay`: …".
pub fn parse(line: &str, subject: Subject<'_>) -> Result<Replay, String> {
    if line.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let mut words = words::split(line)?.into_iter().peekable();
    let mut variables = Vec::new();
    while let Some((name, value)) = words.peek().and_then(Word::assignment) {
        if !VARIABLES.contains(&name) {
            return Err(format!(
                "it may not set {name:?}; only {} may be set",
                VARIABLES.join(", ")
            ));
        }
        variables.push((name.to_owned(), value.to_owned()));
        words.next();
    }
    let words: Vec<String> = words.map(|word| word.text).collect();
    check(&variables, &words, subject)?;
    Ok(Replay { variables, words })
}

/// What has been seen of a line.
#[derive(Default)]
struct Seen {
    test: bool,
    seed: bool,
}

fn check(
    variables: &[(String, String)],
    words: &[String],
    subject: Subject<'_>,
) -> Result<(), String> {
    let Some((name, rest)) = words.split_first() else {
        return Err("it names no runner".to_owned());
    };
    if name != DEFAULT_RUNNER && !subject.runners.contains(name) {
        return Err(format!(
            "{name:?} is no allowed runner; {DEFAULT_RUNNER} is, and those under `lane: {{runners: […]}}` of the configuration"
        ));
    }
    let (runner, rest) = runners::of(name, rest)?;
    let mut seen = Seen::default();
    for (name, value) in variables {
        if name.ends_with("_SEED") {
            seen.seed(value, subject)?;
        }
    }
    let mut left = rest.iter();
    while let Some(word) = left.next() {
        one(runner, word, &mut left, subject, &mut seen)?;
    }
    match subject.seed {
        _ if !seen.test => Err(format!(
            "it does not name the row's test {}",
            subject.nodeid
        )),
        Some(seed) if !seen.seed => Err(format!("it does not state the row's seed {seed}")),
        _ => Ok(()),
    }
}

fn one<'w>(
    runner: &Runner,
    word: &str,
    left: &mut impl Iterator<Item = &'w String>,
    subject: Subject<'_>,
    seen: &mut Seen,
) -> Result<(), String> {
    if word == subject.nodeid.as_str() || (runner.selects)(subject.nodeid, word) {
        seen.test = true;
        return Ok(());
    }
    if runner.names_file(subject.nodeid, word) {
        return Ok(());
    }
    if subject.seed.is_some_and(|seed| seed.is_word(word)) {
        seen.seed = true;
        return Ok(());
    }
    let Some((option, joined)) = runner.option(word) else {
        return Err(format!("{word:?} is no word that it may have"));
    };
    let value = match (option.meaning, joined) {
        (Meaning::Switch, _) => return Ok(()),
        (_, Some(value)) => value.to_owned(),
        (_, None) => match left.next() {
            Some(next) => next.clone(),
            None => return Err(format!("{word:?} lacks its value")),
        },
    };
    match option.meaning {
        Meaning::Seed => seen.seed(&value, subject),
        Meaning::Selector if (runner.selects)(subject.nodeid, &value) => {
            seen.test = true;
            Ok(())
        }
        Meaning::Selector => Err(format!("{value:?} selects another test than the row's")),
        meaning if meaning.allows(&value) => Ok(()),
        _ => Err(format!(
            "{value:?} is no value that {:?} may have",
            option.name
        )),
    }
}

impl Seen {
    fn seed(&mut self, value: &str, subject: Subject<'_>) -> Result<(), String> {
        let is_it = match subject.seed {
            Some(seed) => seed.is_word(value),
            None => !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric()),
        };
        if !is_it {
            return Err(format!("{value:?} is another seed than the row's"));
        }
        self.seed = true;
        Ok(())
    }
}
