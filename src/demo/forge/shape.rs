//! The forge's answers, with every field that its published API description requires.

use base64::Engine as _;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::git::{CommitInfo, FileDiff, Signature, TreeItem};
use super::model::{
    CheckRun, Comment, Issue, Permissions, Pull, Reaction, Repo, Review, State, User,
};
use crate::model::Sha;

/// Time in the API's form.
pub fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// An opaque global id.
pub fn node_id(kind: &str, id: u64) -> String {
    base64::engine::general_purpose::STANDARD.encode(format!("{kind}:{id}"))
}

/// The comment that a node id names.
pub fn comment_of_node(node_id: &str) -> Option<u64> {
    id_of_node("IssueComment", node_id)
}

/// The thing of that kind that a node id names.
pub fn id_of_node(kind: &str, node_id: &str) -> Option<u64> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(node_id)
        .ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.strip_prefix(kind)?.strip_prefix(':')?.parse().ok()
}

pub fn user(base: &str, user: &User) -> Value {
    // `[bot]` is no part of a URL as it is.
    let login = user.login.replace('[', "%5B").replace(']', "%5D");
    let api = format!("{base}/users/{login}");
    json!({
        "login": user.login,
        "id": user.id,
        "node_id": node_id("User", user.id),
        "avatar_url": format!("{base}/avatars/u/{}", user.id),
        "gravatar_id": "",
        "url": api,
        "html_url": format!("{base}/{login}"),
        "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following{{/other_user}}"),
        "gists_url": format!("{api}/gists{{/gist_id}}"),
        "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"),
        "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"),
        "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"),
        "type": user.kind,
        "site_admin": false,
    })
}

/// Parts of a repository's API below its own address, by the prefix of their `…_url` field.
const REPO_URLS: &[(&str, &str)] = &[
    ("archive", "/{archive_format}{/ref}"),
    ("assignees", "/assignees{/user}"),
    ("blobs", "/git/blobs{/sha}"),
    ("branches", "/branches{/branch}"),
    ("collaborators", "/collaborators{/collaborator}"),
    ("comments", "/comments{/number}"),
    ("commits", "/commits{/sha}"),
    ("compare", "/compare/{base}...{head}"),
    ("contents", "/contents/{+path}"),
    ("contributors", "/contributors"),
    ("deployments", "/deployments"),
    ("downloads", "/downloads"),
    ("events", "/events"),
    ("forks", "/forks"),
    ("git_commits", "/git/commits{/sha}"),
    ("git_refs", "/git/refs{/sha}"),
    ("git_tags", "/git/tags{/sha}"),
    ("hooks", "/hooks"),
    ("issue_comment", "/issues/comments{/number}"),
    ("issue_events", "/issues/events{/number}"),
    ("issues", "/issues{/number}"),
    ("keys", "/keys{/key_id}"),
    ("labels", "/labels{/name}"),
    ("languages", "/languages"),
    ("merges", "/merges"),
    ("milestones", "/milestones{/number}"),
    ("notifications", "/notifications{?since,all,participating}"),
    ("pulls", "/pulls{/number}"),
    ("releases", "/releases{/id}"),
    ("stargazers", "/stargazers"),
    ("statuses", "/statuses/{sha}"),
    ("subscribers", "/subscribers"),
    ("subscription", "/subscription"),
    ("tags", "/tags"),
    ("teams", "/teams"),
    ("trees", "/git/trees{/sha}"),
];

