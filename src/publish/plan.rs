//! From a decision to what is published. PURE.
//!
//! Invariants: a plan made again after it was carried out is empty; there is never a second comment;
//! what could not be judged resolves nothing.

use sha2::{Digest as _, Sha256};

use crate::model::{AuthorKind, CommentPolicy, Decision, PrNumber, Rule, Stats, Verdict};
use crate::render::{self, Answer, CheckOutput};

/// How a check-run ends (interfaces section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    Success,
    Failure,
    ActionRequired,
    Neutral,
    Cancelled,
}

impl Conclusion {
    /// The forge's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The check-run of one name on one head, as far as it is known here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Run {
    #[default]
    None,
    /// In progress. `sent` annotations of the decision `fingerprint` are on it already.
    Open {
        fingerprint: Option<String>,
        sent: usize,
    },
    /// Final.
    Completed { fingerprint: String },
}

/// The one comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedComment {
    /// [`text_digest`] of its body.
    pub body: String,
    /// Folded away as resolved.
    pub minimized: bool,
}

/// What is on the forge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    pub run: Run,
    pub comment: Option<PostedComment>,
}

/// One write to the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Give up the open run, which shows another decision's annotations.
    Abandon,
    /// End the open run, or make a run that is complete from the start. The first `skip` annotations
    /// are on it already.
    Conclude {
        conclusion: Conclusion,
        output: CheckOutput,
        skip: usize,
        fingerprint: String,
    },
    CreateComment {
        body: String,
    },
    EditComment {
        body: String,
    },
    /// Replace the body, and fold the comment away as resolved or unfold it.
    ReplaceComment {
        body: String,
        minimized: bool,
    },
    /// Fold it away as it is.
    MinimizeComment,
}

impl Action {
    /// Whether it writes the check-run, and not the comment.
    pub fn is_of_run(&self) -> bool {
        matches!(self, Self::Abandon | Self::Conclude { .. })
    }
}

/// Name of the check-run that speaks for `branch` (protocol 5.5).
pub fn check_name(branch: &str, default_branch: &str) -> String {
    if branch == default_branch {
        "frostline".to_owned()
    } else {
        format!("frostline ({branch})")
    }
}

/// Could this be the name of one of our check-runs?
pub fn is_check_name(name: &str) -> bool {
    let branch = name
        .strip_prefix("frostline (")
        .and_then(|rest| rest.strip_suffix(')'));
    name == "frostline" || branch.is_some_and(|branch| !branch.is_empty())
}

pub fn conclusion(decision: &Decision) -> Conclusion {
    if decision.observe {
        return Conclusion::Neutral;
    }
    match decision.verdict {
        Verdict::NotApplicable => Conclusion::Neutral,
        Verdict::Pass | Verdict::AllowRecheck => Conclusion::Success,
        Verdict::HumanReview if decision.is_approved() => Conclusion::Success,
        Verdict::HumanReview => Conclusion::ActionRequired,
        Verdict::Refuse => Conclusion::Failure,
    }
}

/// How the check-run of a merge group ends: as the strongest of its members does (protocol 5.5). `whole`:
/// every member and every path of it is accounted for.
pub fn group_conclusion(
    members: &[(PrNumber, Decision)],
    whole: bool,
    observe: bool,
) -> Conclusion {
    let ends: Vec<Conclusion> = members
        .iter()
        .map(|(_, member)| conclusion(member))
        .collect();
    if observe {
        Conclusion::Neutral
    } else if !whole || ends.is_empty() || ends.contains(&Conclusion::Failure) {
        Conclusion::Failure
    } else if ends.iter().all(|end| *end == Conclusion::Success) {
        Conclusion::Success
    } else {
        Conclusion::ActionRequired
    }
}

/// What to write so that the forge shows a merge group's outcome.
pub fn plan_group(run: &Run, conclusion: Conclusion, output: CheckOutput) -> Option<Action> {
    let text = format!(
        "{}\0{}\0{}",
        conclusion.name(),
        output.title,
        output.summary
    );
    let fingerprint = text_digest(&text);
    let stands = matches!(run, Run::Completed { fingerprint: shown } if *shown == fingerprint);
    (!stands).then_some(Action::Conclude {
        conclusion,
        output,
        skip: 0,
        fingerprint,
    })
}

