//! Real git repositories in a temporary folder, made with the `git` binary.
//!
//! Invariant: nothing of the machine's or the user's git configuration has an effect, and the same
//! calls give the same object ids.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A repository with a work tree; it is removed when dropped.
pub struct TestRepo {
    folder: tempfile::TempDir,
    root: PathBuf,
    clock: Cell<u64>,
}

impl Default for TestRepo {
    fn default() -> Self {
        Self::new()
    }
}

impl TestRepo {
    /// An empty repository on the unborn branch `main`.
    pub fn new() -> Self {
        Self::init(&["--initial-branch=main"])
    }

    /// `git init` with these arguments.
    pub fn init(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().join("repo");
        std::fs::create_dir(&root).expect("a new folder");
        let repo = Self {
            folder,
            root,
            clock: Cell::new(1_700_000_000),
        };
        let mut all = vec!["init", "--quiet"];
        all.extend(args);
        repo.git(&all);
        repo
    }

    /// The folder of the work tree.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// A folder beside the work tree, for clones and worktrees of this repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the work tree, with the folders above it. Commits nothing.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let file = self.root.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent).expect("a folder for the file");
        }
        std::fs::write(&file, bytes).expect("a written file");
        self
    }

    /// Deletes a file of the work tree.
    pub fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.root.join(path)).expect("a file to remove");
        self
    }

    /// Commits the whole work tree (also when nothing changed); the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--no-verify",
            "-m",
            message,
        ]);
        self.rev("HEAD")
    }

    /// Starts a branch at HEAD and switches to it.
    pub fn branch(&self, name: &str) -> &Self {
        self.git(&["switch", "--quiet", "--create", name]);
        self
    }

    /// Switches to a branch, or detached to a commit.
    pub fn switch(&self, name: &str) -> &Self {
        self.git(&["checkout", "--quiet", "--force", name]);
        self
    }

    /// The id that a revision names.
    pub fn rev(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    /// Runs git in the work tree; its standard output without the last line end.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, args: &[&str]) -> String {
        git_in(&self.root, self.tick(), args)
    }

    /// Runs git in the work tree, whatever its exit status.
    pub fn try_git(&self, args: &[&str]) -> Output {
        command(&self.root, self.tick(), args)
            .output()
            .expect("git on the PATH")
    }

    /// Each command is a second later, so that no two commits are of one time.
    fn tick(&self) -> u64 {
        let now = self.clock.get() + 1;
        self.clock.set(now);
        now
    }
}

/// Runs git in `folder`, isolated; its standard output without the last line end.
///
/// # Panics
/// When git fails.
pub fn git_in<S: AsRef<OsStr>>(folder: &Path, time: u64, args: &[S]) -> String {
    let output = command(folder, time, args)
        .output()
        .expect("git on the PATH");
    let words: Vec<_> = args.iter().map(AsRef::as_ref).collect();
    assert!(
        output.status.success(),
        "git {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end_matches('\n')
        .to_owned()
}

/// An isolated git command; `time` is the commit time in Unix seconds.
pub fn command<S: AsRef<OsStr>>(folder: &Path, time: u64, args: &[S]) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let date = format!("{time} +0000");
    command
        .current_dir(folder)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.com")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.com")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// Commits written straight from (path bytes, mode, bytes) without a work tree: for paths and kinds
/// of entry that a file system may refuse. `entries` is the whole tree; a submodule's or link's bytes
/// are its target. The branch `branch` moves to the new commit.
///
/// # Panics
/// When git fails.
pub fn fast_commit(
    repo: &TestRepo,
    branch: &str,
    parents: &[&str],
    entries: &[(&[u8], &str, &[u8])],
) -> String {
    use std::io::Write as _;
    let mut stream = Vec::new();
    let time = repo.tick();
    let _ = write!(
        stream,
        "commit refs/heads/{branch}\ncommitter Ada <ada@example.com> {time} +0000\ndata 1\nx\n"
    );
    for (at, parent) in parents.iter().enumerate() {
        let word = if at == 0 { "from" } else { "merge" };
        let _ = writeln!(stream, "{word} {parent}");
    }
    stream.extend(b"deleteall\n");
    for (path, mode, bytes) in entries {
        if *mode == "160000" {
            let _ = write!(stream, "M {mode} {} ", String::from_utf8_lossy(bytes));
        } else {
            let _ = write!(stream, "M {mode} inline ");
        }
        stream.push(b'"');
        for byte in *path {
            let _ = write!(stream, "\\{byte:03o}");
        }
        stream.extend(b"\"\n");
        if *mode != "160000" {
            let _ = writeln!(stream, "data {}", bytes.len());
            stream.extend(*bytes);
            stream.push(b'\n');
        }
    }
    let mut child = command(
        repo.path(),
        time,
        &["fast-import", "--quiet", "--force", "--date-format=raw"],
    )
    .stdin(Stdio::piped())
    .spawn()
    .expect("git on the PATH");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(&stream)
        .expect("git reads the stream");
    assert!(child.wait().expect("git ends").success(), "git fast-import");
    repo.rev(&format!("refs/heads/{branch}"))
}
