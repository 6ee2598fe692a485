//! Does what people said end the need for human review (protocol 5.3)? PURE.
//!
//! Invariant: what is not known approves nothing, and holds what it would hold if it were so.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::kind::{self, Account};
use crate::config::repo::{Agents, RepoConfig};
use crate::model::{
    Entry, Fact, Finding, Permission, Person, Review, ReviewOutcome, Reviews, Says, Snapshot,
    Standing,
};

/// One path of the write-set, as the key has it.
#[derive(Serialize)]
struct Changed<'a> {
    path: &'a str,
    raw: Option<&'a str>,
    old: Option<&'a Entry>,
    new: Option<&'a Entry>,
}

/// The decision's key: equal for the same change of the same branch, of which the same was found. `None`
/// when the write-set is not known.
pub(super) fn key(snapshot: &Snapshot, findings: &[Finding]) -> Option<String> {
    let changes = snapshot.write_set.known()?;
    let mut changed: Vec<Changed<'_>> = changes
        .iter()
        .map(|change| Changed {
            path: &change.path,
            raw: change.raw_path_hex.as_deref(),
            old: change.base.as_ref(),
            new: change.merged.as_ref(),
        })
        .collect();
    changed.sort_by_key(|change| (change.path, change.raw));
    let text = serde_json::to_string(&(&snapshot.branch, changed, findings)).ok()?;
    Some(hex::encode(Sha256::digest(text.as_bytes())))
}

/// What `reviews` come to for the decision with `key`.
pub(super) fn outcome(reviews: &Reviews, config: &RepoConfig, key: Option<&str>) -> ReviewOutcome {
    let mut outcome = ReviewOutcome {
        standing: Standing::Open,
        by: None,
        says: None,
        reason: None,
        notes: Vec::new(),
    };
    let given = match &reviews.given {
        Fact::Known(given) => given,
        other => {
            let why = other.why_not().unwrap_or_default();
            outcome
                .notes
                .push(format!("the reviews could not be read: {why}"));
            return outcome;
        }
    };
    for review in given {
        match review.says {
            Says::ChangesRequested if holds(review) => {
                settle(&mut outcome, review, Standing::Held);
                return outcome;
            }
            Says::ChangesRequested => {}
            Says::Approved | Says::Accepted => match objection(review, reviews, config, key) {
                None if outcome.standing == Standing::Open => {
                    settle(&mut outcome, review, Standing::Approved);
                }
                None => {}
                Some(why) => outcome.notes.push(format!("{} {why}", review.by.login)),
            },
        }
    }
    outcome
}

fn settle(outcome: &mut ReviewOutcome, review: &Review, standing: Standing) {
    outcome.standing = standing;
    outcome.by = Some(review.by.login.clone());
    outcome.says = Some(review.says);
    outcome.reason = review.reason.clone();
}

/// A person's request for changes holds unless that person surely may not write.
fn holds(review: &Review) -> bool {
    let surely_not = review
        .permission
        .known()
        .is_some_and(|has| *has < Permission::Write);
    !review.by.is_bot && !surely_not
}

/// Why a yes does not count; `None` when it does.
fn objection(
    review: &Review,
    reviews: &Reviews,
    config: &RepoConfig,
    key: Option<&str>,
) -> Option<String> {
    if is_agent(&review.by, &config.agents) {
        return Some("is a bot or an agent's account".to_owned());
    }
    let accepts = review.says == Says::Accepted;
    let (least, needed) = match accepts {
        true => (Permission::Maintain, "does not maintain this repository"),
        false => (Permission::Write, "has no write access"),
    };
    match &review.permission {
        Fact::Known(has) if *has >= least => {}
        Fact::Known(_) => return Some(needed.to_owned()),
        other => {
            let why = other.why_not().unwrap_or_default();
            return Some(format!("has rights that could not be read ({why})"));
        }
    }
    match reviews.tie_of(review.by.id) {
        Fact::Known(None) => {}
        Fact::Known(Some(_)) if accepts && config.author_may_accept => {}
        Fact::Known(Some(tie)) => return Some(tie.words().to_owned()),
        other => {
            let why = other.why_not().unwrap_or_default();
            return Some(format!("may be the author of a commit ({why})"));
        }
    }
    match (&review.key, key) {
        (Some(given), Some(key)) if given == key => None,
        (Some(_), _) => Some("approved another state of this patch".to_owned()),
        (None, _) => Some("approved before it was judged".to_owned()),
    }
}

/// A bot, or an account that the built-in table or the configuration takes for an agent's.
pub fn is_agent(person: &Person, agents: &Agents) -> bool {
    let account = Account {
        login: person.login.clone(),
        id: person.id,
        is_bot: person.is_bot,
    };
    person.is_bot || kind::is_agent_account(&account, agents)
}
