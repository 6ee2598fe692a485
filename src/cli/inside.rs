//! Commands that this program gives itself when it runs tests. Nobody else has a use for them.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Outcome, out};
use crate::lane::process::supervise;
use crate::lane::sandbox::{Entry, check, enter};

#[derive(Debug, clap::Subcommand)]
pub enum Inside {
    /// Runs one order to its end
    #[command(name = "lane-supervise", hide = true)]
    Supervise,
    /// Restricts itself and becomes the run
    #[command(name = "lane-enter", hide = true)]
    Enter(EnterArgs),
    /// Looks whether the isolation holds
    #[command(name = "lane-check", hide = true)]
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
pub struct EnterArgs {
    #[arg(long)]
    loopback: bool,
    #[arg(long)]
    first: bool,
    #[arg(long)]
    write: PathBuf,
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    #[arg(long)]
    no_network: bool,
    tree: PathBuf,
    folder: PathBuf,
}

impl Inside {
    pub fn run(self) -> Outcome {
        match self {
            Self::Supervise => supervise()?,
            Self::Enter(args) => {
                let entry = Entry {
                    loopback: args.loopback,
                    first: args.first,
                };
                return Ok(enter(entry, &args.write, &args.argv)?);
            }
            Self::Check(args) => {
                out::print(check(&args.tree, &args.folder, args.no_network)?)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
