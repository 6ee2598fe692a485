//! The manifest that the forge gets: `app-manifest.yml` with this server's addresses.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use url::Url;

use crate::contract::document::{Kind, Node};
use crate::contract::yaml;

/// The permissions and events, each with its reason, stand in one file only.
const MANIFEST: &str = include_str!("../../../app-manifest.yml");

/// What the App asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Level by name.
    pub permissions: BTreeMap<String, String>,
    pub events: Vec<String>,
}

fn file() -> Map<String, Value> {
    match yaml::parse(MANIFEST.as_bytes()).map(|node| value(&node)) {
        Ok(Value::Object(file)) => file,
        // A test keeps it from being anything else.
        _ => Map::new(),
    }
}

fn value(node: &Node<'_>) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(truth) => (*truth).into(),
        Kind::Number(digits) => serde_json::from_str(digits).unwrap_or_default(),
        Kind::Text(text) => text.as_ref().into(),
        Kind::List(items) => items.iter().map(value).collect(),
        Kind::Object(members) => members
            .iter()
            .map(|member| (member.key.to_string(), value(&member.value)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

/// The permissions and events of `app-manifest.yml`.
pub fn wanted() -> Wanted {
    let file = file();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Wanted {
        permissions: file["default_permissions"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, level)| Some((name.clone(), text(level)?)))
            .collect(),
        events: file["default_events"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(text)
            .collect(),
    }
}

/// For a server at `public_url`; the browser comes back to `back`.
pub(super) fn manifest(name: &str, public_url: &Url, back: &str) -> Value {
    let base = public_url.as_str().trim_end_matches('/');
    let mut manifest = file();
    manifest.insert("name".to_owned(), json!(name));
    manifest.insert("url".to_owned(), json!(base));
    manifest.insert("redirect_url".to_owned(), json!(back));
    let hook = json!({"url": format!("{base}/webhooks/github"), "active": true});
    manifest.insert("hook_attributes".to_owned(), hook);
    Value::Object(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_built_in_says_what_is_asked_for() {
        let wanted = wanted();
        for (name, level) in crate::forge::github::PERMISSIONS {
            assert_eq!(
                wanted.permissions.get(*name).map(String::as_str),
                Some(*level)
            );
        }
        assert!(wanted.events.iter().any(|event| event == "pull_request"));
        assert_eq!(file()["public"], false);
    }
}
