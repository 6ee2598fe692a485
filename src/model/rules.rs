//! The effects of protocol 5.2: what a rule does by default, and how far a configuration may lower it.

use super::{Effect, Rule};

impl Rule {
    /// The built-in effect. Rules that take away liveness or give back a vote are notices.
    pub fn default_effect(self) -> Effect {
        match self {
            Self::ContractUnreadable
            | Self::Undetermined
            | Self::ForeignCheck
            | Self::ContractWithProduction
            | Self::TestsWithProduction
            | Self::LedgerInWriteSet
            | Self::MissingFixture
            | Self::DigestMismatch
            | Self::UnlockedFixture
            | Self::OpaqueFixture
            | Self::CatalogBroken
            | Self::UnmappedPath
            | Self::CoverageHole
            | Self::SensitiveFreeze
            | Self::NoProduction
            | Self::LaneBlock
            | Self::PathCollision => Effect::Refuse,
            Self::OwnProposal
            | Self::LaneNoise
            | Self::ContractChanged
            | Self::FixtureChanged
            | Self::PropertyChanged
            | Self::FixtureNoteMissing
            | Self::SpecificRuleDark
            | Self::SelfRewritingTest
            | Self::GoldenChanged
            | Self::SupportChanged
            | Self::TestsRemoved
            | Self::HarnessChanged
            | Self::UnclassifiedCode
            | Self::LinkInPlace => Effect::HumanReview,
            // An invalid or a dangling freeze refuses when the patch adds it; that is for its rule to say.
            Self::VoidFreeze
            | Self::InvalidFreeze
            | Self::DanglingFreeze
            | Self::GhostProperty
            | Self::DisabledProperty
            | Self::TestChanged
            | Self::LiveSetShrank
            | Self::LoosePrefix
            | Self::UnboundFreeze
            | Self::UnusedRule
            | Self::DeadPrefix
            | Self::LockShrank
            | Self::SeedInSource => Effect::Notice,
        }
    }

    /// The one weaker effect that a configuration may give the rule; `None` for most.
    pub fn may_be_lowered_to(self) -> Option<Effect> {
        match self {
            Self::SpecificRuleDark
            | Self::GoldenChanged
            | Self::SupportChanged
            | Self::HarnessChanged
            | Self::UnclassifiedCode => Some(Effect::Notice),
            Self::UnmappedPath => Some(Effect::HumanReview),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowered_effect_is_weaker_than_the_default() {
        for rule in Rule::ALL {
            if let Some(lowered) = rule.may_be_lowered_to() {
                assert!(lowered < rule.default_effect(), "{rule}");
            }
        }
        let lowerable = Rule::ALL.iter().filter(|r| r.may_be_lowered_to().is_some());
        assert_eq!(lowerable.count(), 6);
    }
}
