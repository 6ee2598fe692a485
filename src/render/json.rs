//! The decision as JSON (interfaces section 2). PURE.

use crate::model::Decision;

/// Pretty JSON with a final newline; the same decision gives the same bytes.
pub fn json(decision: &Decision) -> String {
    let mut text = match serde_json::to_string_pretty(decision) {
        Ok(text) => text,
        // Strings, numbers and lists always serialise; this keeps the promise that the output parses.
        Err(error) => serde_json::json!({ "error": error.to_string() }).to_string(),
    };
    text.push('\n');
    text
}
