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
    Ok(of_texts(&old, &new))
}

fn of_texts(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let (skipped, old, new) = differing(old, new);
    let input = InternedInput::new(old, new);
    hunks_of(&Diff::compute(Algorithm::Histogram, &input), skipped)
}

/// The hunks of a diff of texts from which `skipped` lines were cut off first.
fn hunks_of(diff: &Diff, skipped: u32) -> Vec<Hunk> {
    diff.hunks()
        .map(|hunk| Hunk {
            old_start: start(&hunk.before) + skipped,
            old_lines: hunk.before.len() as u32,
            new_start: start(&hunk.after) + skipped,
            new_lines: hunk.after.len() as u32,
        })
        .collect()
}

/// What is left of two texts without the whole lines that both begin and end with, and the number of lines
/// that they begin with. The diff would find them too, but only after it hashed each line.
fn differing<'t>(old: &'t [u8], new: &'t [u8]) -> (u32, &'t [u8], &'t [u8]) {
    let same = common(
        old.chunks(BLOCK).zip(new.chunks(BLOCK)),
        old.iter().zip(new),
    );
    let lines = memchr::memrchr(b'\n', &old[..same]).map_or(0, |at| at + 1);
    let skipped = memchr::memchr_iter(b'\n', &old[..lines]).count();
    let (old, new) = (&old[lines..], &new[lines..]);
    let same = common(
        old.rchunks(BLOCK).zip(new.rchunks(BLOCK)),
        old.iter().rev().zip(new.iter().rev()),
    );
    let tail = memchr::memchr(b'\n', &old[old.len() - same..]).map_or(0, |at| same - at - 1);
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    (u32::try_from(skipped).unwrap_or(u32::MAX), old, new)
}

/// So many bytes are compared at once.
const BLOCK: usize = 64;

/// The number of bytes that are the same from where both walks start.
fn common<'t>(
    blocks: impl Iterator<Item = (&'t [u8], &'t [u8])>,
    bytes: impl Iterator<Item = (&'t u8, &'t u8)>,
) -> usize {
    let whole = blocks
        .take_while(|(a, b)| a == b && a.len() == BLOCK)
        .count()
        * BLOCK;
    whole + bytes.skip(whole).take_while(|(a, b)| a == b).count()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(old: &[u8], new: &[u8]) -> Vec<Hunk> {
        let input = InternedInput::new(old, new);
        hunks_of(&Diff::compute(Algorithm::Histogram, &input), 0)
    }

    #[test]
    fn an_end_without_a_line_end_is_a_line_of_its_own() {
        let ends: [(&[u8], &[u8]); 5] = [
            (b"a", b"a\n"),
            (b"a\nb", b"a\nb\n"),
            (b"", b"a"),
            (b"a\nb\n", b"b\n"),
            (b"xa\nb", b"a\nb"),
        ];
        for (old, new) in ends {
            assert_eq!(of_texts(old, new), whole(old, new), "{old:?} {new:?}");
            assert!(!of_texts(old, new).is_empty());
        }
    }

    proptest! {
        #[test]
        fn lines_that_are_skipped_change_no_hunk(
            old in "([ab]{0,2}\n|[ab]{70}\n){0,12}[ab]?",
            new in "([ab]{0,2}\n|[ab]{70}\n){0,12}[ab]?",
            around in "(c{0,3}\n){0,40}",
        ) {
            let old = format!("{around}{old}{around}");
            let new = format!("{around}{new}{around}");
            prop_assert_eq!(
                of_texts(old.as_bytes(), new.as_bytes()),
                whole(old.as_bytes(), new.as_bytes())
            );
        }
    }
}
