//! Watches what every server of the suite logs: no line may hold a token or a key.

use std::io;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use frostline::demo::forge::Forge;
use tracing_subscriber::EnvFilter;

/// How tokens and keys begin, whichever forge made them.
const MARKS: &[&str] = &["ghs_", "eyJ", "PRIVATE KEY", "Bearer "];
/// All that a server, its libraries and the fake forge say. The database logs every statement, without
/// what is bound to it: that would only cost time.
const FILTER: &str = "trace,sqlx=info,gix=info";

#[derive(Default)]
struct Seen {
    /// Webhook secrets and lines of private keys.
    secrets: Vec<String>,
    lines: u64,
    leaks: Vec<String>,
}

static SEEN: Mutex<Seen> = Mutex::new(Seen {
    secrets: Vec::new(),
    lines: 0,
    leaks: Vec::new(),
});

fn seen() -> MutexGuard<'static, Seen> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What in `text` may not be logged.
pub fn leak<'a>(text: &str, secrets: &'a [String]) -> Option<&'a str> {
    MARKS
        .iter()
        .copied()
        .chain(secrets.iter().map(String::as_str))
        .find(|secret| text.contains(secret))
}

/// What a forge's App knows that nobody else may.
pub fn secrets(forge: &Forge) -> Vec<String> {
    let key = forge.private_key_pem().lines().nth(1);
    key.into_iter()
        .chain([forge.webhook_secret()])
        .map(str::to_owned)
        .collect()
}

/// Gets each line as it is logged.
struct Watching;

impl io::Write for Watching {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let mut seen = seen();
        seen.lines += 1;
        if let Some(secret) = leak(&text, &seen.secrets) {
            let hidden = text.replace(secret, "[the secret]");
            seen.leaks.push(hidden);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Listens as long as it lives; the test that holds it fails if anything leaked meanwhile.
pub struct LogWatch(());

impl LogWatch {
    pub fn of(forge: &Forge) -> Self {
        static LISTENING: Once = Once::new();
        LISTENING.call_once(|| {
            tracing_subscriber::fmt()
                .with_env_filter(EnvFilter::new(FILTER))
                .with_writer(|| Watching)
                .with_ansi(false)
                .init();
        });
        for secret in secrets(forge) {
            let mut seen = seen();
            if !seen.secrets.contains(&secret) {
                seen.secrets.push(secret);
            }
        }
        Self(())
    }

    /// Lines so far.
    pub fn lines(&self) -> u64 {
        seen().lines
    }
}

impl Drop for LogWatch {
    fn drop(&mut self) {
        let leaks = &seen().leaks;
        if !std::thread::panicking() {
            assert!(leaks.is_empty(), "a secret was logged:\n{leaks:#?}");
        }
    }
}
