//! Digests (protocol section 4): of a blob, and of a set of files in both forms. PURE.
//!
//! Invariant: a digest is of the bytes that git stores, and anyone can recompute it with
//! `sha256sum`; the seed form is read, and never written.

mod lfs;
mod pieces;
mod sha256;

pub use pieces::{Pieces, pieces};

use sha2::{Digest as _, Sha256};

use crate::model::{BlobDigest, FileDigest};

/// How far git looks for a NUL byte before it takes a blob for text.
const TEXT_PROBE: usize = 8000;

/// What is known of a blob from its bytes: SHA-256, the same with CRLF read as LF where that differs,
/// and the oid of a canonical Git LFS pointer.
///
/// The CRLF form serves a hint about line endings only, so it is not computed for binary blobs.
pub fn blob(bytes: &[u8]) -> BlobDigest {
    let is_text = !bytes[..bytes.len().min(TEXT_PROBE)].contains(&0);
    let lf_sha256 =
        (is_text && memchr::memmem::find(bytes, b"\r\n").is_some()).then(|| sha256_with_lf(bytes));
    BlobDigest {
        sha256: FileDigest::from_bytes(sha256::of(bytes)),
        lf_sha256,
        lfs_oid: lfs::pointer_oid(bytes),
    }
}

fn sha256_with_lf(bytes: &[u8]) -> FileDigest {
    let mut hash = Sha256::new();
    let mut start = 0;
    for at in memchr::memmem::find_iter(bytes, b"\r\n") {
        hash.update(&bytes[start..at]);
        start = at + 1;
    }
    hash.update(&bytes[start..]);
    FileDigest::from_bytes(hash.finalize().into())
}

/// `manifest-sha256:<64 hex>` over (path from the repository root, file digest), in any order.
pub fn manifest<'a>(files: impl IntoIterator<Item = (&'a [u8], &'a FileDigest)>) -> String {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_unstable_by_key(|(path, _)| *path);
    let mut hash = Sha256::new();
    for (path, digest) in files {
        hash.update(digest.as_str());
        hash.update(b"  ");
        hash.update(path);
        hash.update(b"\n");
    }
    format!("manifest-sha256:{}", hex::encode(hash.finalize()))
}

/// `sha256:<64 hex>`, the seed form: (path below the root, bytes) of every regular file, in any order.
///
/// Files ending in `.pyc` are left out here. Not injective (protocol section 4).
pub fn seed_form<'a>(files: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> String {
    let mut files: Vec<_> = files
        .into_iter()
        .filter(|(path, _)| !path.ends_with(b".pyc"))
        .collect();
    files.sort_by(|(a, _), (b, _)| a.split(|c| *c == b'/').cmp(b.split(|c| *c == b'/')));
    let mut form = SeedForm::default();
    for (path, bytes) in files {
        form.add(path, bytes);
    }
    form.finish()
}

/// The seed form, file by file: in the order of path components, and without `.pyc`.
#[derive(Default)]
pub struct SeedForm(Sha256);

impl SeedForm {
    /// A file, by its path below the root.
    pub fn add(&mut self, path: &[u8], bytes: &[u8]) {
        for piece in [path, b"\0", bytes, b"\0"] {
            self.0.update(piece);
        }
    }

    pub fn finish(self) -> String {
        format!("sha256:{}", hex::encode(self.0.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex_of(bytes: &[u8]) -> String {
        hex::encode(Sha256::digest(bytes))
    }

    #[test]
    fn a_blob_is_hashed_as_it_is_stored() {
        let digest = blob(b"a\r\nb\n\rc\r\n");
        assert_eq!(digest.sha256.as_str(), hex_of(b"a\r\nb\n\rc\r\n"));
        assert_eq!(
            digest.lf_sha256.expect("has CRLF").as_str(),
            hex_of(b"a\nb\n\rc\n")
        );
        assert_eq!(blob(b"a\nb\r").lf_sha256, None);
        assert_eq!(blob(b"\0a\r\n").lf_sha256, None, "binary");
        assert_eq!(
            blob(b"").sha256.as_str(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn the_manifest_is_in_byte_order_of_the_path() {
        let (x, y, z) = (blob(b"x").sha256, blob(b"y").sha256, blob(b"z").sha256);
        let expected = format!("{x}  d/a-b\n{y}  d/a.txt\n{z}  d/a/b\n");
        let files: [(&[u8], &FileDigest); 3] = [(b"d/a/b", &z), (b"d/a.txt", &y), (b"d/a-b", &x)];
        assert_eq!(
            manifest(files),
            format!("manifest-sha256:{}", hex_of(expected.as_bytes()))
        );
    }

    #[test]
    fn the_seed_form_is_in_order_of_path_components_without_pyc() {
        let files: [(&[u8], &[u8]); 4] = [
            (b"a-b", b"1"),
            (b"a.txt", b"2"),
            (b"a/b", b"3"),
            (b"a/__pycache__/b.pyc", b"4"),
        ];
        assert_eq!(
            seed_form(files),
            format!(
                "sha256:{}",
                hex_of(b"a/b\x003\x00a-b\x001\x00a.txt\x002\x00")
            )
        );
    }

    #[test]
    fn the_seed_form_is_not_injective_and_the_manifest_is() {
        let one: [(&[u8], &[u8]); 1] = [(b"a", b"x\0b\0y")];
        let two: [(&[u8], &[u8]); 2] = [(b"a", b"x"), (b"b", b"y")];
        assert_eq!(seed_form(one), seed_form(two));
        let (joined, x, y) = (
            blob(b"x\0b\0y").sha256,
            blob(b"x").sha256,
            blob(b"y").sha256,
        );
        let one: [(&[u8], &FileDigest); 1] = [(b"a", &joined)];
        let two: [(&[u8], &FileDigest); 2] = [(b"a", &x), (b"b", &y)];
        assert_ne!(manifest(one), manifest(two));
    }
}
