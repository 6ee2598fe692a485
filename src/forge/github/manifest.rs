//! Registering an App from a manifest: what the forge makes of the code that it gave to the browser.

use http::Method;
use serde::Deserialize;
use url::Url;

use crate::forge::ForgeError;
use crate::metrics::Metrics;

use super::client::{SettingsError, checked_root};
use super::endpoints::segment;
use super::transport::{self, Call, Timeouts};

/// A new App. Its key and secret are told once; it has no `Debug`, so that they are printed nowhere.
#[derive(Deserialize)]
pub struct NewApp {
    pub id: u64,
    pub name: String,
    /// The App's page, where it is installed.
    pub html_url: Url,
    /// The private key.
    pub pem: String,
    /// `None` when the manifest's webhook is not active.
    pub webhook_secret: Option<String>,
}

/// Where an App is registered.
#[derive(Debug, Clone)]
pub struct Registry {
    api_url: Url,
    api_path: String,
}

impl Registry {
    /// `api_url` as in [`AppSettings`](super::AppSettings).
    pub fn new(api_url: Url, allow_http_loopback: bool) -> Result<Self, SettingsError> {
        let api_path = checked_root(&api_url, allow_http_loopback)?;
        Ok(Self { api_url, api_path })
    }

    pub fn api_url(&self) -> &Url {
        &self.api_url
    }

    /// The forge's pages for people: `https://github.com`, or the host of a GitHub Enterprise Server.
    pub fn site(&self) -> String {
        match self.api_url.host_str() {
            Some("api.github.com") => "https://github.com".to_owned(),
            _ => self.api_url.origin().ascii_serialization(),
        }
    }

    /// Exchanges the code for the App. A code is good once, for an hour.
    pub async fn convert(&self, code: &str) -> Result<NewApp, ForgeError> {
        let origin = self.api_url.origin().ascii_serialization();
        let transport = transport::build(&origin, Timeouts::default(), Metrics::default())
            .map_err(|_| ForgeError::Transient("no HTTP client could be made".to_owned()))?;
        let path = format!("/app-manifests/{}/conversions", segment(code));
        let mut call = Call::get(path);
        call.method = Method::POST;
        let path = format!("{}{}", self.api_path, call.path);
        let (answer, _) = transport::send(&transport, &call, &path, None).await;
        // serde's message could quote the key.
        serde_json::from_slice(&answer.map_err(without_code)?.body)
            .map_err(|_| ForgeError::Malformed("the conversion's answer is no App".to_owned()))
    }
}

/// The code in an error's text would be one that somebody else could still use.
fn without_code(error: ForgeError) -> ForgeError {
    let what = "POST /app-manifests/…/conversions".to_owned();
    match error {
        ForgeError::NotFound(_) => ForgeError::NotFound(format!("{what}: no such code, or used")),
        ForgeError::Validation(_) => ForgeError::Validation(what),
        ForgeError::Forbidden(_) => ForgeError::Forbidden(what),
        ForgeError::Gone(_) => ForgeError::Gone(what),
        ForgeError::Unauthorized(_) => ForgeError::Unauthorized(what),
        ForgeError::Transient(_) => ForgeError::Transient(what),
        ForgeError::Malformed(_) => ForgeError::Malformed(what),
        other => other,
    }
}
