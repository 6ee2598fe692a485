//! `POST /webhooks/github` over real HTTP, with a real SQLite file (interfaces section 3).
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use frostline::model::{InstallationId, PrNumber};
use frostline::server::{AppState, BODY_LIMIT, HttpServer, Limits};
use frostline::store::Store;
use frostline::webhook::{Event, Secrets, What, sign};
use frostline::work::Pulse;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::support::third_party::third_party;

const SECRET: &str = "the present secret";
const NEXT_SECRET: &str = "the next secret";

struct Hook {
    folder: tempfile::TempDir,
    store: Store,
    address: SocketAddr,
    _stop: tokio_util::sync::DropGuard,
}

impl Hook {
    async fn new() -> Self {
        Self::with_limits(Limits::default()).await
    }

    async fn with_limits(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url(folder.path())).await.unwrap();
        let secrets = Secrets::new([SECRET, NEXT_SECRET]).unwrap();
        let state = AppState::new(store.clone(), secrets, Pulse::default()).with_limits(limits);
        let server = HttpServer::bind(([127, 0, 0, 1], 0).into(), state)
            .await
            .unwrap();
        let address = server.address();
        let stop = CancellationToken::new();
        tokio::spawn(server.run(stop.clone()));
        Self {
            folder,
            store,
            address,
            _stop: stop.drop_guard(),
        }
    }

    fn request(&self) -> reqwest::RequestBuilder {
        reqwest::Client::new().post(format!("http://{}/webhooks/github", self.address))
    }

    /// A signed delivery.
    async fn deliver(&self, event: &str, id: &str, body: impl Into<Bytes>) -> (u16, Value) {
        let body = body.into();
        let request = self
            .request()
            .header("x-hub-signature-256", sign(SECRET, &body))
            .header("x-github-event", event)
            .header("x-github-delivery", id)
            .body(body);
        answer(request).await
    }

    async fn queued(&self) -> u64 {
        self.store.queue_counts().await.unwrap().queued
    }
}

