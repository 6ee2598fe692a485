//! String literals that could name a file.

use std::collections::BTreeSet;

use super::syntax::Syntax;
use crate::model::SourceFacts;

/// Literals that are kept of one text. One with more names, for all that is known, every file.
const MOST: usize = 1_000;
/// Bytes of the longest one.
const LONGEST: usize = 200;

/// Sorted; each once.
pub(super) fn of(syntax: &Syntax<'_>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for id in syntax.all() {
        let is_text = matches!(
            syntax.kind(id),
            "string_content"
                | "string_fragment"
                | "interpreted_string_literal_content"
                | "raw_string_literal_content"
        );
        let text = syntax.text(id);
        if is_text && is_like_a_path(text) {
            found.insert(text);
        }
    }
    if found.len() > MOST {
        return vec![SourceFacts::ANY_LITERAL.to_owned()];
    }
    found.into_iter().map(str::to_owned).collect()
}

/// It has a directory or an extension in it.
fn is_like_a_path(text: &str) -> bool {
    if text.len() > LONGEST || text.contains("://") || text.contains('\\') {
        return false;
    }
    if text.chars().any(char::is_control) {
        return false;
    }
    let name = text.rsplit('/').next().unwrap_or(text);
    let has_extension = name.rsplit_once('.').is_some_and(|(_, extension)| {
        !extension.is_empty() && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    has_extension || text.trim_matches('/').contains('/')
}
