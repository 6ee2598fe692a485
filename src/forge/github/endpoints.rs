//! One method for each request that is made.

use chrono::{DateTime, SecondsFormat, Utc};
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::forge::ForgeError;
use crate::model::{PrNumber, Sha};

use super::client::{Client, Seen};
use super::refusal::{SECONDARY_LIMIT_PAUSE, speaks_of_limit};
use super::transport::{Call, RAW};
use super::wire::{
    Branch, CheckRun, CheckRunRequest, Comment, Comparison, GitCommit, ListedFile, Pull, RepoInfo,
    Tree,
};

/// Rows of a page: the most that the forge gives.
const PAGE: usize = 100;
/// Pages of comments that are read in search of ours.
const COMMENT_PAGES: usize = 50;

/// Percent-encodes everything but unreserved characters, `/` too: a branch is one path segment.
pub(super) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// What a GraphQL answer's `errors` say.
#[derive(Debug, serde::Deserialize)]
struct GraphqlError {
    #[serde(default)]
    message: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// A GraphQL answer: partial data and errors may come together.
#[derive(Debug)]
pub(super) struct Partial {
    pub data: serde_json::Value,
    /// The first of them.
    pub error: Option<ForgeError>,
}

impl Client {
    pub(super) async fn read<T: DeserializeOwned>(&self, path: String) -> Result<T, ForgeError> {
        let call = Call::get(path);
        self.rest(&call).await?.json(&call)
    }

    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: String,
        body: serde_json::Value,
    ) -> Result<T, ForgeError> {
        let call = Call::with_body(method, path, body);
        self.rest(&call).await?.json(&call)
    }

    /// The pull request as it stands. Read again, it costs nothing of the limit while it stands unchanged.
    pub async fn pull(&self, number: PrNumber) -> Result<Pull, ForgeError> {
        let seen = self.seen().filter(|seen| seen.pull.number == number.0);
        let mut call = Call::get(self.path(&format!("/pulls/{number}")));
        call.unless = seen.as_ref().and_then(|seen| seen.tag.clone());
        let answer = self.rest(&call).await?;
        let pull: Pull = match seen {
            Some(seen) if answer.unchanged => seen.pull,
            _ => answer.json(&call)?,
        };
        self.see(Seen {
            pull: pull.clone(),
            tag: answer.etag.or(call.unless),
            stood_at: Some(self.requests()),
        });
        Ok(pull)
    }

    /// The pull request as it stands after all requests so far: asked for, unless the last of them told.
    pub async fn pull_now(&self, number: PrNumber) -> Result<Pull, ForgeError> {
        match self.seen() {
            Some(seen)
                if seen.pull.number == number.0 && seen.stood_at == Some(self.requests()) =>
            {
                Ok(seen.pull)
            }
            _ => self.pull(number).await,
        }
    }

