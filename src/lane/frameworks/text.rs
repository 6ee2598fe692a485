//! Text that a run left behind, and text of command lines.

use std::io::Read as _;
use std::path::Path;

/// A report is no larger; bytes.
pub(super) const LARGEST_REPORT: u64 = 8 * 1024 * 1024;

/// The text of a plain file of at most `largest` bytes; `None` where there is none, whatever was put in its
/// place.
///
/// # Errors
/// Why it cannot be read: a clause.
pub(super) fn plain(path: &Path, largest: u64) -> Result<Option<String>, String> {
    if !std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(largest + 1).read_to_string(&mut text))
        .map_err(|error| format!("{name} cannot be read: {error}"))?;
    if read as u64 > largest {
        return Err(format!("{name} is larger than {largest} bytes"));
    }
    Ok(Some(text))
}

/// One POSIX word.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The first line that is not blank, as far as it fits in a sentence.
pub(super) fn first_words(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().chars().take(300).collect()
}
