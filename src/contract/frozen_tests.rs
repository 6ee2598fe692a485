//! `frozen_tests.txt`: tests that run and have no vote, with why (protocol 3.8). PURE.

use super::ContractError;
use super::document::{Fault, Kind, MAX_BYTES, MAX_ENTRIES, Place, quoted, to_u32};
use super::json;
use super::rows;
use crate::model::NodeId;

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenTest {
    /// An exact node id, or a test's name, which is read as one.
    pub nodeid: NodeId,
    /// `YYYY-MM-DD`, a date that there is.
    pub unstable_since: String,
    pub frozen_runs: u64,
    /// The cause, once it is known.
    pub note: String,
    /// 1-based.
    pub line: u32,
}

impl FrozenTest {
    /// Whether the note says why the test was unstable, without which it does not come back to the vote
    /// unseen.
    pub fn states_cause(&self) -> bool {
        !self.note.trim().is_empty()
    }
}

/// The list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrozenTests {
    pub rows: Vec<FrozenTest>,
}

/// Reads the list at `path` of the repository. It may be empty, and a name may stand in it twice.
///
/// # Errors
/// The first line that is not as protocol 3.8 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<FrozenTests, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<FrozenTests, Fault> {
    if bytes.iter().all(u8::is_ascii_whitespace) && bytes.len() <= MAX_BYTES {
        return Ok(FrozenTests::default());
    }
    let text = super::document::text(bytes)?;
    let mut rows = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let at = to_u32(at) + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if rows.len() == MAX_ENTRIES {
            let place = Place {
                line: at,
                column: 1,
            };
            let message = format!("the list may have {MAX_ENTRIES} rows, and this one has more");
            return Err(Fault::new(place, message));
        }
        rows.push(
            Line {
                text: line,
                line: at,
                at: 0,
            }
            .row()?,
        );
    }
    Ok(FrozenTests { rows })
}

/// A line that is read from left to right.
struct Line<'a> {
    text: &'a str,
    line: u32,
    at: usize,
}

impl Line<'_> {
    fn row(mut self) -> Result<FrozenTest, Fault> {
        if let Some(c) = self.text.chars().find(|c| c.is_control() && *c != '\t') {
            self.at = self.text.find(c).unwrap_or_default();
            return Err(self.expected("no control character"));
        }
        let nodeid = self.name()?;
        let unstable_since = self.field("unstable_since")?;
        if !is_date(&unstable_since) {
            self.at -= unstable_since.len();
            return Err(self.expected("a date `YYYY-MM-DD`"));
        }
        let runs = self.field("frozen_runs")?;
        let is_plain = super::reader::is_plain_integer(&runs);
        let Some(frozen_runs) = is_plain.then(|| runs.parse().ok()).flatten() else {
            self.at -= runs.len();
            return Err(self.expected("a count of runs"));
        };
        self.key("note")?;
        let note = self.string()?;
        self.blank();
        if self.at < self.text.len() {
            return Err(self.expected("the end of the line after `note`"));
        }
        Ok(FrozenTest {
            nodeid,
            unstable_since,
            frozen_runs,
            note,
            line: self.line,
        })
    }

    fn name(&mut self) -> Result<NodeId, Fault> {
        self.blank();
        let start = self.at;
        let name = match self.rest().starts_with('"') {
            true => self.string()?,
            false => self.word().to_owned(),
        };
        name.parse().map_err(|_| {
            self.at = start;
            self.expected("a node id, or a test's name without `/`, `\\` and control characters")
        })
    }

    fn field(&mut self, key: &str) -> Result<String, Fault> {
        self.key(key)?;
        Ok(self.word().to_owned())
    }

    fn key(&mut self, key: &str) -> Result<(), Fault> {
        let is_apart = self.blank();
        match self
            .rest()
            .strip_prefix(key)
            .and_then(|rest| rest.strip_prefix('='))
        {
            Some(_) if is_apart => {
                self.at += key.len() + 1;
                Ok(())
            }
            _ => Err(self.expected(&format!("`{key}=` after a space"))),
        }
    }

    /// A JSON string, which [`json`] reads to the letter.
    fn string(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let mut end = None;
        let mut escaped = false;
        for (at, b) in rest.bytes().enumerate() {
            match b {
                b'"' if at > 0 && !escaped => {
                    end = Some(at + 1);
                    break;
                }
                b'\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        let Some(end) = end.filter(|_| rest.starts_with('"')) else {
            return Err(self.expected("a string in double quotes"));
        };
        let node = json::parse(&rest.as_bytes()[..end]).map_err(|fault| Fault {
            place: Place {
                line: self.line,
                column: self.place().column + fault.place.column - 1,
            },
            ..fault
        })?;
        let text = match node.kind {
            Kind::Text(text) => text.into_owned(),
            _ => String::new(),
        };
        self.at += end;
        Ok(text)
    }

    fn word(&mut self) -> &str {
        let start = self.at;
        let rest = &self.text[start..];
        self.at += rest.find([' ', '\t']).unwrap_or(rest.len());
        &self.text[start..self.at]
    }

    fn blank(&mut self) -> bool {
        let start = self.at;
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.at > start
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn place(&self) -> Place {
        let start = Place {
            line: self.line,
            column: 1,
        };
        start.after(&self.text.as_bytes()[..self.at])
    }

    fn expected(&self, what: &str) -> Fault {
        let found = match self.rest() {
            "" => "the end of the line".to_owned(),
            rest => quoted(rest),
        };
        Fault::new(self.place(), format!("expected {what}, found {found}"))
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// A row as the list has it, without a line end.
pub fn line(row: &FrozenTest) -> String {
    let name = row.nodeid.as_str();
    let is_plain =
        !name.starts_with(['"', '#']) && !name.chars().any(|c| c.is_whitespace() || c.is_control());
    let name = match is_plain {
        true => name.to_owned(),
        false => rows::quoted(name, false),
    };
    let note = rows::quoted(&row.note, false);
    let (since, runs) = (&row.unstable_since, row.frozen_runs);
    format!("{name} unstable_since={since} frozen_runs={runs} note={note}")
}

/// `existing` with one line replaced (or removed, by `None`), or with a line more where `at` is none;
/// every other byte stays as it is. `at` is 1-based.
pub fn edit(existing: &[u8], at: Option<u32>, row: Option<&FrozenTest>) -> Vec<u8> {
    let newline: &[u8] = match existing.windows(2).any(|pair| pair == b"\r\n") {
        true => b"\r\n",
        false => b"\n",
    };
    let mut out = Vec::with_capacity(existing.len());
    for (number, text) in existing.split_inclusive(|b| *b == b'\n').enumerate() {
        if at != Some(to_u32(number) + 1) {
            out.extend_from_slice(text);
            continue;
        }
        if let Some(row) = row {
            out.extend_from_slice(line(row).as_bytes());
            let end = text.len()
                - text
                    .iter()
                    .rev()
                    .take_while(|b| matches!(b, b'\r' | b'\n'))
                    .count();
            out.extend_from_slice(&text[end..]);
        }
    }
    if let (None, Some(row)) = (at, row) {
        if !out.is_empty() && !out.ends_with(b"\n") {
            out.extend_from_slice(newline);
        }
        out.extend_from_slice(line(row).as_bytes());
        out.extend_from_slice(newline);
    }
    out
}
