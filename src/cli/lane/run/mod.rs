//! `frostline lane run`.

mod counters;
mod kept;
mod plan;
mod result;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use chrono::Utc;

use super::super::{Outcome, out, place};
use super::ground::{Ground, GroundArgs};
use super::{now, say};
use crate::config::repo::RepoConfig;
use crate::gate::lane::{Target, targets};
use crate::git::{self, Files};
use crate::lane::bench::{Bench, Run};
use crate::lane::router::{self, Label};
use crate::lane::trial::{Ran, Role, Trial, wave};
use crate::model::{Action, Author, AuthorKind, Decision, Layer, NodeId, Rule, Snapshot};
use kept::Reds;
use plan::Planned;

/// Run the properties that a patch needs, with pinned seeds
///
/// Runs, on what merging HEAD into the base branch gives, the properties that the hunk map lists for the patch's
/// production paths, each with its seeds of the seed corpus, and the frozen ones, which are counted and block nothing. One
/// that fails is replayed with the same seed, and run in a second tree; where it is mixed there, the base
/// branch's tip is run too. A failure of a merged tree is kept under `.git/frostline/`: a later run of the same
/// tree reads it, and no later green erases it. Writes a line of JSON for each property and seed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  every property passed, or none is needed
  1  a property blocks
  3  none blocks, and a person has to look: PIN_SEED_NOISE
  2  the lane could not run

Examples:
  frostline lane run
  frostline lane run --base main --head feature --out lane.jsonl
  frostline check --base main --head feature --lane lane.jsonl
  frostline lane run --property 'tests/properties/test_parse.py::test_roundtrip'")]
pub struct Args {
    /// The branch to merge into [default: the upstream default branch]
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// The commit to judge
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,

    /// Run this property, and only those that are named so
    #[arg(long = "property", value_name = "NODEID")]
    properties: Vec<NodeId>,

    /// Runs at the same time [default: `lane.workers`, or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    workers: Option<u64>,

    /// Write the results to this file instead of printing them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    ground: GroundArgs,
}

/// What is run, and of what.
struct Case {
    snapshot: Snapshot,
    merged: Files,
    base: Files,
    /// Of the base tip.
    config: RepoConfig,
    label: Label,
}

pub fn run(args: Args) -> Outcome {
    let (case, wanted) = look(&args)?;
    if wanted.is_empty() {
        say::say("no property is needed, and none is frozen: nothing was run");
        write(&args, "")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut reds = Reds::open(&case.merged.own_folder())?;
    let tip = (
        Files::merged(
            &args.ground.repo,
            Some(case.snapshot.base.as_str()),
            case.snapshot.head.as_str(),
        )?,
        case.snapshot.head.clone(),
    );
    let ground = Ground::by(&args.ground, tip, case.config.clone())?;
    let workers = ground.workers(args.workers);
    let main = ground.bench()?;
    let mut planned = plan::plan(&case, &ground, &main, wanted, workers)?;
    for one in &mut planned {
        one.recall(&reds, &case);
    }
    let benches = Benches {
        case: &case,
        ground: &ground,
        main: &main,
    };
    benches.run(&mut planned, workers, &mut reds)?;
    counters::count(&case.merged.own_folder(), &mut planned, &now())?;
    let mut lines = String::new();
    let total = planned.len();
    for one in &planned {
        let line = result::line(&case, &ground, &main, one, total)?;
        lines.push_str(&format!("{line}\n"));
    }
    not_interrupted(&ground)?;
    write(&args, &lines)?;
    result::tell(&planned, case.label);
    Ok(ExitCode::from(exit_code(&planned)))
}

/// The patch, and the properties that it needs.
fn look(args: &Args) -> anyhow::Result<(Case, Vec<Target>)> {
    let (snapshot, decision) = git::judge(&git::Request {
        repo: args.ground.repo.clone(),
        base: args.base.clone(),
        head: args.head.as_str().into(),
        author: Author {
            kind: AuthorKind::Agent,
            login: None,
            evidence: "the lane runs for whoever wrote it".to_owned(),
        },
        now: Utc::now(),
        cache: true,
        lane: None,
    })?;
    needs_are_known(&decision)?;
    // By id: a branch may move meanwhile.
    let (repo, tip) = (&args.ground.repo, snapshot.base.as_str());
    let (base, _) = Files::at_base(repo, Some(tip))?;
    let merged = Files::merged(repo, Some(tip), snapshot.head.as_str())?;
    ensure!(
        snapshot.merged_tree.known() == Some(&merged.tree()),
        "the repository changed while it was read; run it again"
    );
    let config = RepoConfig::of(&base.read(Layer::Config.default_path())?);
    let wanted = targets(&snapshot, &decision, &args.properties);
    let classes: Vec<_> = decision.write_set.iter().map(|one| one.class).collect();
    let case = Case {
        label: router::label(&classes, ""),
        snapshot,
        merged,
        base,
        config,
    };
    Ok((case, wanted))
}

/// Without the contract nobody knows what a patch needs.
fn needs_are_known(decision: &Decision) -> anyhow::Result<()> {
    let unread = [Rule::ContractUnreadable, Rule::Undetermined];
    let mut findings = decision.findings.iter();
    match findings.find(|finding| unread.contains(&finding.rule)) {
        Some(finding) => {
            let place = finding
                .path
                .as_deref()
                .map_or(String::new(), |path| format!("{path}: "));
            bail!(
                "which properties the patch needs is not known: {place}{}; {}",
                finding.message,
                finding.fix
            )
        }
        None => Ok(()),
    }
}

/// Where each run is made.
struct Benches<'a> {
    case: &'a Case,
    ground: &'a Ground,
    main: &'a Bench<'a>,
}

