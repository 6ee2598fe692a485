//! As much of GraphQL's language as the client writes: operations, aliases, arguments, variables and
//! inline fragments. Anything else is an error, so that a query that grows is noticed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A field with what it asks for below.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key of the answer: the alias, or the name.
    pub key: String,
    pub name: String,
    pub arguments: BTreeMap<String, Value>,
    pub fields: Vec<Field>,
}

/// The one operation of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub mutation: bool,
    pub fields: Vec<Field>,
}

/// Parses a document with one operation; variables are put in.
pub fn parse(text: &str, variables: &Map<String, Value>) -> Result<Operation, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        variables,
    };
    let mut mutation = false;
    if let Token::Name(word) = parser.peek() {
        mutation = match word.as_str() {
            "query" => false,
            "mutation" => true,
            other => return Err(format!("unexpected {other}")),
        };
        parser.at += 1;
        if let Token::Name(_) = parser.peek() {
            parser.at += 1;
        }
        parser.skip_variable_definitions()?;
    }
    let fields = parser.selection()?;
    match parser.peek() {
        Token::End => Ok(Operation { mutation, fields }),
        other => Err(format!("unexpected {other:?} after the operation")),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(i64),
    Variable(String),
    Spread,
    Sign(char),
    End,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word_of = |text: &str| text.chars().take_while(|c| is_word(*c)).collect::<String>();
        let used = match c {
            ' ' | '\t' | '\r' | '\n' | ',' => 1,
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '.' if rest.starts_with("...") => {
                tokens.push(Token::Spread);
                3
            }
            '"' => {
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let value = stream
                    .next()
                    .and_then(Result::ok)
                    .ok_or("a string does not end")?;
                tokens.push(Token::Text(value));
                stream.byte_offset()
            }
            '$' => {
                let name = word_of(&rest[1..]);
                let used = name.len() + 1;
                tokens.push(Token::Variable(name));
                used
            }
            '-' | '0'..='9' => {
                let end = rest[1..].find(|c: char| !c.is_ascii_digit());
                let used = end.map_or(rest.len(), |end| end + 1);
                let number = rest[..used]
                    .parse()
                    .map_err(|_| "a number is out of range")?;
                tokens.push(Token::Number(number));
                used
            }
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | '!' | '=' => {
                tokens.push(Token::Sign(c));
                1
            }
            c if is_word(c) => {
                let word = word_of(rest);
                let used = word.len();
                tokens.push(Token::Name(word));
                used
            }
            other => return Err(format!("unexpected {other:?}")),
        };
        rest = &rest[used..];
    }
    tokens.push(Token::End);
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    variables: &'a Map<String, Value>,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, sign: char) -> Result<(), String> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(format!("expected {sign:?}, found {:?}", self.peek()))
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.next() {
            Token::Name(name) => Ok(name),
            other => Err(format!("expected a name, found {other:?}")),
        }
    }

    fn skip_variable_definitions(&mut self) -> Result<(), String> {
        if self.take('(') {
            while !self.take(')') {
                if self.next() == Token::End {
                    return Err("the variables do not end".to_owned());
                }
            }
        }
        Ok(())
    }

    fn selection(&mut self) -> Result<Vec<Field>, String> {
        self.need('{')?;
        let mut fields = Vec::new();
        while !self.take('}') {
            if *self.peek() == Token::Spread {
                self.at += 1;
                if self.name()? != "on" {
                    return Err("only inline fragments are known".to_owned());
                }
                self.name()?;
                fields.extend(self.selection()?);
            } else {
                fields.push(self.field()?);
            }
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, String> {
        let key = self.name()?;
        let name = if self.take(':') {
            self.name()?
        } else {
            key.clone()
        };
        let mut arguments = BTreeMap::new();
        if self.take('(') {
            while !self.take(')') {
                let argument = self.name()?;
                self.need(':')?;
                arguments.insert(argument, self.value()?);
            }
        }
        let fields = if *self.peek() == Token::Sign('{') {
            self.selection()?
        } else {
            Vec::new()
        };
        Ok(Field {
            key,
            name,
            arguments,
            fields,
        })
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.next() {
            Token::Text(text) => Ok(text.into()),
            Token::Number(number) => Ok(number.into()),
            Token::Variable(name) => Ok(self.variables.get(&name).cloned().unwrap_or_default()),
            Token::Name(word) => Ok(match word.as_str() {
                "true" => true.into(),
                "false" => false.into(),
                "null" => Value::Null,
                _ => word.into(),
            }),
            Token::Sign('[') => {
                let mut items = Vec::new();
                while !self.take(']') {
                    items.push(self.value()?);
                }
                Ok(items.into())
            }
            Token::Sign('{') => {
                let mut object = Map::new();
                while !self.take('}') {
                    let key = self.name()?;
                    self.need(':')?;
                    object.insert(key, self.value()?);
                }
                Ok(object.into())
            }
            other => Err(format!("expected a value, found {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_arguments_variables_and_fragments_are_read() {
        let variables = Map::from_iter([("owner".to_owned(), "acme".into())]);
        let operation = parse(
            r#"query($owner: String!) { repository(owner: $owner, name: "p") {
                b0: object(oid: "aa") { ... on Blob { oid text } } } }"#,
            &variables,
        )
        .expect("a valid query");
        let repository = &operation.fields[0];
        assert!(!operation.mutation);
        assert_eq!(repository.arguments["owner"], "acme");
        assert_eq!(repository.fields[0].key, "b0");
        assert_eq!(repository.fields[0].name, "object");
        assert_eq!(repository.fields[0].fields[1].name, "text");
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for text in [
            "{ a ...F }",
            "{ a",
            "subscription { a }",
            "{ a(b: ) }",
            "{ a @skip }",
        ] {
            assert!(parse(text, &Map::new()).is_err(), "{text}");
        }
    }
}
