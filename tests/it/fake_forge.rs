//! The fake forge keeps the real one's rules: what Frostline's tests rely on.

use std::time::Duration;

use frostline::demo::forge::{
    Access, Answer as FaultAnswer, Fault, FileChange, Forge, Limits, NewPull, Required,
};
use frostline::model::EntryKind;
use serde_json::{Value, json};

use crate::support::api::{app_key, app_token, get, patch, post, start_forge, token};

const REPO: &str = "acme/parser";

#[tokio::test]
async fn app_tokens_are_checked() {
    let forge = start_forge().await;
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    let id = forge.installation_id(REPO).unwrap();
    let path = format!("/app/installations/{id}/access_tokens");
    let pem = forge.private_key_pem();
    let status = async |token: String| post(&forge, &token, &path, Value::Null).await.status;
    assert_eq!(status(app_token(&forge, pem, -30, 300)).await, 201);
    let stranger = frostline::demo::forge::AppKey::generate().unwrap();
    let forged = app_token(&forge, stranger.private_pem(), -30, 300);
    assert_eq!(status(forged).await, 401, "signed by another key");
    assert_eq!(
        status(app_token(&forge, pem, -700, -10)).await,
        401,
        "expired"
    );
    assert_eq!(
        status(app_token(&forge, pem, -30, 900)).await,
        401,
        "lives too long"
    );
    assert_eq!(
        status(app_token(&forge, pem, 120, 300)).await,
        401,
        "issued in the future"
    );
    assert_eq!(
        status("ghs_guess".to_owned()).await,
        401,
        "no app token at all"
    );
    forge.assert_clean();
}

#[tokio::test]
async fn installation_tokens_expire_and_carry_their_rights() {
    let forge = start_forge().await;
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    let key = token(&forge, REPO).await;
    assert_eq!(get(&forge, &key, "/repos/acme/parser").await.status, 200);
    assert_eq!(get(&forge, &key, "/repos/acme/other").await.status, 404);
    let head = forge.branch(REPO, "main").unwrap();
    let tree = format!("/repos/{REPO}/git/trees/{head}");
    assert_eq!(get(&forge, &key, &tree).await.status, 200);
    forge.set_right(REPO, "contents", None).unwrap();
    assert_eq!(
        get(&forge, &key, &tree).await.status,
        403,
        "the right was taken away"
    );
    forge
        .set_right(REPO, "contents", Some(Access::Read))
        .unwrap();

    let app = app_token(&forge, forge.private_key_pem(), -30, 300);
    let id = forge.installation_id(REPO).unwrap();
    let mint = format!("/app/installations/{id}/access_tokens");
    let narrow = post(
        &forge,
        &app,
        &mint,
        json!({"permissions": {"checks": "read"}}),
    )
    .await;
    let narrow = narrow.body["token"].as_str().unwrap().to_owned();
    assert_eq!(
        get(&forge, &narrow, &tree).await.status,
        403,
        "not among its rights"
    );
    let more = post(
        &forge,
        &app,
        &mint,
        json!({"permissions": {"contents": "write"}}),
    )
    .await;
    assert_eq!(more.status, 422, "more than the installation has");

    forge.advance(Duration::from_secs(3_601)).unwrap();
    assert_eq!(get(&forge, &key, &tree).await.status, 401, "an hour later");
    forge.assert_clean();
}

