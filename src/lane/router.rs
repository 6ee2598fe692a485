//! Which layer to run first (protocol 6.2). PURE.
//!
//! Invariant: a label orders the layers and never removes one, so a wrong label costs time only.

use serde::{Deserialize, Serialize};

use crate::model::Class;

/// What a patch looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Label {
    Property,
    Fixture,
    Flake,
    /// Nothing in it that a layer looks at.
    Skip,
}

/// What can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Properties that vote, with the seeds of the corpus.
    Properties,
    /// Tests over pinned fixtures.
    Fixtures,
    /// Frozen tests, whose counters move.
    Frozen,
}

/// How much of the log's tail is looked at; bytes.
const TAIL: usize = 64 * 1024;

/// Words of a log that a test which fails by itself leaves.
const FLAKY_WORDS: &[&str] = &[
    "connection refused",
    "connection reset",
    "timed out",
    "timeout",
    "address already in use",
    "temporarily unavailable",
    "deadlineexceeded",
    "deadline exceeded",
    "flaky",
    "flakyfailure",
];

/// Words that a broken property leaves.
const PROPERTY_WORDS: &[&str] = &[
    "falsifying example",
    "failing test case",
    "minimal failing input",
    "counterexample:",
    "property failed",
    "falsified",
];

/// The label by the classes of the write-set and the end of the log of the run that came before, if
/// there was one. The log weighs more than the paths: it says what did fail.
pub fn label(classes: &[Class], log: &str) -> Label {
    let tail = tail(log).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| tail.contains(word));
    let touches = |class| classes.contains(&class);
    if says(PROPERTY_WORDS) && !says(FLAKY_WORDS) {
        Label::Property
    } else if says(FLAKY_WORDS) {
        Label::Flake
    } else if touches(Class::Fixture) || touches(Class::Golden) {
        Label::Fixture
    } else if touches(Class::Production) || touches(Class::Property) || touches(Class::Harness) {
        Label::Property
    } else {
        Label::Skip
    }
}

/// All layers, the one to run first in front.
pub fn order(label: Label) -> [Layer; 3] {
    match label {
        Label::Property | Label::Skip => [Layer::Properties, Layer::Fixtures, Layer::Frozen],
        Label::Fixture => [Layer::Fixtures, Layer::Properties, Layer::Frozen],
        Label::Flake => [Layer::Frozen, Layer::Properties, Layer::Fixtures],
    }
}

fn tail(log: &str) -> &str {
    let mut start = log.len().saturating_sub(TAIL);
    while !log.is_char_boundary(start) {
        start += 1;
    }
    &log[start..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_follow_the_log_and_then_the_paths() {
        let table: &[(&[Class], &str, Label)] = &[
            (&[Class::Production], "", Label::Property),
            (&[Class::Fixture], "", Label::Fixture),
            (&[Class::Golden, Class::Production], "", Label::Fixture),
            (&[Class::Note, Class::Other], "", Label::Skip),
            (&[], "", Label::Skip),
            (
                &[Class::Production],
                "E ConnectionRefusedError: Connection refused",
                Label::Flake,
            ),
            (
                &[Class::Fixture],
                "Falsifying example: t(x=0)",
                Label::Property,
            ),
            (
                &[Class::Production],
                "FlakyFailure … Falsifying example: t(x=0)",
                Label::Flake,
            ),
        ];
        for (classes, log, expected) in table {
            assert_eq!(label(classes, log), *expected, "{classes:?} {log}");
        }
    }

    #[test]
    fn only_the_end_of_a_log_counts() {
        let log = format!("timed out\n{}", "é".repeat(TAIL));
        assert_eq!(label(&[Class::Production], &log), Label::Property);
    }

    proptest! {
        #[test]
        fn no_label_removes_a_layer(log in "\\PC{0,100}", class in 0usize..Class::ALL.len()) {
            let mut layers = order(label(&[Class::ALL[class]], &log));
            layers.sort_unstable();
            prop_assert_eq!(layers, [Layer::Properties, Layer::Fixtures, Layer::Frozen]);
        }
    }
}
