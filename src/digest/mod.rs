//! Digests (protocol section 4): of a file, and of a set of files in both forms. PURE.

use crate::model::{BlobDigest, FileDigest};

/// What is known of a blob from its bytes: SHA-256, the same with CRLF read as LF, LFS oid.
pub fn blob(bytes: &[u8]) -> BlobDigest {
    let _ = bytes;
    todo!()
}

/// `manifest-sha256:<64 hex>` over (path from the repository root, file digest), in any order.
pub fn manifest<'a>(files: impl IntoIterator<Item = (&'a [u8], &'a FileDigest)>) -> String {
    let _ = files.into_iter().count();
    todo!()
}

/// `sha256:<64 hex>`, the seed form: (path below the root, bytes) of every regular file, in any order.
/// Files ending in `.pyc` are left out here.
pub fn seed_form<'a>(files: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> String {
    let _ = files.into_iter().count();
    todo!()
}