pub fn repository(base: &str, repo: &Repo, owner: &User) -> Value {
    let api = format!("{base}/repos/{}", repo.full_name);
    let html = format!("{base}/{}", repo.full_name);
    let at = time(repo.created_at);
    let open = repo.pulls.values().filter(|pull| pull.open).count();
    let mut value = json!({
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name(),
        "full_name": repo.full_name,
        "owner": user(base, owner),
        "private": repo.private,
        "visibility": if repo.private { "private" } else { "public" },
        "html_url": html,
        "description": null,
        "fork": false,
        "url": api,
        "clone_url": format!("{html}.git"),
        "git_url": format!("{html}.git"),
        "ssh_url": format!("{html}.git"),
        "svn_url": html,
        "mirror_url": null,
        "homepage": null,
        "language": null,
        "default_branch": repo.default_branch,
        "allow_rebase_merge": repo.allow_rebase_merge,
        "allow_merge_commit": true,
        "allow_squash_merge": true,
    });
    let counts = json!({
        "forks": 0, "forks_count": 0,
        "network_count": 0, "subscribers_count": 0,
        "stargazers_count": 0, "watchers": 0, "watchers_count": 0,
        "open_issues": open, "open_issues_count": open,
        "size": 1,
        "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false,
        "has_discussions": false, "has_downloads": false,
        "archived": false, "disabled": false,
        "license": null,
        "created_at": at, "updated_at": at, "pushed_at": at,
    });
    let fields: Map<String, Value> = REPO_URLS
        .iter()
        .map(|(name, suffix)| (format!("{name}_url"), json!(format!("{api}{suffix}"))))
        .collect();
    extend(&mut value, fields);
    if let Value::Object(counts) = counts {
        extend(&mut value, counts);
    }
    value
}

fn extend(value: &mut Value, fields: Map<String, Value>) {
    if let Value::Object(object) = value {
        object.extend(fields);
    }
}

/// What a pull request's answer holds beside the pull request itself.
pub struct PullFacts<'a> {
    pub head: &'a Sha,
    pub base: &'a Sha,
    /// `None` while the forge has not computed it.
    pub mergeable: Option<bool>,
    pub test_merge: Option<&'a Sha>,
    pub files: &'a [FileDiff],
    pub commits: usize,
    pub author: &'a User,
    pub owner: &'a User,
}

pub fn pull(base: &str, repo: &Repo, pull: &Pull, facts: &PullFacts<'_>) -> Value {
    let repository = repository(base, repo, facts.owner);
    let api = format!("{base}/repos/{}/pulls/{}", repo.full_name, pull.number);
    let issue = format!("{base}/repos/{}/issues/{}", repo.full_name, pull.number);
    let html = format!("{base}/{}/pull/{}", repo.full_name, pull.number);
    let statuses = format!("{base}/repos/{}/statuses/{}", repo.full_name, facts.head);
    let side = |branch: &str, sha: &Sha| {
        json!({
            "label": format!("{}:{branch}", repo.owner()),
            "ref": branch,
            "sha": sha,
            "user": user(base, facts.owner),
            "repo": repository,
        })
    };
    let labels: Vec<Value> = pull
        .labels
        .iter()
        .enumerate()
        .map(|(at, name)| label(base, repo, at, name))
        .collect();
    let link = |href: String| json!({ "href": href });
    let sum = |count: fn(&FileDiff) -> u32| facts.files.iter().map(count).sum::<u32>();
    let mut value = json!({
        "url": api, "id": pull.id, "node_id": node_id("PullRequest", pull.id),
        "number": pull.number, "title": pull.title, "body": pull.body,
        "state": if pull.open { "open" } else { "closed" },
        "locked": false, "draft": pull.draft,
        "user": user(base, facts.author),
        "author_association": "CONTRIBUTOR",
        "labels": labels, "milestone": null, "assignee": null, "assignees": [],
        "requested_reviewers": [], "requested_teams": [],
        "created_at": time(pull.created_at), "updated_at": time(pull.updated_at),
        "closed_at": null, "merged_at": null, "merged": false, "merged_by": null,
        "merge_commit_sha": facts.test_merge,
        "mergeable": facts.mergeable, "rebaseable": facts.mergeable,
        "mergeable_state": match facts.mergeable {
            Some(true) => "clean",
            Some(false) => "dirty",
            None => "unknown",
        },
        "head": side(&pull.head_branch, facts.head),
        "base": side(&pull.base_branch, facts.base),
        "auto_merge": null, "maintainer_can_modify": false,
        "comments": repo.comments.iter().filter(|c| c.number == pull.number).count(),
        "review_comments": 0,
        "commits": facts.commits, "changed_files": facts.files.len(),
        "additions": sum(|file| file.additions), "deletions": sum(|file| file.deletions),
    });
    let links = json!({
        "html_url": html, "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"),
        "issue_url": issue, "commits_url": format!("{api}/commits"),
        "comments_url": format!("{issue}/comments"),
        "review_comments_url": format!("{api}/comments"),
        "review_comment_url": format!("{base}/repos/{}/pulls/comments{{/number}}", repo.full_name),
        "statuses_url": statuses,
        "_links": {
            "self": link(api.clone()), "html": link(html.clone()), "issue": link(issue.clone()),
            "comments": link(format!("{issue}/comments")),
            "commits": link(format!("{api}/commits")),
            "review_comments": link(format!("{api}/comments")),
            "review_comment":
                link(format!("{base}/repos/{}/pulls/comments{{/number}}", repo.full_name)),
            "statuses": link(statuses.clone()),
        },
    });
    if let Value::Object(links) = links {
        extend(&mut value, links);
    }
    if pull.fork_gone {
        value["head"]["repo"] = Value::Null;
    }
    value
}

