//! A forge on loopback that behaves like GitHub as far as Frostline can tell: a stateful model over
//! real bare git repositories, behind the real routes.
//!
//! For `frostline demo` and the tests; no part of the production path. Invariants: a call without a
//! valid, unexpired token of the right installation and right changes nothing; a completed check-run
//! stays as it ended; a route that is not known is an error that [`Forge::problems`] tells of.

mod auth;
mod build;
mod deliveries;
mod diff;
mod faults;
mod git;
mod groups;
mod key;
mod model;
mod moves;
mod others;
mod people;
mod reply;
mod routes;
mod server;
mod shape;
mod webhook;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result};
use chrono::TimeDelta;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use build::NewPull;
pub use faults::{Answer, Fault, Moment, Recorded};
pub use git::{CommitInfo, FileChange, FileDiff, Signature};
pub use groups::GroupPart;
pub use key::AppKey;
pub use model::{Access, CheckRun, Comment, Issue, Limits, Permissions, Pull, Reaction, Required};
pub use webhook::Webhook;

use crate::model::Sha;
use model::State;
use server::{Place, Shared, lock};

const APP_ID: u64 = 4242;
const APP_SLUG: &str = "frostline";

/// The running forge. Dropping it stops the server and removes every repository.
pub struct Forge {
    shared: Arc<Shared>,
    url: String,
    webhook_secret: String,
    server: JoinHandle<()>,
    folder: tempfile::TempDir,
}

impl Drop for Forge {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Forge {
    /// Starts a forge on a free loopback port, with a new key and webhook secret.
    pub async fn start() -> Result<Self> {
        let key = tokio::task::spawn_blocking(AppKey::generate).await??;
        Self::start_with(key).await
    }

    /// Starts a forge whose App has `key`.
    pub async fn start_with(key: AppKey) -> Result<Self> {
        Self::start_at(key, Place::Public).await
    }

    /// [`Forge::start_with`] at the paths of a GitHub Enterprise Server.
    pub async fn start_enterprise(key: AppKey) -> Result<Self> {
        Self::start_at(key, Place::Enterprise).await
    }

