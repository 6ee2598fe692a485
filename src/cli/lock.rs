//! `frostline lock`: writes or verifies the fixture lock from the bytes that git stores.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};

use super::place::{pinned, replace, target_in, why_not};
use super::progress::Progress;
use super::{Outcome, out};
use crate::config::repo::{self, RepoConfig};
use crate::contract::lock::{self, Lock};
use crate::git::Files;
use crate::model::{BlobDigest, BlobFact, Fact, FileDigest, FixtureEntry, Layer};
use crate::render::{count, visible};

/// Where fixtures are when no lock says so.
const DEFAULT_ROOT: &str = "tests/fixtures";
/// So many problems are listed one by one.
const MOST_LISTED: usize = 200;
/// How the line of a row without its fixture begins.
const MISSING: &str = "missing";

/// Write or verify the fixture lock
///
/// The digests are of the bytes that git stores for what is staged (or for a commit, with --rev), not of
/// what line-ending conversion or another filter made of them in the work tree. Stage fixtures first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  written; or, for verify, every fixture matches
  1  verify: the lock and the fixtures differ
  2  the command could not do its work

Examples:
  git add tests/fixtures && frostline lock write
  frostline lock verify --rev HEAD")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Write the lock into the work tree
    ///
    /// Pins every file below the roots of the lock that is there, or below tests/fixtures. Order and layout
    /// of an existing lock are kept; a run that changes nothing leaves the file as it is. Where the last fixture is
    /// gone, a lock that is there becomes empty.
    #[command(after_help = "\
Exit status:
  0  written, or up to date
  2  no lock and nothing to pin, a fixture that cannot be pinned, a lock that cannot be read or written

Examples:
  git add tests/fixtures && frostline lock write && git add test/contract
  frostline lock write --rev HEAD")]
    Write(Options),
    /// Compare the lock with the fixtures
    ///
    /// Lists every fixture that is not as the lock pins it, that the lock does not pin, or that is missing.
    #[command(after_help = "\
Exit status:
  0  every fixture matches
  1  the lock and the fixtures differ
  2  there is no lock, or it cannot be read

Examples:
  frostline lock verify
  frostline lock verify --rev origin/main")]
    Verify(Options),
}

#[derive(Debug, clap::Args)]
struct Options {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// The commit whose fixtures count [default: what is staged]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

impl Options {
    fn files(&self) -> anyhow::Result<Files> {
        Ok(match &self.rev {
            Some(revision) => Files::at_revision(&self.repo, revision)?,
            None => Files::staged(&self.repo)?,
        })
    }
}

pub fn run(args: Args) -> Outcome {
    match args.action {
        Action::Write(options) => write(&options.files()?),
        Action::Verify(options) => verify(&options.files()?, options.rev.is_none()),
    }
}

fn write(files: &Files) -> Outcome {
    let path = lock_path(files)?;
    let Some(root) = files.work_tree() else {
        bail!("a bare repository has no work tree to write {path} to; run this in a clone of it");
    };
    let target = target_in(&root, &path)?;
    let existing = match std::fs::read(&target) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
    };
    let old = match &existing {
        Some(bytes) => {
            lock::parse(&path, bytes).context("mend or delete the lock that is there")?
        }
        None => Lock {
            roots: vec![DEFAULT_ROOT.to_owned()],
            ..Lock::default()
        },
    };
    let new = pinned(files, &old.roots)?;
    ensure!(
        existing.is_some() || !new.is_empty(),
        "{} holds no file below {}; stage fixtures with `git add` first, or set fixtures_root in {path}",
        files.name(),
        old.roots.join(", ")
    );
    let bytes = lock::write(existing.as_deref(), &old.roots, &new);
    if existing.as_deref() == Some(bytes.as_slice()) {
        out::print(&format!("{path} is up to date: {}\n", fixtures(new.len())))?;
        return Ok(ExitCode::SUCCESS);
    }
    replace(&target, &bytes).with_context(|| format!("cannot write {path}"))?;
    out::print(&format!("wrote {path}: {}\n", tally(&old, &new)))?;
    Ok(ExitCode::SUCCESS)
}

fn fixtures(n: usize) -> String {
    count(n, "fixture", "fixtures")
}

fn tally(old: &Lock, new: &BTreeMap<String, FileDigest>) -> String {
    let added = new
        .keys()
        .filter(|path| !old.files.contains_key(*path))
        .count();
    let removed = old
        .files
        .keys()
        .filter(|path| !new.contains_key(*path))
        .count();
    let changed = new
        .iter()
        .filter(|(path, digest)| {
            old.files
                .get(*path)
                .is_some_and(|row| row.digest != **digest)
        })
        .count();
    format!(
        "{}, {added} added, {changed} changed, {removed} removed",
        fixtures(new.len())
    )
}

