//! Requests that put a commit on a branch of the App's own and open a pull request from it. They are signed
//! with a token that may write contents, which an installation need not grant.

use http::Method;
use serde_json::{Value, json};

use super::auth::Scope;
use super::client::Client;
use super::endpoints::segment;
use super::transport::Call;
use super::wire::{Pull, ShaRef};
use crate::forge::ForgeError;
use crate::model::{EntryKind, PrNumber, Sha};

const MOVE: &str =
    "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";

/// What becomes of a path of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeEdit {
    /// A regular file with this text.
    Text(String),
    /// An object that the repository has.
    Object(EntryKind, Sha),
    Remove,
}

fn mode(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "100644",
        EntryKind::Executable => "100755",
        EntryKind::Symlink => "120000",
        EntryKind::Submodule => "160000",
    }
}

fn entry((path, edit): &(String, TreeEdit)) -> Value {
    match edit {
        TreeEdit::Text(text) => {
            json!({"path": path, "mode": mode(EntryKind::File), "type": "blob", "content": text})
        }
        TreeEdit::Object(kind, id) => {
            let object = match kind {
                EntryKind::Submodule => "commit",
                _ => "blob",
            };
            json!({"path": path, "mode": mode(*kind), "type": object, "sha": id})
        }
        TreeEdit::Remove => {
            json!({"path": path, "mode": mode(EntryKind::File), "type": "blob", "sha": null})
        }
    }
}

impl Client {
    async fn propose<T: serde::de::DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Value,
    ) -> Result<T, ForgeError> {
        let call = Call {
            scope: Some(Scope::Propose),
            ..Call::with_body(method, self.path(path), body)
        };
        self.rest(&call).await?.json(&call)
    }

    /// The tree `base` with `edits`. Written twice, it is the same tree.
    pub async fn write_tree(
        &self,
        base: &Sha,
        edits: &[(String, TreeEdit)],
    ) -> Result<Sha, ForgeError> {
        let tree: Vec<Value> = edits.iter().map(entry).collect();
        let body = json!({"base_tree": base, "tree": tree});
        let written: ShaRef = self.propose(Method::POST, "/git/trees", body).await?;
        Ok(written.sha)
    }

    /// A commit by the App's own account.
    pub async fn write_commit(
        &self,
        message: &str,
        tree: &Sha,
        parent: &Sha,
    ) -> Result<Sha, ForgeError> {
        let body = json!({"message": message, "tree": tree, "parents": [parent]});
        let written: ShaRef = self.propose(Method::POST, "/git/commits", body).await?;
        Ok(written.sha)
    }

    /// The commit that a branch points at; `None` when there is no such branch.
    pub async fn branch_tip(&self, branch: &str) -> Result<Option<Sha>, ForgeError> {
        #[derive(serde::Deserialize)]
        struct Reference {
            object: ShaRef,
        }
        let path = self.path(&format!("/git/ref/heads/{}", segments(branch)));
        match self.read::<Reference>(path).await {
            Ok(found) => Ok(Some(found.object.sha)),
            Err(ForgeError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the branch at a commit.
    pub async fn create_branch(&self, branch: &str, at: &Sha) -> Result<(), ForgeError> {
        let body = json!({"ref": format!("refs/heads/{branch}"), "sha": at});
        let _: Value = self.propose(Method::POST, "/git/refs", body).await?;
        Ok(())
    }

    /// Points the branch at another commit, if it is at `from`: the forge compares and moves at once, so that
    /// nothing that came in between is lost. `PATCH /git/refs` knows no such condition.
    ///
    /// # Errors
    /// Where the branch is elsewhere, [`ForgeError::Validation`] as for anything else that is refused.
    pub async fn move_branch(
        &self,
        branch: &str,
        (from, to): (&Sha, &Sha),
    ) -> Result<(), ForgeError> {
        #[derive(serde::Deserialize)]
        struct Repository {
            node_id: String,
        }
        let Repository { node_id } = self.read(self.path("")).await?;
        let update = json!({
            "name": format!("refs/heads/{branch}"), "beforeOid": from, "afterOid": to, "force": true,
        });
        let variables = json!({"input": {"repositoryId": node_id, "refUpdates": [update]}});
        let call = Call {
            scope: Some(Scope::Propose),
            ..Call::graphql(MOVE, &variables)
        };
        self.query_as(call).await?.error.map_or(Ok(()), Err)
    }

    /// The open pull request from a branch of this repository.
    pub async fn pull_from(&self, branch: &str) -> Result<Option<Pull>, ForgeError> {
        let head = segment(&format!("{}:{branch}", self.repo().owner()));
        let path = self.path(&format!("/pulls?state=open&head={head}"));
        let (pulls, _): (Vec<Pull>, bool) = self.page(&path, 1, Vec::len).await?;
        // A forge that does not know the filter lists all.
        let mut pulls = pulls.into_iter();
        Ok(pulls.find(|pull| pull.head.branch == branch))
    }

    pub async fn create_pull(
        &self,
        (head, base): (&str, &str),
        title: &str,
        text: &str,
    ) -> Result<Pull, ForgeError> {
        let body = json!({"head": head, "base": base, "title": title, "body": text});
        self.propose(Method::POST, "/pulls", body).await
    }

    pub async fn edit_pull(
        &self,
        number: PrNumber,
        title: &str,
        text: &str,
    ) -> Result<Pull, ForgeError> {
        let path = format!("/pulls/{number}");
        self.propose(Method::PATCH, &path, json!({"title": title, "body": text}))
            .await
    }
}

/// A branch's name in a path that takes its slashes as they are.
fn segments(branch: &str) -> String {
    let parts: Vec<String> = branch.split('/').map(segment).collect();
    parts.join("/")
}
