//! What makes a mixed test flake, as far as holding one condition still at a time can tell.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::ground::Ground;
use super::say;
use crate::lane::bench::Bench;
use crate::lane::cause::{Cause, Intervention, Tried, cause, enough};
use crate::lane::diagnose::{diagnose, words};
use crate::lane::frameworks::Framework;
use crate::lane::window::{Window, Wish};

/// What was tried, and what it says.
pub struct Diagnosis {
    pub cause: Cause,
    tried: Vec<Tried>,
    says: Option<&'static str>,
}

/// Tries what can be tried here; `None` where the window is no ground for it.
pub fn of(
    ground: &Ground,
    bench: &Bench<'_>,
    wish: Wish<'_>,
    window: &Window,
) -> anyhow::Result<Option<Diagnosis>> {
    let Some(enough) = enough(&window.verdict.tally) else {
        say::say(
            "no cause is looked for: only where greens and reds are both frequent, runs that agree say something",
        );
        return Ok(None);
    };
    let interventions = possible(ground.framework(wish.node)?, &bench.places.search);
    let told = |intervention: Intervention, run: &_| {
        say::say(&format!("does not vote, with {}:", intervention.words()));
        say::run(run);
    };
    let tried = diagnose(bench, wish, (&interventions, enough), &told);
    ground.not_interrupted()?;
    let tried = tried.context("a run was cancelled")?;
    let (cause, says) = cause(&tried, enough);
    Ok(Some(Diagnosis { cause, tried, says }))
}

/// Tells of those that cannot be tried here.
fn possible(framework: &dyn Framework, search: &str) -> Vec<Intervention> {
    let can = |one: &Intervention| {
        let by_framework = matches!(one, Intervention::HashSeed | Intervention::Rng);
        let why_not = match by_framework {
            true if framework.pins().contains(one) => None,
            true => Some("the framework cannot hold it still"),
            false => words(*one, search).err(),
        };
        if let Some(why) = why_not {
            say::say(&format!("not tried with {}: {why}", one.words()));
        }
        why_not.is_none()
    };
    Intervention::ALL.into_iter().filter(can).collect()
}

impl Diagnosis {
    /// A row's `diagnosis`.
    pub fn row(&self) -> Value {
        let tried = self.tried.iter().map(|tried| {
            json!({
                "held": tried.intervention,
                "runs": tried.tally.runs,
                "green": tried.tally.green,
                "red": tried.tally.red,
                "errored": tried.tally.errored,
            })
        });
        tried.collect()
    }

    /// For people.
    pub fn sentence(&self) -> String {
        match (self.says, self.cause.reason()) {
            (Some(says), _) => says.to_owned(),
            (None, Some(reason)) => format!(
                "The cause is {}: the outcome is always the same with {}. Its reason is {reason}.",
                self.cause.name(),
                self.held()
            ),
            (None, None) => format!(
                "The cause is {}: the outcome is always the same with {}. None of the five reasons fits it; choose one yourself.",
                self.cause.name(),
                self.held()
            ),
        }
    }

    fn held(&self) -> &'static str {
        let one = self.tried.iter().map(|tried| tried.intervention);
        let one = one.into_iter().find(|one| one.cause() == self.cause);
        one.map_or("one condition held still", Intervention::words)
    }
}
