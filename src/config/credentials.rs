//! The file that registering an App writes and the server reads: the App's id, key and webhook secrets,
//! for the owner's eyes only.
//!
//! Invariants: it is whole or it is not there; it never takes another one's place; and no error quotes
//! anything out of it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use super::layers::ConfigError;
use super::server::Secret;

/// The file that is read, and written, when none is named.
pub const DEFAULT_CREDENTIALS: &str = "frostline-app.toml";

/// One App.
pub struct Credentials {
    pub app_id: u64,
    /// The API of the forge that it is registered at.
    pub api_url: Url,
    /// PEM.
    pub private_key: Secret,
    /// At least one.
    pub webhook_secrets: Vec<Secret>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    app_id: u64,
    api_url: Url,
    private_key: String,
    webhook_secrets: Vec<String>,
}

impl Credentials {
    /// `text` is that of the file, which `place` names.
    pub(super) fn parse(text: &str, place: &str) -> Result<Self, ConfigError> {
        let wrong = |line: usize| {
            ConfigError::new(
                format!("{place}:{line}"),
                "expected what `frostline setup` writes: app_id, api_url, private_key, webhook_secrets",
            )
        };
        // The parser's own message quotes what it found.
        let text: Text = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            wrong(before.map_or(1, |before| before.matches('\n').count() + 1))
        })?;
        if text.webhook_secrets.is_empty() {
            return Err(wrong(1));
        }
        Ok(Self {
            app_id: text.app_id,
            api_url: text.api_url,
            private_key: Secret::new(text.private_key),
            webhook_secrets: text.webhook_secrets.into_iter().map(Secret::new).collect(),
        })
    }

    fn text(&self) -> String {
        // A JSON string is a TOML string.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let secrets: Vec<String> = self
            .webhook_secrets
            .iter()
            .map(|secret| quoted(secret.expose()))
            .collect();
        format!(
            "# Written by Frostline when the App was registered. Keep it secret, and keep a copy.\n\
             # A webhook secret is changed without a gap by adding the new one to the list, changing it at the\n\
             # forge, and removing the old one.\n\
             app_id = {}\napi_url = {}\nprivate_key = {}\nwebhook_secrets = [{}]\n",
            self.app_id,
            quoted(self.api_url.as_str()),
            quoted(self.private_key.expose()),
            secrets.join(", ")
        )
    }
}

/// Room for a new file of credentials, made before the App is: what could not be written would be lost.
pub struct Reserved {
    path: PathBuf,
    file: tempfile::NamedTempFile,
}

impl Reserved {
    /// The error is one sentence with the way out.
    pub fn at(path: &Path) -> Result<Self, String> {
        let taken = || {
            format!(
                "{} is there already, and the App in it would be lost; move it away or name another file",
                path.display()
            )
        };
        if path.symlink_metadata().is_ok() {
            return Err(taken());
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // Made with mode 0600.
        let file = tempfile::NamedTempFile::new_in(folder)
            .map_err(|error| format!("cannot write in {}: {error}", folder.display()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the credentials to the disk under their name.
    pub fn write(mut self, credentials: &Credentials) -> Result<PathBuf, String> {
        let told =
            |error: &std::io::Error| format!("cannot write {}: {error}", self.path.display());
        self.file
            .write_all(credentials.text().as_bytes())
            .and_then(|()| self.file.as_file().sync_all())
            .map_err(|error| told(&error))?;
        self.file
            .persist_noclobber(&self.path)
            .map_err(|error| format!("cannot write {}: {}", self.path.display(), error.error))?;
        Ok(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let written = Credentials {
            app_id: 7,
            api_url: Url::parse("https://host/api/v3").expect("an URL"),
            private_key: Secret::new("-----BEGIN X-----\nab+/=\n-----END X-----\n"),
            webhook_secrets: vec![Secret::new("o\"n\\e"), Secret::new("two")],
        };
        let read = Credentials::parse(&written.text(), "f").expect("the same");
        assert_eq!(read.app_id, 7);
        assert_eq!(read.api_url, written.api_url);
        assert_eq!(read.private_key.expose(), written.private_key.expose());
        let secrets: Vec<&str> = read.webhook_secrets.iter().map(Secret::expose).collect();
        assert_eq!(secrets, ["o\"n\\e", "two"]);
    }

    #[test]
    fn an_error_names_the_line_and_quotes_nothing() {
        for (text, line) in [
            ("app_id = 1\napi_url = 'hunter2'\n", 2),
            ("app_id = 'hunter2'\n", 1),
            ("app_id = 1\nhunter2 = 1\n", 2),
            ("app_id = 1\n'hunter2\n", 2),
        ] {
            let error = Credentials::parse(text, "f").err().expect("an error");
            let told = error.to_string();
            assert!(told.starts_with(&format!("f:{line}: ")), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
