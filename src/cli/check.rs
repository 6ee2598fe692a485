//! `frostline check`: the gate on a local git repository.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use chrono::Utc;
use clap::ValueEnum;

use super::Outcome;
use super::progress::Progress;
use super::verdict::Shown;
use crate::git;
use crate::lane::results::{LARGEST, parse};
use crate::model::{Author, AuthorKind, LaneFact, Snapshot};

/// Judge the commits of a local repository
///
/// Judges what merging HEAD into the base branch would change, by the contract that the base branch's tip
/// holds. Reads commits, never the work tree, unless `--head WORKTREE` asks for it. Nothing in the
/// repository is changed or run; digests of files already seen are kept under `.git/frostline/`, which is
/// safe to delete.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  pass, allow_recheck or not_applicable; any verdict under `mode: observe`
  1  refuse
  3  human_review
  2  the gate could not run: no repository, an unknown revision, too shallow a clone

Examples:
  frostline check
  frostline check --base main --head feature
  frostline check --head WORKTREE
  frostline check --author human --format json | jq .verdict
  frostline check --snapshot-out snapshot.json
  frostline check --lane lane.jsonl")]
pub struct Args {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// The branch to merge into [default: the upstream default branch]
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// The commit to judge; `WORKTREE` for what the work tree holds
    ///
    /// WORKTREE stands for the commit that `git add --all` and `git commit` would make now: tracked and
    /// untracked files that are not ignored, submodules at the commit that is staged. Nothing is written,
    /// and the id that the decision gives for it is that of no commit in the repository.
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,

    /// Who wrote the patch; some rules bind only agents
    #[arg(long, value_enum, default_value_t = AuthorOption::Agent)]
    author: AuthorOption,

    #[command(flatten)]
    shown: Shown,

    /// The results of `frostline lane run` for this base and head, as step 6
    ///
    /// They are bound to the merged tree: results of another one, and a property that the patch needs and
    /// that has none, are undetermined, which refuses.
    #[arg(long, value_name = "FILE")]
    lane: Option<PathBuf>,

    /// Read every fixture again, and keep no digests [default: keep them under .git/frostline/]
    #[arg(long)]
    no_cache: bool,

    /// Also write everything that the decision was made from, for `frostline decide`
    #[arg(long, value_name = "FILE")]
    snapshot_out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AuthorOption {
    /// A coding agent: every rule binds
    Agent,
    /// A person: under `apply_to: agents` only what keeps the branch consistent binds
    Human,
}

impl AuthorOption {
    fn author(self) -> Author {
        let (kind, evidence) = match self {
            Self::Agent => (AuthorKind::Agent, "said by --author agent"),
            Self::Human => (AuthorKind::Person, "said by --author human"),
        };
        Author {
            kind,
            login: None,
            evidence: evidence.to_owned(),
        }
    }
}

pub fn run(args: Args) -> Outcome {
    let lane = args.lane.as_deref().map(results).transpose()?;
    let progress = Progress::start("reading the repository");
    let (snapshot, decision) = git::judge(&git::Request {
        repo: args.repo,
        base: args.base,
        head: head(&args.head),
        author: args.author.author(),
        now: Utc::now(),
        cache: !args.no_cache,
        lane,
    })?;
    if let Some(path) = &args.snapshot_out {
        write(path, &snapshot)?;
    }
    drop(progress);
    args.shown.show(decision)
}

fn results(file: &Path) -> anyhow::Result<LaneFact> {
    let name = file.display();
    let text = std::fs::metadata(file).and_then(|meta| match meta.len() {
        size if size > LARGEST => Err(std::io::Error::other(format!("it has {size} bytes"))),
        _ => std::fs::read_to_string(file),
    });
    let text = text.map_err(|error| {
        anyhow!("{name} could not be read: {error}; give a file that `{LANE}` wrote")
    })?;
    parse(&text).map_err(|why| anyhow!("{name}: {why}; give a file that `{LANE}` wrote"))
}

const LANE: &str = "frostline lane run --out FILE";

fn head(revision: &str) -> git::Head {
    match revision {
        "WORKTREE" => git::Head::WorkTree,
        revision => revision.into(),
    }
}

fn write(path: &Path, snapshot: &Snapshot) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(snapshot)?;
    text.push(b'\n');
    std::fs::write(path, text).map_err(|error| {
        anyhow!(
            "the snapshot could not be written to {}: {error}; name a file in a folder that exists and \
             can be written to",
            path.display()
        )
    })
}
