//! `note`: why a fixture is as it is.

use super::{Content, Proposal, ProposedFile, Unproposed, digest_of, label, tag};
use crate::model::Snapshot;

/// Where notes are.
const FOLDER: &str = "docs/behavior";

/// Proposes a behavior note for a fixture of the merged tree. Its name is derived from path and digest, so
/// that every state of a fixture has one of its own.
///
/// # Errors
/// The sentence that says why nothing can be proposed.
pub fn note(snapshot: &Snapshot, fixture: &str, text: &str) -> Result<Proposal, Unproposed> {
    let Some(fixtures) = snapshot.fixtures.known() else {
        let why = snapshot.fixtures.why_not().unwrap_or_default();
        return Err(Unproposed(format!(
            "the fixtures could not be read ({why})"
        )));
    };
    let Some(entry) = fixtures.iter().find(|entry| entry.path == fixture) else {
        return Err(Unproposed(format!(
            "{fixture} is no fixture of this pull request's merged tree"
        )));
    };
    let digest = digest_of(snapshot, entry)?;
    let path = format!("{FOLDER}/{}-{}.md", tag(fixture), &digest.as_str()[..12]);
    if let Some(noted) = snapshot.scopes.notes.get(fixture) {
        return Err(Unproposed(format!(
            "{noted} names this fixture and its digest already; what it says is changed there, by hand"
        )));
    }
    let body =
        format!("# Behavior of {fixture}\n\nFixture: `{fixture}`\nSHA-256: `{digest}`\n\n{text}\n");
    Ok(Proposal {
        subject: format!("note/{}", tag(fixture)),
        title: format!("Note on {}", label(fixture)),
        files: vec![ProposedFile {
            path,
            content: Content::Text {
                old: None,
                new: body,
            },
        }],
        digests: Vec::new(),
        remark: None,
    })
}
