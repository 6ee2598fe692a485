//! The App, and a client for one repository of one installation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use tokio::sync::OnceCell;
use url::{Host, Url};

use crate::forge::ForgeError;
use crate::metrics::Metrics;
use crate::model::{InstallationId, RepoName};
use crate::store::{Lease, Store};

use super::auth::{AppKey, Key, Scope, Tokens};
use super::share::Shares;
use super::transport::{self, Answer, Call, Timeouts, Transport};
use super::wire::Pull;

/// How to reach the forge, and as whom.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// `https://api.github.com`, or `https://HOST/api/v3` for GitHub Enterprise Server.
    pub api_url: Url,
    /// Lets `api_url` be plain HTTP to this very machine: tests and demo.
    pub allow_http_loopback: bool,
    pub key: AppKey,
}

/// Why [`AppSettings`] can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(
        "github.api_url {0}: tokens are sent over HTTPS only; plain HTTP is for 127.0.0.1 or [::1], with github.allow_http_loopback"
    )]
    Insecure(Url),
    #[error(
        "github.api_url {0}: expected https://HOST or https://HOST/api/v3, without query or user"
    )]
    Shape(Url),
    #[error("no HTTP client could be made")]
    Transport,
}

struct Inner {
    transport: Transport,
    /// Where the forge's pages are.
    host: String,
    /// Path of the REST API below the host: empty, or `/api/v3`.
    api_path: String,
    graphql_path: String,
    tokens: Tokens,
    shares: Shares,
    /// Login of the App's bot, once it was asked for.
    bot: OnceCell<String>,
}

/// This App on its forge. Cheap to clone; clones share connections and tokens.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
    /// Requests about the App itself.
    requests: Arc<AtomicU64>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("tokens", &self.inner.tokens)
            .finish_non_exhaustive()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The path of the API below its host, if the URL may be used.
pub(super) fn checked_root(url: &Url, allow_http_loopback: bool) -> Result<String, SettingsError> {
    let secure = url.scheme() == "https"
        || (url.scheme() == "http" && allow_http_loopback && is_loopback(url));
    if !secure {
        return Err(SettingsError::Insecure(url.clone()));
    }
    let plain = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !plain || url.host().is_none() {
        return Err(SettingsError::Shape(url.clone()));
    }
    Ok(url.path().trim_end_matches('/').to_owned())
}

fn page_host(api: &Url) -> String {
    match api.host_str() {
        Some("api.github.com") | None => "github.com".to_owned(),
        Some(host) => host.to_owned(),
    }
}

impl App {
    /// Must be called inside a tokio runtime.
    pub fn new(settings: AppSettings) -> Result<Self, SettingsError> {
        Self::counting(settings, Metrics::default())
    }

    /// [`App::new`] that counts its requests where others count too.
    pub fn counting(settings: AppSettings, metrics: Metrics) -> Result<Self, SettingsError> {
        Self::build(settings, Timeouts::default(), metrics)
    }

    /// [`App::new`] with other limits on how long a request may take.
    pub fn with_timeouts(settings: AppSettings, timeouts: Timeouts) -> Result<Self, SettingsError> {
        Self::build(settings, timeouts, Metrics::default())
    }

    fn build(
        settings: AppSettings,
        timeouts: Timeouts,
        metrics: Metrics,
    ) -> Result<Self, SettingsError> {
        let url = settings.api_url;
        let api_path = checked_root(&url, settings.allow_http_loopback)?;
        let graphql_path = format!(
            "{}/graphql",
            api_path.strip_suffix("/v3").unwrap_or(&api_path)
        );
        let transport = transport::build(&url.origin().ascii_serialization(), timeouts, metrics)
            .map_err(|_| SettingsError::Transport)?;
        Ok(Self {
            requests: Arc::default(),
            inner: Arc::new(Inner {
                transport,
                host: page_host(&url),
                api_path,
                graphql_path,
                tokens: Tokens::new(settings.key),
                shares: Shares::default(),
                bot: OnceCell::new(),
            }),
        })
    }

    /// The numeric id that marks this App's own comments and check-runs.
    pub fn app_id(&self) -> u64 {
        self.inner.tokens.app_id()
    }

