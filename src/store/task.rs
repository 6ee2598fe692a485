//! What a job is to do. Its kind and its key say which jobs are one and the same.

use serde::{Deserialize, Serialize};

use crate::model::{InstallationId, MergeGroup, PrNumber, PullKey, RepoName, Sha};

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
    /// Judge a merge group.
    Group { repo: RepoKey, group: MergeGroup },
    /// A branch may have moved: judge again what the move changed, and audit its contract.
    Branch {
        repo: RepoKey,
        branch: String,
        default_branch: String,
    },
    /// Audit the tip of a guarded branch.
    Audit {
        repo: RepoKey,
        branch: String,
        default_branch: String,
    },
    /// Find what is out of date in a repository.
    Repository {
        repo: RepoKey,
        default_branch: Option<String>,
    },
    /// Find the repositories of an installation, and forget those that it no longer has.
    Installation { installation: InstallationId },
    /// The App sees the repository no longer.
    Forget { repo: RepoKey },
    /// The App sees the account no longer.
    ForgetInstallation { installation: InstallationId },
    /// Ask for lost deliveries again, and look at every installation.
    Sweep,
}

impl Task {
    /// The kind, as the table has it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pull { .. } => "pull",
            Self::Head { .. } => "head",
            Self::Group { .. } => "group",
            Self::Branch { .. } => "branch",
            Self::Audit { .. } => "audit",
            Self::Repository { .. } => "repository",
            Self::Installation { .. } => "installation",
            Self::Forget { .. } => "forget",
            Self::ForgetInstallation { .. } => "forget_installation",
            Self::Sweep => "sweep",
        }
    }

    /// What must not run twice at once. Forges compare names without case, and an App that is
    /// installed anew has another installation id for the same repository.
    pub fn key(&self) -> String {
        match self {
            Self::Pull { pull, .. } => format!("{}#{}", lower(&pull.repo), pull.number),
            Self::Head { repo, head } => format!("{}@{head}", lower(&repo.repo)),
            Self::Group { repo, group } => format!("{}@{}", lower(&repo.repo), group.head),
            Self::Branch { repo, branch, .. } | Self::Audit { repo, branch, .. } => {
                format!("{}:{branch}", lower(&repo.repo))
            }
            Self::Repository { repo, .. } | Self::Forget { repo } => lower(&repo.repo),
            Self::Installation { installation } | Self::ForgetInstallation { installation } => {
                installation.0.to_string()
            }
            Self::Sweep => String::new(),
        }
    }

    /// The same task for a repository that has another name now.
    pub fn renamed(mut self, to: &RepoName) -> Self {
        match &mut self {
            Self::Pull { pull, .. } => pull.repo = to.clone(),
            Self::Head { repo, .. }
            | Self::Group { repo, .. }
            | Self::Branch { repo, .. }
            | Self::Audit { repo, .. }
            | Self::Repository { repo, .. }
            | Self::Forget { repo } => repo.repo = to.clone(),
            Self::Installation { .. } | Self::ForgetInstallation { .. } | Self::Sweep => {}
        }
        self
    }

    fn place(&self) -> Option<(InstallationId, Option<&RepoName>)> {
        match self {
            Self::Pull { pull, .. } => Some((pull.installation, Some(&pull.repo))),
            Self::Head { repo, .. }
            | Self::Group { repo, .. }
            | Self::Branch { repo, .. }
            | Self::Audit { repo, .. }
            | Self::Repository { repo, .. }
            | Self::Forget { repo } => Some((repo.installation, Some(&repo.repo))),
            Self::Installation { installation } | Self::ForgetInstallation { installation } => {
                Some((*installation, None))
            }
            Self::Sweep => None,
        }
    }

    /// `None`: it is about the App itself.
    pub fn installation(&self) -> Option<InstallationId> {
        self.place().map(|(installation, _)| installation)
    }

    /// The repository, if the task is about one.
    pub fn repo(&self) -> Option<&RepoName> {
        self.place().and_then(|(_, repo)| repo)
    }

    /// The pull request, if the task is about one.
    pub fn number(&self) -> Option<PrNumber> {
        match self {
            Self::Pull { pull, .. } => Some(pull.number),
            _ => None,
        }
    }

    /// The commit that it is about, as far as it is known.
    pub fn head(&self) -> Option<&Sha> {
        match self {
            Self::Pull { head, .. } => head.as_ref(),
            Self::Head { head, .. } => Some(head),
            Self::Group { group, .. } => Some(&group.head),
            _ => None,
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
