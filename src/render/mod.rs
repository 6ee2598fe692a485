//! Texts that people and programs read: check-run, comment, terminal, Markdown, JSON, SARIF, workflow
//! commands. PURE.
//!
//! Invariant: size caps and escaping live here, in one place; nothing from a repository comes alive.

mod about;
mod answers;
mod check;
mod comment;
mod document;
mod escape;
mod for_agent;
mod github;
mod group;
mod json;
mod lines;
mod markdown;
mod page;
mod proposal;
mod sarif;
mod summary;
mod text;
mod tracking;
mod voided;
mod words;

pub use about::{About, about};
pub use answers::{Answer, explain, help, reply, reply_marker, status, told};
pub use check::{check_run, could_not_evaluate, note_refused};
pub use comment::{COMMENT_MARKER, comment, comment_resolved, comment_with};
pub use escape::visible;
pub use for_agent::for_agent;
pub use github::github;
pub use group::{Group, group};
pub use json::json;
pub use markdown::markdown;
pub use page::{Line, content_security_policy, dashboard_page, decision_page};
pub use proposal::{Asked, proposal_body, proposal_by_hand, proposal_made, proposal_message};
pub use sarif::sarif;
pub use text::text;
pub use tracking::{TRACKING_MARKER, TRACKING_TITLE, tracking, tracking_clean};
pub use voided::voided;
pub use words::{count, headline};

/// How the terminal text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Columns; lines wrap there, and nothing is cut.
    pub width: usize,
    /// ANSI colours.
    pub colour: bool,
}

/// `output` of a check-run (interfaces section 5), within the forge's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutput {
    pub title: String,
    /// GitHub-flavoured Markdown, at most 65,535 characters.
    pub summary: String,
    /// Holes first; the caller sends them in batches of 50.
    pub annotations: Vec<Annotation>,
    /// A lock could mend it: the run offers to propose one.
    pub offers_lock: bool,
    /// A freeze is void: the run offers to propose that it be bound anew.
    pub offers_reopen: bool,
}

/// An annotation on lines of a file at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub path: String,
    pub start_line: u32,
    pub end_line: u32,
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Failure,
}
