//! The server's configuration (interfaces section 3): `frostline.toml`, then `FROSTLINE_…` variables,
//! then flags.
//!
//! Invariant: secrets come from files or the environment, never from flags, and no type that holds
//! one can be printed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use super::credentials::{Credentials, DEFAULT_CREDENTIALS};
pub use super::layers::ConfigError;
use super::layers::{ENV_PREFIX, Layers, Setting, variable};

/// The file that is read when none is named.
pub const DEFAULT_FILE: &str = "frostline.toml";

/// Largest configuration or secret file, bytes.
const FILE_LIMIT: u64 = 1024 * 1024;

/// A secret. It has neither `Debug` nor `Display`, so it gets into no message by accident.
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself; hand it only to what needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// How to reach the forge, and as whom.
pub struct GithubConfig {
    pub app_id: u64,
    /// The App's RSA key, PEM.
    pub private_key: Secret,
    /// At least one.
    pub webhook_secrets: Vec<Secret>,
    /// `https://api.github.com`, or `https://host/api/v3`.
    pub api_url: Url,
    /// `api_url` may be plain http to this machine.
    pub allow_http_loopback: bool,
    /// The files that key and secrets were read from.
    pub secret_files: Vec<PathBuf>,
}

/// Everything `serve` needs.
pub struct ServerConfig {
    pub bind: SocketAddr,
    /// Where this server is reached from outside; `None` if it was not told.
    pub public_url: Option<Url>,
    pub database_url: String,
    pub github: GithubConfig,
    pub log_format: LogFormat,
    /// Where `/metrics` listens; `None`: at `bind`.
    pub metrics_bind: Option<SocketAddr>,
    /// Jobs at once.
    pub concurrency: usize,
    /// How long a job whose worker died stays taken before another takes it up.
    pub lease: Duration,
}

/// Flags of the command line: (name without dashes, key, value).
pub type Flags = Vec<(&'static str, &'static str, String)>;

impl ServerConfig {
    /// Lays file, environment and flags over each other, and reads the files of the secrets.
    ///
    /// `file`: the named file, which must exist; or `None` for [`DEFAULT_FILE`] if there is one.
    pub fn load(file: Option<&Path>, flags: Flags) -> Result<Self, ConfigError> {
        let (layers, env) = load_layers(file, flags)?;
        Self::of(&layers, &env)
    }

    /// [`ServerConfig::load`] with the environment as an argument.
    pub fn from_layers(
        file: Option<&Path>,
        env: &BTreeMap<String, String>,
        flags: Flags,
    ) -> Result<Self, ConfigError> {
        Self::of(&lay(file, env, flags)?, env)
    }

    fn of(layers: &Layers, env: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        Ok(Self {
            bind: bind(layers)?,
            public_url: public_url(layers)?,
            database_url: database_url(layers)?,
            github: github(layers, env)?,
            log_format: log_format(layers)?,
            metrics_bind: metrics_bind(layers)?,
            concurrency: concurrency(layers)?,
            lease: lease(layers)?,
        })
    }
}

/// The layers of [`ServerConfig::load`], and the environment.
pub(super) fn load_layers(
    file: Option<&Path>,
    flags: Flags,
) -> Result<(Layers, BTreeMap<String, String>), ConfigError> {
    let env = environment()?;
    let default = Path::new(DEFAULT_FILE);
    let file = file.or_else(|| default.exists().then_some(default));
    Ok((lay(file, &env, flags)?, env))
}

fn environment() -> Result<BTreeMap<String, String>, ConfigError> {
    let mut env = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.into_string(), value.into_string());
        match (name, value) {
            (Ok(name), Ok(value)) => {
                env.insert(name, value);
            }
            (Ok(name), Err(_)) if name.starts_with(ENV_PREFIX) => {
                return Err(ConfigError::new(
                    format!("environment variable {name}"),
                    "the value is not UTF-8",
                ));
            }
            _ => {}
        }
    }
    Ok(env)
}

fn lay(
    file: Option<&Path>,
    env: &BTreeMap<String, String>,
    flags: Flags,
) -> Result<Layers, ConfigError> {
    let mut layers = Layers::default();
    if let Some(file) = file {
        let text = read(file, &file.display().to_string())?;
        layers.add_file(file, &text)?;
    }
    layers.add_env(env)?;
    for (flag, key, value) in flags {
        layers.add_flag(flag, key, value)?;
    }
    Ok(layers)
}

pub(super) fn bind(layers: &Layers) -> Result<SocketAddr, ConfigError> {
    layers.get("bind").map_or_else(
        || Ok(SocketAddr::from(([127, 0, 0, 1], 8080))),
        |setting| address(setting, "127.0.0.1:8080"),
    )
}

