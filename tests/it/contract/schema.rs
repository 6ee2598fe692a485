//! The published JSON Schemas, the parsers and the documentation say the same.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use frostline::config::repo;
use frostline::contract::ContractError;
use frostline::contract::schema::SCHEMAS;
use frostline::model::{Effect, Rule};
use jsonschema::Validator;
use serde_json::{Value, json};

use super::GOOD;
use super::refusals::{CATALOG, CONFIG, EVIDENCE, FREEZES, Kind, LEDGER, LOCK, MAP, SEEDS};

const PAIRS: [(&str, Kind); 8] = [
    ("catalog", CATALOG),
    ("evidence", EVIDENCE),
    ("ledger", LEDGER),
    ("seeds", SEEDS),
    ("config", CONFIG),
    ("freezes", FREEZES),
    ("lock", LOCK),
    ("map", MAP),
];

fn schema(name: &str) -> Value {
    let (_, text) = SCHEMAS
        .iter()
        .find(|(other, _)| *other == name)
        .expect("a schema by that name");
    serde_json::from_str(text).expect("JSON")
}

fn validator(name: &str) -> Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema(name))
        .expect("a valid schema")
}

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    std::fs::read_to_string(path).expect("a readable page")
}

fn frostline(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args(args)
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_command_prints_the_files_of_the_repository() {
    let all: Value = serde_json::from_str(&frostline(&["schema"])).expect("JSON");
    for (name, _) in PAIRS {
        assert_eq!(
            frostline(&["schema", name]),
            docs(&format!("schema/{name}.schema.json"))
        );
        assert_eq!(all[name], schema(name));
    }
    assert_eq!(all.as_object().map(serde_json::Map::len), Some(PAIRS.len()));
}

#[test]
fn good_files_pass_their_schema() {
    for good in GOOD {
        let (name, _) = PAIRS
            .iter()
            .find(|(_, kind)| kind.name == good.kind.name)
            .expect("a schema of that kind");
        let value = serde_json::from_str(good.text).expect("JSON");
        if let Err(error) = validator(name).validate(&value) {
            panic!("{name}: {error}\n{}", good.text);
        }
    }
}

/// What only a parser can say: it takes two places of the file to see it.
const BEYOND_A_SCHEMA: &[&str] = &[
    "lies under none",
    "is taken by",
    "at least `runs`",
    "already",
];

/// Whether both accept `value`; they have to answer alike.
fn both(name: &str, schema: &Validator, value: &Value) -> bool {
    let (_, kind) = PAIRS
        .iter()
        .find(|(other, _)| *other == name)
        .expect("a kind");
    let parsed = (kind.parse)(value.to_string().as_bytes());
    let is_beyond = |error: &ContractError| {
        BEYOND_A_SCHEMA
            .iter()
            .any(|words| error.message.contains(words))
    };
    if !parsed.as_ref().is_err_and(is_beyond) {
        assert_eq!(
            parsed.is_ok(),
            schema.is_valid(value),
            "{name}: {value} {parsed:?}"
        );
    }
    parsed.is_ok()
}

/// Replaces every value of a good file by values of other types, drops and adds keys: whatever breaks
/// the shape is refused by both, and what does not by neither.
#[test]
fn what_breaks_the_shape_is_refused_by_both() {
    let mut refused = 0;
    for good in GOOD {
        let (name, _) = PAIRS
            .iter()
            .find(|(_, kind)| kind.name == good.kind.name)
            .expect("a schema of that kind");
        let schema = validator(name);
        let value: Value = serde_json::from_str(good.text).expect("JSON");
        for pointer in pointers(&value, "") {
            let swaps = [
                json!(null),
                json!(true),
                json!(7),
                json!(-1),
                json!("~"),
                json!([]),
                json!({}),
                json!([{}]),
            ];
            for swap in swaps {
                let mut broken = value.clone();
                *broken.pointer_mut(&pointer).expect("a place") = swap;
                refused += usize::from(!both(name, &schema, &broken));
            }
            let mut more = value.clone();
            if let Some(Value::Object(object)) = more.pointer_mut(&pointer) {
                object.insert("zzz".to_owned(), json!(1));
                refused += usize::from(!both(name, &schema, &more));
            }
            if let Value::Object(object) = value.pointer(&pointer).expect("a place") {
                for key in object.keys() {
                    let mut less = value.clone();
                    if let Some(Value::Object(object)) = less.pointer_mut(&pointer) {
                        object.remove(key);
                    }
                    refused += usize::from(!both(name, &schema, &less));
                }
            }
        }
    }
    assert!(refused > 300, "only {refused} were refused");
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    let mut found = vec![at.to_owned()];
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                found.extend(pointers(value, &format!("{at}/{key}")));
            }
        }
        Value::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                found.extend(pointers(value, &format!("{at}/{n}")));
            }
        }
        _ => {}
    }
    found
}

/// The keys that a parser knows, as its message about an unknown one lists them.
fn known_keys(kind: Kind, text: &str) -> BTreeSet<String> {
    let error = (kind.parse)(text.as_bytes()).expect_err("an unknown key");
    let (_, listed) = error
        .message
        .split_once("expected one of ")
        .expect("a list of known keys");
    listed
        .split(", ")
        .map(|key| key.trim_matches('`').to_owned())
        .collect()
}

