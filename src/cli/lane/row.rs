//! The row of the evidence ledger that a window comes to (protocol 3.7).

use std::collections::BTreeMap;

use anyhow::anyhow;
use serde_json::{Value, json};

use super::cause::Diagnosis;
use super::ground::Ground;
use super::scope::{self, Scope};
use crate::lane::bench::{Bench, Run};
use crate::lane::cause::Cause;
use crate::lane::classify::{Bound, Note, Stop, Verdict, missed_rates};
use crate::lane::model::Outcome;
use crate::lane::signature::Signature;
use crate::lane::window::Window;
use crate::model::NodeId;

/// Times and ids of one window.
pub struct About<'a> {
    pub node: &'a NodeId,
    /// As [`framework`] tells it.
    pub framework: String,
    pub seed: Option<i64>,
    pub started_at: String,
    pub finished_at: String,
    /// The line that shows the first red again.
    pub replay: Option<String>,
    pub seed_honoured: Option<bool>,
    pub diagnosis: Option<Diagnosis>,
}

/// The members of the row, in order, without `schema`.
pub fn members(
    ground: &Ground,
    scope: &Scope,
    window: &Window,
    about: &About<'_>,
) -> Vec<(&'static str, Value)> {
    let tally = &window.verdict.tally;
    let first = window.runs.iter().find_map(|run| run.outcome.failure());
    let runs: Vec<Value> = window.runs.iter().map(run).collect();
    let diagnosis = about.diagnosis.as_ref();
    let cause = diagnosis.map_or(Cause::Unattributed, |found| found.cause);
    vec![
        ("property_id", json!(scope.property_id)),
        ("nodeid", json!(about.node)),
        ("fixture_paths", json!(scope.globs)),
        ("fixture_digest", json!(scope.digest)),
        ("seed", json!(about.seed)),
        ("runs", json!(tally.runs)),
        ("passes", json!(tally.green)),
        ("failures", json!(tally.red)),
        ("signatures", signatures(window)),
        ("status", json!(window.verdict.status)),
        ("reason", json!(cause.reason())),
        ("cause", json!(cause.name())),
        ("framework", json!(about.framework)),
        (
            "example",
            json!(first.and_then(|failure| failure.example.as_deref())),
        ),
        ("isolation", json!(ground.level)),
        ("commit", json!(ground.commit)),
        ("started_at", json!(about.started_at)),
        ("finished_at", json!(about.finished_at)),
        ("tree", json!(ground.files.tree())),
        ("seed_honoured", json!(about.seed_honoured)),
        ("replay", json!(about.replay)),
        ("says", json!(sentences(&window.verdict, window.stop))),
        ("each", json!(runs)),
        ("diagnosis", json!(diagnosis.map(Diagnosis::row))),
        // What has to be equal before a smaller example means anything.
        (
            "coarse",
            json!(first.map(|failure| Signature::of(failure).coarse)),
        ),
        (
            "test_digest",
            json!(scope::test_digest(&ground.files, about.node)),
        ),
    ]
}

fn run(run: &Run) -> Value {
    let why = match &run.outcome {
        Outcome::Errored { why } => Some(why),
        _ => None,
    };
    json!({
        "outcome": run.outcome.colour(),
        "seed": run.seed,
        "hash_seed": run.hash_seed,
        "ms": run.wall_ms,
        "signature": run.outcome.failure().map(|failure| Signature::of(failure).id()),
        "why": why,
    })
}

/// By fine signature, the most frequent first.
fn signatures(window: &Window) -> Value {
    let mut by_id: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for failure in window.runs.iter().filter_map(|run| run.outcome.failure()) {
        let signature = Signature::of(failure);
        let row = by_id.entry(signature.id()).or_insert((0, signature.fine));
        row.0 += 1;
    }
    let mut rows: Vec<_> = by_id.into_iter().collect();
    rows.sort_by(|(a, (m, _)), (b, (n, _))| n.cmp(m).then_with(|| a.cmp(b)));
    rows.into_iter()
        .map(|(id, (count, summary))| json!({"id": id, "count": count, "summary": summary}))
        .collect()
}

/// "pytest 9.2.0, hypothesis 6.170.17, python 3.11.7".
pub fn framework(bench: &Bench<'_>, node: &NodeId) -> anyhow::Result<String> {
    let name = bench.framework(node).map_err(|why| anyhow!(why))?.name();
    let versions = bench.versions(node).map_err(|why| anyhow!(why))?;
    let others = versions.iter().filter(|(other, _)| other.as_str() != name);
    let version = versions.get(name);
    let mut parts = vec![version.map_or_else(|| name.to_owned(), |v| format!("{name} {v}"))];
    parts.extend(others.map(|(name, version)| format!("{name} {version}")));
    Ok(parts.join(", "))
}

/// What a window says, and what it does not.
pub fn sentences(verdict: &Verdict, stop: Stop) -> Vec<String> {
    let tally = &verdict.tally;
    let mut said = Vec::new();
    said.extend(Bound::of(tally).map(|bound| bound.sentence(tally, stop)));
    if tally.runs > 0 && tally.green == tally.runs {
        said.push(missed_rates(tally.runs));
    }
    said.extend(match verdict.note {
        Note::None => None,
        Note::SuspectedRace => Some(
            "Every run failed alike with other values: a race that is lost nearly always looks so; it is no freeze.",
        ),
        Note::SiteOnly => Some("The place of the failure recurs, its message does not."),
    }
    .map(str::to_owned));
    said
}

/// The first red, for the replay line.
pub fn first_red(window: &Window) -> Option<&Run> {
    let mut runs = window.runs.iter();
    runs.find(|run| run.outcome.failure().is_some())
}
