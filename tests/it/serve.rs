//! `frostline serve`: the real program, from its start to its end by a signal.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Output, Stdio};

use frostline::demo::forge::AppKey;
use frostline::store::Store;
use frostline::webhook::sign;
use serde_json::json;

const SECRET: &str = "the webhook's secret";

fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("key.pem", AppKey::generate().unwrap().private_pem());
    write("secrets", SECRET);
    write("frostline.toml", config);
    folder
}

/// Nobody listens at the forge's address: every job fails and waits for its next attempt.
const CONFIG: &str = "\
bind = '127.0.0.1:0'
[github]
app_id = 12
private_key_file = 'key.pem'
webhook_secret_file = 'secrets'
api_url = 'http://127.0.0.1:1'
allow_http_loopback = true
";

fn serve(folder: &tempfile::TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command
        .arg("serve")
        .current_dir(folder.path())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Killed when the test ends before its time.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn serve_prints_where_it_listens_and_ends_well_at_a_signal() {
    for signal in ["TERM", "INT"] {
        let folder = folder(CONFIG);
        let mut process = Process(serve(&folder).spawn().unwrap());
        let mut log = BufReader::new(process.0.stderr.take().unwrap());
        let mut told = String::new();
        let base = loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "it ended: {told}");
            told.push_str(&line);
            if let Some(base) = line.trim().strip_prefix("frostline listens on ") {
                break base.to_owned();
            }
        };
        let health = reqwest::get(format!("{base}/healthz")).await.unwrap();
        assert_eq!(health.status().as_u16(), 200);
        deliver(&base).await;

        let pid = process.0.id().to_string();
        let killed = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(killed.unwrap().success());
        log.read_to_string(&mut told).unwrap();
        assert_eq!(process.0.wait().unwrap().code(), Some(0), "{told}");
        assert!(told.contains("acme/parser"), "{told}");
        assert!(
            !told.contains(SECRET) && !told.contains("PRIVATE"),
            "{told}"
        );

        // The next start finds the job, and the sweep with which every start begins.
        let url = format!("sqlite://{}/frostline.db", folder.path().display());
        let counts = Store::open(&url)
            .await
            .unwrap()
            .queue_counts()
            .await
            .unwrap();
        assert_eq!((counts.queued, counts.running, counts.done), (2, 0, 0));
    }
}

async fn deliver(base: &str) {
    let body = json!({
        "action": "opened",
        "number": 7,
        "repository": {"full_name": "acme/parser"},
        "installation": {"id": 1},
        "pull_request": {},
    })
    .to_string();
    let response = reqwest::Client::new()
        .post(format!("{base}/webhooks/github"))
        .header("x-hub-signature-256", sign(SECRET, body.as_bytes()))
        .header("x-github-event", "pull_request")
        .header("x-github-delivery", "d1")
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status().as_u16(), 202);
}

fn refusal(output: Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "stdout is data");
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.lines().count(), 1, "one sentence: {told}");
    told
}

#[test]
fn serve_refuses_a_setting_it_does_not_know() {
    let misspelt = folder(&CONFIG.replace("app_id", "app_ids"));
    let told = refusal(serve(&misspelt).output().unwrap());
    assert!(
        told.contains(
            "frostline.toml:3: unknown key `github.app_ids`; did you mean `github.app_id`?"
        ),
        "{told}"
    );
    let good = folder(CONFIG);
    let told = refusal(serve(&good).env("FROSTLINE_BIN", "x").output().unwrap());
    assert!(
        told.contains("FROSTLINE_BIN: no setting has this name; did you mean FROSTLINE_BIND?"),
        "{told}"
    );
}

#[test]
fn serve_names_a_flag_whose_value_it_cannot_use() {
    let folder = folder(CONFIG);
    let told = refusal(serve(&folder).args(["--bind", "x"]).output().unwrap());
    assert!(
        told.contains("--bind: expected an address and a port"),
        "{told}"
    );
}

#[test]
fn serve_refuses_a_key_that_cannot_sign_without_showing_it() {
    let folder = folder(CONFIG);
    let key = "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n";
    std::fs::write(folder.path().join("key.pem"), key).unwrap();
    let told = refusal(serve(&folder).output().unwrap());
    assert!(
        told.contains("private key") && !told.contains("hunter2"),
        "{told}"
    );
}

#[test]
fn serve_without_a_configuration_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let told = refusal(serve(&folder).output().unwrap());
    assert!(
        told.contains("`github.app_id`") && told.contains("frostline.toml"),
        "{told}"
    );
}
