//! Takes out of a message what differs from run to run. PURE.
//!
//! The order counts: a rule may rely on what those before it have replaced. The regular expressions run
//! in linear time, and what they are given is cut first: a message is hostile.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Longer messages are cut before anything is looked for; bytes.
const LONGEST: usize = 64 * 1024;
/// Characters of a normalised line.
const LINE: usize = 300;

struct Rule {
    pattern: Regex,
    with: &'static str,
}

fn compiled(rules: &[(&str, &'static str)]) -> Vec<Rule> {
    rules
        .iter()
        .filter_map(|(pattern, with)| {
            let pattern = Regex::new(pattern).ok()?;
            Some(Rule { pattern, with })
        })
        .collect()
}

const COLOURS: (&str, &str) = (
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|#x1[Bb]\[[0-9;]*m",
    "", // pytest writes the escape character as text into its XML
);
const ADDRESS: (&str, &str) = (r"\b0[xX][0-9a-fA-F]+\b", "<ADDR>");
const TEMPORARY: (&str, &str) = (
    r#"/(?:tmp|var/tmp|private/tmp|private/var/folders|var/folders|dev/shm)/[^\s'":,;)\]}>]*|\btmp[a-z0-9_]{8}\b"#,
    "<TMP>",
);
const DURATION: (&str, &str) = (
    r"[-+]?\b\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?\s?(?:ns|us|µs|μs|ms|s|secs?|seconds?|milliseconds?|microseconds?|minutes?|mins?|hours?|h)\b",
    "<DUR>",
);

/// Before the hexadecimal rule, which needs to look at what it found.
pub(super) const BEFORE_HEX: &[(&str, &str)] = &[
    COLOURS,
    // Inside an identifier no number is replaced; given back at the end.
    (r"\[Errno (-?\d+)\]", "[Errno_$1]"),
    (r#"['"][^'"\n]*\.\.\.[^'"\n]*['"]"#, "<STR>"),
    (
        r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
        "<UUID>",
    ),
    (
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?",
        "<TIME>",
    ),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<TIME>"),
    ADDRESS,
    // The compiler's own runtime prints the thread's number since 1.95.
    (r"(thread '[^']*') \(\d+\)", "$1 <TID>"),
    (
        r"(?:Falsifying example|Failing test case|Failing explicit example|[Mm]inimal failing input|Counterexample)\s*:.*",
        "<CEX>",
    ),
    TEMPORARY,
    (r#"/(?:home|Users)/[^/\s'":,;)]+|/root\b"#, "<HOME>"),
    (
        r"([\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}):\d+(?::\d+)?\b",
        "$1:<L>",
    ),
    (r"\b([Ll]ine) \d+\b", "$1 <L>"),
    (
        r"(\blocalhost|\b\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]|\b[A-Za-z][\w-]*(?:\.[\w-]+)+):\d{2,5}\b",
        "$1:<PORT>",
    ),
    (r"\b([Pp]ort)([ =:]+)\d+\b", "$1$2<PORT>"),
    DURATION,
    (
        r"\b([Pp][Ii][Dd]|[Tt][Ii][Dd]|[Tt]hread|[Pp]rocess)([ =:#-]+)\d+\b",
        "$1$2<N>",
    ),
];

pub(super) const AFTER_HEX: &[(&str, &str)] = &[
    (
        r"[-+]?\b\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?\b(?:\.\B)?",
        "<N>",
    ),
    (r"<N>(?:\s*,\s*<N>)+", "<N>*"),
    (r"\[Errno_(-?\d+)\]", "[Errno $1]"),
    (r"\s+", " "),
];

pub(super) const MASKS: &[(&str, &str)] = &[COLOURS, ADDRESS, TEMPORARY, DURATION];

static FIRST: LazyLock<Vec<Rule>> = LazyLock::new(|| compiled(BEFORE_HEX));
static THEN: LazyLock<Vec<Rule>> = LazyLock::new(|| compiled(AFTER_HEX));
static MASKED: LazyLock<Vec<Rule>> = LazyLock::new(|| compiled(MASKS));
static HEX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[0-9a-fA-F]{12,}\b").ok());

/// The first line that is not blank, without colours.
pub fn first_line(message: &str) -> &str {
    cut(message)
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// The first line of a message with everything that varies by itself replaced; at most 300 characters.
pub fn normalised(message: &str) -> String {
    let mut text = apply(&FIRST, first_line(message).to_owned());
    if let Some(hex) = HEX.as_ref() {
        // Without the letter, decimals would be taken for it.
        let found = hex.replace_all(&text, |found: &Captures<'_>| {
            let digits = &found[0];
            match digits.bytes().any(|b| b.is_ascii_alphabetic()) {
                true => "<HEX>".to_owned(),
                false => digits.to_owned(),
            }
        });
        text = found.into_owned();
    }
    apply(&THEN, text).trim().chars().take(LINE).collect()
}

/// The whole message with only addresses, temporary names and durations replaced.
pub fn masked(message: &str) -> String {
    apply(&MASKED, cut(message).to_owned())
}

fn apply(rules: &[Rule], mut text: String) -> String {
    for rule in rules {
        if let Cow::Owned(changed) = rule.pattern.replace_all(&text, rule.with) {
            text = changed;
        }
    }
    text
}

fn cut(message: &str) -> &str {
    let mut end = message.len().min(LONGEST);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}
