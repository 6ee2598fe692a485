//! Which property runs with which seed, and what is known before it does.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::super::ground::Ground;
use super::super::{row, scope};
use super::counters::Counter;
use super::kept::{Red, Reds};
use super::{Case, now};
use crate::contract::recorded;
use crate::contract::seed::Seed;
use crate::contract::{catalog, evidence, seeds};
use crate::gate::lane::Target;
use crate::lane::bench::{Bench, Found};
use crate::lane::frameworks::Generator;
use crate::lane::model::Outcome;
use crate::lane::router::{self, Layer as Part};
use crate::lane::trial::{Ran, Recorded, Role, Trial, side_by_side};
use crate::model::{FileDigest, Layer, NodeId, ScopeChange};

/// The seed of a property for which nobody chose one.
const DEFAULT_SEED: i64 = 1;

/// Where a seed comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeedFrom {
    Corpus,
    Catalog,
    Default,
    /// Nothing takes a seed.
    None,
}

/// One line of the results.
pub struct Planned {
    pub trial: Trial,
    /// As the contract lists it; the trial's node may be a parameter of it.
    pub target: Target,
    pub seed_from: SeedFrom,
    /// Place in the router's order.
    pub rank: usize,
    /// When the red that was read back was seen.
    pub kept_since: Option<String>,
    /// How it fared up to now, when it is frozen.
    pub counter: Option<Counter>,
}

impl Planned {
    /// Takes up what was seen of this tree before: a red is not run again to be green.
    pub fn recall(&mut self, reds: &Reds, case: &Case) {
        let tree = case.merged.tree();
        let found = reds.find(&tree, &self.trial.node, self.trial.seed);
        let Some(red) = found.filter(|_| self.trial.votes && self.trial.ran.is_empty()) else {
            return;
        };
        self.kept_since = Some(red.at.clone());
        let same_base = red.base == case.snapshot.base;
        let ran = red.ran.iter().cloned();
        self.trial.ran = ran
            .filter(|ran| same_base || ran.role != Role::Base)
            .collect();
    }

    /// Keeps what was seen, once it holds a red.
    pub fn keep(&self, reds: &mut Reds, case: &Case) -> anyhow::Result<()> {
        if !(self.trial.votes && self.trial.is_red()) {
            return Ok(());
        }
        reds.keep(Red {
            schema: super::kept::SCHEMA.to_owned(),
            tree: case.merged.tree(),
            base: case.snapshot.base.clone(),
            nodeid: self.trial.node.clone(),
            seed: self.trial.seed,
            at: self.kept_since.clone().unwrap_or_else(now),
            ran: self.trial.ran.clone(),
        })
    }
}

/// What the base tip's contract chooses.
struct Chosen {
    corpus: BTreeMap<NodeId, Vec<Seed>>,
    catalog: BTreeMap<NodeId, Seed>,
    evidence: Vec<u8>,
}

impl Chosen {
    fn of(case: &Case) -> anyhow::Result<Self> {
        let read = |layer| scope::contract(&case.base, &case.config, layer);
        let corpus = read(Layer::Seeds)?.map(|(path, bytes)| seeds::parse(&path, &bytes));
        let corpus = corpus.transpose()?.unwrap_or_default().nodes.into_iter();
        let rows = read(Layer::Catalog)?.map(|(path, bytes)| catalog::parse(&path, &bytes));
        let rows = rows.transpose()?.unwrap_or_default().properties.into_iter();
        let evidence = match read(Layer::Evidence)? {
            Some((path, bytes)) => {
                evidence::parse(&path, &bytes)?;
                bytes
            }
            None => Vec::new(),
        };
        Ok(Self {
            corpus: corpus.map(|row| (row.nodeid, row.seeds)).collect(),
            catalog: rows
                .filter_map(|row| Some((row.nodeid, row.seed?)))
                .collect(),
            evidence,
        })
    }

    /// Seeds of a node, or of the function that it is a parameter of.
    fn seeds(&self, node: &NodeId) -> (Vec<Seed>, SeedFrom) {
        let function = node.function().parse::<NodeId>().ok();
        let mut names = std::iter::once(node).chain(&function);
        let corpus = |id: &NodeId| self.corpus.get(id).filter(|seeds| !seeds.is_empty());
        if let Some(seeds) = names.clone().find_map(corpus) {
            return (seeds.clone(), SeedFrom::Corpus);
        }
        match names.find_map(|id| self.catalog.get(id)) {
            Some(seed) => (vec![seed.clone()], SeedFrom::Catalog),
            None => (vec![Seed::Integer(DEFAULT_SEED.into())], SeedFrom::Default),
        }
    }
}

/// The tests that a node stands for, or why it cannot be run.
type Nodes = Result<Vec<(NodeId, Generator)>, String>;

