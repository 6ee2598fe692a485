//! Line hunks between two versions of a file.

use gix::ObjectId;
use gix::diff::blob::{Algorithm, Diff, InternedInput};

use super::error::GitError;
use super::similarity::is_binary;
use super::tree::Leaf;
use crate::model::Hunk;

/// Larger files have no hunks; bytes.
const LARGEST: u64 = 1024 * 1024;

/// The hunks between two entries; none for binary, large and special files.
pub(super) fn between(
    repo: &gix::Repository,
    old: Option<Leaf>,
    new: Option<Leaf>,
) -> Result<Vec<Hunk>, GitError> {
    if old.map(|leaf| leaf.id) == new.map(|leaf| leaf.id) {
        return Ok(Vec::new());
    }
    let (Some(old), Some(new)) = (text(repo, old)?, text(repo, new)?) else {
        return Ok(Vec::new());
    };
    let input = InternedInput::new(old.as_slice(), new.as_slice());
    let diff = Diff::compute(Algorithm::Histogram, &input);
    Ok(diff
        .hunks()
        .map(|hunk| Hunk {
            old_start: start(&hunk.before),
            old_lines: hunk.before.len() as u32,
            new_start: start(&hunk.after),
            new_lines: hunk.after.len() as u32,
        })
        .collect())
}

/// 1-based start of a range of 0-based lines; for an empty one, the line before it (as in a patch).
fn start(range: &std::ops::Range<u32>) -> u32 {
    if range.is_empty() {
        range.start
    } else {
        range.start + 1
    }
}

/// The bytes of a text file that is small enough; of no file, nothing.
pub(super) fn text(
    repo: &gix::Repository,
    leaf: Option<Leaf>,
) -> Result<Option<Vec<u8>>, GitError> {
    let Some(leaf) = leaf else {
        return Ok(Some(Vec::new()));
    };
    if !leaf.kind.is_regular() || size(repo, leaf.id)? > LARGEST {
        return Ok(None);
    }
    let blob = repo
        .find_blob(leaf.id)
        .map_err(|error| GitError::object(format!("blob {}", leaf.id), error))?;
    let bytes = blob.detach().data;
    Ok((!is_binary(&bytes)).then_some(bytes))
}

fn size(repo: &gix::Repository, id: ObjectId) -> Result<u64, GitError> {
    let header = repo
        .find_header(id)
        .map_err(|error| GitError::object(format!("blob {id}"), error))?;
    Ok(header.size())
}
