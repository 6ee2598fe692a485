//! Counterexamples: whether two are the same, and which is the smaller (lane-facts 3). PURE.
//!
//! Invariant: *smaller* is said only of two texts that can be measured, under every condition of
//! [`Conditions`]. Whatever can't be told is no shrink, and the action is BLOCK_INVARIANT instead.

use serde::{Deserialize, Serialize};

/// Longer examples are not compared; bytes.
const LONGEST: usize = 256 * 1024;

/// How a new counterexample stands to a recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Order {
    /// The same text but for layout.
    Same,
    /// Another text of the same size: `[0, 500]` and `[500, 0]`.
    Equivalent,
    /// No larger in any measure, and smaller in one.
    Smaller,
    Larger,
    /// Fewer leaves but larger ones, or the other way round: `[[1000]]` and `[[5, 5]]`.
    Incomparable,
}

/// Compares the example of a new run with the recorded one, by number of leaves and by the sum of the
/// magnitudes of numbers and the lengths of strings.
pub fn compare(recorded: &str, new: &str) -> Order {
    if recorded.len() > LONGEST || new.len() > LONGEST {
        return if recorded == new {
            Order::Same
        } else {
            Order::Incomparable
        };
    }
    let (old, new) = (tokens(recorded), tokens(new));
    if old == new {
        return Order::Same;
    }
    let (old, new) = (measure(&old), measure(&new));
    let leaves = new.0.cmp(&old.0);
    let Some(weight) = new.1.partial_cmp(&old.1) else {
        return Order::Incomparable;
    };
    use std::cmp::Ordering::{Equal, Greater, Less};
    match (leaves, weight) {
        (Equal, Equal) => Order::Equivalent,
        (Less | Equal, Less | Equal) => Order::Smaller,
        (Greater | Equal, Greater | Equal) => Order::Larger,
        _ => Order::Incomparable,
    }
}

/// What has to hold before a smaller example means anything (protocol 6.1).
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    pub fixtures_equal: bool,
    pub test_file_equal: bool,
    pub framework_equal: bool,
    /// Another coarse signature is another bug.
    pub signature_equal: bool,
    /// The framework did not call the property flaky.
    pub flaky: bool,
    pub recorded: Option<&'a str>,
    /// The examples of the first run and of its replay.
    pub first: Option<&'a str>,
    pub replay: Option<&'a str>,
}

/// Whether the example shrank, or the clause that says why that can't be told.
pub fn shrunk(conditions: &Conditions<'_>) -> Result<Order, &'static str> {
    let Some(recorded) = conditions.recorded else {
        return Err("no example is recorded for this seed");
    };
    let (Some(first), Some(replay)) = (conditions.first, conditions.replay) else {
        return Err("a run printed no example");
    };
    if conditions.flaky {
        return Err("the framework itself called the property flaky");
    }
    if first != replay {
        return Err("the replay came to another example: the property is not deterministic");
    }
    if !conditions.fixtures_equal {
        return Err("the fixtures are not those of the recorded example");
    }
    if !conditions.test_file_equal {
        return Err("the test's file is not that of the recorded example");
    }
    if !conditions.framework_equal {
        return Err("the framework's version is not that of the recorded example");
    }
    if !conditions.signature_equal {
        return Err("the failure is another one than the recorded");
    }
    Ok(compare(recorded, first))
}

#[derive(Debug, PartialEq)]
enum Token {
    Number(String),
    /// What stood between the quotes.
    Text(String),
    /// A name; whether it stands for a value (`None`), and not for a parameter or a constructor.
    Word(String, bool),
    Mark(char),
}

/// Without layout: white space, comments, `_` in numbers and trailing commas are gone.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let start = at;
        if c.is_whitespace() {
            at += 1;
        } else if c == '#' || (c == '/' && chars.get(at + 1) == Some(&'/')) {
            while chars.get(at).is_some_and(|&c| c != '\n') {
                at += 1;
            }
        } else if c == '"' || c == '\'' {
            let (inside, end) = quoted(&chars, at);
            tokens.push(Token::Text(inside));
            at = end;
        } else if c.is_ascii_digit() {
            at = end_of_number(&chars, at);
            let digits = chars[start..at].iter().filter(|&&c| c != '_');
            tokens.push(Token::Number(digits.collect()));
        } else if c.is_alphanumeric() || c == '_' {
            while chars
                .get(at)
                .is_some_and(|&c| c.is_alphanumeric() || c == '_')
            {
                at += 1;
            }
            // The letter of `b'…'` stays a word of its own: it tells bytes from text.
            let next = chars[at..].iter().find(|c| !c.is_whitespace());
            let names = matches!(next, Some('=' | '(' | ':' | '{' | '"' | '\'' | '.'));
            tokens.push(Token::Word(chars[start..at].iter().collect(), !names));
        } else {
            if matches!(c, ')' | ']' | '}') && tokens.last() == Some(&Token::Mark(',')) {
                tokens.pop();
            }
            tokens.push(Token::Mark(c));
            at += 1;
        }
    }
    tokens
}