/// The trials of every target.
pub fn plan(
    case: &Case,
    ground: &Ground,
    bench: &Bench<'_>,
    wanted: Vec<Target>,
    workers: usize,
) -> anyhow::Result<Vec<Planned>> {
    let chosen = Chosen::of(case)?;
    let there = wanted.iter().map(|target| match target.scope {
        // Other bytes than the lock's void every answer: such a property is not even looked for.
        ScopeChange::Changed if target.votes => Ok(Ok(false)),
        _ => match ground.need(&target.nodeid) {
            // Nothing can be said of any test of a framework that is not there.
            Ok(()) => ground.framework(&target.nodeid).map(|_| Ok(true)),
            Err(error) => Ok(Err(format!("{error:#}"))),
        },
    });
    let there: Vec<Result<bool, String>> = there.collect::<anyhow::Result<_>>()?;
    let found: Vec<Nodes> = side_by_side(wanted.len(), workers, |at| match &there[at] {
        Ok(false) => Ok(Vec::new()),
        Ok(true) => found(bench, &wanted[at].nodeid),
        Err(why) => Err(why.clone()),
    });
    super::not_interrupted(ground)?;
    let all = wanted.iter().zip(found).flat_map(|(target, found)| {
        let planned = seeded(&chosen, target, found);
        planned
            .into_iter()
            .map(|(node, generator, seed, from, broken)| Planned {
                trial: Trial {
                    recorded: recorded(case, bench, &chosen, target, &node, seed),
                    node,
                    seed,
                    generator,
                    votes: target.votes,
                    scope: target.scope,
                    ran: broken.into_iter().map(not_run).collect(),
                },
                target: target.clone(),
                seed_from: from,
                rank: rank(case, target),
                kept_since: None,
                counter: None,
            })
            .collect::<Vec<_>>()
    });
    Ok(all.collect())
}

/// Place of a target in the router's order.
fn rank(case: &Case, target: &Target) -> usize {
    let part = match target.scope {
        _ if !target.votes => Part::Frozen,
        ScopeChange::Same => Part::Properties,
        _ => Part::Fixtures,
    };
    let order = router::order(case.label);
    order
        .iter()
        .position(|one| *one == part)
        .unwrap_or_default()
}

/// Node, generator, seed, where that comes from, and why it cannot be run.
type Seeded = (NodeId, Generator, Option<i64>, SeedFrom, Option<String>);

/// Every test of a target with every seed; where none is to be run or can be, the target itself.
fn seeded(chosen: &Chosen, target: &Target, found: Nodes) -> Vec<Seeded> {
    let (nodes, broken) = match found {
        Ok(nodes) => (nodes, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    if nodes.is_empty() {
        let node = target.nodeid.clone();
        return vec![(node, Generator::NoGenerator, None, SeedFrom::None, broken)];
    }
    let mut all = Vec::new();
    for (node, generator) in nodes {
        if !generator.takes_seed() {
            all.push((node, generator, None, SeedFrom::None, None));
            continue;
        }
        let (seeds, from) = chosen.seeds(&node);
        for seed in seeds {
            let number = seed.to_string().parse().ok();
            let broken = number.is_none().then(|| {
                format!("the seed {seed} is not an integer of 64 bits, and cannot be run")
            });
            all.push((node.clone(), generator, number, from, broken));
        }
    }
    all
}

fn not_run(why: String) -> Ran {
    Ran {
        role: Role::First,
        ms: 0,
        outcome: Outcome::errored(why),
    }
}

fn found(bench: &Bench<'_>, node: &NodeId) -> Nodes {
    let parameters = match bench.find(node)? {
        Found::Test(generator) => return Ok(vec![(node.clone(), generator)]),
        Found::Parameters(parameters) => parameters,
    };
    let each = parameters.into_iter().map(|node| {
        let generator = bench.generator(&node)?;
        Ok((node, generator))
    });
    each.collect()
}

/// The counterexample that the evidence ledger records for the seed, and what of it still holds.
fn recorded(
    case: &Case,
    bench: &Bench<'_>,
    chosen: &Chosen,
    target: &Target,
    node: &NodeId,
    seed: Option<i64>,
) -> Option<Recorded> {
    let row = recorded::of_seed(&chosen.evidence, node, seed?)?;
    let framework = row::framework(bench, node).ok();
    let test = scope::test_digest(&case.merged, node);
    let same =
        |recorded: &Option<String>, now: Option<&str>| now.is_some() && recorded.as_deref() == now;
    Some(Recorded {
        fixtures_equal: same(&row.fixture_digest, target.after.as_deref()),
        test_file_equal: same(&row.test_digest, test.as_ref().map(FileDigest::as_str)),
        framework_equal: same(&row.framework, framework.as_deref()),
        coarse: row.coarse,
        example: row.example.context("a row with an example").ok()?,
    })
}
