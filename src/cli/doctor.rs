//! `frostline doctor`: what keeps the App from working, and how to mend it.
//!
//! Invariant: it only looks, and no line holds a secret.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use url::Url;

use super::settings::Settings;
use super::{Outcome, out, rotate};
use crate::config::server::{GithubConfig, ServerConfig};
use crate::forge::ForgeError;
use crate::forge::github::{App, AppSettings, Installed, Myself};
use crate::metrics::QueueLevels;
use crate::render::visible;
use crate::server::wanted;
use crate::store::{Inspection, Tables, inspect};

/// A job that has been due for longer waits for a worker that is not there.
const LONG_WAIT: Duration = Duration::from_secs(10 * 60);

/// Check that the App is set up well: a line for each part
///
/// Looks at configuration, key, permissions, installations, webhook and its deliveries, database and queue. It
/// changes nothing and prints no secret. Settings are read as by `frostline serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  all is well
  1  there is a problem; its line says how to mend it

Examples:
  frostline doctor --config /etc/frostline/frostline.toml")]
pub struct Args {
    #[command(flatten)]
    settings: Settings,
}

pub fn run(args: Args) -> Outcome {
    let (file, flags) = args.settings.split();
    let mut report = Report::default();
    match ServerConfig::load(file.as_deref(), flags) {
        Err(error) => report.problem("configuration", error, "correct it and run this again"),
        Ok(config) => {
            configuration(&mut report, &config);
            super::runtime()?.block_on(async {
                forge(&mut report, &config).await;
                database(&mut report, &config.database_url).await;
            });
        }
    }
    out::print(&report.text)?;
    Ok(ExitCode::from(u8::from(report.has_problem)))
}

#[derive(Default)]
struct Report {
    text: String,
    has_problem: bool,
}

impl Report {
    fn ok(&mut self, part: &str, what: impl std::fmt::Display) {
        let what = visible(&what.to_string());
        self.text.push_str(&format!("ok       {part}: {what}\n"));
    }

    fn problem(&mut self, part: &str, what: impl std::fmt::Display, mend: &str) {
        self.has_problem = true;
        let (what, mend) = (visible(&what.to_string()), visible(mend));
        self.text
            .push_str(&format!("problem  {part}: {what}; to mend: {mend}\n"));
    }
}

fn configuration(report: &mut Report, config: &ServerConfig) {
    let open: Vec<String> = config
        .github
        .secret_files
        .iter()
        .filter(|file| others_may_read(file))
        .map(|file| file.display().to_string())
        .collect();
    if !open.is_empty() {
        let files = open.join(" ");
        report.problem(
            "configuration",
            format!("every user of this machine can read {files}"),
            &format!("chmod o-rwx {files}"),
        );
    }
    match &config.public_url {
        Some(url) => report.ok("configuration", format!("read; public_url is {url}")),
        None => report.problem(
            "configuration",
            "public_url is not set, so that check-runs link to no decision page",
            "set it to the address at which the forge and people reach this server",
        ),
    }
}

fn others_may_read(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o007 != 0)
}

async fn forge(report: &mut Report, config: &ServerConfig) {
    let Some(app) = connect(report, &config.github) else {
        return;
    };
    let myself = match app.myself().await {
        Ok(myself) => myself,
        Err(error) => {
            let mend = match error {
                ForgeError::Unauthorized(_) | ForgeError::NotFound(_) => {
                    "compare github.app_id with the App's settings page, make a new private key there, and check \
                     this machine's clock"
                }
                _ => "check github.api_url, and that this machine reaches it",
            };
            return report.problem("key", error, mend);
        }
    };
    report.ok(
        "key",
        format!(
            "{} takes it for the App {}",
            config.github.api_url, myself.name
        ),
    );
    permissions(report, &myself);
    match app.installations().await {
        Ok(found) => installations(report, &myself, &found),
        Err(error) => report.problem("installations", error, "run this again later"),
    }
    webhook(report, &app, config.public_url.as_ref()).await;
    deliveries(report, &app).await;
}

fn connect(report: &mut Report, github: &GithubConfig) -> Option<App> {
    let key = match rotate::key(github) {
        Ok(key) => key,
        Err(error) => {
            report.problem("key", error, "make a new one on the App's settings page");
            return None;
        }
    };
    let settings = AppSettings {
        api_url: github.api_url.clone(),
        allow_http_loopback: github.allow_http_loopback,
        key,
    };
    App::new(settings)
        .map_err(|error| report.problem("key", error, "correct github.api_url"))
        .ok()
}

/// `name: level` of what is wanted and not there.
fn lacking(has: &BTreeMap<String, String>) -> Vec<String> {
    let is_enough = |has: Option<&String>, level: &str| match has.map(String::as_str) {
        Some("write" | "admin") => true,
        Some(has) => has == level,
        None => false,
    };
    wanted()
        .permissions
        .into_iter()
        .filter(|(name, level)| !is_enough(has.get(name), level))
        .map(|(name, level)| format!("{name}: {level}"))
        .collect()
}

