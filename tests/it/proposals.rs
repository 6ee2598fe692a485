//! Contract pull requests that this App opens at a person's command (interfaces section 7, protocol 5.5).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use frostline::demo::forge::{Access, Answer, CheckRun, Fault, NewPull};
use frostline::model::PrNumber;
use frostline::store::AskResult;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, REPO, contract, manifest, sha256, two_fixtures};

const WRITER: &str = "wendy";
const OTHER: &str = "otto";
const READER: &str = "rita";
const FIXTURE: &str = "tests/fixtures/a.json";
const LOCK: &str = "test/contract/fixtures.lock.json";
const NEW: &[u8] = b"{\"a\": 2}\n";

/// An agent's judged pull request that changes a fixture with production.
async fn desk() -> (TestApp, u64) {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app.forge
        .set_right(REPO, "contents", Some(Access::Write))
        .unwrap();
    for (login, role) in [(WRITER, "write"), (OTHER, "write"), (READER, "read")] {
        app.forge.set_role(REPO, login, Some(role)).unwrap();
    }
    let number = patch(&app, "fix", AGENT).await;
    (app, number)
}

async fn patch(app: &TestApp, branch: &str, author: &str) -> u64 {
    let files = [(FIXTURE, NEW), ("src/parse.py", b"p = 1\n")];
    app.forge.push(REPO, branch, files, author).unwrap();
    let number = app
        .open_pull(REPO, NewPull::new(branch, author, "Fix"))
        .await;
    app.drain().await;
    number
}

/// A comment, its webhook, and the jobs. Gives what came of its first line, and the newest reply.
async fn say(app: &TestApp, number: u64, login: &str, body: &str) -> (AskResult, String) {
    let comment = app.forge.add_comment(REPO, number, login, body).unwrap();
    let hook = app.forge.comment_webhook(REPO, comment, "created").unwrap();
    assert_eq!(app.deliver(&hook).await, 202, "{body}");
    app.drain().await;
    (result(app, number).await, newest_reply(app, number))
}

async fn result(app: &TestApp, number: u64) -> AskResult {
    let repo = REPO.parse().unwrap();
    let asks = app.store.asks(&repo, PrNumber(number)).await.unwrap();
    asks.last().unwrap().lines[0].result.expect("a result")
}

fn newest_reply(app: &TestApp, number: u64) -> String {
    let comments = app.forge.comments(REPO, number).into_iter();
    comments
        .filter(|one| one.author == app.forge.bot_login())
        .map(|one| one.body)
        .next_back()
        .unwrap_or_default()
}

/// The bot's pull request is told of, and judged.
async fn judged(app: &TestApp, number: u64) -> CheckRun {
    let hook = app.forge.pull_webhook(REPO, number, "opened").unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
    app.drain().await;
    run(app, number)
}

fn run(app: &TestApp, number: u64) -> CheckRun {
    let head = app.forge.head(REPO, number).unwrap();
    app.forge.check_runs(REPO, &head).pop().expect("a run")
}

