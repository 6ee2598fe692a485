//! How many webhooks a second the server takes in, verified and on the disk: `cargo bench --bench ingest`.
//!
//! The real binary, with SQLite (`synchronous = FULL`, committed before each 202), against probot 14 with a
//! handler that does nothing and stores nothing, in turn on this machine. Both get the same signed
//! `pull_request` payload of about 24 KB over 16 connections, 50 pull requests in turn, each delivery with
//! an id of its own. At least 2.5 times as many, and a p99 under 25 ms.
//!
//! Needs npm (for probot and the payload) and openssl.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "support.rs"]
#[expect(dead_code, reason = "most of it is for the benches of commands")]
mod support;

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use serde_json::Value;
use support::{FROSTLINE, is_asked_for_tests};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const SECRET: &str = "a secret of the bench";
const CONNECTIONS: usize = 16;
const PULLS: u64 = 50;
const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(5);
const PROBOT: &str = "probot@14.3.2";
const EXAMPLES: &str = "target/third-party/webhooks-examples/api.github.com/index.json";

const PROBOT_SERVER: &str = r#"
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { Probot, createNodeMiddleware } from "probot";
const probot = new Probot({ appId: 1, privateKey: readFileSync("key.pem", "utf8"), secret: process.env.SECRET, logLevel: "fatal" });
const middleware = await createNodeMiddleware((app) => { app.on("pull_request", () => {}); }, { probot, webhooksPath: "/hook" });
const server = createServer(middleware).listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
"#;

fn main() {
    if is_asked_for_tests() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    done(&mut Command::new(root.join(".ci/third-party.sh")));
    let examples = std::fs::read_to_string(root.join(EXAMPLES)).expect("the examples");
    let example = opened(&examples);
    let bodies: Vec<String> = (1..=PULLS).map(|number| body(&example, number)).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    done(
        Command::new("openssl")
            .args(["genrsa", "-out", "key.pem", "2048"])
            .current_dir(folder),
    );
    let (mut ours, our_address) = frostline(folder);
    let (mut theirs, their_address) = probot(folder);
    println!(
        "payload: {} bytes, {CONNECTIONS} connections",
        bodies[0].len()
    );
    let (mut rates, mut tails) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for _ in 0..ROUNDS {
        let (rate, tail) = load(our_address, "/webhooks/github", 202, &bodies);
        rates.0.push(rate);
        tails.0.push(tail);
        let (rate, tail) = load(their_address, "/hook", 200, &bodies);
        rates.1.push(rate);
        tails.1.push(tail);
    }
    let _ = (ours.kill(), theirs.kill());
    let (one, two) = (middle(rates.0), middle(rates.1));
    println!(
        "frostline: {one:.0} a second, p99 {:.1} ms (bound 25 ms)",
        middle(tails.0)
    );
    println!("probot: {two:.0} a second, p99 {:.1} ms", middle(tails.1));
    println!("ratio {:.2} (bound 2.5)", one / two);
}

fn done(command: &mut Command) {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
}

/// The first example of a pull request that was opened.
fn opened(examples: &str) -> Value {
    let events: Vec<Value> = serde_json::from_str(examples).expect("JSON");
    let pulls = events
        .into_iter()
        .find(|event| event["name"] == "pull_request");
    let examples = pulls.map(|pulls| pulls["examples"].clone());
    let Some(Value::Array(examples)) = examples else {
        panic!("no examples of pull_request")
    };
    let opened = examples
        .into_iter()
        .find(|example| example["action"] == "opened");
    opened.expect("an example")
}

fn body(example: &Value, number: u64) -> String {
    let mut payload = example.clone();
    payload["number"] = number.into();
    payload["installation"] = serde_json::json!({"id": 1});
    // As the forge sends it: without line ends.
    serde_json::to_string(&payload).expect("JSON")
}

/// The server, and where it listens. Its forge takes every request and never answers, as one that is slow:
/// one job is at work all the while.
fn frostline(folder: &Path) -> (Child, SocketAddr) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let forge = format!("http://{}", silent.local_addr().expect("an address"));
    std::thread::spawn(move || silent.incoming().collect::<Vec<_>>());
    std::fs::write(folder.join("secret"), SECRET).expect("a file");
    let mut child = Command::new(FROSTLINE)
        .args(["serve", "--bind", "127.0.0.1:0", "--queue-concurrency", "1"])
        .args([
            "--github-app-id",
            "1",
            "--github-private-key-file",
            "key.pem",
        ])
        .args(["--github-webhook-secret-file", "secret"])
        .args(["--github-api-url", &forge])
        .env("FROSTLINE_GITHUB__ALLOW_HTTP_LOOPBACK", "true")
        .env("RUST_LOG", "frostline=warn")
        .current_dir(folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let told = child.stderr.take().expect("a pipe");
    let address = address_in(BufReader::new(told));
    (child, address)
}

