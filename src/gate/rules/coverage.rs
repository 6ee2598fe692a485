//! The hunk map: which live, unfrozen property guards each production path? (protocol 3.4 and step 5). PURE.

mod opened;

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::map::{HunkMap, MapRule};
use crate::gate::case::{Case, Touched};
use crate::gate::findings::{Draft, Findings};
use crate::gate::frozen::FrozenRows;
use crate::gate::liveness::Liveness;
use crate::gate::prefixes::PrefixIndex;
use crate::gate::rows::Rows;
use crate::model::{
    Class, Coverage, Finding, ListedProperty, NodeId, Presence, PropertyState, Rule, TreeFacts,
};

/// Evaluates step 5; gives the coverage of each production path, sorted by path.
pub fn check(case: &Case<'_>, rows: &Rows<'_>, findings: &mut Findings<'_>) -> Vec<Coverage> {
    let (Some(map), Some(tree)) = (case.map(), case.tree()) else {
        return Vec::new();
    };
    if !tree.has_production {
        let message = "no file of the merged tree is of class production, so nothing is guarded";
        let fix = "set paths.production in .github/frostline.yml, or map the code in the hunk map";
        findings.add(Draft::new(Rule::NoProduction, message, fix));
    }
    let frozen = FrozenRows::new(&rows.list);
    let mut liveness = Liveness::new(case, tree, frozen);
    if case.is_audit() {
        liveness = liveness.after_merge();
    }
    let judge = Coverer::new(map, liveness);
    let map_path = case.reading.map.path.as_str();
    judge.whole_map(tree, map_path, findings);
    let mut coverage = Vec::new();
    let mut dead = BTreeMap::new();
    for touched in case.of(Class::Production) {
        let covered = judge.cover(touched.path());
        judge.report(touched, &covered, map_path, findings);
        for property in &covered.coverage.properties {
            if is_dead(property) {
                dead.insert(property.nodeid.clone(), property.clone());
            }
        }
        coverage.push(covered.coverage);
    }
    // Those that the patch itself touches are told of, whether production needs them or not.
    for id in map.rules.iter().flat_map(|rule| &rule.live_properties) {
        if case.touches(id.path()) && !dead.contains_key(id.as_str()) {
            let property = judge.liveness.of(id);
            if is_dead(&property) {
                dead.insert(property.nodeid.clone(), property);
            }
        }
    }
    for property in dead.into_values() {
        not_live(case, property, map_path, findings);
    }
    if coverage.is_empty() {
        coverage = opened::holes(case, tree, findings);
    }
    coverage
}

fn is_dead(property: &ListedProperty) -> bool {
    matches!(
        property.state,
        PropertyState::Ghost | PropertyState::Disabled
    )
}

/// `ghost-property` and `disabled-property`.
fn not_live(
    case: &Case<'_>,
    property: ListedProperty,
    map_path: &str,
    findings: &mut Findings<'_>,
) {
    let why = &property.why;
    let draft = if property.state == PropertyState::Ghost {
        let message = format!("the map lists a property that is not there: {why}");
        let fix = "correct the node id in the map, or restore the test";
        Draft::new(Rule::GhostProperty, message, fix).at(map_path)
    } else {
        let fact = case
            .sources()
            .and_then(|sources| sources.properties.get(&property.nodeid));
        let line = match fact.map(|fact| &fact.presence) {
            Some(Presence::Disabled(disabled)) => Some(disabled.line),
            Some(Presence::Broken(line)) => Some(*line),
            _ => None,
        };
        let path = property
            .nodeid
            .split_once("::")
            .map_or(property.nodeid.as_str(), |(path, _)| path);
        let message = format!("a property that the map lists does not run: {why}");
        let fix =
            "enable the test, or freeze it with a reason, or list another property in the map";
        Draft::new(Rule::DisabledProperty, message, fix)
            .at(path)
            .line(line)
    };
    findings.add(draft.node(property.nodeid));
}

/// One map on one merged tree.
struct Coverer<'a> {
    map: &'a HunkMap,
    index: PrefixIndex,
    liveness: Liveness<'a>,
}

/// A path's coverage, and what it lacks.
struct Covered {
    coverage: Coverage,
    /// Why the path is a coverage hole.
    hole: Option<String>,
    /// The longest matching prefix, when none of its rules' properties is live and another's is.
    dark: Option<String>,
    /// Every matching prefix ends inside a path component.
    loose: bool,
}

