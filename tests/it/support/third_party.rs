//! Published packages that tests compare with, fetched by `.ci/third-party.sh`.

use std::path::{Path, PathBuf};

/// The folder of one package, by its name in the script. `None`, loudly, when it could not be had.
///
/// # Panics
/// When it could not be had and `CI` is set.
pub fn third_party(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/third-party").join(name);
    if folder.exists() {
        return Some(folder);
    }
    let fetched = std::process::Command::new(root.join(".ci/third-party.sh")).status();
    if fetched.is_ok_and(|status| status.success()) {
        return Some(folder);
    }
    let what = format!("the package for target/third-party/{name} could not be fetched");
    assert!(std::env::var_os("CI").is_none(), "{what}");
    eprintln!("SKIPPED, nothing was compared: {what}; is npm installed?");
    None
}
