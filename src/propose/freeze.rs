//! `freeze`, `reopen` and `close`: rows of the seed ledger, and the end of any row.

use chrono::SecondsFormat;

use super::{Proposal, ProposedFile, Unproposed, base_text, label, tag};
use crate::config::repo::RepoConfig;
use crate::contract::ledger::{self, LedgerEntry};
use crate::contract::replay::{self, Subject};
use crate::contract::rows::Edit;
use crate::contract::seed::Seed;
use crate::contract::{evidence, freezes, frozen_tests};
use crate::gate::scopes::{self, Digest};
use crate::model::{
    AuthorKind, BlobFact, Decision, FreezeRow, FreezeState, Layer, NodeId, Snapshot,
};

/// What a new row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFreeze {
    pub nodeid: NodeId,
    pub seed: Seed,
    pub reason: String,
    pub owner: String,
    /// `None`: pytest's own form.
    pub replay: Option<String>,
}

/// What a row is opened again as; what is not stated stays as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reopening {
    /// `None`: the one row that is void.
    pub nodeid: Option<NodeId>,
    pub seed: Option<Seed>,
    pub reason: Option<String>,
}

/// Proposes a new row of the seed ledger, bound to the fixtures of the merged tree.
///
/// # Errors
/// The sentence that says why nothing can be proposed.
pub fn freeze(snapshot: &Snapshot, new: &NewFreeze) -> Result<Proposal, Unproposed> {
    let list = Rows::at_base(snapshot)?;
    if list.of(&new.nodeid).next().is_some() {
        return Err(Unproposed(format!(
            "a row of {} names {} already; reopen or close it",
            list.path, new.nodeid
        )));
    }
    let digest = scope_digest(snapshot, &new.nodeid)?;
    let standing = match evidence(snapshot, &new.nodeid, &digest, &new.seed)? {
        Standing::Over => {
            return Err(Unproposed(format!(
                "the newest window of {} on these bytes was green every time: there is nothing to freeze",
                new.nodeid
            )));
        }
        standing => standing,
    };
    let row = LedgerEntry {
        nodeid: new.nodeid.clone(),
        seed: Some(new.seed.clone()),
        fixture_digest: Some(digest),
        reason: Some(new.reason.clone()),
        replay: Some(replay_line(
            snapshot,
            &new.nodeid,
            &new.seed,
            new.replay.as_deref(),
        )?),
        opened_at: Some(now(snapshot)),
        expires_at: None,
        status: Some(standing.status().to_owned()),
        owner: Some(new.owner.clone()),
        property_id: property_id(snapshot, &new.nodeid),
        property_digest: None,
        evidence: None,
        reopened_from: None,
        line: 0,
    };
    Ok(Proposal {
        subject: format!("freeze/{}", tag(new.nodeid.as_str())),
        title: format!("Freeze {}", label(new.nodeid.as_str())),
        files: vec![list.edited(&[Edit::Add(row)])?],
        digests: Vec::new(),
        remark: standing.remark(&new.nodeid, &new.seed),
    })
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
    let list = Rows::at_base(snapshot)?;
    if row.source != list.path {
        return Err(Unproposed(format!(
            "its row is in {}, which binds no seed: change `fixture_digest` there by hand, or close the row \
             and freeze the test anew",
            row.source
        )));
    }
    let found = list
        .of(&nodeid)
        .find(|(_, entry)| entry.fixture_digest == row.recorded_digest && entry.line == row.line);
    let Some((at, old)) = found else {
        return Err(Unproposed(format!(
            "the base branch's {} has no such row any more",
            list.path
        )));
    };
    let seed = asked.seed.clone().or_else(|| old.seed.clone());
    let seed =
        seed.ok_or_else(|| Unproposed::new("the row states no seed; give one with `seed=N`"))?;
    let reason = asked.reason.clone().or_else(|| old.reason.clone());
    let reason = reason.filter(|reason| REASONS.contains(&reason.as_str()));
    let reason = reason.ok_or_else(|| {
        Unproposed::new("the row's reason freezes nothing; give `reason=ORDER`, `CLOCK` or `IO`")
    })?;
    let digest = scope_digest(snapshot, &nodeid)?;
    let standing = evidence(snapshot, &nodeid, &digest, &seed)?;
    if standing == Standing::Over {
        return close(snapshot, &nodeid);
    }
    let kept = old
        .replay
        .as_deref()
        .filter(|_| old.seed.as_ref() == Some(&seed));
    let new = LedgerEntry {
        seed: Some(seed.clone()),
        fixture_digest: Some(digest),
        reason: Some(reason),
        replay: Some(replay_line(snapshot, &nodeid, &seed, kept)?),
        opened_at: Some(now(snapshot)),
        expires_at: None,
        status: Some(standing.status().to_owned()),
        property_id: property_id(snapshot, &nodeid).or_else(|| old.property_id.clone()),
        property_digest: None,
        evidence: None,
        reopened_from: old.fixture_digest.clone(),
        ..old.clone()
    };
    Ok(Proposal {
        subject: format!("reopen/{}", tag(nodeid.as_str())),
        title: format!("Reopen the freeze of {}", label(nodeid.as_str())),
        files: vec![list.edited(&[Edit::Replace(at, new)])?],
        digests: Vec::new(),
        remark: standing.remark(&nodeid, &seed),
    })
}

