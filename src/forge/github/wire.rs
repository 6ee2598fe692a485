//! The parts of the API's requests and answers that are used; everything else is ignored, because
//! servers of different ages add and drop fields.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::model::Sha;

/// The account that commits what the forge makes itself.
const FORGE_COMMITTER: &str = "web-flow";

/// A user, a bot or (where the forge knows no account) an empty object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Account {
    #[serde(default)]
    pub login: String,
    #[serde(default)]
    pub id: u64,
    /// `User`, `Bot`, `Organization`.
    #[serde(default, rename = "type")]
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Label {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RepoInfo {
    /// The forge's own, whatever the repository is called; 0 where it does not say.
    #[serde(default)]
    pub id: u64,
    pub default_branch: String,
    /// Only some may read it; `None` where the forge does not say.
    #[serde(default)]
    pub private: Option<bool>,
}

/// `head` or `base` of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Side {
    #[serde(rename = "ref")]
    pub branch: String,
    pub sha: Sha,
    /// `None` for the head of a fork that was deleted.
    pub repo: Option<RepoInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pull {
    pub number: u64,
    /// `open` or `closed`.
    pub state: String,
    #[serde(default)]
    pub draft: bool,
    pub user: Option<Account>,
    pub body: Option<String>,
    #[serde(default)]
    pub labels: Vec<Label>,
    pub head: Side,
    pub base: Side,
    /// `None` while the forge works it out.
    pub mergeable: Option<bool>,
    /// The test merge of an open pull request; may be stale.
    pub merge_commit_sha: Option<Sha>,
    /// How many files the forge counts.
    #[serde(default)]
    pub changed_files: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ShaRef {
    pub sha: Sha,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Signature {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub email: String,
}

/// What the forge says of a commit's signature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Verification {
    #[serde(default)]
    pub verified: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommitDetail {
    #[serde(default)]
    pub verification: Option<Verification>,
    pub author: Option<Signature>,
    pub committer: Option<Signature>,
    #[serde(default)]
    pub message: String,
    pub tree: ShaRef,
}

/// A commit with the accounts that the forge knows for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Commit {
    pub sha: Sha,
    pub commit: CommitDetail,
    pub author: Option<Account>,
    pub committer: Option<Account>,
    #[serde(default)]
    pub parents: Vec<ShaRef>,
}

impl Commit {
    /// The forge made it and signed it, as it does what it merges; nobody else has that key.
    pub fn is_signed_by_forge(&self) -> bool {
        let committer = self.committer.as_ref();
        let signature = self.commit.verification.as_ref();
        committer.is_some_and(|account| account.login == FORGE_COMMITTER)
            && signature.is_some_and(|signature| signature.verified)
    }
}

/// A commit of the git database.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GitCommit {
    pub sha: Sha,
    pub tree: ShaRef,
    pub parents: Vec<ShaRef>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Branch {
    pub commit: Commit,
}

/// A row of the files that a comparison or a pull request lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ListedFile {
    /// Blob (or submodule commit) at head; for `removed` the one that was removed.
    pub sha: Option<Sha>,
    pub filename: String,
    /// added, removed, modified, renamed, copied, changed, unchanged.
    pub status: String,
    pub previous_filename: Option<String>,
    /// Unified hunks; missing for binary and large files.
    pub patch: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Comparison {
    pub base_commit: Commit,
    pub merge_base_commit: Commit,
    pub total_commits: u64,
    /// Oldest first; at most 250 without paging.
    pub commits: Vec<Commit>,
    /// At most 300; on the first page only.
    pub files: Option<Vec<ListedFile>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TreeItem {
    pub path: String,
    /// Octal, as git writes it.
    pub mode: String,
    pub sha: Sha,
    pub size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tree {
    pub sha: Sha,
    pub tree: Vec<TreeItem>,
    #[serde(default)]
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AppRef {
    pub id: u64,
    #[serde(default)]
    pub slug: Option<String>,
    #[serde(default)]
    pub name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct RunOutput {
    #[serde(default)]
    pub annotations_count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub external_id: Option<String>,
    /// queued, in_progress, completed.
    pub status: String,
    pub conclusion: Option<String>,
    pub completed_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub output: RunOutput,
    pub app: Option<AppRef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    InProgress,
    Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnnotationRequest {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    /// notice, warning, failure.
    pub annotation_level: &'static str,
    pub title: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputRequest {
    pub title: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<AnnotationRequest>,
}

/// A button on a check-run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ButtonRequest {
    pub label: &'static str,
    pub description: &'static str,
    pub identifier: &'static str,
}

/// Body of POST check-runs and, without `name` and `head_sha`, of PATCH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRunRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<Sha>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details_url: Option<String>,
    pub status: CheckStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputRequest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ButtonRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Comment {
    pub id: u64,
    pub node_id: String,
    pub body: Option<String>,
    pub user: Option<Account>,
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Review {
    pub user: Option<Account>,
    /// APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING.
    pub state: String,
    pub submitted_at: Option<DateTime<Utc>>,
    /// The head that was reviewed.
    pub commit_id: Option<Sha>,
}
