//! Check-runs under our name, whoever made them.

use serde::Deserialize;

use crate::model::{InstallationId, RepoName, Sha};
use crate::publish::plan::is_check_name;

use super::Verified;
use super::event::{EventError, Installation, Repository, origin, parse, positive};

/// A check-run under our name was created or completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamesakeEvent {
    pub installation: InstallationId,
    pub repo: RepoName,
    pub head: Sha,
    pub name: String,
    pub run: u64,
    /// Whose it is; 0 where the forge does not say.
    pub app: u64,
    pub action: &'static str,
}

#[derive(Deserialize)]
struct Payload {
    repository: Repository,
    installation: Option<Installation>,
    check_run: Run,
}

#[derive(Deserialize)]
struct Run {
    id: u64,
    #[serde(default)]
    name: String,
    head_sha: String,
    app: Option<Maker>,
}

#[derive(Deserialize)]
struct Maker {
    id: Option<u64>,
}

/// `None`: it has another name, or something else happened to it.
pub(super) fn namesake(action: &str, body: &Verified) -> Result<Option<NamesakeEvent>, EventError> {
    let action = match action {
        "created" => "created",
        "completed" => "completed",
        _ => return Ok(None),
    };
    let payload: Payload = parse(body)?;
    let run = payload.check_run;
    if !is_check_name(&run.name) {
        return Ok(None);
    }
    let head = run
        .head_sha
        .parse()
        .map_err(|error: crate::model::IdError| EventError::Payload(error.to_string()))?;
    let app = run.app.and_then(|app| app.id);
    let (installation, repo) = origin(&payload.repository, payload.installation)?;
    Ok(Some(NamesakeEvent {
        installation,
        repo,
        head,
        name: run.name,
        run: positive("check-run id", run.id)?,
        app: app.map_or(Ok(0), |id| positive("App id", id))?,
        action,
    }))
}
