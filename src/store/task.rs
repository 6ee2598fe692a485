//! What a job is to do. Its kind and its key say which jobs are one and the same.

use serde::{Deserialize, Serialize};

use crate::model::{InstallationId, PrNumber, PullKey, RepoName, Sha};

/// A repository as an installation of the App reaches it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RepoKey {
    pub installation: InstallationId,
    pub repo: RepoName,
}

/// What a job is to do; JSON in the table. Two tasks of one kind and key are one job while they wait,
/// and never run at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Bring a pull request up to date. `head` is what the newest event told: the forge must show it
    /// before the work begins.
    Pull { pull: PullKey, head: Option<Sha> },
    /// Find the open pull requests whose head this commit is, and bring each up to date. Events about
    /// commits of forks name no pull request.
    Head { repo: RepoKey, head: Sha },
}

impl Task {
    /// The kind, as the table has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pull { .. } => "pull",
            Self::Head { .. } => "head",
        }
    }

    /// What must not run twice at once. Forges compare names without case, and an App that is
    /// installed anew has another installation id for the same repository.
    pub fn key(&self) -> String {
        match self {
            Self::Pull { pull, .. } => format!("{}#{}", lower(&pull.repo), pull.number),
            Self::Head { repo, head } => format!("{}@{head}", lower(&repo.repo)),
        }
    }

    fn place(&self) -> (InstallationId, &RepoName) {
        match self {
            Self::Pull { pull, .. } => (pull.installation, &pull.repo),
            Self::Head { repo, .. } => (repo.installation, &repo.repo),
        }
    }

    /// `None`: it is about the App itself.
    pub fn installation(&self) -> Option<InstallationId> {
        Some(self.place().0)
    }

    /// The repository, if the task is about one.
    pub fn repo(&self) -> Option<&RepoName> {
        Some(self.place().1)
    }

    /// The pull request, if the task is about one.
    pub fn number(&self) -> Option<PrNumber> {
        match self {
            Self::Pull { pull, .. } => Some(pull.number),
            Self::Head { .. } => None,
        }
    }

    /// The commit that it is about, as far as it is known.
    pub fn head(&self) -> Option<&Sha> {
        match self {
            Self::Pull { head, .. } => head.as_ref(),
            Self::Head { head, .. } => Some(head),
        }
    }
}

impl From<&PullKey> for Task {
    fn from(pull: &PullKey) -> Self {
        Self::Pull {
            pull: pull.clone(),
            head: None,
        }
    }
}

fn lower(repo: &RepoName) -> String {
    repo.as_str().to_ascii_lowercase()
}
