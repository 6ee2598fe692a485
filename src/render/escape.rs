//! Makes text from a repository harmless, for every place it is shown at. PURE.
//!
//! Invariant: what comes out of here is one line, and shows; it never acts. No markup, mention, link,
//! issue or commit reference, emoji, HTML or table break survives. Nothing else in the crate escapes.
//!
//! Markdown gets code spans, not backslashes: the forge looks for mentions and references in the rendered
//! text, where a backslash or an entity is gone already, and leaves code alone.

use std::fmt::Write as _;

/// Longest text of a repository that Markdown shows whole, in characters; JSON has all of it.
const MAX_SHOWN: usize = 512;

/// Longest run of backticks that a code span is fenced against. Parsers give up at about 80.
const MAX_FENCE: usize = 8;

/// The text with everything that could move a cursor, reorder or hide text made visible: control and
/// format characters appear as `\n`, `\t` or `\u{202e}`. For terminals and plain text.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_invisible(c) => push_escape(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// Where in Markdown the text will stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A paragraph or a list item.
    Line,
    /// A cell of a table, where `|` ends the cell even inside code.
    Cell,
}

/// A code span for a path, a node id or another text that is a name. Texts over 512 characters are cut
/// and say by how much.
pub fn code(text: &str, place: Place) -> String {
    let (shown, left_out) = shown(text);
    let mut span = code_span(&shown, place);
    if left_out > 0 {
        let _ = write!(span, " (and {left_out} characters more)");
    }
    span
}

/// A sentence of ours that may quote a repository: plain words stay words, and every word that a forge
/// could give a meaning becomes code, as does what stands between backticks. Cut like [`code`].
pub fn prose(text: &str, place: Place) -> String {
    let (shown, left_out) = shown(text);
    let mut out = String::with_capacity(shown.len() + 16);
    let parts: Vec<&str> = shown.split('`').collect();
    for (at, part) in parts.iter().enumerate() {
        let opened = at % 2 == 1;
        let closed = opened && at + 1 < parts.len();
        match (opened, closed, part.is_empty()) {
            (true, true, true) => push_apart(&mut out, &code_span("``", place)),
            (true, true, false) => push_apart(&mut out, &code_span(part, place)),
            (true, false, _) => {
                push_apart(&mut out, &code_span("`", place));
                push_words(&mut out, part, place);
            }
            (false, ..) => push_words(&mut out, part, place),
        }
    }
    if left_out > 0 {
        let _ = write!(out, " (and {left_out} characters more)");
    }
    out
}

/// The text made visible, cut to [`MAX_SHOWN`] characters, and how many are left out.
fn shown(text: &str) -> (String, usize) {
    let (first, rest) = cut(text, MAX_SHOWN);
    let first = visible(first);
    let (shown, more) = cut(&first, MAX_SHOWN);
    (shown.to_owned(), rest + more)
}

/// The first `max` characters, and how many are left out.
fn cut(text: &str, max: usize) -> (&str, usize) {
    match text.char_indices().nth(max) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

fn code_span(text: &str, place: Place) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    if text.chars().all(|c| c == ' ') {
        return code_span(&"\\u{20}".repeat(text.len()), place);
    }
    let longest = longest_run(text);
    if longest > MAX_FENCE {
        return code_span(&text.replace('`', "\\u{60}"), place);
    }
    let fence = "`".repeat(longest + 1);
    let padded = text.starts_with([' ', '`']) || text.ends_with([' ', '`']);
    let pad = if padded { " " } else { "" };
    let text = match place {
        Place::Line => text.to_owned(),
        Place::Cell => escape_pipes(text),
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// `|` as `\|`; after a backslash, where parsers disagree, by its number.
fn escape_pipes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '|' if before == '\\' => push_escape(&mut out, c),
            '|' => out.push_str("\\|"),
            c => out.push(c),
        }
        before = c;
    }
    out
}

fn push_escape(out: &mut String, c: char) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
}

/// Backticks of two neighbouring spans must not become one fence.
fn push_apart(out: &mut String, span: &str) {
    if out.ends_with('`') && span.starts_with('`') {
        out.push(' ');
    }
    out.push_str(span);
}

fn push_words(out: &mut String, text: &str, place: Place) {
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 && !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        let start = word.trim_start_matches(['(', '"', '\'']);
        let core = start.trim_end_matches(['.', ',', ';', ':', ')', '"', '\'', '?']);
        let first = out.trim().is_empty();
        if core.is_empty() {
            out.push_str(word);
        } else if is_plain(core) && !is_host_prefix(core, start) && !(first && is_list_marker(word))
        {
            // A word straight after code could join what the code was cut from.
            if out.ends_with('`') {
                out.push(' ');
            }
            out.push_str(word);
        } else {
            out.push_str(&word[..word.len() - start.len()]);
            push_apart(out, &code_span(core, place));
            out.push_str(&start[core.len()..]);
        }
    }
}

