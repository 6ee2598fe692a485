//! A sign of life on stderr for work that takes longer than a second.
//!
//! Invariant: only on a terminal, and nothing is left of it when the work ends.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long work may take before it says so.
const PATIENCE: Duration = Duration::from_secs(1);
const FRAME: Duration = Duration::from_millis(200);
const FRAMES: [&str; 4] = ["▰▱▱▱", "▰▰▱▱", "▰▰▰▱", "▰▰▰▰"];
/// Back to the line's start, and the rest of the line erased.
const CLEAR: &str = "\r\u{1b}[K";

/// Shows `label` and the seconds spent until it is dropped.
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts on stderr, if that is a terminal which understands cursor movement.
    pub fn start(label: &'static str) -> Self {
        let stderr = io::stderr();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if stderr.is_terminal() && !dumb {
            Self::on(stderr, label, PATIENCE)
        } else {
            Self {
                stop: None,
                thread: None,
            }
        }
    }

    fn on(to: impl Write + Send + 'static, label: &'static str, patience: Duration) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || {
            let started = Instant::now();
            let mut to = to;
            let mut wait = patience;
            let mut shown = false;
            for frame in FRAMES.iter().cycle() {
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                wait = FRAME;
                shown = true;
                let seconds = started.elapsed().as_secs();
                let _ = write!(to, "{CLEAR}{frame} {label}, {seconds} s").and_then(|()| to.flush());
            }
            if shown {
                let _ = write!(to, "{CLEAR}").and_then(|()| to.flush());
            }
        });
        Self {
            stop: Some(stop),
            thread: thread.ok(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands every write to the test.
    struct Pipe(Sender<String>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.0.send(text).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn long_work_shows_itself_and_leaves_nothing() {
        let (pipe, written) = mpsc::channel();
        let progress = Progress::on(Pipe(pipe), "reading", Duration::ZERO);
        let mut text = String::new();
        while !text.contains("reading, 0 s") {
            text.push_str(&written.recv().expect("the label is shown"));
        }
        drop(progress);
        let rest: Vec<String> = written.iter().collect();
        assert_eq!(rest.last().map(String::as_str), Some(CLEAR));
    }

    #[test]
    fn short_work_shows_nothing() {
        let (pipe, written) = mpsc::channel();
        drop(Progress::on(
            Pipe(pipe),
            "reading",
            Duration::from_secs(600),
        ));
        assert_eq!(written.iter().count(), 0);
    }
}
