//! Changing one entry of a JSON file, so that every other byte stays as it is. PURE.
//!
//! Invariant: only what belongs to the entry is touched: its own bytes, and the comma that joins it to a
//! neighbour. A new entry is laid out as its neighbours are.

use std::ops::Range;

use serde_json::Value;

/// What to do with an entry of a list of rows. Positions are those of the parsed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit<T> {
    /// Puts a row behind the last one.
    Add(T),
    Replace(usize, T),
    Remove(usize),
}

/// A row as its file has it.
pub(super) trait Row {
    /// Keys and values in the order of a fresh row; what the row does not state is left out.
    fn members(&self) -> Vec<(&'static str, Value)>;
}

/// `existing` with one edit of the list at `key` of its outer object. `existing` is a valid file of its
/// kind, and the position is one of its list; else nothing changes. Without a file, `fresh` is one that
/// has an empty list.
pub(super) fn edit<T: Row>(
    existing: Option<&[u8]>,
    fresh: &str,
    key: &str,
    edit: &Edit<T>,
) -> Vec<u8> {
    let bytes = existing.unwrap_or(fresh.as_bytes());
    let Some(rows) = Container::at(bytes, &[key]) else {
        return bytes.to_vec();
    };
    match edit {
        Edit::Remove(at) => rows.remove(*at),
        Edit::Add(row) => {
            let layout = rows.layout();
            rows.add(&layout.object(&row.members(), &[]))
        }
        Edit::Replace(at, row) => match rows.entries.get(*at) {
            Some(span) => {
                let old = &bytes[span.clone()];
                let layout = Layout::of_object(bytes, span.clone());
                let text = layout.object(&row.members(), &keys_of(old));
                rows.replace(*at, &text)
            }
            None => bytes.to_vec(),
        },
    }
}

/// A list or an object of a valid JSON text, with the places of its entries.
pub(super) struct Container<'a> {
    bytes: &'a [u8],
    /// With its brackets.
    span: Range<usize>,
    /// Values of a list; of an object, each from its key to the end of its value.
    pub entries: Vec<Range<usize>>,
}

impl<'a> Container<'a> {
    /// The container that is reached by `keys` from the outer object.
    pub fn at(bytes: &'a [u8], keys: &[&str]) -> Option<Self> {
        let mut found = Self::of(bytes, skip_blank(bytes, 0))?;
        for key in keys {
            let member = found.entries.iter().find(|member| {
                let start = member.start;
                decoded(&bytes[start..end_of_string(bytes, start)]).as_deref() == Some(*key)
            })?;
            found = Self::of(bytes, value_of(bytes, member))?;
        }
        Some(found)
    }

    fn of(bytes: &'a [u8], start: usize) -> Option<Self> {
        let is_object = match bytes.get(start)? {
            b'{' => true,
            b'[' => false,
            _ => return None,
        };
        let mut entries = Vec::new();
        let mut at = skip_blank(bytes, start + 1);
        while !matches!(bytes.get(at)?, b'}' | b']') {
            let first = at;
            if is_object {
                at = skip_blank(bytes, end_of_string(bytes, at)) + 1;
                at = skip_blank(bytes, at);
            }
            at = end_of_value(bytes, at);
            entries.push(first..at);
            at = skip_blank(bytes, at);
            if bytes.get(at) == Some(&b',') {
                at = skip_blank(bytes, at + 1);
            }
        }
        Some(Self {
            bytes,
            span: start..at + 1,
            entries,
        })
    }

    fn spliced(&self, span: Range<usize>, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + text.len());
        out.extend_from_slice(&self.bytes[..span.start]);
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(&self.bytes[span.end..]);
        out
    }

    pub fn replace(&self, at: usize, text: &str) -> Vec<u8> {
        self.spliced(self.entries[at].clone(), text)
    }

    pub fn remove(&self, at: usize) -> Vec<u8> {
        let Some(entry) = self.entries.get(at) else {
            return self.bytes.to_vec();
        };
        let span = match (at.checked_sub(1), self.entries.get(at + 1)) {
            (_, Some(next)) => entry.start..next.start,
            (Some(before), None) => self.entries[before].end..entry.end,
            (None, None) => self.span.start + 1..self.span.end - 1,
        };
        self.spliced(span, "")
    }

    /// Puts `text` behind the last entry.
    pub fn add(&self, text: &str) -> Vec<u8> {
        let Some(last) = self.entries.last() else {
            let inside = self.span.start + 1..self.span.end - 1;
            let layout = self.layout();
            let text = match layout.newline {
                Some(newline) => {
                    let (inner, outer) = (&layout.indent, &layout.outer);
                    format!("{newline}{inner}{text}{newline}{outer}")
                }
                None => text.to_owned(),
            };
            return self.spliced(inside, &text);
        };
        let before = match self.entries.len() {
            1 => self.span.start + 1..last.start,
            more => self.entries[more - 2].end..last.start,
        };
        let gap = String::from_utf8_lossy(&self.bytes[before]).into_owned();
        let gap = match (gap.contains(','), gap.is_empty()) {
            (true, _) => gap,
            (false, true) => self.layout().comma.to_owned(),
            (false, false) => format!(",{gap}"),
        };
        self.spliced(last.end..last.end, &format!("{gap}{text}"))
    }

    /// How a new entry is laid out: as the last one, else by what stands around.
    pub fn layout(&self) -> Layout {
        if let Some(last) = self.entries.last() {
            let layout = Layout::of_object(self.bytes, last.clone());
            if self.bytes[self.span.start] == b'{' {
                // A key may hold colons of its own.
                let behind = end_of_string(self.bytes, last.start);
                return Layout {
                    inner: None,
                    ..layout.spaced_as(&self.bytes[behind..last.end])
                };
            }
            return layout;
        }
        let outer = indent_before(self.bytes, self.span.start);
        let is_multi_line = outer.is_some();
        let outer = outer.unwrap_or_default();
        // The container's own line is indented once.
        let unit = if outer.is_empty() {
            "  ".to_owned()
        } else {
            outer.clone()
        };
        Layout {
            newline: is_multi_line.then(|| newline(self.bytes)),
            indent: format!("{outer}{unit}"),
            outer,
            inner: None,
            is_ascii: self.bytes.is_ascii(),
            ..Layout::spaced(self.bytes)
        }
    }
}

