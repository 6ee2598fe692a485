//! The verdict in words: one line with counts, the same wherever it is shown. PURE.

use crate::model::{
    Class, Decision, Effect, Finding, ListedProperty, Rule, Standing, StepResult, Subject, Verdict,
};

/// Rules that a headline counts by name before it says "and N other findings".
const NAMED: usize = 4;

/// The verdict in one line with counts: "Refused: 2 coverage holes, 1 digest mismatch". Holds nothing
/// that comes from a repository.
pub fn headline(decision: &Decision) -> String {
    let (what, counts) = match decision.verdict {
        Verdict::NotApplicable => return not_applicable(decision),
        Verdict::Pass => ("Passed", pass_counts(decision)),
        Verdict::AllowRecheck => (
            "Allowed, to be checked again after the merge",
            counts_of(decision, Effect::AllowRecheck),
        ),
        Verdict::HumanReview => (
            match standing(decision) {
                Some(Standing::Approved) => "Approved by a person",
                Some(Standing::Held) => "Held by a request for changes",
                Some(Standing::Open) | None => "Needs human review",
            },
            counts_of(decision, Effect::HumanReview),
        ),
        Verdict::Refuse => ("Refused", counts_of(decision, Effect::Refuse)),
    };
    if decision.subject == Subject::Audit {
        return audit_headline(decision, &counts);
    }
    let what = match (decision.observe, decision.verdict) {
        (true, Verdict::Refuse) => "would refuse",
        (true, Verdict::HumanReview) if decision.is_approved() => {
            "would pass, approved by a person"
        }
        (true, Verdict::HumanReview) => "would need human review",
        (true, Verdict::AllowRecheck) => "would allow, to be checked again after the merge",
        (true, _) => "would pass",
        (false, _) => what,
    };
    if counts.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {counts}")
    }
}

fn standing(decision: &Decision) -> Option<Standing> {
    decision.review.as_ref().map(|review| review.standing)
}

fn audit_headline(decision: &Decision, counts: &str) -> String {
    let says = match (decision.verdict, decision.observe) {
        (Verdict::Refuse, false) => "refuses",
        (Verdict::Refuse, true) => "would refuse",
        (Verdict::HumanReview, false) => "needs human review",
        (Verdict::HumanReview, true) => "would need human review",
        _ => "passes",
    };
    match counts {
        "" => format!("Audit {says}"),
        counts => format!("Audit {says}: {counts}"),
    }
}

fn not_applicable(decision: &Decision) -> String {
    let refusing = counts_of(decision, Effect::Refuse);
    if !opts_in(decision) {
        "Not opted in: Frostline judges nothing here yet".to_owned()
    } else if refusing.is_empty() {
        "Not opted in yet: the contract that this patch brings can be read".to_owned()
    } else {
        format!("Not opted in yet; once opted in, this would be refused: {refusing}")
    }
}

/// Does the patch itself bring contract files? Only then the findings of a repository that has not opted
/// in say anything.
pub fn opts_in(decision: &Decision) -> bool {
    decision
        .write_set
        .iter()
        .any(|change| change.class == Class::Contract)
}

/// Why a listed property counts or does not; the gate's reason often begins with the state itself.
pub fn state_and_why(property: &ListedProperty) -> String {
    let state = property.state.name();
    match property.why.as_str() {
        "" => state.to_owned(),
        why if why.starts_with(state) => why.to_owned(),
        why => format!("{state}: {why}"),
    }
}

fn pass_counts(decision: &Decision) -> String {
    if !decision.bound {
        let held_back = decision.findings.len();
        return match held_back {
            0 => "not bound, a person's pull request".to_owned(),
            n => format!(
                "not bound, a person's pull request ({})",
                count(n, "notice", "notices")
            ),
        };
    }
    let paths = decision.coverage.len();
    let fixtures = decision.stats.fixtures;
    let mut parts = Vec::new();
    if paths > 0 {
        parts.push(format!(
            "{} covered",
            count(paths, "production path", "production paths")
        ));
    }
    if fixtures > 0 && step_passed(decision, 3) {
        let verb = if fixtures == 1 { "matches" } else { "match" };
        parts.push(format!(
            "{} {verb} the lock",
            count(fixtures, "fixture", "fixtures")
        ));
    }
    parts.join(", ")
}

fn step_passed(decision: &Decision, step: u8) -> bool {
    decision
        .table
        .iter()
        .any(|row| row.step == step && row.result == StepResult::Pass)
}

