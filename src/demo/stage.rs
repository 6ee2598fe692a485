//! Forge and server, started on loopback and taken down again.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::forge::{Forge, Webhook};
use crate::forge::github::{App as GithubApp, AppKey, AppSettings};
use crate::metrics::Metrics;
use crate::server::{App, ServeParts};
use crate::store::Store;
use crate::webhook::Secrets;
use crate::work::{Handler, RunnerSettings};

/// The longest that one pull request may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked whether the queue is empty.
const GLANCE: Duration = Duration::from_millis(10);

/// A forge, and Frostline as its App; everything they keep is in folders that go with them.
pub struct Stage {
    pub forge: Forge,
    store: Store,
    app: App,
    /// Holds the database; removed last.
    folder: tempfile::TempDir,
}

impl Stage {
    /// Starts the server as an App of `forge`; `handler` makes what evaluates pull requests.
    pub async fn build<H: Handler>(
        forge: Forge,
        handler: impl FnOnce(GithubApp, Store) -> H,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("frostline-demo-")
            .tempdir()?;
        let database = folder.path().join("frostline.db");
        let store = Store::open(&format!("sqlite://{}", database.display())).await?;
        let github = GithubApp::new(AppSettings {
            api_url: forge.url().parse()?,
            allow_http_loopback: true,
            key: AppKey::from_pem(forge.app_id(), forge.private_key_pem().as_bytes())
                .map_err(anyhow::Error::msg)?,
        })?;
        let app = App::start(ServeParts {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            store: store.clone(),
            secrets: Secrets::new([forge.webhook_secret()]).context("no webhook secret")?,
            handler: handler(github, store.clone()),
            links: None,
            app_id: Some(forge.app_id()),
            runner: RunnerSettings::default(),
            metrics: Metrics::default(),
            metrics_bind: None,
            sweep_every: None,
        })
        .await?;
        Ok(Self {
            forge,
            store,
            app,
            folder,
        })
    }

    /// Where webhooks go.
    pub fn hook_url(&self) -> String {
        format!("http://{}/webhooks/github", self.app.address())
    }

    /// Delivers a webhook and waits until all work is done.
    pub async fn deliver(&self, hook: &Webhook) -> Result<()> {
        let status = hook.send(&self.hook_url()).await?;
        ensure!(
            status == 202,
            "the webhook was answered with {status}, not 202"
        );
        let idle = async {
            loop {
                let counts = self.store.queue_counts().await?;
                ensure!(counts.dead == 0, "a job was given up");
                if counts.queued + counts.running == 0 {
                    return Ok(());
                }
                tokio::time::sleep(GLANCE).await;
            }
        };
        tokio::time::timeout(PATIENCE, idle)
            .await
            .with_context(|| format!("the work did not end within {PATIENCE:?}"))?
    }

    /// Stops the server and removes everything.
    pub async fn strike(self) -> Result<()> {
        self.app.stop().await?;
        drop(self.forge);
        self.folder
            .close()
            .context("the demo's folder could not be removed")
    }
}
