//! What the work tree holds, as the commit that `git add --all && git commit` would make of it.
//!
//! Invariant: nothing is written to the repository; blobs, trees and the commit are in memory only. This
//! is the one place where the configuration of user and machine has a say, as it has for `git add`: it
//! decides which files are ignored, how line ends are stored and by which filter. Filters and hooks that
//! the repository itself configures are never run.

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind as GitKind;
use gix::status::UntrackedFiles;
use gix::status::index_worktree::Item;
use gix::status::plumbing::index_as_worktree::{Change, EntryStatus};

use super::error::GitError;
use super::files::index_tree;
use super::open::LARGEST_OBJECT;
use super::tree::{tree, tree_of};

/// The id of a commit on top of `HEAD` that holds the tracked and untracked files of the work tree, those
/// left out that are ignored; `HEAD` itself when they are what it holds. The same files give the same id.
///
/// Submodules are at the index's commit. `user` is the same repository, opened with the user's
/// configuration; the new objects are added to what `repo` holds in memory.
///
/// # Errors
/// When there is no work tree or no commit yet, a path is in conflict, or a file cannot be read.
pub(super) fn commit(
    repo: &mut gix::Repository,
    mut user: gix::Repository,
) -> Result<ObjectId, GitError> {
    if user.workdir().is_none() {
        return Err(GitError::NoWorkTree);
    }
    let head = super::open::commit(&user, "HEAD")?;
    let tree = tree_with_edits(&user, index_tree(&user)?, &edits(&user)?)?;
    let commit = if tree == tree_of(&user, head)? {
        head
    } else {
        write_commit(&user, head, tree)?
    };
    if let Some(objects) = user.objects.take_object_memory() {
        repo.objects.set_object_memory(objects);
    }
    Ok(commit)
}

/// What differs from the index: the entry that a path gets, or that it goes.
type Edits = Vec<(BString, Option<(GitKind, ObjectId)>)>;

fn unreadable(error: impl std::fmt::Display) -> GitError {
    GitError::object("the work tree", error)
}

fn edits(repo: &gix::Repository) -> Result<Edits, GitError> {
    let (mut filters, index) = repo.filter_pipeline(None).map_err(unreadable)?;
    let keeps_modes = repo
        .filesystem_options()
        .map_err(unreadable)?
        .executable_bit;
    let mut edits = Edits::new();
    for path in changed_paths(repo)? {
        refuse_huge(repo, path.as_bstr())?;
        let found = filters
            .worktree_file_to_object(path.as_bstr(), &index)
            .map_err(|error| GitError::object(format!("{path:?} in the work tree"), error))?;
        let entry = found.map(|(id, kind, _)| {
            let before = index.entry_by_path(path.as_bstr()).map(|entry| entry.mode);
            // Where the file system has no executable bit, the index's stays.
            let kind = match (kind, before) {
                (GitKind::Blob | GitKind::BlobExecutable, before) if !keeps_modes => {
                    match before == Some(gix::index::entry::Mode::FILE_EXECUTABLE) {
                        true => GitKind::BlobExecutable,
                        false => GitKind::Blob,
                    }
                }
                (kind, _) => kind,
            };
            (kind, id)
        });
        edits.push((path, entry));
    }
    Ok(edits)
}

/// A file is read whole, so one that no blob could stand for is an error.
fn refuse_huge(repo: &gix::Repository, path: &BStr) -> Result<(), GitError> {
    let below = gix::path::from_bstr(path).map_err(unreadable)?;
    let file = repo.workdir().map(|root| root.join(below));
    let size = file.and_then(|file| std::fs::symlink_metadata(file).ok());
    match size.filter(std::fs::Metadata::is_file) {
        Some(size) if size.len() > LARGEST_OBJECT => Err(GitError::object(
            format!("{path:?} in the work tree"),
            format!(
                "it has {} bytes, more than the {LARGEST_OBJECT} that are read; ignore it, or keep it in Git LFS",
                size.len()
            ),
        )),
        _ => Ok(()),
    }
}

/// Tracked paths that are not as the index has them, and untracked paths that are not ignored.
fn changed_paths(repo: &gix::Repository) -> Result<Vec<BString>, GitError> {
    let status = repo
        .status(gix::progress::Discard)
        .map_err(unreadable)?
        .untracked_files(UntrackedFiles::Files)
        .index_worktree_submodules(None)
        .index_worktree_rewrites(None);
    let mut paths = Vec::new();
    for item in status
        .into_index_worktree_iter(Vec::new())
        .map_err(unreadable)?
    {
        match item.map_err(unreadable)? {
            Item::Modification {
                rela_path, status, ..
            } => match status {
                EntryStatus::Change(Change::SubmoduleModification(_))
                | EntryStatus::NeedsUpdate(_) => {}
                EntryStatus::Change(_)
                | EntryStatus::IntentToAdd
                | EntryStatus::Conflict { .. } => paths.push(rela_path),
            },
            Item::DirectoryContents { entry, .. } => {
                if entry.status == gix::dir::entry::Status::Untracked {
                    paths.push(entry.rela_path);
                }
            }
            // Not asked for.
            Item::Rewrite { .. } => {}
        }
    }
    paths.sort();
    Ok(paths)
}

/// Removals first, so that a directory can take a file's place.
fn tree_with_edits(
    repo: &gix::Repository,
    base: ObjectId,
    edits: &Edits,
) -> Result<ObjectId, GitError> {
    let components = |path: &BString| -> Vec<BString> {
        let path = path.trim_end_with(|c| c == '/');
        path.split_str(b"/").map(BString::from).collect()
    };
    let mut editor = tree(repo, base)?.edit().map_err(unreadable)?.detach();
    for (path, entry) in edits {
        if entry.is_none() {
            editor
                .remove_leaf(components(path).iter())
                .map_err(unreadable)?;
        }
    }
    for (path, entry) in edits {
        if let Some((kind, id)) = entry {
            editor
                .upsert(components(path).iter(), *kind, *id)
                .map_err(unreadable)?;
        }
    }
    editor
        .write(|tree| repo.write_object(tree).map(gix::Id::detach))
        .map_err(unreadable)
}

/// By nobody, at no time: only its tree and its parent say something.
fn write_commit(
    repo: &gix::Repository,
    parent: ObjectId,
    tree: ObjectId,
) -> Result<ObjectId, GitError> {
    let nobody = gix::actor::Signature {
        name: "frostline".into(),
        email: "".into(),
        time: gix::date::Time::default(),
    };
    let commit = gix::objs::Commit {
        tree,
        parents: [parent].into_iter().collect(),
        author: nobody.clone(),
        committer: nobody,
        encoding: None,
        message: "What the work tree holds\n".into(),
        extra_headers: Vec::new(),
    };
    let id = repo.write_object(&commit).map_err(unreadable)?;
    Ok(id.detach())
}