/// "2 coverage holes, 1 digest mismatch": the findings of one effect by rule, in the rules' order.
fn counts_of(decision: &Decision, effect: Effect) -> String {
    let of = |rule: Rule| {
        decision
            .findings
            .iter()
            .filter(|finding| finding.effect == effect && finding.rule == rule)
            .count()
    };
    let mut counted: Vec<(Rule, usize)> = Rule::ALL
        .iter()
        .map(|rule| (*rule, of(*rule)))
        .filter(|(_, n)| *n > 0)
        .collect();
    counted.sort_by_key(|(rule, _)| headline_order(*rule));
    let mut parts: Vec<String> = counted
        .iter()
        .take(NAMED)
        .map(|(rule, n)| {
            let (one, many) = nouns(*rule);
            count(*n, one, many)
        })
        .collect();
    let rest: usize = counted.iter().skip(NAMED).map(|(_, n)| n).sum();
    if rest > 0 {
        parts.push(count(rest, "other finding", "other findings"));
    }
    parts.join(", ")
}

/// Holes first, then in the order of protocol 5.2.
fn headline_order(rule: Rule) -> u8 {
    match rule {
        Rule::ContractUnreadable | Rule::Undetermined => 0,
        Rule::CoverageHole => 1,
        Rule::UnmappedPath => 2,
        Rule::DigestMismatch => 3,
        _ => 4,
    }
}

/// "1 hole", "2 holes".
pub fn count(n: impl TryInto<u64>, one: &str, many: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {}", if n == 1 { one } else { many })
}

/// What one and what several findings of a rule are called.
pub fn nouns(rule: Rule) -> (&'static str, &'static str) {
    match rule {
        Rule::ContractUnreadable => ("unreadable contract file", "unreadable contract files"),
        Rule::Undetermined => ("fact that could not be had", "facts that could not be had"),
        Rule::ForeignCheck => (
            "check-run of another App under our name",
            "check-runs of other Apps under our name",
        ),
        Rule::OwnProposal => (
            "change that was asked of this App",
            "changes that were asked of this App",
        ),
        Rule::LaneBlock => (
            "property that the lane blocks on",
            "properties that the lane blocks on",
        ),
        Rule::LaneNoise => (
            "property that is noise in the lane",
            "properties that are noise in the lane",
        ),
        Rule::ContractWithProduction => (
            "contract path changed with production",
            "contract paths changed with production",
        ),
        Rule::TestsWithProduction => (
            "fixture or property changed with production",
            "fixtures or properties changed with production",
        ),
        Rule::LedgerInWriteSet => ("ledger changed", "ledgers changed"),
        Rule::ContractChanged => ("contract change", "contract changes"),
        Rule::FixtureChanged => ("fixture change", "fixture changes"),
        Rule::PropertyChanged => ("property change", "property changes"),
        Rule::MissingFixture => ("missing fixture", "missing fixtures"),
        Rule::DigestMismatch => ("digest mismatch", "digest mismatches"),
        Rule::UnlockedFixture => ("unlocked fixture", "unlocked fixtures"),
        Rule::OpaqueFixture => ("opaque fixture", "opaque fixtures"),
        Rule::CatalogBroken => ("broken catalog row", "broken catalog rows"),
        Rule::FixtureNoteMissing => (
            "fixture change without a note",
            "fixture changes without a note",
        ),
        Rule::UnmappedPath => ("unmapped path", "unmapped paths"),
        Rule::CoverageHole => ("coverage hole", "coverage holes"),
        Rule::SpecificRuleDark => ("dark specific rule", "dark specific rules"),
        Rule::SensitiveFreeze => ("sensitive freeze", "sensitive freezes"),
        Rule::VoidFreeze => ("void freeze", "void freezes"),
        Rule::InvalidFreeze => ("invalid freeze", "invalid freezes"),
        Rule::DanglingFreeze => ("dangling freeze", "dangling freezes"),
        Rule::GhostProperty => ("ghost property", "ghost properties"),
        Rule::DisabledProperty => ("disabled property", "disabled properties"),
        Rule::SelfRewritingTest => ("self-rewriting test", "self-rewriting tests"),
        Rule::GoldenChanged => ("golden change", "golden changes"),
        Rule::SupportChanged => ("test support change", "test support changes"),
        Rule::TestsRemoved => ("removal of tests", "removals of tests"),
        Rule::HarnessChanged => ("harness change", "harness changes"),
        Rule::NoProduction => (
            "repository without production paths",
            "repositories without production paths",
        ),
        Rule::TestChanged => ("test change", "test changes"),
        Rule::UnclassifiedCode => ("unclassified code file", "unclassified code files"),
        Rule::PathCollision => ("path collision", "path collisions"),
        Rule::LinkInPlace => ("link in place of a file", "links in place of files"),
        Rule::LiveSetShrank => ("shrunk live set", "shrunk live sets"),
        Rule::LoosePrefix => ("loose prefix", "loose prefixes"),
        Rule::UnboundFreeze => ("unbound freeze", "unbound freezes"),
        Rule::UnusedRule => ("unused map rule", "unused map rules"),
        Rule::DeadPrefix => ("dead map rule", "dead map rules"),
        Rule::LockShrank => ("row removed from the lock", "rows removed from the lock"),
        Rule::SeedInSource => ("seed fixed in source", "seeds fixed in source"),
    }
}

