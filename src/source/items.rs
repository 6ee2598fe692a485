//! How a reader puts items together: limits, digests, and who disables whom.

use std::ops::Range;

use super::syntax::{Id, Syntax};
use crate::digest;
use crate::model::{Declared, Disabled, FileDigest, Import, ItemSort, TestItem};

/// More items than this are no test file; the text is broken at the first one too many.
pub(super) const MOST_ITEMS: usize = 20_000;

/// Names may be long, and each item holds all that enclose it; bytes. The text is broken past that.
const MOST_NAME_BYTES: usize = 4 * 1024 * 1024;

/// Characters of a reason that are kept.
const LONGEST_REASON: usize = 300;

/// Names that lie deeper are no test of anyone's; the text is broken there.
pub(super) const DEEPEST: usize = 64;

/// What a language's reader finds.
pub(super) struct Facts {
    pub items: Vec<TestItem>,
    pub imports: Vec<Import>,
    pub rest: FileDigest,
    /// As in [`crate::model::SourceFacts`].
    pub frame: Option<FileDigest>,
    pub modules: Vec<Declared>,
    /// As in [`crate::model::SourceFacts`].
    pub makes_more: bool,
}

/// Where an item stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// With its decorators and attributes.
    pub range: Range<usize>,
    /// The item's own name or title; empty for none.
    pub name: Range<usize>,
    pub line: u32,
    pub end_line: u32,
}

impl Place {
    pub fn of(syntax: &Syntax<'_>, whole: Id, name: Option<Id>) -> Self {
        let range = syntax.range(whole);
        Self {
            name: name.map_or(range.start..range.start, |name| syntax.range(name)),
            line: syntax.line(whole),
            end_line: syntax.end_line(whole),
            range,
        }
    }
}

/// The items found so far, within the limits.
#[derive(Default)]
pub(super) struct Items {
    list: Vec<TestItem>,
    /// Of all names together: an item owns those of what encloses it.
    bytes: usize,
}

impl Items {
    /// Adds an item that nothing disables yet, and gives it back to be finished; the line when there
    /// are too many or it lies too deep.
    pub fn add(
        &mut self,
        syntax: &Syntax<'_>,
        (names, sort): (Vec<String>, ItemSort),
        place: &Place,
        context: &FileDigest,
    ) -> Result<&mut TestItem, u32> {
        let item = TestItem {
            names,
            sort,
            line: place.line,
            end_line: place.end_line,
            disabled: None,
            skipped_rows: Vec::new(),
            text: digest::pieces([syntax.slice(place.range.clone()).as_bytes()]),
            shape: shape(syntax, place),
            context: context.clone(),
            seed: None,
            generator: None,
        };
        self.push(item)
    }

    pub fn push(&mut self, item: TestItem) -> Result<&mut TestItem, u32> {
        self.bytes += item.names.iter().map(String::len).sum::<usize>();
        let too_many = self.list.len() >= MOST_ITEMS || self.bytes > MOST_NAME_BYTES;
        if too_many || item.names.len() > DEEPEST {
            return Err(item.line);
        }
        self.list.push(item);
        let last = self.list.len() - 1;
        Ok(&mut self.list[last])
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn get(&self, at: usize) -> &TestItem {
        &self.list[at]
    }

    pub fn into_vec(self) -> Vec<TestItem> {
        self.list
    }
}

/// The digest of the text around the item's name.
fn shape(syntax: &Syntax<'_>, place: &Place) -> FileDigest {
    let before = syntax.slice(place.range.start..place.name.start);
    let after = syntax.slice(place.name.end..place.range.end);
    digest::pieces([before.as_bytes(), after.as_bytes()])
}

pub(super) fn disabled(line: u32, why: impl Into<String>) -> Disabled {
    let mut why = why.into();
    if let Some((end, _)) = why.char_indices().nth(LONGEST_REASON) {
        why.truncate(end);
        why.push('…');
    }
    Disabled { line, why }
}

/// The names of something called `name` inside `enclosing`.
pub(super) fn names_in(enclosing: &[String], name: &str) -> Vec<String> {
    let mut names = enclosing.to_vec();
    names.push(name.to_owned());
    names
}

/// A text of the source for a message: one line of bounded length.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().next().unwrap_or("");
    let short: String = line.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    }
}
