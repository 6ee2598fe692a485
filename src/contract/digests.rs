//! Digests as rows of the contract state them (protocol section 4). PURE.

use crate::model::FileDigest;

/// What a digest of a set of files is made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `manifest-sha256:`, what new rows carry.
    Manifest,
    /// `sha256:`, the seed form: read, and never written.
    Seed,
}

/// The form of a digest.
///
/// # Errors
/// Why the text is no digest: a clause. One that is shorter than 64 digits illustrates, and is none.
pub fn form_of(text: &str) -> Result<Form, String> {
    let (form, digits) = match (
        text.strip_prefix("manifest-sha256:"),
        text.strip_prefix("sha256:"),
    ) {
        (Some(digits), _) => (Form::Manifest, digits),
        (_, Some(digits)) => (Form::Seed, digits),
        _ => return Err("expected `manifest-sha256:` and 64 hex digits".to_owned()),
    };
    match digits.parse::<FileDigest>() {
        Ok(_) => Ok(form),
        Err(_) => Err(format!(
            "expected 64 lower-case hex digits, found {}; a shorter one only illustrates",
            digits.chars().count()
        )),
    }
}

/// The digest of one file: 64 hex digits, with `sha256:` or without.
///
/// # Errors
/// Why the text is none: a clause.
pub fn file(text: &str) -> Result<FileDigest, String> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    digits
        .parse()
        .map_err(|_| "expected `sha256:` and 64 lower-case hex digits".to_owned())
}
