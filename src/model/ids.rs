//! Identifiers that must not be mixed up with each other, or with plain strings.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a text had to look like to become an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected {expected}, found {found:?}")]
pub struct IdError {
    pub what: &'static str,
    pub expected: &'static str,
    pub found: String,
}

/// Canonical repository path (protocol section 3): relative, no empty, `.` or `..` component, no
/// backslash, no control characters.
pub fn is_canonical_path(path: &str) -> bool {
    !path.is_empty()
        && !path.chars().any(|c| c == '\\' || c.is_control())
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A git object id: 40 lower-case hex digits (SHA-1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

impl Sha {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl FromStr for Sha {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() == 40 && is_lower_hex(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError {
                what: "object id",
                expected: "40 lower-case hex digits",
                found: text.chars().take(80).collect(),
            })
        }
    }
}

/// The SHA-256 of a file's bytes: 64 lower-case hex digits (protocol section 4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileDigest(String);

impl FileDigest {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(hex::encode(bytes))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FileDigest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() == 64 && is_lower_hex(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError {
                what: "digest",
                expected: "64 lower-case hex digits",
                found: text.chars().take(80).collect(),
            })
        }
    }
}

macro_rules! string_id {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

string_id!(Sha);
string_id!(FileDigest);

/// `owner/name` of a repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoName(String);

impl RepoName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn owner(&self) -> &str {
        self.0.split_once('/').map_or("", |(owner, _)| owner)
    }

    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }
}

impl FromStr for RepoName {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let part = |p: &str| {
            !p.is_empty()
                && p != "."
                && p != ".."
                && p.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if part(owner) && part(name) && text.len() <= 200 => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(IdError {
                what: "repository",
                expected: "owner/name",
                found: text.chars().take(80).collect(),
            }),
        }
    }
}

string_id!(RepoName);

/// Number of a pull request within its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PrNumber(pub u64);

impl fmt::Display for PrNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Numeric id of an App's installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstallationId(pub u64);

/// The forge's id of one webhook delivery (the same when it is redelivered).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeliveryId(pub String);

/// A pull request as the forge addresses it. Work is coalesced by repository and number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PullKey {
    pub installation: InstallationId,
    pub repo: RepoName,
    pub number: PrNumber,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_refuse_what_is_not_canonical() {
        assert!("a".repeat(40).parse::<Sha>().is_ok());
        for bad in ["", "A", &"A".repeat(40), &"a".repeat(39), &"g".repeat(40)] {
            assert!(bad.parse::<Sha>().is_err(), "{bad}");
        }
        assert!("0".repeat(64).parse::<FileDigest>().is_ok());
        assert!("0".repeat(40).parse::<FileDigest>().is_err());
        for bad in ["acme", "acme/", "/x", "a/b/c", "../x", "a/.."] {
            assert!(bad.parse::<RepoName>().is_err(), "{bad}");
        }
        assert_eq!(
            "acme/parser".parse::<RepoName>().expect("valid").name(),
            "parser"
        );
    }
}
