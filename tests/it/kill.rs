//! The real program, killed without warning and started again: the work is finished, with one check-run
//! for each evaluation and one comment.
//!
//! Kill points, each in a run of its own:
//! - every request to the forge, before it takes effect and after (its answer never arrives). Commits
//!   of the database lie between two requests, so the two sides of each request are also the two sides of
//!   the commits there;
//! - every change of the database's write-ahead log that a watcher sees, from the delivery's transaction
//!   to the job's end. The watcher spins on the file, so a kill comes within microseconds *after* a write
//!   began or ended, not at a chosen instruction; which of two close commits it hits differs between runs.
//!
//! Not covered: a machine that loses power (the kernel keeps what a killed process wrote).
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use frostline::demo::forge::{Access, Answer, Fault, Forge, GroupPart, NewPull, Webhook};
use frostline::model::MergeGroup;
use frostline::store::Store;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::support::api::start_forge;
use crate::support::forge::TestForge;

const REPO: &str = "acme/parser";
const AGENT: &str = "acme-coder[bot]";
/// The longest that one evaluation may take, restart, lease and backoff included.
const PATIENCE: Duration = Duration::from_secs(90);
/// Runs at a time.
const AT_ONCE: usize = 6;

const MAP: &str = r#"{"version": 1, "rules": [
  {"path_prefix": "src/a.py", "live_properties": ["tests/properties/test_a.py::test_a"]},
  {"path_prefix": "src/b.py", "live_properties": ["tests/properties/test_b.py::test_b"]}]}"#;
const FREEZES: &str = r#"{"version": 1, "entries": [{"nodeid": "tests/properties/test_a.py::test_a",
  "reason": "ORDER", "owner": "@ann", "covers": ["src/a.py"], "frozen": true}]}"#;

/// A child that goes with the test.
pub struct Server {
    child: Arc<Mutex<Child>>,
    pub url: String,
}

