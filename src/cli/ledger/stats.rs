//! `frostline ledger stats`: what became of the rows over some time (protocol 7), by the history.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::list::{Format, unreadable};
use crate::cli::progress::Progress;
use crate::cli::{Outcome, out};
use crate::gate;
use crate::gate::facts::Plan;
use crate::gate::numbers::{self, Movement, OVERDUE, State, VoidRow, instant, movement, per_100};
use crate::git::{self, Before, Line};
use crate::model::{Class, Decision, Snapshot};
use crate::render::{count, visible};

/// Value of `schema`.
const SCHEMA: &str = "frostline.stats/1";
/// The window that is looked at unless another is asked for.
const WINDOW: TimeDelta = TimeDelta::days(30);
/// A window over which no BLOCK_SHRINK is worth a word.
const LONG: TimeDelta = TimeDelta::days(90);
/// Void rows that the text names.
const SHOWN: usize = 20;

/// Show how the freezes move
///
/// Counts, over the first-parent line of a commit, the rows that were added, closed, reopened or became
/// void, and sets the growth of the ledger against that of the seed corpus. One commit of the line counts as
/// one patch. Merge blocks of the kind SHRINK count as far as they were written down: as rows of the seed
/// ledger with that reason, open or closed. Then come the rows that are void now, the oldest first, and what is worth pointing out. Commits
/// are judged anew where they change contract files, fixtures or properties, by the classes of the last one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  shown
  2  the command could not do its work: no repository, an unknown revision, an unreadable contract file

Examples:
  frostline ledger stats
  frostline ledger stats --rev origin/main --since 2026-01-01
  frostline ledger stats --format json | jq .voided_per_100_patches")]
pub struct Stats {
    /// The repository, or any folder in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,

    /// The commit whose history counts
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,

