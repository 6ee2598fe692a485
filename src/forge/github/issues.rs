//! Requests about the issue that tells what an audit found. They are signed with a token that may write
//! issues, which an installation need not grant.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::Scope;
use super::client::Client;
use super::endpoints::segment;
use super::transport::Call;
use super::wire::Account;
use crate::forge::ForgeError;

/// Pages of the bot's issues that are read in search of ours; its pull requests are among them.
const PAGES: usize = 20;

/// An issue, as far as it is read.
#[derive(Debug, Clone, Deserialize)]
pub struct Issue {
    pub number: u64,
    /// `open` or `closed`.
    pub state: String,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub user: Option<Account>,
    /// There for a pull request only.
    #[serde(default)]
    pub pull_request: Option<serde::de::IgnoredAny>,
}

impl Client {
    /// The newest issue of the App's own bot that begins with `marker`. Anybody can write the marker.
    pub async fn find_issue(&self, marker: &str) -> Result<Option<Issue>, ForgeError> {
        let bot = self.bot_login().await?.to_owned();
        for page in 1..=PAGES {
            let call = Call {
                scope: Some(Scope::Track),
                ..Call::get(self.path(&format!(
                    "/issues?creator={}&state=all&sort=created&direction=desc&per_page=100&page={page}",
                    segment(&bot)
                )))
            };
            let answer = self.rest(&call).await?;
            let issues: Vec<Issue> = answer.json(&call)?;
            let is_last = !answer.more && issues.len() < 100;
            let ours = |issue: &Issue| {
                let user = issue.user.as_ref();
                let body = issue.body.as_deref().unwrap_or_default();
                issue.pull_request.is_none()
                    && user.is_some_and(|user| {
                        user.kind == "Bot" && user.login.eq_ignore_ascii_case(&bot)
                    })
                    && body.starts_with(marker)
            };
            if let Some(found) = issues.into_iter().find(ours) {
                return Ok(Some(found));
            }
            if is_last {
                return Ok(None);
            }
        }
        Err(ForgeError::Validation(format!(
            "the App has opened more than {} issues and pull requests here; ours was not found among the newest",
            PAGES * 100
        )))
    }

    pub async fn create_issue(&self, title: &str, body: &str) -> Result<Issue, ForgeError> {
        self.track(
            Method::POST,
            "/issues",
            json!({"title": title, "body": body}),
        )
        .await
    }

    /// Replaces the text, and closes the issue or opens it again.
    pub async fn edit_issue(
        &self,
        number: u64,
        body: &str,
        is_open: bool,
    ) -> Result<Issue, ForgeError> {
        let edit = match is_open {
            true => json!({"body": body, "state": "open"}),
            false => json!({"body": body, "state": "closed", "state_reason": "completed"}),
        };
        self.track(Method::PATCH, &format!("/issues/{number}"), edit)
            .await
    }

    async fn track(&self, method: Method, path: &str, body: Value) -> Result<Issue, ForgeError> {
        let call = Call {
            scope: Some(Scope::Track),
            ..Call::with_body(method, self.path(path), body)
        };
        self.rest(&call).await?.json(&call)
    }
}
