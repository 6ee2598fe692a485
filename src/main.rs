//! Arguments → a command → an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    frostline::cli::main()
}
