//! `frostline serve`: the App, until SIGTERM or SIGINT.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::Outcome;
use super::rotate::{self, Load, Print, Rotation};
use crate::config::server::{Flags, LogFormat, ServerConfig};
use crate::forge::github::{App, AppSettings};
use crate::metrics::Metrics;
use crate::publish::links::Links;
use crate::server::{self, ServeParts};
use crate::store::{QueueSettings, Store, SystemClock};
use crate::work::{Jobs, RunnerSettings};

/// How often everything is looked at that a lost webhook may have left out.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Serve the App: webhooks in, check-runs out
///
/// Reads frostline.toml of the current folder, or the file named by `--config`; then the environment
/// (`FROSTLINE_` and the key in upper case, a dot as two underscores); then these flags, which win. Secrets
/// are read from files or the environment only; their files are read again when they change, and at SIGHUP.
/// Logs go to standard error; `RUST_LOG` filters them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  stopped by SIGTERM or SIGINT
  2  the server could not start, or could not end its work

Examples:
  frostline serve --config /etc/frostline/frostline.toml")]
pub struct Args {
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

impl Args {
    fn flags(self) -> (Option<PathBuf>, Flags) {
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

pub fn run(args: Args) -> Outcome {
    let (file, flags) = args.flags();
    let load = move || ServerConfig::load(file.as_deref(), flags.clone());
    let config = load()?;
    log_to_stderr(config.log_format);
    let load: Load = Arc::new(move || load().map(|config| config.github));
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime could not be started")?
        .block_on(serve(config, load))
}

fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // It fails only if one was set before: then that one logs.
    let _ = match format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .try_init(),
    };
}

async fn serve(config: ServerConfig, load: Load) -> Outcome {
    let mut signals = Signals::new().context("signals cannot be caught")?;
    let public_url = config.public_url.clone();
    let hangup = signal(SignalKind::hangup()).context("signals cannot be caught")?;
    let (app, rotation) = start(config, load).await?;
    let webhooks = public_url.map_or_else(String::new, |url| {
        let base = url.as_str().trim_end_matches('/');
        format!(" (webhooks go to {base}/webhooks/github)")
    });
    // Nobody is left to tell when this fails.
    let _ = writeln!(
        std::io::stderr(),
        "frostline listens on http://{}{webhooks}",
        app.address()
    );
    if let Some(metrics) = app.metrics_address() {
        let _ = writeln!(std::io::stderr(), "metrics are at http://{metrics}/metrics");
    }
    tokio::select! {
        () = signals.next() => {}
        () = rotation.run(hangup) => {}
    }
    tracing::info!("stopping: running jobs may end, new ones are left for the next start");
    tokio::select! {
        stopped = app.stop() => stopped?,
        () = signals.next() => anyhow::bail!(
            "stopped before the running jobs had ended; the next start takes them up when their leases \
             have run out"
        ),
    }
    Ok(ExitCode::SUCCESS)
}

async fn start(config: ServerConfig, load: Load) -> anyhow::Result<(server::App, Rotation)> {
    let github = config.github;
    let print = Print::of(&github);
    let secrets = rotate::secrets(&github)?;
    let settings = AppSettings {
        key: rotate::key(&github)?,
        api_url: github.api_url,
        allow_http_loopback: github.allow_http_loopback,
    };
    let metrics = Metrics::default();
    let forge = App::counting(settings, metrics.clone())?;
    let queue = QueueSettings {
        lease: config.lease,
        ..QueueSettings::default()
    };
    let store = Store::open_with(&config.database_url, Arc::new(SystemClock), queue).await?;
    let links = Links::new(store.page_key().await?, config.public_url);
    let app = server::App::start(ServeParts {
        bind: config.bind,
        handler: Jobs::new(forge.clone(), store.clone()).with_links(links.clone()),
        links: Some(links),
        store,
        secrets,
        runner: RunnerSettings {
            concurrency: config.concurrency,
            ..RunnerSettings::default()
        },
        metrics,
        metrics_bind: config.metrics_bind,
        sweep_every: Some(SWEEP_EVERY),
    })
    .await?;
    let rotation = Rotation {
        load,
        forge,
        secrets: app.secrets().clone(),
        print,
        trouble: None,
    };
    Ok((app, rotation))
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