    async fn start_at(key: AppKey, place: Place) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let path = match place {
            Place::Public => "",
            Place::Enterprise => "/api/v3",
        };
        let url = format!("http://{}{path}", listener.local_addr()?);
        let webhook_secret = hex::encode(rand::random::<[u8; 20]>());
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(url.clone(), APP_ID, APP_SLUG)),
            key,
            webhook_secret: webhook_secret.clone(),
            faults: Mutex::default(),
            requests: Mutex::default(),
            problems: Mutex::default(),
            answered: tokio::sync::watch::Sender::new(0),
        });
        let router = server::router(shared.clone(), place);
        let server = tokio::spawn(async move {
            // Ends only when the forge is dropped.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            shared,
            url,
            webhook_secret,
            server,
            folder: tempfile::Builder::new()
                .prefix("frostline-forge-")
                .tempdir()?,
        })
    }

    /// Root of the API, without a final slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn app_id(&self) -> u64 {
        APP_ID
    }

    /// Login of the App's bot account.
    pub fn bot_login(&self) -> String {
        self.shared.state().bot_login()
    }

    pub fn private_key_pem(&self) -> &str {
        self.shared.key.private_pem()
    }

    pub fn webhook_secret(&self) -> &str {
        &self.webhook_secret
    }

    /// A signed `pull_request` webhook about a pull request as it stands, sent by its author.
    pub fn pull_webhook(&self, full_name: &str, number: u64, action: &str) -> Result<Webhook> {
        let author = self.pull(full_name, number).map(|pull| pull.author);
        let author = author.context("no such pull request")?;
        self.pull_webhook_by(full_name, number, action, &author)
    }

    /// [`Forge::pull_webhook`] with another sender.
    pub fn pull_webhook_by(
        &self,
        full_name: &str,
        number: u64,
        action: &str,
        sender: &str,
    ) -> Result<Webhook> {
        let mut state = self.shared.state();
        let sender = state.user(sender);
        let pull = routes::pull_json(&mut state, full_name, number)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        let mut payload = json!({
            "action": action,
            "number": number,
            "repository": pull["base"]["repo"],
            "sender": shape::user(&state.base_url, &sender),
            "pull_request": pull,
        });
        if action == "synchronize" {
            payload["after"] = pull["head"]["sha"].clone();
            payload["before"] = pull["base"]["sha"].clone();
        }
        if let Some(installation) = state.installation_of(full_name) {
            payload["installation"] = installation_json(installation.id);
        }
        Webhook::signed("pull_request", &payload, &self.webhook_secret)
    }

    /// A signed `push` webhook about a branch as it stands.
    pub fn push_webhook(&self, full_name: &str, branch: &str) -> Result<Webhook> {
        let mut state = self.shared.state();
        let repository = routes::repository_json(&mut state, full_name)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        let repo = state.repo(full_name).context("no such repository")?;
        let tip = repo.git.branch(branch)?;
        let mut payload = json!({
            "ref": format!("refs/heads/{branch}"),
            "deleted": tip.is_none(),
            "after": tip.map_or_else(|| "0".repeat(40), |tip| tip.to_string()),
            "repository": repository,
        });
        if let Some(installation) = state.installation_of(full_name) {
            payload["installation"] = installation_json(installation.id);
        }
        Webhook::signed("push", &payload, &self.webhook_secret)
    }

    /// Any webhook, signed.
    pub fn webhook(&self, event: &str, payload: &Value) -> Result<Webhook> {
        Webhook::signed(event, payload, &self.webhook_secret)
    }

    /// Check-runs of a commit, oldest first, of every App and name.
    pub fn check_runs(&self, full_name: &str, head: &Sha) -> Vec<CheckRun> {
        let state = self.shared.state();
        let runs = state
            .repo(full_name)
            .map(|repo| &repo.check_runs[..])
            .unwrap_or_default();
        runs.iter()
            .filter(|run| run.head == *head)
            .cloned()
            .collect()
    }

    /// Comments of a pull request, oldest first.
    pub fn comments(&self, full_name: &str, number: u64) -> Vec<Comment> {
        let state = self.shared.state();
        let all = state
            .repo(full_name)
            .map(|repo| &repo.comments[..])
            .unwrap_or_default();
        all.iter()
            .filter(|comment| comment.number == number)
            .cloned()
            .collect()
    }

    /// Issues that are no pull requests, oldest first.
    pub fn issues(&self, full_name: &str) -> Vec<Issue> {
        let state = self.shared.state();
        let repo = state.repo(full_name);
        repo.map_or_else(Vec::new, |repo| repo.issues.values().cloned().collect())
    }

    /// Opens an issue.
    pub fn open_issue(&self, full_name: &str, author: &str, body: &str) -> Result<u64> {
        let mut state = self.shared.state();
        let (now, id) = (state.now(), state.next_id());
        let author = state.user(author).login;
        let repo = state.repo_mut(full_name).context("no such repository")?;
        let issue = Issue {
            id,
            number: repo.next_number(),
            author,
            title: "An issue".to_owned(),
            body: body.to_owned(),
            open: true,
            created_at: now,
            updated_at: now,
        };
        let number = issue.number;
        repo.issues.insert(number, issue);
        Ok(number)
    }

    /// Closes an issue, as a person would.
    pub fn close_issue(&self, full_name: &str, number: u64) {
        if let Some(repo) = self.shared.state().repo_mut(full_name)
            && let Some(issue) = repo.issues.get_mut(&number)
        {
            issue.open = false;
        }
    }

    /// Somebody deletes an issue.
    pub fn delete_issue(&self, full_name: &str, number: u64) {
        if let Some(repo) = self.shared.state().repo_mut(full_name) {
            repo.issues.remove(&number);
        }
    }

    /// Every request so far, in the order in which they were answered.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// What went wrong that no fault asked for: unknown routes, failures of the forge itself.
    pub fn problems(&self) -> Vec<String> {
        lock(&self.shared.problems).clone()
    }

    /// Fails when there were any [`Forge::problems`].
    pub fn assert_clean(&self) {
        let problems = self.problems();
        assert!(
            problems.is_empty(),
            "the forge was asked what it does not know:\n{}",
            problems.join("\n")
        );
    }

    /// Lets something go wrong.
    pub fn fault(&self, fault: Fault) {
        lock(&self.shared.faults).push(fault);
    }

    pub fn clear_faults(&self) {
        lock(&self.shared.faults).clear();
    }

    pub fn set_limits(&self, limits: Limits) {
        self.shared.state().limits = limits;
    }

    /// Gives or takes a right of the installation on the repository's account.
    pub fn set_right(&self, full_name: &str, right: &str, access: Option<Access>) -> Result<()> {
        let mut state = self.shared.state();
        let id = state
            .installation_of(full_name)
            .context("not installed")?
            .id;
        let installation = state.installations.get_mut(&id).context("not installed")?;
        match access {
            Some(access) => installation.permissions.insert(right.to_owned(), access),
            None => installation.permissions.remove(right),
        };
        Ok(())
    }

    /// Suspends the installation on the repository's account, or ends that.
    pub fn set_suspended(&self, full_name: &str, suspended: bool) -> Result<()> {
        let mut state = self.shared.state();
        let id = state
            .installation_of(full_name)
            .context("not installed")?
            .id;
        let installation = state.installations.get_mut(&id).context("not installed")?;
        installation.suspended = suspended;
        Ok(())
    }

    /// Says where the App's webhook goes.
    pub fn set_hook_url(&self, url: &str) {
        self.shared.state().hook_url = url.to_owned();
    }

    /// Id of the installation that sees the repository.
    pub fn installation_id(&self, full_name: &str) -> Result<u64> {
        let state = self.shared.state();
        Ok(state
            .installation_of(full_name)
            .context("not installed")?
            .id)
    }

    /// Lets every token expire that was handed out until it is called.
    pub fn expirer(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || shared.state().tokens.clear()
    }

    /// Puts the forge's clock back.
    pub fn set_back(&self, by: Duration) -> Result<()> {
        self.shared.state().clock_ahead -= TimeDelta::from_std(by)?;
        Ok(())
    }

    /// Puts the forge's clock forward: tokens expire.
    pub fn advance(&self, by: Duration) -> Result<()> {
        self.shared.state().clock_ahead += TimeDelta::from_std(by)?;
        Ok(())
    }

    /// Waits until `done` holds; it is asked after every request. An error once `within` has passed.
    pub async fn wait_until(&self, within: Duration, done: impl Fn(&Self) -> bool) -> Result<()> {
        let mut answered = self.shared.answered.subscribe();
        let waiting = async {
            while !done(self) {
                answered.changed().await?;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(within, waiting)
            .await
            .with_context(|| format!("the forge did not come to it within {within:?}"))?
    }
}

fn installation_json(id: u64) -> Value {
    json!({ "id": id, "node_id": shape::node_id("Integration", id) })
}
