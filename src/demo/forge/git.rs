//! A bare git repository: every object that the forge serves is read and written here, through gix.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, Utc};
use gix::bstr::{BString, ByteSlice as _};
use gix::object::tree::EntryKind as GitKind;
use gix::{ObjectId, ThreadSafeRepository};

use super::diff;
pub use super::diff::FileDiff;
use crate::model::{EntryKind, Sha};

/// What a commit does to one path.
#[derive(Debug, Clone)]
pub struct FileChange {
    path: BString,
    /// `None` removes the path.
    content: Option<(EntryKind, Vec<u8>)>,
}

impl FileChange {
    /// Writes a regular file.
    pub fn write(path: impl Into<Vec<u8>>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::entry(path, EntryKind::File, bytes)
    }

    /// Writes an entry of any kind: the bytes of a file, the target of a link, or the 40 hex digits of
    /// the commit that a submodule points to.
    pub fn entry(path: impl Into<Vec<u8>>, kind: EntryKind, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into().into(),
            content: Some((kind, bytes.into())),
        }
    }

    pub fn remove(path: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into().into(),
            content: None,
        }
    }
}

impl<P: AsRef<str>, B: AsRef<[u8]>> From<(P, B)> for FileChange {
    fn from((path, bytes): (P, B)) -> Self {
        Self::write(path.as_ref(), bytes.as_ref())
    }
}

/// Name and address in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
}

/// A commit, as far as the API tells of it.
#[derive(Debug, Clone)]
pub struct CommitInfo {
    pub id: Sha,
    pub tree: Sha,
    pub parents: Vec<Sha>,
    pub message: String,
    pub author: Signature,
    pub authored_at: DateTime<Utc>,
    pub committer: Signature,
    pub committed_at: DateTime<Utc>,
}

/// An entry of a tree listing.
#[derive(Debug, Clone)]
pub struct TreeItem {
    /// Lossily decoded, as the forge's JSON has it.
    pub path: String,
    /// Six octal digits.
    pub mode: String,
    /// `blob`, `tree` or `commit`.
    pub object_type: &'static str,
    pub id: Sha,
    /// Bytes; blobs only.
    pub size: Option<u64>,
}

/// What becomes of an entry of a tree.
#[derive(Debug, Clone)]
pub enum TreeEdit {
    Content(EntryKind, Vec<u8>),
    Object(EntryKind, Sha),
    Remove,
}

/// A bare repository in a folder of its own.
pub struct Bare {
    repo: ThreadSafeRepository,
    /// The comparisons that were asked for last: a large one takes seconds, and each page asks anew.
    diffs: Mutex<Vec<(Pair, Files)>>,
}

type Pair = (Sha, Sha);
type Files = Arc<Vec<FileDiff>>;

/// Comparisons that are kept.
const DIFFS: usize = 4;

impl Bare {
    /// Creates an empty repository; no configuration but its own is read.
    pub fn create(path: &std::path::Path) -> Result<Self> {
        let repo = ThreadSafeRepository::init_opts(
            path,
            gix::create::Kind::Bare,
            gix::create::Options::default(),
            gix::open::Options::isolated(),
        )?;
        Ok(Self {
            repo,
            diffs: Mutex::default(),
        })
    }

    fn local(&self) -> gix::Repository {
        self.repo.to_thread_local()
    }

    /// Writes a commit on top of `parents`, with the first parent's tree changed by `changes`.
    pub fn commit(
        &self,
        parents: &[Sha],
        changes: &[FileChange],
        message: &str,
        author: &Signature,
        at: DateTime<Utc>,
    ) -> Result<Sha> {
        let repo = self.local();
        let start = match parents.first() {
            Some(parent) => repo.find_commit(oid(parent)?)?.tree_id()?.detach(),
            None => repo.empty_tree().id,
        };
        let mut editor = repo.find_tree(start)?.edit()?;
        for change in changes {
            match &change.content {
                None => {
                    editor.remove(change.path.as_bstr())?;
                }
                Some((kind, bytes)) => {
                    let id = match kind {
                        EntryKind::Submodule => ObjectId::from_hex(bytes)
                            .context("a submodule's content is the id of a commit")?,
                        _ => repo.write_blob(bytes)?.detach(),
                    };
                    editor.upsert(change.path.as_bstr(), git_kind(*kind), id)?;
                }
            }
        }
        let tree = editor.write()?.detach();
        self.write_commit(tree, parents, message, author, at)
    }