fn url(folder: &Path) -> String {
    format!("sqlite://{}/frostline.db", folder.display())
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

fn payload(action: &str) -> Value {
    json!({
        "action": action,
        "number": 7,
        "repository": {"full_name": "acme/parser"},
        "installation": {"id": 42},
        "pull_request": {"head": {"sha": "a".repeat(40)}},
    })
}

fn opened() -> String {
    payload("opened").to_string()
}

#[tokio::test]
async fn a_delivery_is_stored_with_its_job_and_acknowledged_with_its_id() {
    let hook = Hook::new().await;
    let (status, body) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!(status, 202);
    assert_eq!(body, json!({"delivery": "id-1", "duplicate": false}));
    let lease = hook.store.claim().await.unwrap().unwrap();
    assert_eq!(lease.task.repo().unwrap().as_str(), "acme/parser");
    assert_eq!(lease.task.number(), Some(PrNumber(7)));
    assert_eq!(lease.task.installation(), Some(InstallationId(42)));
    assert_eq!(lease.delivery.unwrap().0, "id-1");
    assert_eq!(lease.task.head().unwrap().as_str(), "a".repeat(40));
}

#[tokio::test]
async fn an_acknowledged_delivery_is_there_after_the_file_is_opened_anew() {
    let hook = Hook::new().await;
    hook.deliver("pull_request", "id-1", opened()).await;
    let reopened = Store::open(&url(hook.folder.path())).await.unwrap();
    assert_eq!(
        reopened.claim().await.unwrap().unwrap().task.number(),
        Some(PrNumber(7))
    );
    let (status, body) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!((status, &body["duplicate"]), (202, &json!(true)));
}

#[tokio::test]
async fn every_action_of_a_pull_request_that_changes_its_head_is_used() {
    let hook = Hook::new().await;
    for (n, action) in ["opened", "synchronize", "reopened", "ready_for_review"]
        .into_iter()
        .enumerate()
    {
        let body = payload(action).to_string();
        let (status, _) = hook.deliver("pull_request", &format!("id-{n}"), body).await;
        assert_eq!(status, 202, "{action}");
    }
    assert_eq!(hook.queued().await, 1, "one job for all of them");
}

#[tokio::test]
async fn a_delivery_seen_before_is_told_and_its_job_enqueued_all_the_same() {
    let hook = Hook::new().await;
    hook.deliver("pull_request", "id-1", opened()).await;
    let lease = hook.store.claim().await.unwrap().unwrap();
    hook.store.ack(&lease).await.unwrap();
    let (status, body) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!(status, 202);
    assert_eq!(body, json!({"delivery": "id-1", "duplicate": true}));
    assert_eq!(hook.queued().await, 1);
}

#[tokio::test]
async fn each_of_several_secrets_is_valid() {
    let hook = Hook::new().await;
    for (secret, status) in [(SECRET, 202), (NEXT_SECRET, 202), ("another", 401)] {
        let request = hook
            .request()
            .header("x-hub-signature-256", sign(secret, opened().as_bytes()))
            .header("x-github-event", "pull_request")
            .header("x-github-delivery", "id-1")
            .body(opened());
        assert_eq!(answer(request).await.0, status, "{secret}");
    }
}

#[tokio::test]
async fn without_a_good_signature_nothing_is_read_or_stored() {
    let hook = Hook::new().await;
    let good = sign(SECRET, opened().as_bytes());
    let other_body = sign(SECRET, b"{}");
    let upper = good.to_uppercase().replace("SHA256", "sha256");
    for headers in [
        vec![],
        vec![other_body.as_str()],
        vec!["sha256=00"],
        // Cut short, in other letters, and of the old kind.
        vec![&good[..good.len() - 2]],
        vec![upper.as_str()],
        vec!["sha1=2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"],
        vec![&good["sha256=".len()..]],
        // Which of the two would count?
        vec![good.as_str(), good.as_str()],
    ] {
        let mut request = hook.request().header("x-github-event", "pull_request");
        for value in &headers {
            request = request.header("x-hub-signature-256", *value);
        }
        let (status, body) = answer(request.body(opened())).await;
        assert_eq!(status, 401, "{headers:?}");
        let told = body["error"].as_str().unwrap().to_lowercase();
        assert!(told.contains("signature"), "{told}");
    }
    // Not even that it is no JSON is told, nor that the event's name is missing.
    let (status, _) = answer(hook.request().body("not JSON")).await;
    assert_eq!(status, 401);
    assert_eq!(hook.queued().await, 0);
}

#[tokio::test]
async fn a_signed_body_that_is_not_json_is_a_bad_request() {
    let hook = Hook::new().await;
    let deep = "[".repeat(100_000);
    for event in ["pull_request", "ping", "push", "no_such_event"] {
        for body in [
            "",
            "payload=%7B%7D",
            "{",
            "\u{0}",
            "{\"a\":1}x",
            deep.as_str(),
        ] {
            let (status, answer) = hook.deliver(event, "id", body.to_owned()).await;
            assert_eq!(status, 400, "{event}: {body:.20}");
            let told = answer["error"].as_str().unwrap();
            assert!(told.contains("JSON") || told.contains("object"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_delivery_without_its_headers_is_a_bad_request() {
    let hook = Hook::new().await;
    let signed = || {
        hook.request()
            .header("x-hub-signature-256", sign(SECRET, opened().as_bytes()))
            .body(opened())
    };
    let no_event = signed().header("x-github-delivery", "id-1");
    assert_eq!(answer(no_event).await.0, 400);
    let empty_event = signed().header("x-github-event", "");
    assert_eq!(answer(empty_event).await.0, 400);
    let no_id = signed().header("x-github-event", "pull_request");
    assert_eq!(answer(no_id).await.0, 400);
    for hostile in ["", "a b", "../x", "'; DROP", "\u{e9}", &"x".repeat(101)] {
        let request = signed()
            .header("x-github-event", "pull_request")
            .header("x-github-delivery", hostile.as_bytes());
        assert_eq!(answer(request).await.0, 400, "{hostile}");
    }
    assert_eq!(hook.queued().await, 0);
}

#[tokio::test]
async fn a_pull_request_payload_with_hostile_fields_is_a_bad_request() {
    let hook = Hook::new().await;
    let with = |path: &str, value: Value| {
        let mut payload = payload("opened");
        *payload.pointer_mut(path).unwrap() = value;
        payload.to_string()
    };
    for body in [
        with("/repository/full_name", json!("../etc/passwd")),
        with("/repository/full_name", json!("acme/parser/x")),
        with("/repository/full_name", json!("acme/\u{202e}")),
        with("/repository", json!(null)),
        with("/number", json!(0)),
        with("/number", json!(-1)),
        with("/number", json!(u64::MAX)),
        with("/number", json!("7")),
        with("/installation", json!(null)),
        with("/installation/id", json!(0)),
        with("/pull_request", json!(null)),
        json!({"action": "opened"}).to_string(),
        json!({"action": 1}).to_string(),
        json!([1]).to_string(),
        json!(["opened", 7]).to_string(),
    ] {
        let (status, answer) = hook.deliver("pull_request", "id", body.clone()).await;
        assert_eq!(status, 400, "{body}");
        assert!(answer["error"].is_string());
    }
    assert_eq!(hook.queued().await, 0);
}

#[tokio::test]
async fn a_head_that_is_no_object_id_is_left_out_not_believed() {
    let hook = Hook::new().await;
    let mut payload = payload("opened");
    payload["pull_request"]["head"]["sha"] = json!("HEAD");
    let (status, _) = hook
        .deliver("pull_request", "id", payload.to_string())
        .await;
    assert_eq!(status, 202);
    let lease = hook.store.claim().await.unwrap().unwrap();
    assert_eq!(lease.task.head(), None);
}

#[tokio::test]
async fn an_event_without_use_is_answered_and_forgotten() {
    let hook = Hook::new().await;
    for (event, body) in [
        ("ping", json!({"zen": "x", "hook_id": 1})),
        ("push", json!({"ref": "refs/tags/v1"})),
        ("installation", json!({"action": "no_such_action"})),
        ("no_such_event", json!([])),
        ("pull_request", json!({"action": "assigned"})),
        ("issue_comment", json!({"action": "edited"})),
        ("pull_request_review", json!({"action": "edited"})),
        ("check_run", json!({"action": "no_such_action"})),
        ("check_suite", json!({"action": "requested"})),
        ("pull_request", json!({"action": "no_such_action"})),
        ("pull_request", json!({})),
    ] {
        let (status, answer) = hook.deliver(event, "id", body.to_string()).await;
        assert_eq!((status, answer), (204, Value::Null), "{event} {body}");
    }
    assert_eq!(hook.queued().await, 0);
}

#[tokio::test]
async fn only_post_is_a_delivery_and_no_other_route_exists() {
    let hook = Hook::new().await;
    let client = reqwest::Client::new();
    let base = format!("http://{}", hook.address);
    for (path, status) in [
        ("/webhooks/github", 405),
        ("/", 404),
        ("/metrics", 200),
        ("/acme/parser/pull/7", 404),
        ("/healthz", 200),
    ] {
        let got = client.get(format!("{base}{path}")).send().await.unwrap();
        assert_eq!(got.status().as_u16(), status, "{path}");
    }
}

/// The signature is over the bytes that came, and those are no JSON: nothing is unpacked.
#[tokio::test]
async fn a_compressed_body_is_not_unpacked() {
    let hook = Hook::new().await;
    // `{}` by gzip.
    let packed = hex::decode("1f8b08000000000002ffabae050043bfa6a302000000").unwrap();
    for signature in [sign(SECRET, &packed), sign(SECRET, b"{}")] {
        let request = hook
            .request()
            .header("content-encoding", "gzip")
            .header("x-hub-signature-256", &signature)
            .header("x-github-event", "ping")
            .header("x-github-delivery", "id-1")
            .body(packed.clone());
        let of_packed = signature == sign(SECRET, &packed);
        let (status, _) = answer(request).await;
        assert_eq!(status, if of_packed { 400 } else { 401 });
    }
    assert_eq!(hook.queued().await, 0);
}

/// Another process holds the database: after five seconds the forge is told to come back.
#[tokio::test]
async fn a_database_that_stays_locked_is_told_and_nothing_is_half_stored() {
    use sqlx::Connection as _;
    let hook = Hook::new().await;
    let mut raw = sqlx::SqliteConnection::connect(&url(hook.folder.path()))
        .await
        .unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut raw)
        .await
        .unwrap();
    let (status, _) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!(status, 503);
    sqlx::query("ROLLBACK").execute(&mut raw).await.unwrap();
    let (status, body) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!((status, &body["duplicate"]), (202, &json!(false)));
    assert_eq!(hook.queued().await, 1);
}

#[tokio::test]
async fn what_could_not_be_stored_whole_is_not_acknowledged_and_leaves_nothing() {
    use sqlx::Connection as _;
    let hook = Hook::new().await;
    let mut raw = sqlx::SqliteConnection::connect(&url(hook.folder.path()))
        .await
        .unwrap();
    // The delivery's row can be written, its job's cannot.
    sqlx::query("ALTER TABLE job RENAME TO elsewhere")
        .execute(&mut raw)
        .await
        .unwrap();
    let (status, body) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!(status, 503);
    let told = body["error"].as_str().unwrap();
    assert!(!told.contains("job"), "no internals are told: {told}");
    let deliveries: i64 = sqlx::query_scalar("SELECT count(*) FROM delivery")
        .fetch_one(&mut raw)
        .await
        .unwrap();
    assert_eq!(deliveries, 0);

    sqlx::query("ALTER TABLE elsewhere RENAME TO job")
        .execute(&mut raw)
        .await
        .unwrap();
    let (status, body) = hook.deliver("pull_request", "id-1", opened()).await;
    assert_eq!((status, &body["duplicate"]), (202, &json!(false)));
}

// ---- Size and time ----

fn padded(length: usize) -> Vec<u8> {
    let mut body = opened().into_bytes();
    body.resize(length, b' ');
    body
}

#[tokio::test]
async fn a_body_of_25_mib_is_taken_and_one_byte_more_is_not() {
    // Without optimisation, and beside other tests, so much takes its time.
    let patient = Limits {
        request: Duration::from_secs(120),
        ..Limits::default()
    };
    let hook = Hook::with_limits(patient).await;
    let (status, _) = hook
        .deliver("pull_request", "id-1", padded(BODY_LIMIT))
        .await;
    assert_eq!(status, 202);
    let (status, _) = hook
        .deliver("pull_request", "id-2", padded(BODY_LIMIT + 1))
        .await;
    assert_eq!(status, 413);
    // Unsigned it is too large all the same: nothing was kept to verify.
    let unsigned = hook.request().body(padded(BODY_LIMIT + 1));
    assert_eq!(answer(unsigned).await.0, 413);
}

/// Sends raw bytes and gives the first line of what comes back.
async fn raw(address: SocketAddr, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    for part in parts {
        // The server may have answered and closed already.
        if stream.write_all(part).await.is_err() {
            break;
        }
    }
    first_line(&mut stream).await
}

async fn first_line(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    tokio::time::timeout(Duration::from_secs(30), read)
        .await
        .expect("the server ends the connection")
        .ok();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().next().unwrap_or("").to_owned()
}

#[tokio::test]
async fn a_length_that_is_too_large_is_refused_before_the_body_comes() {
    let hook = Hook::new().await;
    let head = b"POST /webhooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n";
    assert_eq!(
        raw(hook.address, &[head]).await,
        "HTTP/1.1 413 Payload Too Large"
    );
}

#[tokio::test]
async fn a_chunked_body_is_cut_off_at_the_limit() {
    let hook = Hook::new().await;
    let head = b"POST /webhooks/github HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut chunk = b"100000\r\n".to_vec();
    chunk.resize(chunk.len() + 0x10_0000, b'x');
    chunk.extend_from_slice(b"\r\n");
    let mut parts: Vec<&[u8]> = vec![head];
    parts.extend(std::iter::repeat_n(chunk.as_slice(), 26));
    parts.push(b"0\r\n\r\n");
    let mut stream = TcpStream::connect(hook.address).await.unwrap();
    for part in &parts {
        stream.write_all(part).await.unwrap();
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

fn impatient() -> Limits {
    Limits {
        request: Duration::from_millis(200),
        headers: Duration::from_millis(200),
        connections: 2,
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_ends_the_request() {
    let hook = Hook::with_limits(impatient()).await;
    let head = b"POST /webhooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
    assert_eq!(
        raw(hook.address, &[head]).await,
        "HTTP/1.1 408 Request Timeout"
    );
}

#[tokio::test]
async fn headers_that_do_not_come_end_the_connection_and_give_its_place_free() {
    let hook = Hook::with_limits(impatient()).await;
    let mut idle = TcpStream::connect(hook.address).await.unwrap();
    let mut half = TcpStream::connect(hook.address).await.unwrap();
    half.write_all(b"POST /webhooks/github HTTP/1.1\r\nhost:")
        .await
        .unwrap();
    // All places are taken; this one waits for one of them to be given free.
    let (status, _) = hook.deliver("pull_request", "id", opened()).await;
    assert_eq!(status, 202);
    first_line(&mut idle).await;
    first_line(&mut half).await;
}

#[tokio::test]
async fn what_all_bodies_take_together_is_bounded() {
    let hook = Hook::new().await;
    // Each announces a large body, sends nearly all of it and waits.
    let head = format!(
        "POST /webhooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: {BODY_LIMIT}\r\n\r\n"
    );
    let most = vec![b'x'; BODY_LIMIT - 1];
    let mut refused = 0;
    let mut open = Vec::new();
    for _ in 0..12 {
        let mut stream = TcpStream::connect(hook.address).await.unwrap();
        let mut sent = stream.write_all(head.as_bytes()).await;
        if sent.is_ok() {
            sent = stream.write_all(&most).await;
        }
        if sent.is_err() || answered(&mut stream).await {
            refused += 1;
        }
        open.push(stream);
    }
    assert!(refused > 0, "300 MB were buffered for strangers");
    assert!(refused < 12);
    drop(open);
}

/// Has the server answered already?
async fn answered(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    tokio::time::timeout(Duration::from_millis(300), stream.read(&mut byte))
        .await
        .is_ok()
}

// ---- Payloads as the forge sends them ----

/// Every example payload: (event, payload).
fn examples() -> Option<Vec<(String, Value)>> {
    let folder = third_party("webhooks-examples")?;
    let mut found = Vec::new();
    for version in std::fs::read_dir(&folder).unwrap() {
        let index = version.unwrap().path().join("index.json");
        let Ok(text) = std::fs::read_to_string(&index) else {
            continue;
        };
        let events: Vec<Value> = serde_json::from_str(&text).unwrap();
        for event in events {
            let name = event["name"].as_str().unwrap();
            for example in event["examples"].as_array().unwrap() {
                found.push((name.to_owned(), example.clone()));
            }
        }
    }
    assert!(found.len() > 300, "{} examples", found.len());
    Some(found)
}

fn parse(event: &str, payload: &Value) -> Result<Event, String> {
    let body = payload.to_string();
    let signature = sign(SECRET, body.as_bytes());
    let verified = Secrets::new([SECRET])
        .unwrap()
        .verify(body.into(), Some(signature.as_bytes()))
        .unwrap();
    Event::parse(event, &verified).map_err(|error| error.to_string())
}

const PULL_ACTIONS: [&str; 7] = [
    "opened",
    "synchronize",
    "reopened",
    "ready_for_review",
    "labeled",
    "unlabeled",
    "closed",
];

/// Examples of one event with one of these actions, as an App gets them.
fn delivered(event: &str, actions: &[&str]) -> Option<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for (name, mut payload) in examples()? {
        let action = payload["action"].as_str().unwrap_or("").to_owned();
        if name != event || !actions.contains(&action.as_str()) {
            continue;
        }
        if payload.get("installation").is_none() {
            payload["installation"] = json!({"id": 1});
        }
        found.push((action, payload));
    }
    Some(found)
}

#[test]
fn real_pull_request_payloads_name_their_pull_request() {
    let Some(examples) = delivered("pull_request", &PULL_ACTIONS) else {
        return;
    };
    let mut seen = std::collections::BTreeSet::new();
    for (action, payload) in examples {
        let Ok(Event::Pull(event)) = parse("pull_request", &payload) else {
            panic!("{action}: {payload}");
        };
        assert_eq!(event.action.name(), action);
        let pull = &event.pull;
        assert_eq!(
            pull.repo.as_str(),
            payload["repository"]["full_name"].as_str().unwrap()
        );
        assert_eq!(pull.number.0, payload["number"].as_u64().unwrap());
        assert_eq!(
            pull.installation.0,
            payload["installation"]["id"].as_u64().unwrap()
        );
        assert_eq!(
            event.head.unwrap().as_str(),
            payload["pull_request"]["head"]["sha"].as_str().unwrap()
        );
        seen.insert(action);
    }
    let mut all = PULL_ACTIONS.map(str::to_owned);
    all.sort();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn what_a_webhook_of_a_repository_sends_names_no_installation() {
    let mut body = payload("opened");
    body.as_object_mut().unwrap().remove("installation");
    let error = parse("pull_request", &body).unwrap_err();
    assert!(error.contains("installation"), "{error}");
}

#[test]
fn only_an_edit_of_the_base_branch_is_of_use() {
    let mut edited = payload("edited");
    edited["changes"] = json!({"title": {"from": "Old"}});
    assert_eq!(parse("pull_request", &edited), Ok(Event::NoUse));
    edited["changes"] = json!({"base": {"ref": {"from": "main"}, "sha": {"from": "x"}}});
    let Ok(Event::Pull(event)) = parse("pull_request", &edited) else {
        panic!("{edited}");
    };
    assert_eq!(event.action.name(), "edited");
}

/// With a command put in its comment, and made one on a pull request, each is one.
#[test]
fn real_comments_are_commands_when_they_hold_one() {
    let Some(examples) = delivered("issue_comment", &["created", "edited", "deleted"]) else {
        return;
    };
    let mut created = 0;
    for (action, mut payload) in examples {
        assert_eq!(
            parse("issue_comment", &payload),
            Ok(Event::NoUse),
            "{payload}"
        );
        payload["comment"]["body"] = json!("/frostline status\r\n");
        payload["issue"]["pull_request"] = json!({"url": "x"});
        let person = payload["comment"]["user"]["type"] == "User"
            && payload["sender"]["id"] == payload["comment"]["user"]["id"]
            && payload["comment"]["performed_via_github_app"].is_null();
        match parse("issue_comment", &payload) {
            Ok(Event::Comment(event)) => {
                assert!(action == "created" && person, "{payload}");
                assert_eq!(event.comment, payload["comment"]["id"].as_u64().unwrap());
                assert_eq!(
                    event.sender.login,
                    payload["sender"]["login"].as_str().unwrap()
                );
                assert_eq!(event.lines, ["/frostline status"]);
                created += 1;
            }
            Ok(Event::NoUse) => assert!(action != "created" || !person, "{payload}"),
            other => panic!("{other:?}: {payload}"),
        }
    }
    assert!(created > 0, "no example was created by a person");
}

#[test]
fn real_reviews_with_a_verdict_are_of_use() {
    let Some(examples) = delivered("pull_request_review", &["submitted", "dismissed", "edited"])
    else {
        return;
    };
    let mut seen = 0;
    for (action, mut payload) in examples {
        for state in ["approved", "changes_requested", "dismissed", "commented"] {
            payload["review"]["state"] = json!(state);
            match parse("pull_request_review", &payload) {
                Ok(Event::Review(event)) => {
                    assert_eq!(event.action, action);
                    let number = payload["pull_request"]["number"].as_u64().unwrap();
                    assert_eq!(event.pull.number.0, number);
                    assert!(action != "edited" && state != "commented");
                    seen += 1;
                }
                Ok(Event::NoUse) => assert!(action == "edited" || state == "commented"),
                other => panic!("{other:?}: {payload}"),
            }
        }
    }
    assert!(seen > 0, "no example of a review");
}

#[test]
fn real_requests_to_run_a_check_again_name_their_commit() {
    let (mut runs, mut suites) = (0, 0);
    for event in ["check_run", "check_suite"] {
        let Some(examples) = delivered(event, &["rerequested", "requested_action"]) else {
            return;
        };
        for (action, mut payload) in examples {
            if action == "requested_action" {
                assert_eq!(
                    parse(event, &payload),
                    Ok(Event::NoUse),
                    "another App's button"
                );
                payload["requested_action"] = json!({"identifier": "recheck"});
            }
            let Ok(Event::Rerun(rerun)) = parse(event, &payload) else {
                panic!("{event} {action}: {payload}");
            };
            let head = payload[event]["head_sha"].as_str().unwrap();
            assert_eq!(rerun.head.as_str(), head);
            assert_eq!(rerun.button.is_some(), action == "requested_action");
            if event == "check_run" {
                runs += 1;
            } else {
                suites += 1;
            }
        }
    }
    assert!(runs > 1 && suites > 0, "{runs} runs, {suites} suites");
}

#[test]
fn real_check_runs_under_our_name_say_whose_they_are() {
    let Some(examples) = delivered("check_run", &["created", "completed"]) else {
        return;
    };
    let mut seen = 0;
    for (action, mut payload) in examples {
        assert_eq!(parse("check_run", &payload), Ok(Event::NoUse));
        for name in ["frostline", "frostline (release/1)"] {
            payload["check_run"]["name"] = json!(name);
            let Ok(Event::Namesake(event)) = parse("check_run", &payload) else {
                panic!("{action}: {payload}");
            };
            let run = &payload["check_run"];
            assert_eq!((event.name.as_str(), event.action), (name, action.as_str()));
            assert_eq!(event.head.as_str(), run["head_sha"]);
            assert_eq!(
                (event.run, event.app),
                (
                    run["id"].as_u64().unwrap(),
                    run["app"]["id"].as_u64().unwrap()
                )
            );
        }
        payload["check_run"]["app"] = Value::Null;
        let Ok(Event::Namesake(event)) = parse("check_run", &payload) else {
            panic!("{action}: {payload}");
        };
        assert_eq!(event.app, 0, "nobody's, and so not ours");
        seen += 1;
    }
    assert!(seen > 2, "{seen}");
}

#[test]
fn real_events_of_branches_and_installations_name_what_they_are_about() {
    let Some(examples) = examples() else { return };
    let (mut pushes, mut installations, mut repositories) = (0, 0, 0);
    for (name, mut payload) in examples {
        if !["push", "installation", "installation_repositories"].contains(&name.as_str()) {
            continue;
        }
        if payload.get("installation").is_none() {
            payload["installation"] = json!({"id": 7});
        }
        let id = payload["installation"]["id"].as_u64().unwrap();
        let place = match parse(&name, &payload) {
            Ok(Event::Place(place)) => place,
            Ok(Event::NoUse) => {
                let tag = payload["ref"]
                    .as_str()
                    .is_some_and(|r| r.starts_with("refs/tags/"));
                assert!(tag, "{name}: {payload}");
                continue;
            }
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(place.installation.0, id);
        match place.what {
            What::Pushed {
                repo,
                branch,
                default_branch,
            } => {
                assert_eq!(
                    repo.as_str(),
                    payload["repository"]["full_name"].as_str().unwrap()
                );
                assert_eq!(
                    format!("refs/heads/{branch}"),
                    payload["ref"].as_str().unwrap()
                );
                assert_eq!(
                    default_branch,
                    payload["repository"]["default_branch"].as_str().unwrap()
                );
                pushes += 1;
            }
            What::Installed | What::Uninstalled => {
                let gone = ["deleted", "suspend"].contains(&place.action.as_str());
                assert_eq!(place.what == What::Uninstalled, gone);
                installations += 1;
            }
            What::Repositories { added, removed } => {
                let rows = |key: &str| payload[key].as_array().map_or(0, Vec::len);
                assert_eq!(added.len(), rows("repositories_added"));
                assert_eq!(removed.len(), rows("repositories_removed"));
                repositories += 1;
            }
        }
    }
    assert!(
        pushes > 1 && installations > 4 && repositories > 1,
        "{pushes} {installations} {repositories}"
    );
}

#[test]
fn real_merge_groups_name_their_commits_and_their_newest_member() {
    let Some(examples) = delivered("merge_group", &["checks_requested"]) else {
        return;
    };
    assert_eq!(examples.len(), 2);
    for (_, payload) in examples {
        let Ok(Event::Group(event)) = parse("merge_group", &payload) else {
            panic!("{payload}");
        };
        let told = &payload["merge_group"];
        assert_eq!(
            event.repo.as_str(),
            payload["repository"]["full_name"].as_str().unwrap()
        );
        let group = event.group;
        assert_eq!(group.head.as_str(), told["head_sha"].as_str().unwrap());
        assert_eq!(group.base.as_str(), told["base_sha"].as_str().unwrap());
        assert_eq!(
            (group.branch.as_str(), group.default_branch.as_str()),
            ("main", "main")
        );
        assert_eq!(group.newest_member().map(|number| number.0), Some(104));
    }
}

#[test]
fn a_merge_group_that_is_gone_or_names_no_commit_is_no_reason_to_judge() {
    let payload = json!({
        "action": "checks_requested",
        "installation": {"id": 1},
        "repository": {"full_name": "acme/parser", "default_branch": "main"},
        "merge_group": {
            "head_sha": "a".repeat(40), "base_sha": "b".repeat(40),
            "head_ref": "refs/heads/gh-readonly-queue/main/pr-1-x", "base_ref": "refs/heads/main",
        },
    });
    assert!(matches!(
        parse("merge_group", &payload),
        Ok(Event::Group(_))
    ));
    let mut gone = payload.clone();
    gone["action"] = json!("destroyed");
    assert_eq!(parse("merge_group", &gone), Ok(Event::NoUse));
    for field in ["head_sha", "base_sha", "head_ref", "base_ref"] {
        let mut without = payload.clone();
        without["merge_group"]
            .as_object_mut()
            .unwrap()
            .remove(field);
        assert!(parse("merge_group", &without).is_err(), "{field}");
    }
    let mut short = payload;
    short["merge_group"]["head_sha"] = json!("abc");
    assert!(parse("merge_group", &short).is_err());
}

#[test]
fn real_payloads_of_every_other_event_are_of_no_use_and_no_error() {
    let Some(examples) = examples() else { return };
    let mut others = 0;
    for (name, payload) in examples {
        let action = payload["action"].as_str().unwrap_or("");
        let used = match name.as_str() {
            "pull_request" => PULL_ACTIONS.contains(&action),
            "pull_request_review" => ["submitted", "dismissed"].contains(&action),
            "check_run" | "check_suite" => ["rerequested", "requested_action"].contains(&action),
            // Pushes to tags are of no use, and so are three of the actions of an installation.
            "push" => payload["ref"].as_str().unwrap().starts_with("refs/heads/"),
            "installation" | "installation_repositories" => true,
            "merge_group" => action == "checks_requested",
            // None of them holds a command.
            _ => false,
        };
        if used {
            continue;
        }
        assert_eq!(parse(&name, &payload), Ok(Event::NoUse), "{name} {action}");
        others += 1;
    }
    assert!(others > 250, "{others}");
}