#[tokio::test]
async fn a_pull_request_shows_its_test_merge_files_and_commits() {
    let forge = start_forge().await;
    forge
        .create_repo(
            REPO,
            [("src/a.py", "one\ntwo\nthree\n"), ("README.md", "hi\n")],
        )
        .unwrap();
    let main = forge.branch(REPO, "main").unwrap();
    let changes = [
        FileChange::write("src/a.py", "one\n2\nthree\n"),
        FileChange::write("src/b.py", "new"),
        FileChange::entry("run.sh", EntryKind::Executable, "#!/bin/sh\n"),
        FileChange::remove("README.md"),
    ];
    let head = forge
        .push(REPO, "feature/x", changes, "acme-coder[bot]")
        .unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("feature/x", "acme-coder[bot]", "Faster"))
        .unwrap();
    let moved = forge.push(REPO, "main", [("other", "x\n")], "ann").unwrap();
    let key = token(&forge, REPO).await;
    let pull = get(&forge, &key, &format!("/repos/{REPO}/pulls/{number}"))
        .await
        .body;
    assert_eq!(pull["head"]["sha"], head.as_str());
    assert_eq!(
        pull["base"]["sha"],
        main.as_str(),
        "the tip when it was opened"
    );
    assert_eq!(pull["mergeable"], true);
    assert_eq!(pull["user"]["type"], "Bot");
    let merge = pull["merge_commit_sha"].as_str().unwrap();
    let merge = get(&forge, &key, &format!("/repos/{REPO}/git/commits/{merge}"))
        .await
        .body;
    assert_eq!(merge["parents"][0]["sha"], moved.as_str());
    assert_eq!(merge["parents"][1]["sha"], head.as_str());
    let tree = merge["tree"]["sha"].as_str().unwrap();
    let path = format!("/repos/{REPO}/git/trees/{tree}?recursive=1");
    let tree = get(&forge, &key, &path).await.body;
    let paths: Vec<&str> = tree["tree"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["other", "run.sh", "src", "src/a.py", "src/b.py"]);
    assert_eq!(tree["tree"][1]["mode"], "100755");
    assert_eq!(tree["truncated"], false);

    let path = format!("/repos/{REPO}/pulls/{number}/files?per_page=3");
    let files = get(&forge, &key, &path).await;
    assert_eq!(files.body.as_array().unwrap().len(), 3);
    assert!(
        files.link().contains("page=2>; rel=\"next\""),
        "{}",
        files.link()
    );
    assert!(files.link().contains("rel=\"last\""), "{}", files.link());
    let path = format!("/repos/{REPO}/compare/main...{head}");
    let compare = get(&forge, &key, &path).await.body;
    assert_eq!(compare["merge_base_commit"]["sha"], main.as_str());
    assert_eq!(compare["status"], "diverged");
    let file = |name: &str| {
        let files = compare["files"].as_array().unwrap();
        files
            .iter()
            .find(|file| file["filename"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(
        file("src/a.py")["patch"],
        "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    );
    assert_eq!(
        file("src/b.py")["patch"],
        "@@ -0,0 +1,1 @@\n+new\n\\ No newline at end of file"
    );
    assert_eq!(file("README.md")["status"], "removed");
    let path = format!("/repos/{REPO}/pulls/{number}/commits");
    let commits = get(&forge, &key, &path).await.body;
    assert_eq!(commits[0]["sha"], head.as_str());
    assert_eq!(commits[0]["author"]["login"], "acme-coder[bot]");
    forge.assert_clean();
}

#[tokio::test]
async fn a_conflict_has_no_test_merge() {
    let forge = start_forge().await;
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    forge.push(REPO, "x", [("a", "2\n")], "ann").unwrap();
    forge.push(REPO, "main", [("a", "3\n")], "ann").unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("x", "ann", "Two"))
        .unwrap();
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/pulls/{number}");
    let pull = get(&forge, &key, &path).await.body;
    assert_eq!(pull["mergeable"], false);
    assert_eq!(pull["merge_commit_sha"], Value::Null);
    forge
        .edit_pull(REPO, number, |pull| pull.merge_delay = 1)
        .unwrap();
    assert_eq!(
        get(&forge, &key, &path).await.body["mergeable"],
        Value::Null
    );
    assert_eq!(get(&forge, &key, &path).await.body["mergeable"], false);
}

#[tokio::test]
async fn listings_are_cut_at_their_limits() {
    let forge = start_forge().await;
    let files: Vec<(String, &str)> = (0..5).map(|n| (format!("src/{n}.py"), "x\n")).collect();
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    let head = forge.push(REPO, "x", files, "ann").unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("x", "ann", "Five"))
        .unwrap();
    forge.set_limits(Limits {
        tree_entries: 3,
        pull_files: 4,
        compare_files: 2,
        graphql_text: 1,
        ..Limits::default()
    });
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/git/trees/{head}?recursive=0");
    let tree = get(&forge, &key, &path).await.body;
    assert_eq!(tree["truncated"], true);
    assert_eq!(tree["tree"].as_array().unwrap().len(), 3);
    let path = format!("/repos/{REPO}/pulls/{number}/files?per_page=100");
    assert_eq!(
        get(&forge, &key, &path)
            .await
            .body
            .as_array()
            .unwrap()
            .len(),
        4
    );
    let path = format!("/repos/{REPO}/compare/main...x?page=2");
    assert_eq!(get(&forge, &key, &path).await.body["files"], json!([]));
    let blob = tree["tree"][2]["sha"].as_str().unwrap();
    let query = "query($o: String!) { repository(owner: $o, name: \"parser\") {
        b0: object(oid: \"BLOB\") { ... on Blob { oid byteSize isBinary isTruncated text } } } }"
        .replace("BLOB", blob);
    let asked = json!({ "query": query, "variables": { "o": "acme" } });
    let answer = post(&forge, &key, "/graphql", asked).await.body;
    let object = &answer["data"]["repository"]["b0"];
    assert_eq!(object["isTruncated"], true, "{answer}");
    assert_eq!(object["text"], "x");
    assert_eq!(object["byteSize"], 2);
    forge.assert_clean();
}

#[tokio::test]
async fn blobs_come_as_base64_raw_and_text() {
    let forge = start_forge().await;
    let head = forge
        .create_repo(REPO, [("bin", b"\0\xff".to_vec())])
        .unwrap();
    let key = token(&forge, REPO).await;
    let tree = get(&forge, &key, &format!("/repos/{REPO}/git/trees/{head}"))
        .await
        .body;
    let blob = tree["tree"][0]["sha"].as_str().unwrap();
    let answer = get(&forge, &key, &format!("/repos/{REPO}/git/blobs/{blob}"))
        .await
        .body;
    assert_eq!(answer["content"], "AP8=");
    let raw = reqwest::Client::new()
        .get(format!("{}/repos/{REPO}/git/blobs/{blob}", forge.url()))
        .bearer_auth(&key)
        .header("accept", "application/vnd.github.raw+json")
        .send()
        .await
        .unwrap();
    assert_eq!(raw.bytes().await.unwrap().as_ref(), b"\0\xff");
    let query = format!(
        "{{ repository(owner: \"acme\", name: \"parser\") {{ b: object(oid: \"{blob}\") {{ ...on Blob {{ isBinary text }} }} }} }}"
    );
    let answer = post(&forge, &key, "/graphql", json!({ "query": query }))
        .await
        .body;
    assert_eq!(
        answer["data"]["repository"]["b"],
        json!({"isBinary": true, "text": null})
    );
}

fn annotations(count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| {
            json!({ "path": "a", "start_line": n + 1, "end_line": n + 1,
                "annotation_level": "failure", "message": "m" })
        })
        .collect()
}

#[tokio::test]
async fn check_runs_have_the_real_limits() {
    let forge = start_forge().await;
    let head = forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/check-runs");
    let with = |extra: Value| {
        let mut body = json!({ "name": "frostline", "head_sha": head });
        body.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        body
    };
    let output = |extra: Value| {
        let mut output = json!({ "title": "t", "summary": "s" });
        output
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        with(json!({ "output": output }))
    };
    let button = |label: &str| json!({ "label": label, "description": "d", "identifier": "i" });
    let refused = [
        output(json!({ "summary": "x".repeat(65_536) })),
        output(json!({ "annotations": annotations(51) })),
        with(json!({ "status": "completed" })),
        with(json!({ "conclusion": "stale" })),
        with(json!({ "actions": [button(&"x".repeat(21))] })),
        with(json!({ "actions": vec![button("x"); 4] })),
        json!({ "name": "frostline" }),
        json!({ "name": "frostline", "head_sha": "0".repeat(40) }),
    ];
    for body in refused {
        let answer = post(&forge, &key, &path, body.clone()).await;
        assert_eq!(answer.status, 422, "{body}");
    }
    assert!(
        forge.check_runs(REPO, &head).is_empty(),
        "a refused call changes nothing"
    );
    let fits = output(json!({ "summary": "x".repeat(65_535), "annotations": annotations(50) }));
    assert_eq!(post(&forge, &key, &path, fits).await.status, 201);
    forge.assert_clean();
}

#[tokio::test]
async fn a_completed_check_run_is_final_and_the_newest_counts() {
    let forge = start_forge().await;
    let head = forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/check-runs");
    let open = json!({ "name": "frostline", "head_sha": head, "status": "in_progress" });
    let first = post(&forge, &key, &path, open.clone()).await.body["id"]
        .as_u64()
        .unwrap();
    let one = format!("{path}/{first}");
    let output = json!({ "title": "t", "summary": "s", "annotations": annotations(50) });
    patch(&forge, &key, &one, json!({ "output": output })).await;
    patch(
        &forge,
        &key,
        &one,
        json!({ "conclusion": "failure", "output": output }),
    )
    .await;
    let again = patch(&forge, &key, &one, json!({ "status": "in_progress" })).await;
    assert_eq!(
        (again.status, &again.body["status"]),
        (200, &json!("completed"))
    );
    let other = patch(&forge, &key, &one, json!({ "conclusion": "success" })).await;
    assert_eq!(other.body["conclusion"], "failure");
    assert_eq!(
        other.body["output"]["annotations_count"], 100,
        "annotations add up"
    );
    let second = post(&forge, &key, &path, open).await.body["id"]
        .as_u64()
        .unwrap();
    let list = format!("/repos/{REPO}/commits/{head}/check-runs?check_name=frostline");
    let latest = get(&forge, &key, &list).await.body;
    assert_eq!(latest["total_count"], 1);
    assert_eq!(latest["check_runs"][0]["id"], second);
    let all = get(&forge, &key, &format!("{list}&filter=all")).await.body;
    assert_eq!(all["total_count"], 2);
    forge.assert_clean();
}

#[tokio::test]
async fn comments_are_made_edited_and_folded_away() {
    // It is asked what GitHub knows nothing of.
    let forge = Forge::start_with(app_key()).await.unwrap();
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    forge.push(REPO, "x", [("a", "2\n")], "ann").unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("x", "ann", "Two"))
        .unwrap();
    let foreign = forge.add_comment(REPO, number, "ann", "hello").unwrap();
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/issues/{number}/comments");
    let made = post(&forge, &key, &path, json!({ "body": "one" }))
        .await
        .body;
    let own = format!("/repos/{REPO}/issues/comments/{}", made["id"]);
    assert_eq!(
        patch(&forge, &key, &own, json!({ "body": "two" }))
            .await
            .status,
        200
    );
    let theirs = format!("/repos/{REPO}/issues/comments/{foreign}");
    assert_eq!(
        patch(&forge, &key, &theirs, json!({ "body": "two" }))
            .await
            .status,
        403
    );
    let mutate = async |fields: &str| {
        let query = format!("mutation($id: ID!, $body: String!) {{ {fields} }}");
        let variables = json!({ "id": made["node_id"], "body": "three" });
        let asked = json!({ "query": query, "variables": variables });
        post(&forge, &key, "/graphql", asked).await.body
    };
    let edit = "updateIssueComment(input: {id: $id, body: $body}) { clientMutationId }";
    let fold =
        "minimizeComment(input: {subjectId: $id, classifier: RESOLVED}) { clientMutationId }";
    let unfold = "unminimizeComment(input: {subjectId: $id}) { clientMutationId }";
    let folded = || forge.comments(REPO, number)[1].minimized.clone();
    assert!(mutate(fold).await["errors"].is_null());
    assert_eq!(folded().as_deref(), Some("RESOLVED"));
    assert!(mutate(unfold).await["errors"].is_null());
    assert_eq!(folded(), None);
    assert!(mutate(&format!("{edit} {fold}")).await["errors"].is_null());
    let comments = forge.comments(REPO, number);
    assert_eq!(comments.len(), 2);
    assert_eq!(comments[1].body, "three");
    assert_eq!(comments[1].author, forge.bot_login());
    assert_eq!(comments[1].minimized.as_deref(), Some("RESOLVED"));
    forge.assert_clean();
    let unknown = "deleteEverything(input: {id: $id}) { clientMutationId }";
    mutate(&format!("{unfold} {unknown}")).await;
    assert_eq!(
        folded().as_deref(),
        Some("RESOLVED"),
        "invalid: no effect at all"
    );
    assert_eq!(forge.problems().len(), 1);
}

