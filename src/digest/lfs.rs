//! Git LFS pointers: only the canonical text of spec v1 with exactly three lines. PURE.

use crate::model::FileDigest;

/// The oid of a canonical pointer; `None` for anything else.
pub(super) fn pointer_oid(bytes: &[u8]) -> Option<FileDigest> {
    let text = std::str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\noid sha256:")?;
    let (oid, rest) = rest.split_once('\n')?;
    let size = rest.strip_prefix("size ")?.strip_suffix('\n')?;
    let canonical = !size.is_empty()
        && size.bytes().all(|b| b.is_ascii_digit())
        && (size == "0" || !size.starts_with('0'))
        && size.len() <= 19;
    if canonical { oid.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_text_is_a_pointer() {
        let oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let good =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n");
        assert_eq!(
            pointer_oid(good.as_bytes()).expect("canonical").as_str(),
            oid
        );
        let upper = good.replace(oid, &oid.to_uppercase());
        for bad in [
            good.trim_end().to_owned(),
            format!("{good}x-extra 1\n"),
            good.replace('\n', "\r\n"),
            good.replace("size 12345", "size 012345"),
            good.replace("size 12345", "size "),
            good.replace("size 12345", "size -1"),
            good.replace("spec/v1", "spec/v2"),
            good.replace("sha256:", "sha512:"),
            good.replace("oid sha256", "ext-0-x sha256:1\noid sha256"),
            upper,
            format!(" {good}"),
        ] {
            assert_eq!(pointer_oid(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
