//! Decision pages, the dashboard and the decision as JSON, over real HTTP and in a real browser.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use frostline::demo::forge::NewPull;
use frostline::model::Decision;
use frostline::publish::links::Links;
use frostline::server::{AppState, HttpServer};
use frostline::webhook::Secrets;
use frostline::work::{Jobs, Pulse, Runner, RunnerSettings};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::world::{AGENT, REPO, World};

const HOSTILE: &str = "src/<img src=x onerror=alert(1)>|`@acme`/\u{202e}parse.py";

struct Site {
    world: World,
    address: SocketAddr,
    _stop: DropGuard,
    links: Links,
    public: String,
}

impl Site {
    async fn start(private: bool) -> Self {
        let world = World::new().await;
        world.forge.set_private(REPO, private).unwrap();
        let key = world.store.page_key().await.unwrap();
        assert_eq!(key, world.store.page_key().await.unwrap(), "made once");
        let public = "https://frostline.example".to_owned();
        let links = Links::new(key, Some(public.parse().unwrap()));
        let secrets = Secrets::new(["s"]).unwrap();
        let state = AppState::new(world.store.clone(), secrets, Pulse::default());
        let state = state.with_links(links.clone());
        let http = HttpServer::bind(([127, 0, 0, 1], 0).into(), state)
            .await
            .unwrap();
        let stop = CancellationToken::new();
        let address = http.address();
        tokio::spawn(http.run(stop.clone()));
        Self {
            world,
            address,
            _stop: stop.drop_guard(),
            links,
            public,
        }
    }

    async fn judge(&self, number: u64) {
        let jobs = Jobs::new(self.world.app.clone(), self.world.store.clone());
        let jobs = jobs.with_links(self.links.clone());
        let settings = RunnerSettings::default();
        let runner = Runner::new(self.world.store.clone(), jobs, settings);
        let key = self.world.key(number);
        self.world.store.enqueue(&key).await.unwrap();
        runner.drain().await.unwrap();
    }

    /// Path and query of the details link of the only check-run.
    fn details(&self, number: u64) -> String {
        let link = self.world.run(number).details_url.unwrap();
        link.strip_prefix(&self.public).unwrap().to_owned()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = reqwest::get(self.url(path)).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}

#[tokio::test]
async fn the_page_of_a_private_repository_opens_by_its_link_and_by_nothing_else() {
    let site = Site::start(true).await;
    let number = site.world.pull("fix", &[("app/new.py", "x = 1\n")]);
    let other = site.world.pull("other", &[("app/other.py", "x = 1\n")]);
    site.judge(number).await;
    site.judge(other).await;
    let details = site.details(number);
    let (status, page) = site.get(&details).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<h1>Refused: 1 unmapped path</h1>"), "{page}");
    assert!(page.contains("<code>app/new.py</code>"), "{page}");

    let (path, query) = details.split_once('?').unwrap();
    let json = format!("/api/v1/repos/{REPO}/pulls/{number}/decision");
    let (status, text) = site.get(&format!("{json}?{query}")).await;
    assert_eq!(status, 200);
    let decision: Decision = serde_json::from_str(&text).unwrap();
    assert_eq!(decision.head, site.world.forge.head(REPO, number).unwrap());

    let elsewhere = format!("/{REPO}/pull/{other}?{query}");
    let older = details.replace("day=20", "day=19");
    for closed in [
        path,
        &json,
        &elsewhere,
        &older,
        "/acme",
        &format!("/{REPO}"),
    ] {
        let (status, text) = site.get(closed).await;
        assert_eq!(status, 404, "{closed}: {text}");
        assert!(!text.contains("new.py"), "{text}");
    }
    site.world.advance(Duration::from_secs(31 * 24 * 60 * 60));
    assert_eq!(site.get(&details).await.0, 404, "after thirty days");
}

#[tokio::test]
async fn a_public_repository_has_a_dashboard_and_its_newest_decisions() {
    let site = Site::start(false).await;
    let first = site.world.pull("first", &[("app/new.py", "x = 1\n")]);
    let second = site.world.pull(
        "second",
        &[("src/parse.py", "def parse(x):\n    return 2\n")],
    );
    site.judge(first).await;
    site.judge(second).await;
    let (status, page) = site.get(&format!("/{REPO}")).await;
    assert_eq!(status, 200, "{page}");
    assert!(
        page.contains(&format!("href=\"/{REPO}/pull/{first}\"")),
        "{page}"
    );
    assert!(
        page.contains("Refused: 1 unmapped path") && page.contains("Passed"),
        "{page}"
    );
    let (_, page) = site.get(&format!("/{REPO}/pull/{first}")).await;
    assert!(page.contains("Refused"), "{page}");
    // The newest one is shown.
    site.world.push(
        "first",
        &[("app/new.py", "x = 2\n"), ("app/b.py", "")],
        "acme-coder[bot]",
    );
    site.judge(first).await;
    let (_, page) = site.get(&format!("/{REPO}/pull/{first}")).await;
    assert!(page.contains("Refused: 2 unmapped paths"), "{page}");
    let (_, page) = site.get(&format!("/{REPO}")).await;
    assert_eq!(
        page.matches(&format!("/pull/{first}\"")).count(),
        1,
        "{page}"
    );
    for nothing in [
        "/acme/unknown",
        "/acme/parser/pull/999",
        "/acme/parser/pull/x",
        "/..%2f/x",
    ] {
        assert_eq!(site.get(nothing).await.0, 404, "{nothing}");
    }
}

#[tokio::test]
async fn a_page_asks_the_forge_nothing_writes_nothing_and_sends_strict_headers() {
    let site = Site::start(false).await;
    let number = site.world.pull("fix", &[("app/new.py", "x = 1\n")]);
    site.judge(number).await;
    let asked = site.world.forge.requests().len();
    let before = site.world.store.queue_counts().await.unwrap();
    let answer = reqwest::get(site.url(&site.details(number))).await.unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("cache-control"), "private, no-store");
    let policy = header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(!policy.contains("script-src"), "{policy}");
    let post = reqwest::Client::new().post(site.url(&site.details(number)));
    assert_eq!(post.send().await.unwrap().status().as_u16(), 405);
    assert_eq!(site.world.forge.requests().len(), asked);
    assert_eq!(site.world.store.queue_counts().await.unwrap(), before);
}

