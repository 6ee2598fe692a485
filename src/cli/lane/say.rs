//! What the lane tells people, on stderr.

use std::io::Write as _;

use crate::lane::bench::Run;
use crate::lane::model::Outcome;
use crate::lane::signature::Signature;
use crate::render::visible;

/// Writes a line to stderr. Nobody is left to tell when that fails.
pub fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", visible(line));
}

/// How one run ended, on one line.
pub fn run(run: &Run) {
    let colour = run.outcome.colour().name();
    let why = match &run.outcome {
        Outcome::Green => String::new(),
        Outcome::Red(failure) => Signature::of(failure).fine,
        Outcome::Errored { why } => why.clone(),
    };
    say(format!("{colour:<8}{:>6} ms  {why}", run.wall_ms).trim_end());
    for reason in &run.neutralised {
        say(&format!("        a skip was taken off: {reason}"));
    }
}
