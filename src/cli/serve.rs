//! `frostline serve`: the App, until SIGTERM or SIGINT.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::Outcome;
use super::rotate::{self, Load, Print, Rotation};
use super::settings::Settings;
use super::setup::{self, Asked};
use super::signals::Signals;
use crate::config::server::{LogFormat, ServerConfig};
use crate::config::setup::SetupConfig;
use crate::forge::github::{App, AppSettings};
use crate::metrics::Metrics;
use crate::publish::links::Links;
use crate::server::{self, Registered, ServeParts};
use crate::store::{QueueSettings, Store, SystemClock};
use crate::work::{Jobs, RunnerSettings};

/// How often everything is looked at that a lost webhook may have left out.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Serve the App: webhooks in, check-runs out
///
/// Reads frostline.toml of the current folder, or the file named by `--config`; then the environment
/// (`FROSTLINE_` and the key in upper case, a dot as two underscores); then these flags, which win. Secrets
/// are read from files or the environment only; their files are read again when they change, and at SIGHUP.
/// Without an App, but with a `public_url`, it prints an address, good once, that registers one. Logs go to
/// standard error; `RUST_LOG` filters them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  stopped by SIGTERM or SIGINT
  2  the server could not start, or could not end its work

Examples:
  frostline serve --config /etc/frostline/frostline.toml")]
pub struct Args {
    #[command(flatten)]
    settings: Settings,
}

pub fn run(args: Args) -> Outcome {
    let (file, flags) = args.settings.split();
    let runtime = super::runtime()?;
    if let Some(config) = SetupConfig::unconfigured(file.as_deref(), flags.clone())? {
        log_to_stderr(config.log_format);
        if runtime.block_on(set_up(config))?.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let load = move || ServerConfig::load(file.as_deref(), flags.clone());
    let config = load()?;
    log_to_stderr(config.log_format);
    let load: Load = Arc::new(move || load().map(|config| config.github));
    runtime.block_on(serve(config, load))
}

/// Offers the pages that register an App.
async fn set_up(config: SetupConfig) -> anyhow::Result<Option<Registered>> {
    let asked = Asked {
        bind: config.bind,
        here: Some(config.public_url.clone()),
        name: "Frostline".to_owned(),
        organization: None,
    };
    setup::register(config, asked).await
}

fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
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
        app_id: Some(forge.app_id()),
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
