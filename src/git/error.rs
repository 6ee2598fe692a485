//! Why a local repository could not be read at all.

use std::path::PathBuf;

/// What the gate cannot judge: the caller has to mend it. Each text is one sentence with the way out.
///
/// What the gate *must* judge (a conflict, no merge base in a whole repository, an unreadable fixture)
/// is no error but a [`crate::model::Fact`].
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{} is in no git repository; name one with --repo", path.display())]
    NoRepository { path: PathBuf },
    #[error("cannot open the git repository at {}: {why}; `git fsck` in it shows more", path.display())]
    Open { path: PathBuf, why: String },
    #[error(
        "{} is a SHA-256 repository, and only SHA-1 repositories can be read; use a clone made with `git init --object-format=sha1`",
        path.display()
    )]
    Sha256 { path: PathBuf },
    #[error(
        "there is no revision {revision:?}{or}; `git fetch` it, or name one that `git branch --all` or `git log` shows"
    )]
    UnknownRevision { revision: String, or: &'static str },
    #[error("{revision:?} names a file or a folder; name a commit, a branch or a tag of a commit")]
    NoCommitNamed { revision: String },
    #[error("there is no commit yet to read; make the first one with `git commit`")]
    NoCommitYet,
    #[error(
        "{path:?} is in conflict in the index; finish the merge first: resolve the conflict and `git add` the file"
    )]
    Unmerged { path: String },
    #[error("the index is sparse at {path:?}; run `git sparse-checkout disable`, or name a commit")]
    SparseIndex { path: String },
    #[error(
        "cannot tell the default branch: there is no origin/HEAD, origin/main, origin/master, main or master; name the base with --base REV"
    )]
    NoDefaultBranch,
    #[error("there is no merged tree to run: {why}")]
    NoMergedTree { why: String },
    #[error("a bare repository has no work tree; name a commit with --head REV")]
    NoWorkTree,
    #[error(
        "the history of this shallow repository ends at {boundary} before the merge base of base and head is certain; run `git fetch --deepen=100` or `git fetch --unshallow`"
    )]
    Shallow { boundary: String },
    #[error(
        "cannot read {what}: {why}; `git fsck` shows what is missing, `git fetch --refetch` brings it from the remote"
    )]
    Object { what: String, why: String },
    #[error(
        "a tree has more than {limit} files or directories, or so many changed, and is not judged; split the repository or the change"
    )]
    TooManyFiles { limit: usize },
    #[error("cannot read {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl GitError {
    /// An object that could not be read, with the library's reason in one line.
    pub(crate) fn object(what: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self::Object {
            what: what.into(),
            why: one_line(why),
        }
    }
}

/// The first line of a reason, for use inside a sentence.
pub(super) fn one_line(why: impl std::fmt::Display) -> String {
    let text = why.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_end_matches('.').to_owned()
}