fn label(base: &str, repo: &Repo, at: usize, name: &str) -> Value {
    let id = repo.id * 1_000 + at as u64;
    json!({
        "id": id, "node_id": node_id("Label", id), "name": name, "description": "",
        "url": format!("{base}/repos/{}/labels/{name}", repo.full_name),
        "color": "ededed", "default": false,
    })
}

/// A path as a part of an address.
fn in_address(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

pub fn file(base: &str, repo: &Repo, head: &Sha, file: &FileDiff) -> Value {
    let html = format!("{base}/{}", repo.full_name);
    let path = in_address(&file.path);
    let mut value = json!({
        "sha": file.id, "filename": file.path, "status": file.status,
        "additions": file.additions, "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": format!("{html}/blob/{head}/{path}"),
        "raw_url": format!("{html}/raw/{head}/{path}"),
        "contents_url":
            format!("{base}/repos/{}/contents/{path}?ref={head}", repo.full_name),
    });
    if let Some(patch) = &file.patch {
        value["patch"] = json!(patch);
    }
    if let Some(previous) = &file.previous_path {
        value["previous_filename"] = json!(previous);
    }
    value
}

fn signature(signature: &Signature, at: DateTime<Utc>) -> Value {
    json!({ "name": signature.name, "email": signature.email, "date": time(at) })
}

fn unverified() -> Value {
    json!({
        "verified": false, "reason": "unsigned",
        "signature": null, "payload": null, "verified_at": null,
    })
}

fn verification(by_forge: bool) -> Value {
    match by_forge {
        true => json!({
            "verified": true, "reason": "valid",
            "signature": "-----BEGIN PGP SIGNATURE-----", "payload": "tree", "verified_at": null,
        }),
        false => unverified(),
    }
}

fn parents(base: &str, repo: &str, info: &CommitInfo) -> Vec<Value> {
    info.parents
        .iter()
        .map(|parent| {
            json!({
                "sha": parent,
                "url": format!("{base}/repos/{repo}/commits/{parent}"),
                "html_url": format!("{base}/{repo}/commit/{parent}"),
            })
        })
        .collect()
}

/// A commit as lists and comparisons have it; `author` is the account with the commit's address.
pub fn commit(state: &State, repo: &Repo, info: &CommitInfo) -> Value {
    let base = &state.base_url;
    let api = format!("{base}/repos/{}", repo.full_name);
    let by_forge = repo.signed.contains(&info.id);
    let account = |person: &Signature| {
        let known = state
            .users
            .values()
            .find(|user| person.email == email_of(user));
        known.map(|known| user(base, known))
    };
    json!({
        "sha": info.id, "node_id": format!("C_{}", info.id),
        "url": format!("{api}/commits/{}", info.id),
        "html_url": format!("{base}/{}/commit/{}", repo.full_name, info.id),
        "comments_url": format!("{api}/commits/{}/comments", info.id),
        "commit": {
            "url": format!("{api}/git/commits/{}", info.id),
            "author": signature(&info.author, info.authored_at),
            "committer": signature(&info.committer, info.committed_at),
            "message": info.message, "comment_count": 0,
            "tree": { "sha": info.tree, "url": format!("{api}/git/trees/{}", info.tree) },
            "verification": verification(by_forge),
        },
        "author": account(&info.author),
        "committer": match by_forge {
            true => state.users.get(FORGE_COMMITTER).map(|known| user(base, known)),
            false => account(&info.committer),
        },
        "parents": parents(base, &repo.full_name, info),
    })
}

/// Who commits what the forge makes itself, and with which address.
pub const FORGE_COMMITTER: &str = "web-flow";
pub const FORGE_ADDRESS: &str = "noreply@github.com";

/// The address with which an account's commits are made.
pub fn email_of(user: &User) -> String {
    if user.login == FORGE_COMMITTER {
        return FORGE_ADDRESS.to_owned();
    }
    format!("{}+{}@users.noreply.github.com", user.id, user.login)
}

/// A commit as the git database has it.
/// An entry of a listing; `api` is the address of the git database.
pub fn tree_item(api: &str, item: &TreeItem) -> Value {
    let mut value = json!({
        "path": item.path, "mode": item.mode, "type": item.object_type, "sha": item.id,
    });
    if let Some(size) = item.size {
        value["size"] = json!(size);
    }
    if item.object_type != "commit" {
        value["url"] = json!(format!("{api}/{}s/{}", item.object_type, item.id));
    }
    value
}

pub fn git_commit(base: &str, repo: &str, info: &CommitInfo) -> Value {
    let api = format!("{base}/repos/{repo}/git");
    json!({
        "sha": info.id, "node_id": format!("C_{}", info.id),
        "url": format!("{api}/commits/{}", info.id),
        "html_url": format!("{base}/{repo}/commit/{}", info.id),
        "author": signature(&info.author, info.authored_at),
        "committer": signature(&info.committer, info.committed_at),
        "message": info.message,
        "tree": { "sha": info.tree, "url": format!("{api}/trees/{}", info.tree) },
        "parents": parents(base, repo, info),
        "verification": unverified(),
    })
}

pub fn check_run(state: &State, repo: &Repo, run: &CheckRun) -> Value {
    let base = &state.base_url;
    let api = format!("{base}/repos/{}/check-runs/{}", repo.full_name, run.id);
    let pulls: Vec<Value> = repo
        .pulls
        .values()
        .filter(|pull| pull.open)
        .filter_map(|pull| {
            let head = repo.head_of(pull).ok()??;
            let tip = repo.git.branch(&pull.base_branch).ok()??;
            (head == run.head).then(|| minimal_pull(base, repo, pull, &head, &tip))
        })
        .collect();
    json!({
        "id": run.id, "node_id": node_id("CheckRun", run.id),
        "head_sha": run.head, "external_id": run.external_id.as_deref().unwrap_or(""),
        "name": run.name, "url": api,
        "html_url": format!("{base}/{}/runs/{}", repo.full_name, run.id),
        "details_url": run.details_url,
        "status": run.status, "conclusion": run.conclusion,
        "started_at": run.started_at.map(time), "completed_at": run.completed_at.map(time),
        "output": {
            "title": run.title, "summary": run.summary, "text": run.text,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{api}/annotations"),
        },
        "check_suite": { "id": run.suite },
        "app": app(state, run.app, &Permissions::new()),
        "pull_requests": pulls,
    })
}

fn minimal_pull(base: &str, repo: &Repo, pull: &Pull, head: &Sha, tip: &Sha) -> Value {
    let api = format!("{base}/repos/{}", repo.full_name);
    let side = |branch: &str, sha: &Sha| {
        json!({
            "ref": branch, "sha": sha,
            "repo": { "id": repo.id, "url": api, "name": repo.name() },
        })
    };
    json!({
        "id": pull.id, "number": pull.number, "url": format!("{api}/pulls/{}", pull.number),
        "head": side(&pull.head_branch, head), "base": side(&pull.base_branch, tip),
    })
}

pub fn app(state: &State, id: u64, permissions: &Permissions) -> Value {
    let base = &state.base_url;
    let slug = if id == state.app_id {
        state.app_slug.clone()
    } else {
        format!("app-{id}")
    };
    let owner = User {
        id: 1,
        login: "frostline-owner".to_owned(),
        kind: "User",
    };
    json!({
        "id": id, "slug": slug, "node_id": node_id("Integration", id),
        "owner": user(base, &owner), "name": slug, "description": null,
        "external_url": format!("{base}/apps/{slug}"), "html_url": format!("{base}/apps/{slug}"),
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        "permissions": rights(permissions), "events": crate::server::wanted().events,
    })
}

pub fn rights(permissions: &Permissions) -> Value {
    permissions
        .iter()
        .map(|(name, access)| {
            let access = match access {
                super::model::Access::Read => "read",
                super::model::Access::Write => "write",
            };
            (name.clone(), json!(access))
        })
        .collect::<Map<_, _>>()
        .into()
}

pub fn comment(state: &State, repo: &Repo, comment: &Comment) -> Value {
    let base = &state.base_url;
    let api = format!("{base}/repos/{}/issues", repo.full_name);
    json!({
        "id": comment.id, "node_id": node_id("IssueComment", comment.id),
        "url": format!("{api}/comments/{}", comment.id),
        "html_url": format!(
            "{base}/{}/pull/{}#issuecomment-{}", repo.full_name, comment.number, comment.id
        ),
        "issue_url": format!("{api}/{}", comment.number),
        "user": state.users.get(&comment.author).map(|author| user(base, author)),
        "performed_via_github_app": (comment.author == state.bot_login())
            .then(|| app(state, state.app_id, &Permissions::new())),
        "author_association": "NONE",
        "body": comment.body,
        "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
    })
}

/// An issue that is no pull request.
pub fn issue(state: &State, repo: &Repo, issue: &Issue) -> Value {
    let base = &state.base_url;
    let api = format!("{base}/repos/{}/issues/{}", repo.full_name, issue.number);
    let closed_at = (!issue.open).then(|| time(issue.updated_at));
    json!({
        "id": issue.id, "node_id": node_id("Issue", issue.id), "url": api,
        "repository_url": format!("{base}/repos/{}", repo.full_name),
        "labels_url": format!("{api}/labels{{/name}}"), "comments_url": format!("{api}/comments"),
        "events_url": format!("{api}/events"),
        "html_url": format!("{base}/{}/issues/{}", repo.full_name, issue.number),
        "number": issue.number, "title": issue.title, "body": issue.body,
        "user": state.users.get(&issue.author).map(|author| user(base, author)),
        "labels": [], "assignee": null, "assignees": [], "milestone": null, "locked": false,
        "state": if issue.open { "open" } else { "closed" },
        "state_reason": (!issue.open).then_some("completed"),
        "comments": 0, "author_association": "NONE", "closed_at": closed_at,
        "created_at": time(issue.created_at), "updated_at": time(issue.updated_at),
    })
}

/// What an account may do, as the permission of a collaborator; maintain counts as write, triage as read.
pub fn permission(base: &str, account: &User, role: &str) -> Value {
    const ROLES: [&str; 5] = ["read", "triage", "write", "maintain", "admin"];
    let rank = ROLES.iter().position(|known| *known == role);
    let has = |least: usize| rank.is_some_and(|rank| rank >= least);
    let mut described = user(base, account);
    described["role_name"] = json!(role);
    described["permissions"] = json!({
        "pull": has(0), "triage": has(1), "push": has(2), "maintain": has(3), "admin": has(4),
    });
    let permission = match role {
        "maintain" => "write",
        "triage" => "read",
        role => role,
    };
    json!({ "permission": permission, "role_name": role, "user": described })
}

pub fn reaction(base: &str, account: &User, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id, "node_id": node_id("Reaction", reaction.id),
        "user": user(base, account), "content": reaction.content,
        "created_at": time(reaction.created_at),
    })
}

pub fn review(state: &State, repo: &Repo, review: &Review) -> Value {
    let base = &state.base_url;
    let pull = format!("{base}/repos/{}/pulls/{}", repo.full_name, review.number);
    let html = format!(
        "{base}/{}/pull/{}#pullrequestreview-{}",
        repo.full_name, review.number, review.id
    );
    json!({
        "id": review.id, "node_id": node_id("PullRequestReview", review.id),
        "user": state.users.get(&review.author).map(|author| user(base, author)),
        "body": "", "state": review.state, "html_url": html, "pull_request_url": pull,
        "author_association": "COLLABORATOR",
        "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
        "submitted_at": time(review.submitted_at), "commit_id": review.head,
    })
}
