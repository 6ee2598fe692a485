//! The server's configuration, health, and the server together with its runner.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use frostline::config::server::{ConfigError, LogFormat, Secret, ServerConfig};
use frostline::metrics::Metrics;
use frostline::server::{App, AppState, HttpServer, ServeParts};
use frostline::store::{Lease, Store};
use frostline::webhook::{Secrets, sign};
use frostline::work::{Handler, Outcome, Pulse, RunnerSettings};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

// ---- Configuration ----

const KEY: &str =
    "-----BEGIN RSA PRIVATE KEY-----\nsecretkeybytes\n-----END RSA PRIVATE KEY-----\n";

/// A folder with a configuration file beside the files of the secrets.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(config: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("key.pem", KEY);
        folder.write("secrets", "first secret\n\n  second secret  \n");
        folder.write("frostline.toml", config);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("frostline.toml")
    }

    fn load(&self, env: &[(&str, &str)], flags: &[(&'static str, &'static str, &str)]) -> Loaded {
        let env = pairs(env);
        let flags = flags
            .iter()
            .map(|(flag, key, value)| (*flag, *key, (*value).to_owned()))
            .collect();
        ServerConfig::from_layers(Some(&self.path()), &env, flags)
    }

    fn refusal(&self, env: &[(&str, &str)]) -> String {
        refusal(self.load(env, &[]))
    }
}

type Loaded = Result<ServerConfig, ConfigError>;

