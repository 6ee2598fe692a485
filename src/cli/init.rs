//! `frostline init`: proposes the contract for a repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::{AnsiColor, Color, Style};
use anyhow::{Context as _, bail, ensure};
use similar::{ChangeTag, TextDiff};

use super::progress::Progress;
use super::{Outcome, out, place};
use crate::git::{Files, FoundFile};
use crate::init::existing::{Existing, ExistingError};
use crate::init::imports::Sources;
use crate::init::layout::{self, Layout};
use crate::init::properties::{self, Looked, PropertyFile};
use crate::init::tree::Tree;
use crate::init::{Change, Plan, Survey};
use crate::model::{FileDigest, Sha, SourceFacts};
use crate::render::visible;
use crate::source::{self, Language};

/// Propose a contract for this repository
///
/// Finds packages, production code, properties (tests with generated inputs: Hypothesis, proptest,
/// quickcheck, fast-check, rapid, Go fuzz targets, or pytest's marker `property`), fixtures and goldens,
/// and writes the configuration with `mode: observe`, the fixture lock, an empty freeze list and a map from
/// what the properties import.
///
/// It reads what is staged (`git add` first; files that git does not track are not proposed), and writes to
/// the work tree. What is there is kept: a second run only adds rules for files that no rule matches.
///
/// Then read the proposal, above all the map, and land it on the default branch. From there on
/// `frostline check` says what it would refuse, and blocks nothing until `mode: observe` is deleted from
/// `.github/frostline.yml`; `frostline audit` lists what nothing guards.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  proposed, or nothing new to propose
  2  the command could not do its work: no repository, an unreadable contract file

Examples:
  frostline init --dry-run    show what would be written, as a diff
  frostline init")]
pub struct Args {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// Write nothing; print the changes as a unified diff, then the report
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Args) -> Outcome {
    let files = Files::staged(&args.repo)?;
    let Some(root) = files.work_tree() else {
        bail!(
            "a bare repository has no work tree to write a contract to; run this in a clone of it"
        );
    };
    let existing = Existing::read(|path| on_disk(&root, path)).map_err(|error| match error {
        ExistingError::Read(error) => error,
        ExistingError::Contract(error) => anyhow::Error::new(error).context(
            "a contract file that is there cannot be read; mend or delete it (nothing was written)",
        ),
    })?;
    let (plan, changes) = propose(&files, &existing)?;
    if args.dry_run {
        out::print(&diff(&changes, out::style().colour))?;
    } else {
        write(&root, &changes)?;
    }
    out::print(&plan.report().text(&changes, args.dry_run))?;
    Ok(ExitCode::SUCCESS)
}

/// The bytes of a contract file in the work tree; `None` when there is none.
fn on_disk(root: &Path, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let target = place::target_in(root, path)?;
    if std::fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        bail!("{path} is no regular file; move it away");
    }
    match std::fs::read(&target) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {path}")),
    }
}

fn propose(files: &Files, existing: &Existing) -> anyhow::Result<(Plan, Vec<Change>)> {
    let progress = Progress::start("reading the sources");
    let repository = Repository::of(files)?;
    ensure!(
        repository.tree.files().next().is_some(),
        "nothing is staged or committed here; `git add` the project first"
    );
    let manifests = repository.manifests()?;
    let layout = Layout::new(&repository.tree, &manifests);
    let mut survey = Survey::new(&repository.tree, &layout, existing);
    survey.drop_opaque(&files.below(&survey.fixture_roots())?);
    let (found, unread) = repository.properties(&survey)?;
    let plan = Plan::new(&survey, found, unread, &repository)?;
    drop(progress);
    let changes = plan.changes(existing, &digests(files, plan.fixture_roots())?)?;
    Ok((plan, changes))
}

/// The staged files.
struct Repository<'a> {
    files: &'a Files,
    tree: Tree,
    ids: BTreeMap<String, Sha>,
}

impl<'a> Repository<'a> {
    fn of(files: &'a Files) -> anyhow::Result<Self> {
        let listing = files.list()?;
        let ids = listing
            .iter()
            .map(|file| (file.path.clone(), file.id.clone()))
            .collect();
        let tree = Tree::new(
            listing
                .into_iter()
                .map(|FoundFile { path, kind, .. }| (path, kind)),
        );
        Ok(Self { files, tree, ids })
    }