/// The text of the string literal that opens at `at` with its escapes as they stand, and where it ends.
fn quoted(chars: &[char], at: usize) -> (String, usize) {
    let quote = chars[at];
    let mut inside = String::new();
    let mut end = at + 1;
    while let Some(&c) = chars.get(end) {
        end += 1;
        match c {
            '\\' => {
                inside.push(c);
                inside.extend(chars.get(end));
                end += 1;
            }
            _ if c == quote => break,
            _ => inside.push(c),
        }
    }
    (inside, end.min(chars.len()))
}

/// `1_000`, `0x1f`, `2.5e-3`; a `..` of a range ends it.
fn end_of_number(chars: &[char], mut at: usize) -> usize {
    let mut last = ' ';
    while let Some(&c) = chars.get(at) {
        let signed_exponent = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        let fraction = c == '.' && chars.get(at + 1).is_some_and(char::is_ascii_digit);
        if !(c.is_ascii_alphanumeric() || c == '_' || fraction || signed_exponent) {
            break;
        }
        last = c;
        at += 1;
    }
    at
}

/// Leaves, and their weight.
fn measure(tokens: &[Token]) -> (usize, f64) {
    let mut leaves = 0;
    let mut weight = 0.0;
    for token in tokens {
        match token {
            Token::Number(digits) => {
                leaves += 1;
                weight += magnitude(digits);
            }
            Token::Text(text) => {
                leaves += 1;
                weight += length(text);
            }
            Token::Word(_, true) => leaves += 1,
            Token::Word(_, false) | Token::Mark(_) => {}
        }
    }
    (leaves, weight)
}

/// What can't be read weighs NaN, which compares with nothing.
fn magnitude(digits: &str) -> f64 {
    let radix = |prefix: &str, radix| {
        let digits = digits.strip_prefix(prefix)?;
        u64::from_str_radix(digits, radix).ok()
    };
    let whole = radix("0x", 16)
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0b", 2));
    match whole {
        // Past 2^53 two sizes may look alike; then the example is no smaller.
        Some(value) => value as f64,
        None => {
            let end = digits.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
            digits[..end.unwrap_or(digits.len())]
                .parse()
                .unwrap_or(f64::NAN)
        }
    }
}