/// One sentence on what happened, without anything from a repository: it may stand anywhere.
pub fn sentence(decision: &Decision) -> String {
    let step = decision
        .table
        .iter()
        .find(|row| row.step == decision.decided_by.step);
    let step_name = match step {
        Some(row) => format!("step {} ({})", row.step, row.name),
        None => format!("step {}", decision.decided_by.step),
    };
    let by = match decision.decided_by.rule {
        Some(rule) => format!("{step_name} decided, by the rule `{rule}`"),
        None => format!("{step_name} decided"),
    };
    if decision.subject == Subject::Audit {
        return audit_sentence(decision.verdict, &by);
    }
    match decision.verdict {
        Verdict::NotApplicable => {
            "The default branch holds no Frostline contract, so nothing is judged.".to_owned()
        }
        Verdict::Pass if !decision.bound => {
            "This is a person's pull request and `apply_to: agents` is in force, so most findings are \
             notices."
                .to_owned()
        }
        Verdict::Pass if decision.write_set.is_empty() => {
            "It changes nothing: the base branch holds all that it brings.".to_owned()
        }
        Verdict::Pass => "Every changed path has an effect and none of them blocks.".to_owned(),
        Verdict::AllowRecheck => format!(
            "Only the freeze list changes: {by}, and the map is checked again on the branch after the merge."
        ),
        Verdict::HumanReview if decision.is_approved() => {
            format!("A person had to approve this, and did: {by}.")
        }
        Verdict::HumanReview if decision.observe => {
            format!("Under `mode: enforce` a person would have to approve this: {by}.")
        }
        Verdict::HumanReview => format!("A person has to approve this: {by}."),
        Verdict::Refuse if decision.observe => {
            format!("Under `mode: enforce` this would be refused: {by}.")
        }
        Verdict::Refuse => format!("This must not be merged as it is: {by}."),
    }
}

fn audit_sentence(verdict: Verdict, by: &str) -> String {
    match verdict {
        Verdict::NotApplicable => {
            "This commit holds no Frostline contract, so nothing is judged.".to_owned()
        }
        Verdict::Refuse => format!(
            "A patch of some production path would be refused on this commit, whatever it changes: {by}."
        ),
        Verdict::HumanReview => {
            format!("A patch of some production path would need a person on this commit: {by}.")
        }
        Verdict::Pass | Verdict::AllowRecheck => {
            "Nothing on this commit keeps a patch of its production paths from passing.".to_owned()
        }
    }
}

/// What a repository that has not opted in can do; three lines of Markdown without list markers.
pub const HOW_TO_START: [&str; 3] = [
    "Run `frostline init` in a clone: it proposes a contract that observes, and blocks nothing.",
    "Read the proposal, above all the map in `test/contract/hunk-map.json`, and commit it.",
    "Merge it into the default branch; `frostline init --help` tells what comes then.",
];

/// The findings that say something: none where nobody has opted in and the patch does not either.
pub fn shown_findings(decision: &Decision) -> Vec<&Finding> {
    if decision.verdict == Verdict::NotApplicable && !opts_in(decision) {
        Vec::new()
    } else {
        decision.findings.iter().collect()
    }
}

/// Findings by strength, then holes first, then as they are sorted in the decision.
pub fn by_strength(decision: &Decision) -> Vec<&Finding> {
    by_strength_of(decision.findings.iter().collect())
}

/// The same order for some of them.
pub fn by_strength_of(mut findings: Vec<&Finding>) -> Vec<&Finding> {
    findings.sort_by_key(|finding| {
        (
            std::cmp::Reverse(finding.effect),
            headline_order(finding.rule),
            finding.rule,
        )
    });
    findings
}

/// Is this finding about a production path that nothing live guards?
pub fn is_hole(finding: &Finding) -> bool {
    matches!(finding.rule, Rule::CoverageHole | Rule::UnmappedPath)
}