    /// Signs with another key of this App from now on; false if it is another App's.
    pub fn replace_key(&self, key: AppKey) -> bool {
        self.inner.tokens.replace_key(key)
    }

    /// The same App with a counter of its own for requests that are about no one repository.
    pub fn counted(&self) -> Self {
        Self {
            requests: Arc::default(),
            ..self.clone()
        }
    }

    /// Requests about the App itself since [`App::counted`].
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// A request about the App itself.
    pub(super) async fn signed(&self, call: &Call) -> Result<Answer, ForgeError> {
        self.count();
        let inner = &self.inner;
        let path = format!("{}{}", inner.api_path, call.path);
        let tokens = &inner.tokens;
        tokens.send_signed(&inner.transport, call, &path).await
    }

    pub(super) async fn send_with(
        &self,
        call: &Call,
        authorization: HeaderValue,
    ) -> Result<Answer, ForgeError> {
        self.count();
        let inner = &self.inner;
        let path = format!("{}{}", inner.api_path, call.path);
        let (answer, _) = transport::send(&inner.transport, call, &path, authorization).await;
        answer
    }

    /// A token that sees which repositories an installation has, and nothing in them.
    pub(super) async fn token_for_all(
        &self,
        installation: InstallationId,
    ) -> Result<HeaderValue, ForgeError> {
        self.token_to_read(installation, "metadata").await
    }

    /// A token for all of an installation that reads one thing.
    async fn token_to_read(
        &self,
        installation: InstallationId,
        right: &str,
    ) -> Result<HeaderValue, ForgeError> {
        self.count();
        let inner = &self.inner;
        let body = serde_json::json!({"permissions": {right: "read"}});
        let token = inner
            .tokens
            .mint(&inner.transport, &inner.api_path, installation, body);
        token.await?.authorization()
    }

    /// A client with a request counter of its own: make one for each evaluation.
    pub fn client(&self, installation: InstallationId, repo: RepoName) -> Client {
        Client {
            app: self.clone(),
            installation,
            repo,
            requests: AtomicU64::new(0),
            fence: None,
            seen: Mutex::default(),
        }
    }
}

/// Requests about one repository, with an installation token, counted.
pub struct Client {
    app: App,
    installation: InstallationId,
    repo: RepoName,
    requests: AtomicU64,
    fence: Option<(Store, Lease)>,
    seen: Mutex<Option<Seen>>,
}

/// The pull request that was read last.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub pull: Pull,
    pub tag: Option<HeaderValue>,
    /// The number of requests after which it still stood so.
    pub stood_at: Option<u64>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("installation", &self.installation)
            .field("repo", &self.repo)
            .finish_non_exhaustive()
    }
}

impl Client {
    pub fn repo(&self) -> &RepoName {
        &self.repo
    }

    /// A client for the holder of a lease: once that is lost, nothing is written any more.
    pub fn fenced(mut self, store: Store, lease: Lease) -> Self {
        self.fence = Some((store, lease));
        self
    }

    pub fn app_id(&self) -> u64 {
        self.app.app_id()
    }

    /// Where the forge's pages are: `github.com`.
    pub fn host(&self) -> &str {
        &self.app.inner.host
    }

    /// What this process counts with.
    pub fn metrics(&self) -> &Metrics {
        &self.app.inner.transport.metrics
    }

    /// Requests sent so far, tokens included.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Login of the account that writes this App's comments. Asked for once in a process.
    pub async fn bot_login(&self) -> Result<&str, ForgeError> {
        #[derive(serde::Deserialize)]
        struct Myself {
            slug: String,
        }
        let inner = &self.app.inner;
        let login = inner.bot.get_or_try_init(async || {
            let call = Call::get("/app");
            self.count();
            let answer = self.app.signed(&call).await?;
            let Myself { slug } = answer.json(&call)?;
            Ok(format!("{slug}[bot]"))
        });
        Ok(login.await?)
    }

