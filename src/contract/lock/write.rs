//! Writing the lock so that a re-run makes no diff.

use std::collections::{BTreeMap, BTreeSet};

use super::read;
use crate::contract::document::{Kind, Node};
use crate::contract::json;
use crate::contract::rows::quoted;
use crate::model::FileDigest;

/// The lock that pins `files` (by path from the repository root) under `roots`.
///
/// `existing` is the lock that is there already. When it says the same, it is given back byte for byte.
/// Else its indentation, line ends, spacing, key order and form of `fixtures_root` are kept; its rows
/// stay in place and new ones go where sorting puts them. A fresh lock, or one in place of something
/// that is no lock, has two spaces, sorted keys and a final newline.
pub fn write(
    existing: Option<&[u8]>,
    roots: &[String],
    files: &BTreeMap<String, FileDigest>,
) -> Vec<u8> {
    let Some((bytes, old)) = existing.and_then(|bytes| Some((bytes, read(bytes).ok()?))) else {
        return Style::fresh(roots.len()).render(roots, &[], files);
    };
    let same_files = old.files.len() == files.len()
        && old
            .files
            .iter()
            .zip(files)
            .all(|((old, row), (new, digest))| old == new && row.digest == *digest);
    if same_files && old.roots == roots {
        return bytes.to_vec();
    }
    match json::parse(bytes) {
        Ok(root) => {
            let style = Style::of(bytes, &root, roots.len());
            style.render(roots, &keys_of(&root, &old.roots), files)
        }
        Err(_) => Style::fresh(roots.len()).render(roots, &[], files),
    }
}

/// The rows of a lock in the order of the file, as paths from the repository root.
fn keys_of(root: &Node<'_>, roots: &[String]) -> Vec<String> {
    let Kind::Object(members) = &root.kind else {
        return Vec::new();
    };
    let is_list = |key: &str| {
        let mut members = members.iter();
        members.any(|m| m.key == key && matches!(m.value.kind, Kind::List(_)))
    };
    let prefix = match roots {
        [root] if !is_list("fixtures_root") => format!("{root}/"),
        _ => String::new(),
    };
    members
        .iter()
        .filter(|member| member.key == "files")
        .flat_map(|member| match &member.value.kind {
            Kind::Object(rows) => rows.as_slice(),
            _ => &[],
        })
        .map(|row| format!("{prefix}{}", row.key))
        .collect()
}

/// How a lock is laid out.
struct Style {
    /// Line end; `None` when the lock is one line.
    newline: Option<&'static str>,
    indent: String,
    /// What stands between key and value, and between entries of one line.
    colon: &'static str,
    comma: &'static str,
    final_newline: bool,
    files_first: bool,
    /// Whether `fixtures_root` is a list.
    list: bool,
    /// Whether characters outside ASCII are escaped.
    ascii: bool,
}

impl Style {
    fn fresh(roots: usize) -> Self {
        Self {
            newline: Some("\n"),
            indent: "  ".to_owned(),
            colon: ": ",
            comma: ", ",
            final_newline: true,
            files_first: false,
            list: roots != 1,
            ascii: false,
        }
    }

    fn of(bytes: &[u8], root: &Node<'_>, roots: usize) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let Kind::Object(members) = &root.kind else {
            return Self::fresh(roots);
        };
        let first = members.first();
        let is_multi_line = first.is_some_and(|member| member.place.line > root.place.line);
        let newline = match text.contains("\r\n") {
            true => "\r\n",
            false => "\n",
        };
        let indent = first
            .and_then(|member| text.lines().nth(member.place.line as usize - 1))
            .map(|line| {
                line.chars()
                    .take_while(|c| matches!(c, ' ' | '\t'))
                    .collect()
            })
            .unwrap_or_default();
        let (colon, comma) = match has_spaces(&text) {
            true => (": ", ", "),
            false => (":", ","),
        };
        let root_of = members.iter().find(|member| member.key == "fixtures_root");
        let was_list = root_of.is_some_and(|m| matches!(m.value.kind, Kind::List(_)));
        let is_foreign = |member: &&crate::contract::document::Member<'_>| match &member.value.kind
        {
            Kind::Object(rows) => rows.iter().any(|row| !row.key.is_ascii()),
            _ => false,
        };
        Self {
            newline: is_multi_line.then_some(newline),
            indent,
            colon,
            comma,
            final_newline: text.ends_with('\n'),
            files_first: first.is_some_and(|member| member.key == "files"),
            list: was_list || roots != 1,
            ascii: bytes.is_ascii() && members.iter().any(|member| is_foreign(&member)),
        }
    }

    fn render(
        &self,
        roots: &[String],
        order: &[String],
        files: &BTreeMap<String, FileDigest>,
    ) -> Vec<u8> {
        let root_value = match (self.list, roots) {
            (false, [root]) => self.string(root),
            _ => {
                let roots: Vec<String> = roots.iter().map(|root| self.string(root)).collect();
                self.block('[', ']', 2, &roots)
            }
        };
        let prefix = match (self.list, roots) {
            (false, [root]) => format!("{root}/"),
            _ => String::new(),
        };
        let rows: Vec<String> = ordered(order, files)
            .into_iter()
            .map(|(path, digest)| {
                let key = path.strip_prefix(&prefix).unwrap_or(path);
                format!("{}{}\"{}\"", self.string(key), self.colon, digest.as_str())
            })
            .collect();
        let mut members = vec![
            format!("\"fixtures_root\"{}{root_value}", self.colon),
            format!("\"files\"{}{}", self.colon, self.block('{', '}', 2, &rows)),
        ];
        if self.files_first {
            members.reverse();
        }
        let mut text = self.block('{', '}', 1, &members);
        if self.final_newline {
            text.push_str(self.newline.unwrap_or("\n"));
        }
        text.into_bytes()
    }

    /// Entries between brackets, indented `depth` times.
    fn block(&self, open: char, close: char, depth: usize, entries: &[String]) -> String {
        let Some(newline) = self.newline.filter(|_| !entries.is_empty()) else {
            return format!("{open}{}{close}", entries.join(self.comma));
        };
        let inner = self.indent.repeat(depth);
        let outer = self.indent.repeat(depth - 1);
        let entries = entries.join(&format!(",{newline}{inner}"));
        format!("{open}{newline}{inner}{entries}{newline}{outer}{close}")
    }

    fn string(&self, text: &str) -> String {
        quoted(text, self.ascii)
    }
}

/// Whether the first key's colon is followed by a space.
fn has_spaces(text: &str) -> bool {
    // Keys of a lock's outer object have neither quotes nor colons in them.
    text.split_once(':')
        .is_none_or(|(_, rest)| rest.starts_with([' ', '\t', '\n', '\r']))
}

/// Old rows that are still there keep their order; each new one stands before the first old one that
/// sorts after it.
fn ordered<'a>(
    order: &'a [String],
    files: &'a BTreeMap<String, FileDigest>,
) -> Vec<(&'a String, &'a FileDigest)> {
    let old: BTreeSet<&String> = order.iter().collect();
    let mut new = files
        .iter()
        .filter(|(path, _)| !old.contains(path))
        .peekable();
    let mut rows = Vec::with_capacity(files.len());
    for path in order {
        let Some(row) = files.get_key_value(path) else {
            continue;
        };
        while let Some(earlier) = new.next_if(|(other, _)| *other < path) {
            rows.push(earlier);
        }
        rows.push(row);
    }
    rows.extend(new);
    rows
}
