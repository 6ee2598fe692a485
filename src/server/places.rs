//! What events about branches, repositories and installations ask for.

use crate::model::{InstallationId, RepoName};
use crate::store::{RepoKey, Task};
use crate::webhook::{PlaceEvent, What};

pub(super) fn tasks(event: PlaceEvent) -> Vec<Task> {
    let installation = event.installation;
    match event.what {
        What::Pushed {
            repo,
            branch,
            default_branch,
        } => vec![Task::Branch {
            repo: RepoKey { installation, repo },
            branch,
            default_branch,
        }],
        What::Installed => vec![Task::Installation { installation }],
        What::Uninstalled => vec![Task::ForgetInstallation { installation }],
        What::Repositories { added, removed } => repositories(installation, added, removed),
    }
}

fn repositories(
    installation: InstallationId,
    added: Vec<RepoName>,
    removed: Vec<RepoName>,
) -> Vec<Task> {
    let key = |repo| RepoKey { installation, repo };
    let gone = removed
        .into_iter()
        .map(|repo| Task::Forget { repo: key(repo) });
    let new = added.into_iter().map(|repo| Task::Repository {
        repo: key(repo),
        default_branch: None,
    });
    gone.chain(new).collect()
}
