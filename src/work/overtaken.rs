//! Whether a pull request is still what was judged.

use crate::forge::github::Pull;

pub(super) fn default_branch(pull: &Pull) -> Option<&str> {
    let repo = pull.base.repo.as_ref()?;
    Some(&repo.default_branch)
}

/// The pull request is no longer what was judged.
pub(super) fn is_overtaken(judged: &Pull, current: &Pull) -> bool {
    current.state != "open"
        || current.head.sha != judged.head.sha
        || current.base.branch != judged.base.branch
}

/// Why; to be asked only if it is so.
pub(super) fn superseded(judged: &Pull, current: &Pull) -> String {
    if current.head.sha != judged.head.sha {
        format!("superseded by {}", current.head.sha)
    } else if current.state != "open" {
        "The pull request was closed.".to_owned()
    } else {
        "The pull request goes into another branch now.".to_owned()
    }
}
