//! Step 6: the results of the lane, where one ran (protocol 5.1 and 6.1). PURE.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::case::Case;
use crate::gate::findings::{Draft, Findings};
use crate::gate::frozen::FrozenRows;
use crate::gate::lane::{needs_result, of_patch};
use crate::gate::rows::Rows;
use crate::model::{Action, Coverage, LaneFact, LaneResult, NodeId, Rule, Sha};

const RUN: &str = "run `frostline lane run` on this base and head, and give its results";
const MORE: usize = 3;

/// What the step's row of the table counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Results with a vote.
    pub votes: usize,
    pub passed: usize,
    /// Properties that the patch needs and nobody ran on this tree.
    pub missing: usize,
}

/// Evaluates step 6; `None` where no lane ran.
pub fn check(
    case: &Case<'_>,
    rows: &Rows<'_>,
    coverage: &[Coverage],
    findings: &mut Findings<'_>,
) -> Option<Tally> {
    let lane = case.snapshot.lane.as_ref()?;
    let mut tally = Tally::default();
    let Some(tree) = case.snapshot.merged_tree.known() else {
        // That there is none refuses already.
        return Some(tally);
    };
    let own = own(lane, tree, findings);
    let frozen = FrozenRows::new(&rows.list);
    let is_frozen = |id: &NodeId| frozen.blocking(id).iter().any(|row| row.takes_vote());
    let mut answered = BTreeSet::new();
    for result in own {
        // A result counts for what the contract lists, and for the parameter that ran.
        if is_frozen(&result.nodeid) || is_frozen(&result.property) {
            continue;
        }
        let Some(action) = result.action else {
            continue;
        };
        answered.insert(result.property.as_str());
        tally.votes += 1;
        tally.passed += usize::from(action == Action::Pass);
        findings.add_each(one(result, action));
    }
    let needed: BTreeMap<&str, &str> = of_patch(case, coverage)
        .filter(|property| needs_result(property))
        .map(|property| (property.nodeid.as_str(), property.why.as_str()))
        .collect();
    for id in needed.keys().filter(|id| !answered.contains(*id)) {
        tally.missing += 1;
        let message =
            format!("could not be had whole: the lane has no result of {id} on this merged tree");
        findings.add(Draft::new(Rule::Undetermined, message, RUN).node(*id));
    }
    Some(tally)
}

/// The results of this merged tree; one finding for all that are of others.
fn own<'a>(lane: &'a LaneFact, tree: &Sha, findings: &mut Findings<'_>) -> Vec<&'a LaneResult> {
    let (own, others): (Vec<_>, Vec<_>) = lane.results.iter().partition(|one| one.tree == *tree);
    let trees: BTreeSet<&str> = others.iter().map(|one| one.tree.as_str()).collect();
    if !trees.is_empty() {
        let named: Vec<&str> = trees.iter().copied().take(MORE).collect();
        let message = format!(
            "could not be had whole: the lane's results are of the tree {}, and the merged tree is {tree}",
            named.join(", ")
        );
        findings.add(Draft::new(Rule::Undetermined, message, RUN));
    }
    own
}

/// What a result brings; PASS brings nothing.
fn one(result: &LaneResult, action: Action) -> Option<Draft> {
    let (rule, fix) = match action {
        Action::Pass => return None,
        Action::PinSeedNoise => (
            Rule::LaneNoise,
            "a person reads the runs; a row for the seed ledger goes into a pull request of its own, and the test stays on",
        ),
        Action::BlockHash => (
            Rule::LaneBlock,
            "restore the fixtures, or land them with their lock in a pull request of their own first",
        ),
        Action::BlockErrored => (
            Rule::LaneBlock,
            "mend what keeps the test from running, then run the lane again",
        ),
        Action::BlockShrink | Action::BlockInvariant | Action::BlockNoise => (
            Rule::LaneBlock,
            "mend the code until the property holds; another tree is run anew",
        ),
    };
    let seed = result
        .seed
        .map_or(String::new(), |seed| format!(" with seed {seed}"));
    let message = format!("{}{seed}: {}", action.name(), result.why);
    let draft = Draft::new(rule, message, fix);
    Some(draft.at(result.nodeid.path()).node(result.nodeid.as_str()))
}

/// What the step's row of the table says.
pub fn detail(tally: Tally) -> String {
    let Tally {
        votes,
        passed,
        missing,
    } = tally;
    let more = match missing {
        0 => String::new(),
        missing => format!(", {missing} without a result"),
    };
    match (votes, missing) {
        (0, 0) => "no result has a vote, and none is needed".to_owned(),
        _ => format!("{passed} of {votes} results passed{more}"),
    }
}
