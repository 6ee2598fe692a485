//! Which lines of a comment are commands, and what they say. PURE.
//!
//! The first line that is not blank has to be a command, and the commands end at the first line that is
//! none. So nothing inside a quote, a code block or an HTML comment is a command: what opens these is a
//! line that is none itself.

use super::{COMMANDS, Command};
use crate::contract::reader::suggestion;

/// Commands of one comment that are read.
pub const MOST_LINES: usize = 5;

/// Characters of a line that are kept; a longer one is a mistake.
const LONGEST: usize = 1_000;

const PREFIX: &str = "/frostline";

/// A line that begins like a command and is none: what is wrong, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(pub String);

/// The command lines of a comment, at most [`MOST_LINES`] and one more that tells of too many. Empty for
/// a comment that holds none.
pub fn find(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let Some(text) = command_line(line) else {
            break;
        };
        // What follows may lie inside the comment that begins here.
        let (text, hides) = match text.find("<!--") {
            Some(at) => (text[..at].trim_end(), true),
            None => (text, false),
        };
        found.push(text.chars().take(LONGEST + 1).collect());
        if hides || found.len() > MOST_LINES {
            break;
        }
    }
    found
}

/// The line without what surrounds it, if it begins with the prefix and is no code block by its indent.
fn command_line(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let rest = text.strip_prefix(PREFIX)?;
    let ends = rest.chars().next().is_none_or(char::is_whitespace);
    ends.then(|| text.trim_end())
}

/// Reads a line that [`find`] found; `place` is its number among them, from 0.
pub fn read(line: &str, place: usize) -> Result<Command, Mistake> {
    if place >= MOST_LINES {
        return Err(Mistake(format!(
            "a comment holds at most {MOST_LINES} commands; the rest was left out"
        )));
    }
    if line.chars().count() > LONGEST {
        return Err(Mistake(format!(
            "a command has at most {LONGEST} characters"
        )));
    }
    let rest = line.strip_prefix(PREFIX).unwrap_or(line).trim();
    let (name, arguments) = match rest.split_once(char::is_whitespace) {
        Some((name, arguments)) => (name, arguments.trim()),
        None => (rest, ""),
    };
    // A bare prefix asks what can be asked.
    if name.is_empty() {
        return Ok(Command::Help);
    }
    let Some(row) = COMMANDS.iter().find(|row| row.name == name) else {
        let names = COMMANDS.map(|row| row.name);
        return Err(Mistake(format!(
            "there is no such command; {}",
            suggestion(name, &names)
        )));
    };
    (row.build)(arguments).map_err(|why| {
        let usage = format!("write `{}`", row.usage());
        Mistake(match why.is_empty() {
            true => usage,
            false => format!("{why}; {usage}"),
        })
    })
}
