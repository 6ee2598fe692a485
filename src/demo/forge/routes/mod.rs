//! The routes that the client uses, each by its documented path.

mod apps;
mod checks;
mod comments;
mod compare;
mod git;
mod graphql;
mod hooks;
mod issues;
mod people;
mod pulls;
mod query;
pub mod registration;
mod rules;
mod writing;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Path, State as Extract};
use axum::routing::{get, patch, post};

use super::auth::Caller;
use super::model::{Access, Repo, State};
use super::reply::Refusal;
use super::server::Shared;

pub use apps::SUSPENDED;
pub use pulls::{pull_json, repository_json};

type Forge = Extract<Arc<Shared>>;
type Who = Extension<Caller>;
/// `{owner}/{repo}` and one more parameter.
type In<T> = Path<(String, String, T)>;

pub fn all() -> Router<Arc<Shared>> {
    Router::new()
        .route("/app", get(apps::app))
        .route("/app/hook/config", get(hooks::config))
        .route(
            "/app/installations/{installation_id}",
            get(apps::installation),
        )
        .route(
            "/app/installations/{installation_id}/access_tokens",
            post(apps::access_token),
        )
        .route("/app/installations", get(hooks::installations))
        .route("/app/hook/deliveries", get(hooks::deliveries))
        .route(
            "/app/hook/deliveries/{delivery_id}/attempts",
            post(hooks::redeliver),
        )
        .route("/installation/repositories", get(hooks::repositories))
        .route(
            "/orgs/{org}/teams/{team_slug}/memberships/{username}",
            get(people::membership),
        )
        .route(
            "/app-manifests/{code}/conversions",
            post(registration::convert),
        )
        .nest("/repos/{owner}/{repo}", repository())
}

/// What people see in their browsers.
pub fn pages() -> Router<Arc<Shared>> {
    Router::new()
        .route("/settings/apps/new", post(registration::personal))
        .route("/settings/apps/{id}/confirm", post(registration::confirm))
        .route(
            "/organizations/{org}/settings/apps/new",
            post(registration::organization),
        )
}

pub fn graphql() -> Router<Arc<Shared>> {
    Router::new().route("/graphql", post(graphql::graphql))
}

fn repository() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(pulls::repository))
        .route("/pulls", get(pulls::list))
        .route("/pulls/{pull_number}", get(pulls::pull))
        .route("/pulls/{pull_number}/files", get(pulls::files))
        .route("/pulls/{pull_number}/commits", get(pulls::commits))
        .route("/compare/{*basehead}", get(compare::compare))
        .route("/branches/{*branch}", get(git::branch))
        .route("/rules/branches/{*branch}", get(rules::of_branch))
        .route("/git/ref/{*ref}", get(git::reference))
        .route("/git/commits/{commit_sha}", get(git::commit))
        .route("/git/trees/{tree_sha}", get(git::tree))
        .route("/git/blobs/{file_sha}", get(git::blob))
        .route("/check-runs", post(checks::create))
        .route(
            "/check-runs/{check_run_id}",
            patch(checks::update).get(checks::read),
        )
        .route("/commits/{ref}/check-runs", get(checks::list))
        .route("/commits/{ref}/pulls", get(pulls::of_commit))
        .route(
            "/issues/{issue_number}/comments",
            get(comments::list).post(comments::create),
        )
        .route(
            "/issues/comments/{comment_id}",
            patch(comments::update).get(comments::read),
        )
        .route(
            "/issues/comments/{comment_id}/reactions",
            post(people::react),
        )
        .route("/pulls/{pull_number}/reviews", get(people::reviews))
        .route(
            "/collaborators/{username}/permission",
            get(people::permission),
        )
        .merge(issues::routes())
        .merge(writing::routes())
}

const READ_CONTENTS: &[(&str, Access)] = &[("contents", Access::Read)];
const READ_PULLS: &[(&str, Access)] = &[("pull_requests", Access::Read)];
const METADATA: &[(&str, Access)] = &[("metadata", Access::Read)];

/// The repository, if the caller sees it and has one of the rights.
fn visible<'a>(
    state: &'a State,
    caller: &Caller,
    owner: &str,
    repo: &str,
    any_of: &[(&str, Access)],
) -> Result<&'a Repo, Refusal> {
    let name = format!("{owner}/{repo}");
    caller.may(&name, any_of)?;
    state.repo(&name).ok_or_else(Refusal::not_found)
}