#[tokio::test]
async fn faults_strike_before_or_after_the_effect() {
    let forge = start_forge().await;
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    forge.push(REPO, "x", [("a", "2\n")], "ann").unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("x", "ann", "Two"))
        .unwrap();
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/issues/{number}/comments");
    let body = json!({ "body": "one" });
    forge.fault(Fault::next("POST", "/comments", FaultAnswer::Status(502)));
    assert_eq!(post(&forge, &key, &path, body.clone()).await.status, 502);
    assert!(forge.comments(REPO, number).is_empty());
    forge.fault(Fault::next("POST", "/comments", FaultAnswer::Status(502)).after());
    assert_eq!(post(&forge, &key, &path, body.clone()).await.status, 502);
    assert_eq!(
        forge.comments(REPO, number).len(),
        1,
        "done, but the answer was lost"
    );
    let wait = Duration::from_secs(60);
    forge.fault(Fault::next("", "", FaultAnswer::RateLimited(wait)));
    let limited = post(&forge, &key, &path, body.clone()).await;
    assert_eq!(limited.status, 403);
    assert_eq!(limited.headers["x-ratelimit-remaining"], "0");
    forge.fault(Fault::next("GET", "/comments", FaultAnswer::HangUp).skip(1));
    assert_eq!(get(&forge, &key, &path).await.status, 200);
    let url = format!("{}{path}", forge.url());
    let lost = reqwest::Client::new()
        .get(url)
        .bearer_auth(&key)
        .send()
        .await;
    assert!(lost.is_err(), "the connection broke");
    forge.assert_clean();
}

