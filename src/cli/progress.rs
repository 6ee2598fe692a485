//! A sign of life on stderr for work that takes longer than a second.
//!
//! Invariant: only on a terminal, and nothing is left of it when the work ends.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long work may take before it says so.
const PATIENCE: Duration = Duration::from_secs(1);
const FRAME: Duration = Duration::from_millis(200);

/// Shows what is done, and the time spent, until it is dropped.
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts on stderr, if that is a terminal which understands cursor movement.
    pub fn start(label: &'static str) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if io::stderr().is_terminal() && !dumb {
            Self::on(ProgressDrawTarget::stderr(), label, PATIENCE)
        } else {
            Self {
                stop: None,
                thread: None,
            }
        }
    }

    fn on(target: ProgressDrawTarget, label: &'static str, patience: Duration) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || {
            let goes_on = |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
            if !goes_on(patience) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, target)
                .with_style(ProgressStyle::default_spinner())
                .with_elapsed(patience);
            loop {
                bar.set_message(format!("{label}, {} s", bar.elapsed().as_secs()));
                bar.tick();
                if !goes_on(FRAME) {
                    break;
                }
            }
            bar.finish_and_clear();
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
    use indicatif::TermLike;

    use super::*;

    /// What is done to the terminal, handed to the test.
    #[derive(Debug)]
    enum Done {
        Wrote(String),
        Cleared,
    }

    #[derive(Debug)]
    struct Terminal(Sender<Done>);

    impl Terminal {
        fn tell(&self, done: Done) -> io::Result<()> {
            self.0.send(done).map_err(io::Error::other)
        }
    }

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.tell(Done::Wrote(text.to_owned()))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.tell(Done::Wrote(text.to_owned()))
        }
        fn clear_line(&self) -> io::Result<()> {
            self.tell(Done::Cleared)
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn on_terminal(patience: Duration) -> (Progress, mpsc::Receiver<Done>) {
        let (terminal, done) = mpsc::channel();
        let target = ProgressDrawTarget::term_like(Box::new(Terminal(terminal)));
        (Progress::on(target, "reading", patience), done)
    }

    #[test]
    fn long_work_shows_itself_and_leaves_nothing() {
        let (progress, done) = on_terminal(Duration::ZERO);
        loop {
            match done.recv().expect("the label is shown") {
                Done::Wrote(text) if text.contains("reading, 0 s") => break,
                Done::Wrote(_) | Done::Cleared => {}
            }
        }
        drop(progress);
        let left: Vec<Done> = done.iter().collect();
        let last_cleared = left.iter().rposition(|done| matches!(done, Done::Cleared));
        let after = last_cleared.map(|at| &left[at + 1..]);
        let blank = |done: &Done| matches!(done, Done::Wrote(text) if text.trim().is_empty());
        assert!(
            after.is_some_and(|after| after.iter().all(blank)),
            "{left:?}"
        );
    }

    #[test]
    fn short_work_shows_nothing() {
        let (progress, done) = on_terminal(Duration::from_secs(600));
        drop(progress);
        assert_eq!(done.iter().count(), 0);
    }
}