fn pairs(env: &[(&str, &str)]) -> BTreeMap<String, String> {
    env.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn refusal(loaded: Loaded) -> String {
    match loaded {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    }
}

const GITHUB: &str = "\
[github]
app_id = 12
private_key_file = 'key.pem'
webhook_secret_file = 'secrets'
";

#[test]
fn a_file_with_the_least_settings_is_enough() {
    let config = Folder::new(GITHUB).load(&[], &[]).unwrap();
    assert_eq!(config.bind.to_string(), "127.0.0.1:8080");
    assert_eq!(config.database_url, "sqlite://frostline.db");
    assert_eq!(config.public_url, None);
    assert_eq!(config.log_format, LogFormat::Text);
    assert_eq!(config.concurrency, 4);
    assert_eq!(config.metrics_bind, None);
    assert_eq!(config.lease, Duration::from_secs(60));
    assert_eq!(config.github.app_id, 12);
    assert_eq!(config.github.api_url.as_str(), "https://api.github.com/");
    assert_eq!(config.github.private_key.expose(), KEY);
    let secrets: Vec<&str> = config
        .github
        .webhook_secrets
        .iter()
        .map(Secret::expose)
        .collect();
    assert_eq!(secrets, ["first secret", "second secret"]);
}

#[test]
fn the_environment_wins_over_the_file_and_flags_over_both() {
    let folder = Folder::new(&format!("bind = '127.0.0.1:1'\n{GITHUB}"));
    let port = |loaded: Loaded| loaded.unwrap().bind.port();
    assert_eq!(port(folder.load(&[], &[])), 1);
    let env = [("FROSTLINE_BIND", "127.0.0.1:2")];
    assert_eq!(port(folder.load(&env, &[])), 2);
    let flag = [("bind", "bind", "127.0.0.1:3")];
    assert_eq!(port(folder.load(&env, &flag)), 3);
}

#[test]
fn everything_can_come_from_the_environment() {
    let env = pairs(&[
        ("FROSTLINE_GITHUB__APP_ID", "7"),
        ("FROSTLINE_GITHUB__PRIVATE_KEY_ENV", "FROSTLINE_KEY"),
        ("FROSTLINE_KEY", KEY),
        ("FROSTLINE_GITHUB__WEBHOOK_SECRET_ENV", "HOOK_SECRETS"),
        ("HOOK_SECRETS", "one\ntwo"),
        ("FROSTLINE_GITHUB__API_URL", "http://127.0.0.1:9/api/v3"),
        ("FROSTLINE_GITHUB__ALLOW_HTTP_LOOPBACK", "true"),
        ("FROSTLINE_LOG__FORMAT", "json"),
        ("FROSTLINE_QUEUE__CONCURRENCY", "9"),
        ("FROSTLINE_PUBLIC_URL", "https://frostline.example.com"),
        ("PATH", "/bin"),
    ]);
    let config = ServerConfig::from_layers(None, &env, Vec::new()).unwrap();
    assert_eq!(config.github.app_id, 7);
    assert_eq!(config.github.webhook_secrets.len(), 2);
    assert!(config.github.allow_http_loopback);
    assert_eq!(config.log_format, LogFormat::Json);
    assert_eq!(config.concurrency, 9);
}

#[test]
fn a_higher_layer_says_in_its_own_way_where_a_secret_is() {
    let folder = Folder::new(GITHUB);
    let env = [
        ("FROSTLINE_GITHUB__WEBHOOK_SECRET_ENV", "HOOK"),
        ("HOOK", "from the environment"),
    ];
    let config = folder.load(&env, &[]).unwrap();
    assert_eq!(
        config.github.webhook_secrets[0].expose(),
        "from the environment"
    );

    let both = Folder::new(&format!("{GITHUB}webhook_secret_env = 'HOOK'\n"));
    assert!(both.refusal(&[]).contains("keep one of them"));
}

#[test]
fn an_unknown_key_is_an_error_that_names_its_place_and_the_likely_key() {
    let told = Folder::new(&format!("bnid = 'x'\n{GITHUB}")).refusal(&[]);
    assert!(
        told.contains("frostline.toml:1: unknown key `bnid`; did you mean `bind`?"),
        "{told}"
    );
    let told = Folder::new(&format!("{GITHUB}app_ld = 1\n")).refusal(&[]);
    assert!(
        told.contains("frostline.toml:5: ") && told.contains("`github.app_id`"),
        "{told}"
    );
    let told = Folder::new(&format!("{GITHUB}[gitlab]\nx = 1\n")).refusal(&[]);
    assert!(
        told.contains("frostline.toml:5: unknown key `gitlab`"),
        "{told}"
    );
    let told = Folder::new(&format!("metric.bind = 'x'\n{GITHUB}")).refusal(&[]);
    assert!(told.contains("unknown key `metric`"), "{told}");

    for (name, near) in [
        ("FROSTLINE_GITHUB__APPID", "FROSTLINE_GITHUB__APP_ID?"),
        ("FROSTLINE_GITHUB_APP_ID", "FROSTLINE_GITHUB__APP_ID?"),
        ("FROSTLINE_github__app_id", "FROSTLINE_GITHUB__APP_ID?"),
        ("FROSTLINE_DATABASE", "FROSTLINE_DATABASE_URL?"),
    ] {
        let told = Folder::new(GITHUB).refusal(&[(name, "1")]);
        let place = format!("environment variable {name}: no setting");
        assert!(told.contains(&place) && told.contains(near), "{told}");
    }
}

#[test]
fn a_value_that_cannot_be_used_names_its_place_and_what_was_expected() {
    for (line, place, expected) in [
        ("bind = 'localhost'", ":1: ", "127.0.0.1:8080"),
        ("bind = 8080", ":1: ", "a text in quotes"),
        ("metrics.bind = '9090'", ":1: ", "127.0.0.1:9090"),
        ("bind = ''", ":1: ", "a text"),
        ("bind = ['x']", ":1: ", "`bind` is a text"),
        ("\nbind = { port = 1 }", ":2: ", "`bind` is a text"),
        ("queue.concurrency = 0", ":1: ", "1 to 64"),
        ("queue.concurrency = 65", ":1: ", "1 to 64"),
        ("queue.concurrency = -1", ":1: ", "out of range"),
        ("queue.lease_seconds = 0", ":1: ", "1 to 3600"),
        ("queue.concurrency = '4'", ":1: ", "leave the quotes out"),
        ("queue = 4", ":1: ", "unknown key `queue`"),
        ("log.format = 'xml'", ":1: ", "text or json"),
        (
            "public_url = 'frostline.example.com'",
            ":1: ",
            "https://frostline.example.com",
        ),
        (
            "public_url = 'ftp://x'",
            ":1: ",
            "https://frostline.example.com",
        ),
        ("database_url = 'mysql://x'", ":1: ", "sqlite://FILE"),
        ("bind = ", ":1: ", ""),
        ("bind = 'a:1'\nbind = 'b:1'", ":2: ", "duplicate"),
    ] {
        let told = Folder::new(&format!("{line}\n{GITHUB}")).refusal(&[]);
        assert!(
            told.contains(&format!("frostline.toml{place}")) && told.contains(expected),
            "{line}: {told}"
        );
    }
    let told = Folder::new(GITHUB).refusal(&[("FROSTLINE_QUEUE__CONCURRENCY", "many")]);
    assert!(
        told.contains("environment variable FROSTLINE_QUEUE__CONCURRENCY"),
        "{told}"
    );
}

#[test]
fn another_database_is_refused_without_telling_its_password() {
    let told = Folder::new(&format!(
        "database_url = 'postgres://u:hunter2@h/d'\n{GITHUB}"
    ))
    .refusal(&[]);
    assert!(
        told.contains("SQLite only") && told.contains("sqlite://FILE"),
        "{told}"
    );
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn tokens_go_over_plain_http_to_this_machine_only_and_only_when_told() {
    let load = |url: &str, allow: bool| {
        Folder::new(&format!(
            "{GITHUB}api_url = '{url}'\nallow_http_loopback = {allow}\n"
        ))
        .load(&[], &[])
    };
    for url in [
        "http://127.0.0.1:9",
        "http://[::1]:9/api/v3",
        "http://localhost",
    ] {
        assert!(load(url, true).is_ok(), "{url}");
        assert!(refusal(load(url, false)).contains("https"), "{url}");
    }
    for url in [
        "http://example.com",
        "http://127.0.0.1.example.com",
        "http://10.0.0.1",
    ] {
        assert!(refusal(load(url, true)).contains("https"), "{url}");
    }
    for url in [
        "https://user:pw@x",
        "https://x/?q=1",
        "https://x/#f",
        "file:///etc/passwd",
    ] {
        assert!(load(url, true).is_err(), "{url}");
    }
    assert!(load("https://ghes.example.com/api/v3", false).is_ok());
}

#[test]
fn what_is_missing_is_named_with_both_ways_to_set_it() {
    for (left_out, key, variable) in [
        ("app_id", "`github.app_id`", "FROSTLINE_GITHUB__APP_ID"),
        (
            "private_key_file",
            "`github.private_key_file`",
            "FROSTLINE_GITHUB__PRIVATE_KEY_FILE",
        ),
        (
            "webhook_secret_file",
            "`github.webhook_secret_file`",
            "FROSTLINE_GITHUB__WEBHOOK_SECRET_FILE",
        ),
    ] {
        let rest: Vec<&str> = GITHUB
            .lines()
            .filter(|line| !line.starts_with(left_out))
            .collect();
        let told = Folder::new(&rest.join("\n")).refusal(&[]);
        assert!(told.contains(key) && told.contains(variable), "{told}");
    }
}

#[test]
fn a_secret_that_cannot_be_read_is_named_but_never_shown() {
    let folder = Folder::new(GITHUB);
    std::fs::remove_file(folder.0.path().join("secrets")).unwrap();
    let told = folder.refusal(&[]);
    assert!(
        told.contains("frostline.toml:4: cannot read") && told.contains("secrets"),
        "{told}"
    );
    folder.write("secrets", "\n \n");
    assert!(folder.refusal(&[]).contains("it holds no secret"));

    folder.write("secrets", "s");
    folder.write("key.pem", "hunter2");
    let told = folder.refusal(&[]);
    assert!(
        told.contains("no private key") && !told.contains("hunter2"),
        "{told}"
    );

    // The key itself in the place of the variable's name.
    let told = Folder::new(GITHUB).refusal(&[("FROSTLINE_GITHUB__PRIVATE_KEY_ENV", KEY)]);
    assert!(
        told.contains("the name of an environment variable"),
        "{told}"
    );
    assert!(!told.contains("secretkeybytes"), "{told}");
    let told = Folder::new(GITHUB).refusal(&[("FROSTLINE_GITHUB__PRIVATE_KEY_ENV", "NOT_SET")]);
    assert!(told.contains("NOT_SET is not set"), "{told}");
}

#[test]
fn a_named_file_must_exist() {
    let told = refusal(ServerConfig::from_layers(
        Some(Path::new("/no/such/frostline.toml")),
        &BTreeMap::new(),
        Vec::new(),
    ));
    assert!(
        told.contains("cannot read /no/such/frostline.toml"),
        "{told}"
    );
}

#[test]
fn the_example_configuration_holds_only_settings_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    let example = std::fs::read_to_string(root.join("frostline.toml")).unwrap();
    let folder = Folder::new(&example);
    folder.write("private-key.pem", KEY);
    folder.write("webhook-secrets", "s");
    assert!(folder.load(&[], &[]).is_ok(), "{}", folder.refusal(&[]));

    // What is commented out has to work as well.
    let all: String = example
        .lines()
        .map(|line| match line.strip_prefix("#") {
            Some(setting) if setting.contains(" = ") && !setting.starts_with(' ') => setting,
            _ => line,
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_ne!(all, example);
    let app = "app_id = 1\napi_url = 'https://api.github.com'\nprivate_key = 'x'\nwebhook_secrets = ['s']\n";
    folder.write("frostline-app.toml", app);
    folder.write("frostline.toml", &all);
    assert!(folder.load(&[], &[]).is_ok(), "{}", folder.refusal(&[]));

    let unit = std::fs::read_to_string(root.join("frostline.service")).unwrap();
    let env: BTreeMap<String, String> = unit
        .lines()
        .filter_map(|line| line.strip_prefix("Environment=")?.split_once('='))
        .map(|(name, value)| {
            let folder = folder.0.path().display().to_string();
            (name.to_owned(), value.replace("%d", &folder))
        })
        .collect();
    assert!(!env.is_empty());
    ServerConfig::from_layers(Some(&folder.path()), &env, Vec::new()).unwrap();
}

// ---- Health ----

async fn get(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("http://{address}{path}"))
        .await
        .unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn store_in(folder: &tempfile::TempDir) -> Store {
    let url = format!("sqlite://{}/frostline.db", folder.path().display());
    Store::open(&url).await.unwrap()
}

#[tokio::test]
async fn ready_says_which_part_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder).await;
    let secrets = Secrets::new(["s"]).unwrap();
    // No runner beats this pulse.
    let state = AppState::new(store.clone(), secrets, Pulse::default());
    let server = HttpServer::bind(([127, 0, 0, 1], 0).into(), state)
        .await
        .unwrap();
    let address = server.address();
    let stop = CancellationToken::new();
    let served = tokio::spawn(server.run(stop.clone()));
    let (status, body) = get(address, "/readyz").await;
    let ready: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, ready),
        (503, json!({"database": "ok", "queue": "problem"}))
    );

    store.close().await;
    let (status, body) = get(address, "/readyz").await;
    assert_eq!(status, 503);
    assert!(body.contains(r#""database":"problem""#), "{body}");
    assert_eq!(get(address, "/healthz").await.0, 200, "the process lives");
    stop.cancel();
    served.await.unwrap();
}

// ---- The server and its runner ----

/// Tells each lease it gets, and ends when it is let.
struct Gate {
    started: mpsc::UnboundedSender<Lease>,
    let_go: Arc<Semaphore>,
}

impl Handler for Gate {
    async fn run(&self, lease: &Lease) -> Outcome {
        self.started.send(lease.clone()).unwrap();
        match self.let_go.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => {
                return Outcome::Dead {
                    why: "closed".into(),
                };
            }
        }
        Outcome::Done
    }
}