#[tokio::test]
async fn an_unknown_route_is_a_problem() {
    let forge = start_forge().await;
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    let key = token(&forge, REPO).await;
    let path = format!("/repos/{REPO}/contents/a");
    assert_eq!(get(&forge, &key, &path).await.status, 404);
    assert_eq!(
        patch(&forge, &key, &format!("/repos/{REPO}"), json!({}))
            .await
            .status,
        404
    );
    assert_eq!(forge.problems().len(), 2, "{:?}", forge.problems());
    assert_eq!(forge.requests().len(), 3);
}

#[tokio::test]
async fn webhooks_are_signed_over_their_bytes() {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let forge = start_forge().await;
    forge.create_repo(REPO, [("a", "1\n")]).unwrap();
    forge
        .push(REPO, "x", [("a", "2\n")], "acme-coder[bot]")
        .unwrap();
    let number = forge
        .open_pull(REPO, NewPull::new("x", "acme-coder[bot]", "Two"))
        .unwrap();
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(forge.webhook_secret().as_bytes()).unwrap();
    mac.update(&hook.body);
    let expected = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(hook.signature, expected);
    let payload: Value = serde_json::from_slice(&hook.body).unwrap();
    assert_eq!(
        payload["installation"]["id"],
        forge.installation_id(REPO).unwrap()
    );
    assert_eq!(payload["pull_request"]["number"], number);
    assert_eq!(app_key().private_pem(), forge.private_key_pem());
}

