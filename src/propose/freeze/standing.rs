//! What the evidence ledger says of a row that is to be written (protocol 6.3).

use super::quoted;
use crate::contract::evidence;
use crate::contract::seed::Seed;
use crate::model::{AuthorKind, BlobFact, Layer, NodeId, Snapshot};
use crate::propose::Unproposed;

/// What the newest window on these bytes, with this seed, says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may be frozen.
    Candidate,
    /// Nothing says that it may.
    Unproved,
    /// It was green every time.
    Over,
}

impl Standing {
    pub fn status(self) -> &'static str {
        match self {
            Self::Candidate => "open",
            Self::Unproved | Self::Over => "candidate",
        }
    }

    pub fn remark(self, nodeid: &NodeId, seed: &Seed) -> Option<String> {
        (self == Self::Unproved).then(|| {
            let missing = missing(nodeid, seed);
            format!("The row has the status `candidate`, which exempts nothing: {missing}")
        })
    }
}

/// What a row waits for, and how to make it: a clause and sentences without a full stop.
pub(super) fn missing(nodeid: &NodeId, seed: &Seed) -> String {
    format!(
        "the evidence ledger has no window of this test with seed {seed} on these fixtures whose status is \
         `freeze-candidate`. Run `frostline lane window {} --seed {seed}`, add the row that it prints to the \
         evidence ledger, and repeat the command",
        quoted(nodeid.as_str())
    )
}

pub(super) fn evidence(
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