struct Running {
    app: App,
    started: mpsc::UnboundedReceiver<Lease>,
    let_go: Arc<Semaphore>,
}

async fn start(folder: &tempfile::TempDir, grace: Duration) -> Running {
    let (started, starts) = mpsc::unbounded_channel();
    let let_go = Arc::new(Semaphore::new(0));
    let app = App::start(ServeParts {
        sweep_every: None,
        app_id: None,
        bind: ([127, 0, 0, 1], 0).into(),
        store: store_in(folder).await,
        secrets: Secrets::new(["s"]).unwrap(),
        links: None,
        handler: Gate {
            started,
            let_go: Arc::clone(&let_go),
        },
        runner: RunnerSettings {
            grace,
            ..RunnerSettings::default()
        },
        metrics: Metrics::default(),
        metrics_bind: None,
    })
    .await
    .unwrap();
    assert_ne!(app.address().port(), 0, "the real port");
    Running {
        app,
        started: starts,
        let_go,
    }
}

async fn deliver(running: &Running, id: &str, number: u64) {
    let body = json!({
        "action": "opened",
        "number": number,
        "repository": {"full_name": "acme/parser"},
        "installation": {"id": 1},
        "pull_request": {},
    })
    .to_string();
    let response = reqwest::Client::new()
        .post(format!("http://{}/webhooks/github", running.app.address()))
        .header("x-hub-signature-256", sign("s", body.as_bytes()))
        .header("x-github-event", "pull_request")
        .header("x-github-delivery", id)
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status().as_u16(), 202);
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen"))
}

