//! A forge, a store and the job that brings pull requests up to date; nothing runs by itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use frostline::demo::forge::{CheckRun, Comment, FileChange, Forge, NewPull};
use frostline::forge::github::{App, AppKey, AppSettings, Client};
use frostline::model::{Decision, InstallationId, PrNumber, PullKey, Snapshot};
use frostline::store::{Clock, QueueSettings, Store};
use frostline::work::{Jobs, Runner, RunnerSettings};
use sha2::{Digest as _, Sha256};

use super::api::{app_key, start_forge};
use super::forge::TestForge;
use super::logs::LogWatch;

pub const REPO: &str = "acme/parser";
pub const AGENT: &str = "acme-coder[bot]";
pub const PERSON: &str = "alice";
pub const PROPERTY: &str = "tests/properties/test_parse.py::test_roundtrip";

/// A clock that goes with the machine's and can be put forward.
#[derive(Clone, Default)]
pub struct AheadClock {
    ahead: Arc<AtomicI64>,
    /// Reading it so many times more is the end of the process that reads it.
    fuse: Arc<AtomicI64>,
}

impl Clock for AheadClock {
    fn now(&self) -> DateTime<Utc> {
        let lit = self.fuse.load(Ordering::SeqCst) > 0;
        assert!(
            !lit || self.fuse.fetch_sub(1, Ordering::SeqCst) != 1,
            "killed on purpose"
        );
        Utc::now() + chrono::TimeDelta::milliseconds(self.ahead.load(Ordering::SeqCst))
    }
}

pub struct World {
    pub forge: TestForge,
    pub store: Store,
    pub app: App,
    clock: AheadClock,
    database: String,
    _folder: tempfile::TempDir,
    pub logs: LogWatch,
}

pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A repository with a contract: everything below `src/` is guarded by one property.
pub fn contract(fixtures: &[(String, Vec<u8>)]) -> Vec<FileChange> {
    let locked: BTreeMap<&str, String> = fixtures
        .iter()
        .map(|(path, bytes)| (path.as_str(), sha256(bytes)))
        .collect();
    let lock = serde_json::json!({"fixtures_root": "tests/fixtures", "files": locked});
    let mut files: Vec<FileChange> = [
        ("test/contract/fixtures.lock.json", lock.to_string()),
        (
            "test/contract/flake-freeze.json",
            r#"{"version": 1, "entries": []}"#.to_owned(),
        ),
        (
            "test/contract/hunk-map.json",
            serde_json::json!({"version": 1, "rules": [
                {"path_prefix": "src/", "live_properties": [PROPERTY]}
            ]})
            .to_string(),
        ),
        ("src/parse.py", "def parse(x):\n    return x\n".to_owned()),
        (
            "tests/properties/test_parse.py",
            "def test_roundtrip():\n    pass\n".to_owned(),
        ),
        (
            "tests/test_plain.py",
            "def test_plain():\n    pass\n".to_owned(),
        ),
        ("README.md", "Parser\n".to_owned()),
    ]
    .into_iter()
    .map(Into::into)
    .collect();
    for (path, bytes) in fixtures {
        files.push((format!("tests/fixtures/{path}"), bytes).into());
    }
    files
}

pub fn two_fixtures() -> Vec<(String, Vec<u8>)> {
    vec![
        ("a.json".to_owned(), b"{\"a\": 1}\n".to_vec()),
        ("deep/b.bin".to_owned(), vec![0, 159, 146, 150, 13, 10]),
    ]
}

/// The digest of a scope that holds these fixtures, in the form that rows are written with.
pub fn manifest(fixtures: &[(String, Vec<u8>)]) -> String {
    let paths: Vec<String> = fixtures
        .iter()
        .map(|(path, _)| format!("tests/fixtures/{path}"))
        .collect();
    let digests: Vec<_> = fixtures
        .iter()
        .map(|(_, bytes)| frostline::digest::blob(bytes).sha256)
        .collect();
    frostline::digest::manifest(paths.iter().map(String::as_bytes).zip(&digests))
}

impl World {
    /// A forge with [`REPO`] holding `files`.
    pub async fn with(files: Vec<FileChange>) -> Self {
        let forge = start_forge().await;
        forge.create_repo(REPO, files).unwrap();
        Self::around(forge).await
    }

    /// A forge with [`REPO`] holding a contract and two fixtures.
    pub async fn new() -> Self {
        Self::with(contract(&two_fixtures())).await
    }

    /// [`World::new`] with the forge at the paths of an enterprise server.
    pub async fn enterprise() -> Self {
        let forge = Forge::start_enterprise(app_key()).await.unwrap();
        let forge = TestForge::watching(forge);
        forge.create_repo(REPO, contract(&two_fixtures())).unwrap();
        Self::around(forge).await
    }

