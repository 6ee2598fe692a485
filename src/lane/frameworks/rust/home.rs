//! A cargo home of one tree's own: the user's packages, and nothing of the user's secrets.
//!
//! The user's holds tokens of registries beside the packages. Here are links to the packages that were
//! fetched, and of the settings only where registries are found.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::lane::environment::Environment;

/// Settings of a source that say where its packages are; all of them are strings.
const OF_SOURCE: &[&str] = &[
    "replace-with",
    "registry",
    "local-registry",
    "directory",
    "git",
    "branch",
    "tag",
    "rev",
];

/// Where cargo and rustup keep their things.
#[derive(Debug)]
pub(super) struct Home {
    cargo: Option<PathBuf>,
    rustup: Option<PathBuf>,
}

impl Home {
    pub fn of_user() -> Self {
        let user = std::env::var_os("HOME").map(PathBuf::from);
        let place = |variable: &str, below: &str| {
            let named = std::env::var_os(variable).filter(|value| !value.is_empty());
            let place = named.map(PathBuf::from);
            let place = place.or_else(|| Some(user.as_ref()?.join(below)))?;
            place.canonicalize().ok()
        };
        Self {
            cargo: place("CARGO_HOME", ".cargo"),
            rustup: place("RUSTUP_HOME", ".rustup"),
        }
    }

    /// What a build reads of them.
    pub fn needed(&self) -> Vec<PathBuf> {
        let cargo = self.cargo.iter();
        let mut all: Vec<PathBuf> = cargo
            .flat_map(|home| ["registry", "git"].map(|part| home.join(part)))
            .collect();
        all.extend(self.rustup.clone());
        all.retain(|path| path.is_dir());
        all
    }

    /// Variables by which cargo finds the home below `folder`, and builds there without a network.
    pub fn env(&self, folder: &Path) -> Environment {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut env = BTreeMap::from([
            ("CARGO_HOME", text(&folder.join("cargo"))),
            ("CARGO_TARGET_DIR", text(&folder.join("target"))),
            ("CARGO_NET_OFFLINE", "true".to_owned()),
            ("CARGO_TERM_COLOR", "never".to_owned()),
            // It would never be used again, and is large.
            ("CARGO_INCREMENTAL", "0".to_owned()),
        ]);
        if let Some(rustup) = &self.rustup {
            env.insert("RUSTUP_HOME", text(rustup));
        }
        env.into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Makes the home below `folder`, unless it is there.
    pub fn make(&self, folder: &Path) -> std::io::Result<()> {
        let own = folder.join("cargo");
        let Some(users) = self.cargo.as_ref().filter(|_| !own.exists()) else {
            return Ok(());
        };
        let packages = own.join("registry/src");
        std::fs::create_dir_all(&packages)?;
        for part in ["registry/index", "registry/cache", "git"] {
            link(&users.join(part), &own.join(part))?;
        }
        // A package that was never unpacked can still be, beside those that were.
        for registry in entries(&users.join("registry/src")) {
            let folder = packages.join(registry.file_name().unwrap_or(OsStr::new("")));
            std::fs::create_dir_all(&folder)?;
            for package in entries(&registry) {
                let name = package.file_name().unwrap_or(OsStr::new(""));
                link(&package, &folder.join(name))?;
            }
        }
        let settings = ["config.toml", "config"]
            .iter()
            .find_map(|name| std::fs::read_to_string(users.join(name)).ok());
        std::fs::write(
            own.join("config.toml"),
            sources(&settings.unwrap_or_default()),
        )
    }
}

fn link(to: &Path, at: &Path) -> std::io::Result<()> {
    match to.exists() {
        true => std::os::unix::fs::symlink(to, at),
        false => Ok(()),
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Where registries are found, of all that settings say.
fn sources(settings: &str) -> String {
    let mut out = String::new();
    let Ok(settings) = settings.parse::<toml::Table>() else {
        return out;
    };
    for (kind, known) in [("source", OF_SOURCE), ("registries", &["index"])] {
        let table = settings.get(kind).and_then(toml::Value::as_table);
        for (name, table) in table.into_iter().flatten() {
            let strings = known.iter().filter_map(|key| {
                let value = table.get(*key)?.as_str()?;
                Some((*key, value)).filter(|(_, value)| !holds_secret(value))
            });
            // A JSON string is a basic string of TOML.
            let _ = writeln!(out, "[{kind}.{}]", serde_json::Value::from(name.as_str()));
            for (key, value) in strings {
                let _ = writeln!(out, "{key} = {}", serde_json::Value::from(value));
            }
        }
    }
    out
}

/// An address with a user's name in it.
fn holds_secret(address: &str) -> bool {
    let rest = address.split_once("://").map(|(_, rest)| rest);
    rest.is_some_and(|rest| rest.split('/').next().unwrap_or(rest).contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_of_the_users_settings_reaches_a_build() {
        let settings = r#"
            [source.crates-io]
            replace-with = "mirror"
            [source.mirror]
            registry = "sparse+https://mirror.example/index/"
            [registries.own]
            index = "sparse+https://own.example/"
            token = "secret-1"
            [registries.other]
            index = "https://me:secret-2@other.example/"
            [registry]
            token = "secret-3"
            [env]
            TOKEN = "secret-4"
        "#;
        let out = sources(settings);
        assert!(!out.contains("secret"), "{out}");
        let read: toml::Table = out.parse().expect("TOML");
        assert_eq!(
            read["source"]["crates-io"]["replace-with"].as_str(),
            Some("mirror")
        );
        assert_eq!(
            read["registries"]["own"]["index"].as_str(),
            Some("sparse+https://own.example/")
        );
        assert_eq!(sources("no [ toml"), "");
    }
}
