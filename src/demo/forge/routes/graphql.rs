//! `POST /graphql`: blobs by id, and folding a comment away.

use axum::Json;
use axum::extract::{Extension, State as Extract};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::query::{Field, Operation, parse};
use super::writing::WRITE_CONTENTS;
use super::{Forge, READ_CONTENTS, READ_PULLS, Who, visible};
use crate::demo::forge::auth::Caller;
use crate::demo::forge::build::update_branch;
use crate::demo::forge::model::{Access, Repo, State};
use crate::demo::forge::reply::Refusal;
use crate::demo::forge::server::lock;
use crate::demo::forge::shape::{comment_of_node, id_of_node};
use crate::model::Sha;

const WRITE_COMMENTS: &[(&str, Access)] =
    &[("issues", Access::Write), ("pull_requests", Access::Write)];

const CLASSIFIERS: &[&str] = &[
    "ABUSE",
    "DUPLICATE",
    "OFF_TOPIC",
    "OUTDATED",
    "RESOLVED",
    "SPAM",
];

/// Data of the answer so far, and what went wrong.
#[derive(Default)]
struct Answer {
    data: Map<String, Value>,
    errors: Vec<Value>,
}

impl Answer {
    fn error(&mut self, kind: &str, path: &[&str], message: impl Into<String>) {
        self.errors.push(json!({
            "type": kind, "path": path, "message": message.into(),
            "locations": [{ "line": 1, "column": 1 }],
        }));
    }
}

pub async fn graphql(
    Extract(forge): Forge,
    Extension(caller): Who,
    Json(body): Json<Value>,
) -> Result<Response, Refusal> {
    let text = body["query"].as_str().ok_or_else(|| {
        Refusal::new(
            400,
            "A query attribute must be specified and must be a string.",
        )
    })?;
    let variables = body["variables"].as_object().cloned().unwrap_or_default();
    let operation = match parse(text, &variables) {
        Ok(operation) => operation,
        Err(error) => {
            lock(&forge.problems).push(format!("GraphQL: {error} in {text}"));
            return Ok(Json(json!({ "errors": [{ "message": error }] })).into_response());
        }
    };
    let mut state = forge.state();
    let mut answer = Answer::default();
    run(&operation, &mut state, &caller, &mut answer)?;
    drop(state);
    for error in &answer.errors {
        if error["type"] == "undefinedField" {
            lock(&forge.problems).push(format!("GraphQL: {}", error["message"]));
        }
    }
    let mut body = json!({ "data": answer.data });
    if !answer.errors.is_empty() {
        body["errors"] = answer.errors.into();
    }
    Ok(Json(body).into_response())
}

const MUTATIONS: &[&str] = &[
    "minimizeComment",
    "unminimizeComment",
    "updateIssueComment",
    "updateRefs",
];
const QUERIES: &[&str] = &["repository", "rateLimit"];

fn run(
    operation: &Operation,
    state: &mut State,
    caller: &Caller,
    answer: &mut Answer,
) -> Result<(), Refusal> {
    let known = if operation.mutation {
        MUTATIONS
    } else {
        QUERIES
    };
    // An operation that is not valid as a whole has no effect at all.
    for field in &operation.fields {
        let name = field.name.as_str();
        if !known.contains(&name) {
            answer.error("undefinedField", &[name], format!("no field {name}"));
        }
    }
    if !answer.errors.is_empty() {
        return Ok(());
    }
    for field in &operation.fields {
        let value = match field.name.as_str() {
            "repository" => repository(field, state, caller, answer)?,
            "rateLimit" => json!({
                "cost": 1, "limit": state.limits.rate,
                "remaining": state.limits.rate.saturating_sub(state.rate_used),
                "resetAt": crate::demo::forge::shape::time(state.now()),
            }),
            "updateRefs" => update_refs(field, state, caller, answer)?,
            _ => change_comment(field, state, caller, answer),
        };
        answer.data.insert(field.key.clone(), value);
    }
    Ok(())
}

