//! The hunk headers of a unified patch.

use crate::model::Hunk;

/// Hunks of `patch`, trimmed to the lines that changed; what can't be read is left out. A missing patch
/// (binary, too large) has no hunks.
///
/// The forge sends three lines of context; a hunk here holds the changed lines only, as `git diff -U0`
/// gives them.
pub fn hunks(patch: &str) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((old, new)) = header(line) else {
            continue;
        };
        let mut walk = Walk {
            old,
            new,
            open: None,
        };
        while let Some(line) = lines.next_if(|line| header(line).is_none()) {
            walk.line(line, &mut hunks);
        }
        walk.close(&mut hunks);
    }
    hunks
}

/// First old and new line of `@@ -a,b +c,d @@`.
fn header(line: &str) -> Option<(u32, u32)> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let start = |range: &str| -> Option<u32> {
        let (start, lines) = range.split_once(',').unwrap_or((range, "1"));
        let start: u32 = start.parse().ok()?;
        let lines: u32 = lines.parse().ok()?;
        // An empty side names the line before it.
        Some(if lines == 0 {
            start.checked_add(1)?
        } else {
            start
        })
    };
    Some((start(old)?, start(new)?))
}

/// Line numbers of the next old and new line, and the change that is open.
struct Walk {
    old: u32,
    new: u32,
    open: Option<Hunk>,
}

impl Walk {
    fn line(&mut self, line: &str, into: &mut Vec<Hunk>) {
        let (removed, added) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            // "\ No newline at end of file" is no line of either side.
            Some(b'\\') => return,
            _ => {
                self.close(into);
                self.old = self.old.saturating_add(1);
                self.new = self.new.saturating_add(1);
                return;
            }
        };
        let open = self.open.get_or_insert(Hunk {
            old_start: self.old,
            old_lines: 0,
            new_start: self.new,
            new_lines: 0,
        });
        open.old_lines += removed;
        open.new_lines += added;
        self.old = self.old.saturating_add(removed);
        self.new = self.new.saturating_add(added);
    }

    fn close(&mut self, into: &mut Vec<Hunk>) {
        if let Some(mut hunk) = self.open.take() {
            if hunk.old_lines == 0 {
                hunk.old_start = hunk.old_start.saturating_sub(1);
            }
            if hunk.new_lines == 0 {
                hunk.new_start = hunk.new_start.saturating_sub(1);
            }
            into.push(hunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(old_start: u32, old_lines: u32, new_start: u32, new_lines: u32) -> Hunk {
        Hunk {
            old_start,
            old_lines,
            new_start,
            new_lines,
        }
    }

    #[test]
    fn context_is_no_part_of_a_hunk() {
        let patch = "@@ -7,7 +7,8 @@ def f():\n a\n b\n c\n-d\n+D\n+E\n f\n g\n h";
        assert_eq!(hunks(patch), [hunk(10, 1, 10, 2)]);
    }

    #[test]
    fn two_changes_in_one_header_are_two_hunks() {
        let patch = "@@ -1,5 +1,5 @@\n-a\n+A\n b\n c\n d\n-e\n+E\n\\ No newline at end of file";
        assert_eq!(hunks(patch), [hunk(1, 1, 1, 1), hunk(5, 1, 5, 1)]);
    }

    #[test]
    fn empty_sides_name_the_line_before() {
        assert_eq!(hunks("@@ -0,0 +1,2 @@\n+a\n+b"), [hunk(0, 0, 1, 2)]);
        assert_eq!(hunks("@@ -1 +0,0 @@\n-a"), [hunk(1, 1, 0, 0)]);
        assert_eq!(hunks("@@ -3,2 +3,3 @@\n a\n+x\n b"), [hunk(3, 0, 4, 1)]);
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_a_line() {
        let patch = "@@ -1,2 +1 @@\n-@@ -1 +1 @@\n b";
        assert_eq!(hunks(patch), [hunk(1, 1, 0, 0)]);
    }

    #[test]
    fn nonsense_has_no_hunks() {
        for patch in [
            "",
            "@@",
            "@@ -x +y @@\n-a",
            "@@ -1 @@\n+a",
            "@@ -99999999999 +1 @@\n+a",
        ] {
            assert_eq!(hunks(patch), [], "{patch}");
        }
    }
}
