//! The files of one commit, or those that are staged, for commands that pin or print digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::{Mode, Stage};

use super::cache::Cache;
use super::error::{GitError, one_line};
use super::tree::{Listing, Tree, sha, tree_of};
use super::{contract, digests, fixtures, gather, history, open, parallel, work_tree};
use crate::model::{BlobDigest, BlobFact, ContractFile, EntryKind, Fact, FixtureEntry, Layer, Sha};

/// The files of one tree of a local repository. What a checkout made of them does not matter.
pub struct Files {
    pub(super) repo: gix::Repository,
    pub(super) tree: ObjectId,
    name: String,
}

impl Files {
    /// What `revision` holds in the repository around `folder`.
    ///
    /// # Errors
    /// When there is no repository, or the revision names no commit.
    pub fn at_revision(folder: &Path, revision: &str) -> Result<Self, GitError> {
        let repo = open::open(folder)?;
        let tree = tree_of(&repo, open::commit(&repo, revision)?)?;
        let name = revision.to_owned();
        Ok(Self { repo, tree, name })
    }

    /// What the base tip holds: `base`, or the upstream default branch; and that commit.
    ///
    /// # Errors
    /// When there is no repository, or the revision names no commit.
    pub fn at_base(folder: &Path, base: Option<&str>) -> Result<(Self, Sha), GitError> {
        let repo = open::open(folder)?;
        let base = open::base(&repo, base)?;
        let tree = tree_of(&repo, base.commit)?;
        let (name, commit) = (base.branch, sha(base.commit));
        Ok((Self { repo, tree, name }, commit))
    }

    /// What merging `head` into the base tip gives (protocol section 1).
    ///
    /// # Errors
    /// When there is no repository, a revision names no commit, or there is no merged tree.
    pub fn merged(folder: &Path, base: Option<&str>, head: &str) -> Result<Self, GitError> {
        let repo = open::open(folder)?;
        let base = open::base(&repo, base)?.commit;
        let head = open::commit(&repo, head)?;
        let bases = history::merge_bases(&repo, base, head)?;
        match gather::merged_tree(&repo, base, head, &bases)? {
            Fact::Known(tree) => {
                let name = "the merged tree".to_owned();
                Ok(Self { repo, tree, name })
            }
            other => Err(GitError::NoMergedTree {
                why: other.why_not().unwrap_or_default().to_owned(),
            }),
        }
    }

    /// The tree's id.
    pub fn tree(&self) -> Sha {
        sha(self.tree)
    }

    /// What is staged for the next commit; what `HEAD` holds where there is no work tree.
    ///
    /// # Errors
    /// When there is no repository, or a path is in conflict.
    pub fn staged(folder: &Path) -> Result<Self, GitError> {
        let repo = open::open(folder)?;
        if repo.workdir().is_none() {
            return Self::at_revision(folder, "HEAD");
        }
        let tree = index_tree(&repo)?;
        let name = "the index".to_owned();
        Ok(Self { repo, tree, name })
    }

    /// What the work tree holds, as `git add --all` would store it.
    ///
    /// # Errors
    /// As of [`super::Head::WorkTree`].
    pub fn in_work_tree(folder: &Path) -> Result<Self, GitError> {
        let mut repo = open::open(folder)?;
        let commit = work_tree::commit(&mut repo, open::open_as_user(folder)?)?;
        let tree = tree_of(&repo, commit)?;
        let name = "the work tree".to_owned();
        Ok(Self { repo, tree, name })
    }

    /// Every contract file, where this tree's configuration has it.
    ///
    /// # Errors
    /// When a tree cannot be read; an unreadable file is a fact.
    pub fn contract(&self) -> Result<BTreeMap<Layer, ContractFile>, GitError> {
        let tree = Tree::new(&self.repo, self.tree);
        let config = contract::config(&self.repo, &tree)?;
        contract::files(&self.repo, config, &tree, None)
    }

    /// "HEAD", "the index": for sentences.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder in the git directory where what is found out is kept; no pull request can write there.
    pub fn own_folder(&self) -> PathBuf {
        self.repo.common_dir().join("frostline")
    }

    /// The work tree's root, which paths are relative to.
    pub fn work_tree(&self) -> Option<PathBuf> {
        self.repo.workdir().map(Path::to_owned)
    }