#[tokio::test]
async fn a_webhook_starts_its_job_and_a_shutdown_lets_it_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(&folder, Duration::from_secs(60)).await;
    deliver(&running, "d1", 7).await;
    let lease = soon("the job", running.started.recv()).await.unwrap();
    assert_eq!(lease.task.number().unwrap().0, 7);
    assert_eq!(get(running.app.address(), "/readyz").await.0, 200);

    let stop = tokio::spawn(running.app.stop());
    running.let_go.add_permits(1);
    soon("the stop", stop).await.unwrap().unwrap();
    let counts = store_in(&folder).await.queue_counts().await.unwrap();
    assert_eq!((counts.done, counts.queued, counts.running), (1, 0, 0));
}

#[tokio::test]
async fn what_a_shutdown_breaks_off_the_next_start_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(&folder, Duration::ZERO).await;
    deliver(&running, "d1", 7).await;
    soon("the job", running.started.recv()).await.unwrap();
    soon("the stop", running.app.stop()).await.unwrap();

    let mut next = start(&folder, Duration::from_secs(60)).await;
    next.let_go.add_permits(1);
    let lease = soon("the job", next.started.recv()).await.unwrap();
    assert_eq!((lease.task.number().unwrap().0, lease.attempt), (7, 1));
    soon("the stop", next.app.stop()).await.unwrap();
    let counts = store_in(&folder).await.queue_counts().await.unwrap();
    assert_eq!((counts.done, counts.queued, counts.running), (1, 0, 0));
}

#[tokio::test]
async fn jobs_of_several_pull_requests_run_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = start(&folder, Duration::ZERO).await;
    for number in 1..=3 {
        deliver(&running, &format!("d{number}"), number).await;
    }
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let lease = soon("the job", running.started.recv()).await.unwrap();
        numbers.push(lease.task.number().unwrap().0);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3]);
    soon("the stop", running.app.stop()).await.unwrap();
}

#[tokio::test]
async fn an_address_in_use_is_told_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(&folder, Duration::ZERO).await;
    let second = App::start(ServeParts {
        sweep_every: None,
        app_id: None,
        bind: running.app.address(),
        store: store_in(&folder).await,
        secrets: Secrets::new(["s"]).unwrap(),
        links: None,
        handler: Gate {
            started: mpsc::unbounded_channel().0,
            let_go: Arc::new(Semaphore::new(0)),
        },
        runner: RunnerSettings::default(),
        metrics: Metrics::default(),
        metrics_bind: None,
    })
    .await;
    let told = format!("{:#}", second.err().unwrap());
    assert!(
        told.contains("cannot listen on") && told.contains("`bind`"),
        "{told}"
    );
    running.app.stop().await.unwrap();
}
