//! Layers of the server's settings: file, environment, flags, in rising precedence. Each value
//! remembers where it came from, so that a message can name the place.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

/// Prefix of the environment variables that are settings.
pub(super) const ENV_PREFIX: &str = "FROSTLINE_";

/// Every key there is.
pub(super) const KEYS: &[&str] = &[
    "bind",
    "database_url",
    "github.allow_http_loopback",
    "github.api_url",
    "github.app_id",
    "github.credentials_file",
    "github.private_key_env",
    "github.private_key_file",
    "github.webhook_secret_env",
    "github.webhook_secret_file",
    "log.format",
    "metrics.bind",
    "public_url",
    "queue.concurrency",
    "queue.lease_seconds",
];

/// Keys that say the same thing in two ways: a higher layer's choice replaces a lower one's.
const ALTERNATIVES: &[(&str, &str)] = &[
    ("github.private_key_env", "github.private_key_file"),
    ("github.webhook_secret_env", "github.webhook_secret_file"),
];

/// A setting that cannot be used: where it stands, what is wrong, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ConfigError {
    pub place: String,
    pub message: String,
}

impl ConfigError {
    pub(super) fn new(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            message: message.into(),
        }
    }
}

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    File { path: PathBuf, line: usize },
    Env(String),
    Flag(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

impl Place {
    fn same_layer(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    Text(String),
    Number(u64),
    Flag(bool),
    /// From the environment or a flag, where everything is text.
    Untyped(String),
}

/// One value with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub raw: Raw,
    pub place: Place,
}

impl Setting {
    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(&self.place, message)
    }

    pub(super) fn text(&self) -> Result<&str, ConfigError> {
        match &self.raw {
            Raw::Text(text) | Raw::Untyped(text) if !text.is_empty() => Ok(text),
            Raw::Text(_) | Raw::Untyped(_) => Err(self.error("expected a text, found none")),
            Raw::Number(_) | Raw::Flag(_) => Err(self.error("expected a text in quotes")),
        }
    }

    pub(super) fn number(&self) -> Result<u64, ConfigError> {
        match &self.raw {
            Raw::Number(number) => Ok(*number),
            Raw::Untyped(text) => text
                .parse()
                .map_err(|_| self.error(format!("expected a number, found {text:?}"))),
            Raw::Text(text) => Err(self.error(format!(
                "expected a number, found the text {text:?}; leave the quotes out"
            ))),
            Raw::Flag(found) => Err(self.error(format!("expected a number, found {found}"))),
        }
    }

    pub(super) fn truth(&self) -> Result<bool, ConfigError> {
        match &self.raw {
            Raw::Flag(truth) => Ok(*truth),
            Raw::Untyped(text) if text == "true" => Ok(true),
            Raw::Untyped(text) if text == "false" => Ok(false),
            _ => Err(self.error("expected true or false")),
        }
    }

    /// A file's path. In a configuration file it counts from that file's folder.
    pub(super) fn path(&self) -> Result<PathBuf, ConfigError> {
        let path = Path::new(self.text()?);
        Ok(match &self.place {
            Place::File { path: file, .. } => file
                .parent()
                .map_or_else(|| path.to_owned(), |folder| folder.join(path)),
            Place::Env(_) | Place::Flag(_) => path.to_owned(),
        })
    }
}

