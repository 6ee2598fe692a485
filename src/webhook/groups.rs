//! Events of merge queues.

use serde::Deserialize;

use crate::model::{IdError, InstallationId, MergeGroup, RepoName};

use super::Verified;
use super::event::{EventError, Installation, origin, parse};
use super::places::BranchedRepository;

/// A merge queue wants a group judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupEvent {
    pub installation: InstallationId,
    pub repo: RepoName,
    pub group: MergeGroup,
}

#[derive(Deserialize)]
struct GroupPayload {
    repository: BranchedRepository,
    installation: Option<Installation>,
    merge_group: Group,
}

#[derive(Deserialize)]
struct Group {
    head_sha: String,
    head_ref: String,
    base_sha: String,
    base_ref: String,
}

/// Of the actions only `checks_requested` asks for something.
pub(super) fn group(action: &str, body: &Verified) -> Result<Option<GroupEvent>, EventError> {
    if action != "checks_requested" {
        return Ok(None);
    }
    let payload: GroupPayload = parse(body)?;
    let group = payload.merge_group;
    let sha = |text: &str| {
        text.parse()
            .map_err(|error: IdError| EventError::Payload(error.to_string()))
    };
    let branch = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    let (installation, repo) = origin(&payload.repository.repository, payload.installation)?;
    Ok(Some(GroupEvent {
        installation,
        repo,
        group: MergeGroup {
            head: sha(&group.head_sha)?,
            base: sha(&group.base_sha)?,
            branch: branch(&group.base_ref),
            default_branch: payload.repository.default_branch,
            queue_branch: branch(&group.head_ref),
        },
    }))
}
