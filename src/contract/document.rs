//! A parsed text with places: what the JSON and the YAML front end produce and the typed reader reads.
//!
//! Invariant: built without recursion and within fixed limits, so that no text, however hostile, takes
//! the stack or unbounded memory. Limits are those of protocol section 3.

use std::borrow::Cow;
use std::collections::HashMap;

use super::ContractError;

/// Bytes a contract file may have.
pub const MAX_BYTES: usize = 64 << 20;
/// Entries one object or list may have.
pub const MAX_ENTRIES: usize = 500_000;
/// Objects and lists that may lie inside each other.
pub const MAX_DEPTH: usize = 64;
/// Values of a whole file; bounds memory where many small lists stand in one of [`MAX_ENTRIES`].
const MAX_VALUES: usize = 4_000_000;

/// A place in a text; both 1-based, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place after `text`, when `text` starts at `self`.
    pub fn after(self, text: &[u8]) -> Self {
        let is_start = |byte: &&u8| **byte & 0xC0 != 0x80;
        let chars = |bytes: &[u8]| to_u32(bytes.iter().filter(is_start).count());
        match text.iter().rposition(|&b| b == b'\n') {
            None => Self {
                line: self.line,
                column: self.column.saturating_add(chars(text)),
            },
            Some(last) => Self {
                line: self
                    .line
                    .saturating_add(to_u32(text.iter().filter(|&&b| b == b'\n').count())),
                column: 1 + chars(&text[last + 1..]),
            },
        }
    }
}

/// Counts of a file of at most [`MAX_BYTES`] fit; anything else is capped.
pub(crate) fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What is wrong, and where; becomes a [`ContractError`] once the file's path is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub place: Place,
    pub message: String,
}

impl Fault {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }

    pub fn in_file(self, path: &str) -> ContractError {
        ContractError {
            path: path.to_owned(),
            line: self.place.line,
            column: self.place.column,
            message: self.message,
        }
    }
}

/// A value and where its first character stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node<'a> {
    pub kind: Kind<'a>,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind<'a> {
    Null,
    Bool(bool),
    /// As written.
    Number(Cow<'a, str>),
    /// Escapes undone.
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(Vec<Member<'a>>),
}

/// A key, escapes undone, with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member<'a> {
    pub key: Cow<'a, str>,
    pub place: Place,
    pub value: Node<'a>,
}

/// The bytes as text, or why they are none: size, byte order mark, UTF-8, emptiness.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Fault> {
    if bytes.len() > MAX_BYTES {
        return Err(Fault::new(
            Place::START,
            format!(
                "the file has {} bytes; a contract file may have {MAX_BYTES} (64 MiB)",
                bytes.len()
            ),
        ));
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(Fault::new(
            Place::START,
            "the file starts with a byte order mark; expected UTF-8 without one",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Fault::new(
            Place::START.after(&bytes[..at]),
            format!(
                "expected UTF-8, found the byte 0x{:02x} at offset {at}",
                bytes[at]
            ),
        )
    })?;
    if text
        .bytes()
        .all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
    {
        return Err(Fault::new(Place::START, "the file is empty"));
    }
    Ok(text)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    List,
    Object,
}

struct Frame<'a> {
    shape: Shape,
    place: Place,
    /// Where its entries start on the stack of their kind.
    first: usize,
    /// The key that waits for its value.
    key: Option<(Cow<'a, str>, Place)>,
}

/// Builds the tree from a flat sequence of calls; keeps the limits and finds duplicate keys.
#[derive(Default)]
pub(crate) struct Builder<'a> {
    members: Vec<Member<'a>>,
    items: Vec<Node<'a>>,
    open: Vec<Frame<'a>>,
    root: Option<Node<'a>>,
    values: usize,
}

impl<'a> Builder<'a> {
    /// The innermost list or object that is still open.
    pub fn shape(&self) -> Option<Shape> {
        self.open.last().map(|frame| frame.shape)
    }

    /// Whether the next thing has to be a key.
    pub fn wants_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|frame| frame.shape == Shape::Object && frame.key.is_none())
    }

    /// Where the key stands that waits for its value.
    pub fn key_place(&self) -> Option<Place> {
        let frame = self.open.last()?;
        frame.key.as_ref().map(|(_, place)| *place)
    }

    pub fn key(&mut self, key: Cow<'a, str>, place: Place) {
        if let Some(frame) = self.open.last_mut() {
            frame.key = Some((key, place));
        }
    }

    pub fn open(&mut self, shape: Shape, place: Place) -> Result<(), Fault> {
        if self.open.len() == MAX_DEPTH {
            return Err(Fault::new(
                place,
                format!("objects and lists may lie {MAX_DEPTH} deep, and this one lies deeper"),
            ));
        }
        let first = match shape {
            Shape::List => self.items.len(),
            Shape::Object => self.members.len(),
        };
        self.open.push(Frame {
            shape,
            place,
            first,
            key: None,
        });
        Ok(())
    }

    /// Closes the innermost list or object.
    pub fn close(&mut self) -> Result<(), Fault> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        let kind = match frame.shape {
            Shape::List => Kind::List(self.items.split_off(frame.first)),
            Shape::Object => {
                let members = self.members.split_off(frame.first);
                refuse_duplicates(&members)?;
                Kind::Object(members)
            }
        };
        self.put(kind, frame.place)
    }

    /// Puts a finished value where it belongs.
    pub fn put(&mut self, kind: Kind<'a>, place: Place) -> Result<(), Fault> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(Fault::new(
                place,
                format!("a contract file may have {MAX_VALUES} values, and this one has more"),
            ));
        }
        let node = Node { kind, place };
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let entries = match frame.shape {
            Shape::List => {
                self.items.push(node);
                self.items.len() - frame.first
            }
            Shape::Object => {
                let (key, place) = frame.key.take().unwrap_or((Cow::Borrowed(""), place));
                self.members.push(Member {
                    key,
                    place,
                    value: node,
                });
                self.members.len() - frame.first
            }
        };
        if entries > MAX_ENTRIES {
            return Err(Fault::new(
                place,
                format!("a list or object may have {MAX_ENTRIES} entries, and this one has more"),
            ));
        }
        Ok(())
    }

    /// The whole document; `None` when no value was put.
    pub fn finish(self) -> Option<Node<'a>> {
        self.root
    }
}

/// Keys are compared as they are after escapes are undone.
fn refuse_duplicates(members: &[Member<'_>]) -> Result<(), Fault> {
    let fault = |member: &Member<'_>, first: Place| {
        Err(Fault::new(
            member.place,
            format!(
                "duplicate key {}; it stands at {}:{} already",
                quoted(&member.key),
                first.line,
                first.column
            ),
        ))
    };
    if members.len() <= 12 {
        for (at, member) in members.iter().enumerate() {
            if let Some(first) = members[..at].iter().find(|m| m.key == member.key) {
                return fault(member, first.place);
            }
        }
        return Ok(());
    }
    // Most large objects are sorted, and then a look at neighbours is enough.
    if members.is_sorted_by(|a, b| a.key < b.key) {
        return Ok(());
    }
    let mut seen: HashMap<&str, Place> = HashMap::with_capacity(members.len());
    for member in members {
        if let Some(first) = seen.insert(&member.key, member.place) {
            return fault(member, first);
        }
    }
    Ok(())
}

/// `text` for a message: quoted, control characters escaped, cut to a readable length.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
    }
}
