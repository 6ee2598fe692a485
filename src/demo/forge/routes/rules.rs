//! What branches require: by rulesets, and by their older protection.

use axum::extract::{Extension, Path, Query, State as Extract};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Forge, In, METADATA, Who, visible};
use crate::demo::forge::model::{Repo, Required};
use crate::demo::forge::reply::{Page, Refusal, paged};

#[derive(Deserialize)]
pub struct ListQuery {
    per_page: Option<usize>,
    page: Option<usize>,
}

/// Each required check as a ruleset of its own, after a rule of another kind.
pub async fn of_branch(
    Extract(forge): Forge,
    Extension(caller): Who,
    Path((owner, name, branch)): In<String>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Refusal> {
    let state = forge.state();
    let repo = visible(&state, &caller, &owner, &name, METADATA)?;
    let required: Vec<&Required> = required(repo, &branch, false).collect();
    let mut rules = Vec::new();
    if !required.is_empty() {
        rules.push(rule(repo, 0, json!({ "type": "deletion" })));
    }
    for (number, check) in required.into_iter().enumerate() {
        let mut described = json!({ "context": check.context });
        if let Some(app) = check.app {
            described["integration_id"] = json!(app);
        }
        let parameters = json!({
            "strict_required_status_checks_policy": false,
            "required_status_checks": [described],
        });
        let body = json!({ "type": "required_status_checks", "parameters": parameters });
        rules.push(rule(repo, number + 1, body));
    }
    let page = Page {
        per_page: query.per_page.unwrap_or(30),
        page: query.page.unwrap_or(1),
    };
    let url = format!(
        "{}/repos/{}/rules/branches/{branch}?per_page={}",
        state.base_url, repo.full_name, page.per_page
    );
    Ok(paged(json!(page.cut(&rules)), page.link(&url, rules.len())))
}

fn rule(repo: &Repo, number: usize, mut body: Value) -> Value {
    body["ruleset_source_type"] = json!("Repository");
    body["ruleset_source"] = json!(repo.full_name);
    body["ruleset_id"] = json!(number + 1);
    body
}

fn required<'a>(
    repo: &'a Repo,
    branch: &'a str,
    by_protection: bool,
) -> impl Iterator<Item = &'a Required> {
    repo.required
        .iter()
        .filter(move |check| check.branch == branch && check.by_protection == by_protection)
}

/// `protection` of a branch.
pub fn protection(repo: &Repo, branch: &str) -> Value {
    let checks: Vec<Value> = required(repo, branch, true)
        .map(|check| json!({ "context": check.context, "app_id": check.app }))
        .collect();
    if checks.is_empty() {
        return json!({ "enabled": false });
    }
    let contexts: Vec<&Value> = checks.iter().map(|check| &check["context"]).collect();
    json!({
        "enabled": true,
        "required_status_checks": {
            "enforcement_level": "non_admins", "contexts": contexts, "checks": checks,
        },
    })
}
