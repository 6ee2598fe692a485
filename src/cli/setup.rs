//! `frostline setup`: registers the App in a browser, and writes what the server needs of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Outcome, out};
use crate::config::credentials::{DEFAULT_CREDENTIALS, Reserved};
use crate::config::server::Flags;
use crate::config::setup::SetupConfig;
use crate::forge::github::Registry;
use crate::server::{HttpServer, Limits, Registered, Setup, SetupParts};

/// Register the App through the forge's manifest flow, in a browser
///
/// Opens a page on this machine; the forge asks you to confirm, and sends the browser back. Then the App's
/// id, its private key and the webhook's secret are in one file that only its owner can read, and
/// `frostline serve` finds it there. A file that exists is never overwritten. Settings are read as by
/// `frostline serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  the App is registered
  2  it is not

Examples:
  frostline setup --public-url https://frostline.example.com
  frostline setup --public-url https://frostline.example.com --organization acme
  frostline setup --public-url https://frostline.example.com --github-api-url https://ghes.example.com/api/v3")]
pub struct Args {
    /// The configuration file [default: frostline.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where the forge will reach the server: webhooks go there
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    /// The forge's API [default: https://api.github.com]
    #[arg(long, value_name = "URL")]
    github_api_url: Option<String>,

    /// The organisation that will own the App [default: your own account]
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,

    /// The App's name, which the forge wants to be the only one of its kind
    #[arg(long, value_name = "NAME", default_value = "Frostline")]
    name: String,

    /// The file to write [default: github.credentials_file, or frostline-app.toml]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Where the page listens; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))]
    bind: SocketAddr,
}

pub fn run(args: Args) -> Outcome {
    let flags: Flags = [
        ("public-url", "public_url", args.public_url),
        ("github-api-url", "github.api_url", args.github_api_url),
    ]
    .into_iter()
    .filter_map(|(flag, key, value)| Some((flag, key, value?)))
    .collect();
    let mut config = SetupConfig::load(args.config.as_deref(), flags)?;
    let is_default =
        args.out.is_none() && config.credentials_file.as_os_str() == DEFAULT_CREDENTIALS;
    if let Some(out) = args.out {
        config.credentials_file = out;
    }
    let asked = Asked {
        bind: args.bind,
        here: None,
        name: args.name,
        organization: args.organization,
    };
    let registered = super::runtime()?.block_on(register(config, asked))?;
    let registered = registered.context("stopped before the App was registered")?;
    let serve = if is_default {
        "frostline serve".to_owned()
    } else {
        let file = registered.file.display();
        format!("FROSTLINE_GITHUB__CREDENTIALS_FILE={file} frostline serve")
    };
    out::print(&format!(
        "The App {} has the id {}. Its key and its webhook secret are in {}.\n\
         Start the server:   {serve}\n\
         Install the App:    {}\n",
        registered.name,
        registered.app_id,
        registered.file.display(),
        registered.install,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What a person said about the App to be.
pub struct Asked {
    pub bind: SocketAddr,
    /// Where the browser reaches the pages; `None`: at the address that is bound.
    pub here: Option<Url>,
    pub name: String,
    pub organization: Option<String>,
}

/// Serves the pages until the App is registered; `None`: stopped by a signal.
pub async fn register(config: SetupConfig, asked: Asked) -> anyhow::Result<Option<Registered>> {
    let registry = Registry::new(config.api_url, config.allow_http_loopback)?;
    let reserved = Reserved::at(&config.credentials_file).map_err(anyhow::Error::msg)?;
    let bind = asked.bind;
    let listener = TcpListener::bind(bind)
        .await
        .with_context(|| format!("cannot listen on {bind}; set another `bind`"))?;
    let address = listener.local_addr()?;
    let here = match asked.here {
        Some(here) => here,
        None => Url::parse(&format!("http://{address}"))?,
    };
    let setup = Setup::new(SetupParts {
        registry,
        here,
        public_url: config.public_url,
        name: asked.name,
        organization: asked.organization,
        reserved,
    });
    out::print(&format!(
        "frostline waits on http://{address}\n\
         No App is registered yet. Open this address in a browser; it is good once, and for you alone:\n\n  {}\n\n",
        setup.link()
    ))?;
    let server = HttpServer::on(listener, setup.routes(), Limits::default())?;
    let stop = CancellationToken::new();
    let served = tokio::spawn(server.run(stop.clone()));
    let mut signals = super::signals::Signals::new().context("signals cannot be caught")?;
    let registered = tokio::select! {
        registered = setup.registered() => registered,
        () = signals.next() => None,
    };
    stop.cancel();
    served.await.context("the pages could not be served")?;
    Ok(registered)
}
