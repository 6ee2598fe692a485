//! The lines that `lane run` writes, read back for the gate. PURE.
//!
//! Invariant: strict. A file that is not whole, or holds anything but results, is an error: a missing line
//! could be the one that blocks.

use serde::Deserialize;

use crate::model::{Action, LANE_SCHEMA, LaneFact, LaneResult, NodeId, Sha};

/// A larger file is none of ours; bytes.
pub const LARGEST: u64 = 256 << 20;
/// Characters of a reason that are told.
const LONGEST_WHY: usize = 500;

#[derive(Deserialize)]
struct Line {
    schema: String,
    results: usize,
    tree: Sha,
    property: NodeId,
    nodeid: NodeId,
    seed: Option<i64>,
    votes: bool,
    action: Option<Action>,
    why: String,
}

/// Reads every line of a file of results. An empty file is one of a patch that needs no property.
///
/// # Errors
/// What is wrong: a clause that names the line.
pub fn parse(text: &str) -> Result<LaneFact, String> {
    let mut results = Vec::new();
    let mut said = None;
    for (at, line) in text.lines().enumerate() {
        let at = at + 1;
        let one: Line = serde_json::from_str(line)
            .map_err(|error| format!("line {at} is no result of the lane: {error}"))?;
        if one.schema != LANE_SCHEMA {
            let schema = one.schema.escape_debug();
            return Err(format!(
                "line {at} has the schema \"{schema}\", and this version reads \"{LANE_SCHEMA}\""
            ));
        }
        if one.votes != one.action.is_some() {
            return Err(format!(
                "line {at} has a vote and no action, or an action and no vote"
            ));
        }
        if *said.get_or_insert(one.results) != one.results {
            return Err(format!(
                "line {at} is of another run than the lines before it"
            ));
        }
        results.push(LaneResult {
            tree: one.tree,
            property: one.property,
            nodeid: one.nodeid,
            seed: one.seed,
            action: one.action,
            why: one.why.chars().take(LONGEST_WHY).collect(),
        });
    }
    match said {
        Some(said) if said != results.len() => Err(format!(
            "it holds {} of {said} results, so it is not whole",
            results.len()
        )),
        _ => Ok(LaneFact { results }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(results: usize, action: &str) -> String {
        format!(
            r#"{{"schema":"frostline.lane/1","results":{results},"tree":"{}","property":"t.py::t","nodeid":"t.py::t","seed":7,"votes":{},"action":{action},"why":"green","isolation":"plain"}}"#,
            "a".repeat(40),
            action != "null"
        )
    }

    #[test]
    fn only_whole_files_of_results_are_read() {
        assert_eq!(parse(""), Ok(LaneFact::default()));
        let two = format!("{}\n{}\n", line(2, "\"PASS\""), line(2, "null"));
        let fact = parse(&two).expect("two results");
        assert_eq!(fact.results[0].action, Some(Action::Pass));
        assert_eq!(fact.results[1].action, None);
        let pass = line(1, "\"PASS\"");
        for (text, why) in [
            (line(2, "\"PASS\""), "1 of 2"),
            (format!("{pass}\n{pass}"), "2 of 1"),
            (format!("{}\n{pass}", line(2, "null")), "another run"),
            (pass.replace("lane/1", "evidence/1"), "frostline.evidence/1"),
            (pass.replace("true", "false"), "an action and no vote"),
            (pass.replace("PASS", "OK"), "line 1"),
            (format!("{pass}\n\n"), "line 2"),
            ("[]".to_owned(), "line 1"),
            ("notes".to_owned(), "line 1"),
        ] {
            let error = parse(&text).expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }
    }
}