#[test]
fn every_object_has_the_same_keys_in_both() {
    let unknown = "\"zzzzzzzzzzzzzzzz\": 1";
    for (name, kind, pointer, text) in [
        ("lock", LOCK, "", format!("{{{unknown}}}")),
        (
            "freezes",
            FREEZES,
            "",
            format!("{{\"version\": 1, {unknown}}}"),
        ),
        (
            "freezes",
            FREEZES,
            "/$defs/entry",
            format!("{{\"version\": 1, \"entries\": [{{{unknown}}}]}}"),
        ),
        (
            "ledger",
            LEDGER,
            "",
            format!("{{\"schema\": \"seed-freeze-v1\", {unknown}}}"),
        ),
        (
            "ledger",
            LEDGER,
            "/$defs/entry",
            format!("{{\"schema\": \"seed-freeze-v1\", \"entries\": [{{{unknown}}}]}}"),
        ),
        (
            "catalog",
            CATALOG,
            "",
            format!("{{\"version\": 1, {unknown}}}"),
        ),
        (
            "catalog",
            CATALOG,
            "/$defs/property",
            format!("{{\"version\": 1, \"properties\": [{{{unknown}}}]}}"),
        ),
        ("seeds", SEEDS, "", format!("{{\"version\": 1, {unknown}}}")),
        ("map", MAP, "", format!("{{\"version\": 1, {unknown}}}")),
        (
            "map",
            MAP,
            "/$defs/rule",
            format!("{{\"version\": 1, \"rules\": [{{{unknown}}}]}}"),
        ),
        ("config", CONFIG, "", format!("{{{unknown}}}")),
        (
            "config",
            CONFIG,
            "/properties/agents",
            format!("{{\"agents\": {{{unknown}}}}}"),
        ),
        (
            "config",
            CONFIG,
            "/properties/paths",
            format!("{{\"paths\": {{{unknown}}}}}"),
        ),
        (
            "config",
            CONFIG,
            "/properties/contract",
            format!("{{\"contract\": {{{unknown}}}}}"),
        ),
        (
            "config",
            CONFIG,
            "/properties/rules",
            format!("{{\"rules\": {{{unknown}}}}}"),
        ),
        (
            "config",
            CONFIG,
            "/properties/review",
            format!("{{\"review\": {{{unknown}}}}}"),
        ),
        (
            "config",
            CONFIG,
            "/properties/lane",
            format!("{{\"lane\": {{{unknown}}}}}"),
        ),
    ] {
        let schema = schema(name);
        let object = schema.pointer(pointer).expect("an object of the schema");
        assert_eq!(
            object["additionalProperties"],
            json!(false),
            "{name}{pointer}"
        );
        let properties = object["properties"].as_object().expect("properties");
        let keys: BTreeSet<String> = properties.keys().cloned().collect();
        assert_eq!(keys, known_keys(kind, &text), "{name}{pointer}");
    }
}

#[test]
fn every_rule_has_the_same_effects_in_both() {
    let schema = validator("config");
    for rule in Rule::ALL {
        for effect in Effect::ALL {
            let rules = json!({"rules": {(rule.name()): effect.name()}});
            let is_lowered_as_allowed = rule.may_be_lowered_to() == Some(*effect);
            let expected = *effect >= rule.default_effect() || is_lowered_as_allowed;
            assert_eq!(both("config", &schema, &rules), expected, "{rule} {effect}");
        }
    }
}

#[test]
fn defaults_of_the_schema_are_those_of_the_parser() {
    let schema = schema("config");
    for key in ["mode", "apply_to", "comments"] {
        let property = &schema["properties"][key];
        let default = json!({(key): property["default"]});
        let parsed = repo::parse("c.yml", default.to_string().as_bytes()).expect("a default");
        assert_eq!(parsed, repo::RepoConfig::default(), "{key}");
        for word in property["enum"].as_array().expect("words") {
            assert!(
                both("config", &validator("config"), &json!({(key): word})),
                "{key}: {word}"
            );
        }
    }
    let issue = &schema["properties"]["audit"]["properties"]["issue"]["default"];
    let default = json!({"audit": {"issue": issue}}).to_string();
    let parsed = repo::parse("c.yml", default.as_bytes()).expect("a default");
    assert_eq!(parsed, repo::RepoConfig::default());
    for layer in frostline::model::Layer::ALL {
        if let Some(key) = layer.key() {
            let property = &schema["properties"]["contract"]["properties"][key];
            assert_eq!(property["default"], layer.default_path(), "{key}");
        }
    }
}

#[test]
fn the_documented_examples_are_accepted_and_every_key_is_documented() {
    let page = docs("configuration.md");
    let examples: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() >= 8, "{} examples", examples.len());
    for example in examples {
        if let Err(error) = repo::parse("docs/configuration.md", example.as_bytes()) {
            panic!("{error}\n{example}");
        }
    }
    let schema = schema("config");
    let mut keys: Vec<&String> = Vec::new();
    for pointer in [
        "",
        "/properties/agents",
        "/properties/paths",
        "/properties/contract",
        "/properties/review",
        "/properties/lane",
    ] {
        let object = schema.pointer(pointer).expect("an object");
        keys.extend(object["properties"].as_object().expect("properties").keys());
    }
    for key in keys {
        assert!(
            page.contains(&format!("`{key}`")),
            "{key} is not documented"
        );
    }
    for layer in frostline::model::Layer::ALL {
        assert!(
            page.contains(layer.default_path()),
            "{}",
            layer.default_path()
        );
    }
}
