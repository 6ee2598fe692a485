//! Events about branches, repositories and installations.

use serde::Deserialize;

use crate::model::{IdError, InstallationId, RepoName};

use super::Verified;
use super::event::{EventError, Installation, Repository, installation_id, origin, parse};

/// Something happened to a place where pull requests are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceEvent {
    pub action: String,
    pub installation: InstallationId,
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A branch was pushed to, made or deleted.
    Pushed {
        repo: RepoName,
        branch: String,
        default_branch: String,
    },
    /// The App was installed, or may do other things than before.
    Installed,
    /// The App sees the account no longer.
    Uninstalled,
    /// The App sees other repositories than before.
    Repositories {
        added: Vec<RepoName>,
        removed: Vec<RepoName>,
    },
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "ref")]
    name: String,
}

#[derive(Deserialize)]
struct PushPayload {
    repository: BranchedRepository,
    installation: Option<Installation>,
}

#[derive(Deserialize)]
pub(super) struct BranchedRepository {
    #[serde(flatten)]
    pub repository: Repository,
    pub default_branch: String,
}

/// A push; tags are of no use.
pub(super) fn push(body: &Verified) -> Result<Option<PlaceEvent>, EventError> {
    let reference: Reference = parse(body)?;
    let Some(branch) = reference.name.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    let payload: PushPayload = parse(body)?;
    let (installation, repo) = origin(&payload.repository.repository, payload.installation)?;
    Ok(Some(PlaceEvent {
        action: String::new(),
        installation,
        what: What::Pushed {
            repo,
            branch: branch.to_owned(),
            default_branch: payload.repository.default_branch,
        },
    }))
}

#[derive(Deserialize)]
struct InstallationPayload {
    installation: Option<Installation>,
    #[serde(default)]
    repositories_added: Vec<Named>,
    #[serde(default)]
    repositories_removed: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    full_name: String,
}

pub(super) fn installation(
    action: &str,
    body: &Verified,
) -> Result<Option<PlaceEvent>, EventError> {
    let what = match action {
        "created" | "unsuspend" | "new_permissions_accepted" => What::Installed,
        "deleted" | "suspend" => What::Uninstalled,
        _ => return Ok(None),
    };
    let payload: InstallationPayload = parse(body)?;
    Ok(Some(PlaceEvent {
        action: action.to_owned(),
        installation: installation_id(payload.installation)?,
        what,
    }))
}

pub(super) fn repositories(
    action: &str,
    body: &Verified,
) -> Result<Option<PlaceEvent>, EventError> {
    let payload: InstallationPayload = parse(body)?;
    let names = |rows: Vec<Named>| -> Result<Vec<RepoName>, EventError> {
        rows.into_iter()
            .map(|row| row.full_name.parse())
            .collect::<Result<_, IdError>>()
            .map_err(|error| EventError::Payload(error.to_string()))
    };
    let added = names(payload.repositories_added)?;
    let removed = names(payload.repositories_removed)?;
    if added.is_empty() && removed.is_empty() {
        return Ok(None);
    }
    Ok(Some(PlaceEvent {
        action: action.to_owned(),
        installation: installation_id(payload.installation)?,
        what: What::Repositories { added, removed },
    }))
}