    /// Page `page` (from 1) of the list at `path`, and whether there is another one.
    pub(super) async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        page: usize,
        rows: impl Fn(&T) -> usize,
    ) -> Result<(T, bool), ForgeError> {
        let join = if path.contains('?') { '&' } else { '?' };
        let call = Call::get(format!("{path}{join}per_page={PAGE}&page={page}"));
        let answer = self.rest(&call).await?;
        let list: T = answer.json(&call)?;
        // A full page may be the last one; a short one with a next link is not.
        let more = answer.more || rows(&list) >= PAGE;
        Ok((list, more))
    }

    /// Pull requests that hold a commit of theirs, at most 100; not all of them have it as their head.
    pub async fn pulls_of_commit(&self, sha: &Sha) -> Result<Vec<Pull>, ForgeError> {
        self.read(self.path(&format!("/commits/{sha}/pulls?per_page=100")))
            .await
    }

    pub async fn repository(&self) -> Result<RepoInfo, ForgeError> {
        self.read(self.path("")).await
    }

    /// Every open pull request, the newest first; without what the forge works out only when it is asked
    /// for a single one.
    pub async fn open_pulls(&self) -> Result<Vec<Pull>, ForgeError> {
        let path = self.path("/pulls?state=open&sort=created&direction=desc");
        let mut found: Vec<Pull> = Vec::new();
        for page in 1.. {
            let (rows, more) = self.page(&path, page, Vec::len).await?;
            found.extend(rows);
            if !more {
                break;
            }
        }
        Ok(found)
    }

    /// Three-dot comparison of `base` (a branch or commit) with `head`: the first 250 commits and 300
    /// files.
    pub async fn compare(&self, base: &str, head: &Sha) -> Result<Comparison, ForgeError> {
        self.read(self.path(&format!("/compare/{}...{head}", segment(base))))
            .await
    }

    /// A page of a comparison's commits (100 each, from 1); files come with the first only.
    pub async fn compare_page(
        &self,
        base: &Sha,
        head: &Sha,
        per_page: usize,
        page: usize,
    ) -> Result<Comparison, ForgeError> {
        let path = format!("/compare/{base}...{head}?per_page={per_page}&page={page}");
        self.read(self.path(&path)).await
    }

    /// Changed files of a pull request, 100 to a page, until `most` rows are read; the flag says whether
    /// that was all.
    pub async fn pull_files(
        &self,
        number: PrNumber,
        most: usize,
    ) -> Result<(Vec<ListedFile>, bool), ForgeError> {
        let path = self.path(&format!("/pulls/{number}/files"));
        let mut files: Vec<ListedFile> = Vec::new();
        for page in 1.. {
            let (rows, more) = self.page(&path, page, Vec::len).await?;
            files.extend(rows);
            if !more || files.len() >= most {
                return Ok((files, !more));
            }
        }
        Ok((files, false))
    }

    pub async fn branch(&self, name: &str) -> Result<Branch, ForgeError> {
        self.read(self.path(&format!("/branches/{}", segment(name))))
            .await
    }

    pub async fn git_commit(&self, sha: &Sha) -> Result<GitCommit, ForgeError> {
        self.read(self.path(&format!("/git/commits/{sha}"))).await
    }

    pub async fn tree(&self, sha: &Sha, recursive: bool) -> Result<Tree, ForgeError> {
        // Any value of `recursive` means yes.
        let query = if recursive { "?recursive=1" } else { "" };
        let mut call = Call::get(self.path(&format!("/git/trees/{sha}{query}")));
        call.limit = 64 << 20;
        self.rest(&call).await?.json(&call)
    }

    /// A blob's bytes, at most `limit`.
    pub async fn blob(&self, sha: &Sha, limit: usize) -> Result<Vec<u8>, ForgeError> {
        let mut call = Call::get(self.path(&format!("/git/blobs/{sha}")));
        call.accept = RAW;
        call.limit = limit;
        Ok(self.rest(&call).await?.body.to_vec())
    }

    pub async fn create_check_run(&self, run: &CheckRunRequest) -> Result<CheckRun, ForgeError> {
        self.write(Method::POST, self.path("/check-runs"), json!(run))
            .await
    }

    pub async fn update_check_run(
        &self,
        id: u64,
        run: &CheckRunRequest,
    ) -> Result<CheckRun, ForgeError> {
        let path = self.path(&format!("/check-runs/{id}"));
        self.write(Method::PATCH, path, json!(run)).await
    }

    pub async fn check_run(&self, id: u64) -> Result<CheckRun, ForgeError> {
        self.read(self.path(&format!("/check-runs/{id}"))).await
    }

    /// All of this App's runs of `name` on `head`, superseded ones too.
    pub async fn check_runs(&self, head: &Sha, name: &str) -> Result<Vec<CheckRun>, ForgeError> {
        #[derive(serde::Deserialize)]
        struct Page {
            check_runs: Vec<CheckRun>,
        }
        let path = self.path(&format!(
            "/commits/{head}/check-runs?check_name={}&filter=all&app_id={}",
            segment(name),
            self.app_id()
        ));
        let mut runs = Vec::new();
        for page in 1.. {
            let (rows, more) = self
                .page(&path, page, |page: &Page| page.check_runs.len())
                .await?;
            runs.extend(rows.check_runs);
            if !more {
                break;
            }
        }
        runs.retain(|run| run.app.as_ref().is_none_or(|app| app.id == self.app_id()));
        Ok(runs)
    }

    /// The first comment of a pull request for which `is_it` holds, the oldest first; of those changed
    /// `since` then.
    pub async fn find_comment(
        &self,
        number: PrNumber,
        since: Option<DateTime<Utc>>,
        is_it: impl Fn(&Comment) -> bool,
    ) -> Result<Option<Comment>, ForgeError> {
        let since = since.map_or_else(String::new, |at| {
            format!("?since={}", at.to_rfc3339_opts(SecondsFormat::Secs, true))
        });
        let path = self.path(&format!("/issues/{number}/comments{since}"));
        for page in 1..=COMMENT_PAGES {
            let (comments, more): (Vec<Comment>, bool) = self.page(&path, page, Vec::len).await?;
            if let Some(found) = comments.into_iter().find(&is_it) {
                return Ok(Some(found));
            }
            if !more {
                return Ok(None);
            }
        }
        Err(ForgeError::Validation(format!(
            "pull request {number} has more than {} comments; ours was not found among them",
            COMMENT_PAGES * PAGE
        )))
    }

    pub async fn create_comment(
        &self,
        number: PrNumber,
        body: &str,
    ) -> Result<Comment, ForgeError> {
        let path = self.path(&format!("/issues/{number}/comments"));
        self.write(Method::POST, path, json!({"body": body})).await
    }

    pub async fn edit_comment(&self, id: u64, body: &str) -> Result<Comment, ForgeError> {
        let path = self.path(&format!("/issues/comments/{id}"));
        self.write(Method::PATCH, path, json!({"body": body})).await
    }

    /// Folds a comment away as resolved, or unfolds it; with a `body`, replaces it in the same request.
    pub async fn set_minimized(
        &self,
        node_id: &str,
        body: Option<&str>,
        minimized: bool,
    ) -> Result<(), ForgeError> {
        let fold = if minimized {
            "minimizeComment(input: {subjectId: $id, classifier: RESOLVED}) { clientMutationId }"
        } else {
            "unminimizeComment(input: {subjectId: $id}) { clientMutationId }"
        };
        let (query, variables) = match body {
            Some(body) => (
                format!(
                    "mutation($id: ID!, $body: String!) {{ updateIssueComment(input: {{id: $id, body: $body}}) {{ clientMutationId }} {fold} }}"
                ),
                json!({"id": node_id, "body": body}),
            ),
            None => (
                format!("mutation($id: ID!) {{ {fold} }}"),
                json!({"id": node_id}),
            ),
        };
        match self.query(&query, variables).await?.error {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// A GraphQL query or mutation. A limit is an error even though its status is 200.
    pub(super) async fn query(
        &self,
        query: &str,
        variables: serde_json::Value,
    ) -> Result<Partial, ForgeError> {
        self.query_as(Call::graphql(query, &variables)).await
    }

    /// [`Self::query`] with a token of the call's own scope.
    pub(super) async fn query_as(&self, call: Call) -> Result<Partial, ForgeError> {
        #[derive(serde::Deserialize)]
        struct Reply {
            #[serde(default)]
            data: serde_json::Value,
            #[serde(default)]
            errors: Vec<GraphqlError>,
        }
        let answer = self.graphql(&call).await?;
        let reply: Reply = answer.json(&call)?;
        let limited = |e: &GraphqlError| e.kind == "RATE_LIMITED" || speaks_of_limit(&e.message);
        if reply.errors.iter().any(limited) {
            let pause = || chrono::Utc::now() + SECONDARY_LIMIT_PAUSE;
            return Err(ForgeError::RateLimited {
                until: answer.limit_ends.unwrap_or_else(pause),
            });
        }
        let error = reply.errors.first().map(|error| {
            let text: String = error.message.chars().take(200).collect();
            let text = format!(
                "{}: {} {}",
                call.name(),
                error.kind,
                text.replace('\n', " ")
            );
            match error.kind.as_str() {
                "NOT_FOUND" => ForgeError::NotFound(text),
                "FORBIDDEN" => ForgeError::Forbidden(text),
                // The query took too long, or asked for too much at once: less may pass.
                "RESOURCE_LIMITS_EXCEEDED" | "MAX_NODE_LIMIT_EXCEEDED" | "INTERNAL" => {
                    ForgeError::Transient(text)
                }
                _ => ForgeError::Validation(text),
            }
        });
        Ok(Partial {
            data: reply.data,
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_one_segment_however_it_is_spelled() {
        assert_eq!(segment("main"), "main");
        assert_eq!(segment("release/1.x"), "release%2F1.x");
        assert_eq!(segment("a?b#c%é"), "a%3Fb%23c%25%C3%A9");
        assert_eq!(segment("../../x"), "..%2F..%2Fx");
    }
}
