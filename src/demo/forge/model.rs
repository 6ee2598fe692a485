//! What the forge knows: accounts, repositories, pull requests, check-runs, comments, tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::Webhook;
use super::deliveries::Delivery;
use super::git::Bare;
use crate::model::Sha;

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: u64,
    pub login: String,
    /// `User`, `Bot` or `Organization`.
    pub kind: &'static str,
}

/// A right that an installation has, or that a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
}

/// Rights by name (`checks`, `contents`, …).
pub type Permissions = BTreeMap<String, Access>;

/// An installation of the App on an account.
#[derive(Debug, Clone)]
pub struct Installation {
    pub id: u64,
    pub account: String,
    pub permissions: Permissions,
    /// Full names.
    pub repositories: BTreeSet<String>,
    /// Its account lets it do nothing for now.
    pub suspended: bool,
}

/// An installation token that was handed out.
#[derive(Debug, Clone)]
pub struct Token {
    pub installation: u64,
    pub permissions: Permissions,
    /// Narrowed to these; `None` is all of the installation's.
    pub repositories: Option<BTreeSet<String>>,
    pub expires_at: DateTime<Utc>,
}

pub struct Repo {
    pub id: u64,
    pub full_name: String,
    pub private: bool,
    pub default_branch: String,
    pub allow_rebase_merge: bool,
    pub git: Arc<Bare>,
    /// Commits that the forge made itself.
    pub signed: BTreeSet<Sha>,
    pub pulls: BTreeMap<u64, Pull>,
    /// In the order in which they were created.
    pub check_runs: Vec<CheckRun>,
    pub comments: Vec<Comment>,
    /// Those that are no pull requests.
    pub issues: BTreeMap<u64, Issue>,
    pub people: People,
    pub required: Vec<Required>,
    pub created_at: DateTime<Utc>,
}

/// A check that a branch requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    pub branch: String,
    pub context: String,
    /// The App that has to bring it.
    pub app: Option<u64>,
    /// By the branch's protection, and not by a ruleset.
    pub by_protection: bool,
}

