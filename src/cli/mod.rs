//! The command line: one file a command. The only place that builds real clients.

use std::process::ExitCode;

/// Parses the arguments and runs the command (interfaces section 1).
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
