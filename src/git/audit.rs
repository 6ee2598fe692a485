//! From one commit to a Snapshot of all that its contract guards (protocol 5.6).

use std::path::Path;

use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};

use super::error::GitError;
use super::gather::{Request, gather};
use super::open;
use super::tree::{Leaf, Listing};
use crate::gate::facts::Plan;
use crate::model::{Author, AuthorKind, Change, ChangeStatus, Fact, Snapshot, Subject};

/// Everything that the gate needs to judge the commit `revision` by itself: as a patch that changes
/// nothing, with every production path, and the code that no class but *other* holds, for its write-set.
///
/// # Errors
/// As of [`gather`].
pub fn audit(
    folder: &Path,
    revision: &str,
    now: DateTime<Utc>,
    cache: bool,
) -> Result<Snapshot, GitError> {
    let mut snapshot = gather(&Request {
        repo: folder.to_owned(),
        base: Some(revision.to_owned()),
        head: revision.into(),
        author: Author {
            kind: AuthorKind::Agent,
            login: None,
            evidence: "an audit asks what binds an agent".to_owned(),
        },
        now,
        cache,
        lane: None,
    })?;
    snapshot.subject = Subject::Audit;
    if let Fact::Known(tree) = &snapshot.merged_tree {
        let unreadable = |error| GitError::object(format!("tree {tree}"), error);
        let id = ObjectId::from_hex(tree.as_str().as_bytes()).map_err(unreadable)?;
        let listing = Listing::of(&open::open(folder)?, id)?;
        let plan = Plan::new(&snapshot.contract);
        snapshot.write_set = Fact::Known(audited(&plan, &listing));
    }
    Ok(snapshot)
}

/// The paths that an audit looks at, as changes from and to what they are; sorted by path.
fn audited(plan: &Plan, listing: &Listing) -> Vec<Change> {
    let mut changes: Vec<Change> = listing
        .below(BStr::new(""))
        .filter_map(|(path, leaf)| {
            let text = path.to_str_lossy();
            plan.is_audited(&text)
                .then(|| unchanged(path, text.into_owned(), leaf))
        })
        .collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

fn unchanged(path: &BStr, text: String, leaf: Leaf) -> Change {
    Change {
        path: text,
        raw_path_hex: path.to_str().is_err().then(|| hex::encode(path)),
        old_path: None,
        status: ChangeStatus::Modified,
        base: Some(leaf.to_entry()),
        merged: Some(leaf.to_entry()),
        hunks: Vec::new(),
        shebang: false,
        only: None,
        collides_with: None,
    }
}
