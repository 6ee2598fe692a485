//! Lines for a terminal; what comes from the repository cannot draw on it.

use crate::init::Change;
use crate::render::visible;

/// So many lines of one kind are shown.
const MOST_SHOWN: usize = 8;

/// The first lines, and how many more there are.
pub(super) fn shortened(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_SHOWN);
    lines.truncate(MOST_SHOWN);
    if more > 0 {
        lines.push(format!("  … and {more} more"));
    }
    lines
}

#[derive(Default)]
pub(super) struct Page {
    pub out: String,
}

impl Page {
    pub fn line(&mut self, text: &str) {
        self.out.push_str(&visible(text));
        self.out.push('\n');
    }

    /// Several lines of this program's own making.
    pub fn text(&mut self, text: &str) {
        text.lines().for_each(|line| self.line(line));
    }

    pub fn lines(&mut self, heading: &str, lines: &[String]) {
        self.line(&format!("{heading}:"));
        for line in lines {
            self.line(&format!("  {line}"));
        }
    }

    pub fn list(&mut self, heading: &str, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        self.line("");
        self.line(heading);
        for line in shortened(lines) {
            self.line(&format!("  {}", line.trim_end()));
        }
    }

    pub fn changes(&mut self, changes: &[Change], is_dry_run: bool) {
        self.line("");
        if changes.is_empty() {
            self.line("Nothing new to propose: the contract files stay as they are.");
            return;
        }
        for change in changes {
            let verb = match (is_dry_run, &change.old) {
                (true, None) => "would write",
                (true, Some(_)) => "would extend",
                (false, None) => "wrote",
                (false, Some(_)) => "extended",
            };
            self.line(&format!("{verb} {} ({})", change.path, change.what));
        }
    }

    pub fn next(&mut self, changes: &[Change], is_dry_run: bool) {
        self.line("");
        self.line("Next:");
        if is_dry_run && !changes.is_empty() {
            self.line("  frostline init");
            return;
        }
        if !changes.is_empty() {
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            self.line(&format!("  git add {}", paths.join(" ")));
            let message = match changes.iter().any(|change| change.old.is_some()) {
                true => "Extend Frostline's contract",
                false => "Opt in to Frostline",
            };
            self.line(&format!("  git commit -m \"{message}\""));
        }
        self.line("  frostline check");
    }
}
