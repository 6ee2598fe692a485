//! GitHub's own description of its API (npm package `@octokit/openapi`, fetched by
//! `.ci/third-party.sh`), and what of a recorded run departs from it.

use std::collections::{BTreeMap, BTreeSet};

use frostline::demo::forge::Recorded;
use serde_json::{Map, Value, json};

use super::third_party::third_party;

pub struct Description {
    document: Value,
}

impl Description {
    /// `None`, loudly, when the package could not be had; a failure where `CI=true`.
    pub fn load() -> Option<&'static Self> {
        static ONCE: std::sync::OnceLock<Option<Description>> = std::sync::OnceLock::new();
        ONCE.get_or_init(Self::read).as_ref()
    }

    fn read() -> Option<Self> {
        let path = third_party("openapi")?.join("generated/api.github.com.json");
        let text = std::fs::read(path).expect("a readable description");
        let document = serde_json::from_slice(&text).expect("a description in JSON");
        Some(Self { document })
    }

    /// Where requests or answers are not as described; empty when all are.
    pub fn departures(&self, requests: &[Recorded]) -> Vec<String> {
        let mut validators = BTreeMap::new();
        let mut found = BTreeSet::new();
        for request in requests {
            self.compare(request, &mut validators, &mut found);
        }
        found.into_iter().collect()
    }

    fn compare(
        &self,
        request: &Recorded,
        validators: &mut BTreeMap<String, jsonschema::Validator>,
        found: &mut BTreeSet<String>,
    ) {
        if request.path == "/graphql" {
            return;
        }
        let what = format!("{} {}", request.method, request.path);
        let Some((template, operation)) = self.operation(request) else {
            found.insert(format!("{what}: no such operation"));
            return;
        };
        let name = format!("{} {template}", request.method);
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        if !body.is_null() && !request.body.is_null() && request.status < 400 {
            let check = validators
                .entry(format!("{name} request"))
                .or_insert_with(|| self.validator(body));
            for error in check.iter_errors(&request.body) {
                found.insert(format!("{name} request {}: {error}", error.instance_path()));
            }
        }
        let answer = self.follow(&operation["responses"][request.status.to_string()]);
        if answer.is_null() {
            found.insert(format!(
                "{name}: status {} is not described",
                request.status
            ));
            return;
        }
        let schema = &answer["content"]["application/json"]["schema"];
        if schema.is_null() || request.answer.is_null() {
            return;
        }
        let check = validators
            .entry(format!("{name} {}", request.status))
            .or_insert_with(|| self.validator(schema));
        for error in check.iter_errors(&request.answer) {
            let at = error.instance_path();
            found.insert(format!("{name} {} {at}: {error}", request.status));
        }
    }

    /// The described operation of a path; literal segments win over parameters.
    fn operation(&self, request: &Recorded) -> Option<(&str, &Value)> {
        let method = request.method.to_lowercase();
        let segments: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        let paths = self.document["paths"].as_object()?;
        paths
            .iter()
            .filter_map(|(template, operations)| {
                let operation = operations.get(&method)?;
                let literal = matches(template, &segments)?;
                Some((literal, template.as_str(), operation))
            })
            .max_by_key(|(literal, _, _)| *literal)
            .map(|(_, template, operation)| (template, operation))
    }

    fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self
                .document
                .pointer(reference.trim_start_matches('#'))
                .unwrap_or(&Value::Null),
            None => value,
        }
    }

    /// A validator with the schemas that `schema` needs, and no others.
    fn validator(&self, schema: &Value) -> jsonschema::Validator {
        let mut needed = BTreeSet::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            references(schema, &mut |name| {
                if needed.insert(name.to_owned()) {
                    open.push(&self.document["components"]["schemas"][name]);
                }
            });
        }
        let schemas: Map<String, Value> = needed
            .into_iter()
            .map(|name| {
                let schema = as_json_schema(&self.document["components"]["schemas"][&name]);
                (name, schema)
            })
            .collect();
        let whole = json!({
            "allOf": [as_json_schema(schema)],
            "components": { "schemas": schemas },
        });
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft4)
            .build(&whole)
            .expect("a valid schema")
    }
}

/// How many segments of `template` are the path's own words; `None` when it does not fit. A parameter
/// at the end takes all that is left, as a branch with slashes does.
fn matches(template: &str, segments: &[&str]) -> Option<usize> {
    let parts: Vec<&str> = template.trim_matches('/').split('/').collect();
    let parameter = |part: &str| part.starts_with('{');
    let last_takes_all = parts.last().is_some_and(|last| parameter(last));
    if segments.len() < parts.len() || segments.len() > parts.len() && !last_takes_all {
        return None;
    }
    let pairs = parts.iter().zip(segments);
    pairs.into_iter().try_fold(0, |literal, (part, segment)| {
        if parameter(part) {
            Some(literal)
        } else {
            (part == segment).then_some(literal + 1)
        }
    })
}

fn references<'a>(schema: &'a Value, found: &mut impl FnMut(&'a str)) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str() {
                    Some(text) if key == "$ref" => {
                        found(text.rsplit('/').next().unwrap_or_default());
                    }
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// OpenAPI 3.0's `nullable` in JSON Schema's words; examples are left out.
fn as_json_schema(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(as_json_schema).collect(),
        Value::Object(object) => {
            let mut out: Map<String, Value> = object
                .iter()
                .filter(|(key, value)| !is_annotation(key, value))
                .map(|(key, value)| (key.clone(), as_json_schema(value)))
                .collect();
            if object.get("nullable") == Some(&Value::Bool(true)) {
                out.remove("nullable");
                return json!({ "anyOf": [{ "type": "null" }, out] });
            }
            out.into()
        }
        other => other.clone(),
    }
}

/// `example` as a keyword, not as the name of a property.
fn is_annotation(key: &str, value: &Value) -> bool {
    matches!(key, "example" | "examples")
        && value.get("type").is_none()
        && value.get("$ref").is_none()
}

#[test]
fn a_departure_is_seen() {
    let Some(description) = Description::load() else {
        return;
    };
    let request = |method: &str, path: &str, status: u16, body: Value, answer: Value| Recorded {
        method: method.to_owned(),
        path: path.to_owned(),
        query: String::new(),
        body,
        status,
        answer,
    };
    let departures = description.departures(&[
        request(
            "GET",
            "/repos/a/b/git/blobs/x",
            200,
            Value::Null,
            json!({ "sha": "x" }),
        ),
        request(
            "POST",
            "/repos/a/b/check-runs",
            201,
            json!({ "name": 1 }),
            Value::Null,
        ),
        request("GET", "/no/such/thing", 200, Value::Null, Value::Null),
        request(
            "GET",
            "/repos/a/b/branches/x/y",
            418,
            Value::Null,
            Value::Null,
        ),
    ]);
    let has = |text: &str| departures.iter().any(|line| line.contains(text));
    assert!(has("\"content\" is a required property"), "{departures:#?}");
    assert!(
        has("\"head_sha\" is a required property"),
        "{departures:#?}"
    );
    assert!(has("no such operation"), "{departures:#?}");
    assert!(has("status 418 is not described"), "{departures:#?}");
}
