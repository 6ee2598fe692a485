//! `freeze`, `reopen` and `close`: new rows of the seed ledger, rows that are bound anew, and the end of any row.

mod close;
mod reopen;
mod standing;

use standing::{Standing, evidence};

pub use close::{close, owners};
pub use reopen::{Reopening, reopen, void_node};

use chrono::SecondsFormat;

use super::{Proposal, ProposedFile, Unproposed, base_text, label, tag};
use crate::config::repo::RepoConfig;
use crate::contract::ledger::{self, LedgerEntry};
use crate::contract::replay::{self, Subject};
use crate::contract::rows::Edit;
use crate::contract::seed::Seed;
use crate::gate::scopes::{self, Digest};
use crate::model::{Layer, NodeId, Snapshot};

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
