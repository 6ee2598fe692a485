//! The real program where memory and disk are scarce.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use frostline::demo::forge::{NewPull, Webhook};

use crate::any_size::twelve_thousand;
use crate::kill::{Server, configure};
use crate::support::api::start_forge;
use crate::support::world::{AGENT, REPO, contract, two_fixtures};

/// Anonymous memory of a process, in KiB.
fn anonymous(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_of_12_000_files_takes_less_than_200_mb() {
    let forge = start_forge().await;
    forge.create_repo(REPO, contract(&two_fixtures())).unwrap();
    twelve_thousand(&forge);
    let new = NewPull::new("big", AGENT, "Big");
    let number = forge.open_pull(REPO, new).unwrap();
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &forge);
    let server = Server::start(folder.path()).await;
    let pid = server.pid();
    let idle = anonymous(pid).unwrap();
    let (most, stop) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let watcher = {
        let (most, stop) = (most.clone(), stop.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                most.fetch_max(anonymous(pid).unwrap_or(0), Ordering::Relaxed);
                std::thread::park_timeout(Duration::from_millis(2));
            }
        })
    };
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    assert_eq!(hook.send(&server.url).await.unwrap(), 202);
    let head = forge.head(REPO, number).unwrap();
    let done = |forge: &frostline::demo::forge::Forge| {
        let runs = forge.check_runs(REPO, &head);
        runs.iter().any(|run| run.status == "completed")
    };
    forge
        .wait_until(Duration::from_secs(120), done)
        .await
        .unwrap();
    stop.store(true, Ordering::Relaxed);
    watcher.join().unwrap();
    let most = most.load(Ordering::Relaxed);
    eprintln!("RssAnon: {idle} KiB idle, {most} KiB at most for 12,000 files");
    assert!(idle < 60 * 1024, "{idle} KiB");
    assert!(most < 200 * 1000 * 1000 / 1024, "{most} KiB");
}

/// Sends a webhook; gives the status and whether it was seen before.
async fn send(hook: &Webhook, url: &str) -> (u16, Option<bool>) {
    let response = reqwest::Client::new()
        .post(url)
        .header("x-github-event", &hook.event)
        .header("x-github-delivery", &hook.delivery)
        .header("x-hub-signature-256", &hook.signature)
        .body(hook.body.clone())
        .send()
        .await
        .unwrap();
    let status = response.status().as_u16();
    let body: serde_json::Value = response.json().await.unwrap_or_default();
    (status, body["duplicate"].as_bool())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_to_the_forge_and_nothing_is_half_stored() {
    let forge = start_forge().await;
    forge.create_repo(REPO, contract(&two_fixtures())).unwrap();
    forge
        .push(REPO, "x", [("app/new.py", "x = 1\n")], AGENT)
        .unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("x", AGENT, "X"))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &forge);
    // The tables are made while there is room.
    drop(Server::start(folder.path()).await);
    let database = folder.path().join("frostline.db");
    let store = frostline::store::Store::open(&format!("sqlite://{}", database.display()))
        .await
        .unwrap();
    store.close().await;
    let size = std::fs::metadata(&database).unwrap().len();
    let blocks = u32::try_from(size / 512 + 400).unwrap();

    let server = Server::start_with_disk(folder.path(), blocks).await;
    let mut stored = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..400 {
        let hook = forge.pull_webhook(REPO, number, "synchronize").unwrap();
        match send(&hook, &server.url).await {
            (202, Some(false)) => stored.push(hook),
            (503, None) => refused.push(hook),
            other => panic!("{other:?}"),
        }
        if refused.len() == 3 {
            break;
        }
    }
    assert!(!stored.is_empty());
    assert_eq!(refused.len(), 3, "the disk did not get full");
    let health = server.url.replace("/webhooks/github", "/healthz");
    assert_eq!(reqwest::get(health).await.unwrap().status().as_u16(), 200);
    drop(server);

    let server = Server::start(folder.path()).await;
    for hook in &stored {
        assert_eq!(send(hook, &server.url).await, (202, Some(true)));
    }
    for hook in &refused {
        assert_eq!(send(hook, &server.url).await, (202, Some(false)));
    }
    let head = forge.head(REPO, number).unwrap();
    let done = |forge: &frostline::demo::forge::Forge| {
        let runs = forge.check_runs(REPO, &head);
        runs.iter().any(|run| run.status == "completed")
    };
    forge
        .wait_until(Duration::from_secs(90), done)
        .await
        .unwrap();
}