/// Who may do what in a repository, and what people say of its pull requests.
#[derive(Debug, Default)]
pub struct People {
    /// Roles by login: `read`, `triage`, `write`, `maintain`, `admin`. The owner has `admin`.
    pub roles: BTreeMap<String, &'static str>,
    pub reactions: Vec<Reaction>,
    /// In the order in which they were submitted.
    pub reviews: Vec<Review>,
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub id: u64,
    pub number: u64,
    pub author: String,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED`.
    pub state: String,
    pub head: Sha,
    pub submitted_at: DateTime<Utc>,
}

/// A reaction to a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    pub id: u64,
    pub comment: u64,
    pub author: String,
    /// `eyes`, `rocket`, …
    pub content: String,
    pub created_at: DateTime<Utc>,
}

/// A pull request between two branches of one repository.
#[derive(Debug, Clone)]
pub struct Pull {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    pub head_branch: String,
    /// The commit at which the head branch was deleted.
    pub kept_head: Option<Sha>,
    /// The fork that it came from is gone.
    pub fork_gone: bool,
    pub base_branch: String,
    pub draft: bool,
    pub open: bool,
    pub labels: Vec<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    /// The base branch's tip when the pull request was last pushed to. The real forge's `base.sha` does
    /// not follow the branch either.
    pub recorded_base: Sha,
    /// How many more times the pull request is shown before its test merge is computed.
    pub merge_delay: u32,
    /// An old head that the API shows this many times more: it runs behind its webhooks.
    pub behind: Option<(Sha, u32)>,
    /// The last test merge and the (base tip, head) that it was made for.
    pub test_merge: Option<TestMerge>,
}

#[derive(Debug, Clone)]
pub struct TestMerge {
    pub base: Sha,
    pub head: Sha,
    /// `None` on a conflict.
    pub commit: Option<Sha>,
}

/// A check-run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRun {
    pub id: u64,
    pub app: u64,
    pub name: String,
    pub head: Sha,
    pub suite: u64,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    pub conclusion: Option<String>,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<serde_json::Value>,
    pub actions: Vec<serde_json::Value>,
    pub started_at: Option<DateTime<Utc>>,
    pub completed_at: Option<DateTime<Utc>>,
}

/// A comment of a pull request's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub id: u64,
    pub number: u64,
    pub author: String,
    pub body: String,
    /// Why it is folded away (`RESOLVED`, …); `None` when it is not.
    pub minimized: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// An issue that is no pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub id: u64,
    pub number: u64,
    pub author: String,
    pub title: String,
    pub body: String,
    pub open: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Limits of the real forge; lowered by tests that can't make 100,000 files.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Entries of a recursive tree listing.
    pub tree_entries: usize,
    /// Files of a pull request that are listed at all.
    pub pull_files: usize,
    /// Commits of a pull request that are listed at all.
    pub pull_commits: usize,
    /// Files of a comparison.
    pub compare_files: usize,
    /// Bytes of a blob.
    pub blob_bytes: usize,
    /// Bytes of a blob's text over GraphQL.
    pub graphql_text: usize,
    /// Objects that one GraphQL query gets; the others are left out, and an error says so.
    pub graphql_objects: usize,
    /// Requests of an hour.
    pub rate: u32,
    /// Annotations on paths that hold this are refused.
    pub refused_annotations: Option<&'static str>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tree_entries: 100_000,
            pull_files: 3_000,
            pull_commits: 250,
            compare_files: 300,
            blob_bytes: 100 << 20,
            graphql_text: 512_000,
            graphql_objects: 1_000,
            rate: 5_000,
            refused_annotations: None,
        }
    }
}

/// An App that somebody is registering.
#[derive(Debug, Clone)]
pub struct Registration {
    pub manifest: serde_json::Value,
    /// The organisation that will own it; `None`: the person.
    pub organization: Option<String>,
    pub state: String,
    /// What buys the App, once.
    pub code: Option<String>,
}

/// Everything behind the lock.
pub struct State {
    pub base_url: String,
    pub app_id: u64,
    pub app_slug: String,
    pub users: BTreeMap<String, User>,
    pub installations: BTreeMap<u64, Installation>,
    pub tokens: BTreeMap<String, Token>,
    /// By lower-cased full name: names are compared without case.
    pub repos: BTreeMap<String, Repo>,
    /// Old names of repositories, in lower case, with the ids of what had them.
    pub moved: BTreeMap<String, u64>,
    /// Deliveries of webhooks that it was told of, the oldest first.
    pub deliveries: Vec<Delivery>,
    /// Webhooks that are to be delivered again.
    pub redeliveries: Vec<Webhook>,
    pub registrations: BTreeMap<u64, Registration>,
    /// Logins by `org/team`.
    pub teams: BTreeMap<String, BTreeSet<String>>,
    /// Where the App's webhook goes.
    pub hook_url: String,
    pub limits: Limits,
    pub rate_used: u32,
    pub rate_reset: DateTime<Utc>,
    /// How far the forge's clock is ahead of the machine's.
    pub clock_ahead: TimeDelta,
    last_id: u64,
}

impl State {
    pub fn new(base_url: String, app_id: u64, app_slug: &str) -> Self {
        Self {
            base_url,
            app_id,
            app_slug: app_slug.to_owned(),
            users: BTreeMap::new(),
            installations: BTreeMap::new(),
            tokens: BTreeMap::new(),
            repos: BTreeMap::new(),
            moved: BTreeMap::new(),
            deliveries: Vec::new(),
            redeliveries: Vec::new(),
            registrations: BTreeMap::new(),
            teams: BTreeMap::new(),
            hook_url: String::new(),
            limits: Limits::default(),
            rate_used: 0,
            rate_reset: DateTime::UNIX_EPOCH,
            clock_ahead: TimeDelta::zero(),
            last_id: 1_000,
        }
    }

    /// The path of the API below its host.
    pub fn root(&self) -> &str {
        let host = self.base_url.find("://").map_or(0, |at| at + 3);
        let below = self.base_url.get(host..).unwrap_or_default();
        below.find('/').and_then(|at| below.get(at..)).unwrap_or("")
    }

    /// The forge's time, in whole seconds as its API has it.
    pub fn now(&self) -> DateTime<Utc> {
        let now = Utc::now() + self.clock_ahead;
        DateTime::from_timestamp(now.timestamp(), 0).unwrap_or(now)
    }

    /// Counts requests; gives the limit, what is left of it, and when it begins anew (Unix seconds).
    pub fn spend(&mut self, requests: u32) -> (u32, u32, i64) {
        let now = self.now();
        if self.rate_reset <= now {
            self.rate_reset = now + TimeDelta::hours(1);
            self.rate_used = 0;
        }
        self.rate_used = self.rate_used.saturating_add(requests);
        let limit = self.limits.rate;
        let remaining = limit.saturating_sub(self.rate_used);
        (limit, remaining, self.rate_reset.timestamp())
    }

    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The account of that login; made on first use. `…[bot]` is a bot.
    pub fn user(&mut self, login: &str) -> User {
        if let Some(user) = self.users.get(login) {
            return user.clone();
        }
        let user = User {
            id: self.next_id(),
            login: login.to_owned(),
            kind: if login.ends_with("[bot]") {
                "Bot"
            } else {
                "User"
            },
        };
        self.users.insert(login.to_owned(), user.clone());
        user
    }

    /// Login of the App's own bot account.
    pub fn bot_login(&self) -> String {
        format!("{}[bot]", self.app_slug)
    }

    pub fn repo(&self, full_name: &str) -> Option<&Repo> {
        self.repos.get(&full_name.to_lowercase())
    }

    pub fn repo_mut(&mut self, full_name: &str) -> Option<&mut Repo> {
        self.repos.get_mut(&full_name.to_lowercase())
    }

    pub fn installation_of(&self, full_name: &str) -> Option<&Installation> {
        self.installations
            .values()
            .find(|installation| installation.repositories.contains(full_name))
    }

    /// Id of the check suite of an App on a commit: the one of its earlier runs, or a new one.
    pub fn suite(&mut self, full_name: &str, app: u64, head: &Sha) -> u64 {
        let known = self.repo(full_name).and_then(|repo| {
            repo.check_runs
                .iter()
                .find(|run| run.app == app && run.head == *head)
                .map(|run| run.suite)
        });
        known.unwrap_or_else(|| self.next_id())
    }
}

impl Repo {
    /// The number of the next issue or pull request, which share theirs.
    pub fn next_number(&self) -> u64 {
        let last = self.pulls.keys().chain(self.issues.keys()).max();
        last.map_or(1, |last| last + 1)
    }

    /// The tip of a pull request's head branch; of one that is deleted, the commit that it was at.
    pub fn head_of(&self, pull: &Pull) -> anyhow::Result<Option<Sha>> {
        let tip = self.git.branch(&pull.head_branch)?;
        Ok(tip.or_else(|| pull.kept_head.clone()))
    }

    pub fn owner(&self) -> &str {
        self.full_name
            .split_once('/')
            .map_or("", |(owner, _)| owner)
    }

    pub fn name(&self) -> &str {
        self.full_name.split_once('/').map_or("", |(_, name)| name)
    }
}
