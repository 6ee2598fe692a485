//! How alike two blobs are, by git's own measure.
//!
//! A merge hangs on what git takes for a rename, so the measure has to be git's to the last digit: the
//! bytes are cut after each line end and after 64 bytes, each piece is hashed, and the bytes in pieces
//! that both blobs have are counted against the size of the larger one.

/// Score of two equal blobs.
pub(super) const MAX: u64 = 60_000;
/// From this score on git takes an added file for a renamed one (50 %).
pub(super) const RENAME: u64 = 30_000;

/// A prime that git's piece hash is taken modulo of.
const HASH_BASE: u32 = 107_927;
/// git looks for a NUL in so many bytes to tell binary from text.
const BINARY_PROBE: usize = 8_000;

/// What [`Pieces::score`] needs to know of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pieces {
    size: u64,
    /// (hash, bytes in pieces of that hash), sorted by hash.
    counts: Vec<(u32, u64)>,
}

/// Whether git takes these bytes for binary, when no attribute says otherwise.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_PROBE)].contains(&0)
}

impl Pieces {
    pub fn of(bytes: &[u8]) -> Self {
        let text = !is_binary(bytes);
        let mut counts = Vec::new();
        let (mut one, mut two, mut length) = (0_u32, 0_u32, 0_u64);
        for (at, &byte) in bytes.iter().enumerate() {
            if text && byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            let before = one;
            one = (one << 7) ^ (two >> 25);
            two = (two << 7) ^ (before >> 25);
            one = one.wrapping_add(u32::from(byte));
            length += 1;
            if length == 64 || byte == b'\n' {
                counts.push((piece_hash(one, two), length));
                (one, two, length) = (0, 0, 0);
            }
        }
        if length > 0 {
            counts.push((piece_hash(one, two), length));
        }
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Self {
            size: bytes.len() as u64,
            counts,
        }
    }

    /// Between 0 and [`MAX`]; below [`RENAME`] it may be 0 where git would not have computed it.
    pub fn score(&self, new: &Self) -> u64 {
        if !sizes_allow(self.size, new.size) || new.size == 0 {
            return 0;
        }
        self.common(new) * MAX / self.size.max(new.size)
    }

    fn common(&self, new: &Self) -> u64 {
        let mut others = new.counts.iter().peekable();
        let mut common = 0;
        for (hash, count) in &self.counts {
            while others.next_if(|other| other.0 < *hash).is_some() {}
            if let Some((_, other)) = others.next_if(|other| other.0 == *hash) {
                common += count.min(other);
            }
        }
        common
    }
}

/// Whether two blobs of these sizes can reach [`RENAME`] at all.
pub(super) fn sizes_allow(old: u64, new: u64) -> bool {
    let (small, large) = (old.min(new), old.max(new));
    u128::from(large) * u128::from(MAX - RENAME) >= u128::from(large - small) * u128::from(MAX)
}

fn piece_hash(one: u32, two: u32) -> u32 {
    one.wrapping_add(two.wrapping_mul(0x61)) % HASH_BASE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(old: &str, new: &str) -> u64 {
        Pieces::of(old.as_bytes()).score(&Pieces::of(new.as_bytes()))
    }

    #[test]
    fn equal_blobs_have_the_full_score_and_strangers_none() {
        assert_eq!(score("a\nb\nc\n", "a\nb\nc\n"), MAX);
        assert_eq!(score("a\nb\nc\n", "x\ny\nz\n"), 0);
        assert_eq!(score("", ""), 0);
    }

    #[test]
    fn half_of_the_lines_kept_is_a_rename() {
        assert_eq!(score("a\nb\nc\nd\n", "a\nb\nx\ny\n"), RENAME);
        assert!(score("a\nb\nc\nd\n", "a\nx\ny\nz\n") < RENAME);
    }

    #[test]
    fn line_ends_do_not_count_in_text() {
        assert_eq!(score("a\nb\n", "a\r\nb\r\n"), 4 * MAX / 6);
    }
}
