//! The App and its installations; installation tokens.

use std::collections::BTreeSet;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, Path, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{Forge, Who};
use crate::demo::forge::auth;
use crate::demo::forge::model::{Access, Installation, Permissions, Repo, State, Token, User};
use crate::demo::forge::reply::Refusal;
use crate::demo::forge::shape;

pub async fn app(Extract(forge): Forge, Extension(caller): Who) -> Result<Json<Value>, Refusal> {
    caller.must_be_app()?;
    let state = forge.state();
    let permissions = state
        .installations
        .values()
        .next()
        .map(|installation| installation.permissions.clone())
        .unwrap_or_default();
    Ok(Json(shape::app(&state, state.app_id, &permissions)))
}

/// What the forge says to whoever asks on behalf of one.
pub const SUSPENDED: &str = "This installation has been suspended";

pub async fn installation(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path(id): Path<u64>,
) -> Result<Json<Value>, Refusal> {
    caller.must_be_app()?;
    let mut state = forge.state();
    let found = state.installations.get(&id).cloned();
    let found = found.ok_or_else(Refusal::not_found)?;
    Ok(Json(describe(&mut state, &found)))
}

pub fn describe(state: &mut State, installation: &Installation) -> Value {
    let account: User = state.user(&installation.account);
    let base = &state.base_url;
    let mut owner = shape::user(base, &account);
    // GitHub's description asks for what a user and an enterprise have at once.
    for (field, value) in [
        ("name", json!(account.login)),
        ("slug", json!(account.login)),
        ("created_at", json!(shape::time(state.now()))),
        ("updated_at", json!(shape::time(state.now()))),
    ] {
        owner[field] = value;
    }
    json!({
        "id": installation.id,
        "account": owner,
        "repository_selection": "selected",
        "access_tokens_url": format!("{base}/app/installations/{}/access_tokens", installation.id),
        "repositories_url": format!("{base}/installation/repositories"),
        "html_url": format!("{base}/settings/installations/{}", installation.id),
        "app_id": state.app_id, "app_slug": state.app_slug,
        "target_id": account.id, "target_type": account.kind,
        "permissions": shape::rights(&installation.permissions),
        "events": crate::server::wanted().events,
        "single_file_name": null, "suspended_by": null,
        "suspended_at": installation.suspended.then(|| shape::time(state.now())),
        "created_at": shape::time(state.now()), "updated_at": shape::time(state.now()),
    })
}

pub async fn access_token(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path(id): Path<u64>,
    body: Bytes,
) -> Result<Response, Refusal> {
    caller.must_be_app()?;
    let body: Value = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&body).map_err(|_| Refusal::new(400, "Problems parsing JSON"))?
    };
    let mut state = forge.state();
    let installation = state
        .installations
        .get(&id)
        .cloned()
        .ok_or_else(Refusal::not_found)?;
    if installation.suspended {
        return Err(Refusal::new(403, SUSPENDED));
    }
    let permissions = asked_rights(&body, &installation)?;
    let repositories = asked_repositories(&body, &installation, &state)?;
    let expires_at = state.now() + TimeDelta::hours(1);
    let token = auth::mint();
    let answer = json!({
        "token": token,
        "expires_at": shape::time(expires_at),
        "permissions": shape::rights(&permissions),
        "repository_selection": "selected",
    });
    let granted = Token {
        installation: id,
        permissions,
        repositories,
        expires_at,
    };
    state.tokens.insert(token, granted);
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// The subset that was asked for; 422 for a right that the installation lacks.
fn asked_rights(body: &Value, installation: &Installation) -> Result<Permissions, Refusal> {
    let Some(asked) = body.get("permissions").and_then(Value::as_object) else {
        return Ok(installation.permissions.clone());
    };
    let mut rights = Permissions::new();
    for (name, access) in asked {
        let access = match access.as_str() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            _ => return Err(Refusal::new(422, "There is no such access level")),
        };
        if installation
            .permissions
            .get(name)
            .is_none_or(|has| *has < access)
        {
            return Err(Refusal::new(
                422,
                "The permissions requested are not granted to this installation.",
            ));
        }
        rights.insert(name.clone(), access);
    }
    Ok(rights)
}

fn asked_repositories(
    body: &Value,
    installation: &Installation,
    state: &State,
) -> Result<Option<BTreeSet<String>>, Refusal> {
    let names = body.get("repositories").and_then(Value::as_array);
    let ids = body.get("repository_ids").and_then(Value::as_array);
    if names.is_none() && ids.is_none() {
        return Ok(None);
    }
    let asked = |full_name: &str| {
        let repo = state.repo(full_name);
        names
            .into_iter()
            .flatten()
            .any(|name| name.as_str() == repo.map(Repo::name))
            || ids
                .into_iter()
                .flatten()
                .any(|id| id.as_u64() == repo.map(|repo| repo.id))
    };
    let found: BTreeSet<String> = installation
        .repositories
        .iter()
        .filter(|name| asked(name))
        .cloned()
        .collect();
    let wanted = names.map_or(0, Vec::len) + ids.map_or(0, Vec::len);
    if found.len() == wanted {
        Ok(Some(found))
    } else {
        Err(Refusal::new(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        ))
    }
}