    /// The pull request that was read last.
    pub(super) fn seen(&self) -> Option<Seen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }

    pub(super) fn see(&self, seen: Seen) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    /// `/repos/owner/name` and `rest`.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.repo)
    }

    pub(super) async fn rest(&self, call: &Call) -> Result<Answer, ForgeError> {
        let path = format!("{}{}", self.app.inner.api_path, call.path);
        self.send(call, &path, "core").await
    }

    pub(super) async fn graphql(&self, call: &Call) -> Result<Answer, ForgeError> {
        self.send(call, &self.app.inner.graphql_path, "graphql")
            .await
    }

    /// One request; a second one with a fresh token when a token from the cache was refused. A refused
    /// request has done nothing, so that this is safe for writes too.
    async fn send(&self, call: &Call, path: &str, resource: &str) -> Result<Answer, ForgeError> {
        let inner = &self.app.inner;
        let usual = match call.writes {
            true => Scope::Write,
            false => Scope::Read,
        };
        let key = self.key(call.scope.unwrap_or(usual));
        let mut retried = false;
        loop {
            self.may_send(call, resource).await?;
            let mut fresh = false;
            let token = inner
                .tokens
                .get(&inner.transport, &inner.api_path, &key, || {
                    fresh = true;
                    self.count();
                })
                .await;
            let token = match token {
                // No token for a repository of this name: it may have another one.
                Err(refused @ ForgeError::Validation(_)) => return Err(self.moved(refused).await),
                token => token?,
            };
            self.count();
            let (answer, rate) =
                transport::send(&inner.transport, call, path, token.authorization()?).await;
            if let Some(rate) = rate {
                inner.shares.note(self.installation, &self.repo, &rate);
            }
            match answer {
                Err(ForgeError::Unauthorized(_)) => {}
                Ok(answer) if answer.redirected => {
                    let followed = ForgeError::Redirected(call.name());
                    return Err(self.moved(followed).await);
                }
                Err(refused @ ForgeError::Redirected(_)) => {
                    return Err(self.moved(refused).await);
                }
                answer => return answer,
            }
            inner.tokens.forget(&key, &token).await;
            if fresh || retried {
                return answer;
            }
            retried = true;
        }
    }

    /// Why the repository can't be reached by its name; `error` if it is not for that.
    async fn moved(&self, error: ForgeError) -> ForgeError {
        // Its token and its question.
        self.count();
        self.count();
        let tokens = &self.app.inner.tokens;
        tokens.forget_name(self.installation, &self.repo).await;
        match self.app.moved(self.installation, &self.repo).await {
            Ok(moved) => moved.unwrap_or(error),
            Err(
                other @ (ForgeError::OutOfReach
                | ForgeError::RateLimited { .. }
                | ForgeError::Transient(_)),
            ) => other,
            Err(_) => error,
        }
    }

    fn key(&self, scope: Scope) -> Key {
        (self.installation, self.repo.clone(), scope)
    }

    /// Whether the installation lets this App put commits on branches of its own.
    pub async fn may_propose(&self) -> Result<bool, ForgeError> {
        self.is_granted(Scope::Propose).await
    }

    /// Whether the installation lets this App write issues.
    pub async fn may_track(&self) -> Result<bool, ForgeError> {
        self.is_granted(Scope::Track).await
    }

    async fn is_granted(&self, scope: Scope) -> Result<bool, ForgeError> {
        let inner = &self.app.inner;
        let minted = || self.count();
        let key = self.key(scope);
        let token = inner
            .tokens
            .get(&inner.transport, &inner.api_path, &key, minted);
        match token.await {
            Ok(_) => Ok(true),
            // What was not granted is asked for in vain.
            Err(ForgeError::Validation(_) | ForgeError::Forbidden(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A question about the organisation's people, which not every installation lets this App ask.
    pub(super) async fn about_members(&self, call: &Call) -> Result<Answer, ForgeError> {
        // Its token and its question.
        self.count();
        self.count();
        let token = self.app.token_to_read(self.installation, "members").await?;
        self.app.send_with(call, token).await
    }

    /// What only reads keeps to the repository's share; what was begun is published all the same, but by
    /// the lease's holder alone.
    async fn may_send(&self, call: &Call, resource: &str) -> Result<(), ForgeError> {
        if !call.writes {
            let shares = &self.app.inner.shares;
            return shares.allow(self.installation, &self.repo, resource);
        }
        let Some((store, lease)) = &self.fence else {
            return Ok(());
        };
        match store.holds(lease).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ForgeError::LeaseLost),
            Err(error) => Err(ForgeError::Transient(format!(
                "{}: whether the job is still ours: {error}",
                call.name()
            ))),
        }
    }

    fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
}
