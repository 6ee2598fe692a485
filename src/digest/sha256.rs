//! SHA-256 of a whole blob, by what is fastest on this processor. PURE.
//!
//! sha2 uses SHA instructions where there are some, and plain code where there are none; ring then has
//! vector code that needs about half the time (`cargo bench --bench digest`). It is in every build, as the
//! cryptography of TLS.

use sha2::{Digest as _, Sha256};

/// The digest of `bytes`.
pub(super) fn of(bytes: &[u8]) -> [u8; 32] {
    if has_instructions() {
        Sha256::digest(bytes).into()
    } else {
        by_vectors(bytes)
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn has_instructions() -> bool {
    std::arch::is_x86_feature_detected!("sha")
}

/// Elsewhere sha2 is taken: its aarch64 code finds the instructions by itself.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn has_instructions() -> bool {
    true
}

fn by_vectors(bytes: &[u8]) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut found = [0; 32];
    found.copy_from_slice(digest.as_ref());
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_give_the_same_digest(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let expected: [u8; 32] = Sha256::digest(&bytes).into();
            prop_assert_eq!(by_vectors(&bytes), expected);
            prop_assert_eq!(of(&bytes), expected);
        }
    }
}