fn metrics_bind(layers: &Layers) -> Result<Option<SocketAddr>, ConfigError> {
    let setting = layers.get("metrics.bind");
    setting
        .map(|setting| address(setting, "127.0.0.1:9090"))
        .transpose()
}

fn address(setting: &Setting, example: &str) -> Result<SocketAddr, ConfigError> {
    setting.text()?.parse().map_err(|_| {
        setting.error(format!(
            "expected an address and a port, for example {example}"
        ))
    })
}

pub(super) fn public_url(layers: &Layers) -> Result<Option<Url>, ConfigError> {
    layers
        .get("public_url")
        .map(|setting| http_url(setting, "https://frostline.example.com"))
        .transpose()
}

fn http_url(setting: &Setting, example: &str) -> Result<Url, ConfigError> {
    let bad = || setting.error(format!("expected an URL like {example}"));
    let url = Url::parse(setting.text()?).map_err(|_| bad())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(bad()) }
}

fn database_url(layers: &Layers) -> Result<String, ConfigError> {
    let Some(setting) = layers.get("database_url") else {
        return Ok("sqlite://frostline.db".to_owned());
    };
    let url = setting.text()?;
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        // The URL may hold a password: it is not repeated.
        return Err(setting.error(
            "this version keeps its data in SQLite only; write sqlite://FILE, for example sqlite://frostline.db",
        ));
    }
    if !url.starts_with("sqlite://") {
        return Err(setting.error("expected sqlite://FILE, for example sqlite://frostline.db"));
    }
    Ok(url.to_owned())
}

pub(super) fn log_format(layers: &Layers) -> Result<LogFormat, ConfigError> {
    layers
        .get("log.format")
        .map_or(Ok(LogFormat::Text), |setting| match setting.text()? {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            other => Err(setting.error(format!("expected text or json, found {other:?}"))),
        })
}

fn concurrency(layers: &Layers) -> Result<usize, ConfigError> {
    layers.get("queue.concurrency").map_or(Ok(4), |setting| {
        match usize::try_from(setting.number()?) {
            Ok(jobs @ 1..=64) => Ok(jobs),
            _ => Err(setting.error("expected a number of jobs from 1 to 64")),
        }
    })
}

fn lease(layers: &Layers) -> Result<Duration, ConfigError> {
    layers
        .get("queue.lease_seconds")
        .map_or(Ok(Duration::from_secs(60)), |setting| {
            match setting.number()? {
                seconds @ 1..=3600 => Ok(Duration::from_secs(seconds)),
                _ => Err(setting.error("expected a number of seconds from 1 to 3600")),
            }
        })
}

fn github(layers: &Layers, env: &BTreeMap<String, String>) -> Result<GithubConfig, ConfigError> {
    let mut files = Vec::new();
    let registered = registered(layers, &mut files)?;
    let (app_id, registered) = match (layers.get("github.app_id"), registered) {
        // What the file says of another App counts for nothing.
        (Some(setting), registered) => {
            let id = setting.number()?;
            (id, registered.filter(|app| app.app_id == id))
        }
        (None, Some(app)) => (app.app_id, Some(app)),
        (None, None) => {
            let mut error = missing("github.app_id", "the App's numeric id");
            error
                .message
                .push_str("; or register an App with `frostline setup`");
            return Err(error);
        }
    };
    let (of_file, secrets_of_file, api_of_file) = match registered {
        Some(app) => (
            Some(app.private_key),
            app.webhook_secrets,
            Some(app.api_url),
        ),
        None => (None, Vec::new(), None),
    };
    let allow_http_loopback = allow_http_loopback(layers)?;
    Ok(GithubConfig {
        app_id,
        private_key: private_key(layers, env, of_file, &mut files)?,
        webhook_secrets: webhook_secrets(layers, env, secrets_of_file, &mut files)?,
        api_url: api_url(layers, api_of_file, allow_http_loopback)?,
        allow_http_loopback,
        secret_files: files,
    })
}

/// The file that registering an App writes.
pub(super) fn credentials_file(layers: &Layers) -> Result<PathBuf, ConfigError> {
    layers
        .get("github.credentials_file")
        .map_or_else(|| Ok(PathBuf::from(DEFAULT_CREDENTIALS)), Setting::path)
}

/// The App of that file, if it was named or there is one.
fn registered(
    layers: &Layers,
    files: &mut Vec<PathBuf>,
) -> Result<Option<Credentials>, ConfigError> {
    let path = credentials_file(layers)?;
    let place = match layers.get("github.credentials_file") {
        Some(setting) => setting.place.to_string(),
        None if path.exists() => path.display().to_string(),
        None => return Ok(None),
    };
    let text = read(&path, &place)?;
    let app = Credentials::parse(&text, &path.display().to_string())?;
    files.push(path);
    Ok(Some(app))
}

