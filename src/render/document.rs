//! A Markdown document that never outgrows its limit. PURE.
//!
//! Invariant: what does not fit is left out row by row and counted; a table or a `<details>` block is
//! never cut open. Lengths are in bytes, the strictest of the ways a forge might count.

use super::words::count;

/// Room kept for the headings, table heads and "N more" lines of sections still to come.
const RESERVE: usize = 4096;

/// Rows in a row that may be too long before the rest is given up unseen.
const MISSES: usize = 32;

/// Text with a limit.
pub struct Document {
    text: String,
    limit: usize,
}

/// What surrounds the rows of a list or table.
pub struct Frame<'a> {
    /// Printed before the first row; ends with a newline.
    pub head: &'a str,
    /// Printed after the last row, and after the count of what was left out.
    pub tail: &'a str,
    /// Nouns for what is left out: one, several.
    pub nouns: (&'a str, &'a str),
}

impl Document {
    /// A document of at most `limit` bytes; `usize::MAX` for one without a limit. The limit has to leave
    /// room for the texts of [`Self::push`], which are ours and short.
    pub fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit,
        }
    }

    /// Adds a text of ours that is always shown.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a paragraph of bounded length, with an empty line after it.
    pub fn paragraph(&mut self, text: &str) {
        self.push(text);
        self.push("\n\n");
    }

    /// Adds as many of `rows` as fit into `share` percent of the room that is left, and counts the rest.
    /// Each row ends with a newline. Without rows nothing is added.
    pub fn rows(
        &mut self,
        frame: &Frame<'_>,
        share: usize,
        rows: impl ExactSizeIterator<Item = String>,
    ) {
        let total = rows.len();
        if total == 0 {
            return;
        }
        self.push(frame.head);
        let left = self.limit.saturating_sub(self.text.len() + RESERVE);
        let until = self.text.len().saturating_add(left / 100 * share);
        let (mut shown, mut misses) = (0, 0);
        for row in rows {
            if self.text.len().saturating_add(row.len()) <= until {
                self.text.push_str(&row);
                shown += 1;
                misses = 0;
            } else if misses < MISSES {
                misses += 1;
            } else {
                break;
            }
        }
        if shown < total {
            let (one, many) = frame.nouns;
            self.push(&format!(
                "\n{} not shown here; `frostline check` prints all.\n",
                count(
                    total - shown,
                    &format!("more {one}"),
                    &format!("more {many}")
                )
            ));
        }
        self.push(frame.tail);
        self.push("\n");
    }

    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut document = Document::new(10_000);
        let frame = Frame {
            head: "| x |\n| --- |\n",
            tail: "",
            nouns: ("path", "paths"),
        };
        document.rows(&frame, 100, (0..1000).map(|n| format!("| {n:>20} |\n")));
        let text = document.finish();
        let shown = text
            .lines()
            .filter(|line| line.ends_with("0 |") || line.starts_with("|  "))
            .count();
        assert!(text.len() < 10_000, "{}", text.len());
        assert!(shown > 100 && shown < 1000, "{shown}");
        assert!(text.contains("more paths not shown here"), "{text}");
    }

    #[test]
    fn without_a_limit_nothing_is_left_out() {
        let mut document = Document::new(usize::MAX);
        let frame = Frame {
            head: "",
            tail: "",
            nouns: ("path", "paths"),
        };
        document.rows(&frame, 50, (0..5000).map(|n| format!("- {n}\n")));
        assert!(document.finish().contains("- 4999\n"));
    }
}