#[tokio::test]
async fn a_lock_is_proposed_with_the_fixtures_and_counts_as_the_requesters() {
    let (app, number) = desk().await;
    let (result, reply) = say(&app, number, WRITER, "/frostline lock").await;
    assert_eq!(result, AskResult::Done, "{reply}");
    let own = number + 1;
    assert!(reply.contains(&format!("#{own}")), "{reply}");

    let branch = format!("frostline/lock/pull-{number}");
    let lock = app.forge.file(REPO, &branch, LOCK).unwrap().unwrap();
    let lock = String::from_utf8(lock).unwrap();
    assert!(lock.contains(&sha256(NEW)), "{lock}");
    assert_eq!(
        app.forge.file(REPO, &branch, FIXTURE).unwrap().unwrap(),
        NEW
    );
    let source = app.forge.file(REPO, &branch, "src/parse.py").unwrap();
    assert_eq!(
        source,
        app.forge.file(REPO, "main", "src/parse.py").unwrap()
    );

    let pull = app.forge.pull(REPO, own).unwrap();
    assert_eq!(pull.author, app.forge.bot_login());
    assert_eq!(pull.base_branch, "main");
    let body = pull.body.unwrap();
    for part in [WRITER, FIXTURE, &sha256(NEW), "`/frostline lock`"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let message = app.forge.message(REPO, &branch).unwrap();
    assert!(message.contains("Co-authored-by: wendy <"), "{message}");

    // It is always a person's to confirm, and not the one who asked.
    let run = judged(&app, own).await;
    assert_eq!(run.conclusion.as_deref(), Some("action_required"));
    let summary = run.summary.unwrap();
    assert!(summary.contains("`own-proposal`"), "{summary}");
    assert!(summary.contains("at the command of"), "{summary}");
    approve(&app, own, WRITER).await;
    assert_eq!(conclusion(&app, own), "action_required");
    approve(&app, own, OTHER).await;
    assert_eq!(conclusion(&app, own), "success");

    // Once it is merged the patch is judged by the new lock.
    let head = app.forge.head(REPO, own).unwrap();
    app.forge.reset_branch(REPO, "main", &head).unwrap();
    let push = app.forge.push_webhook(REPO, "main").unwrap();
    assert_eq!(app.deliver(&push).await, 202);
    app.advance(chrono::TimeDelta::minutes(10));
    app.drain().await;
    let summary = self::run(&app, number).summary.unwrap();
    assert!(!summary.contains("`digest-mismatch`"), "{summary}");
    app.finish().await;
}

async fn approve(app: &TestApp, number: u64, login: &str) {
    let review = app.forge.review(REPO, number, login, "APPROVED").unwrap();
    let hook = app.forge.review_webhook(REPO, review, "submitted").unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
    app.drain().await;
}

fn conclusion(app: &TestApp, number: u64) -> String {
    run(app, number).conclusion.unwrap()
}

#[tokio::test]
async fn with_another_head_it_is_an_agents() {
    let (app, number) = desk().await;
    say(&app, number, WRITER, "/frostline lock").await;
    let branch = format!("frostline/lock/pull-{number}");
    app.forge
        .push(REPO, &branch, [("README.md", "mine\n")], "mallory")
        .unwrap();
    let run = judged(&app, number + 1).await;
    let summary = run.summary.unwrap();
    assert!(!summary.contains("at the command of"), "{summary}");
    assert!(summary.contains("a bot that is not known"), "{summary}");

    // And what somebody put there is left alone.
    let tip = app.forge.branch(REPO, &branch).unwrap();
    let (result, reply) = say(&app, number, OTHER, "/frostline lock").await;
    assert_eq!(result, AskResult::Refused);
    assert!(reply.contains("did not make"), "{reply}");
    assert_eq!(app.forge.branch(REPO, &branch).unwrap(), tip);
    app.finish().await;
}

/// A push to the bot's branch right after each request of a command that moves it, until there are no more.
#[tokio::test]
async fn a_push_that_comes_in_while_the_branch_is_moved_is_never_overwritten() {
    let (mut before_the_move, mut after_it) = (0, 0);
    for at in 0.. {
        assert!(at < 60, "no end of requests");
        let (app, number) = desk().await;
        say(&app, number, WRITER, "/frostline lock").await;
        let branch = format!("frostline/lock/pull-{number}");
        let app = std::sync::Arc::new(app);
        let (pusher, to) = (app.clone(), branch.clone());
        let from = app.forge.requests().len();
        let fault = Fault::next("", "", Answer::AsItIs).skip(at).after();
        app.forge.fault(fault.calling(move || {
            let change = [("README.md", "mine\n")];
            pusher.forge.push(REPO, &to, change, "mallory").unwrap();
        }));
        let (result, reply) = say(&app, number, OTHER, "/frostline lock").await;
        let requests = app.forge.requests().len() - from;
        app.forge.clear_faults();
        if at >= requests {
            break;
        }
        let readme = app.forge.file(REPO, &branch, "README.md").unwrap();
        assert_eq!(readme.unwrap(), b"mine\n", "request {at}: the push is lost");
        match result {
            AskResult::Refused => {
                assert!(reply.contains("did not make"), "request {at}: {reply}");
                before_the_move += 1;
            }
            other => {
                assert_eq!(other, AskResult::Done, "request {at}: {reply}");
                after_it += 1;
            }
        }
        std::sync::Arc::into_inner(app).unwrap().finish().await;
    }
    assert!(
        before_the_move > 5 && after_it > 2,
        "{before_the_move} {after_it}"
    );
}

#[tokio::test]
async fn asked_twice_it_is_one_pull_request_and_both_who_asked_are_barred() {
    let (app, number) = desk().await;
    say(&app, number, WRITER, "/frostline lock").await;
    let own = number + 1;
    let head = app.forge.head(REPO, own).unwrap();
    let (result, reply) = say(&app, number, WRITER, "/frostline lock").await;
    assert_eq!(result, AskResult::Done);
    assert!(reply.contains("It is up to date"), "{reply}");
    assert_eq!(
        app.forge.head(REPO, own).unwrap(),
        head,
        "nothing was written"
    );

    say(&app, number, OTHER, "/frostline lock").await;
    assert!(app.forge.pull(REPO, own + 1).is_none(), "no second one");
    let message = app
        .forge
        .message(REPO, &format!("frostline/lock/pull-{number}"))
        .unwrap();
    for login in [WRITER, OTHER] {
        assert!(
            message.contains(&format!("Co-authored-by: {login} <")),
            "{message}"
        );
    }
    judged(&app, own).await;
    for login in [WRITER, OTHER] {
        approve(&app, own, login).await;
        assert_eq!(conclusion(&app, own), "action_required", "{login}");
    }
    app.finish().await;
}

#[tokio::test]
async fn when_the_base_moved_it_is_rebuilt_on_the_new_tip() {
    let (app, number) = desk().await;
    say(&app, number, WRITER, "/frostline lock").await;
    app.forge
        .push(REPO, "main", [("README.md", "moved\n")], "alice")
        .unwrap();
    // On the old tip it would be refused: the base that was shown is not the one that it would be built on.
    let (result, _) = say(&app, number, WRITER, "/frostline lock").await;
    assert_eq!(result, AskResult::Moved);
    // The forge's clock has whole seconds.
    app.forge
        .advance(std::time::Duration::from_secs(2))
        .unwrap();
    say(&app, number, OTHER, "/frostline recheck").await;
    let (result, reply) = say(&app, number, WRITER, "/frostline lock").await;
    assert_eq!(result, AskResult::Done, "{reply}");
    let branch = format!("frostline/lock/pull-{number}");
    let readme = app.forge.file(REPO, &branch, "README.md").unwrap().unwrap();
    assert_eq!(readme, b"moved\n");
    assert!(app.forge.pull(REPO, number + 2).is_none());
    app.finish().await;
}

#[tokio::test]
async fn it_is_for_writers_whom_the_patch_does_not_concern() {
    let (app, number) = desk().await;
    let (result, reply) = say(&app, number, READER, "/frostline lock").await;
    assert_eq!(result, AskResult::Refused);
    assert!(reply.contains("people with write access"), "{reply}");

    // A writer with an open patch that changes the same fixture.
    let theirs = patch(&app, "theirs", OTHER).await;
    for at in [number, theirs] {
        let (result, reply) = say(&app, at, OTHER, "/frostline lock").await;
        assert_eq!(result, AskResult::Refused);
        assert!(reply.contains(&format!("pull request {theirs}")), "{reply}");
    }
    // Who pushed to the agent's patch is concerned by it.
    app.forge
        .push(REPO, "fix", [("src/parse.py", "p = 2\n")], WRITER)
        .unwrap();
    let hook = app
        .forge
        .pull_webhook_by(REPO, number, "synchronize", WRITER)
        .unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
    app.drain().await;
    let (result, _) = say(&app, number, WRITER, "/frostline lock").await;
    assert_eq!(result, AskResult::Refused);
    assert!(app.forge.pull(REPO, theirs + 1).is_none());
    app.finish().await;
}

#[tokio::test]
async fn a_map_rule_and_a_note_are_proposed_and_not_by_whom_they_concern() {
    let (app, number) = desk().await;
    let map = "/frostline map src/new.py tests/properties/test_parse.py::test_roundtrip";
    let (result, reply) = say(&app, number, WRITER, map).await;
    assert_eq!(result, AskResult::Done, "{reply}");
    let own = app.forge.pull(REPO, number + 1).unwrap();
    let file = "test/contract/hunk-map.json";
    let text = app.forge.file(REPO, &own.head_branch, file).unwrap();
    assert!(
        String::from_utf8(text.unwrap())
            .unwrap()
            .contains("src/new.py")
    );
    let run = judged(&app, number + 1).await;
    assert_eq!(run.conclusion.as_deref(), Some("action_required"));

    let note = format!("/frostline note {FIXTURE} \"Counts from @two now.\"");
    let (result, reply) = say(&app, number, WRITER, &note).await;
    assert_eq!(result, AskResult::Done, "{reply}");
    // A note alone passes; what this App was asked for still needs a second person.
    let run = judged(&app, number + 2).await;
    assert_eq!(run.conclusion.as_deref(), Some("action_required"));

    // Whoever has a patch below a path does not say what guards it.
    app.forge
        .push(REPO, "theirs", [("src/more/x.py", "x = 1\n")], OTHER)
        .unwrap();
    app.open_pull(REPO, NewPull::new("theirs", OTHER, "More"))
        .await;
    app.drain().await;
    let map = "/frostline map src/more/ tests/properties/test_parse.py::test_roundtrip";
    let (result, _) = say(&app, number, OTHER, map).await;
    assert_eq!(result, AskResult::Refused);
    app.finish().await;
}

#[tokio::test]
async fn without_the_permission_the_answer_holds_a_patch_that_applies() {
    let (app, number) = desk().await;
    app.forge
        .set_right(REPO, "contents", Some(Access::Read))
        .unwrap();
    let (result, reply) = say(&app, number, WRITER, "/frostline lock").await;
    assert_eq!(result, AskResult::Done);
    assert!(reply.contains("may not write contents"), "{reply}");
    assert!(app.forge.pull(REPO, number + 1).is_none());

    let patch = reply.split("```diff\n").nth(1).unwrap();
    let patch = patch.split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let old = app.forge.file(REPO, "main", LOCK).unwrap().unwrap();
    let target = folder.path().join(LOCK);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::write(&target, old).unwrap();
    std::fs::write(folder.path().join("lock.patch"), patch).unwrap();
    let applied = std::process::Command::new("git")
        .args(["apply", "lock.patch"])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(applied.success(), "{patch}");
    let new = std::fs::read_to_string(&target).unwrap();
    assert!(new.contains(&sha256(NEW)), "{new}");
    app.finish().await;
}

/// Somebody presses a button of the pull request's check-run.
async fn press(app: &TestApp, number: u64, login: &str, button: &str) -> AskResult {
    let head = app.forge.head(REPO, number).unwrap();
    let run = (&head, "frostline");
    let hook = app
        .forge
        .run_webhook(REPO, run, "requested_action", (login, Some(button)));
    assert_eq!(app.deliver(&hook.unwrap()).await, 202);
    app.drain().await;
    result(app, number).await
}

#[tokio::test]
async fn the_button_proposes_with_the_rights_of_who_presses_it() {
    let (app, number) = desk().await;
    let run = run(&app, number);
    let labels: Vec<_> = run.actions.iter().map(|one| one["label"].clone()).collect();
    assert_eq!(labels, ["Re-check", "Propose lock"]);
    let press = async |login: &str| press(&app, number, login, "lock").await;
    assert_eq!(press(READER).await, AskResult::Refused);
    assert!(app.forge.pull(REPO, number + 1).is_none());
    assert_eq!(press(WRITER).await, AskResult::Done);
    assert!(app.forge.pull(REPO, number + 1).is_some());
    let reply = newest_reply(&app, number);
    assert!(reply.contains(&format!("#{}", number + 1)), "{reply}");
    app.finish().await;
}

/// Every request from the command on in turn, until there are no more.
async fn lose_every_request(after: bool) {
    let mut losses = 0;
    for at in 0.. {
        assert!(at < 60, "no end of requests");
        let (app, number) = desk().await;
        let before = app.forge.requests().len();
        let fault = Fault::next("", "", Answer::HangUp).skip(at);
        app.forge.fault(if after { fault.after() } else { fault });
        let body = "/frostline lock";
        let comment = app.forge.add_comment(REPO, number, WRITER, body).unwrap();
        let hook = app.forge.comment_webhook(REPO, comment, "created").unwrap();
        assert_eq!(app.deliver(&hook).await, 202);
        app.drain().await;
        app.forge.clear_faults();
        app.advance(chrono::TimeDelta::hours(1));
        app.drain().await;
        let what = format!("request {at}, after its effect: {after}");
        assert_eq!(result(&app, number).await, AskResult::Done, "{what}");
        assert!(app.forge.pull(REPO, number + 1).is_some(), "{what}");
        assert!(app.forge.pull(REPO, number + 2).is_none(), "{what}");
        let replies = app.forge.comments(REPO, number).into_iter();
        let replies = replies.filter(|one| one.body.contains("proposes it"));
        assert_eq!(replies.count(), 1, "{what}");
        let made = app.forge.requests().len() - before;
        // The opened pull request is its requester's, whatever went wrong on the way.
        let run = judged(&app, number + 1).await;
        assert!(run.summary.unwrap().contains("at the command of"), "{what}");
        app.finish().await;
        if at > made {
            break;
        }
        losses += 1;
    }
    assert!(losses > 12, "{losses} requests");
}

#[tokio::test]
async fn a_lost_request_is_made_again() {
    lose_every_request(false).await;
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_pull_request() {
    lose_every_request(true).await;
}

const LEDGER: &str = "tests/seed_freeze.json";
const NODE: &str = "tests/properties/test_parse.py::test_roundtrip";

/// The digest of the scope whose first fixture has these bytes.
fn manifest_with(bytes: &[u8]) -> String {
    let [first, second] = [0, 1].map(|at| two_fixtures()[at].clone());
    manifest(&[(first.0, bytes.to_vec()), second])
}

/// An agent's patch that changes the fixture to which a freeze is bound.
async fn frozen_desk(owner: &str) -> (TestApp, u64) {
    let app = TestApp::start().await;
    let row = serde_json::json!({"nodeid": NODE, "seed": 7,
        "fixture_digest": manifest(&two_fixtures()), "reason": "CLOCK",
        "replay": format!("pytest {NODE} --hypothesis-seed=7"),
        "opened_at": "2026-11-01T00:00:00Z", "expires_at": null, "status": "open", "owner": owner});
    let ledger = serde_json::json!({"schema": "seed-freeze-v1", "entries": [row]});
    let mut files = contract(&two_fixtures());
    files.push((LEDGER, ledger.to_string()).into());
    app.forge.create_repo(REPO, files).unwrap();
    app.forge
        .set_right(REPO, "contents", Some(Access::Write))
        .unwrap();
    for (login, role) in [(WRITER, "write"), (OTHER, "write"), ("max", "maintain")] {
        app.forge.set_role(REPO, login, Some(role)).unwrap();
    }
    let number = patch(&app, "fix", AGENT).await;
    (app, number)
}

#[tokio::test]
async fn a_void_row_is_reopened_by_its_owner_and_nobody_elses_writer() {
    let (app, number) = frozen_desk("@wendy").await;
    let comment = comment_of(&app, number);
    for part in ["@wendy", NODE, "/frostline reopen"] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    let line = format!("/frostline reopen {NODE}");
    let (result, reply) = say(&app, number, OTHER, &line).await;
    assert_eq!(result, AskResult::Refused);
    assert!(reply.contains("`@wendy`"), "who could: {reply}");
    assert!(app.forge.pull(REPO, number + 1).is_none());

    let (result, reply) = say(&app, number, WRITER, &line).await;
    assert_eq!(result, AskResult::Done, "{reply}");
    assert!(reply.contains("freeze-candidate"), "{reply}");
    let pull = app.forge.pull(REPO, number + 1).unwrap();
    let text = app.forge.file(REPO, &pull.head_branch, LEDGER).unwrap();
    let text = String::from_utf8(text.unwrap()).unwrap();
    assert!(text.contains(&manifest_with(NEW)), "{text}");
    assert!(text.contains("candidate"), "{text}");
    let (result, _) = say(&app, number, "max", &format!("/frostline close {NODE}")).await;
    assert_eq!(result, AskResult::Done);
    app.finish().await;
}

fn comment_of(app: &TestApp, number: u64) -> String {
    let all = app.forge.comments(REPO, number).into_iter();
    let mut ours = all.filter(|one| one.body.contains("frostline:comment:"));
    ours.next().expect("the comment").body
}

#[tokio::test]
async fn a_fixture_that_is_changed_back_is_told_of_where_its_change_was() {
    let (app, number) = frozen_desk("@wendy").await;
    assert!(comment_of(&app, number).contains(NODE));
    assert!(run(&app, number).summary.unwrap().contains("| void:"));
    // Changed back by the same patch: what the comment named is resolved.
    let (old, bytes) = (FIXTURE, two_fixtures()[0].1.clone());
    app.push(REPO, number, "fix", [(old, bytes.clone())]).await;
    app.drain().await;
    let comments = app.forge.comments(REPO, number);
    let ours = comments
        .iter()
        .find(|one| one.body.contains("frostline:comment:"));
    let ours = ours.expect("the comment");
    assert!(!ours.body.contains("/frostline reopen"), "{}", ours.body);
    assert!(!run(&app, number).summary.unwrap().contains("| void:"));

    // Changed on the base branch, and brought back by a patch: valid again, and told.
    let lock = app.forge.file(REPO, "main", LOCK).unwrap().unwrap();
    let lock = String::from_utf8(lock).unwrap();
    let changed = lock.replace(&sha256(&bytes), &sha256(NEW));
    let drift = [(FIXTURE, NEW), (LOCK, changed.as_bytes())];
    app.forge.push(REPO, "main", drift, "max").unwrap();
    let back = [(FIXTURE, bytes.as_slice()), (LOCK, lock.as_bytes())];
    app.forge.push(REPO, "back", back, AGENT).unwrap();
    let back = app
        .open_pull(REPO, NewPull::new("back", AGENT, "Bring it back"))
        .await;
    app.drain().await;
    let summary = run(&app, back).summary.unwrap();
    assert!(summary.contains("valid again"), "{summary}");
    app.finish().await;
}

#[tokio::test]
async fn a_team_owns_a_row_as_far_as_its_members_may_be_read() {
    let (app, number) = frozen_desk("@acme/parse").await;
    app.forge.set_team("acme/parse", &[WRITER]);
    let line = format!("/frostline close {NODE}");
    // The installation does not say who is in a team.
    let (result, reply) = say(&app, number, WRITER, &line).await;
    assert_eq!(result, AskResult::Refused);
    assert!(reply.contains("could not be told"), "{reply}");

    app.forge
        .set_right(REPO, "members", Some(Access::Read))
        .unwrap();
    let (result, _) = say(&app, number, OTHER, &line).await;
    assert_eq!(result, AskResult::Refused, "no member");
    let (result, reply) = say(&app, number, WRITER, &line).await;
    assert_eq!(result, AskResult::Done, "{reply}");
    app.finish().await;
}

#[tokio::test]
async fn a_row_of_the_freeze_list_is_reopened_and_closed_where_the_ledger_is_off() {
    let app = TestApp::start().await;
    let list = "test/contract/flake-freeze.json";
    let row = serde_json::json!({"nodeid": NODE, "reason": "clock jitter", "owner": "@wendy", "covers": [],
        "frozen": true, "fixture_digest": manifest(&two_fixtures()), "seed": 7});
    let evidence = serde_json::json!({"schema": "frostline.evidence/1", "property_id": "p", "nodeid": NODE,
        "fixture_paths": [], "fixture_digest": manifest_with(NEW), "seed": 7, "runs": 7, "passes": 5,
        "failures": 2, "signatures": [], "status": "freeze-candidate", "reason": "CLOCK"});
    let rows = serde_json::json!({"version": 1, "entries": [row]});
    let mut files = contract(&two_fixtures());
    let config = "version: 1\ncontract: {ledger: off}\n";
    files.extend([
        (list, rows.to_string()).into(),
        (".github/frostline.yml", config).into(),
        ("test/contract/evidence.jsonl", format!("{evidence}\n")).into(),
    ]);
    app.forge.create_repo(REPO, files).unwrap();
    app.forge
        .set_right(REPO, "contents", Some(Access::Write))
        .unwrap();
    for (login, role) in [(WRITER, "write"), (OTHER, "write")] {
        app.forge.set_role(REPO, login, Some(role)).unwrap();
    }
    let number = patch(&app, "fix", AGENT).await;
    assert!(comment_of(&app, number).contains("/frostline reopen"));
    let of = |at: u64| {
        let branch = app.forge.pull(REPO, at).unwrap().head_branch;
        let text = app.forge.file(REPO, &branch, list).unwrap().unwrap();
        String::from_utf8(text).unwrap()
    };
    for (at, command) in [(number + 1, "reopen"), (number + 2, "close")] {
        let line = format!("/frostline {command} {NODE}");
        let (result, reply) = say(&app, number, OTHER, &line).await;
        assert_eq!(result, AskResult::Refused, "{command}: {reply}");
        assert!(reply.contains("`@wendy`"), "who could: {reply}");
        let (result, reply) = say(&app, number, WRITER, &line).await;
        assert_eq!(result, AskResult::Done, "{command}: {reply}");
        assert!(app.forge.pull(REPO, at).is_some(), "{command}");
    }
    assert!(of(number + 1).contains(&manifest_with(NEW)));
    assert!(!of(number + 2).contains(NODE));
    app.finish().await;
}

#[tokio::test]
async fn every_patch_of_an_answer_applies_to_the_base_branch() {
    let (app, number) = frozen_desk("@wendy").await;
    app.forge
        .set_right(REPO, "contents", Some(Access::Read))
        .unwrap();
    let git = |folder: &std::path::Path, args: &[&str]| {
        let done = std::process::Command::new("git")
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "git {args:?}: {told}");
        String::from_utf8(done.stdout).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let from = app.forge.git_dir(REPO);
    git(
        folder.path(),
        &["clone", "-q", from.to_str().unwrap(), "base"],
    );
    let base = folder.path().join("base");
    for (command, changed) in [
        (format!("reopen {NODE}"), LEDGER.to_owned()),
        (format!("close {NODE}"), LEDGER.to_owned()),
        (
            "freeze tests/test_plain.py::test_plain seed=3 reason=IO owner=@wendy".to_owned(),
            LEDGER.to_owned(),
        ),
        (
            format!("map src/é/new.py {NODE}"),
            "test/contract/hunk-map.json".to_owned(),
        ),
        (
            format!("note {FIXTURE} \"Two now: `a`.\""),
            "docs/behavior/".to_owned(),
        ),
    ] {
        let (result, reply) = say(&app, number, WRITER, &format!("/frostline {command}")).await;
        assert_eq!(result, AskResult::Done, "{command}: {reply}");
        let patch = reply
            .split("diff\n")
            .nth(1)
            .unwrap_or_else(|| panic!("{reply}"));
        let patch = patch.split("```").next().unwrap();
        let file = folder.path().join("one.patch");
        std::fs::write(&file, patch).unwrap();
        git(&base, &["apply", "--index", file.to_str().unwrap()]);
        let names = git(&base, &["diff", "--cached", "--name-only"]);
        assert!(names.starts_with(&changed), "{command}: {names}");
        git(&base, &["reset", "-q", "--hard"]);
    }
    assert!(app.forge.pull(REPO, number + 1).is_none());
    app.finish().await;
}

#[tokio::test]
async fn a_void_freeze_offers_its_button() {
    let (app, number) = frozen_desk("@wendy").await;
    let run = run(&app, number);
    let labels: Vec<_> = run.actions.iter().map(|one| one["label"].clone()).collect();
    assert_eq!(labels, ["Re-check", "Reopen freeze", "Propose lock"]);
    let pressed = press(&app, number, WRITER, "reopen").await;
    assert_eq!(pressed, AskResult::Done);
    assert!(app.forge.pull(REPO, number + 1).is_some());
    app.finish().await;
}

/// A comment whose webhook has come, and whose job has not run yet.
async fn ask(app: &TestApp, number: u64, login: &str, body: &str) {
    let comment = app.forge.add_comment(REPO, number, login, body).unwrap();
    let hook = app.forge.comment_webhook(REPO, comment, "created").unwrap();
    assert_eq!(app.deliver(&hook).await, 202, "{body}");
}

async fn results(app: &TestApp, number: u64) -> Vec<AskResult> {
    let repo = REPO.parse().unwrap();
    let asks = app.store.asks(&repo, PrNumber(number)).await.unwrap();
    let lines = asks.iter().flat_map(|ask| &ask.lines);
    lines.map(|line| line.result.expect("a result")).collect()
}

#[tokio::test]
async fn two_who_reopen_at_once_get_one_pull_request_and_both_count_as_askers() {
    let (app, number) = frozen_desk("@wendy").await;
    let line = format!("/frostline reopen {NODE}");
    for login in [WRITER, "max"] {
        ask(&app, number, login, &line).await;
    }
    app.drain().await;
    assert_eq!(results(&app, number).await, [AskResult::Done; 2]);
    let own = app.forge.pull(REPO, number + 1).unwrap();
    assert!(app.forge.pull(REPO, number + 2).is_none(), "no second one");
    let message = app.forge.message(REPO, &own.head_branch).unwrap();
    for login in [WRITER, "max"] {
        let trailer = format!("Co-authored-by: {login} <");
        assert!(message.contains(&trailer), "{message}");
    }
    judged(&app, number + 1).await;
    approve(&app, number + 1, WRITER).await;
    assert_eq!(conclusion(&app, number + 1), "action_required");
    app.finish().await;
}

/// The pull request is judged on the base tip that there is now, and seconds pass at the forge before and
/// after it: what was shown within a command's own second is not known.
async fn look_again(app: &TestApp, number: u64) {
    let pass = || {
        app.forge
            .advance(std::time::Duration::from_secs(2))
            .unwrap();
    };
    pass();
    say(app, number, OTHER, "/frostline recheck").await;
    pass();
}

#[tokio::test]
async fn the_base_that_moves_between_two_who_reopen_is_built_on_by_the_second() {
    let (app, number) = frozen_desk("@wendy").await;
    let line = format!("/frostline reopen {NODE}");
    let (result, _) = say(&app, number, WRITER, &line).await;
    assert_eq!(result, AskResult::Done);
    app.forge
        .push(REPO, "main", [("README.md", "moved\n")], "alice")
        .unwrap();
    let (result, _) = say(&app, number, "max", &line).await;
    assert_eq!(result, AskResult::Moved, "on what was not shown, nothing");
    look_again(&app, number).await;
    let (result, reply) = say(&app, number, "max", &line).await;
    assert_eq!(result, AskResult::Done, "{reply}");
    let own = app.forge.pull(REPO, number + 1).unwrap();
    let readme = app.forge.file(REPO, &own.head_branch, "README.md").unwrap();
    assert_eq!(readme.unwrap(), b"moved\n");
    assert!(app.forge.pull(REPO, number + 2).is_none());

    // Somebody closes the row on the base branch: there is nothing left to reopen, and that is said.
    let empty = serde_json::json!({"schema": "seed-freeze-v1", "entries": []}).to_string();
    app.forge
        .push(REPO, "main", [(LEDGER, empty.as_str())], "alice")
        .unwrap();
    look_again(&app, number).await;
    let (result, reply) = say(&app, number, "max", &line).await;
    assert_eq!(result, AskResult::Refused);
    assert!(reply.contains("max"), "{reply}");
    assert!(app.forge.pull(REPO, number + 2).is_none());
    app.finish().await;
}

#[tokio::test]
async fn a_command_in_a_suspended_installation_ends_and_nothing_hangs() {
    let (app, number) = frozen_desk("@wendy").await;
    let line = format!("/frostline close {NODE}");
    app.forge.set_suspended(REPO, true).unwrap();
    ask(&app, number, WRITER, &line).await;
    for _ in 0..40 {
        app.drain().await;
        app.advance(chrono::TimeDelta::minutes(31));
    }
    let counts = app.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.running), (0, 0));
    assert!(app.forge.pull(REPO, number + 1).is_none());

    app.forge.set_suspended(REPO, false).unwrap();
    let (result, reply) = say(&app, number, WRITER, &line).await;
    assert_eq!(result, AskResult::Done, "{reply}");
    assert!(app.forge.pull(REPO, number + 1).is_some());
    app.finish().await;
}