    /// Writes a commit with other parents and the tree of another commit.
    pub fn commit_again(
        &self,
        (of, parents): (&Sha, &[Sha]),
        message: &str,
        author: &Signature,
        at: DateTime<Utc>,
    ) -> Result<Sha> {
        let tree = self.local().find_commit(oid(of)?)?.tree_id()?.detach();
        self.write_commit(tree, parents, message, author, at)
    }

    /// The tree with entries changed: an object that is there already, new content, or nothing.
    pub fn edit_tree(&self, base: &Sha, edits: &[(String, TreeEdit)]) -> Result<Sha> {
        let repo = self.local();
        let mut editor = repo.find_tree(oid(base)?)?.edit()?;
        for (path, edit) in edits {
            match edit {
                TreeEdit::Content(kind, bytes) => {
                    let id = repo.write_blob(bytes)?.detach();
                    editor.upsert(path.as_str(), git_kind(*kind), id)?;
                }
                TreeEdit::Object(kind, id) => {
                    editor.upsert(path.as_str(), git_kind(*kind), oid(id)?)?;
                }
                TreeEdit::Remove => {
                    editor.remove(path.as_str())?;
                }
            }
        }
        Ok(sha(editor.write()?.detach()))
    }

    /// Writes a commit of a tree that is there.
    pub fn commit_tree(
        &self,
        tree: &Sha,
        parents: &[Sha],
        message: &str,
        author: &Signature,
        at: DateTime<Utc>,
    ) -> Result<Sha> {
        self.local().find_tree(oid(tree)?)?;
        self.write_commit(oid(tree)?, parents, message, author, at)
    }

