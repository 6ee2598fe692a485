//! `reopen`: a void row is bound to the bytes that there are.

use super::standing::{Standing, evidence, missing};
use super::{REASONS, Rows, close, now, property_id, replay_line, scope_digest};
use crate::contract::freezes::{self, FreezeEntry};
use crate::contract::ledger::LedgerEntry;
use crate::contract::rows::Edit;
use crate::contract::seed::Seed;
use crate::model::{Decision, FreezeRow, FreezeState, Layer, NodeId, Snapshot};
use crate::propose::{Proposal, ProposedFile, Unproposed, in_use, label, tag};

/// What a row is opened again as; what is not stated stays as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reopening {
    /// `None`: the one row that is void.
    pub nodeid: Option<NodeId>,
    pub seed: Option<Seed>,
    pub reason: Option<String>,
}

/// Proposes that a void row is bound to the fixtures of the merged tree; or, when a window on these was green,
/// that it goes.
///
/// # Errors
/// The sentence that says why nothing can be proposed.
pub fn reopen(
    snapshot: &Snapshot,
    decision: &Decision,
    asked: &Reopening,
) -> Result<Proposal, Unproposed> {
    let (row, nodeid) = void_row(decision, asked)?;
    let is_of = |layer| {
        let file = snapshot.contract.get(&layer);
        file.is_some_and(|file| file.path == row.source)
    };
    if is_of(Layer::Ledger) {
        in_ledger(snapshot, row, &nodeid, asked)
    } else if is_of(Layer::Freezes) {
        in_freeze_list(snapshot, row, &nodeid, asked)
    } else {
        Err(Unproposed(format!(
            "its row is in {}, which no command binds anew: freeze the test with `/frostline freeze`, or add the \
             row of a new window",
            row.source
        )))
    }
}

/// What a row is bound to now.
struct Binding {
    seed: Seed,
    digest: String,
    standing: Standing,
}

/// `old` is the seed that the row states.
fn bound_anew(
    snapshot: &Snapshot,
    nodeid: &NodeId,
    asked: &Reopening,
    old: Option<&Seed>,
) -> Result<Binding, Unproposed> {
    let seed = asked.seed.as_ref().or(old);
    let seed =
        seed.ok_or_else(|| Unproposed::new("the row states no seed; give one with `seed=N`"))?;
    let digest = scope_digest(snapshot, nodeid)?;
    let standing = evidence(snapshot, nodeid, &digest, seed)?;
    Ok(Binding {
        seed: seed.clone(),
        digest,
        standing,
    })
}

fn no_such_row(path: &str) -> Unproposed {
    Unproposed(format!("the base branch's {path} has no such row any more"))
}

fn proposal(nodeid: &NodeId, file: ProposedFile, remark: Option<String>) -> Proposal {
    Proposal {
        subject: format!("reopen/{}", tag(nodeid.as_str())),
        title: format!("Reopen the freeze of {}", label(nodeid.as_str())),
        files: vec![file],
        digests: Vec::new(),
        remark,
    }
}

fn in_ledger(
    snapshot: &Snapshot,
    row: &FreezeRow,
    nodeid: &NodeId,
    asked: &Reopening,
) -> Result<Proposal, Unproposed> {
    let list = Rows::at_base(snapshot)?;
    let found = list
        .of(nodeid)
        .find(|(_, entry)| entry.fixture_digest == row.recorded_digest && entry.line == row.line);
    let (at, old) = found.ok_or_else(|| no_such_row(list.path))?;
    let reason = asked.reason.clone().or_else(|| old.reason.clone());
    let reason = reason.filter(|reason| REASONS.contains(&reason.as_str()));
    let reason = reason.ok_or_else(|| {
        Unproposed::new("the row's reason freezes nothing; give `reason=ORDER`, `CLOCK` or `IO`")
    })?;
    let bound = bound_anew(snapshot, nodeid, asked, old.seed.as_ref())?;
    if bound.standing == Standing::Over {
        return close(snapshot, nodeid);
    }
    let kept = old.replay.as_deref();
    let kept = kept.filter(|_| old.seed.as_ref() == Some(&bound.seed));
    let new = LedgerEntry {
        seed: Some(bound.seed.clone()),
        fixture_digest: Some(bound.digest),
        reason: Some(reason),
        replay: Some(replay_line(snapshot, nodeid, &bound.seed, kept)?),
        opened_at: Some(now(snapshot)),
        expires_at: None,
        status: Some(bound.standing.status().to_owned()),
        property_id: property_id(snapshot, nodeid).or_else(|| old.property_id.clone()),
        property_digest: None,
        evidence: None,
        reopened_from: old.fixture_digest.clone(),
        ..old.clone()
    };
    let file = list.edited(&[Edit::Replace(at, new)])?;
    let remark = bound.standing.remark(nodeid, &bound.seed);
    Ok(proposal(nodeid, file, remark))
}

