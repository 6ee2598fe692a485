//! The server's configuration (interfaces section 3): `frostline.toml`, then `FROSTLINE_…` variables,
//! then flags.
//!
//! Invariant: secrets come from files or the environment, never from flags, and no type that holds
//! one can be printed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use url::Url;

pub use super::github::GithubConfig;
use super::github::github;
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

pub(super) fn http_url(setting: &Setting, example: &str) -> Result<Url, ConfigError> {
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

pub(super) fn missing(key: &str, what: &str) -> ConfigError {
    ConfigError::new(
        format!("`{key}`"),
        format!(
            "{what} is not set; write it in {DEFAULT_FILE}, or set {}",
            variable(key)
        ),
    )
}

/// Reads a small text file; `place` is what names it in the configuration.
pub(super) fn read(path: &Path, place: &str) -> Result<String, ConfigError> {
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
