//! Deliveries of the App's webhook, and what it is installed on.

use axum::Json;
use axum::extract::{Extension, Path, Query, State as Extract};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::pulls::repository_json;
use super::{Forge, Who, apps};
use crate::demo::forge::deliveries::Delivery;
use crate::demo::forge::model::Installation;
use crate::demo::forge::reply::{Page, Refusal, paged};

#[derive(Deserialize)]
#[serde(default)]
pub struct From {
    per_page: usize,
    cursor: Option<String>,
}

impl Default for From {
    fn default() -> Self {
        Self {
            per_page: 30,
            cursor: None,
        }
    }
}

/// The newest first; a page begins where its cursor says.
pub async fn deliveries(
    Extract(forge): Forge,
    Extension(caller): Who,
    Query(from): Query<From>,
) -> Result<Response, Refusal> {
    caller.must_be_app()?;
    let state = forge.state();
    let last: u64 = match &from.cursor {
        None => u64::MAX,
        Some(cursor) => cursor
            .strip_prefix("v1_")
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| Refusal::new(422, "There is no such cursor"))?,
    };
    let size = from.per_page.clamp(1, 100);
    let mut newest = state.deliveries.iter().rev().filter(|one| one.id <= last);
    let page: Vec<Value> = newest.by_ref().take(size).map(Delivery::item).collect();
    let link = newest.next().and_then(|next| {
        let url = format!(
            "{}/app/hook/deliveries?per_page={size}&cursor=v1_{}",
            state.base_url, next.id
        );
        HeaderValue::from_str(&format!("<{url}>; rel=\"next\"")).ok()
    });
    Ok(paged(page.into(), link))
}

pub async fn redeliver(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path(id): Path<u64>,
) -> Result<Response, Refusal> {
    caller.must_be_app()?;
    let mut state = forge.state();
    let hook = state
        .deliveries
        .iter()
        .find(|one| one.id == id)
        .map(|one| one.hook.clone())
        .ok_or_else(Refusal::not_found)?;
    state.redeliveries.push(hook);
    Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response())
}

pub async fn installations(
    Extract(forge): Forge,
    Extension(caller): Who,
    Query(page): Query<Page>,
) -> Result<Response, Refusal> {
    caller.must_be_app()?;
    let mut state = forge.state();
    let all: Vec<Installation> = state.installations.values().cloned().collect();
    let shown: Vec<Value> = page
        .cut(&all)
        .iter()
        .map(|one| apps::describe(&mut state, one))
        .collect();
    let url = format!(
        "{}/app/installations?per_page={}",
        state.base_url, page.per_page
    );
    Ok(paged(shown.into(), page.link(&url, all.len())))
}

pub async fn repositories(
    Extract(forge): Forge,
    Extension(caller): Who,
    Query(page): Query<Page>,
) -> Result<Response, Refusal> {
    let names: Vec<String> = caller.repositories()?.iter().cloned().collect();
    let mut state = forge.state();
    let mut shown = Vec::new();
    for name in page.cut(&names) {
        shown.push(repository_json(&mut state, &name)?);
    }
    let url = format!(
        "{}/installation/repositories?per_page={}",
        state.base_url, page.per_page
    );
    let body = json!({"total_count": names.len(), "repositories": shown});
    Ok(paged(body, page.link(&url, names.len())))
}

/// Where the App's webhook goes.
pub async fn config(Extract(forge): Forge, Extension(caller): Who) -> Result<Json<Value>, Refusal> {
    caller.must_be_app()?;
    Ok(Json(json!({
        "url": forge.state().hook_url, "content_type": "json", "insecure_ssl": "0",
        "secret": "********",
    })))
}
