//! `frostline demo`: the whole way of a pull request, on loopback.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use super::{Outcome, out};
use crate::demo::forge::Forge;
use crate::demo::{Stage, play};
use crate::work::Jobs;

/// How long the pieces may take to stop.
const STOPPING: Duration = Duration::from_secs(5);
/// As a shell tells of a process that was interrupted.
const INTERRUPTED: u8 = 130;

/// Show a pull request on its way through the gate, on this machine alone
///
/// Starts a small forge that behaves like GitHub and Frostline as its App, both on loopback. An agent opens
/// a pull request that rewrites a locked fixture and changes a parser whose only property is frozen; then it
/// puts the pull request right. Prints the check-run and the comment as a maintainer would read them. Needs
/// no network, no git, no configuration, and leaves nothing behind.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  the first pull request was refused, the corrected one passed
  2  anything else

Examples:
  frostline demo")]
pub struct Args {}

pub fn run(_: Args) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the demo could not start")?;
    let outcome = runtime.block_on(whole());
    runtime.shutdown_timeout(STOPPING);
    outcome
}

async fn whole() -> Outcome {
    let mut text = Patient(std::io::stdout());
    let style = out::style();
    let stage = tokio::select! {
        stage = set_up() => stage.context("the demo could not be set up")?,
        () = interrupted() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    let played = tokio::select! {
        played = play(&stage, &mut text, style) => Some(played),
        () = interrupted() => None,
    };
    let struck = stage.strike().await;
    match played {
        Some(played) => {
            played?;
            struck?;
            Ok(ExitCode::SUCCESS)
        }
        None => Ok(ExitCode::from(INTERRUPTED)),
    }
}

/// A reader that went away (`| head`) changes nothing about how the story ends.
struct Patient<W>(W);

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            result => result,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}

async fn set_up() -> anyhow::Result<Stage> {
    Stage::build(Forge::start().await?, Jobs::new).await
}

/// Ctrl-C, or the request of a service manager to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
