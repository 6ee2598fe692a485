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

/// `N` lower-case hex digits, held without an allocation of their own: there are many.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Hex<const N: usize>([u8; N]);

impl<const N: usize> Hex<N> {
    fn parse(text: &str) -> Option<Self> {
        let digits: [u8; N] = text.as_bytes().try_into().ok()?;
        let is_digit = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        digits.iter().all(is_digit).then_some(Self(digits))
    }

    fn of(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [b'0'; N];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Self(digits)
    }

    fn bytes<const M: usize>(&self) -> [u8; M] {
        let value = |digit: u8| match digit {
            b'a'..=b'f' => digit - b'a' + 10,
            _ => digit - b'0',
        };
        let mut bytes = [0; M];
        for (byte, pair) in bytes.iter_mut().zip(self.0.chunks_exact(2)) {
            *byte = value(pair[0]) << 4 | value(pair[1]);
        }
        bytes
    }

    fn as_str(&self) -> &str {
        // Digits are ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A git object id: 40 lower-case hex digits (SHA-1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(Hex<40>);

impl Sha {
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(Hex::of(&bytes))
    }

    pub fn to_bytes(&self) -> [u8; 20] {
        self.0.bytes()
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        &self.as_str()[..12]
    }
}

impl FromStr for Sha {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Hex::parse(text).map(Self).ok_or_else(|| IdError {
            what: "object id",
            expected: "40 lower-case hex digits",
            found: text.chars().take(80).collect(),
        })
    }
}

/// The SHA-256 of a file's bytes: 64 lower-case hex digits (protocol section 4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileDigest(Hex<64>);

impl FileDigest {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Hex::of(&bytes))
    }

    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.bytes()
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for FileDigest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Hex::parse(text).map(Self).ok_or_else(|| IdError {
            what: "digest",
            expected: "64 lower-case hex digits",
            found: text.chars().take(80).collect(),
        })
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
                id.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
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
        let bytes: [u8; 20] = std::array::from_fn(|at| (at * 13) as u8);
        let id = Sha::from_bytes(bytes);
        assert_eq!(
            (id.as_str(), id.to_bytes()),
            (hex::encode(bytes).as_str(), bytes)
        );
        assert_eq!(id.as_str().parse::<Sha>(), Ok(id));
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