fn repository(
    field: &Field,
    state: &State,
    caller: &Caller,
    answer: &mut Answer,
) -> Result<Value, Refusal> {
    let argument = |name: &str| {
        field
            .arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let (owner, name) = (argument("owner"), argument("name"));
    let Ok(repo) = visible(state, caller, owner, name, READ_CONTENTS) else {
        let message = format!("Could not resolve to a Repository with the name '{owner}/{name}'.");
        answer.error("NOT_FOUND", &[&field.key], message);
        return Ok(Value::Null);
    };
    let mut data = Map::new();
    let mut objects = 0;
    for wanted in &field.fields {
        objects += usize::from(wanted.name == "object");
        let value = match wanted.name.as_str() {
            "object" if objects > state.limits.graphql_objects => Value::Null,
            "object" => object(wanted, repo, state.limits.graphql_text, answer)?,
            "nameWithOwner" => json!(repo.full_name),
            "pullRequest" => pull_request(wanted, repo, caller, answer)?,
            name => {
                let path = [field.key.as_str(), name];
                answer.error("undefinedField", &path, format!("no field {name}"));
                Value::Null
            }
        };
        data.insert(wanted.key.clone(), value);
    }
    if objects > state.limits.graphql_objects {
        let message = "Resource limits for this query exceeded.";
        answer.error("RESOURCE_LIMITS_EXCEEDED", &[&field.key], message);
    }
    Ok(data.into())
}

fn pull_request(
    field: &Field,
    repo: &Repo,
    caller: &Caller,
    answer: &mut Answer,
) -> Result<Value, Refusal> {
    let number = field.arguments.get("number").and_then(Value::as_u64);
    let found = number.and_then(|number| repo.pulls.get(&number));
    let may = caller.may(&repo.full_name, READ_PULLS).is_ok();
    let Some(pull) = found.filter(|_| may) else {
        let message = "Could not resolve to a PullRequest with the number.";
        answer.error("NOT_FOUND", &[&field.key], message);
        return Ok(Value::Null);
    };
    let mut data = Map::new();
    for wanted in &field.fields {
        let value = match wanted.name.as_str() {
            "headRefOid" => json!(super::pulls::shown_head(repo, pull)?),
            "baseRefName" => json!(pull.base_branch),
            "state" => json!(if pull.open { "OPEN" } else { "CLOSED" }),
            "isDraft" => json!(pull.draft),
            name => {
                let path = [field.key.as_str(), name];
                answer.error("undefinedField", &path, format!("no field {name}"));
                Value::Null
            }
        };
        data.insert(wanted.key.clone(), value);
    }
    Ok(data.into())
}

fn object(field: &Field, repo: &Repo, limit: usize, answer: &mut Answer) -> Result<Value, Refusal> {
    let id = field.arguments.get("oid").and_then(Value::as_str);
    let Some(id) = id.and_then(|id| id.parse::<Sha>().ok()) else {
        answer.error(
            "argumentLiteralsIncompatible",
            &[&field.key],
            "oid is no object id",
        );
        return Ok(Value::Null);
    };
    let Some(bytes) = repo.git.blob(&id)? else {
        return Ok(Value::Null);
    };
    let binary = bytes.iter().take(8_000).any(|byte| *byte == 0);
    let truncated = !binary && bytes.len() > limit;
    let text = (!binary).then(|| String::from_utf8_lossy(&bytes[..bytes.len().min(limit)]));
    let mut data = Map::new();
    for wanted in &field.fields {
        let value = match wanted.name.as_str() {
            "__typename" => json!("Blob"),
            "oid" => json!(id),
            "byteSize" => json!(bytes.len()),
            "isBinary" => json!(binary),
            "isTruncated" => json!(truncated),
            "text" => json!(text),
            name => {
                let path = [field.key.as_str(), name];
                answer.error("undefinedField", &path, format!("no field {name}"));
                Value::Null
            }
        };
        data.insert(wanted.key.clone(), value);
    }
    Ok(data.into())
}

/// Moves branches, each only from the commit that is stated.
fn update_refs(
    field: &Field,
    state: &mut State,
    caller: &Caller,
    answer: &mut Answer,
) -> Result<Value, Refusal> {
    let input = field.arguments.get("input").cloned().unwrap_or_default();
    let id = input["repositoryId"].as_str();
    let id = id.and_then(|id| id_of_node("Repository", id));
    let repo = state.repos.values().find(|repo| Some(repo.id) == id);
    let Some(full_name) = repo.map(|repo| repo.full_name.clone()) else {
        answer.error("NOT_FOUND", &[&field.key], "Could not resolve to a node");
        return Ok(Value::Null);
    };
    if caller.may(&full_name, WRITE_CONTENTS).is_err() {
        let message = "Resource not accessible by integration";
        answer.error("FORBIDDEN", &[&field.key], message);
        return Ok(Value::Null);
    }
    for update in input["refUpdates"].as_array().into_iter().flatten() {
        let sha = |key: &str| update[key].as_str()?.parse::<Sha>().ok();
        let branch = update["name"].as_str().unwrap_or_default();
        let branch = branch.strip_prefix("refs/heads/").unwrap_or_default();
        let repo = state.repo_mut(&full_name).ok_or_else(Refusal::not_found)?;
        let tip = repo.git.branch(branch)?;
        let (Some(tip), Some(after)) = (tip, sha("afterOid")) else {
            answer.error("UNPROCESSABLE", &[&field.key], "Reference does not exist");
            return Ok(Value::Null);
        };
        let is_forced = update["force"].as_bool().unwrap_or_default();
        let is_ahead = repo.git.merge_base(&tip, &after)? == Some(tip.clone());
        if sha("beforeOid").is_some_and(|before| before != tip) || !(is_forced || is_ahead) {
            let message = format!("Reference update failed: {branch} is at {tip}");
            answer.error("UNPROCESSABLE", &[&field.key], message);
            return Ok(Value::Null);
        }
        update_branch(state, &full_name, branch, &after)?;
    }
    Ok(json!({ "clientMutationId": null }))
}

/// The mutations of comments.
fn change_comment(field: &Field, state: &mut State, caller: &Caller, answer: &mut Answer) -> Value {
    let (now, bot) = (state.now(), state.bot_login());
    let input = field.arguments.get("input").cloned().unwrap_or_default();
    let text = |key: &str| input[key].as_str().map(str::to_owned);
    let id = text("subjectId").or_else(|| text("id"));
    let id = id.as_deref().and_then(comment_of_node);
    let repo = state
        .repos
        .values_mut()
        .find(|repo| repo.comments.iter().any(|comment| Some(comment.id) == id));
    let Some(repo) = repo else {
        answer.error("NOT_FOUND", &[&field.key], "Could not resolve to a node");
        return Value::Null;
    };
    let may = caller.may(&repo.full_name, WRITE_COMMENTS).is_ok();
    let Some(comment) = repo.comments.iter_mut().find(|c| Some(c.id) == id) else {
        return Value::Null;
    };
    if !may || field.name == "updateIssueComment" && comment.author != bot {
        let message = "Resource not accessible by integration";
        answer.error("FORBIDDEN", &[&field.key], message);
        return Value::Null;
    }
    match field.name.as_str() {
        "minimizeComment" => {
            let classifier = text("classifier").unwrap_or_default();
            if !CLASSIFIERS.contains(&classifier.as_str()) {
                let message = "no such classifier";
                answer.error("argumentLiteralsIncompatible", &[&field.key], message);
                return Value::Null;
            }
            comment.minimized = Some(classifier);
        }
        "unminimizeComment" => comment.minimized = None,
        _ => {
            comment.body = text("body").unwrap_or_default();
            comment.updated_at = now;
        }
    }
    json!({ "clientMutationId": null })
}
