//! The digest of a sequence of pieces of text, where the cuts count. PURE.

use sha2::{Digest as _, Sha256};

use crate::model::FileDigest;

/// SHA-256 over pieces, each preceded by its length: `ab`, `c` is not `a`, `bc`.
#[derive(Clone, Default)]
pub struct Pieces(Sha256);

impl Pieces {
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update((piece.len() as u64).to_le_bytes());
        self.0.update(piece);
    }

    pub fn finish(self) -> FileDigest {
        FileDigest::from_bytes(self.0.finalize().into())
    }
}

/// The digest of `pieces`, in their order.
pub fn pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> FileDigest {
    let mut all = Pieces::default();
    for piece in pieces {
        all.add(piece);
    }
    all.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_text_is_cut_counts() {
        let cut = |parts: &[&'static str]| pieces(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(cut(&["ab", "c"]), cut(&["ab", "c"]));
        assert_ne!(cut(&["ab", "c"]), cut(&["a", "bc"]));
        assert_ne!(cut(&["abc"]), cut(&["abc", ""]));
    }
}