/// What tells one text from another.
pub fn text_digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// Equal for decisions that say the same of the same inputs, whatever the repository is called. Who brought the patch, and by what that was
/// seen, is no input beyond the kind: the verdict is the head's, whichever pull request it is in. For a
/// repository that has not opted in
/// the base branch does not count: it gets one check for each head and no more.
pub fn fingerprint(decision: &Decision) -> String {
    let mut decision = decision.clone();
    decision.stats = Stats::default();
    decision.repository.clear();
    decision.author.login = None;
    decision.author.evidence.clear();
    if decision.verdict == Verdict::NotApplicable {
        decision.base = decision.head.clone();
        decision.merge_base = None;
        decision.write_set.clear();
        decision.coverage.clear();
        decision.table.clear();
    }
    // A decision is plain data: it always serialises, and if it did not, nothing would equal it.
    match serde_json::to_string(&decision) {
        Ok(json) => text_digest(&json),
        Err(error) => format!("unserialisable: {error}"),
    }
}

/// What to write so that the forge shows `decision`. `draft`: the pull request is one, and a comment
/// that does not exist yet waits.
pub fn plan(previous: &Published, decision: &Decision, draft: bool) -> Vec<Action> {
    plan_answering(previous, decision, draft, &[])
}

/// [`plan`] with answers that the one comment shows; for them a draft's comment does not wait.
pub fn plan_answering(
    previous: &Published,
    decision: &Decision,
    draft: bool,
    answers: &[Answer],
) -> Vec<Action> {
    let mut actions = plan_run(&previous.run, decision);
    let waits = draft && answers.is_empty();
    let wanted = render::comment_with(decision, answers);
    actions.extend(plan_comment(
        previous.comment.as_ref(),
        decision,
        wanted,
        waits,
    ));
    actions
}

fn plan_run(run: &Run, decision: &Decision) -> Vec<Action> {
    let wanted = fingerprint(decision);
    let conclude = |skip| Action::Conclude {
        conclusion: conclusion(decision),
        output: render::check_run(decision),
        skip,
        fingerprint: wanted.clone(),
    };
    let nobody_asked =
        decision.verdict == Verdict::NotApplicable && decision.author.kind == AuthorKind::Person;
    match run {
        Run::Completed { fingerprint } if *fingerprint == wanted => Vec::new(),
        Run::None | Run::Completed { .. } if nobody_asked => Vec::new(),
        Run::None | Run::Completed { .. } => vec![conclude(0)],
        Run::Open { sent: 0, .. } => vec![conclude(0)],
        Run::Open { fingerprint, sent } if fingerprint.as_ref() == Some(&wanted) => {
            vec![conclude(*sent)]
        }
        Run::Open { .. } => vec![Action::Abandon, conclude(0)],
    }
}

fn plan_comment(
    posted: Option<&PostedComment>,
    decision: &Decision,
    wanted: Option<String>,
    waits: bool,
) -> Option<Action> {
    match (posted, wanted) {
        (None, Some(body)) => (!waits).then_some(Action::CreateComment { body }),
        (None, None) => None,
        (Some(posted), Some(body)) if posted.minimized => Some(Action::ReplaceComment {
            body,
            minimized: false,
        }),
        (Some(posted), Some(body)) => {
            (posted.body != text_digest(&body)).then_some(Action::EditComment { body })
        }
        (Some(posted), None) if posted.minimized || is_undetermined(decision) => None,
        (Some(_), None) if decision.comments == CommentPolicy::Never => {
            Some(Action::MinimizeComment)
        }
        (Some(_), None) => Some(Action::ReplaceComment {
            body: render::comment_resolved(decision),
            minimized: true,
        }),
    }
}

/// Rules were left out, so that a hole that is not named may still be there.
fn is_undetermined(decision: &Decision) -> bool {
    decision
        .findings
        .iter()
        .any(|finding| matches!(finding.rule, Rule::Undetermined | Rule::ContractUnreadable))
}

impl Published {
    /// What is on the forge once `action` was carried out.
    pub fn after(mut self, action: &Action) -> Self {
        let posted = |body: &str, minimized| {
            Some(PostedComment {
                body: text_digest(body),
                minimized,
            })
        };
        match action {
            Action::Abandon => self.run = Run::None,
            Action::Conclude { fingerprint, .. } => {
                self.run = Run::Completed {
                    fingerprint: fingerprint.clone(),
                };
            }
            Action::CreateComment { body } | Action::EditComment { body } => {
                self.comment = posted(body, false);
            }
            Action::ReplaceComment { body, minimized } => self.comment = posted(body, *minimized),
            Action::MinimizeComment => {
                if let Some(comment) = &mut self.comment {
                    comment.minimized = true;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests;
