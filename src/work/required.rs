//! Whether the rules of the guarded branch make our check count.

use chrono::TimeDelta;

use crate::forge::ForgeError;
use crate::forge::github::{Client, RequiredCheck};
use crate::model::Requirement;
use crate::store::Store;

use super::stop::Stop;

/// What was read is believed for so long.
const LOOK_AGAIN: TimeDelta = TimeDelta::hours(1);

/// What the rules of `branch` say of the check `name`.
pub(super) async fn requirement(
    client: &Client,
    store: &Store,
    (branch, name): (&str, &str),
) -> Result<Requirement, Stop> {
    if let Some((says, at)) = store.requirement(client.repo(), branch).await?
        && store.now() - at < LOOK_AGAIN
    {
        return Ok(says);
    }
    let says = look(client, (branch, name)).await?;
    store.put_requirement(client.repo(), branch, says).await?;
    Ok(says)
}

/// One rule that pins it is enough, because all have to hold.
async fn look(client: &Client, (branch, name): (&str, &str)) -> Result<Requirement, Stop> {
    let is_pinned = |required: &[RequiredCheck]| {
        required.iter().any(|check| {
            let by_us = check.app_id.map(i64::cast_unsigned) == Some(client.app_id());
            check.context == name && by_us
        })
    };
    let by_rules = readable(client.checks_by_rules(branch).await)?;
    if by_rules.as_deref().is_some_and(is_pinned) {
        return Ok(Requirement::Pinned);
    }
    let by_protection = readable(client.checks_by_protection(branch).await)?;
    if by_protection.as_deref().is_some_and(is_pinned) {
        return Ok(Requirement::Pinned);
    }
    let (Some(by_rules), Some(by_protection)) = (by_rules, by_protection) else {
        return Ok(Requirement::Unknown);
    };
    let mut all = by_rules.iter().chain(&by_protection);
    Ok(match all.any(|check| check.context == name) {
        true => Requirement::AnyApp,
        false => Requirement::NotRequired,
    })
}

/// `None`: asking again is of no use.
fn readable(
    answer: Result<Vec<RequiredCheck>, ForgeError>,
) -> Result<Option<Vec<RequiredCheck>>, Stop> {
    match answer {
        Ok(required) => Ok(Some(required)),
        Err(
            error @ (ForgeError::NotFound(_)
            | ForgeError::Forbidden(_)
            | ForgeError::Gone(_)
            | ForgeError::Validation(_)
            | ForgeError::TooLarge { .. }
            | ForgeError::Malformed(_)),
        ) => {
            tracing::warn!(%error, "the rules of a branch could not be read");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
