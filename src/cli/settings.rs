//! The server's settings as flags, for `serve` and for what looks at it.

use std::path::PathBuf;

use crate::config::server::Flags;

/// Each flag is a key of the configuration.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// The configuration file [default: frostline.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    bind: Option<String>,

    /// Where this server is reached from outside
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    /// The database [default: sqlite://frostline.db]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,

    /// The App's numeric id
    #[arg(long, value_name = "ID")]
    github_app_id: Option<String>,

    /// The file of the App's private key (PEM)
    #[arg(long, value_name = "FILE")]
    github_private_key_file: Option<String>,

    /// The file of the webhook's secrets, one a line
    #[arg(long, value_name = "FILE")]
    github_webhook_secret_file: Option<String>,

    /// The file that `frostline setup` wrote [default: frostline-app.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    github_credentials_file: Option<String>,

    /// The forge's API [default: https://api.github.com]
    #[arg(long, value_name = "URL")]
    github_api_url: Option<String>,

    /// How log lines look: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,

    /// Where /metrics listens apart from the rest [default: with the rest]
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics_bind: Option<String>,

    /// Pull requests evaluated at once, 1 to 64 [default: 4]
    #[arg(long, value_name = "N")]
    queue_concurrency: Option<String>,
}

impl Settings {
    /// The configuration file that was named, and the rest.
    pub fn split(self) -> (Option<PathBuf>, Flags) {
        let flags = [
            ("bind", "bind", self.bind),
            ("public-url", "public_url", self.public_url),
            ("database-url", "database_url", self.database_url),
            ("github-app-id", "github.app_id", self.github_app_id),
            (
                "github-private-key-file",
                "github.private_key_file",
                self.github_private_key_file,
            ),
            (
                "github-webhook-secret-file",
                "github.webhook_secret_file",
                self.github_webhook_secret_file,
            ),
            (
                "github-credentials-file",
                "github.credentials_file",
                self.github_credentials_file,
            ),
            ("github-api-url", "github.api_url", self.github_api_url),
            ("log-format", "log.format", self.log_format),
            ("metrics-bind", "metrics.bind", self.metrics_bind),
            (
                "queue-concurrency",
                "queue.concurrency",
                self.queue_concurrency,
            ),
        ];
        let given = flags
            .into_iter()
            .filter_map(|(flag, key, value)| Some((flag, key, value?)))
            .collect();
        (self.config, given)
    }
}
