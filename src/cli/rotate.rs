//! Key and webhook secrets are read again while the server runs, so that they can be rotated without a
//! restart: every few seconds, and at once at SIGHUP.
//!
//! Invariant: what cannot be used changes nothing; the key and secrets before it stay valid.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use tokio::signal::unix::Signal;

use crate::config::server::{ConfigError, GithubConfig, Secret};
use crate::forge::github::{App, AppKey};
use crate::webhook::{Secrets, SharedSecrets};

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(5);

/// Reads the configuration again, as the start did.
pub type Load = Arc<dyn Fn() -> Result<GithubConfig, ConfigError> + Send + Sync>;

/// What the configuration's key and secrets are, without keeping them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Print {
    key: [u8; 32],
    secrets: [u8; 32],
}

impl Print {
    pub fn of(github: &GithubConfig) -> Self {
        Self {
            key: digest([&github.private_key]),
            secrets: digest(&github.webhook_secrets),
        }
    }
}

fn digest<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for secret in secrets {
        hash.update(secret.expose().len().to_le_bytes());
        hash.update(secret.expose());
    }
    hash.finalize().into()
}

/// The App's key, ready to sign.
pub fn key(github: &GithubConfig) -> anyhow::Result<AppKey> {
    AppKey::from_pem(github.app_id, github.private_key.expose().as_bytes())
        .map_err(|why| anyhow::anyhow!("the App's private key is {why}; download a new one"))
}

/// The webhook's secrets, ready to verify.
pub fn secrets(github: &GithubConfig) -> anyhow::Result<Secrets> {
    Secrets::new(github.webhook_secrets.iter().map(Secret::expose))
        .context("the webhook has no secret")
}

/// What is exchanged, and by what.
pub struct Rotation {
    pub load: Load,
    pub forge: App,
    pub secrets: SharedSecrets,
    pub print: Print,
    /// What was wrong when they were read last; told once.
    pub trouble: Option<String>,
}

impl Rotation {
    /// Runs until it is dropped.
    pub async fn run(mut self, mut hangup: Signal) {
        loop {
            let asked = tokio::select! {
                received = hangup.recv() => received.is_some(),
                () = tokio::time::sleep(EVERY) => false,
            };
            if asked {
                self.trouble = None;
            }
            self.turn(asked).await;
        }
    }

    async fn turn(&mut self, asked: bool) {
        let load = Arc::clone(&self.load);
        let read = tokio::task::spawn_blocking(move || load()).await;
        let changed = match read {
            Ok(read) => read
                .map_err(anyhow::Error::new)
                .and_then(|github| self.exchange(&github)),
            Err(error) => Err(error.into()),
        };
        match changed {
            Ok(changed) => {
                self.trouble = None;
                if asked && !changed {
                    tracing::info!(
                        "key and secrets are as before; other settings are read at the next start"
                    );
                }
            }
            Err(error) => {
                let why = format!("{error:#}");
                if self.trouble.as_ref() != Some(&why) {
                    tracing::warn!(
                        why,
                        "key and secrets cannot be read again; those before stay"
                    );
                    self.trouble = Some(why);
                }
            }
        }
    }

    /// True if something was exchanged.
    fn exchange(&mut self, github: &GithubConfig) -> anyhow::Result<bool> {
        let print = Print::of(github);
        if print == self.print {
            return Ok(false);
        }
        let (key, secrets) = (key(github)?, secrets(github)?);
        if print.key != self.print.key {
            anyhow::ensure!(
                self.forge.replace_key(key),
                "the key is of another App; that takes a restart"
            );
            tracing::info!("the App's private key was replaced");
        }
        if print.secrets != self.print.secrets {
            self.secrets.replace(secrets);
            let valid = github.webhook_secrets.len();
            tracing::info!(valid, "the webhook's secrets were replaced");
        }
        self.print = print;
        Ok(true)
    }
}
