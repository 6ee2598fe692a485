//! A result: one property with one seed on one merged tree, `frostline.lane/1`.

use anyhow::anyhow;
use serde_json::{Value, json};

use super::super::ground::Ground;
use super::super::{line, row, say};
use super::Case;
use super::plan::{Planned, SeedFrom};
use crate::lane::bench::Bench;
use crate::lane::example::Order;
use crate::lane::model::{Colour, Outcome};
use crate::lane::router::Label;
use crate::lane::signature::Signature;
use crate::lane::trial::{Ran, Role, Trial};
use crate::lane::window::{Honoured, honours_seed};
use crate::model::{Action, LANE_SCHEMA, ScopeChange};

/// The line of a result; `total` is how many lines there are.
pub fn line(
    case: &Case,
    ground: &Ground,
    bench: &Bench<'_>,
    planned: &Planned,
    total: usize,
) -> anyhow::Result<Value> {
    let (trial, target) = (&planned.trial, &planned.target);
    let action = trial.action();
    let framework = match bench.framework(&trial.node) {
        Ok(framework) => {
            let versions = bench.versions(&trial.node).map_err(|why| anyhow!(why))?;
            json!({"name": framework.name(), "versions": versions})
        }
        // No framework runs such a file, and the runs say so.
        Err(_) => Value::Null,
    };
    let runs: Vec<Value> = trial.ran.iter().map(run).collect();
    Ok(json!({
        "schema": LANE_SCHEMA,
        "results": total,
        "tree": case.merged.tree(),
        "base": case.snapshot.base,
        "head": case.snapshot.head,
        "property": target.nodeid,
        "nodeid": trial.node,
        "seed": trial.seed,
        "seed_from": planned.seed_from,
        "votes": trial.votes,
        "because": target.why,
        "action": action,
        "why": why(trial),
        "kept_since": planned.kept_since,
        "counters": planned.counter,
        "scope": {"change": trial.scope, "before": target.before, "after": target.after},
        "framework": framework,
        "generator": trial.generator,
        "isolation": ground.level,
        "network": if ground.level.has_no_network() { "loopback" } else { "open" },
        "order": trial.order().and_then(Result::ok),
        "runs": runs,
        "proposal": proposal(ground, bench, planned)?,
        "label": case.label,
    }))
}

fn run(ran: &Ran) -> Value {
    let failure = ran.outcome.failure();
    let signature = failure.map(Signature::of);
    let why = match &ran.outcome {
        Outcome::Errored { why } => Some(why.as_str()),
        _ => None,
    };
    json!({
        "role": ran.role,
        "outcome": ran.outcome.colour(),
        "ms": ran.ms,
        "signature": signature.as_ref().map(Signature::id),
        "summary": signature.map(|signature| signature.fine),
        "example": failure.and_then(|failure| failure.example.as_deref()),
        "why": why,
    })
}

/// One clause that says how the action came about.
pub fn why(trial: &Trial) -> String {
    let errored = trial.ran.iter().find_map(|ran| match &ran.outcome {
        Outcome::Errored { why } => Some(format!(
            "the {} run came to nothing: {why}",
            ran.role.name()
        )),
        _ => None,
    });
    let first = trial.ran.iter().find(|ran| ran.role == Role::First);
    let failure = trial
        .first_failure()
        .map(|failure| Signature::of(failure).fine);
    let failure = failure.unwrap_or_default();
    let not_smaller = match trial.order() {
        Some(Err(why)) => format!("; whether its example shrank can't be told: {why}"),
        Some(Ok(order)) if order != Order::Same => {
            let order = json!(order);
            format!(
                "; its example is {} to the recorded one",
                order.as_str().unwrap_or_default()
            )
        }
        _ => String::new(),
    };
    match trial.action() {
        Some(Action::Pass) => "green".to_owned(),
        Some(Action::BlockHash) => match trial.scope {
            ScopeChange::Changed => "the fixtures that it reads changed, and the lock in force does not hold the new digests".to_owned(),
            _ => String::new(),
        },
        Some(Action::BlockErrored) => errored.unwrap_or_default(),
        Some(Action::BlockShrink) => format!(
            "red twice with one seed, and its example is smaller than the recorded one: {failure}"
        ),
        Some(Action::BlockInvariant) => {
            let second = trial.ran.iter().any(|ran| ran.role == Role::Second);
            let how = match second {
                true => "red, and not by chance of one worker",
                false => "red twice with one seed",
            };
            format!("{how}: {failure}{not_smaller}")
        }
        Some(Action::BlockNoise) => format!(
            "red and green with one seed, and green {} times on the base tip: the patch made it flaky: {failure}",
            trial.ran.iter().filter(|ran| ran.role == Role::Base).count()
        ),
        Some(Action::PinSeedNoise) => {
            format!("red once, then green twice with the same seed, and red on the base tip too: {failure}")
        }
        None => match first.map(|ran| ran.outcome.colour()) {
            Some(Colour::Green) => "frozen: green, which is counted".to_owned(),
            Some(Colour::Red) => format!("frozen: red, which is counted and blocks nothing: {failure}"),
            _ => format!("frozen: {}", errored.unwrap_or_default()),
        },
    }
}

