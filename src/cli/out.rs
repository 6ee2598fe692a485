//! What commands say: stdout is data, stderr is for people.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

use crate::render::{TextStyle, visible};

/// Columns of text that does not go to a terminal.
const PIPED_WIDTH: usize = 100;

/// Writes `text` to stdout. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("the output could not be written"))
        }
        _ => Ok(()),
    }
}

/// Writes `error: …` to stderr. Nobody is left to tell when that fails.
pub fn error(message: &str) {
    let message = visible(message);
    let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {message}");
}

/// Writes `warning: …` to stderr.
pub fn warning(message: &str) {
    let message = visible(message);
    let _ = writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} {message}");
}

const WARNING: anstyle::Style = anstyle::Style::new()
    .bold()
    .fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Yellow)));

const ERROR: anstyle::Style = anstyle::Style::new()
    .bold()
    .fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Red)));

/// How text on stdout looks: the terminal's width and colours, or plain text of fixed width. `NO_COLOR`,
/// `CLICOLOR_FORCE` and `TERM=dumb` are honoured.
pub fn style() -> TextStyle {
    let stdout = io::stdout();
    let width = if stdout.is_terminal() {
        terminal_size::terminal_size_of(&stdout)
            .map_or(PIPED_WIDTH, |(width, _)| usize::from(width.0))
    } else {
        PIPED_WIDTH
    };
    TextStyle {
        width: width.clamp(40, 200),
        colour: AutoStream::choice(&stdout) != ColorChoice::Never,
    }
}