fn on_disk(files: &Files, path: &str) -> bool {
    let root = files.work_tree();
    root.is_some_and(|root| root.join(path).is_file())
}

/// `is_staged`: the files are those of the index.
fn verify(files: &Files, is_staged: bool) -> Outcome {
    let path = lock_path(files)?;
    let lock = match files.read(&path)? {
        BlobFact::Content { bytes, .. } => lock::parse(&path, &bytes.0)?,
        BlobFact::Absent if is_staged && on_disk(files, &path) => {
            bail!("{path} is in the work tree and not in the index; `git add` it")
        }
        BlobFact::Absent => bail!(
            "{} has no {path}; write it with `frostline lock write` and `git add` it",
            files.name()
        ),
        other => bail!(
            "{path} in {} cannot be read: {}",
            files.name(),
            unread(&other)
        ),
    };
    let progress = Progress::start("reading the fixtures");
    let entries = files.below(&lock.roots)?;
    let digests = files.digests(&entries);
    drop(progress);
    let mut problems: Vec<String> = entries
        .iter()
        .filter_map(|entry| problem(&lock, entry, digests.get(&entry.id)))
        .collect();
    let present: std::collections::BTreeSet<&str> =
        entries.iter().map(|entry| entry.path.as_str()).collect();
    let missing = lock
        .files
        .keys()
        .filter(|path| !present.contains(path.as_str()));
    problems.extend(missing.map(|path| format!("{MISSING}   {}", visible(path))));
    report(files, &path, &problems, entries.len())
}

fn report(files: &Files, path: &str, problems: &[String], all: usize) -> Outcome {
    if problems.is_empty() {
        out::print(&format!(
            "{path} matches {}: {}\n",
            files.name(),
            fixtures(all)
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for problem in problems.iter().take(MOST_LISTED) {
        text.push_str(problem);
        text.push('\n');
    }
    if problems.len() > MOST_LISTED {
        text.push_str(&format!("… and {} more\n", problems.len() - MOST_LISTED));
    }
    let missing = problems.iter().filter(|p| p.starts_with(MISSING)).count();
    let mut differ = Vec::new();
    if problems.len() > missing {
        differ.push(format!(
            "{} of {} not as pinned",
            problems.len() - missing,
            fixtures(all)
        ));
    }
    if missing > 0 {
        differ.push(count(
            missing,
            "row without its fixture",
            "rows without their fixtures",
        ));
    }
    text.push_str(&format!(
        "{path} does not match {}: {}; look at the bytes, then run `frostline lock write`\n",
        files.name(),
        differ.join(", "),
    ));
    out::print(&text)?;
    Ok(ExitCode::from(1))
}

/// What is wrong with one fixture; a line.
fn problem(lock: &Lock, entry: &FixtureEntry, digest: Option<&Fact<BlobDigest>>) -> Option<String> {
    let path = visible(&entry.path);
    if let Some(why) = &entry.opaque {
        return Some(format!("opaque    {path}: {why}"));
    }
    let Some(row) = lock.files.get(&entry.path) else {
        return Some(format!("unlocked  {path}"));
    };
    let Some(Fact::Known(digest)) = digest else {
        return Some(format!("unread    {path}: {}", why_not(digest)));
    };
    let found = digest.of_file(entry.lfs);
    if *found == row.digest {
        return None;
    }
    let hint = if digest.lf_sha256.as_ref() == Some(&row.digest) {
        " (only line endings differ)"
    } else {
        ""
    };
    Some(format!(
        "differs   {path}: {found}, locked {}{hint}",
        row.digest
    ))
}

/// Where the lock lives by the configuration of these files.
fn lock_path(files: &Files) -> anyhow::Result<String> {
    let path = Layer::Config.default_path();
    let config = match files.read(path)? {
        BlobFact::Absent => RepoConfig::default(),
        BlobFact::Content { bytes, .. } => repo::parse(path, &bytes.0)?,
        other => bail!(
            "{path} in {} cannot be read: {}",
            files.name(),
            unread(&other)
        ),
    };
    match config.layer_path(Layer::Lock) {
        Some(path) => Ok(path.to_owned()),
        None => {
            bail!("{path} switches the fixture lock off; remove `lock: off` from its `contract:`")
        }
    }
}

fn unread(fact: &BlobFact) -> String {
    match fact {
        BlobFact::Absent => "it is not there".to_owned(),
        BlobFact::NotRegular(what) => format!("it is {what}"),
        BlobFact::TooLarge(bytes) => {
            format!("it has {bytes} bytes, more than a contract file may have")
        }
        BlobFact::Unavailable(why) => why.clone(),
        BlobFact::Content { .. } => "it was read".to_owned(),
    }
}
