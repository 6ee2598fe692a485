//! One YAML 1.2 document without anchors, aliases, tags or merge keys, read with the core schema.

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::document::{
    Builder, Fault, Kind, MAX_ENTRIES, Node, Place, Shape, quoted, text, to_u32,
};

/// The scanner holds a whole flow collection (`[…]`, `{…}`) as tokens before it hands out the first;
/// this bounds them. Each takes some hundred bytes.
const MAX_INDICATORS: usize = 4 * MAX_ENTRIES;

/// The tree of `bytes`, or the first thing that is wrong with them.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node<'_>, Fault> {
    let text = text(bytes)?;
    refuse_unprintable(text)?;
    refuse_too_many_indicators(text)?;
    let mut reader = Reader {
        text,
        builder: Builder::default(),
        documents: 0,
        passed: Marker::new(0, 1, 0),
    };
    let mut events = Parser::new_from_str(text);
    while let Some(event) = events.next_event() {
        let (event, span) = event.map_err(|error| syntax(&error))?;
        reader.event(event, span)?;
        reader.passed = span.end;
    }
    let empty = || Fault::new(Place::START, "the file is empty but for comments");
    reader.builder.finish().ok_or_else(empty)
}

fn syntax(error: &ScanError) -> Fault {
    Fault::new(
        place(error.marker()),
        format!("expected YAML: {}", error.info()),
    )
}

fn place(marker: &Marker) -> Place {
    Place {
        line: to_u32(marker.line()),
        column: to_u32(marker.col()).saturating_add(1),
    }
}

fn refuse_unprintable(text: &str) -> Result<(), Fault> {
    let allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    match text.char_indices().find(|(_, c)| !allowed(*c)) {
        None => Ok(()),
        Some((at, c)) => Err(Fault::new(
            Place::START.after(&text.as_bytes()[..at]),
            format!(
                "expected printable characters, found U+{:04X}",
                u32::from(c)
            ),
        )),
    }
}

fn refuse_too_many_indicators(text: &str) -> Result<(), Fault> {
    let is_indicator = |b: &u8| matches!(b, b',' | b'[' | b'{' | b':' | b'-' | b'?' | b'\n');
    if text.len() <= MAX_INDICATORS || text.bytes().filter(is_indicator).count() <= MAX_INDICATORS {
        return Ok(());
    }
    Err(Fault::new(
        Place::START,
        format!("a contract file may have {MAX_ENTRIES} entries, and this one has more"),
    ))
}

struct Reader<'a> {
    text: &'a str,
    builder: Builder<'a>,
    documents: usize,
    /// Where the event before ended.
    passed: Marker,
}

impl<'a> Reader<'a> {
    fn event(&mut self, event: Event<'a>, span: Span) -> Result<(), Fault> {
        let here = place(&span.start);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Fault::new(
                        here,
                        "expected the end of the file, found a second YAML document",
                    ));
                }
            }
            Event::Alias(_) => {
                return Err(Fault::new(
                    here,
                    "expected a value, found an alias; write the value out",
                ));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span)?;
                return self.scalar(text, style, span);
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span)?;
                return self.open(Shape::List, here);
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_properties(anchor, tag.is_some(), span)?;
                return self.open(Shape::Object, here);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.builder.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, shape: Shape, place: Place) -> Result<(), Fault> {
        if self.builder.wants_key() {
            return Err(Fault::new(
                place,
                "expected a plain word as key, found a list or an object",
            ));
        }
        self.builder.open(shape, place)
    }

    fn scalar(&mut self, text: Cow<'a, str>, style: ScalarStyle, span: Span) -> Result<(), Fault> {
        let here = place(&span.start);
        if self.builder.wants_key() {
            return match (&*text, style) {
                ("<<", ScalarStyle::Plain) => Err(Fault::new(
                    here,
                    "expected a key, found a merge key (`<<`); write the keys out",
                )),
                ("", ScalarStyle::Plain) => Err(Fault::new(here, "expected a key, found nothing")),
                _ => {
                    self.builder.key(text, here);
                    Ok(())
                }
            };
        }
        let kind = match style {
            ScalarStyle::Plain => plain(text),
            _ => Kind::Text(text),
        };
        // What is not there has no place of its own: its key has.
        let here = match (&kind, span.is_empty(), self.builder.key_place()) {
            (Kind::Null, true, Some(key)) => key,
            _ => here,
        };
        self.builder.put(kind, here)
    }

    fn refuse_properties(&self, anchor: usize, tag: bool, span: Span) -> Result<(), Fault> {
        if anchor == 0 && !tag {
            return Ok(());
        }
        // The event does not say where its anchor or tag stands; only blanks, comments and indicators
        // are between the event before and it.
        let mut place = place(&self.passed);
        let mut rest = skip(self.text, self.passed.index());
        let until = span.start.index().saturating_sub(self.passed.index());
        let mut in_comment = false;
        let mut length = 0;
        for c in rest.chars().take(until.max(1)) {
            match c {
                '\n' => in_comment = false,
                '#' => in_comment = true,
                '&' | '!' if !in_comment => break,
                _ => {}
            }
            length += c.len_utf8();
        }
        place = place.after(&rest.as_bytes()[..length]);
        rest = &rest[length..];
        let word: String = rest.chars().take_while(|c| !c.is_whitespace()).collect();
        let what = match rest.starts_with('!') {
            true => "tag",
            false => "anchor",
        };
        Err(Fault::new(
            place,
            format!(
                "expected a value without {what}, found {}; leave it out",
                quoted(&word)
            ),
        ))
    }
}

/// `text` without its first `chars` characters.
fn skip(text: &str, chars: usize) -> &str {
    text.char_indices()
        .nth(chars)
        .map_or("", |(at, _)| &text[at..])
}

/// The core schema of YAML 1.2 (10.3.2): `yes`, `no`, `on` and `off` are strings.
fn plain(text: Cow<'_, str>) -> Kind<'_> {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ if is_number(&text) => Kind::Number(text),
        _ => Kind::Text(text),
    }
}

fn is_number(text: &str) -> bool {
    let of =
        |digits: &str, radix: u32| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if let Some(digits) = text.strip_prefix("0o") {
        return of(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return of(digits, 16);
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_is_one = exponent
        .is_none_or(|exponent| of(exponent.strip_prefix(['+', '-']).unwrap_or(exponent), 10));
    let mantissa_is_one = match mantissa.split_once('.') {
        None => of(mantissa, 10),
        Some(("", fraction)) => of(fraction, 10),
        Some((whole, "")) => of(whole, 10),
        Some((whole, fraction)) => of(whole, 10) && of(fraction, 10),
    };
    exponent_is_one && mantissa_is_one
}
