//! Packages that are installed for a tree.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::text::plain;

/// Bytes of a package's `package.json`.
const LARGEST: u64 = 1024 * 1024;

/// One of them.
pub(super) struct Package {
    folder: PathBuf,
    pub version: String,
    about: Value,
}

impl Package {
    /// The script that is started by the package's name.
    pub fn program(&self, name: &str) -> Result<PathBuf, String> {
        let bin = &self.about["bin"];
        let path = bin.as_str().or_else(|| bin[name].as_str());
        let path = path.ok_or_else(|| format!("the installed {name} has no program"))?;
        Ok(self.folder.join(path))
    }
}

/// A package as the file at `path` finds it.
pub(super) fn installed(tree: &Path, path: &str, name: &str) -> Option<Package> {
    let mut folder = path;
    while !folder.is_empty() {
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        let found = tree.join(folder).join("node_modules").join(name);
        let text = plain(&found.join("package.json"), LARGEST).ok().flatten();
        if let Some(text) = text {
            let about: Value = serde_json::from_str(&text).ok()?;
            return Some(Package {
                folder: found,
                version: about["version"].as_str()?.to_owned(),
                about,
            });
        }
    }
    None
}

/// Major and minor version.
pub(super) fn version(text: &str) -> (u64, u64) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}