impl Server {
    /// Starts the program in `folder` and waits until it listens.
    pub async fn start(folder: &Path) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_frostline"));
        program.arg("serve");
        Self::spawn(program, folder).await
    }

    /// [`Server::start`] with no file growing beyond so many blocks of 512 bytes: a disk that is full.
    pub async fn start_with_disk(folder: &Path, blocks: u32) -> Self {
        let mut program = Command::new("/bin/sh");
        let run = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" serve");
        program.args(["-c", &run, env!("CARGO_BIN_EXE_frostline")]);
        Self::spawn(program, folder).await
    }

    async fn spawn(mut program: Command, folder: &Path) -> Self {
        let mut child = program
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let child = Arc::new(Mutex::new(child));
        let listening = tokio::task::spawn_blocking(move || {
            let mut told = String::new();
            let url = loop {
                let line = log
                    .next()
                    .unwrap_or_else(|| panic!("it ended:\n{told}"))
                    .unwrap();
                if let Some(rest) = line.strip_prefix("frostline listens on ") {
                    break rest.split(' ').next().unwrap().to_owned();
                }
                told.push_str(&line);
            };
            // The log is read to its end, so that the program never waits for a reader.
            std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
            url
        });
        Self {
            url: format!("{}/webhooks/github", listening.await.unwrap()),
            child,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// SIGKILL, now.
    pub fn killer(&self) -> impl FnOnce() + Send + 'static {
        let child = self.child.clone();
        move || {
            let mut child = child.lock().unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Writes what the program needs to be the App of `forge`.
pub fn configure(folder: &Path, forge: &Forge) {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("key.pem", forge.private_key_pem());
    write("secret", forge.webhook_secret());
    let config = format!(
        "bind = '127.0.0.1:0'\n[github]\napp_id = {}\nprivate_key_file = 'key.pem'\n\
         webhook_secret_file = 'secret'\napi_url = '{}'\nallow_http_loopback = true\n\
         [queue]\nlease_seconds = 1\n",
        forge.app_id(),
        forge.url()
    );
    write("frostline.toml", &config);
}

/// A forge with a pull request that has a coverage hole, and a folder for the program.
struct Scene {
    forge: TestForge,
    folder: tempfile::TempDir,
    number: u64,
    /// A merge group of the pull request.
    group: Option<MergeGroup>,
}

impl Scene {
    async fn new() -> Self {
        let forge = start_forge().await;
        let files = [
            (
                ".github/frostline.yml",
                "version: 1\ncontract:\n  lock: off\n",
            ),
            ("src/a.py", "a = 1\n"),
            ("src/b.py", "b = 1\n"),
            ("tests/properties/test_a.py", "def test_a():\n    pass\n"),
            ("tests/properties/test_b.py", "def test_b():\n    pass\n"),
            ("test/contract/hunk-map.json", MAP),
            ("test/contract/flake-freeze.json", FREEZES),
        ];
        forge.create_repo(REPO, files).unwrap();
        forge
            .push(REPO, "x", [("src/a.py", "a = 2\n")], AGENT)
            .unwrap();
        let number = forge
            .open_pull(REPO, NewPull::new("x", AGENT, "Two"))
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path(), &forge);
        Self {
            forge,
            folder,
            number,
            group: None,
        }
    }

    fn hook(&self, action: &str) -> Webhook {
        self.forge.pull_webhook(REPO, self.number, action).unwrap()
    }

    /// A comment with a command.
    fn command(&self, body: &str) -> Webhook {
        self.forge.set_role(REPO, "ann", Some("write")).unwrap();
        let comment = self.forge.add_comment(REPO, self.number, "ann", body);
        self.forge
            .comment_webhook(REPO, comment.unwrap(), "created")
            .unwrap()
    }

    /// The command was carried out and answered, once.
    fn assert_answered(&self, what: &str) {
        let comments = self.forge.comments(REPO, self.number);
        let asked: Vec<_> = comments.iter().filter(|c| c.author == "ann").collect();
        assert_eq!(asked.len(), 1, "{what}");
        let reactions = self.forge.reactions(REPO, asked[0].id);
        assert_eq!(reactions, ["eyes", "rocket"], "{what}");
        let replies = comments
            .iter()
            .filter(|c| c.body.contains("frostline:reply:"));
        assert_eq!(replies.count(), 1, "{what}");
    }

    fn wal(&self) -> PathBuf {
        self.folder.path().join("frostline.db-wal")
    }

    /// Waits until the queue is empty. Looks at the database as any second process may.
    async fn idle(&self) {
        let url = format!(
            "sqlite://{}",
            self.folder.path().join("frostline.db").display()
        );
        let done = async {
            let store = Store::open(&url).await.unwrap();
            let mut glance = tokio::time::interval(Duration::from_millis(20));
            loop {
                glance.tick().await;
                let counts = store.queue_counts().await.unwrap();
                assert_eq!(counts.dead, 0, "a job was given up");
                if counts.done > 0 && counts.queued + counts.running == 0 {
                    store.close().await;
                    return;
                }
            }
        };
        let ended = tokio::time::timeout(PATIENCE, done).await;
        assert!(ended.is_ok(), "the job was not done within {PATIENCE:?}");
    }

    /// There is one issue of the bot's, and it tells of the newest audit.
    fn assert_tracked(&self, what: &str) {
        let issues = self.forge.issues(REPO);
        assert_eq!(issues.len(), 1, "{what}: {issues:#?}");
        assert!(
            issues[0].open && issues[0].body.contains("`lib/`"),
            "{what}"
        );
        let tip = self.forge.branch(REPO, "main").unwrap();
        let runs = self.forge.check_runs(REPO, &tip);
        let ends: Vec<_> = runs
            .iter()
            .map(|run| (run.name.as_str(), run.status.as_str()))
            .collect();
        assert_eq!(ends, [("frostline audit", "completed")], "{what}");
        self.forge.assert_clean();
    }

    /// What must hold at the end, however often the program died.
    fn assert_published(&self, conclusion: &str, minimized: Option<&str>, what: &str) {
        let head = self.forge.head(REPO, self.number).unwrap();
        let runs = self.forge.check_runs(REPO, &head);
        let ends: Vec<_> = runs
            .iter()
            .map(|run| (run.status.as_str(), run.conclusion.as_deref()))
            .collect();
        assert_eq!(ends, [("completed", Some(conclusion))], "{what}");
        let comments = self.forge.comments(REPO, self.number);
        let ours = comments
            .iter()
            .filter(|c| c.body.contains("frostline:comment:"));
        let folded: Vec<_> = ours.map(|c| c.minimized.as_deref()).collect();
        assert_eq!(folded, [minimized], "{what}");
        self.forge.assert_clean();
    }
}

/// Which evaluation is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Act {
    /// The first one: makes a check-run and a comment.
    Opened,
    /// The one that resolves everything: makes a check-run, edits the comment and folds it away.
    Resolved,
    /// A command of somebody with write access: eyes, a reply, a rocket.
    Asked,
    /// A command that opens a contract pull request.
    Proposed,
    /// The check of a merge group.
    Grouped,
    /// A push that makes the audit of the default branch open its issue.
    Audited,
}

/// Brings the scene to where the act begins.
async fn before(act: Act) -> Scene {
    let mut scene = Scene::new().await;
    if act != Act::Opened {
        let server = Server::start(scene.folder.path()).await;
        assert_eq!(scene.hook("opened").send(&server.url).await.unwrap(), 202);
        scene.idle().await;
    }
    if act == Act::Resolved {
        let changes = [("src/a.py", "a = 1\n"), ("src/b.py", "b = 2\n")];
        scene.forge.push(REPO, "x", changes, AGENT).unwrap();
    }
    if act == Act::Audited {
        let right = scene.forge.set_right(REPO, "issues", Some(Access::Write));
        right.unwrap();
        let map = MAP.replace("src/b.py", "lib/");
        let change = [("test/contract/hunk-map.json", map.as_str())];
        scene.forge.push(REPO, "main", change, "ann").unwrap();
    }
    if act == Act::Grouped {
        let member = GroupPart::Squash(scene.number);
        let group = scene.forge.queue(REPO, "main", &[member]);
        scene.group = Some(group.unwrap());
    }
    scene
}

/// Delivers, lets the kill happen, starts again, and checks the end. False when the evaluation was over
/// before the kill's turn came.
async fn killed(
    act: Act,
    what: &str,
    arm: impl FnOnce(&Scene, &Server, oneshot::Sender<()>),
) -> bool {
    let scene = before(act).await;
    let server = Server::start(scene.folder.path()).await;
    let hook = match act {
        Act::Opened => scene.hook("opened"),
        Act::Resolved => scene.hook("synchronize"),
        Act::Asked => scene.command("/frostline status\n/frostline recheck"),
        Act::Proposed => {
            let right = scene.forge.set_right(REPO, "contents", Some(Access::Write));
            right.unwrap();
            scene.command("/frostline map src/c.py tests/properties/test_b.py::test_b")
        }
        Act::Grouped => {
            let group = scene.group.as_ref().unwrap();
            scene.forge.group_webhook(REPO, group).unwrap()
        }
        Act::Audited => scene.forge.push_webhook(REPO, "main").unwrap(),
    };
    let (tell, dead) = oneshot::channel();
    arm(&scene, &server, tell);
    let delivered = hook.send(&server.url).await;
    let struck = tokio::select! {
        dead = dead => dead.is_ok(),
        () = finished(&scene, act) => false,
    };
    drop(server);
    scene.forge.clear_faults();
    let again = Server::start(scene.folder.path()).await;
    // A forge whose delivery failed shows it as failed, and a person has it sent again.
    if !delivered.is_ok_and(|status| status == 202) {
        assert_eq!(hook.send(&again.url).await.unwrap(), 202, "{what}");
    }
    scene.idle().await;
    match act {
        Act::Opened => scene.assert_published("failure", None, what),
        Act::Resolved => scene.assert_published("success", Some("RESOLVED"), what),
        Act::Asked => {
            scene.assert_published("failure", None, what);
            scene.assert_answered(what);
        }
        Act::Proposed => {
            scene.assert_published("failure", None, what);
            scene.assert_answered(what);
            // The audit's tracking issue may have taken a number in between.
            let others = scene.number + 1..scene.number + 9;
            let own = others.filter_map(|number| scene.forge.pull(REPO, number));
            let authors: Vec<String> = own.map(|pull| pull.author).collect();
            assert_eq!(authors, [scene.forge.bot_login()], "{what}");
        }
        Act::Grouped => {
            scene.assert_published("failure", None, what);
            let group = scene.group.as_ref().unwrap();
            let runs = scene.forge.check_runs(REPO, &group.head);
            let ends: Vec<_> = runs.iter().map(|run| run.conclusion.as_deref()).collect();
            assert_eq!(ends, [Some("failure")], "{what}");
        }
        Act::Audited => scene.assert_tracked(what),
    }
    struck
}

/// The forge shows the act's outcome, and no job is left.
async fn finished(scene: &Scene, act: Act) {
    let shown = |forge: &Forge| {
        let head = match &scene.group {
            Some(group) => group.head.clone(),
            None => forge.head(REPO, scene.number).unwrap(),
        };
        let runs = forge.check_runs(REPO, &head);
        let comments = forge.comments(REPO, scene.number);
        if matches!(act, Act::Asked | Act::Proposed) {
            let asked = comments.iter().find(|comment| comment.author == "ann");
            let reactions = asked.map(|asked| forge.reactions(REPO, asked.id));
            return reactions.is_some_and(|all| all.contains(&"rocket".to_owned()));
        }
        if act == Act::Audited {
            return forge.issues(REPO).iter().any(|issue| issue.open);
        }
        let folded = comments.iter().any(|comment| comment.minimized.is_some());
        runs.iter().any(|run| run.status == "completed")
            && !comments.is_empty()
            && folded == (act == Act::Resolved)
    };
    scene.forge.wait_until(PATIENCE, shown).await.unwrap();
    scene.idle().await;
}

/// Runs `killed` for 0, 1, 2, … until an evaluation is over before its kill. Gives how many kills there
/// were.
async fn at_every_point<F>(at_once: usize, run: impl Fn(usize) -> F) -> usize
where
    F: Future<Output = bool> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(at_once));
    let over = Arc::new(AtomicBool::new(false));
    let kills = Arc::new(AtomicUsize::new(0));
    let mut runs = JoinSet::new();
    for at in 0..200 {
        let place = places.clone().acquire_owned().await.unwrap();
        while let Some(ended) = runs.try_join_next() {
            ended.unwrap();
        }
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (run, over, kills) = (run(at), over.clone(), kills.clone());
        runs.spawn(async move {
            let _place = place;
            if run.await {
                kills.fetch_add(1, Ordering::Relaxed);
            } else {
                over.store(true, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = runs.join_next().await {
        ended.unwrap();
    }
    assert!(over.load(Ordering::Relaxed), "no end of kill points");
    kills.load(Ordering::Relaxed)
}

async fn killed_at_requests(act: Act, after: bool) -> usize {
    at_every_point(AT_ONCE, move |at| async move {
        let what = format!("{act:?}, request {at}, after: {after}");
        killed(act, &what, |scene, server, tell| {
            let kill = server.killer();
            let fault = Fault::next("", "", Answer::HangUp)
                .skip(at)
                .calling(move || {
                    kill();
                    let _ = tell.send(());
                });
            scene.forge.fault(if after { fault.after() } else { fault });
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_request_the_work_is_finished_once() {
    for act in [
        Act::Opened,
        Act::Resolved,
        Act::Asked,
        Act::Proposed,
        Act::Grouped,
        Act::Audited,
    ] {
        let kills = killed_at_requests(act, false).await;
        assert!(kills >= 8, "{act:?}: {kills} kills");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_any_request_the_work_is_finished_once() {
    for act in [
        Act::Opened,
        Act::Resolved,
        Act::Asked,
        Act::Proposed,
        Act::Grouped,
        Act::Audited,
    ] {
        let kills = killed_at_requests(act, true).await;
        assert!(kills >= 8, "{act:?}: {kills} kills");
    }
}

/// Size and time of the last write of a file.
fn state_of(file: &Path) -> Option<(u64, std::time::SystemTime)> {
    let data = std::fs::metadata(file).ok()?;
    Some((data.len(), data.modified().ok()?))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_write_of_the_database_the_work_is_finished_once() {
    // A watcher takes a core.
    let kills = at_every_point(2, |at| async move {
        let what = format!("write {at} of the database");
        killed(Act::Opened, &what, |scene, server, tell| {
            let (wal, kill) = (scene.wal(), server.killer());
            let mut last = state_of(&wal);
            std::thread::spawn(move || {
                let mut seen = 0;
                // Ends when nobody waits for the kill any more.
                while !tell.is_closed() {
                    let now = state_of(&wal);
                    if now == last {
                        std::thread::yield_now();
                        continue;
                    }
                    last = now;
                    if seen == at {
                        kill();
                        let _ = tell.send(());
                        return;
                    }
                    seen += 1;
                }
            });
        })
        .await
    })
    .await;
    assert!(kills >= 3, "{kills} kills");
}
