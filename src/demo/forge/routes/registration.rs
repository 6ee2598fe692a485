//! How an App is registered from a manifest: the pages that a person sees, and the code that buys the App.
//!
//! The App that comes out is this forge's own, whatever its manifest says: with its id, key and secret a
//! server can go on to work here.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State as Extract};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use super::Forge;
use crate::demo::forge::model::{Access, Permissions, Registration};
use crate::demo::forge::reply::Refusal;
use crate::demo::forge::shape;

/// Paths that need no token: people at their browsers, and a code that is its own proof.
pub fn is_open(path: &str) -> bool {
    ["/settings/apps/", "/organizations/"]
        .iter()
        .any(|start| path.starts_with(start))
        || path.contains("/app-manifests/")
}

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    state: String,
}

/// A manifest for the person's own account.
pub async fn personal(
    forge: Forge,
    Query(asked): Query<Asked>,
    form: Bytes,
) -> Result<Html<String>, Refusal> {
    ask(&forge, None, asked.state, &form)
}

/// A manifest for an organisation.
pub async fn organization(
    forge: Forge,
    Path(organization): Path<String>,
    Query(asked): Query<Asked>,
    form: Bytes,
) -> Result<Html<String>, Refusal> {
    ask(&forge, Some(organization), asked.state, &form)
}

fn ask(
    Extract(forge): &Forge,
    organization: Option<String>,
    state: String,
    form: &[u8],
) -> Result<Html<String>, Refusal> {
    let manifest = url::form_urlencoded::parse(form)
        .find(|(name, _)| name == "manifest")
        .and_then(|(_, manifest)| serde_json::from_str::<Value>(&manifest).ok())
        .filter(|manifest| manifest["url"].is_string() && manifest["redirect_url"].is_string())
        .ok_or_else(|| Refusal::new(422, "Problems parsing the manifest"))?;
    let mut model = forge.state();
    let id = model.next_id();
    let registration = Registration {
        manifest,
        organization,
        state,
        code: None,
    };
    model.registrations.insert(id, registration);
    Ok(Html(format!(
        "<!doctype html><title>Register</title><form method=\"post\" action=\"/settings/apps/{id}/confirm\">\
         <button id=\"confirm\">Create the App</button></form>"
    )))
}

/// The person confirms: the browser is sent back with a code.
pub async fn confirm(Extract(forge): Forge, Path(id): Path<u64>) -> Result<Response, Refusal> {
    let mut model = forge.state();
    let asked = model
        .registrations
        .get_mut(&id)
        .ok_or_else(Refusal::not_found)?;
    let code = hex::encode(rand::random::<[u8; 20]>());
    asked.code = Some(code.clone());
    let back = asked.manifest["redirect_url"].as_str().unwrap_or_default();
    let mut back = url::Url::parse(back).map_err(|_| Refusal::new(422, "no redirect_url"))?;
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &asked.state);
    Ok((StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response())
}

/// Exchanges the code, once.
pub async fn convert(Extract(forge): Forge, Path(code): Path<String>) -> Result<Response, Refusal> {
    let mut model = forge.state();
    let asked = model
        .registrations
        .values_mut()
        .find(|asked| asked.code.as_ref() == Some(&code))
        .ok_or_else(Refusal::not_found)?;
    asked.code = None;
    let (manifest, owner) = (asked.manifest.clone(), asked.organization.clone());
    let permissions = rights(&manifest["default_permissions"])?;
    let mut app = shape::app(&model, model.app_id, &permissions);
    app["name"] = manifest["name"].clone();
    app["events"] = manifest["default_events"].clone();
    if let Some(owner) = owner {
        let account = model.user(&owner);
        app["owner"] = shape::user(&model.base_url, &account);
    }
    app["client_id"] = "Iv1.0123456789abcdef".into();
    app["client_secret"] = hex::encode(rand::random::<[u8; 20]>()).into();
    let is_active = manifest["hook_attributes"]["active"] != false;
    app["webhook_secret"] = match is_active {
        true => forge.webhook_secret.as_str().into(),
        false => Value::Null,
    };
    app["pem"] = forge.key.private_pem().into();
    Ok((StatusCode::CREATED, Json(app)).into_response())
}

fn rights(asked: &Value) -> Result<Permissions, Refusal> {
    let wrong = || Refusal::new(422, "There is no such permission");
    let mut rights = Permissions::new();
    for (name, access) in asked.as_object().into_iter().flatten() {
        let access = match access.as_str() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            _ => return Err(wrong()),
        };
        rights.insert(name.clone(), access);
    }
    Ok(rights)
}