    fn write_commit(
        &self,
        tree: ObjectId,
        parents: &[Sha],
        message: &str,
        author: &Signature,
        at: DateTime<Utc>,
    ) -> Result<Sha> {
        let repo = self.local();
        let signature = gix::actor::Signature {
            name: author.name.as_str().into(),
            email: author.email.as_str().into(),
            time: gix::date::Time::new(at.timestamp(), 0),
        };
        let commit = gix::objs::Commit {
            tree,
            parents: parents.iter().map(oid).collect::<Result<_>>()?,
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        Ok(sha(repo.write_object(&commit)?.detach()))
    }

    /// Points a branch at a commit.
    pub fn set_branch(&self, branch: &str, to: &Sha) -> Result<()> {
        self.local().reference(
            format!("refs/heads/{branch}"),
            oid(to)?,
            gix::refs::transaction::PreviousValue::Any,
            "push",
        )?;
        Ok(())
    }

    pub fn delete_branch(&self, branch: &str) -> Result<()> {
        let repo = self.local();
        let reference = repo.find_reference(&format!("refs/heads/{branch}"))?;
        Ok(reference.delete()?)
    }

    /// The commit that a branch points at.
    pub fn branch(&self, branch: &str) -> Result<Option<Sha>> {
        let repo = self.local();
        let Some(mut reference) = repo.try_find_reference(&format!("refs/heads/{branch}"))? else {
            return Ok(None);
        };
        Ok(Some(sha(reference.peel_to_id()?.detach())))
    }

    /// A commit by its full id, or by a branch's name.
    pub fn resolve(&self, revision: &str) -> Result<Option<Sha>> {
        if let Ok(id) = revision.parse::<Sha>() {
            return Ok(self.commit_info(&id)?.map(|info| info.id));
        }
        self.branch(revision.strip_prefix("refs/heads/").unwrap_or(revision))
    }

    /// `None` when there is no such object, or it is no commit.
    pub fn commit_info(&self, id: &Sha) -> Result<Option<CommitInfo>> {
        let repo = self.local();
        let Some(object) = repo.try_find_object(oid(id)?)? else {
            return Ok(None);
        };
        let Ok(commit) = object.try_into_commit() else {
            return Ok(None);
        };
        let decoded = commit.decode()?;
        let author = decoded.author()?;
        let committer = decoded.committer()?;
        Ok(Some(CommitInfo {
            id: id.clone(),
            tree: sha(decoded.tree()),
            parents: decoded.parents().map(sha).collect(),
            message: decoded.message.to_str_lossy().into_owned(),
            authored_at: date(&author)?,
            author: person(&author),
            committed_at: date(&committer)?,
            committer: person(&committer),
        }))
    }

    /// The entries of a tree (or of a commit's tree); `None` when there is no such object. Stops after
    /// `limit` entries and then says so.
    pub fn tree(
        &self,
        id: &Sha,
        recursive: bool,
        limit: usize,
    ) -> Result<Option<(Sha, Vec<TreeItem>, bool)>> {
        let repo = self.local();
        let Some(object) = repo.try_find_object(oid(id)?)? else {
            return Ok(None);
        };
        let Ok(tree) = object.peel_to_tree() else {
            return Ok(None);
        };
        let tree_id = sha(tree.id);
        let mut raw = Vec::new();
        if recursive {
            let mut recorder = gix::traverse::tree::Recorder::default();
            tree.traverse().depthfirst(&mut recorder)?;
            for entry in recorder.records {
                raw.push((entry.filepath, entry.mode, entry.oid));
            }
        } else {
            for entry in tree.iter() {
                let entry = entry?;
                raw.push((entry.filename().to_owned(), entry.mode(), entry.object_id()));
            }
        }
        let truncated = raw.len() > limit;
        raw.truncate(limit);
        let mut sizes = HashMap::new();
        let mut items = Vec::with_capacity(raw.len());
        for (path, mode, id) in raw {
            let object_type = match mode.kind() {
                GitKind::Tree => "tree",
                GitKind::Commit => "commit",
                _ => "blob",
            };
            let size = match object_type {
                "blob" => Some(match sizes.entry(id) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => *place.insert(repo.find_header(id)?.size()),
                }),
                _ => None,
            };
            items.push(TreeItem {
                path: path.to_str_lossy().into_owned(),
                mode: format!("{:06o}", mode.value()),
                object_type,
                id: sha(id),
                size,
            });
        }
        Ok(Some((tree_id, items, truncated)))
    }

    /// The bytes of a blob; `None` when there is no such object, or it is no blob.
    pub fn blob(&self, id: &Sha) -> Result<Option<Vec<u8>>> {
        let repo = self.local();
        let Some(object) = repo.try_find_object(oid(id)?)? else {
            return Ok(None);
        };
        if object.kind != gix::object::Kind::Blob {
            return Ok(None);
        }
        Ok(Some(object.detach().data))
    }

