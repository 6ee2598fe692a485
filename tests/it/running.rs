//! The running program: what it logs, and that key and secrets change under it.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use frostline::demo::forge::{AppKey, Forge, Webhook};
use frostline::webhook::sign;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::support::logs;
use crate::support::world::{REPO, World};

/// `frostline serve` on a forge, with its log line by line. Killed when it is dropped.
struct Serving {
    child: Child,
    lines: UnboundedReceiver<String>,
    told: String,
    base: String,
    folder: tempfile::TempDir,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn config(forge: &Forge) -> String {
    format!(
        "bind = '127.0.0.1:0'\n\
         [log]\nformat = 'json'\n\
         [github]\napp_id = {}\nprivate_key_file = 'key.pem'\nwebhook_secret_file = 'secrets'\n\
         api_url = '{}'\nallow_http_loopback = true\n",
        forge.app_id(),
        forge.url()
    )
}

impl Serving {
    async fn start(forge: &Forge, key: &str, secrets: &str, level: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("key.pem", key),
            ("secrets", secrets),
            ("frostline.toml", &config(forge)),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_frostline"))
            .arg("serve")
            .current_dir(folder.path())
            .env_clear()
            .env("RUST_LOG", level)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut serving = Self {
            child,
            lines,
            told: String::new(),
            base: String::new(),
            folder,
        };
        let line = serving.until("frostline listens on ").await;
        serving.base = line.replace("frostline listens on ", "");
        serving
    }

    /// The next line that holds `text`.
    async fn until(&mut self, text: &str) -> String {
        self.until_both(text, "").await
    }

    /// The next job of a kind that is done. Every start begins with a sweep.
    async fn job_done(&mut self, kind: &str) {
        let kind = format!("\"kind\":\"{kind}\"");
        self.until_both("job done", &kind).await;
    }