/// `12.` or `12)`, which begins a numbered list.
fn is_list_marker(word: &str) -> bool {
    word.strip_suffix(['.', ')'])
        .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// `www.`, which forges take for the begin of a link whatever follows.
fn is_host_prefix(core: &str, word: &str) -> bool {
    word[core.len()..].starts_with('.') && core.to_lowercase().ends_with("www")
}

/// Letters and digits, with `-`, `'`, `.` and `,` only where no link, reference or abbreviation of a
/// forge has them.
fn is_plain(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    let ends = [chars.first(), chars.last()];
    if !ends
        .into_iter()
        .all(|c| c.is_some_and(|c| c.is_alphanumeric()))
    {
        return false;
    }
    let joined_well = chars.windows(3).all(|w| match w[1] {
        c if c.is_alphanumeric() => true,
        '-' | '\'' => w[0].is_alphabetic() && w[2].is_alphabetic(),
        '.' | ',' => w[0].is_ascii_digit() && w[2].is_ascii_digit(),
        _ => false,
    });
    joined_well && !is_like_a_commit(word)
}

fn is_like_a_commit(word: &str) -> bool {
    word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Characters without a glyph of their own: controls, bidi and other format characters, separators of
/// lines and paragraphs, fillers, variation selectors, tags, private use and noncharacters.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xAD
            | 0x034F
            | 0x0600..=0x0605
            | 0x061C
            | 0x06DD
            | 0x070F
            | 0x0890..=0x0891
            | 0x08E2
            | 0x115F..=0x1160
            | 0x17B4..=0x17B5
            | 0x180B..=0x180F
            | 0x200B..=0x200F
            | 0x2028..=0x202E
            | 0x2060..=0x206F
            | 0x2800
            | 0x3164
            | 0xE000..=0xF8FF
            | 0xFDD0..=0xFDEF
            | 0xFE00..=0xFE0F
            | 0xFEFF
            | 0xFFA0
            | 0xFFF0..=0xFFFB
            | 0xFFFE..=0xFFFF
            | 0x110BD
            | 0x110CD
            | 0x13430..=0x1345F
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF
            | 0xF0000..=0x10FFFF)
        || (c.is_whitespace() && c != ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(
            visible("a\u{1b}[31mb\u{202e}c\nd\te\u{a0}f\u{200d}g"),
            "a\\u{1b}[31mb\\u{202e}c\\nd\\te\\u{a0}f\\u{200d}g"
        );
    }

    #[test]
    fn code_spans_hold_any_text() {
        let line = |text: &str| code(text, Place::Line);
        assert_eq!(line("src/a.rs"), "`src/a.rs`");
        assert_eq!(line("a`b"), "``a`b``");
        assert_eq!(line("`"), "`` ` ``");
        assert_eq!(line(" a"), "`  a `");
        assert_eq!(line("  "), "`\\u{20}\\u{20}`");
        assert_eq!(line(""), "(empty)");
        assert_eq!(line(&"`".repeat(9)), format!("`{}`", "\\u{60}".repeat(9)));
        assert_eq!(
            line(&"x".repeat(600)),
            format!("`{}` (and 88 characters more)", "x".repeat(512))
        );
    }

    #[test]
    fn pipes_do_not_end_a_cell() {
        assert_eq!(code("a|b", Place::Cell), "`a\\|b`");
        assert_eq!(code("a\\|b", Place::Cell), "`a\\\\u{7c}b`");
    }

    #[test]
    fn sentences_keep_words_and_quote_the_rest() {
        let line = |text: &str| prose(text, Place::Line);
        assert_eq!(
            line("The digest of tests/fixtures/a.json differs, see @team or #12."),
            "The digest of `tests/fixtures/a.json` differs, see `@team` or `#12`."
        );
        assert_eq!(
            line("Run `frostline lock write` (twice), 1,234 of 0.5 don't well-known"),
            "Run `frostline lock write` (twice), 1,234 of 0.5 don't well-known"
        );
        assert_eq!(
            line("GH-12 deadbeef www.example.org :smile: a_b *c* <b> 1. &amp;"),
            "`GH-12` `deadbeef` `www.example.org` `:smile`: `a_b` `*c*` `<b>` 1. `&amp`;"
        );
    }

    #[test]
    fn the_begin_of_a_host_is_code_and_the_word_is_not() {
        assert_eq!(prose("www.", Place::Line), "`www`.");
        assert_eq!(prose("(WWW.), www", Place::Line), "(`WWW`.), www");
        assert_eq!(prose("awww..", Place::Line), "`awww`..");
    }

    #[test]
    fn a_sentence_never_begins_a_list_or_a_heading() {
        assert_eq!(prose("1. x", Place::Line), "`1`. x");
        assert_eq!(prose("- x", Place::Line), "`-` x");
        assert_eq!(prose("# x", Place::Line), "`#` x");
    }

    #[test]
    fn unbalanced_backticks_stay_text() {
        assert_eq!(prose("a ` b", Place::Line), "a `` ` `` b");
        assert_eq!(prose("`a`b/c", Place::Line), "`a` `b/c`");
    }
}