/// All layers laid over each other. Add the lower layers first.
#[derive(Debug, Default)]
pub(super) struct Layers(BTreeMap<&'static str, Setting>);

impl Layers {
    pub(super) fn get(&self, key: &'static str) -> Option<&Setting> {
        debug_assert!(KEYS.contains(&key));
        self.0.get(key)
    }

    fn set(&mut self, key: &str, raw: Raw, place: Place) -> Result<(), ConfigError> {
        let Some(known) = KEYS.iter().copied().find(|known| *known == key) else {
            return Err(ConfigError::new(place, unknown(key)));
        };
        for (one, two) in ALTERNATIVES {
            let other = match known {
                key if key == *one => two,
                key if key == *two => one,
                _ => continue,
            };
            if self
                .0
                .get(other)
                .is_some_and(|o| o.place.same_layer(&place))
            {
                return Err(ConfigError::new(
                    place,
                    format!("`{known}` and `{other}` are both set; keep one of them"),
                ));
            }
            self.0.remove(other);
        }
        self.0.insert(known, Setting { raw, place });
        Ok(())
    }

    /// Adds the text of a TOML file.
    pub(super) fn add_file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let line = |at: usize| {
            text.get(..at)
                .map_or(1, |before| before.matches('\n').count() + 1)
        };
        let document = DeTable::parse(text).map_err(|error| {
            let place = Place::File {
                path: path.to_owned(),
                line: error.span().map_or(1, |span| line(span.start)),
            };
            ConfigError::new(place, error.message().replace('\n', ", "))
        })?;
        self.add_table(document.get_ref(), "", &|at| Place::File {
            path: path.to_owned(),
            line: line(at),
        })
    }

    fn add_table(
        &mut self,
        table: &DeTable<'_>,
        prefix: &str,
        place: &dyn Fn(usize) -> Place,
    ) -> Result<(), ConfigError> {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let place_of_key = place(key.span().start);
            let raw = match value.get_ref() {
                DeValue::Table(inner) if !KEYS.contains(&name.as_str()) => {
                    let prefix = format!("{name}.");
                    if !KEYS.iter().any(|known| known.starts_with(&prefix)) {
                        return Err(ConfigError::new(place_of_key, unknown(&name)));
                    }
                    self.add_table(inner, &prefix, place)?;
                    continue;
                }
                DeValue::String(text) => Raw::Text(text.clone().into_owned()),
                DeValue::Boolean(truth) => Raw::Flag(*truth),
                DeValue::Integer(number) => {
                    let parsed = u64::from_str_radix(number.as_str(), number.radix());
                    Raw::Number(parsed.map_err(|_| {
                        ConfigError::new(&place_of_key, format!("{number} is out of range"))
                    })?)
                }
                _ if KEYS.contains(&name.as_str()) => {
                    return Err(ConfigError::new(
                        place_of_key,
                        format!("`{name}` is a text, a number, or true or false"),
                    ));
                }
                _ => return Err(ConfigError::new(place_of_key, unknown(&name))),
            };
            self.set(&name, raw, place_of_key)?;
        }
        Ok(())
    }

    /// Adds the variables that begin with [`ENV_PREFIX`], but for those in which a secret itself
    /// stands because a `…_env` key names them.
    pub(super) fn add_env(&mut self, env: &BTreeMap<String, String>) -> Result<(), ConfigError> {
        let mut later = Vec::new();
        for (name, value) in env {
            let Some(rest) = name.strip_prefix(ENV_PREFIX) else {
                continue;
            };
            let key = rest.replace("__", ".").to_lowercase();
            let place = Place::Env(name.clone());
            if rest.chars().any(char::is_lowercase) || !KEYS.contains(&key.as_str()) {
                later.push((name, ConfigError::new(place, unknown_variable(&key))));
            } else {
                self.set(&key, Raw::Untyped(value.clone()), place)?;
            }
        }
        let holds_secret = |name: &str| {
            ["github.private_key_env", "github.webhook_secret_env"]
                .into_iter()
                .filter_map(|key| self.get(key))
                .any(|setting| setting.text().is_ok_and(|named| named == name))
        };
        later
            .into_iter()
            .find(|(name, _)| !holds_secret(name))
            .map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Adds a flag of the command line, named as the user writes it without the dashes.
    pub(super) fn add_flag(
        &mut self,
        flag: &'static str,
        key: &'static str,
        value: String,
    ) -> Result<(), ConfigError> {
        self.set(key, Raw::Untyped(value), Place::Flag(flag))
    }
}

/// The variable that sets a key.
pub(super) fn variable(key: &str) -> String {
    format!("{ENV_PREFIX}{}", key.replace('.', "__").to_uppercase())
}

fn unknown(key: &str) -> String {
    match likely(key) {
        Some(known) => format!("unknown key `{}`; did you mean `{known}`?", clip(key)),
        None => format!(
            "unknown key `{}`; the keys are {}",
            clip(key),
            KEYS.join(", ")
        ),
    }
}

fn unknown_variable(key: &str) -> String {
    match likely(key) {
        Some(known) => format!(
            "no setting has this name; did you mean {}?",
            variable(known)
        ),
        None => format!(
            "no setting has this name; the keys are {} (in upper case, a dot as two underscores)",
            KEYS.join(", ")
        ),
    }
}

/// The key that was probably meant.
fn likely(key: &str) -> Option<&'static str> {
    let key = clip(key);
    KEYS.iter()
        .map(|known| (strsim::jaro_winkler(&key, known), *known))
        .filter(|(score, _)| *score > 0.85)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

fn clip(key: &str) -> String {
    key.chars().take(80).collect()
}
