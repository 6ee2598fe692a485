//! The merge of one file's three versions.

use gix::bstr::BStr;
use gix::diff::blob::{Algorithm, InternedInput};
use gix::merge::plumbing::blob::Resolution;
use gix::merge::plumbing::blob::builtin_driver::text::{Conflict, Labels, Merge};

use super::Sure;
use crate::git::attributes::{Driver, MergeAttributes};
use crate::git::error::GitError;
use crate::git::similarity::is_binary;
use crate::git::tree::Leaf;

/// Larger files are not merged; bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Where a content merge happens: the path of the old version and that of the result.
pub(super) struct Contents<'a, 'repo> {
    pub repo: &'repo gix::Repository,
    pub attributes: &'a MergeAttributes<'repo>,
    pub from: &'a BStr,
    pub to: &'a BStr,
}

impl Contents<'_, '_> {
    /// Merges kind and content of three entries that are all there.
    pub fn merge(&self, old: Leaf, ours: Leaf, theirs: Leaf) -> Result<Sure<Leaf>, GitError> {
        if ours == theirs {
            return Ok(Ok(ours));
        }
        if old == ours {
            return Ok(Ok(theirs));
        }
        if old == theirs {
            return Ok(Ok(ours));
        }
        let path = self.to;
        if ![old, ours, theirs]
            .iter()
            .all(|leaf| leaf.kind.is_regular())
        {
            return Ok(Err(format!(
                "both sides changed {path:?}, which is no regular file on each"
            )));
        }
        // With two regular kinds, a kind that differs from the old one is a change of one side.
        let kind = if ours.kind == old.kind {
            theirs.kind
        } else {
            ours.kind
        };
        let id = if ours.id == theirs.id || old.id == theirs.id {
            ours.id
        } else if old.id == ours.id {
            theirs.id
        } else {
            match self.text([old, ours, theirs])? {
                Ok(bytes) => self
                    .repo
                    .write_blob(bytes)
                    .map_err(|error| GitError::object(format!("the merge of {path:?}"), error))?
                    .detach(),
                Err(why) => return Ok(Err(why)),
            }
        };
        Ok(Ok(Leaf { kind, id }))
    }

    /// Merges the text of three blobs.
    fn text(&self, leaves: [Leaf; 3]) -> Result<Sure<Vec<u8>>, GitError> {
        let path = self.to;
        let driver = match (
            self.attributes.driver(self.from)?,
            self.attributes.driver(path)?,
        ) {
            (Ok(from), Ok(to)) if from == to => to,
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
            _ => {
                return Ok(Err(format!(
                    "{path:?} has another merge attribute after its rename"
                )));
            }
        };
        for leaf in leaves {
            let header = self
                .repo
                .find_header(leaf.id)
                .map_err(|error| GitError::object(format!("{path:?}"), error))?;
            if header.size() > LARGEST {
                return Ok(Err(format!(
                    "both sides changed {path:?}, which is too large to merge"
                )));
            }
        }
        let [old, ours, theirs] = [
            self.bytes(leaves[0])?,
            self.bytes(leaves[1])?,
            self.bytes(leaves[2])?,
        ];
        let binary =
            driver == Driver::Binary || [&old, &ours, &theirs].iter().any(|bytes| is_binary(bytes));
        if binary {
            return Ok(Err(format!("both sides changed the binary file {path:?}")));
        }
        // git uses the histogram algorithm in its own variant; where the choice of algorithm changes
        // the result, ours could differ from git's.
        let one = merge_text(Algorithm::Histogram, driver, &old, &ours, &theirs);
        let two = merge_text(Algorithm::Myers, driver, &old, &ours, &theirs);
        Ok(match (one, two) {
            (Some(one), Some(two)) if one == two => Ok(one),
            (Some(_), Some(_)) => Err(format!("the lines of {path:?} can be matched in two ways")),
            _ => Err(format!("both sides changed the same lines of {path:?}")),
        })
    }

    fn bytes(&self, leaf: Leaf) -> Result<Vec<u8>, GitError> {
        let blob = self
            .repo
            .find_blob(leaf.id)
            .map_err(|error| GitError::object(format!("{:?}", self.to), error))?;
        Ok(blob.detach().data)
    }
}

/// `None` on a conflict.
fn merge_text(
    algorithm: Algorithm,
    driver: Driver,
    old: &[u8],
    ours: &[u8],
    theirs: &[u8],
) -> Option<Vec<u8>> {
    let mut input = InternedInput::default();
    let merge = Merge::new(&mut input, ours, old, theirs, algorithm);
    let conflict = match driver {
        Driver::Union => Conflict::ResolveWithUnion,
        Driver::Text | Driver::Binary => Conflict::default(),
    };
    let mut out = Vec::new();
    match merge.run(&mut out, Labels::default(), conflict) {
        Resolution::Conflict => None,
        Resolution::Complete | Resolution::CompleteWithAutoResolvedConflict => Some(out),
    }
}
