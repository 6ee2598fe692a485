//! What people said of a pull request, and whether that ends a need for human review (protocol 5.3).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Fact, Permission};

/// An account as reviews name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    pub login: String,
    pub id: u64,
    pub is_bot: bool,
}

/// What somebody said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// A review that approves.
    Approved,
    /// A review that requests changes.
    ChangesRequested,
    /// The command `accept`.
    Accepted,
}

/// The newest review of one person that says yes or no, or an acceptance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub by: Person,
    pub says: Says,
    /// By the forge's clock.
    pub at: DateTime<Utc>,
    /// What the person may do in the repository now.
    pub permission: Fact<Permission>,
    /// The key of the decision that was shown then; `None` when none with a key was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What an account has to do with the patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// Opened the pull request.
    Author,
    /// Pushed to it.
    Pusher,
    /// Is the author of one of its commits.
    CommitAuthor,
    /// Had this App make it.
    Requester,
}

impl Tie {
    /// "opened this pull request".
    pub fn words(self) -> &'static str {
        match self {
            Self::Author => "opened this pull request",
            Self::Pusher => "pushed to this pull request",
            Self::CommitAuthor => "is the author of a commit in it",
            Self::Requester => "asked for this pull request",
        }
    }
}

/// An account that brings the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tied {
    pub id: u64,
    pub tie: Tie,
}

/// What people said, and who brings the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviews {
    pub given: Fact<Vec<Review>>,
    pub tied: Fact<Vec<Tied>>,
}

impl Reviews {
    /// What an account has to do with the patch.
    pub fn tie_of(&self, id: u64) -> Fact<Option<Tie>> {
        match &self.tied {
            Fact::Known(tied) => {
                Fact::Known(tied.iter().find(|one| one.id == id).map(|one| one.tie))
            }
            Fact::Missing(why) => Fact::Missing(why.clone()),
            Fact::Unavailable(why) => Fact::Unavailable(why.clone()),
            Fact::Truncated(why) => Fact::Truncated(why.clone()),
        }
    }
}

/// Where a need for human review stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nobody who counts has approved.
    Open,
    /// Somebody did.
    Approved,
    /// Somebody with write access requests changes.
    Held,
}

/// What the reviews come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewOutcome {
    pub standing: Standing,
    /// Who approved, or who holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<Says>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What does not count, and why: a sentence each, without a full stop.
    pub notes: Vec<String>,
}
