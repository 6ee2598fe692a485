//! The replay line of a row: no row gets one that did not run.

use anyhow::anyhow;

use super::ground::Ground;
use super::say;
use crate::contract::replay::{self, Subject};
use crate::contract::seed::Seed;
use crate::lane::bench::Bench;
use crate::lane::frameworks::{Generator, Task};
use crate::lane::model::Outcome;

/// The task's replay line, once it ran exactly as it will be stored; what it came to does not matter, as
/// long as it came to something. `None` is told.
pub fn proven(
    ground: &Ground,
    bench: &Bench<'_>,
    task: &Task<'_>,
) -> anyhow::Result<Option<String>> {
    let line = bench.replay_line(task).map_err(|why| anyhow!(why))?;
    let seed = task.seed.map(|seed| Seed::Integer(seed.into()));
    let subject = Subject {
        nodeid: task.node,
        seed: seed.as_ref(),
        runners: &ground.config.runners,
    };
    let why_not = match replay::parse(&line, subject) {
        Err(why) => Some(why.to_string()),
        Ok(stored) => {
            say::say("does not vote, runs the replay line as it will be stored:");
            let run = bench.run(&Task {
                seed: None,
                hash_seed: 0,
                generator: Generator::NoGenerator,
                stored: Some(&stored),
                ..*task
            });
            ground.not_interrupted()?;
            say::run(&run);
            match run.outcome {
                Outcome::Errored { why } => Some(why),
                Outcome::Green | Outcome::Red(_) => None,
            }
        }
    };
    Ok(match why_not {
        None => Some(line),
        Some(why) => {
            say::say(&format!("no replay line can be proposed: `{line}`: {why}"));
            None
        }
    })
}