    /// A file of a commit's tree.
    pub fn file(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>> {
        let repo = self.local();
        let tree = repo.find_commit(oid(commit)?)?.tree()?;
        match tree.lookup_entry_by_path(path)? {
            Some(entry) => Ok(Some(entry.object()?.detach().data)),
            None => Ok(None),
        }
    }

    /// The best merge base of two commits.
    pub fn merge_base(&self, one: &Sha, two: &Sha) -> Result<Option<Sha>> {
        let repo = self.local();
        let base = repo.merge_base(oid(one)?, oid(two)?)?;
        Ok(base.map(|id| sha(id.detach())))
    }

    /// Commits reachable from `head` and not from `base`, oldest first.
    pub fn commits_between(&self, base: &Sha, head: &Sha) -> Result<Vec<Sha>> {
        let repo = self.local();
        let walk = repo
            .rev_walk([oid(head)?])
            .with_hidden([oid(base)?])
            .all()?;
        let mut ids = Vec::new();
        for info in walk {
            ids.push(sha(info?.id));
        }
        ids.reverse();
        Ok(ids)
    }

    /// The forge's test merge: a commit with parents `base` and `head`; `None` on a conflict or without
    /// a merge base.
    pub fn test_merge(&self, base: &Sha, head: &Sha, at: DateTime<Utc>) -> Result<Option<Sha>> {
        let repo = self.local();
        if repo.merge_base(oid(base)?, oid(head)?)?.is_none() {
            return Ok(None);
        }
        let options = repo.tree_merge_options()?;
        let mut merged = repo.merge_commits(
            oid(base)?,
            oid(head)?,
            gix::merge::blob::builtin_driver::text::Labels::default(),
            options.into(),
        )?;
        let how = gix::merge::tree::TreatAsUnresolved::git();
        if merged.tree_merge.has_unresolved_conflicts(how) {
            return Ok(None);
        }
        let tree = merged.tree_merge.tree.write()?.detach();
        let author = Signature {
            name: "GitHub".to_owned(),
            email: "noreply@github.com".to_owned(),
        };
        let message = format!("Merge {head} into {base}");
        let parents = [base.clone(), head.clone()];
        self.write_commit(tree, &parents, &message, &author, at)
            .map(Some)
    }

    /// The files that differ between two commits' trees, renames found, sorted by path.
    pub fn diff(&self, old: &Sha, new: &Sha) -> Result<Files> {
        let key = (old.clone(), new.clone());
        let mut diffs = self.diffs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, files)) = diffs.iter().find(|(of, _)| *of == key) {
            return Ok(files.clone());
        }
        let files = Arc::new(self.compare(old, new)?);
        diffs.insert(0, (key, files.clone()));
        diffs.truncate(DIFFS);
        Ok(files)
    }

    fn compare(&self, old: &Sha, new: &Sha) -> Result<Vec<FileDiff>> {
        let repo = self.local();
        let old = repo.find_commit(oid(old)?)?.tree()?;
        let new = repo.find_commit(oid(new)?)?.tree()?;
        let mut options = gix::diff::Options::default();
        options.track_rewrites(Some(gix::diff::Rewrites::default()));
        let mut files = Vec::new();
        for change in repo.diff_tree_to_tree(&old, &new, options)? {
            files.extend(diff::file_diff(&repo, change)?);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }
}

fn git_kind(kind: EntryKind) -> GitKind {
    match kind {
        EntryKind::File => GitKind::Blob,
        EntryKind::Executable => GitKind::BlobExecutable,
        EntryKind::Symlink => GitKind::Link,
        EntryKind::Submodule => GitKind::Commit,
    }
}

fn person(signature: &gix::actor::SignatureRef<'_>) -> Signature {
    Signature {
        name: signature.name.to_str_lossy().into_owned(),
        email: signature.email.to_str_lossy().into_owned(),
    }
}

fn date(signature: &gix::actor::SignatureRef<'_>) -> Result<DateTime<Utc>> {
    let Some(at) = DateTime::from_timestamp(signature.time()?.seconds, 0) else {
        bail!("a commit's date is out of range");
    };
    Ok(at)
}

fn oid(id: &Sha) -> Result<ObjectId> {
    Ok(ObjectId::from_hex(id.as_str().as_bytes())?)
}

/// gix's SHA-1 ids are 40 lower-case hex digits, which is what a [`Sha`] asks for.
#[expect(clippy::expect_used, reason = "the format of an ObjectId is fixed")]
pub(super) fn sha(id: ObjectId) -> Sha {
    id.to_string().parse().expect("an object id")
}
