//! Whether git may take an added file for a renamed one, within limits.

use std::collections::HashMap;

use gix::ObjectId;

use super::error::GitError;
use super::similarity::{Pieces, RENAME, sizes_allow};
use super::tree::Leaf;

/// So many pairs of files are compared at most.
const MOST_PAIRS: usize = 200_000;
/// Files above this size are not compared; bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Compares blobs, each read once.
pub(super) struct Likeness<'repo> {
    repo: &'repo gix::Repository,
    sizes: HashMap<ObjectId, u64>,
    pieces: HashMap<ObjectId, Pieces>,
    pairs: usize,
    /// A limit was hit: what was not compared may be alike.
    pub exhausted: bool,
}

impl<'repo> Likeness<'repo> {
    pub fn new(repo: &'repo gix::Repository) -> Self {
        Self {
            repo,
            sizes: HashMap::new(),
            pieces: HashMap::new(),
            pairs: 0,
            exhausted: false,
        }
    }

    /// Whether git may take `new` for a renamed `old`.
    pub fn alike(&mut self, old: Leaf, new: Leaf) -> Result<bool, GitError> {
        if !old.kind.is_regular() || !new.kind.is_regular() {
            return Ok(old == new);
        }
        if self.exhausted {
            return Ok(false);
        }
        self.pairs += 1;
        let (old_size, new_size) = (self.size(old.id)?, self.size(new.id)?);
        if old.id == new.id {
            // git takes no empty file for a renamed one in a merge.
            return Ok(old_size > 0);
        }
        if !sizes_allow(old_size, new_size) {
            return Ok(false);
        }
        if self.pairs > MOST_PAIRS || old_size.max(new_size) > LARGEST {
            self.exhausted = true;
            return Ok(false);
        }
        self.read(old.id)?;
        self.read(new.id)?;
        let score = match (self.pieces.get(&old.id), self.pieces.get(&new.id)) {
            (Some(old), Some(new)) => old.score(new),
            _ => 0,
        };
        Ok(score >= RENAME)
    }

    pub fn size(&mut self, id: ObjectId) -> Result<u64, GitError> {
        if let Some(size) = self.sizes.get(&id) {
            return Ok(*size);
        }
        let header = self
            .repo
            .find_header(id)
            .map_err(|error| GitError::object(format!("blob {id}"), error))?;
        self.sizes.insert(id, header.size());
        Ok(header.size())
    }

    fn read(&mut self, id: ObjectId) -> Result<(), GitError> {
        if !self.pieces.contains_key(&id) {
            let blob = self
                .repo
                .find_blob(id)
                .map_err(|error| GitError::object(format!("blob {id}"), error))?;
            self.pieces.insert(id, Pieces::of(&blob.data));
        }
        Ok(())
    }
}
