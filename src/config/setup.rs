//! What registering an App needs to know of the server's configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use url::Url;

use super::github;
use super::layers::{ConfigError, Layers};
use super::server::{self, Flags, LogFormat};

/// The settings of a server that has no App yet.
pub struct SetupConfig {
    pub bind: SocketAddr,
    /// Where the forge will reach the server.
    pub public_url: Url,
    pub api_url: Url,
    pub allow_http_loopback: bool,
    /// The file to write.
    pub credentials_file: PathBuf,
    pub log_format: LogFormat,
}

impl SetupConfig {
    /// As [`ServerConfig::load`](server::ServerConfig::load) reads them; what is said of an App counts for
    /// nothing.
    pub fn load(file: Option<&Path>, flags: Flags) -> Result<Self, ConfigError> {
        Self::of(&server::load_layers(file, flags)?.0)
    }

    /// The settings, if no App is configured but where the forge will reach the server is.
    pub fn unconfigured(file: Option<&Path>, flags: Flags) -> Result<Option<Self>, ConfigError> {
        let layers = server::load_layers(file, flags)?.0;
        let has_app = [
            "github.app_id",
            "github.private_key_file",
            "github.private_key_env",
            "github.webhook_secret_file",
            "github.webhook_secret_env",
        ]
        .into_iter()
        .any(|key| layers.get(key).is_some());
        let is_registered = github::credentials_file(&layers)?
            .symlink_metadata()
            .is_ok();
        if has_app || is_registered || layers.get("public_url").is_none() {
            return Ok(None);
        }
        Self::of(&layers).map(Some)
    }

    fn of(layers: &Layers) -> Result<Self, ConfigError> {
        let allow_http_loopback = github::allow_http_loopback(layers)?;
        Ok(Self {
            bind: server::bind(layers)?,
            public_url: server::public_url(layers)?.ok_or_else(|| {
                server::missing(
                    "public_url",
                    "where the forge will reach the server (--public-url)",
                )
            })?,
            api_url: github::api_url(layers, None, allow_http_loopback)?,
            allow_http_loopback,
            credentials_file: github::credentials_file(layers)?,
            log_format: server::log_format(layers)?,
        })
    }
}
