//! What a merge queue does: it puts pull requests on a branch's tip, and asks for checks of what comes out.

use anyhow::{Context as _, Result};
use serde_json::json;

use super::git::{FileChange, Signature};
use super::model::{Pull, Repo};
use super::{Forge, Webhook, installation_json, routes, shape};
use crate::model::{MergeGroup, Sha};

/// What one step of a group brings.
#[derive(Debug, Clone)]
pub enum GroupPart {
    /// A pull request by a merge commit.
    Merge(u64),
    /// A pull request as one commit.
    Squash(u64),
    /// The commits of a pull request, one by one.
    Rebase(u64),
    /// A commit that no pull request holds.
    Commit {
        message: &'static str,
        changes: Vec<FileChange>,
    },
}

impl Forge {
    /// Makes a merge group on the branch's tip; the last pull request names it. No webhook is sent.
    pub fn queue(&self, full_name: &str, branch: &str, parts: &[GroupPart]) -> Result<MergeGroup> {
        let tip = self.branch(full_name, branch)?;
        self.queue_on(full_name, (branch, &tip), parts)
    }

    /// The forge vouches for a commit.
    pub fn sign(&self, full_name: &str, commit: &Sha) -> Result<()> {
        let mut state = self.shared.state();
        state.user(shape::FORGE_COMMITTER);
        let repo = state.repo_mut(full_name).context("no such repository")?;
        repo.signed.insert(commit.clone());
        Ok(())
    }

    /// [`Forge::queue`] with what comes before the first part: the branch's tip, or a commit that was put on
    /// it as it was.
    pub fn queue_on(
        &self,
        full_name: &str,
        (branch, start): (&str, &Sha),
        parts: &[GroupPart],
    ) -> Result<MergeGroup> {
        let mut state = self.shared.state();
        let queue = Signature {
            name: "GitHub".to_owned(),
            email: shape::FORGE_ADDRESS.to_owned(),
        };
        let now = state.now();
        state.user(shape::FORGE_COMMITTER);
        let repo = state.repo_mut(full_name).context("no such repository")?;
        let base = repo.git.branch(branch)?.context("no such branch")?;
        let (mut head, mut newest) = (start.clone(), 0);
        for part in parts {
            let (number, parents, message) = match part {
                GroupPart::Commit { message, changes } => {
                    head = repo.git.commit(&[head], changes, message, &queue, now)?;
                    continue;
                }
                GroupPart::Rebase(number) => {
                    newest = *number;
                    head = rebase(repo, &head, pull(repo, *number)?)?;
                    continue;
                }
                GroupPart::Merge(number) => {
                    let (pull, of) = (pull(repo, *number)?, head_of(repo, *number)?);
                    let message = format!(
                        "Merge pull request #{number} from {}/{}\n\n{}",
                        repo.owner(),
                        pull.head_branch,
                        pull.title
                    );
                    (*number, vec![head.clone(), of], message)
                }
                GroupPart::Squash(number) => {
                    let message = format!("{} (#{number})", pull(repo, *number)?.title);
                    (*number, vec![head.clone()], message)
                }
            };
            newest = number;
            let merged = repo.git.test_merge(&head, &head_of(repo, number)?, now)?;
            let merged = merged.context("it can't be merged into the group")?;
            let tree = (&merged, parents.as_slice());
            head = repo.git.commit_again(tree, &message, &queue, now)?;
            repo.signed.insert(head.clone());
        }
        let queue_branch = format!("gh-readonly-queue/{branch}/pr-{newest}-{base}");
        repo.git.set_branch(&queue_branch, &head)?;
        Ok(MergeGroup {
            head,
            base,
            branch: branch.to_owned(),
            default_branch: repo.default_branch.clone(),
            queue_branch,
        })
    }

    /// A signed `merge_group` webhook that asks for checks.
    pub fn group_webhook(&self, full_name: &str, group: &MergeGroup) -> Result<Webhook> {
        let mut state = self.shared.state();
        let repository = routes::repository_json(&mut state, full_name)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        let repo = state.repo(full_name).context("no such repository")?;
        let commit = repo.git.commit_info(&group.head)?;
        let commit = commit.context("the group's head is no commit")?;
        let person = |one: &Signature| json!({"name": one.name, "email": one.email});
        let mut payload = json!({
            "action": "checks_requested",
            "merge_group": {
                "head_sha": group.head,
                "head_ref": format!("refs/heads/{}", group.queue_branch),
                "base_sha": group.base,
                "base_ref": format!("refs/heads/{}", group.branch),
                "head_commit": {
                    "id": commit.id, "tree_id": commit.tree, "message": commit.message,
                    "timestamp": commit.committed_at,
                    "author": person(&commit.author), "committer": person(&commit.committer),
                },
            },
            "repository": repository,
        });
        if let Some(installation) = state.installation_of(full_name) {
            payload["installation"] = installation_json(installation.id);
        }
        self.webhook("merge_group", &payload)
    }
}

fn pull(repo: &Repo, number: u64) -> Result<&Pull> {
    repo.pulls.get(&number).context("no such pull request")
}

fn head_of(repo: &Repo, number: u64) -> Result<Sha> {
    let pull = pull(repo, number)?;
    repo.head_of(pull)?.context("no such head branch")
}

/// Puts each commit of the pull request on top, the oldest first.
fn rebase(repo: &Repo, onto: &Sha, pull: &Pull) -> Result<Sha> {
    let mut head = onto.clone();
    for id in repo
        .git
        .commits_between(onto, &head_of(repo, pull.number)?)?
    {
        let commit = repo.git.commit_info(&id)?.context("no such commit")?;
        let merged = repo.git.test_merge(onto, &id, commit.authored_at)?;
        let merged = merged.context("it can't be rebased onto the group")?;
        let parents = [head];
        head = repo.git.commit_again(
            (&merged, &parents),
            &commit.message,
            &commit.author,
            commit.authored_at,
        )?;
    }
    Ok(head)
}