impl<'a> Coverer<'a> {
    fn new(map: &'a HunkMap, liveness: Liveness<'a>) -> Self {
        let prefixes = map.rules.iter().map(|rule| rule.path_prefix.as_str());
        Self {
            map,
            index: PrefixIndex::new(prefixes),
            liveness,
        }
    }

    fn live_functions<'p>(
        states: &BTreeMap<&'p NodeId, ListedProperty>,
        properties: impl IntoIterator<Item = &'p NodeId>,
    ) -> u64 {
        let live: BTreeSet<&str> = properties
            .into_iter()
            .filter(|id| {
                states
                    .get(id)
                    .is_some_and(|p| p.state == PropertyState::Live)
            })
            .map(NodeId::function)
            .collect();
        live.len() as u64
    }

    fn cover(&self, path: &str) -> Covered {
        let rules: Vec<&MapRule> = self
            .index
            .matching(path)
            .map(|position| &self.map.rules[position])
            .collect();
        let states: BTreeMap<&NodeId, ListedProperty> = rules
            .iter()
            .flat_map(|rule| &rule.live_properties)
            .map(|id| (id, self.liveness.of(id)))
            .collect();
        let live = Self::live_functions(&states, states.keys().copied());
        let shortfall = rules.iter().find_map(|rule| {
            let min = rule.min_live?;
            let own = Self::live_functions(&states, &rule.live_properties);
            (own < min).then_some((rule, min, own))
        });
        let hole = match shortfall {
            _ if rules.is_empty() => None,
            _ if live == 0 => Some(match states.len() {
                1 => "the only listed property is not live".to_owned(),
                listed => format!("none of the {listed} listed properties is live"),
            }),
            Some((rule, min, own)) => Some(format!(
                "the rule {} needs {min} live properties of its own and has {own}",
                rule.path_prefix
            )),
            None => None,
        };
        let least = rules
            .iter()
            .filter_map(|rule| rule.min_live)
            .max()
            .unwrap_or(1);
        let (min_live, counted) = shortfall.map_or((least, live), |(_, min, own)| (min, own));
        let longest = rules.last().map(|rule| rule.path_prefix.as_str());
        let own_rules = rules
            .iter()
            .filter(|rule| Some(rule.path_prefix.as_str()) == longest);
        let own_live =
            Self::live_functions(&states, own_rules.flat_map(|rule| &rule.live_properties));
        let dark = longest
            .filter(|_| live > 0 && own_live == 0)
            .map(str::to_owned);
        let mut prefixes: Vec<String> = rules.iter().map(|r| r.path_prefix.clone()).collect();
        prefixes.dedup();
        Covered {
            loose: !prefixes.is_empty() && prefixes.iter().all(|prefix| is_loose(prefix, path)),
            coverage: Coverage {
                path: path.to_owned(),
                rules: prefixes,
                min_live,
                live: counted,
                properties: states.into_values().collect(),
            },
            hole,
            dark,
        }
    }

    fn report(
        &self,
        touched: &Touched<'_>,
        covered: &Covered,
        map_path: &str,
        findings: &mut Findings<'_>,
    ) {
        let path = touched.path();
        let line = touched
            .change
            .hunks
            .first()
            .map(|hunk| hunk.new_start.max(1));
        let mut add = |rule, message: String, fix: String| {
            findings.add(Draft::new(rule, message, fix).at(path).line(line));
        };
        if covered.coverage.rules.is_empty() {
            let message = "no rule of the hunk map matches this production path".to_owned();
            add(Rule::UnmappedPath, message, self.how_to_map(path, map_path));
        } else if let Some(hole) = &covered.hole {
            let fix = "make a listed property live again, or list another live property in the map, in a pull request of its own";
            add(
                Rule::CoverageHole,
                format!("coverage hole: {hole}"),
                fix.to_owned(),
            );
        } else {
            if let Some(prefix) = &covered.dark {
                let message = format!(
                    "none of the properties of the most specific rule ({prefix}) is live; only a broader rule covers the path"
                );
                let fix = "make a property of that rule live again, or a maintainer approves";
                add(Rule::SpecificRuleDark, message, fix.to_owned());
            }
            self.shrunk(covered, &mut add);
        }
        if covered.loose && touched.is_added() {
            let message =
                "the new file is covered only because a prefix ends inside its name".to_owned();
            add(Rule::LoosePrefix, message, self.how_to_map(path, map_path));
        }
    }

    /// `live-set-shrank`: covered, but a row denies coverage to a listed property, or a parameter of one.
    fn shrunk(&self, covered: &Covered, add: &mut impl FnMut(Rule, String, String)) {
        let frozen: Vec<&str> = covered
            .coverage
            .properties
            .iter()
            .filter(|property| is_denied(property.state))
            .map(|property| property.nodeid.as_str())
            .collect();
        if !frozen.is_empty() {
            let message = format!(
                "still covered, but {} of {} listed properties are frozen or void: {}",
                frozen.len(),
                covered.coverage.properties.len(),
                frozen.join(", ")
            );
            let fix = "read the change for what these properties would have caught".to_owned();
            add(Rule::LiveSetShrank, message, fix);
        }
    }

    /// The rows to add: the properties of the rule that shares the longest beginning with the path.
    fn how_to_map(&self, path: &str, map_path: &str) -> String {
        let shared = |rule: &&MapRule| {
            let pairs = rule.path_prefix.bytes().zip(path.bytes());
            pairs.take_while(|(a, b)| a == b).count()
        };
        let nearest = self
            .map
            .rules
            .iter()
            .max_by_key(shared)
            .filter(|rule| shared(rule) > 0);
        match nearest {
            Some(rule) => {
                let ids: Vec<&str> = rule.live_properties.iter().map(NodeId::as_str).collect();
                format!(
                    "add a rule with path_prefix {path} to {map_path}, in a pull request of its own; the nearest rule ({}) lists {}",
                    rule.path_prefix,
                    ids.join(", ")
                )
            }
            None => format!(
                "add a rule with path_prefix {path} and the properties that guard it to {map_path}, in a pull request of its own"
            ),
        }
    }

    /// `unused-rule` and `dead-prefix`.
    fn whole_map(&self, tree: &TreeFacts, map_path: &str, findings: &mut Findings<'_>) {
        for rule in &self.map.rules {
            let prefix = &rule.path_prefix;
            let mut add = |id, message: String, fix: &str| {
                findings.add(
                    Draft::new(id, message, fix)
                        .at(map_path)
                        .line(Some(rule.line)),
                );
            };
            if tree.prefixes.get(prefix) == Some(&false) {
                let message = format!("the rule {prefix} matches no file of the merged tree");
                add(
                    Rule::UnusedRule,
                    message,
                    "correct the prefix, or remove the rule",
                );
            }
            let state = |id: &NodeId| self.liveness.of(id).state;
            let blocked = |id: &NodeId| {
                matches!(state(id), PropertyState::Ghost | PropertyState::Disabled)
                    || is_denied(state(id))
            };
            if rule.live_properties.iter().all(blocked) {
                let all_frozen = rule.live_properties.iter().all(|id| is_denied(state(id)));
                let why = match all_frozen {
                    true => ": each of them is frozen or void",
                    false => "",
                };
                let message = format!("none of the properties of the rule {prefix} is live{why}");
                let fix = "close the freezes, restore or enable the tests, or list a property that is live";
                add(Rule::DeadPrefix, message, fix);
            }
        }
    }
}

fn is_denied(state: PropertyState) -> bool {
    matches!(state, PropertyState::Frozen | PropertyState::Void)
}

fn is_loose(prefix: &str, path: &str) -> bool {
    prefix.len() < path.len()
        && !prefix.ends_with('/')
        && path.as_bytes().get(prefix.len()) != Some(&b'/')
}

/// What the step's row of the table says.
pub fn detail(coverage: &[Coverage], findings: &[Finding]) -> String {
    let lacking =
        |finding: &&Finding| matches!(finding.rule, Rule::CoverageHole | Rule::UnmappedPath);
    let lacking = findings.iter().filter(lacking).count();
    if coverage.is_empty() {
        "no production path in the write-set".to_owned()
    } else {
        let total = coverage.len();
        let enough = total.saturating_sub(lacking);
        format!("production paths with enough live properties: {enough} of {total}")
    }
}
