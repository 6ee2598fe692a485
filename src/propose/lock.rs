//! `lock`: the lock anew, with the fixtures of a pull request and nothing else of it.

use std::collections::BTreeMap;

use super::{Content, DigestChange, Proposal, ProposedFile, Unproposed, base_text, digest_of};
use crate::contract::lock::{self, Lock};
use crate::model::{Change, EntryKind, FileDigest, Layer, PrNumber, Snapshot};

/// Proposes the lock for the fixtures that the merged tree of pull request `pull` has.
///
/// # Errors
/// The sentence that says why nothing can be proposed: no lock, a fixture that cannot be pinned, nothing to
/// change.
pub fn lock(snapshot: &Snapshot, pull: PrNumber) -> Result<Proposal, Unproposed> {
    let (path, text) = base_text(snapshot, Layer::Lock)?;
    let Some(text) = text else {
        return Err(Unproposed(format!(
            "the base branch has no {path}; write one with `frostline lock write` and commit it"
        )));
    };
    let old = lock::parse(path, text.as_bytes())?;
    let pinned = pinned(snapshot, &old)?;
    let bytes = lock::write(Some(text.as_bytes()), &old.roots, &pinned);
    if bytes == text.as_bytes() {
        return Err(Unproposed(format!(
            "{path} holds the digests of this pull request's fixtures already"
        )));
    }
    let mut files = fixtures(snapshot, &old)?;
    files.push(ProposedFile::text(path, Some(text), bytes)?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Proposal {
        subject: format!("lock/pull-{pull}"),
        title: format!("Lock the fixtures of #{pull}"),
        files,
        digests: changed(&old, &pinned),
        remark: None,
    })
}

fn is_below(path: &str, roots: &[String]) -> bool {
    roots.iter().any(|root| {
        path.strip_prefix(root.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Digests of every fixture under the lock's roots.
fn pinned(snapshot: &Snapshot, lock: &Lock) -> Result<BTreeMap<String, FileDigest>, Unproposed> {
    let Some(entries) = snapshot.fixtures.known() else {
        let why = snapshot.fixtures.why_not().unwrap_or_default();
        return Err(Unproposed(format!(
            "the fixtures could not be read ({why})"
        )));
    };
    let entries = entries
        .iter()
        .filter(|entry| is_below(&entry.path, &lock.roots));
    entries
        .map(|entry| Ok((entry.path.clone(), digest_of(snapshot, entry)?)))
        .collect()
}

/// Fixtures that the pull request changes, as its merged tree has them.
fn fixtures(snapshot: &Snapshot, lock: &Lock) -> Result<Vec<ProposedFile>, Unproposed> {
    let Some(changes) = snapshot.write_set.known() else {
        return Err(Unproposed::new("the write-set is not known"));
    };
    let attributes = |change: &&Change| {
        let name = change.path.rsplit('/').next().unwrap_or_default();
        name == ".gitattributes"
    };
    if let Some(change) = changes.iter().find(attributes) {
        return Err(Unproposed(format!(
            "this pull request changes {}, which may decide what the bytes of a fixture are; bring that \
             change by itself first",
            change.path
        )));
    }
    changes
        .iter()
        .filter(|change| is_below(&change.path, &lock.roots))
        .map(|change| {
            let content = match &change.merged {
                None => Content::Removed,
                Some(entry) if entry.kind.is_regular() => {
                    Content::Object(entry.kind, entry.id.clone())
                }
                Some(entry) => {
                    let what = match entry.kind {
                        EntryKind::Symlink => "a symlink",
                        _ => "a submodule",
                    };
                    return Err(Unproposed(format!("{} is {what}", change.path)));
                }
            };
            Ok(ProposedFile {
                path: change.path.clone(),
                content,
            })
        })
        .collect()
}

fn changed(old: &Lock, new: &BTreeMap<String, FileDigest>) -> Vec<DigestChange> {
    let mut rows: BTreeMap<&str, DigestChange> = BTreeMap::new();
    for (path, row) in &old.files {
        let change = DigestChange {
            path: path.clone(),
            old: Some(row.digest.clone()),
            new: None,
        };
        rows.insert(path, change);
    }
    for (path, digest) in new {
        let row = rows.entry(path).or_insert_with(|| DigestChange {
            path: path.clone(),
            old: None,
            new: None,
        });
        row.new = Some(digest.clone());
    }
    rows.into_values()
        .filter(|row| row.old != row.new)
        .collect()
}