fn private_key(
    layers: &Layers,
    env: &BTreeMap<String, String>,
    registered: Option<Secret>,
    files: &mut Vec<PathBuf>,
) -> Result<Secret, ConfigError> {
    let keys = ("github.private_key_file", "github.private_key_env");
    if let Some(key) = registered.filter(|_| !is_set(layers, keys)) {
        return Ok(key);
    }
    let (setting, text) = secret_text(layers, env, keys, "the App's private key", files)?;
    if !text.contains("-----BEGIN") {
        return Err(setting.error(
            "this is no private key; expected the PEM file that the forge made, which begins with -----BEGIN",
        ));
    }
    Ok(Secret(text))
}

fn webhook_secrets(
    layers: &Layers,
    env: &BTreeMap<String, String>,
    registered: Vec<Secret>,
    files: &mut Vec<PathBuf>,
) -> Result<Vec<Secret>, ConfigError> {
    let keys = ("github.webhook_secret_file", "github.webhook_secret_env");
    if !registered.is_empty() && !is_set(layers, keys) {
        return Ok(registered);
    }
    let (setting, text) = secret_text(layers, env, keys, "the webhook's secret", files)?;
    let secrets: Vec<Secret> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(Secret::new)
        .collect();
    if secrets.is_empty() {
        return Err(setting.error("it holds no secret; write one a line"));
    }
    Ok(secrets)
}

fn is_set(layers: &Layers, (file, env): (&'static str, &'static str)) -> bool {
    layers.get(file).is_some() || layers.get(env).is_some()
}

pub(super) fn allow_http_loopback(layers: &Layers) -> Result<bool, ConfigError> {
    layers
        .get("github.allow_http_loopback")
        .map_or(Ok(false), Setting::truth)
}

/// `registered` is what the file of credentials says.
pub(super) fn api_url(
    layers: &Layers,
    registered: Option<Url>,
    allow_http: bool,
) -> Result<Url, ConfigError> {
    let (url, place) = match (layers.get("github.api_url"), registered) {
        (Some(setting), _) => (
            http_url(setting, "https://api.github.com or https://HOST/api/v3")?,
            setting.place.to_string(),
        ),
        (None, Some(url)) => (url, "api_url of the credentials".to_owned()),
        (None, None) => {
            return Url::parse("https://api.github.com")
                .map_err(|error| ConfigError::new("github.api_url", error.to_string()));
        }
    };
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    if url.scheme() != "https" && !(url.scheme() == "http" && allow_http && loopback) {
        return Err(ConfigError::new(
            place,
            "plain http would send tokens in the clear; write https (`github.allow_http_loopback = true` \
             permits http to this machine, for tests)",
        ));
    }
    Ok(url)
}

pub(super) fn missing(key: &str, what: &str) -> ConfigError {
    ConfigError::new(
        format!("`{key}`"),
        format!(
            "{what} is not set; write it in {DEFAULT_FILE}, or set {}",
            variable(key)
        ),
    )
}

/// The text that a `…_file` key points to or that stands in the variable a `…_env` key names.
fn secret_text<'a>(
    layers: &'a Layers,
    env: &BTreeMap<String, String>,
    (file_key, env_key): (&'static str, &'static str),
    what: &str,
    files: &mut Vec<PathBuf>,
) -> Result<(&'a Setting, String), ConfigError> {
    if let Some(setting) = layers.get(file_key) {
        let path = setting.path()?;
        let text = read(&path, &setting.place.to_string())?;
        files.push(path);
        return Ok((setting, text));
    }
    let setting = layers.get(env_key).ok_or_else(|| missing(file_key, what))?;
    let name = setting.text()?;
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        // It may be the secret itself, so it is not repeated.
        return Err(setting.error("expected the name of an environment variable, not its value"));
    }
    env.get(name)
        .map(|text| (setting, text.clone()))
        .ok_or_else(|| setting.error(format!("the environment variable {name} is not set")))
}

/// Reads a small text file; `place` is what names it in the configuration.
fn read(path: &Path, place: &str) -> Result<String, ConfigError> {
    let cannot =
        |why: String| ConfigError::new(place, format!("cannot read {}: {why}", path.display()));
    let length = std::fs::metadata(path)
        .map_err(|error| cannot(error.to_string()))?
        .len();
    if length > FILE_LIMIT {
        return Err(cannot(format!("it is larger than {FILE_LIMIT} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))
}