fn probot(folder: &Path) -> (Child, SocketAddr) {
    std::fs::write(folder.join("package.json"), "{\"type\": \"module\"}").expect("a file");
    std::fs::write(folder.join("server.js"), PROBOT_SERVER).expect("a file");
    let install = ["install", "--no-audit", "--no-fund", PROBOT];
    done(Command::new("npm").args(install).current_dir(folder));
    let mut child = Command::new("node")
        .arg("server.js")
        .env("SECRET", SECRET)
        .env("NODE_ENV", "production")
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let told = child.stdout.take().expect("a pipe");
    let address = address_in(BufReader::new(told));
    (child, address)
}

/// The first address that a process prints. What it prints later is read and forgotten.
fn address_in<R: std::io::Read + Send + 'static>(mut told: BufReader<R>) -> SocketAddr {
    let mut line = String::new();
    let address = loop {
        line.clear();
        assert!(
            told.read_line(&mut line).is_ok_and(|n| n > 0),
            "it ended before it listened"
        );
        let found = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("http://"));
        if let Some(address) = found.and_then(|text| text.parse().ok()) {
            break address;
        }
    };
    std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
    address
}

/// Requests a second, and the 99th percentile of what one took in milliseconds.
///
/// One thread asks on all connections and copies no body: what the load takes of the machine, the server
/// that is measured does not have.
fn load(address: SocketAddr, path: &str, expected: u16, bodies: &[String]) -> (f64, f64) {
    let requests: Arc<[(String, Bytes)]> = bodies
        .iter()
        .map(|body| {
            let signature = frostline::webhook::sign(SECRET, body.as_bytes());
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
                 x-github-event: pull_request\r\nx-hub-signature-256: {signature}\r\n\
                 content-length: {}\r\nx-github-delivery: ",
                body.len()
            );
            (head, Bytes::from(body.clone()))
        })
        .collect();
    let start = Instant::now();
    let clients = (0..CONNECTIONS).map(|_| client(address, expected, Arc::clone(&requests), start));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime");
    let times = runtime.block_on(async { clients.collect::<JoinSet<_>>().join_all().await });
    let took = start.elapsed().as_secs_f64();
    let mut times = times.concat();
    times.sort_unstable();
    let tail = times[times.len() * 99 / 100];
    (times.len() as f64 / took, tail.as_secs_f64() * 1000.0)
}

/// Asks one thing after another on one connection until the round is over; what each took.
async fn client(
    address: SocketAddr,
    expected: u16,
    requests: Arc<[(String, Bytes)]>,
    start: Instant,
) -> Vec<Duration> {
    static DELIVERY: AtomicUsize = AtomicUsize::new(0);
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let mut times = Vec::new();
    while start.elapsed() < ROUND {
        let id = DELIVERY.fetch_add(1, Ordering::Relaxed);
        let (head, body) = &requests[id % requests.len()];
        let head = format!("{head}bench-{id}\r\n\r\n");
        let asked = Instant::now();
        let mut request = Buf::chain(head.as_bytes(), body.clone());
        stream
            .write_all_buf(&mut request)
            .await
            .expect("a request is sent");
        assert_eq!(status(&mut stream).await, expected);
        times.push(asked.elapsed());
    }
    times
}

/// Reads one answer to its end; gives its status.
async fn status(stream: &mut TcpStream) -> u16 {
    let mut answer = Vec::with_capacity(1024);
    loop {
        let length = stream.read_buf(&mut answer).await.expect("an answer");
        assert!(length > 0, "the connection ended");
        let text = std::str::from_utf8(&answer).expect("text");
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let announced = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.parse().ok())?
        });
        let is_whole = match announced {
            Some(length) => body.len() >= length,
            None => body.ends_with("0\r\n\r\n"),
        };
        if is_whole {
            let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
            return status.expect("a status");
        }
    }
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