/// What a person may land in a pull request of its own. Never a skip.
fn proposal(ground: &Ground, bench: &Bench<'_>, planned: &Planned) -> anyhow::Result<Value> {
    let trial = &planned.trial;
    Ok(match trial.action() {
        Some(Action::PinSeedNoise) => noise(ground, bench, planned)?,
        Some(Action::BlockInvariant | Action::BlockShrink)
            if trial.seed.is_some()
                && trial.generator.is_decided_by_seed()
                && planned.seed_from != SeedFrom::Corpus =>
        {
            json!({"what": "corpus-seed", "nodeid": trial.node, "seed": trial.seed})
        }
        _ => Value::Null,
    })
}

/// A row of the seed ledger, once it is known that the seed decides what is generated.
fn noise(ground: &Ground, bench: &Bench<'_>, planned: &Planned) -> anyhow::Result<Value> {
    let trial = &planned.trial;
    let node = (&trial.node, trial.generator);
    let honoured = honours_seed(bench, node, trial.seed, &|_| {});
    super::not_interrupted(ground)?;
    let not = |why: String| json!({"what": "nothing", "why": why});
    Ok(match honoured {
        Honoured::Yes => {
            let Some(replay) = line::proven(ground, bench, &trial.task())? else {
                return Ok(not("its replay line could not be run".to_owned()));
            };
            let kinds = trial.first_failure().map(|failure| failure.kinds());
            let clock = kinds
                .is_some_and(|kinds| kinds.iter().any(|kind| kind.ends_with("DeadlineExceeded")));
            json!({
                "what": "ledger-row",
                "row": {
                    "nodeid": trial.node,
                    "seed": trial.seed,
                    "fixture_digest": planned.target.after,
                    "reason": clock.then_some("CLOCK"),
                    "replay": replay,
                },
                "reasons": ["ORDER", "CLOCK", "IO"],
                "framework": row::framework(bench, &trial.node)?,
                "example": trial.first_failure().and_then(|failure| failure.example.as_deref()),
            })
        }
        Honoured::DoesNotApply => not("nothing is generated, so no seed can be pinned".to_owned()),
        Honoured::No(why) => not(format!("the seed is not honoured: {why}")),
    })
}

/// A table for people.
pub fn tell(planned: &[Planned], label: Label) {
    let words = json!(label);
    say::say(&format!(
        "the patch looks like {}, which only orders the runs",
        words.as_str().unwrap_or_default()
    ));
    for one in planned {
        let trial = &one.trial;
        let action = trial.action().map_or("(frozen)", Action::name);
        let seed = match (trial.seed, one.seed_from) {
            (Some(seed), from) => {
                let from = json!(from);
                format!("  seed {seed} ({})", from.as_str().unwrap_or_default())
            }
            _ => String::new(),
        };
        say::say(&format!("{action:<16}{}{seed}", trial.node));
        if trial.action() != Some(Action::Pass) {
            say::say(&format!("{:<16}{}", "", why(trial)));
        }
        if let Some(counter) = &one.counter {
            say::say(&format!("{:<16}{}", "", counter.sentence()));
        }
        if let Some(since) = &one.kept_since {
            say::say(&format!(
                "{:<16}it failed on this very tree at {since}, which no later run erases; a new run needs a new tree",
                ""
            ));
        }
    }
    let count = |is: fn(Action) -> bool| {
        let actions = planned.iter().filter_map(|one| one.trial.action());
        actions.filter(|action| is(*action)).count()
    };
    let frozen = planned.iter().filter(|one| !one.trial.votes).count();
    say::say(&format!(
        "{} passed, {} block, {} noise, {frozen} frozen",
        count(|action| action == Action::Pass),
        count(Action::blocks),
        count(|action| action == Action::PinSeedNoise),
    ));
    if planned
        .iter()
        .all(|one| one.trial.action().is_none_or(|a| a == Action::Pass))
    {
        say::say(
            "all green is a weak signal: that the patch means the right thing still needs a reader",
        );
    }
}