/// What a headless Chromium makes of a page, and what it complains of.
fn browse(url: &str) -> Option<(String, String)> {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--enable-logging=stderr",
            "--window-size=390,844",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output();
    match output {
        Ok(output) => Some((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
        Err(error) => {
            let what = format!("chromium could not be started: {error}");
            assert!(std::env::var_os("CI").is_none(), "{what}");
            eprintln!("SKIPPED, no page was opened in a browser: {what}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_browser_the_style_applies_and_nothing_from_a_repository_comes_alive() {
    let site = Site::start(true).await;
    let number = site
        .world
        .pull("fix", &[(HOSTILE, "x = 1\n"), ("app/new.py", "x = 1\n")]);
    site.judge(number).await;
    let url = site.url(&site.details(number));
    let Some((dom, complaints)) = tokio::task::spawn_blocking(move || browse(&url))
        .await
        .unwrap()
    else {
        return;
    };
    assert!(dom.contains("<h1>Refused:"), "{dom}\n{complaints}");
    assert!(dom.contains("&lt;img src=x onerror=alert(1)&gt;"), "{dom}");
    for alive in ["<img", "<script", "<a href", "\u{202e}"] {
        assert!(!dom.contains(alive), "{alive}: {dom}");
    }
    // The browser tells of a style or a script that the policy forbids.
    assert!(
        !complaints.contains("Content Security Policy"),
        "{complaints}"
    );
}

#[tokio::test]
async fn the_page_of_a_pull_request_shows_the_verdict_of_the_one_that_speaks_for_its_head() {
    let site = Site::start(false).await;
    let forge = &site.world.forge;
    let number = site.world.pull("fix", &[("app/new.py", "x = 1\n")]);
    site.judge(number).await;
    let head = forge.head(REPO, number).unwrap();
    forge.reset_branch(REPO, "again", &head).unwrap();
    let again = NewPull::new("again", AGENT, "The same again");
    let second = forge.open_pull(REPO, again).unwrap();
    let path = format!("/{REPO}/pull/{second}");
    assert_eq!(site.get(&path).await.0, 404);
    site.judge(second).await;
    let (status, page) = site.get(&path).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<h1>Refused: 1 unmapped path</h1>"), "{page}");
    let says = format!("Judged for pull request {number}, which has the same head");
    assert!(page.contains(&says), "{page}");
}

#[tokio::test]
async fn a_query_that_is_no_capability_is_ignored() {
    let site = Site::start(false).await;
    let number = site.world.pull("fix", &[("app/new.py", "x = 1\n")]);
    site.judge(number).await;
    let path = format!("/{REPO}/pull/{number}");
    for query in ["head=1&head=2", "key&key", "day=%ff&x=1&x=2", "=&="] {
        let (status, page) = site.get(&format!("{path}?{query}")).await;
        assert_eq!(status, 200, "{query}: {page}");
    }
}
