//! `frostline completions`: what a shell completes after `frostline`.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Outcome, out};

/// Print completions for a shell
///
/// Prints a script for the shell, made from these very commands and flags.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  the shell is not known

Examples:
  frostline completions bash > ~/.local/share/bash-completion/completions/frostline
  frostline completions zsh > ~/.zfunc/_frostline
  frostline completions fish > ~/.config/fish/completions/frostline.fish")]
pub struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub fn run(args: Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "frostline", &mut script);
    out::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