/// A row there has no status, so that none can wait in it for its evidence: it is bound anew with evidence, or
/// left as it is.
fn in_freeze_list(
    snapshot: &Snapshot,
    row: &FreezeRow,
    nodeid: &NodeId,
    asked: &Reopening,
) -> Result<Proposal, Unproposed> {
    let (path, text) = in_use(snapshot, Layer::Freezes)?.ok_or_else(|| no_such_row(&row.source))?;
    let list = freezes::parse(path, text.as_bytes())?;
    let mut rows = list.entries.iter().enumerate();
    let found =
        rows.find(|(_, entry)| entry.frozen && entry.nodeid == *nodeid && entry.line == row.line);
    let (at, old) = found.ok_or_else(|| no_such_row(path))?;
    let bound = bound_anew(snapshot, nodeid, asked, old.seed.as_ref())?;
    match bound.standing {
        Standing::Over => return close(snapshot, nodeid),
        Standing::Unproved => {
            return Err(Unproposed(format!(
                "the row is in {path}, where nothing can wait for its evidence, and {}",
                missing(nodeid, &bound.seed)
            )));
        }
        Standing::Candidate => {}
    }
    let is_same = old.seed.as_ref() == Some(&bound.seed);
    let replay = match old.replay.as_deref() {
        Some(line) => {
            let kept = Some(line).filter(|_| is_same);
            Some(replay_line(snapshot, nodeid, &bound.seed, kept)?)
        }
        None => None,
    };
    let new = FreezeEntry {
        reason: asked.reason.clone().unwrap_or_else(|| old.reason.clone()),
        property_id: property_id(snapshot, nodeid).or_else(|| old.property_id.clone()),
        property_digest: None,
        fixture_digest: Some(bound.digest),
        seed: Some(bound.seed),
        replay,
        opened_at: Some(now(snapshot)),
        expires_at: None,
        ..old.clone()
    };
    let bytes = freezes::edit(path, Some(text.as_bytes()), &Edit::Replace(at, new))?;
    let file = ProposedFile::text(path, Some(text), bytes)?;
    Ok(proposal(nodeid, file, None))
}

/// The test whose void row is asked for.
pub fn void_node(decision: &Decision, asked: &Reopening) -> Option<NodeId> {
    match &asked.nodeid {
        Some(nodeid) => Some(nodeid.clone()),
        None => void_row(decision, asked).ok().map(|(_, nodeid)| nodeid),
    }
}

/// The row that is asked for, if it is void.
fn void_row<'d>(
    decision: &'d Decision,
    asked: &Reopening,
) -> Result<(&'d FreezeRow, NodeId), Unproposed> {
    let all = decision.freezes.as_deref().unwrap_or_default();
    let is_it = |row: &&FreezeRow| match &asked.nodeid {
        Some(nodeid) => row.nodeid == nodeid.as_str(),
        None => true,
    };
    let named: Vec<&FreezeRow> = all.iter().filter(is_it).collect();
    let is_void = |row: &&FreezeRow| matches!(row.state, FreezeState::Void | FreezeState::Expired);
    let void: Vec<&FreezeRow> = named.iter().copied().filter(is_void).collect();
    let row = match (void.as_slice(), &asked.nodeid) {
        ([row], _) => *row,
        ([], Some(nodeid)) if named.is_empty() => {
            return Err(Unproposed(format!("no row names exactly {nodeid}")));
        }
        ([], Some(nodeid)) => {
            return Err(Unproposed(format!(
                "the row of {nodeid} is not void: there is nothing to reopen"
            )));
        }
        ([], None) => return Err(Unproposed::new("no freeze is void")),
        (several, None) => {
            let ids: Vec<&str> = several.iter().map(|row| row.nodeid.as_str()).collect();
            return Err(Unproposed(format!(
                "several freezes are void; name one of {}",
                ids.join(", ")
            )));
        }
        (_, Some(nodeid)) => {
            return Err(Unproposed(format!(
                "several void rows name {nodeid}; mend them by hand"
            )));
        }
    };
    let nodeid = row.nodeid.parse();
    let nodeid = nodeid.map_err(|_| Unproposed::new("the row names no test by its node id"))?;
    Ok((row, nodeid))
}