/// Proposes that every row that names this very node goes: of the seed ledger, the freeze list and the list of
/// frozen tests.
///
/// # Errors
/// The sentence that says why nothing can be proposed.
pub fn close(snapshot: &Snapshot, nodeid: &NodeId) -> Result<Proposal, Unproposed> {
    let mut files = Vec::new();
    let list = Rows::at_base(snapshot)?;
    let mut gone: Vec<usize> = list.of(nodeid).map(|(at, _)| at).collect();
    if !gone.is_empty() {
        gone.reverse();
        let edits: Vec<_> = gone.into_iter().map(Edit::Remove).collect();
        files.push(list.edited(&edits)?);
    }
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

/// Reasons that may freeze a test (protocol 3.5).
pub const REASONS: [&str; 3] = ["ORDER", "CLOCK", "IO"];

/// The seed ledger at the base tip.
struct Rows<'a> {
    path: &'a str,
    text: Option<&'a str>,
    entries: Vec<LedgerEntry>,
}

impl<'a> Rows<'a> {
    fn at_base(snapshot: &'a Snapshot) -> Result<Self, Unproposed> {
        let (path, text) = base_text(snapshot, Layer::Ledger)?;
        let parsed = text
            .map(|text| ledger::parse(path, text.as_bytes()))
            .transpose()?;
        Ok(Self {
            path,
            text,
            entries: parsed.map_or_else(Vec::new, |ledger| ledger.entries),
        })
    }

    /// Rows that are not closed and name the node, with their positions.
    fn of(&self, nodeid: &NodeId) -> impl Iterator<Item = (usize, &LedgerEntry)> {
        let rows = self.entries.iter().enumerate();
        rows.filter(move |(_, row)| row.nodeid == *nodeid && !row.is_closed())
    }

    fn edited(&self, edits: &[Edit<LedgerEntry>]) -> Result<ProposedFile, Unproposed> {
        let mut bytes = self.text.map(|text| text.as_bytes().to_vec());
        for edit in edits {
            bytes = Some(ledger::edit(self.path, bytes.as_deref(), edit)?);
        }
        ProposedFile::text(self.path, self.text, bytes.unwrap_or_default())
    }
}

