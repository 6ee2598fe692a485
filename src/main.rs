//! Arguments → a command → an exit code.

use std::process::ExitCode;

/// The C library's allocator gives memory back to the system and takes it again for every few blobs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    frostline::cli::main()
}