    fn manifests(&self) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        layout::manifests(&self.tree)
            .into_iter()
            .filter_map(|path| Some((path, self.ids.get(path)?)))
            .map(|(path, id)| Ok((path.to_owned(), self.files.bytes(id)?)))
            .collect()
    }

    /// The property files, and the candidates that could not be read, with why.
    fn properties(
        &self,
        survey: &Survey<'_>,
    ) -> anyhow::Result<(Vec<PropertyFile>, BTreeMap<String, String>)> {
        let candidates: Vec<(&str, Language, &Sha)> = survey
            .candidates()
            .into_iter()
            .filter_map(|(path, language)| Some((path, language, self.ids.get(path)?)))
            .collect();
        let looked = self.files.map_bytes(
            &candidates,
            |(_, _, id)| id,
            |(path, language, _), bytes| look(path, *language, bytes),
        );
        let mut found = Vec::new();
        let mut unread = BTreeMap::new();
        for ((path, _, _), looked) in candidates.iter().zip(looked) {
            match looked {
                Ok(Looked::Found(file)) => found.push(file),
                Ok(Looked::Nothing) => {}
                Ok(Looked::Unread(why)) => {
                    unread.insert((*path).to_owned(), why);
                }
                Err(error) => {
                    unread.insert((*path).to_owned(), error.to_string());
                }
            }
        }
        Ok((found, unread))
    }
}

fn look(path: &str, language: Language, bytes: &[u8]) -> Looked {
    if !properties::may_hold(language, bytes) {
        return Looked::Nothing;
    }
    if bytes.len() > source::LARGEST {
        return Looked::Unread(format!("it has {} bytes", bytes.len()));
    }
    properties::look(path, language, bytes, source::read(language, bytes))
}

impl Sources for Repository<'_> {
    fn facts(&self, path: &str) -> Option<SourceFacts> {
        let language = Language::of_path(path)?;
        let bytes = self.files.bytes(self.ids.get(path)?).ok()?;
        (bytes.len() <= source::LARGEST).then(|| source::read(language, &bytes))
    }
}

/// The digest of every file below the roots; the plan has left out roots that cannot be pinned.
fn digests(files: &Files, roots: &[String]) -> anyhow::Result<BTreeMap<String, FileDigest>> {
    match roots {
        [] => Ok(BTreeMap::new()),
        _ => place::pinned(files, roots),
    }
}

/// The configuration is what opts a repository in, so it is written last.
fn write(root: &Path, changes: &[Change]) -> anyhow::Result<()> {
    for change in changes.iter().rev() {
        let target = place::target_in(root, &change.path)?;
        place::replace(&target, &change.new)
            .with_context(|| format!("cannot write {}", change.path))?;
    }
    Ok(())
}

/// The changes as `git diff` shows them.
fn diff(changes: &[Change], colour: bool) -> String {
    let mut text = String::new();
    for change in changes {
        let old = String::from_utf8_lossy(change.old.as_deref().unwrap_or_default());
        let new = String::from_utf8_lossy(&change.new);
        let before = match change.old {
            Some(_) => format!("a/{}", change.path),
            None => "/dev/null".to_owned(),
        };
        let bold = Style::new().bold();
        let mut push = |style: Style, line: &str| {
            match colour {
                true => text.push_str(&format!("{style}{}{style:#}", visible(line))),
                false => text.push_str(&visible(line)),
            }
            text.push('\n');
        };
        push(bold, &format!("--- {before}"));
        push(bold, &format!("+++ b/{}", change.path));
        let lines = TextDiff::from_lines(old.as_ref(), new.as_ref());
        for hunk in lines.unified_diff().iter_hunks() {
            let header = hunk.header().to_string();
            push(painted(AnsiColor::Cyan), &header);
            for line in hunk.iter_changes() {
                let (sign, style) = match line.tag() {
                    ChangeTag::Delete => ('-', painted(AnsiColor::Red)),
                    ChangeTag::Insert => ('+', painted(AnsiColor::Green)),
                    ChangeTag::Equal => (' ', Style::new()),
                };
                let value = line.value();
                push(
                    style,
                    &format!("{sign}{}", value.trim_end_matches(['\n', '\r'])),
                );
                if line.missing_newline() {
                    push(Style::new(), "\\ No newline at end of file");
                }
            }
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn painted(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour)))
}
