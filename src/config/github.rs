//! How the forge is reached, and as which App: the server's settings below `github.`, and the file that
//! registering an App writes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use super::credentials::{Credentials, DEFAULT_CREDENTIALS};
use super::layers::{ConfigError, Layers, Setting};
use super::server::{Secret, http_url, missing, read};

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

pub(super) fn github(
    layers: &Layers,
    env: &BTreeMap<String, String>,
) -> Result<GithubConfig, ConfigError> {
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
    Ok(Secret::new(text))
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
