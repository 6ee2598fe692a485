//! Texts that people and programs read: check-run, comment, terminal, Markdown, JSON. PURE.
//!
//! Invariant: size caps and escaping live here, in one place; nothing from a repository comes alive.

use crate::model::Decision;

/// `output` of a check-run (interfaces section 5), within the forge's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutput {
    pub title: String,
    /// GitHub-flavoured Markdown, at most 65,535 characters.
    pub summary: String,
    /// Holes first; the caller sends them in batches of 50.
    pub annotations: Vec<Annotation>,
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

/// The check-run's texts.
pub fn check_run(decision: &Decision) -> CheckOutput {
    let _ = decision;
    todo!()
}

/// The texts of a check-run for an evaluation that could not be made; `reason` is one sentence.
pub fn could_not_evaluate(reason: &str) -> CheckOutput {
    let _ = reason;
    todo!()
}

/// The body of the one comment, hidden marker first; `None` when there is nothing to name.
pub fn comment(decision: &Decision) -> Option<String> {
    let _ = decision;
    todo!()
}

/// The comment's body once everything that it named is resolved: one line.
pub fn comment_resolved(decision: &Decision) -> String {
    let _ = decision;
    todo!()
}