/// Every route once: the test's forge compares each answer with the published description.
#[tokio::test]
async fn answers_are_as_the_forge_describes_them() {
    let forge = start_forge().await;
    forge
        .create_repo(REPO, [("src/a.py", "one\n"), ("README.md", "hi\n")])
        .unwrap();
    let changes = [
        FileChange::write("src/a.py", "two\n"),
        FileChange::entry("link", EntryKind::Symlink, "src/a.py"),
        FileChange::entry("sub", EntryKind::Submodule, "1".repeat(40)),
        FileChange::remove("README.md"),
    ];
    let head = forge
        .push(REPO, "fix/one", changes, "acme-coder[bot]")
        .unwrap();
    let mut new = NewPull::new("fix/one", "acme-coder[bot]", "One");
    (new.body, new.labels, new.draft) = (Some("text"), &["codex"], true);
    let number = forge.open_pull(REPO, new).unwrap();
    let required = [
        (None, true),
        (Some(7), true),
        (None, false),
        (Some(7), false),
    ];
    let required = required.map(|(app, by_protection)| Required {
        branch: "main".to_owned(),
        context: "frostline".to_owned(),
        app,
        by_protection,
    });
    forge.require(REPO, required.to_vec()).unwrap();
    let key = token(&forge, REPO).await;
    let app = app_token(&forge, forge.private_key_pem(), -30, 300);
    let installation = forge.installation_id(REPO).unwrap();
    for path in [
        "/app".to_owned(),
        format!("/app/installations/{installation}"),
    ] {
        assert_eq!(get(&forge, &app, &path).await.status, 200, "{path}");
    }
    let tree = get(
        &forge,
        &key,
        &format!("/repos/{REPO}/git/trees/{head}?recursive=1"),
    )
    .await;
    let blob = tree.body["tree"][0]["sha"].as_str().unwrap().to_owned();
    let body = json!({ "name": "frostline", "head_sha": head, "status": "in_progress",
        "output": { "title": "t", "summary": "s", "annotations": annotations(1) } });
    let run = post(&forge, &key, &format!("/repos/{REPO}/check-runs"), body)
        .await
        .body;
    let run = format!("/repos/{REPO}/check-runs/{}", run["id"]);
    patch(
        &forge,
        &key,
        &run,
        json!({ "status": "completed", "conclusion": "success" }),
    )
    .await;
    let comments = format!("/repos/{REPO}/issues/{number}/comments");
    let made = post(&forge, &key, &comments, json!({ "body": "one" }))
        .await
        .body;
    let comment = format!("/repos/{REPO}/issues/comments/{}", made["id"]);
    patch(&forge, &key, &comment, json!({ "body": "two" })).await;
    for path in [
        format!("/repos/{REPO}"),
        format!("/repos/{REPO}/pulls"),
        format!("/repos/{REPO}/pulls/{number}"),
        format!("/repos/{REPO}/pulls/{number}/files"),
        format!("/repos/{REPO}/pulls/{number}/commits"),
        format!("/repos/{REPO}/compare/main...fix/one"),
        format!("/repos/{REPO}/branches/fix/one"),
        format!("/repos/{REPO}/branches/main"),
        format!("/repos/{REPO}/rules/branches/main"),
        format!("/repos/{REPO}/rules/branches/main?per_page=1&page=2"),
        format!("/repos/{REPO}/git/ref/heads/fix/one"),
        format!("/repos/{REPO}/git/commits/{head}"),
        format!("/repos/{REPO}/git/trees/{head}"),
        format!("/repos/{REPO}/git/blobs/{blob}"),
        format!("/repos/{REPO}/commits/{head}/check-runs?check_name=frostline"),
        format!("/repos/{REPO}/commits/{head}/pulls"),
        run,
        comments,
        comment.clone(),
    ] {
        assert_eq!(get(&forge, &key, &path).await.status, 200, "{path}");
    }
    let reactions = format!("{comment}/reactions");
    for status in [201, 200] {
        let answer = post(&forge, &key, &reactions, json!({ "content": "eyes" })).await;
        assert_eq!(answer.status, status);
    }
    for role in ["read", "triage", "write", "maintain", "admin"] {
        forge.set_role(REPO, "ann", Some(role)).unwrap();
        let path = format!("/repos/{REPO}/collaborators/ann/permission");
        assert_eq!(get(&forge, &key, &path).await.status, 200, "{role}");
    }
    for state in ["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"] {
        forge.review(REPO, number, "ann", state).unwrap();
    }
    let reviews = format!("/repos/{REPO}/pulls/{number}/reviews");
    assert_eq!(get(&forge, &key, &reviews).await.status, 200);
    assert_eq!(
        get(&forge, &key, "/installation/repositories").await.status,
        200
    );
    let app = app_token(&forge, forge.private_key_pem(), -30, 300);
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    forge.note_delivery(&hook, None);
    forge.note_delivery(&hook, Some(202));
    let list = get(&forge, &app, "/app/hook/deliveries?per_page=1").await;
    assert!(list.link().contains("&cursor=v1_"), "{}", list.link());
    assert_eq!(list.body[0]["redelivery"], true);
    let again = format!("/app/hook/deliveries/{}/attempts", list.body[0]["id"]);
    let again = post(&forge, &app, &again, Value::Null).await;
    assert_eq!(again.status, 202);
    assert_eq!(get(&forge, &app, "/app/installations").await.status, 200);
    let missing = format!("/repos/{REPO}/git/commits/{}", "0".repeat(40));
    assert_eq!(get(&forge, &key, &missing).await.status, 404);
    forge.assert_clean();
}