fn without_freezes(
    snapshot: &Snapshot,
    nodeid: &NodeId,
) -> Result<Option<ProposedFile>, Unproposed> {
    let Ok((path, Some(text))) = base_text(snapshot, Layer::Freezes) else {
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
    let Ok((path, Some(text))) = base_text(snapshot, Layer::FrozenTests) else {
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

/// The digest of the node's fixture scope in the merged tree.
fn scope_digest(snapshot: &Snapshot, nodeid: &NodeId) -> Result<String, Unproposed> {
    match scopes::of_node(snapshot, nodeid).map(|found| found.after) {
        Some(Digest::Is(digest)) => Ok(digest),
        Some(Digest::Never(why) | Digest::Unknown(why)) => Err(Unproposed(format!(
            "the fixtures of {nodeid} have no digest: {why}"
        ))),
        None => Err(Unproposed::new("the fixtures could not be read")),
    }
}

/// What the newest window on these bytes, with this seed, says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It may be frozen.
    Candidate,
    /// Nothing says that it may.
    Unproved,
    /// It was green every time.
    Over,
}

impl Standing {
    fn status(self) -> &'static str {
        match self {
            Self::Candidate => "open",
            Self::Unproved | Self::Over => "candidate",
        }
    }

    fn remark(self, nodeid: &NodeId, seed: &Seed) -> Option<String> {
        (self == Self::Unproved).then(|| {
            format!(
                "The row has the status `candidate`, which exempts nothing: the evidence ledger has no window of \
                 this test with seed {seed} on these fixtures whose status is `freeze-candidate`. Run `frostline \
                 lane window {} --seed {seed}`, add the row that it prints to the evidence ledger, and repeat the \
                 command",
                quoted(nodeid.as_str())
            )
        })
    }
}

fn evidence(
    snapshot: &Snapshot,
    nodeid: &NodeId,
    digest: &str,
    seed: &Seed,
) -> Result<Standing, Unproposed> {
    let Some(file) = snapshot.contract.get(&Layer::Evidence) else {
        return Ok(Standing::Unproved);
    };
    // A person may bring the evidence with the patch; nobody else's patch touches that file.
    let brought = file.merged.as_ref();
    let brought = brought.filter(|_| snapshot.author.kind == AuthorKind::Person);
    let BlobFact::Content { bytes, .. } = brought.unwrap_or(&file.base) else {
        return Ok(Standing::Unproved);
    };
    let ledger = evidence::parse(&file.path, &bytes.0)?;
    let newest = ledger.last.iter().rev().find(|row| {
        row.nodeid == *nodeid && row.fixture_digest == digest && row.seed.as_ref() == Some(seed)
    });
    match newest.map(|row| row.status.as_str()) {
        Some("freeze-candidate" | evidence::FROZEN) => Ok(Standing::Candidate),
        Some("merge-ok") => Ok(Standing::Over),
        Some("stable-violation") => Err(Unproposed(format!(
            "the newest window of {nodeid} on these bytes failed every time in one way: that is a failure, and \
             no noise"
        ))),
        Some("divergent") => Err(Unproposed(format!(
            "the newest window of {nodeid} on these bytes failed in ways that have nothing in common: look at \
             its isolation and at shared state before anything is frozen"
        ))),
        _ => Ok(Standing::Unproved),
    }
}

fn property_id(snapshot: &Snapshot, nodeid: &NodeId) -> Option<String> {
    scopes::property_of(snapshot, nodeid).map(|property| property.property_id)
}

fn now(snapshot: &Snapshot) -> String {
    snapshot.now.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// `given`, or pytest's own form; checked as the gate will check it.
fn replay_line(
    snapshot: &Snapshot,
    nodeid: &NodeId,
    seed: &Seed,
    given: Option<&str>,
) -> Result<String, Unproposed> {
    let config = snapshot.contract.get(&Layer::Config);
    let config = config.map_or_else(RepoConfig::default, |file| RepoConfig::of(&file.base));
    let line = match given {
        Some(line) => line.to_owned(),
        None if nodeid.path().ends_with(".py") => format!(
            "pytest {} -p no:randomly --hypothesis-profile=default --hypothesis-seed={seed}",
            quoted(nodeid.as_str())
        ),
        None => {
            return Err(Unproposed::new(
                "this test is no pytest test, so that its replay line has to be given: `replay=\"…\"`",
            ));
        }
    };
    let subject = Subject {
        nodeid,
        seed: Some(seed),
        runners: &config.runners,
    };
    match replay::parse(&line, subject) {
        Ok(_) => Ok(line),
        Err(why) => Err(Unproposed(format!("the replay line cannot be used: {why}"))),
    }
}

/// One word of a POSIX line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
