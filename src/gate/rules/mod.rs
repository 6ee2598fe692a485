//! The rules of protocol 5.2, a file for each tight family. PURE.

pub mod catalog;
pub mod contract;
pub mod coverage;
pub mod fixtures;
pub mod foreign;
pub mod freezes;
pub mod lane;
pub mod proposal;
pub mod undetermined;
pub mod write_set;

use super::verdict::VERDICT_STEP;
use crate::model::Rule;

/// The step of protocol 5.1 that a rule belongs to.
pub fn step_of(rule: Rule) -> u8 {
    use Rule::*;
    match rule {
        ContractUnreadable
        | Undetermined
        | ContractWithProduction
        | TestsWithProduction
        | LedgerInWriteSet
        | ContractChanged
        | FixtureChanged
        | PropertyChanged
        | GoldenChanged
        | SupportChanged
        | TestsRemoved
        | HarnessChanged
        | TestChanged
        | UnclassifiedCode
        | PathCollision
        | LinkInPlace => 1,
        SelfRewritingTest | SeedInSource => 2,
        MissingFixture | DigestMismatch | UnlockedFixture | OpaqueFixture | CatalogBroken
        | FixtureNoteMissing | LockShrank => 3,
        SensitiveFreeze | VoidFreeze | InvalidFreeze | DanglingFreeze | UnboundFreeze => 4,
        UnmappedPath | CoverageHole | SpecificRuleDark | GhostProperty | DisabledProperty
        | NoProduction | LiveSetShrank | LoosePrefix | UnusedRule | DeadPrefix => 5,
        LaneBlock | LaneNoise => 6,
        // About no path: it is the verdict that could be mistaken for another one.
        ForeignCheck => VERDICT_STEP,
        // About no path either.
        OwnProposal => VERDICT_STEP,
    }
}
