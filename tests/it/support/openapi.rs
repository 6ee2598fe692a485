//! GitHub's own description of its API (npm package `@octokit/openapi`, fetched by
//! `.ci/third-party.sh`), and what of a recorded run departs from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use frostline::demo::forge::Recorded;
use serde_json::{Map, Value, json};

use super::third_party::third_party;

pub struct Description {
    document: Value,
    /// By what they are for; making one takes a while.
    validators: Mutex<BTreeMap<String, Arc<jsonschema::Validator>>>,
}

/// What the API's guides say of every request, and the description of few: redirects of a repository's old
/// name, answers to what is unchanged, and refusals.
const GENERAL: [u16; 8] = [301, 304, 307, 401, 403, 404, 422, 429];

/// Where the description is known to be wrong: the head of a fork that was deleted has no repository.
const WRONG: [(&str, &str); 1] = [(
    "GET /repos/{owner}/{repo}/pulls/{pull_number}",
    "/head/repo",
)];

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
        Some(Self {
            document,
            validators: Mutex::default(),
        })
    }

    /// Where requests or answers are not as described; empty when all are. What a fault answered is the
    /// test's own.
    pub fn departures(&self, requests: &[Recorded]) -> Vec<String> {
        let mut found = BTreeSet::new();
        // A real browser asks for the icon of its own accord.
        let is_of_api = |request: &&Recorded| {
            !request.path.contains("/settings/apps/") && request.path != "/favicon.ico"
        };
        for request in requests.iter().filter(is_of_api) {
            self.compare(request, &mut found);
        }
        found.into_iter().collect()
    }

    fn compare(&self, request: &Recorded, found: &mut BTreeSet<String>) {
        let path = request.path.strip_prefix("/api/v3");
        let path = path.unwrap_or(&request.path);
        if path.ends_with("/graphql") {
            return;
        }
        let what = format!("{} {path}", request.method);
        let Some((template, operation)) = self.operation(&request.method, path) else {
            found.insert(format!("{what}: no such operation"));
            return;
        };
        let name = format!("{} {template}", request.method);
        let is_meant = request.status < 400 || request.faulty;
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        if !body.is_null() && !request.body.is_null() && is_meant {
            let check = self.validator(format!("{name} request"), body);
            for error in check.iter_errors(&request.body) {
                found.insert(format!("{name} request {}: {error}", error.instance_path()));
            }
        }
        if request.faulty {
            return;
        }
        let mut answer = self.follow(&operation["responses"][request.status.to_string()]);
        if answer.is_null() && GENERAL.contains(&request.status) {
            answer = &self.document["components"]["responses"]["not_found"];
        }
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
        let check = self.validator(format!("{name} {}", request.status), schema);
        for error in check.iter_errors(&request.answer) {
            let at = error.instance_path();
            if WRONG.contains(&(name.as_str(), at.as_str())) {
                continue;
            }
            found.insert(format!("{name} {} {at}: {error}", request.status));
        }
    }

    /// The described operation of a path; literal segments win over parameters.
    fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let method = method.to_lowercase();
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
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

    fn validator(&self, name: String, schema: &Value) -> Arc<jsonschema::Validator> {
        let mut all = self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let made = all.entry(name);
        Arc::clone(made.or_insert_with(|| Arc::new(self.make_validator(schema))))
    }

    /// A validator with the schemas that `schema` needs, and no others.
    fn make_validator(&self, schema: &Value) -> jsonschema::Validator {
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
        faulty: false,
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