    async fn until_both(&mut self, text: &str, also: &str) -> String {
        loop {
            let line = tokio::time::timeout(Duration::from_secs(60), self.lines.recv()).await;
            let Ok(Some(line)) = line else {
                panic!("no line with {text:?} after:\n{}", self.told);
            };
            self.told.push_str(&line);
            self.told.push('\n');
            if line.contains(text) && line.contains(also) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    async fn send(&self, hook: &Webhook) -> u16 {
        let url = format!("{}/webhooks/github", self.base);
        hook.send(&url).await.unwrap()
    }

    /// Everything it logged, after a stop.
    async fn stop(mut self) -> String {
        self.signal("TERM");
        while let Some(line) = self.lines.recv().await {
            self.told.push_str(&line);
            self.told.push('\n');
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.told);
        std::mem::take(&mut self.told)
    }
}

fn signed(hook: &Webhook, secret: &str) -> Webhook {
    Webhook {
        signature: sign(secret, &hook.body),
        ..hook.clone()
    }
}

fn lines_of<'a>(told: &'a str, message: &str) -> Vec<Value> {
    let json = told.lines().filter(|line: &&'a str| line.starts_with('{'));
    json.map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["message"] == message)
        .collect()
}

#[tokio::test]
async fn a_job_is_one_line_that_tells_what_came_of_it_and_no_secret_is_logged() {
    let world = World::new().await;
    let forge = &world.forge;
    let (key, secret) = (forge.private_key_pem(), forge.webhook_secret());
    let mut serving = Serving::start(forge, key, secret, "trace").await;
    serving.job_done("repository").await;
    let before = forge.requests().len();
    let number = world.pull("work", &[("README.md", "Another parser\n")]);
    let head = forge.head(REPO, number).unwrap();
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    assert_eq!(serving.send(&hook).await, 202);
    serving.job_done("pull").await;
    let told = serving.stop().await;

    let mut ends = lines_of(&told, "job done");
    ends.retain(|line| line["span"]["kind"] == "pull");
    assert_eq!(ends.len(), 1, "one line a job");
    let (line, job) = (&ends[0], &ends[0]["span"]);
    assert_eq!(job["repository"], REPO);
    assert_eq!(job["pull_request"], number);
    assert_eq!(job["head"], head.as_str());
    assert_eq!(job["delivery"], hook.delivery.as_str());
    assert_eq!(job["verdict"], "pass");
    let requests = forge.requests();
    // The sweep's jobs may make requests of their own meanwhile.
    let made = job["requests"].as_u64().unwrap();
    let all = u64::try_from(requests.len() - before).unwrap();
    assert!((5..=all).contains(&made), "{made} of {all}");
    assert!(line["elapsed_ms"].is_u64(), "{line}");

    let tokens = requests
        .iter()
        .filter_map(|request| request.answer["token"].as_str())
        .map(str::to_owned);
    let secrets: Vec<String> = logs::secrets(forge).into_iter().chain(tokens).collect();
    assert!(secrets.len() >= 3, "a key, a webhook secret and a token");
    assert!(told.len() > 10_000, "the log says all there is to say");
    assert_eq!(logs::leak(&told, &secrets), None);
}

#[tokio::test]
async fn the_lines_of_sweeps_branches_and_audits_tell_what_they_were_about() {
    let world = World::new().await;
    let forge = &world.forge;
    let (key, secret) = (forge.private_key_pem(), forge.webhook_secret());
    let mut serving = Serving::start(forge, key, secret, "info").await;
    serving.job_done("audit").await;
    let told = serving.stop().await;
    let ends = lines_of(&told, "job done");
    let tip = forge.branch(REPO, "main").unwrap();
    for (kind, about) in [
        ("sweep", &[][..]),
        ("installation", &[]),
        ("repository", &["repository"]),
        ("branch", &["repository", "head"]),
        ("audit", &["repository", "head", "verdict"]),
    ] {
        let mut of_kind = ends.iter().filter(|line| line["span"]["kind"] == kind);
        let job = &of_kind.next().expect(kind)["span"];
        assert!(job["requests"].as_u64() > Some(0), "{kind}: {job}");
        let expected = [
            ("repository", REPO),
            ("head", tip.as_str()),
            ("verdict", "pass"),
        ];
        for (field, value) in expected.iter().filter(|(field, _)| about.contains(field)) {
            assert_eq!(job[field], *value, "{kind}: {job}");
        }
    }
}

#[tokio::test]
async fn a_webhook_secret_is_rotated_while_the_server_runs() {
    let world = World::new().await;
    let forge = &world.forge;
    let number = world.pull("work", &[("README.md", "Another parser\n")]);
    let hook = forge.pull_webhook(REPO, number, "closed").unwrap();
    let mut serving = Serving::start(forge, forge.private_key_pem(), "old", "info").await;
    assert_eq!(serving.send(&signed(&hook, "new")).await, 401);

    serving.write("secrets", "old\nnew\n");
    serving.signal("HUP");
    let line = serving.until("secrets were replaced").await;
    assert!(line.contains("\"valid\":2"), "{line}");
    assert_eq!(serving.send(&signed(&hook, "old")).await, 202);
    assert_eq!(serving.send(&signed(&hook, "new")).await, 202);

    // What cannot be used changes nothing.
    serving.write("secrets", "\n");
    serving.signal("HUP");
    serving.until("cannot be read again").await;
    assert_eq!(serving.send(&signed(&hook, "new")).await, 202);

    // Without a signal too.
    serving.write("secrets", "new\n");
    serving.until("secrets were replaced").await;
    assert_eq!(serving.send(&signed(&hook, "old")).await, 401);
    assert_eq!(serving.send(&signed(&hook, "new")).await, 202);

    serving.signal("HUP");
    serving.until("key and secrets are as before").await;
    serving.stop().await;
}

#[tokio::test]
async fn the_apps_key_is_rotated_while_the_server_runs() {
    let world = World::new().await;
    let forge = &world.forge;
    let number = world.pull("work", &[("README.md", "Another parser\n")]);
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    let other = AppKey::generate().unwrap();
    let secret = forge.webhook_secret();
    let mut serving = Serving::start(forge, other.private_pem(), secret, "info").await;
    assert_eq!(serving.send(&hook).await, 202);
    serving.until("job will be tried again").await;

    serving.write("key.pem", "-----BEGIN nothing\n");
    serving.signal("HUP");
    serving.until("cannot be read again").await;
    serving.write("key.pem", forge.private_key_pem());
    serving.signal("HUP");
    serving.until("private key was replaced").await;
    assert_eq!(serving.send(&hook).await, 202);
    serving.job_done("pull").await;
    assert_eq!(world.conclusion(number), "success");
    let told = serving.stop().await;
    assert_eq!(logs::leak(&told, &logs::secrets(forge)), None);
}

#[tokio::test]
async fn what_the_suites_servers_log_is_heard() {
    let world = World::new().await;
    let number = world.pull("work", &[("README.md", "Another parser\n")]);
    let before = world.logs.lines();
    world.evaluate(number).await;
    assert!(world.logs.lines() > before + 10);
}

#[test]
fn the_watch_knows_a_secret_when_it_sees_one() {
    let secrets = vec!["hunter2".to_owned()];
    for (text, expected) in [
        ("token ghs_abc", Some("ghs_")),
        ("authorization: Bearer x", Some("Bearer ")),
        ("eyJhbGciOiJSUzI1NiJ9.x.y", Some("eyJ")),
        ("-----BEGIN RSA PRIVATE KEY-----", Some("PRIVATE KEY")),
        ("secret=hunter2", Some("hunter2")),
        ("job done", None),
    ] {
        assert_eq!(logs::leak(text, &secrets), expected);
    }
}