/// How an object is laid out.
pub(super) struct Layout {
    /// Line end; `None` where the container is one line.
    newline: Option<&'static str>,
    /// What an entry, and the container around it, stand behind in their lines.
    indent: String,
    outer: String,
    /// What each member stands behind, where an entry has several lines.
    inner: Option<String>,
    colon: &'static str,
    comma: &'static str,
    /// Characters outside ASCII are escaped.
    is_ascii: bool,
}

impl Layout {
    fn spaced(bytes: &[u8]) -> Self {
        let colon = bytes.iter().position(|b| *b == b':');
        let is_spaced =
            colon.is_none_or(|at| bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace));
        let (colon, comma) = if is_spaced { (": ", ", ") } else { (":", ",") };
        Self {
            newline: None,
            indent: String::new(),
            outer: String::new(),
            inner: None,
            colon,
            comma,
            is_ascii: false,
        }
    }

    fn spaced_as(self, text: &[u8]) -> Self {
        let Self { colon, comma, .. } = Self::spaced(text);
        Self {
            colon,
            comma,
            ..self
        }
    }

    fn of_object(bytes: &[u8], span: Range<usize>) -> Self {
        let text = &bytes[span.clone()];
        let first = skip_blank(text, 1);
        let gap = text.get(1..first).unwrap_or_default();
        let indent = indent_before(bytes, span.start);
        Self {
            newline: indent.is_some().then(|| newline(bytes)),
            inner: gap
                .contains(&b'\n')
                .then(|| indent_before(text, first).unwrap_or_default()),
            indent: indent.unwrap_or_default(),
            is_ascii: bytes.is_ascii(),
            ..Self::spaced(text)
        }
    }

    /// An object with the members in the order of `order`, as far as it knows them.
    fn object(&self, members: &[(&str, Value)], order: &[String]) -> String {
        let mut sorted: Vec<&(&str, Value)> = members.iter().collect();
        let place = |key: &str| order.iter().position(|known| known == key);
        sorted.sort_by_key(|(key, _)| place(key).unwrap_or(usize::MAX));
        let members: Vec<String> = sorted
            .into_iter()
            .map(|(key, value)| format!("\"{key}\"{}{}", self.colon, self.value(value)))
            .collect();
        match (&self.inner, self.newline) {
            (Some(inner), Some(newline)) => {
                let members = members.join(&format!(",{newline}{inner}"));
                format!("{{{newline}{inner}{members}{newline}{}}}", self.indent)
            }
            _ => format!("{{{}}}", members.join(self.comma)),
        }
    }

    pub fn value(&self, value: &Value) -> String {
        match value {
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item)).collect();
                format!("[{}]", items.join(self.comma))
            }
            Value::String(text) => quoted(text, self.is_ascii),
            other => other.to_string(),
        }
    }

    /// `"key": value`, as an entry of an object.
    pub fn member(&self, key: &str, value: &Value) -> String {
        let key = quoted(key, self.is_ascii);
        format!("{key}{}{}", self.colon, self.value(value))
    }
}

/// `text` as JSON has it; control characters are escaped, and with `is_ascii` all that is not ASCII.
pub(super) fn quoted(text: &str, is_ascii: bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            _ if c.is_control() || (is_ascii && !c.is_ascii()) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    quoted.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn newline(bytes: &[u8]) -> &'static str {
    match bytes.windows(2).any(|pair| pair == b"\r\n") {
        true => "\r\n",
        false => "\n",
    }
}

/// White space at the start of the line that `at` is in; `None` where that is the text's first.
fn indent_before(bytes: &[u8], at: usize) -> Option<String> {
    let start = bytes[..at].iter().rposition(|b| *b == b'\n')? + 1;
    let line = &bytes[start..at];
    let blank = line.iter().take_while(|b| matches!(b, b' ' | b'\t'));
    Some(String::from_utf8_lossy(&line[..blank.count()]).into_owned())
}

fn keys_of(object: &[u8]) -> Vec<String> {
    let Some(object) = Container::of(object, 0) else {
        return Vec::new();
    };
    let bytes = object.bytes;
    let keys = object.entries.iter().map(|member| {
        let key = &bytes[member.start..end_of_string(bytes, member.start)];
        decoded(key).unwrap_or_default()
    });
    keys.collect()
}

fn decoded(key: &[u8]) -> Option<String> {
    serde_json::from_slice(key).ok()
}

/// Where the value of a member starts.
fn value_of(bytes: &[u8], member: &Range<usize>) -> usize {
    skip_blank(
        bytes,
        skip_blank(bytes, end_of_string(bytes, member.start)) + 1,
    )
}

fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Behind the string whose opening quote is at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind the value that starts at `start`.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 0 { at } else { at + 1 },
            b'}' | b']' => depth -= 1,
            b',' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
