//! Requests about the App itself: its installations, and the deliveries of its webhook.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::forge::ForgeError;
use crate::model::{InstallationId, RepoName};

use super::client::App;
use super::transport::{Answer, Call};

/// Pages of a list that are read.
const MOST_PAGES: usize = 1_000;

/// One attempt to deliver a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HookDelivery {
    pub id: u64,
    /// The same for every attempt.
    pub guid: String,
    pub delivered_at: DateTime<Utc>,
    /// `OK`, or what went wrong in words.
    pub status: String,
}

/// An installation of the App.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Installed {
    pub id: u64,
    pub suspended_at: Option<DateTime<Utc>>,
    /// Level by name: what its owner has accepted.
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    account: Option<Account>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Account {
    /// An enterprise has none.
    login: Option<String>,
}

impl Installed {
    /// Whose repositories it sees.
    pub fn account_name(&self) -> String {
        let login = self.account.as_ref().and_then(|it| it.login.clone());
        login.unwrap_or_else(|| format!("installation {}", self.id))
    }
}

/// What the forge says of this App.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Myself {
    pub name: String,
    /// The App's page.
    pub html_url: String,
    /// Level by name.
    pub permissions: BTreeMap<String, String>,
    pub events: Vec<String>,
}

/// Where the App's webhook goes, and how.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HookConfig {
    pub url: Option<String>,
    /// `json` or `form`.
    pub content_type: Option<String>,
    /// "0", or 0: the certificate is verified.
    insecure_ssl: Option<serde_json::Value>,
}

impl HookConfig {
    /// False if the forge takes any certificate.
    pub fn verifies_tls(&self) -> bool {
        match &self.insecure_ssl {
            None => true,
            Some(insecure) => insecure == "0" || insecure == 0,
        }
    }
}

/// A repository that an installation sees.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InstalledRepo {
    /// Whatever it is called.
    pub id: u64,
    pub full_name: RepoName,
    pub default_branch: String,
    #[serde(default)]
    pub archived: bool,
    #[serde(default)]
    pub disabled: bool,
}

impl App {
    async fn read<T: DeserializeOwned>(&self, path: String) -> Result<(T, Answer), ForgeError> {
        let call = Call::get(path);
        let answer = self.signed(&call).await?;
        Ok((answer.json(&call)?, answer))
    }

    pub async fn myself(&self) -> Result<Myself, ForgeError> {
        Ok(self.read("/app".to_owned()).await?.0)
    }

    pub async fn hook_config(&self) -> Result<HookConfig, ForgeError> {
        Ok(self.read("/app/hook/config".to_owned()).await?.0)
    }

    /// A page of the webhook's deliveries, the newest first, and where the next page begins. Not
    /// filtered: the forge's own filter for failures leaves out timeouts and broken connections.
    pub async fn deliveries(
        &self,
        cursor: Option<&str>,
    ) -> Result<(Vec<HookDelivery>, Option<String>), ForgeError> {
        let at = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
        let path = format!("/app/hook/deliveries?per_page=100{at}");
        let (deliveries, answer) = self.read(path).await?;
        Ok((deliveries, answer.cursor))
    }

    /// Has a delivery made once more.
    pub async fn redeliver(&self, delivery: u64) -> Result<(), ForgeError> {
        let path = format!("/app/hook/deliveries/{delivery}/attempts");
        let call = Call {
            method: Method::POST,
            ..Call::get(path)
        };
        self.signed(&call).await.map(drop)
    }

    /// Every installation, suspended ones too.
    pub async fn installations(&self) -> Result<Vec<Installed>, ForgeError> {
        let mut found = Vec::new();
        for page in 1..=MOST_PAGES {
            let path = format!("/app/installations?per_page=100&page={page}");
            let (rows, answer): (Vec<Installed>, _) = self.read(path).await?;
            found.extend(rows);
            if !answer.more {
                break;
            }
        }
        Ok(found)
    }

    /// Every repository that an installation sees.
    pub async fn repositories(
        &self,
        installation: InstallationId,
    ) -> Result<Vec<InstalledRepo>, ForgeError> {
        #[derive(Deserialize)]
        struct Page {
            repositories: Vec<InstalledRepo>,
        }
        let mut found = Vec::new();
        let token = self.token_for_all(installation).await?;
        for page in 1..=MOST_PAGES {
            let path = format!("/installation/repositories?per_page=100&page={page}");
            let call = Call::get(path);
            let answer = self.send_with(&call, token.clone()).await?;
            found.extend(answer.json::<Page>(&call)?.repositories);
            if !answer.more {
                break;
            }
        }
        Ok(found)
    }
}
