//! A line as POSIX words, split without expansion.

/// A word of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Quotes undone.
    pub text: String,
    /// How many bytes of `text` stand before the first quoted character.
    plain: usize,
}

impl Word {
    /// Name and value, when the word is an assignment: a plain name and `=`, neither of them quoted.
    pub fn assignment(&self) -> Option<(&str, &str)> {
        let (name, value) = self.text.split_once('=')?;
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
        (is_name && self.plain > name.len()).then_some((name, value))
    }
}

/// Splits a line.
pub(super) fn split(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c.is_control() && c != '\t' {
            return Err("it holds a line end or another control character".to_owned());
        }
        match c {
            ' ' | '\t' => {
                words.extend(word.take());
                continue;
            }
            ';' | '|' | '&' | '<' | '>' => {
                return Err(format!(
                    "it holds an unquoted `{c}`, which belongs to a shell"
                ));
            }
            '$' | '`' => return Err(expands(c)),
            '#' if word.is_none() => {
                return Err("it holds a comment, which a shell would leave out".to_owned());
            }
            _ => {}
        }
        let word = word.get_or_insert_with(|| Word {
            text: String::new(),
            plain: 0,
        });
        let is_plain = word.plain == word.text.len();
        match c {
            '\'' => single(&mut chars, &mut word.text)?,
            '"' => double(&mut chars, &mut word.text)?,
            '\\' => word.text.push(escaped(&mut chars)?),
            _ => {
                word.text.push(c);
                if is_plain {
                    word.plain = word.text.len();
                }
            }
        }
    }
    words.extend(word);
    Ok(words)
}

fn expands(c: char) -> String {
    format!("it holds `{c}` outside single quotes, which a shell would expand")
}

fn escaped(chars: &mut std::str::Chars<'_>) -> Result<char, String> {
    match chars.next() {
        None => Err("it ends with a backslash".to_owned()),
        Some(c) if c.is_control() => {
            Err("it holds a line end or another control character".to_owned())
        }
        Some(c @ ('$' | '`')) => Err(expands(c)),
        Some(c) => Ok(c),
    }
}

fn single(chars: &mut std::str::Chars<'_>, text: &mut String) -> Result<(), String> {
    for c in chars {
        match c {
            '\'' => return Ok(()),
            _ if c.is_control() && c != '\t' => {
                return Err("it holds a line end or another control character".to_owned());
            }
            _ => text.push(c),
        }
    }
    Err("a single quote is not closed".to_owned())
}

fn double(chars: &mut std::str::Chars<'_>, text: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '$' | '`' => return Err(expands(c)),
            '\\' => match escaped(chars)? {
                c @ ('"' | '\\') => text.push(c),
                other => text.extend(['\\', other]),
            },
            _ if c.is_control() && c != '\t' => {
                return Err("it holds a line end or another control character".to_owned());
            }
            _ => text.push(c),
        }
    }
    Err("a double quote is not closed".to_owned())
}