/// Characters; an escape is one.
fn length(text: &str) -> f64 {
    let mut count = 0_u32;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        count += 1;
        if c == '\\' {
            let hex = match chars.next() {
                Some('x') => 2,
                Some('u') => 4,
                Some('U') => 8,
                _ => 0,
            };
            for _ in 0..hex {
                let _ = chars.next();
            }
        }
    }
    f64::from(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The comparisons of lane-facts 3.
    #[test]
    fn examples_compare_by_leaves_and_weight() {
        let table = [
            ("t(x=1_000,  # any\n)", "t(\n    x=1000\n)", Order::Same),
            ("t(x=[1, 2,])", "t(x=[1,2])", Order::Same),
            ("[0, 500]", "[500, 0]", Order::Equivalent),
            ("t(x=1000)", "t(x=37)", Order::Smaller),
            ("t(x=[1, 2])", "t(x=[1])", Order::Smaller),
            ("t(x=-5)", "t(x=5)", Order::Equivalent),
            ("t(x='abc')", "t(x='a')", Order::Smaller),
            ("t(x='a')", "t(x='abc')", Order::Larger),
            ("t(x='a\\u00e9')", "t(x='ab')", Order::Equivalent),
            ("t(x=b'a')", "t(x='a')", Order::Equivalent),
            ("t(x=None)", "t(x=None, y=0)", Order::Larger),
            ("[[1000]]", "[[5, 5]]", Order::Incomparable),
            ("t(x=0x10)", "t(x=15)", Order::Smaller),
            ("t(x=1.5e3)", "t(x=1499.5)", Order::Smaller),
            ("t(x='# no comment')", "t(x='# no comment' )", Order::Same),
            ("", "", Order::Same),
            // Equal as floating point numbers: no smaller.
            (
                "t(x=9007199254740993)",
                "t(x=9007199254740992)",
                Order::Equivalent,
            ),
        ];
        for (recorded, new, expected) in table {
            assert_eq!(compare(recorded, new), expected, "{recorded} → {new}");
        }
        let long = "1,".repeat(LONGEST);
        assert_eq!(compare(&long, "1"), Order::Incomparable);
    }

    fn smaller() -> Conditions<'static> {
        Conditions {
            fixtures_equal: true,
            test_file_equal: true,
            framework_equal: true,
            signature_equal: true,
            flaky: false,
            recorded: Some("t(x=1000)"),
            first: Some("t(x=37)"),
            replay: Some("t(x=37)"),
        }
    }

    #[test]
    fn each_condition_alone_keeps_an_example_from_being_a_shrink() {
        assert_eq!(shrunk(&smaller()), Ok(Order::Smaller));
        let broken: [Conditions<'_>; 9] = [
            Conditions {
                fixtures_equal: false,
                ..smaller()
            },
            Conditions {
                test_file_equal: false,
                ..smaller()
            },
            Conditions {
                framework_equal: false,
                ..smaller()
            },
            Conditions {
                signature_equal: false,
                ..smaller()
            },
            Conditions {
                flaky: true,
                ..smaller()
            },
            Conditions {
                recorded: None,
                ..smaller()
            },
            Conditions {
                first: None,
                ..smaller()
            },
            Conditions {
                replay: None,
                ..smaller()
            },
            // Byte by byte: another layout is another example.
            Conditions {
                replay: Some("t(x=37 )"),
                ..smaller()
            },
        ];
        for conditions in broken {
            assert!(shrunk(&conditions).is_err(), "{conditions:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_the_same_as_itself(text in "\\PC{0,200}") {
            prop_assert_eq!(compare(&text, &text), Order::Same);
        }

        #[test]
        fn smaller_one_way_is_larger_the_other(a in "\\PC{0,80}", b in "\\PC{0,80}") {
            let there = compare(&a, &b);
            let back = compare(&b, &a);
            let expected = match there {
                Order::Smaller => Order::Larger,
                Order::Larger => Order::Smaller,
                same => same,
            };
            prop_assert_eq!(back, expected);
        }

        #[test]
        fn a_smaller_number_is_a_smaller_example(a in 0u32.., b in 0u32..) {
            let order = compare(&format!("t(x={a})"), &format!("t(x={b})"));
            let expected = match b.cmp(&a) {
                std::cmp::Ordering::Less => Order::Smaller,
                std::cmp::Ordering::Equal => Order::Same,
                std::cmp::Ordering::Greater => Order::Larger,
            };
            prop_assert_eq!(order, expected);
        }
    }
}