    async fn around(forge: TestForge) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("f.db").display());
        let clock = AheadClock::default();
        Self {
            store: open(&database, &clock).await,
            app: app(&forge),
            logs: LogWatch::of(&forge),
            forge,
            clock,
            database,
            _folder: folder,
        }
    }

    /// The process is gone and another one starts on the same database.
    pub async fn restart(&mut self) {
        self.store.close().await;
        self.store = open(&self.database, &self.clock).await;
        self.app = app(&self.forge);
    }

    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap();
        self.clock.ahead.fetch_add(by, Ordering::SeqCst);
    }

    /// The store's `reads`-th look at the clock from now on panics; each of its writes looks once before
    /// it begins. 0: none does.
    pub fn set_fuse(&self, reads: i64) {
        self.clock.fuse.store(reads, Ordering::SeqCst);
    }

    /// It has burnt down.
    pub fn is_burnt(&self) -> bool {
        self.clock.fuse.load(Ordering::SeqCst) == 0
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    pub fn key(&self, number: u64) -> PullKey {
        PullKey {
            installation: InstallationId(self.forge.installation_id(REPO).unwrap()),
            repo: REPO.parse().unwrap(),
            number: PrNumber(number),
        }
    }

    pub fn client(&self) -> Client {
        let key = self.key(0);
        self.app.client(key.installation, key.repo)
    }

    pub fn runner(&self) -> Runner<Jobs> {
        self.runner_with(RunnerSettings::default())
    }

    pub fn runner_with(&self, settings: RunnerSettings) -> Runner<Jobs> {
        let handler = Jobs::new(self.app.clone(), self.store.clone());
        Runner::new(self.store.clone(), handler, settings)
    }

    /// An agent's pull request with `files` on a branch.
    pub fn pull(&self, branch: &str, files: &[(&str, &str)]) -> u64 {
        self.pull_by(branch, files, AGENT)
    }

    pub fn pull_by(&self, branch: &str, files: &[(&str, &str)], author: &str) -> u64 {
        self.push(branch, files, author);
        self.forge
            .open_pull(REPO, NewPull::new(branch, author, "Change the parser"))
            .unwrap()
    }

    /// The message names the branch: equal commits of one second would be one head.
    pub fn push(&self, branch: &str, files: &[(&str, &str)], author: &str) {
        let (files, message) = (files.iter().copied(), format!("Change {branch}"));
        self.forge
            .push_with_message(REPO, branch, files, author, &message)
            .unwrap();
    }

    /// Enqueues the pull request and runs what is due. Gives how many attempts ran.
    pub async fn evaluate(&self, number: u64) -> usize {
        self.store.enqueue(&self.key(number)).await.unwrap();
        self.runner().drain().await.unwrap()
    }

    /// Puts the clock forward and runs what is due then, until nothing is queued.
    pub async fn settle(&self) {
        for _ in 0..40 {
            self.runner().drain().await.unwrap();
            let counts = self.store.queue_counts().await.unwrap();
            if counts.queued + counts.running == 0 {
                return;
            }
            self.advance(Duration::from_secs(31 * 60));
        }
        panic!("the queue does not come to rest");
    }

    /// Check-runs on the pull request's head, oldest first.
    pub fn runs(&self, number: u64) -> Vec<CheckRun> {
        let head = self.forge.head(REPO, number).unwrap();
        self.forge.check_runs(REPO, &head)
    }

    /// The only check-run on the head; it must be completed.
    pub fn run(&self, number: u64) -> CheckRun {
        let runs = self.runs(number);
        assert_eq!(runs.len(), 1, "{runs:#?}");
        assert_eq!(runs[0].status, "completed");
        runs[0].clone()
    }

    pub fn conclusion(&self, number: u64) -> String {
        self.run(number).conclusion.unwrap()
    }

    pub fn comments(&self, number: u64) -> Vec<Comment> {
        self.forge.comments(REPO, number)
    }

    /// What was decided last.
    pub async fn decision(&self, number: u64) -> (Decision, Snapshot) {
        let repo = REPO.parse().unwrap();
        let (decision, snapshot) = self
            .store
            .newest_decision(&repo, PrNumber(number))
            .await
            .unwrap()
            .unwrap();
        (
            serde_json::from_str(&decision).unwrap(),
            serde_json::from_str(&snapshot.unwrap()).unwrap(),
        )
    }

    /// Requests since the first `from`, as "GET /path".
    pub fn requests_since(&self, from: usize) -> Vec<String> {
        self.forge.requests()[from..]
            .iter()
            .map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }
}

async fn open(database: &str, clock: &AheadClock) -> Store {
    Store::open_with(database, Arc::new(clock.clone()), QueueSettings::default())
        .await
        .unwrap()
}

pub fn app(forge: &Forge) -> App {
    let key = AppKey::from_pem(forge.app_id(), forge.private_key_pem().as_bytes()).unwrap();
    App::new(AppSettings {
        api_url: forge.url().parse().unwrap(),
        allow_http_loopback: true,
        key,
    })
    .unwrap()
}
