//! `frostline digest`: digests of files and directories, in the forms that the contract uses.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest as _, Sha256};

use super::progress::Progress;
use super::{Outcome, out};
use crate::digest;
use crate::git::{Files, GitError};
use crate::model::{Fact, FileDigest};
use crate::render::visible;

/// Print digests of files and directories
///
/// A line a path: the digest, two spaces, the path. By default of the bytes that HEAD stores; of the files
/// on disk with --worktree, or outside a repository.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  a path holds no file or cannot be read; nothing is printed

Examples:
  frostline digest tests/fixtures               manifest-sha256: of everything below
  frostline digest tests/fixtures/a.json --files
  frostline digest tests/fixtures --seed-form --rev v1.2")]
pub struct Args {
    /// Files and directories, below the repository (or the current folder, outside one)
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The older form sha256:, over one directory; it is read, and new rows carry the other
    #[arg(long, conflicts_with = "files")]
    seed_form: bool,

    /// The commit whose bytes count [default: HEAD]
    #[arg(long, value_name = "REV", conflicts_with = "worktree")]
    rev: Option<String>,

    /// Read the files on disk
    #[arg(long)]
    worktree: bool,

    /// A line a file: its SHA-256, two spaces, its path
    #[arg(long)]
    files: bool,
}

pub fn run(args: Args) -> Outcome {
    let source = Source::of(&args)?;
    let mut text = String::new();
    for path in &args.paths {
        let inside = source.inside(path)?;
        if args.seed_form {
            let digest = seed_form(source.with_bytes(&inside)?, &inside)?;
            text.push_str(&format!("{digest}  {}\n", visible(&inside)));
            continue;
        }
        let files = source.digests(&inside)?;
        ensure!(
            !files.is_empty(),
            "{} holds no file at or below {:?}; `git ls-files` shows what is there",
            source.name(),
            shown(&inside)
        );
        if args.files {
            for (path, digest) in &files {
                text.push_str(&format!("{digest}  {}\n", visible(path)));
            }
        } else {
            let rows = files.iter().map(|(path, digest)| (path.as_bytes(), digest));
            text.push_str(&format!(
                "{}  {}\n",
                digest::manifest(rows),
                visible(shown(&inside))
            ));
        }
    }
    out::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The repository's root is shown as a dot.
fn shown(inside: &str) -> &str {
    if inside.is_empty() { "." } else { inside }
}

/// The seed form over the files below `root`, with paths below it.
fn seed_form(files: Vec<(String, Vec<u8>)>, root: &str) -> anyhow::Result<String> {
    let prefix = if root.is_empty() {
        String::new()
    } else {
        format!("{root}/")
    };
    ensure!(
        files.iter().all(|(path, _)| path.starts_with(&prefix)),
        "{root:?} is a file, and the seed form is over one directory; leave --seed-form out"
    );
    ensure!(
        !files.is_empty(),
        "there is no file below {:?}",
        shown(root)
    );
    let rows = files
        .iter()
        .map(|(path, bytes)| (&path.as_bytes()[prefix.len()..], bytes.as_slice()));
    Ok(digest::seed_form(rows))
}

/// Where bytes come from.
enum Source {
    Stored {
        files: Box<Files>,
        root: Option<PathBuf>,
    },
    Disk {
        root: PathBuf,
    },
}

impl Source {
    fn of(args: &Args) -> anyhow::Result<Self> {
        let here = Path::new(".");
        let revision = args.rev.as_deref().unwrap_or("HEAD");
        match Files::at_revision(here, revision) {
            Ok(files) if args.worktree => match files.work_tree() {
                Some(root) => Ok(Self::Disk { root }),
                None => bail!("a bare repository has no files on disk; leave --worktree out"),
            },
            Ok(files) => {
                let root = files.work_tree();
                let files = Box::new(files);
                Ok(Self::Stored { files, root })
            }
            Err(GitError::NoRepository { .. }) if args.rev.is_none() => {
                let root = here
                    .canonicalize()
                    .context("cannot read the current folder")?;
                Ok(Self::Disk { root })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Stored { files, .. } => files.name(),
            Self::Disk { .. } => "the disk",
        }
    }

    /// The path from the root, without `.` and `..`; the empty text for the root itself.
    fn inside(&self, path: &Path) -> anyhow::Result<String> {
        let root = match self {
            Self::Stored { root: None, .. } => Path::new(""),
            Self::Stored {
                root: Some(root), ..
            }
            | Self::Disk { root } => root,
        };
        let full = if root.as_os_str().is_empty() {
            path.to_owned()
        } else {
            let here = Path::new(".")
                .canonicalize()
                .context("cannot read the current folder")?;
            here.join(path)
        };
        let mut plain = PathBuf::new();
        for part in full.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    plain.pop();
                }
                other => plain.push(other),
            }
        }
        let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let inside = plain.strip_prefix(&real_root).ok();
        let text = inside.and_then(Path::to_str).with_context(|| {
            format!(
                "{} is not below {}; name a path inside it",
                path.display(),
                root.display()
            )
        })?;
        Ok(text.replace('\\', "/"))
    }

    /// Path and digest of every regular file at or below a path.
    fn digests(&self, inside: &str) -> anyhow::Result<Vec<(String, FileDigest)>> {
        let files = match self {
            Self::Disk { .. } => {
                return Ok(self
                    .with_bytes(inside)?
                    .into_iter()
                    .map(|(path, bytes)| {
                        (path, FileDigest::from_bytes(Sha256::digest(bytes).into()))
                    })
                    .collect());
            }
            Self::Stored { files, .. } => files,
        };
        let progress = Progress::start("reading files");
        let entries = files.below(&[inside.to_owned()])?;
        let digests = files.digests(&entries);
        drop(progress);
        let mut found = Vec::new();
        for entry in entries {
            if !entry.kind.is_regular() {
                left_out(&entry.path);
                continue;
            }
            match digests.get(&entry.id) {
                Some(Fact::Known(digest)) => {
                    let digest = digest.of_file(entry.lfs).clone();
                    found.push((entry.path, digest));
                }
                other => bail!(
                    "{} cannot be read: {}",
                    visible(&entry.path),
                    other
                        .and_then(Fact::why_not)
                        .unwrap_or("it was not looked up")
                ),
            }
        }
        Ok(found)
    }

    /// Path and bytes of every regular file at or below a path.
    fn with_bytes(&self, inside: &str) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let files = match self {
            Self::Disk { root } => {
                let mut found = Vec::new();
                walk(&root.join(inside), inside, &mut found)?;
                return Ok(found);
            }
            Self::Stored { files, .. } => files,
        };
        let mut found = Vec::new();
        for entry in files.below(&[inside.to_owned()])? {
            if !entry.kind.is_regular() {
                left_out(&entry.path);
                continue;
            }
            ensure!(
                !entry.lfs,
                "{} is kept in Git LFS, and the seed form needs its bytes; use --worktree in a checkout that has them",
                visible(&entry.path)
            );
            let bytes = files.bytes(&entry.id)?;
            found.push((entry.path, bytes));
        }
        Ok(found)
    }
}

fn left_out(path: &str) {
    out::warning(&format!("{path} is no regular file, and is left out"));
}

/// Regular files at or below `path`; links are not followed, git directories not entered.
fn walk(path: &Path, inside: &str, found: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {}", path.display());
    let kind = std::fs::symlink_metadata(path)
        .with_context(unreadable)?
        .file_type();
    if kind.is_file() {
        let bytes = std::fs::read(path).with_context(unreadable)?;
        found.push((inside.to_owned(), bytes));
        return Ok(());
    }
    if !kind.is_dir() {
        left_out(inside);
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).with_context(unreadable)? {
        names.push(entry.with_context(unreadable)?.file_name());
    }
    names.sort();
    for name in names.iter().filter(|name| *name != ".git") {
        let name = name.to_str().with_context(|| {
            format!(
                "{} in {} is not UTF-8; rename it",
                name.display(),
                path.display()
            )
        })?;
        let below = if inside.is_empty() {
            name.to_owned()
        } else {
            format!("{inside}/{name}")
        };
        walk(&path.join(name), &below, found)?;
    }
    Ok(())
}
