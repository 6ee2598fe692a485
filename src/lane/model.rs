//! What one run of one property came to (protocol 6). PURE.

use serde::{Deserialize, Serialize};

/// The part of a test that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Setup,
    Call,
    Teardown,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Call => "call",
            Self::Teardown => "teardown",
        }
    }
}

/// A place in the repository's own code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Path from the root of the tree that ran.
    pub file: String,
    pub function: String,
    /// For people; no signature holds it.
    pub line: u32,
}

/// How a test failed. All of it is the test's own word, and hostile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    pub phase: Phase,
    /// Types, the outermost first; those of a group one after the other.
    pub exceptions: Vec<String>,
    /// Only the repository's own frames, the outermost call first.
    pub frames: Vec<Frame>,
    /// The exception's text, whole.
    pub message: String,
    /// The counterexample that a generator printed, as it printed it.
    pub example: Option<String>,
}

/// Exceptions by which Hypothesis says that the property itself is not deterministic.
const FLAKY: &[&str] = &[
    "Flaky",
    "FlakyFailure",
    "FlakyReplay",
    "FlakyStrategyDefinition",
    "FlakyBackendFailure",
];

/// Exceptions that only hold others.
const GROUPS: &[&str] = &["BaseExceptionGroup", "ExceptionGroup", "MultipleFailures"];

impl Failure {
    /// The framework saw one input both fail and pass: proof of noise within one run (lane-facts 1).
    pub fn is_flaky_by_its_framework(&self) -> bool {
        self.exceptions
            .iter()
            .any(|name| FLAKY.contains(&bare(name)))
    }

    /// The types that say what went wrong: without groups and without the word of flakiness around
    /// them, each once, sorted. All of them when nothing is left.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self
            .exceptions
            .iter()
            .map(String::as_str)
            .filter(|name| !FLAKY.contains(&bare(name)) && !GROUPS.contains(&bare(name)))
            .collect();
        if kinds.is_empty() {
            kinds = self.exceptions.iter().map(String::as_str).collect();
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// A type's name without its module.
fn bare(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// What one run came to. Anything that is neither green nor red by report *and* exit status is errored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    Green,
    Red(Failure),
    /// Why the run says nothing: a sentence without its full stop.
    Errored {
        why: String,
    },
}

impl Outcome {
    pub fn errored(why: impl Into<String>) -> Self {
        Self::Errored { why: why.into() }
    }

    pub fn colour(&self) -> Colour {
        match self {
            Self::Green => Colour::Green,
            Self::Red(_) => Colour::Red,
            Self::Errored { .. } => Colour::Errored,
        }
    }

    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Red(failure) => Some(failure),
            _ => None,
        }
    }
}

/// An outcome without its detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colour {
    Green,
    Red,
    Errored,
}

impl Colour {
    pub fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Red => "red",
            Self::Errored => "errored",
        }
    }
}
