//! JSON exactly as RFC 8259 has it: no comments, no trailing commas, no other leniency.
//!
//! Own code, because the parsers at hand either keep no places, recurse, or let raw control characters
//! and foreign white space pass. `serde_json` is its oracle in the tests: both accept the same texts.

use std::borrow::Cow;

use super::document::{Builder, Fault, Kind, Node, Place, Shape, text};

/// The tree of `bytes`, or the first thing that is wrong with them.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node<'_>, Fault> {
    let text = text(bytes)?;
    Json {
        text,
        at: 0,
        marked: 0,
        mark: Place::START,
    }
    .document()
}

struct Json<'a> {
    text: &'a str,
    at: usize,
    /// A byte offset and its place. Places are asked for in rising order, so finding them is linear
    /// over the whole text even when it is one line.
    marked: usize,
    mark: Place,
}

impl<'a> Json<'a> {
    fn document(mut self) -> Result<Node<'a>, Fault> {
        let mut builder = Builder::default();
        loop {
            if self.value(&mut builder)? {
                continue;
            }
            while let Some(shape) = builder.shape() {
                if self.after_value(shape)? {
                    if shape == Shape::Object {
                        self.key(&mut builder)?;
                    }
                    break;
                }
                builder.close()?;
            }
            if builder.shape().is_none() {
                break;
            }
        }
        self.blank();
        if self.peek().is_some() {
            return Err(self.expected("the end of the file after the value"));
        }
        match builder.finish() {
            Some(root) => Ok(root),
            None => Err(self.expected("a value")),
        }
    }

    /// Reads a value, or the start of one that holds others: then it returns true and stands before
    /// the first of these.
    fn value(&mut self, builder: &mut Builder<'a>) -> Result<bool, Fault> {
        self.blank();
        let place = self.place();
        match self.peek() {
            Some(b'{') => {
                builder.open(Shape::Object, place)?;
                self.at += 1;
                self.blank();
                if self.eat(b'}') {
                    builder.close()?;
                    return Ok(false);
                }
                self.key(builder)?;
                Ok(true)
            }
            Some(b'[') => {
                builder.open(Shape::List, place)?;
                self.at += 1;
                self.blank();
                if self.eat(b']') {
                    builder.close()?;
                    return Ok(false);
                }
                Ok(true)
            }
            Some(b'"') => {
                let text = self.string()?;
                builder.put(Kind::Text(text), place)?;
                Ok(false)
            }
            _ => {
                let kind = self.word()?;
                builder.put(kind, place)?;
                Ok(false)
            }
        }
    }

    /// Reads `,` (true) or the closing bracket (false).
    fn after_value(&mut self, shape: Shape) -> Result<bool, Fault> {
        self.blank();
        let (close, expected) = match shape {
            Shape::Object => (b'}', "`,` or `}` after the value"),
            Shape::List => (b']', "`,` or `]` after the value"),
        };
        if self.eat(close) {
            return Ok(false);
        }
        if !self.eat(b',') {
            return Err(self.expected(expected));
        }
        self.blank();
        if self.peek() == Some(close) {
            return Err(self.expected("another entry after `,` (JSON has no trailing commas)"));
        }
        Ok(true)
    }

    fn key(&mut self, builder: &mut Builder<'a>) -> Result<(), Fault> {
        self.blank();
        let place = self.place();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        let key = self.string()?;
        self.blank();
        if !self.eat(b':') {
            return Err(self.expected("`:` after the key"));
        }
        builder.key(key, place);
        Ok(())
    }

    /// `true`, `false`, `null` or a number.
    fn word(&mut self) -> Result<Kind<'a>, Fault> {
        let rest = &self.text[self.at..];
        let len = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.' | b'_')))
            .unwrap_or(rest.len());
        let word = &rest[..len];
        let kind = match word {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            _ if is_number(word.as_bytes()) => Kind::Number(Cow::Borrowed(word)),
            _ => return Err(self.expected("a value")),
        };
        self.at += len;
        Ok(kind)
    }

    /// Reads a string; stands at its opening quote, which [`Self::place`] was asked for.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let opened = self.place();
        self.at += 1;
        let mut start = self.at;
        let mut text = Cow::Borrowed("");
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let is_special = |b: &u8| matches!(b, b'"' | b'\\' | 0..0x20);
            self.at += rest.iter().position(is_special).unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => {
                    push(&mut text, &self.text[start..self.at]);
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    push(&mut text, &self.text[start..self.at]);
                    let char = self.escape()?;
                    text.to_mut().push(char);
                    start = self.at;
                }
                Some(_) => {
                    return Err(self.expected("no raw control character in a string"));
                }
                None => return Err(Fault::new(opened, "this string has no closing quote")),
            }
        }
    }

    /// Reads an escape; stands at the backslash.
    fn escape(&mut self) -> Result<char, Fault> {
        let place = self.place();
        let short = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(place),
            _ => {
                return Err(Fault::new(
                    place,
                    r#"expected one of the escapes \" \\ \/ \b \f \n \r \t \uXXXX"#,
                ));
            }
        };
        self.at += 2;
        Ok(short)
    }

    fn unicode_escape(&mut self, place: Place) -> Result<char, Fault> {
        let first = self.code_unit(place)?;
        let code = match first {
            0xD800..0xDC00 => {
                let second = match self.text[self.at..].starts_with("\\u") {
                    true => self.code_unit(place)?,
                    false => 0,
                };
                if !(0xDC00..0xE000).contains(&second) {
                    return Err(unpaired(place, first));
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| unpaired(place, first))
    }

    /// Reads `\uXXXX`.
    fn code_unit(&mut self, place: Place) -> Result<u32, Fault> {
        let digits = self.text.as_bytes().get(self.at + 2..self.at + 6);
        let unit = digits.and_then(|digits| {
            digits
                .iter()
                .try_fold(0, |unit, &b| Some(unit << 4 | char::from(b).to_digit(16)?))
        });
        self.at += 6;
        unit.ok_or_else(|| Fault::new(place, r"expected four hex digits after \u"))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn place(&mut self) -> Place {
        let passed = &self.text.as_bytes()[self.marked..self.at];
        self.mark = self.mark.after(passed);
        self.marked = self.at;
        self.mark
    }

    fn expected(&mut self, what: &str) -> Fault {
        let found = self.found();
        Fault::new(self.place(), format!("expected {what}, found {found}"))
    }

    /// What stands at the cursor, in words.
    fn found(&self) -> String {
        let rest = &self.text[self.at..];
        let word: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'))
            .take(40)
            .collect();
        match rest.chars().next() {
            None => "the end of the file".to_owned(),
            Some(_) if !word.is_empty() => format!("`{word}`"),
            Some('/') if rest.starts_with("//") || rest.starts_with("/*") => {
                "a comment, which JSON does not have".to_owned()
            }
            Some('\'') => "a single quote".to_owned(),
            Some('"') => "a string".to_owned(),
            Some(c) if c.is_control() || c.is_whitespace() => format!("U+{:04X}", u32::from(c)),
            Some(c) => format!("`{}`", c.escape_debug()),
        }
    }
}

fn unpaired(place: Place, unit: u32) -> Fault {
    Fault::new(
        place,
        format!("\\u{unit:04x} is half of a surrogate pair, and the other half is missing"),
    )
}

/// Appends without copying the first piece.
fn push<'a>(text: &mut Cow<'a, str>, piece: &'a str) {
    if text.is_empty() {
        *text = Cow::Borrowed(piece);
    } else {
        text.to_mut().push_str(piece);
    }
}

/// RFC 8259's grammar of numbers.
fn is_number(text: &[u8]) -> bool {
    fn digits(text: &[u8]) -> Option<&[u8]> {
        let len = text.iter().take_while(|b| b.is_ascii_digit()).count();
        (len > 0).then(|| &text[len..])
    }
    fn number(text: &[u8]) -> Option<&[u8]> {
        let text = text.strip_prefix(b"-").unwrap_or(text);
        let mut rest = match text {
            [b'0', rest @ ..] => rest,
            _ => digits(text)?,
        };
        if let [b'.', fraction @ ..] = rest {
            rest = digits(fraction)?;
        }
        if let [b'e' | b'E', exponent @ ..] = rest {
            let unsigned = match exponent {
                [b'+' | b'-', unsigned @ ..] => unsigned,
                _ => exponent,
            };
            rest = digits(unsigned)?;
        }
        Some(rest)
    }
    number(text).is_some_and(<[u8]>::is_empty)
}
