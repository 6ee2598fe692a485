//! From findings to a verdict: the strongest effect wins (protocol 5.1 and 5.3). PURE.

use super::rules::step_of;
use crate::model::{DecidedBy, Effect, Finding, StepResult, Verdict};

/// The last step: the verdict itself.
pub const VERDICT_STEP: u8 = 7;

/// The verdict of a set of findings. A notice changes nothing.
pub fn of(findings: &[Finding], opted_in: bool) -> Verdict {
    if !opted_in {
        return Verdict::NotApplicable;
    }
    match strongest(findings) {
        None | Some(Effect::Notice) => Verdict::Pass,
        Some(Effect::AllowRecheck) => Verdict::AllowRecheck,
        Some(Effect::HumanReview) => Verdict::HumanReview,
        Some(Effect::Refuse) => Verdict::Refuse,
    }
}

fn strongest(findings: &[Finding]) -> Option<Effect> {
    findings.iter().map(|finding| finding.effect).max()
}

/// The first step that holds the strongest effect, and its first finding of that effect.
pub fn decided_by(findings: &[Finding], verdict: Verdict) -> DecidedBy {
    let strongest = strongest(findings).filter(|effect| *effect > Effect::Notice);
    let deciding = strongest
        .filter(|_| verdict != Verdict::NotApplicable)
        .and_then(|effect| {
            findings
                .iter()
                .filter(|finding| finding.effect == effect)
                .min_by_key(|finding| step_of(finding.rule))
        });
    match deciding {
        Some(finding) => DecidedBy {
            step: step_of(finding.rule),
            rule: Some(finding.rule),
        },
        None => DecidedBy {
            step: VERDICT_STEP,
            rule: None,
        },
    }
}

/// The strongest effect among one step's findings.
pub fn step_result(findings: &[Finding], step: u8) -> StepResult {
    let of_step = findings
        .iter()
        .filter(|finding| step_of(finding.rule) == step);
    match of_step.map(|finding| finding.effect).max() {
        None => StepResult::Pass,
        Some(Effect::Notice) => StepResult::Notice,
        Some(Effect::AllowRecheck) => StepResult::AllowRecheck,
        Some(Effect::HumanReview) => StepResult::HumanReview,
        Some(Effect::Refuse) => StepResult::Refuse,
    }
}