fn permissions(report: &mut Report, myself: &Myself) {
    let lacks = lacking(&myself.permissions);
    let events: Vec<String> = wanted()
        .events
        .into_iter()
        .filter(|event| !myself.events.contains(event))
        .collect();
    if lacks.is_empty() && events.is_empty() {
        return report.ok("permissions", "all that the App needs, and its events");
    }
    if !lacks.is_empty() {
        report.problem(
            "permissions",
            format!("the App lacks {}", lacks.join(", ")),
            "give it on the App's settings page, and have each installation accept it",
        );
    }
    if !events.is_empty() {
        report.problem(
            "permissions",
            format!("the App does not get the events {}", events.join(", ")),
            "subscribe to them on the App's settings page",
        );
    }
}

fn installations(report: &mut Report, myself: &Myself, found: &[Installed]) {
    if found.is_empty() {
        return report.problem(
            "installations",
            "the App is installed nowhere",
            &format!("open {}/installations/new", myself.html_url),
        );
    }
    let mut well = 0;
    for installation in found {
        let account = installation.account_name();
        let lacks = lacking(&installation.permissions);
        if installation.suspended_at.is_some() {
            report.problem(
                "installations",
                format!("the one on {account} is suspended"),
                "have its owner lift that, or uninstall it",
            );
        } else if !lacks.is_empty() {
            report.problem(
                "installations",
                format!("the one on {account} has not accepted {}", lacks.join(", ")),
                "have its owner review the request in their settings, under GitHub Apps",
            );
        } else {
            well += 1;
        }
    }
    if well == found.len() {
        report.ok("installations", format!("{well}, none lacks a permission"));
    }
}

async fn webhook(report: &mut Report, app: &App, public_url: Option<&Url>) {
    let hook = match app.hook_config().await {
        Ok(hook) => hook,
        Err(error) => {
            return report.problem(
                "webhook",
                error,
                "make the webhook active on the App's settings page",
            );
        }
    };
    let expected = public_url.map(|url| {
        let base = url.as_str().trim_end_matches('/');
        format!("{base}/webhooks/github")
    });
    let url = hook.url.clone().unwrap_or_default();
    let mut well = true;
    let mut wrong = |what: String, mend: &str| {
        well = false;
        report.problem("webhook", what, mend);
    };
    if let Some(expected) = expected.filter(|expected| *expected != url) {
        wrong(
            format!("it goes to {url:?}, and this server is reached at {expected}"),
            "correct the webhook's URL on the App's settings page, or public_url",
        );
    }
    if hook.content_type.as_deref() != Some("json") {
        wrong(
            "its content type is not application/json".to_owned(),
            "choose application/json on the App's settings page",
        );
    }
    if !hook.verifies_tls() {
        wrong(
            "the forge does not verify this server's certificate".to_owned(),
            "enable SSL verification on the App's settings page",
        );
    }
    if well {
        report.ok("webhook", format!("goes to {url}"));
    }
}

async fn deliveries(report: &mut Report, app: &App) {
    const PART: &str = "deliveries";
    let newest = match app.deliveries(None).await {
        Ok((newest, _)) => newest,
        Err(error) => return report.problem(PART, error, "run this again later"),
    };
    let failed = newest.iter().filter(|one| one.status != "OK").count();
    match newest.first() {
        None => report.ok(PART, "none in the last days"),
        Some(last) if last.status == "OK" => report.ok(
            PART,
            format!("the newest arrived; {failed} of the last {} did not", newest.len()),
        ),
        Some(last) => report.problem(
            PART,
            format!(
                "the newest failed ({:?}), and {failed} of the last {}",
                last.status,
                newest.len()
            ),
            "see that the forge reaches this server, and that both have the same webhook secret; the next sweep \
             has them sent again",
        ),
    }
}

async fn database(report: &mut Report, url: &str) {
    const PART: &str = "database";
    match inspect(url).await {
        Err(error) => report.problem(
            PART,
            error,
            "run this as the server's user; if the file is damaged, put a copy in its place",
        ),
        Ok(Inspection::Absent {
            folder,
            writable: true,
        }) => report.ok(
            PART,
            format!("none yet; the first start makes it in {}", folder.display()),
        ),
        Ok(Inspection::Absent { folder, .. }) => report.problem(
            PART,
            format!("{} cannot be written", folder.display()),
            "make the folder, and give it to the server's user",
        ),
        Ok(Inspection::Present {
            file,
            tables,
            damage,
            levels,
        }) => {
            let file = file.display();
            if !damage.is_empty() {
                report.problem(
                    PART,
                    format!("{file} is damaged: {}", damage.join(", ")),
                    "stop the server and put a copy in its place",
                );
            } else if tables == Tables::Newer {
                report.problem(
                    PART,
                    format!("a newer frostline has written {file}"),
                    "run that version, or put a copy from before in its place",
                );
            } else if tables == Tables::Older {
                report.ok(
                    PART,
                    format!("{file}; the next start brings its tables up to date"),
                );
            } else {
                report.ok(PART, &file);
            }
            if let Some(levels) = levels {
                queue(report, levels);
            }
        }
    }
}

fn queue(report: &mut Report, levels: QueueLevels) {
    const PART: &str = "queue";
    let QueueLevels {
        queued,
        running,
        dead,
        longest_wait,
        ..
    } = levels;
    if longest_wait > LONG_WAIT {
        report.problem(
            PART,
            format!(
                "a job has been due for {} minutes",
                longest_wait.as_secs() / 60
            ),
            "start the server; if it runs, raise queue.concurrency",
        );
    } else {
        report.ok(
            PART,
            format!("{queued} queued, {running} running, {dead} given up"),
        );
    }
}