    /// When the window begins: 2026-01-01, or 2026-01-01T12:00:00Z [default: 30 days ago]
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<DateTime<Utc>>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn date(text: &str) -> Result<DateTime<Utc>, String> {
    instant(text)
        .ok_or_else(|| "write a day as 2026-01-01, or a time as 2026-01-01T12:00:00Z".to_owned())
}

/// What the history says.
struct Seen {
    since: DateTime<Utc>,
    now: DateTime<Utc>,
    /// When each patch of the window landed.
    patches: Vec<DateTime<Utc>>,
    moved: Movement,
    /// Commits whose contract cannot be read.
    passed_over: usize,
    is_cut_off: bool,
}

pub fn stats(args: &Stats) -> Outcome {
    let now = Utc::now();
    let since = args.since.unwrap_or(now - WINDOW);
    if since >= now {
        bail!("`--since` is in the future; name a day that has passed");
    }
    let seen = look(args, since, now)?;
    if seen.is_cut_off {
        out::warning(
            "the history of this shallow repository begins within the window; `git fetch --unshallow` brings the rest",
        );
    }
    if seen.passed_over > 0 {
        out::warning(&format!(
            "the contract cannot be read at {}; what they changed counts where it can be read again",
            count(seen.passed_over, "commit", "commits")
        ));
    }
    out::print(&match args.format {
        Format::Json => format!("{:#}\n", as_json(&seen)),
        Format::Text => as_text(&seen),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn look(args: &Stats, since: DateTime<Utc>, now: DateTime<Utc>) -> anyhow::Result<Seen> {
    let progress = Progress::start("reading the history");
    let line = Line::of(&args.repo, &args.rev, since)?;
    let tip = line.steps.last().map_or("HEAD", |step| &step.commit);
    let tip = git::audit(&args.repo, tip, now, true)?;
    if let Some(why) = unreadable(&tip.contract) {
        bail!("{why}; `frostline ledger validate` names every such file");
    }
    let plan = Plan::new(&tip.contract);
    let decision = gate::decide(&tip);
    let scopes = scopes(&decision)?;
    let matters = |path: &str| {
        matches!(
            plan.class(path),
            Class::Contract | Class::Fixture | Class::Property
        ) || scopes.is_match(path)
    };
    let (mut states, mut passed_over) = (Vec::new(), 0);
    if line.before == Before::Nothing {
        states.push(State {
            at: line.steps.first().map_or(since, |step| step.at),
            ..State::default()
        });
    }
    for place in line.changes(matters)? {
        let step = &line.steps[place];
        let snapshot = git::audit(&args.repo, &step.commit, step.at, true)?;
        match unreadable(&snapshot.contract) {
            Some(_) => passed_over += 1,
            None => states.push(state(&snapshot, gate::decide(&snapshot), step.at)),
        }
    }
    // Dates pass without a commit.
    states.push(state(&tip, decision, now));
    drop(progress);
    let is_of_window = |at: &DateTime<Utc>| *at >= since;
    let patches = line.steps.iter().map(|step| step.at);
    Ok(Seen {
        since,
        now,
        patches: patches.filter(is_of_window).collect(),
        moved: movement(&states, line.before == Before::Nothing),
        passed_over,
        is_cut_off: line.before == Before::Unknown,
    })
}

fn scopes(decision: &Decision) -> anyhow::Result<crate::contract::glob::GlobList> {
    let globs = decision.fixtures.iter().flat_map(|scope| &scope.scope);
    crate::contract::glob::GlobList::new(globs.map(String::as_str))
        .map_err(|error| anyhow!("a fixture scope cannot be used: {error}"))
}

fn state(snapshot: &Snapshot, decision: Decision, at: DateTime<Utc>) -> State {
    State {
        at,
        rows: decision.freezes.unwrap_or_default(),
        corpus: numbers::corpus(&snapshot.contract),
        shrink_blocks: numbers::shrink_blocks(&snapshot.contract),
    }
}

impl Seen {
    fn rate(&self) -> Option<f64> {
        per_100(self.moved.voided.len(), self.patches.len())
    }

    fn shrink_rate(&self) -> Option<f64> {
        per_100(self.moved.shrink_blocks, self.patches.len())
    }

    /// Voided freezes per 100 patches in both halves of the window, where they rose.
    fn rise(&self) -> Option<(f64, f64)> {
        let middle = self.since + (self.now - self.since) / 2;
        let half = |later: bool| {
            let within = |times: &[DateTime<Utc>]| {
                let of_half = times.iter().filter(|at| (**at >= middle) == later);
                of_half.count()
            };
            per_100(within(&self.moved.voided), within(&self.patches))
        };
        half(false)
            .zip(half(true))
            .filter(|(before, after)| after > before)
    }

    fn overdue(&self) -> impl Iterator<Item = &VoidRow> {
        let void = self.moved.void.iter();
        void.filter(|void| self.now - void.since >= OVERDUE)
    }

    /// What protocol 7 wants pointed out.
    fn pointed_out(&self) -> Vec<String> {
        let mut said = Vec::new();
        let overdue = self.overdue().count();
        if overdue > 0 {
            said.push(format!(
                "{} for {} days or more: their owners reopen or close them",
                count(overdue, "row is void", "rows are void"),
                OVERDUE.num_days()
            ));
        }
        if let Some((before, after)) = self.rise() {
            said.push(format!(
                "voided freezes rise, from {before:.1} to {after:.1} per 100 patches: move fixtures out of the agents' reach"
            ));
        }
        let grew = |(first, last): (u64, u64)| i128::from(last) - i128::from(first);
        let rows = grew(self.moved.rows);
        if let Some(seeds) = self.moved.corpus.map(grew)
            && rows > seeds.max(0)
        {
            said.push(format!(
                "the ledger grows faster than the corpus ({rows:+} rows, {seeds:+} seeds): what is frozen is not replayed"
            ));
        }
        // Where none was ever written down, none in the window says nothing.
        let is_long = self.now - self.since >= LONG;
        if is_long && self.moved.records_shrinks && self.moved.shrink_blocks == 0 {
            said.push(format!(
                "no BLOCK_SHRINK was written down in {} days: the corpus may be stale",
                (self.now - self.since).num_days()
            ));
        }
        said
    }

    fn days(&self, void: &VoidRow) -> i64 {
        (self.now - void.since).num_days().max(0)
    }
}

fn as_json(seen: &Seen) -> Value {
    let moved = &seen.moved;
    let void: Vec<Value> = moved
        .void
        .iter()
        .map(|void| {
            json!({"nodeid": void.row.nodeid, "source": void.row.source, "line": void.row.line,
                "state": void.row.state, "owner": void.row.owner, "since": void.since.to_rfc3339(),
                "or_earlier": void.or_earlier, "age_days": seen.days(void)})
        })
        .collect();
    let pair = |(first, last): (u64, u64)| json!({"first": first, "last": last});
    json!({"schema": SCHEMA, "since": seen.since.to_rfc3339(), "until": seen.now.to_rfc3339(),
        "patches": seen.patches.len(), "rows": pair(moved.rows), "added": moved.added,
        "closed": moved.closed, "voided": moved.voided.len(), "reopened": moved.reopened,
        "voided_per_100_patches": seen.rate(), "shrink_blocks": moved.shrink_blocks,
        "shrink_blocks_per_100_patches": seen.shrink_rate(), "corpus": moved.corpus.map(pair), "void": void,
        "pointed_out": seen.pointed_out()})
}

fn as_text(seen: &Seen) -> String {
    let moved = &seen.moved;
    let day = |at: DateTime<Utc>| at.format("%Y-%m-%d");
    let mut text = format!(
        "{}, from {} to {}\n",
        count(seen.patches.len(), "patch", "patches"),
        day(seen.since),
        day(seen.now)
    );
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<9} {value}\n"));
    let (first, last) = moved.rows;
    line(
        "rows",
        format!(
            "{first} -> {last}: {} added, {} closed, {} reopened",
            moved.added, moved.closed, moved.reopened
        ),
    );
    let counted = |count: usize, rate: Option<f64>| {
        let rate = rate.map_or(String::new(), |rate| format!(", {rate:.1} per 100 patches"));
        format!("{count}{rate}")
    };
    line("voided", counted(moved.voided.len(), seen.rate()));
    line("shrunk", counted(moved.shrink_blocks, seen.shrink_rate()));
    line(
        "corpus",
        match moved.corpus {
            Some((first, last)) => format!("{first} -> {last} seeds"),
            None => "there is none".to_owned(),
        },
    );
    line("void now", count(moved.void.len(), "row", "rows"));
    for void in moved.void.iter().take(SHOWN) {
        let at_least = if void.or_earlier { "at least " } else { "" };
        text.push_str(&format!(
            "  {at_least}{}: {} ({}:{}), owner {}\n",
            count(seen.days(void).unsigned_abs(), "day", "days"),
            visible(&void.row.nodeid),
            visible(&void.row.source),
            void.row.line,
            visible(void.row.owner.as_deref().unwrap_or("none"))
        ));
    }
    if moved.void.len() > SHOWN {
        let more = count(moved.void.len() - SHOWN, "more", "more");
        text.push_str(&format!("  and {more}; `frostline ledger list` has all\n"));
    }
    for said in seen.pointed_out() {
        text.push_str(&format!("! {said}\n"));
    }
    text
}
