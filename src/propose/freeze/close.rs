//! `close`: the end of any row.

use super::Rows;
use crate::contract::rows::Edit;
use crate::contract::{freezes, frozen_tests};
use crate::model::{Layer, NodeId, Snapshot};
use crate::propose::{Proposal, ProposedFile, Unproposed, base_text, in_use, label, tag};

/// Proposes that every row that names this very node goes: of the seed ledger, the freeze list and the list of
/// frozen tests.
///
/// # Errors
/// The sentence that says why nothing can be proposed.
pub fn close(snapshot: &Snapshot, nodeid: &NodeId) -> Result<Proposal, Unproposed> {
    let mut files = Vec::new();
    files.extend(without_ledger_rows(snapshot, nodeid)?);
    files.extend(without_freezes(snapshot, nodeid)?);
    files.extend(without_frozen_tests(snapshot, nodeid)?);
    if files.is_empty() {
        return Err(Unproposed(format!(
            "no row of the base branch's contract that could be removed names exactly {nodeid}"
        )));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Proposal {
        subject: format!("close/{}", tag(nodeid.as_str())),
        title: format!("Close the freeze of {}", label(nodeid.as_str())),
        files,
        digests: Vec::new(),
        remark: None,
    })
}

/// Owners of the base tip's rows that name the node; "nobody" for a row without one.
pub fn owners(snapshot: &Snapshot, nodeid: &NodeId) -> Vec<String> {
    let mut owners: Vec<String> = Vec::new();
    if let Ok(list) = Rows::at_base(snapshot) {
        let rows = list.of(nodeid).map(|(_, row)| row.owner.clone());
        owners.extend(rows.map(|owner| owner.unwrap_or_else(|| "nobody".to_owned())));
    }
    if let Ok((path, Some(text))) = base_text(snapshot, Layer::Freezes)
        && let Ok(list) = freezes::parse(path, text.as_bytes())
    {
        let rows = list.entries.into_iter();
        let rows = rows.filter(|row| row.frozen && row.nodeid == *nodeid);
        owners.extend(rows.map(|row| row.owner));
    }
    if let Ok((path, Some(text))) = base_text(snapshot, Layer::FrozenTests)
        && let Ok(list) = frozen_tests::parse(path, text.as_bytes())
    {
        let rows = list.rows.iter().filter(|row| row.nodeid == *nodeid);
        owners.extend(rows.map(|_| "nobody".to_owned()));
    }
    owners.sort();
    owners.dedup();
    owners
}

fn without_ledger_rows(
    snapshot: &Snapshot,
    nodeid: &NodeId,
) -> Result<Option<ProposedFile>, Unproposed> {
    if in_use(snapshot, Layer::Ledger)?.is_none() {
        return Ok(None);
    }
    let list = Rows::at_base(snapshot)?;
    let mut gone: Vec<usize> = list.of(nodeid).map(|(at, _)| at).collect();
    if gone.is_empty() {
        return Ok(None);
    }
    gone.reverse();
    let edits: Vec<_> = gone.into_iter().map(Edit::Remove).collect();
    list.edited(&edits).map(Some)
}

fn without_freezes(
    snapshot: &Snapshot,
    nodeid: &NodeId,
) -> Result<Option<ProposedFile>, Unproposed> {
    let Some((path, text)) = in_use(snapshot, Layer::Freezes)? else {
        return Ok(None);
    };
    let list = freezes::parse(path, text.as_bytes())?;
    let mut bytes = text.as_bytes().to_vec();
    let rows = list.entries.iter().enumerate().rev();
    for (at, _) in rows.filter(|(_, row)| row.frozen && row.nodeid == *nodeid) {
        bytes = freezes::edit(path, Some(&bytes), &Edit::Remove(at))?;
    }
    changed(path, text, bytes)
}

fn without_frozen_tests(
    snapshot: &Snapshot,
    nodeid: &NodeId,
) -> Result<Option<ProposedFile>, Unproposed> {
    let Some((path, text)) = in_use(snapshot, Layer::FrozenTests)? else {
        return Ok(None);
    };
    let list = frozen_tests::parse(path, text.as_bytes())?;
    let mut bytes = text.as_bytes().to_vec();
    let rows = list.rows.iter().rev();
    for row in rows.filter(|row| row.nodeid == *nodeid) {
        bytes = frozen_tests::edit(&bytes, Some(row.line), None);
    }
    changed(path, text, bytes)
}

fn changed(path: &str, old: &str, new: Vec<u8>) -> Result<Option<ProposedFile>, Unproposed> {
    match new == old.as_bytes() {
        true => Ok(None),
        false => ProposedFile::text(path, Some(old), new).map(Some),
    }
}