impl Benches<'_> {
    /// Runs what is needed, wave after wave, until all is known. Reds are kept as soon as a wave ends.
    fn run(&self, planned: &mut [Planned], workers: usize, reds: &mut Reds) -> anyhow::Result<()> {
        let (mut second, mut base) = (None, None);
        loop {
            let mut idle = true;
            for role in Role::ALL {
                let due = due(planned, role);
                if due.is_empty() {
                    continue;
                }
                idle = false;
                let bench = match role {
                    Role::First | Role::Replay => self.main,
                    Role::Second => self.at(&mut second, &self.case.merged, "second")?,
                    Role::Base => self.at(&mut base, &self.case.base, "base")?,
                };
                let trials: Vec<&Trial> = due.iter().map(|at| &planned[*at].trial).collect();
                let runs = wave(bench, &trials, workers, &|trial, run| {
                    told(role, trial, run);
                });
                for (at, run) in due.into_iter().zip(runs) {
                    if !run.cancelled {
                        planned[at].trial.ran.push(ran(role, run));
                        planned[at].keep(reds, self.case)?;
                    }
                }
                not_interrupted(self.ground)?;
            }
            if idle {
                return Ok(());
            }
        }
    }

    /// The tree in `place`, which is made when it is first needed.
    fn at<'p, 'b: 'p>(
        &'b self,
        place: &'p mut Option<Bench<'b>>,
        files: &Files,
        name: &str,
    ) -> anyhow::Result<&'p Bench<'b>> {
        if place.is_none() {
            *place = Some(self.ground.beside(files, name)?);
        }
        place.as_ref().context("the tree was made")
    }
}

/// Positions of the trials that need a run of this kind, in the router's order.
fn due(planned: &[Planned], role: Role) -> Vec<usize> {
    let needs = |at: &usize| planned[*at].trial.needs() == Some(role);
    let mut due: Vec<usize> = (0..planned.len()).filter(needs).collect();
    due.sort_by_key(|at| planned[*at].rank);
    due
}

fn ran(role: Role, run: Run) -> Ran {
    Ran {
        role,
        ms: run.wall_ms,
        outcome: run.outcome,
    }
}

fn told(role: Role, trial: &Trial, run: &Run) {
    say::say(&format!("{:<7}{}", role.name(), trial.node));
    say::run(run);
}

fn not_interrupted(ground: &Ground) -> anyhow::Result<()> {
    ensure!(
        !ground.cancel.is_cancelled(),
        "interrupted; no result is written, and the failures that were seen are kept"
    );
    Ok(())
}

fn write(args: &Args, lines: &str) -> anyhow::Result<()> {
    match &args.out {
        None => out::print(lines),
        Some(path) => place::replace(path, lines.as_bytes())
            .with_context(|| format!("cannot write {}", path.display())),
    }
}

fn exit_code(planned: &[Planned]) -> u8 {
    let actions = planned.iter().filter_map(|one| one.trial.action());
    let actions: Vec<Action> = actions.collect();
    if actions.iter().any(|action| action.blocks()) {
        1
    } else if actions.contains(&Action::PinSeedNoise) {
        3
    } else {
        0
    }
}