    /// A file that may be of the contract.
    ///
    /// # Errors
    /// When a tree cannot be read; an unreadable file is a fact.
    pub fn read(&self, path: &str) -> Result<BlobFact, GitError> {
        let place = Tree::new(&self.repo, self.tree).at(BStr::new(path))?;
        Ok(contract::blob(&self.repo, place))
    }

    /// Every entry at or below the paths, with what this tree's attributes say; sorted by path. The
    /// empty path is the whole tree.
    ///
    /// # Errors
    /// When a tree or an attribute file cannot be read.
    pub fn below(&self, paths: &[String]) -> Result<Vec<FixtureEntry>, GitError> {
        let listing = Listing::of(&self.repo, self.tree)?;
        fixtures::list(&self.repo, self.tree, &listing, paths)
    }

    /// Digests by blob id of those entries that are regular files, whatever attributes say.
    pub fn digests(&self, entries: &[FixtureEntry]) -> BTreeMap<Sha, Fact<BlobDigest>> {
        let plain: Vec<FixtureEntry> = entries
            .iter()
            .map(|entry| FixtureEntry {
                opaque: None,
                ..entry.clone()
            })
            .collect();
        let mut cache = Cache::open(&self.repo, true);
        let (digests, _) = digests::of(&self.repo, &plain, &mut cache);
        cache.save();
        digests
    }

    /// Every entry that is no directory, in no order that matters; paths are lossily decoded.
    ///
    /// # Errors
    /// When a tree cannot be read.
    pub fn list(&self) -> Result<Vec<FoundFile>, GitError> {
        let listing = Listing::of(&self.repo, self.tree)?;
        let files = listing.below(BStr::new("")).map(|(path, leaf)| FoundFile {
            path: path.to_str_lossy().into_owned(),
            kind: leaf.kind,
            id: sha(leaf.id),
        });
        Ok(files.collect())
    }

    /// Calls `work` with the bytes of each item's blob, on every core; the results are in the order of
    /// the items, and say of each whether its blob could be read.
    pub fn map_bytes<T: Sync, R: Send>(
        &self,
        items: &[T],
        id: impl Fn(&T) -> &Sha + Sync,
        work: impl Fn(&T, &[u8]) -> R + Sync,
    ) -> Vec<Result<R, GitError>> {
        parallel::map_blobs(
            &self.repo,
            items,
            |item| Some(ObjectId::Sha1(id(item).to_bytes())),
            |repo, item| Ok(work(item, &bytes_of(repo, id(item))?)),
        )
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// When the object cannot be read.
    pub fn bytes(&self, id: &Sha) -> Result<Vec<u8>, GitError> {
        bytes_of(&self.repo, id)
    }
}

/// A file of the listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub path: String,
    pub kind: EntryKind,
    pub id: Sha,
}

fn bytes_of(repo: &gix::Repository, id: &Sha) -> Result<Vec<u8>, GitError> {
    let unreadable = |why: String| GitError::object(format!("blob {id}"), why);
    let object = ObjectId::from_hex(id.as_str().as_bytes())
        .map_err(|error| unreadable(error.to_string()))?;
    let blob = repo
        .find_blob(object)
        .map_err(|error| unreadable(one_line(error)))?;
    Ok(blob.detach().data)
}

/// The tree that a commit of the index would have; kept in memory.
pub(super) fn index_tree(repo: &gix::Repository) -> Result<ObjectId, GitError> {
    let unreadable = |error| GitError::object("the index", error);
    let index = repo.index_or_empty().map_err(unreadable)?;
    let mut editor = repo.empty_tree().edit().map_err(unreadable)?.detach();
    for entry in index.entries() {
        let path = entry.path(&index);
        if entry.stage() != Stage::Unconflicted {
            let path = path.to_string();
            return Err(GitError::Unmerged { path });
        }
        if entry.mode == Mode::DIR {
            let path = path.to_string();
            return Err(GitError::SparseIndex { path });
        }
        // `git add --intent-to-add` stages no content.
        if entry
            .flags
            .contains(gix::index::entry::Flags::INTENT_TO_ADD)
        {
            continue;
        }
        let Some(mode) = entry.mode.to_tree_entry_mode() else {
            continue;
        };
        editor
            .upsert(
                path.split_str(b"/").map(ByteSlice::as_bstr),
                mode.kind(),
                entry.id,
            )
            .map_err(unreadable)?;
    }
    editor
        .write(|tree| repo.write_object(tree).map(gix::Id::detach))
        .map_err(unreadable)
}
