//! What the check-run shows, as one Markdown document. PURE.

use super::{summary, words};
use crate::model::Decision;

/// Title and summary without a size limit.
pub fn markdown(decision: &Decision) -> String {
    format!(
        "## {}\n\n{}",
        words::headline(decision),
        summary::summary(decision, usize::MAX)
    )
}
