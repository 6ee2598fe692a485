//! Changed files in the API's words, with their hunks in unified form.

use anyhow::{Context as _, Result};
use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::object::tree::diff::ChangeDetached;

use super::git::sha;
use crate::model::Sha;

/// A changed file between two trees.
#[derive(Debug, Clone)]
pub struct FileDiff {
    pub path: String,
    pub previous_path: Option<String>,
    /// `added`, `removed`, `modified`, `renamed` or `changed`.
    pub status: &'static str,
    pub id: Sha,
    pub additions: u32,
    pub deletions: u32,
    /// Hunks in unified form without file headers; `None` for binary files and pure renames.
    pub patch: Option<String>,
}

/// What a change of one file looks like; `None` for a directory.
pub(super) fn file_diff(
    repo: &gix::Repository,
    change: ChangeDetached,
) -> Result<Option<FileDiff>> {
    let (path, previous_path, status, old, new) = match change {
        ChangeDetached::Addition {
            location,
            entry_mode,
            id,
            ..
        } => (location, None, "added", None, Some((entry_mode, id))),
        ChangeDetached::Deletion {
            location,
            entry_mode,
            id,
            ..
        } => (location, None, "removed", Some((entry_mode, id)), None),
        ChangeDetached::Modification {
            location,
            previous_entry_mode,
            previous_id,
            entry_mode,
            id,
        } => {
            let status = if previous_id == id {
                "changed"
            } else {
                "modified"
            };
            let old = Some((previous_entry_mode, previous_id));
            (location, None, status, old, Some((entry_mode, id)))
        }
        ChangeDetached::Rewrite {
            source_location,
            source_entry_mode,
            source_id,
            location,
            entry_mode,
            id,
            copy,
            ..
        } => (
            location,
            Some(source_location),
            if copy { "copied" } else { "renamed" },
            Some((source_entry_mode, source_id)),
            Some((entry_mode, id)),
        ),
    };
    let entry = new.or(old).context("a change has a side")?;
    if entry.0.is_tree() {
        return Ok(None);
    }
    let read = |side: Option<(gix::object::tree::EntryMode, ObjectId)>| -> Result<Vec<u8>> {
        match side {
            Some((mode, id)) if mode.is_blob_or_symlink() => {
                Ok(repo.find_object(id)?.detach().data)
            }
            Some((_, id)) => Ok(format!("Subproject commit {id}\n").into_bytes()),
            None => Ok(Vec::new()),
        }
    };
    let text = unified(&read(old)?, &read(new)?)?;
    Ok(Some(FileDiff {
        path: path.to_str_lossy().into_owned(),
        previous_path: previous_path.map(|path| path.to_str_lossy().into_owned()),
        status,
        id: sha(entry.1),
        additions: text.additions,
        deletions: text.deletions,
        patch: text.patch,
    }))
}

#[derive(Default)]
struct Unified {
    additions: u32,
    deletions: u32,
    patch: Option<String>,
}

/// The hunks between two texts, with three lines of context, as the API's `patch` has them.
fn unified(old: &[u8], new: &[u8]) -> Result<Unified> {
    use gix::diff::blob::unified_diff::{ConsumeBinaryHunk, ContextSize};
    let binary = |bytes: &[u8]| bytes.iter().take(8000).any(|byte| *byte == 0);
    if old == new || binary(old) || binary(new) {
        return Ok(Unified::default());
    }
    let input = gix::diff::blob::InternedInput::new(old, new);
    let diff =
        gix::diff::blob::diff_with_slider_heuristics(gix::diff::blob::Algorithm::Histogram, &input);
    let patch = gix::diff::blob::UnifiedDiff::new(
        &diff,
        &input,
        ConsumeBinaryHunk::new(Vec::new(), "\n"),
        ContextSize::symmetrical(3),
    )
    .consume()?;
    let patch = String::from_utf8_lossy(&patch);
    Ok(Unified {
        additions: diff.count_additions(),
        deletions: diff.count_removals(),
        patch: Some(as_git_writes(&patch, old, new)),
    })
}

/// Mends what the hunk printer does otherwise than git: the start of an empty side is the line
/// before it, a file that does not end in a newline is marked, and there is no final newline.
fn as_git_writes(patch: &str, old: &[u8], new: &[u8]) -> String {
    let unended = |bytes: &[u8]| !bytes.is_empty() && !bytes.ends_with(b"\n");
    let lines: Vec<&str> = patch.split_terminator('\n').collect();
    let last_of = |side: char| {
        lines
            .iter()
            .rposition(|line| line.starts_with(side) || line.starts_with(' '))
    };
    let (last_old, last_new) = (last_of('-'), last_of('+'));
    let (old_lines, new_lines) = (old.lines().count(), new.lines().count());
    let (mut old_at, mut new_at) = (0, 0);
    let mut out: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(header) = hunk_header(line) {
            let [old_start, old_len, new_start, new_len] = header;
            (old_at, new_at) = (old_start + old_len, new_start + new_len);
            let start = |start: usize, len: usize| if len == 0 { start - 1 } else { start };
            out.push(format!(
                "@@ -{},{old_len} +{},{new_len} @@",
                start(old_start, old_len),
                start(new_start, new_len)
            ));
            continue;
        }
        out.push((*line).to_owned());
        let ends_old = last_old == Some(at) && old_at > old_lines && !line.starts_with('+');
        let ends_new = last_new == Some(at) && new_at > new_lines && !line.starts_with('-');
        if ends_old && unended(old) || ends_new && unended(new) {
            out.push("\\ No newline at end of file".to_owned());
        }
    }
    out.join("\n")
}

fn hunk_header(line: &str) -> Option<[usize; 4]> {
    let body = line.strip_prefix("@@ -")?.strip_suffix(" @@")?;
    let mut numbers = body
        .split([',', ' '])
        .map(|n| n.trim_start_matches('+').parse());
    let mut next = || numbers.next()?.ok();
    Some([next()?, next()?, next()?, next()?])
}
