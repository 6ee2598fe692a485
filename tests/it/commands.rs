//! Commands in comments and buttons, from the signed webhook to the answer.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, Fault, Forge, NewPull, Webhook};
use frostline::model::PrNumber;
use frostline::store::{Ask, AskResult};

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PROPERTY, REPO, contract, two_fixtures};

const WRITER: &str = "wendy";
const STRANGER: &str = "mallory";

/// A repository with a contract and an agent's judged pull request with a hole.
async fn desk() -> (TestApp, u64) {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app.forge.set_role(REPO, WRITER, Some("write")).unwrap();
    let files = [("app/new.py", "x = 1\n"), ("src/parse.py", "p = 1\n")];
    app.forge.push(REPO, "fix", files, AGENT).unwrap();
    let number = app.open_pull(REPO, NewPull::new("fix", AGENT, "Fix")).await;
    app.drain().await;
    (app, number)
}

/// A comment, its webhook, and the job. Gives the comment's id.
async fn say(app: &TestApp, number: u64, login: &str, body: &str) -> u64 {
    let comment = app.forge.add_comment(REPO, number, login, body).unwrap();
    let hook = app.forge.comment_webhook(REPO, comment, "created").unwrap();
    assert_eq!(app.deliver(&hook).await, 202, "{body}");
    app.drain().await;
    comment
}

/// What the bot wrote, the one comment left out.
fn replies(forge: &Forge, number: u64) -> Vec<String> {
    let bot = forge.bot_login();
    let all = forge.comments(REPO, number).into_iter();
    all.filter(|comment| comment.author == bot && !comment.body.contains("frostline:comment:"))
        .map(|comment| comment.body)
        .collect()
}

fn the_comment(forge: &Forge, number: u64) -> String {
    let all = forge.comments(REPO, number).into_iter();
    let ours: Vec<_> = all
        .filter(|comment| comment.body.contains("frostline:comment:"))
        .collect();
    assert_eq!(ours.len(), 1, "{ours:#?}");
    ours[0].body.clone()
}

async fn asks(app: &TestApp, number: u64) -> Vec<Ask> {
    let repo = REPO.parse().unwrap();
    app.store.asks(&repo, PrNumber(number)).await.unwrap()
}

#[tokio::test]
async fn a_command_gets_eyes_then_a_rocket_and_its_answer() {
    let (app, number) = desk().await;
    let comment = say(&app, number, WRITER, "/frostline help\n\nplease").await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "rocket"]);
    let replies = replies(&app.forge, number);
    assert_eq!(replies.len(), 1);
    for row in frostline::command::COMMANDS {
        assert!(replies[0].contains(row.help), "{}", replies[0]);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_mistake_is_met_with_what_was_meant() {
    let (app, number) = desk().await;
    let comment = say(&app, number, WRITER, "/frostline rechek").await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "confused"]);
    let replies = replies(&app.forge, number);
    assert!(replies[0].contains("Did you mean") || replies[0].contains("did you mean `recheck`"));
    assert_eq!(
        asks(&app, number).await[0].lines[0].result,
        Some(AskResult::Mistake)
    );
    app.finish().await;
}

#[tokio::test]
async fn one_wrong_line_of_several_confuses_and_the_others_are_carried_out() {
    let (app, number) = desk().await;
    let body = "/frostline status\n/frostline dance\n/frostline recheck";
    let comment = say(&app, number, WRITER, body).await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "confused"]);
    let results: Vec<_> = asks(&app, number).await[0]
        .lines
        .iter()
        .map(|line| line.result.unwrap())
        .collect();
    assert_eq!(
        results,
        [AskResult::Done, AskResult::Mistake, AskResult::Done]
    );
    assert_eq!(replies(&app.forge, number).len(), 1, "one reply for all");
    app.finish().await;
}

#[tokio::test]
async fn people_without_write_access_are_answered_in_the_one_comment() {
    let (app, number) = desk().await;
    let hostile = "/frostline explain @acme/all <b>x</b>";
    let comment = say(&app, number, STRANGER, hostile).await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "confused"]);
    assert_eq!(replies(&app.forge, number), [""; 0]);
    let body = the_comment(&app.forge, number);
    assert!(body.contains("### Answers"), "{body}");
    assert!(body.contains("`@acme/all <b>x</b>`"), "{body}");
    assert!(body.contains("app/new.py"), "what it named is still there");

    say(&app, number, STRANGER, "/frostline explain src/parse.py").await;
    let body = the_comment(&app.forge, number);
    assert!(body.contains("class `production`"), "{body}");

    // What was said of the old head is not said of the new one.
    app.push(REPO, number, "fix", [("src/parse.py", "p = 2\n")])
        .await;
    app.drain().await;
    assert!(!the_comment(&app.forge, number).contains("### Answers"));
    app.finish().await;
}

#[tokio::test]
async fn answers_alone_are_a_reason_for_the_comment_even_on_a_draft() {
    let app = TestApp::start().await;
    app.forge.create_repo(REPO, contract(&[])).unwrap();
    let covered = [("src/parse.py", "p = 1\n")];
    app.forge.push(REPO, "fix", covered, AGENT).unwrap();
    let new = NewPull {
        draft: true,
        ..NewPull::new("fix", AGENT, "Fix")
    };
    let number = app.open_pull(REPO, new).await;
    app.drain().await;
    assert_eq!(app.forge.comments(REPO, number), []);
    say(&app, number, STRANGER, "/frostline status").await;
    let body = the_comment(&app.forge, number);
    assert!(body.contains("Passed"), "{body}");
    app.finish().await;
}

#[tokio::test]
async fn explain_tells_what_the_decision_rests_on() {
    let (app, number) = desk().await;
    let body = format!(
        "/frostline explain app/new.py\n/frostline explain `{PROPERTY}`\n/frostline explain README.md"
    );
    let comment = say(&app, number, WRITER, &body).await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "confused"]);
    let reply = replies(&app.forge, number).remove(0);
    assert!(reply.contains("unmapped-path"), "{reply}");
    assert!(reply.contains("a property, live"), "{reply}");
    assert!(reply.contains("`README.md` is no path that"), "{reply}");
    app.finish().await;
}

#[tokio::test]
async fn recheck_is_for_readers_and_publishes_nothing_where_nothing_changed() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    let refused = say(&app, number, STRANGER, "/frostline recheck").await;
    assert_eq!(app.forge.reactions(REPO, refused), ["eyes", "confused"]);
    let body = the_comment(&app.forge, number);
    assert!(body.contains("people with read access"), "{body}");

    app.forge.set_role(REPO, "rita", Some("read")).unwrap();
    for _ in 0..2 {
        let taken = say(&app, number, "rita", "/frostline recheck").await;
        assert_eq!(app.forge.reactions(REPO, taken), ["eyes", "rocket"]);
    }
    assert_eq!(app.forge.check_runs(REPO, &head).len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn recheck_mends_an_evaluation_that_could_not_be_made() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    app.push(REPO, number, "fix", [("src/parse.py", "p = 3\n")])
        .await;
    app.forge
        .fault(Fault::next("GET", "/compare/", Answer::Status(403)).times(1));
    app.drain().await;
    let second = app.forge.head(REPO, number).unwrap();
    assert_ne!(head, second);
    let failed = app.forge.check_runs(REPO, &second);
    assert_eq!(failed[0].conclusion.as_deref(), Some("failure"));
    assert_eq!(failed[0].actions[0]["identifier"], "recheck");
    let summary = failed[0].summary.as_deref().unwrap();
    assert!(summary.contains("`/frostline recheck`"), "{summary}");
    say(&app, number, WRITER, "/frostline recheck").await;
    let runs = app.forge.check_runs(REPO, &second);
    assert_eq!(runs.len(), 2, "{runs:#?}");
    assert!(runs[1].title.as_deref().unwrap().starts_with("Refused"));
}

#[tokio::test]
async fn a_comment_is_answered_once_however_often_it_is_delivered() {
    let (app, number) = desk().await;
    let comment = app
        .forge
        .add_comment(REPO, number, WRITER, "/frostline status")
        .unwrap();
    let hook = app.forge.comment_webhook(REPO, comment, "created").unwrap();
    let again = app.forge.comment_webhook(REPO, comment, "created").unwrap();
    for hook in [&hook, &hook, &again] {
        assert_eq!(app.deliver(hook).await, 202);
        app.drain().await;
    }
    assert_eq!(app.deliver(&hook).await, 202);
    app.drain().await;
    assert_eq!(replies(&app.forge, number).len(), 1);
    assert_eq!(asks(&app, number).await.len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn what_is_no_command_of_a_person_is_of_no_use() {
    let (app, number) = desk().await;
    let comment = |login: &str, body: &str| {
        let id = app.forge.add_comment(REPO, number, login, body).unwrap();
        app.forge.comment_webhook(REPO, id, "created").unwrap()
    };
    for hook in [
        comment(AGENT, "/frostline recheck"),
        comment(&app.forge.bot_login(), "/frostline recheck"),
        comment(WRITER, "> /frostline recheck"),
        comment(WRITER, "What does /frostline do?"),
    ] {
        assert_eq!(app.deliver(&hook).await, 204);
    }
    let id = app
        .forge
        .add_comment(REPO, number, WRITER, "/frostline recheck")
        .unwrap();
    for action in ["edited", "deleted"] {
        let hook = app.forge.comment_webhook(REPO, id, action).unwrap();
        assert_eq!(app.deliver(&hook).await, 204, "{action}");
    }
    // Changed on its way: written through an App, on an issue, sent by another account.
    let hook = app.forge.comment_webhook(REPO, id, "created").unwrap();
    let payload: serde_json::Value = serde_json::from_slice(&hook.body).unwrap();
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut payload = payload.clone();
        change(&mut payload);
        app.forge.webhook("issue_comment", &payload).unwrap()
    };
    for hook in [
        with(&|p| p["comment"]["performed_via_github_app"] = serde_json::json!({"id": 1})),
        with(&|p| {
            p["issue"].as_object_mut().unwrap().remove("pull_request");
        }),
        with(&|p| p["sender"]["id"] = serde_json::json!(999_999)),
        with(&|p| p["sender"] = serde_json::Value::Null),
        with(&|p| p["comment"]["user"]["type"] = "Bot".into()),
    ] {
        assert_eq!(app.deliver(&hook).await, 204);
    }
    assert_eq!(asks(&app, number).await, []);
    app.finish().await;
}

#[tokio::test]
async fn a_comment_that_is_gone_is_no_command_any_more() {
    let (app, number) = desk().await;
    let comment = app
        .forge
        .add_comment(REPO, number, WRITER, "/frostline status")
        .unwrap();
    let hook = app.forge.comment_webhook(REPO, comment, "created").unwrap();
    assert_eq!(app.deliver(&hook).await, 202);
    app.forge.delete_comment(REPO, comment).unwrap();
    app.drain().await;
    let ask = asks(&app, number).await.remove(0);
    assert_eq!(ask.lines[0].result, Some(AskResult::Withdrawn));
    assert!(ask.done);
    assert_eq!(replies(&app.forge, number), [""; 0]);
    app.finish().await;
}

#[tokio::test]
async fn a_stranger_has_ten_commands_an_hour_and_a_writer_is_not_held_back_by_them() {
    let (app, number) = desk().await;
    for _ in 0..2 {
        let five = "/frostline status\n".repeat(5);
        say(&app, number, STRANGER, &five).await;
    }
    let eleventh = say(&app, number, STRANGER, "/frostline help").await;
    assert_eq!(app.forge.reactions(REPO, eleventh), ["eyes", "confused"]);
    let last = asks(&app, number).await.pop().unwrap();
    assert_eq!(last.lines[0].result, Some(AskResult::Limited));
    assert!(!the_comment(&app.forge, number).contains("/frostline help"));
    for _ in 0..3 {
        let five = "/frostline status\n".repeat(5);
        let comment = say(&app, number, WRITER, &five).await;
        assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "rocket"]);
    }
    app.advance(TimeDelta::minutes(61));
    let later = say(&app, number, STRANGER, "/frostline help").await;
    assert_eq!(app.forge.reactions(REPO, later), ["eyes", "rocket"]);
    app.finish().await;
}

#[tokio::test]
async fn a_repository_has_sixty_commands_an_hour() {
    let (app, number) = desk().await;
    for _ in 0..12 {
        let five = "/frostline status\n".repeat(5);
        say(&app, number, WRITER, &five).await;
    }
    let before = app.forge.requests().len();
    let over = say(&app, number, WRITER, "/frostline status").await;
    assert_eq!(app.forge.reactions(REPO, over), [""; 0]);
    let writes = app.forge.requests()[before..]
        .iter()
        .filter(|request| request.method != "GET" && request.path != "/graphql")
        .count();
    assert_eq!(writes, 0, "silence costs nothing");
    let last = asks(&app, number).await.pop().unwrap();
    assert_eq!(last.lines[0].result, Some(AskResult::Limited));
    app.advance(TimeDelta::minutes(61));
    let later = say(&app, number, WRITER, "/frostline status").await;
    assert_eq!(app.forge.reactions(REPO, later), ["eyes", "rocket"]);
    app.finish().await;
}

#[tokio::test]
async fn every_command_is_kept_with_who_when_on_what_head_and_its_result() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    say(&app, number, WRITER, "/frostline status").await;
    say(&app, number, STRANGER, "/frostline recheck").await;
    let asks = asks(&app, number).await;
    let told: Vec<_> = asks
        .iter()
        .map(|ask| {
            assert_eq!(ask.head.as_ref(), Some(&head));
            assert!(ask.actor_id > 0 && ask.created_at <= chrono::Utc::now());
            (
                ask.actor.as_str(),
                ask.lines[0].line.as_str(),
                ask.lines[0].result,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (WRITER, "/frostline status", Some(AskResult::Done)),
            (STRANGER, "/frostline recheck", Some(AskResult::Refused)),
        ]
    );
    app.finish().await;
}

#[tokio::test]
async fn rights_that_cannot_be_read_are_no_rights() {
    let (app, number) = desk().await;
    let fault = Fault::next("GET", "/collaborators/", Answer::Status(403));
    app.forge.fault(fault);
    let comment = say(&app, number, WRITER, "/frostline recheck").await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "confused"]);
    let ask = asks(&app, number).await.remove(0);
    assert_eq!(ask.lines[0].result, Some(AskResult::Refused));
    assert!(ask.lines[0].answer.contains("could not be read"), "{ask:?}");
    assert_eq!(
        ask.quiet,
        Some(true),
        "a reply is for people with write access"
    );
    app.finish().await;
}

#[tokio::test]
async fn a_command_that_has_to_wait_holds_no_verdict_back_and_is_not_lost() {
    let (app, number) = desk().await;
    app.push(REPO, number, "fix", [("src/parse.py", "p = 4\n")])
        .await;
    app.forge
        .fault(Fault::next("GET", "/collaborators/", Answer::Status(502)).times(3));
    let comment = say(&app, number, WRITER, "/frostline status").await;
    let head = app.forge.head(REPO, number).unwrap();
    assert_eq!(app.forge.check_runs(REPO, &head).len(), 1, "it was judged");
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes"]);
    for _ in 0..4 {
        app.advance(TimeDelta::hours(1));
        app.drain().await;
    }
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "rocket"]);
    assert_eq!(replies(&app.forge, number).len(), 1);
    assert_eq!(app.forge.check_runs(REPO, &head).len(), 1);
}

#[tokio::test]
async fn a_locked_conversation_is_told_by_the_reaction_alone() {
    let (app, number) = desk().await;
    let fault = Fault::next(
        "POST",
        &format!("/issues/{number}/comments"),
        Answer::Status(403),
    );
    app.forge.fault(fault);
    let comment = say(&app, number, WRITER, "/frostline status").await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "rocket"]);
    assert!(asks(&app, number).await[0].done);
    app.finish().await;
}

#[tokio::test]
async fn commands_on_a_closed_pull_request_are_answered_and_judge_nothing() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    app.forge
        .edit_pull(REPO, number, |pull| pull.open = false)
        .unwrap();
    let body = "/frostline status\n/frostline recheck";
    let comment = say(&app, number, WRITER, body).await;
    assert_eq!(app.forge.reactions(REPO, comment), ["eyes", "confused"]);
    let reply = replies(&app.forge, number).remove(0);
    assert!(reply.contains("closed"), "{reply}");
    assert_eq!(app.forge.check_runs(REPO, &head).len(), 1);
    app.finish().await;
}

#[tokio::test]
async fn the_button_is_the_command_of_whoever_presses_it() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    let run = app.forge.check_runs(REPO, &head).remove(0);
    assert_eq!(run.actions.len(), 1, "{:?}", run.actions);
    let press = |sender: &str, button: &str| {
        app.forge
            .run_webhook(
                REPO,
                (&head, "frostline"),
                "requested_action",
                (sender, Some(button)),
            )
            .unwrap()
    };
    assert_eq!(app.deliver(&press(WRITER, "recheck")).await, 202);
    app.drain().await;
    assert_eq!(app.deliver(&press(STRANGER, "recheck")).await, 202);
    app.drain().await;
    let results: Vec<_> = asks(&app, number)
        .await
        .iter()
        .map(|ask| (ask.comment, ask.lines[0].result, ask.done))
        .collect();
    assert_eq!(
        results,
        [
            (None, Some(AskResult::Done), true),
            (None, Some(AskResult::Refused), true)
        ]
    );
    assert_eq!(app.deliver(&press(AGENT, "recheck")).await, 204);
    assert_eq!(app.deliver(&press(WRITER, "launch")).await, 204);
    app.finish().await;
}

/// *Re-run* on the check-run, or on all of the suite.
fn rerequested(app: &TestApp, number: u64, of_suite: bool) -> Webhook {
    let head = app.forge.head(REPO, number).unwrap();
    let hook = app
        .forge
        .run_webhook(REPO, (&head, "frostline"), "rerequested", (WRITER, None))
        .unwrap();
    if !of_suite {
        return hook;
    }
    let mut suite: serde_json::Value = serde_json::from_slice(&hook.body).unwrap();
    suite["check_suite"] = serde_json::json!({"head_sha": head, "pull_requests": []});
    suite.as_object_mut().unwrap().remove("check_run");
    app.forge.webhook("check_suite", &suite).unwrap()
}

/// The forge set the suite back: without a new run it would stay queued.
#[tokio::test]
async fn a_rerequested_check_run_or_suite_ends_anew_also_when_nothing_changed() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    for (at, of_suite) in [false, true].into_iter().enumerate() {
        let hook = rerequested(&app, number, of_suite);
        assert_eq!(app.deliver(&hook).await, 202);
        app.drain().await;
        let runs = app.forge.check_runs(REPO, &head);
        let ends: Vec<_> = runs.iter().map(|run| run.conclusion.as_deref()).collect();
        assert_eq!(ends, vec![Some("failure"); at + 2]);
        // Sent again it asks for nothing more, and nor does a look at the pull request.
        assert_eq!(app.deliver(&hook).await, 202);
        app.drain().await;
        assert_eq!(app.forge.check_runs(REPO, &head).len(), at + 2);
    }
    assert_eq!(app.forge.comments(REPO, number).len(), 1);
    // Another check's run of this head is none of the pull request's.
    let mut other: serde_json::Value =
        serde_json::from_slice(&rerequested(&app, number, false).body).unwrap();
    other["check_run"]["name"] = "frostline (release)".into();
    let other = app.forge.webhook("check_run", &other).unwrap();
    assert_eq!(app.deliver(&other).await, 202);
    app.drain().await;
    assert_eq!(app.forge.check_runs(REPO, &head).len(), 3);
    app.finish().await;
}

#[tokio::test]
async fn a_rerun_whose_requests_get_lost_ends_once() {
    for at in 0.. {
        let (app, number) = desk().await;
        let head = app.forge.head(REPO, number).unwrap();
        let before = app.forge.requests().len();
        let lost = Fault::next("", "", Answer::HangUp).skip(at).after();
        app.forge.fault(lost);
        let hook = rerequested(&app, number, true);
        assert_eq!(app.deliver(&hook).await, 202);
        while app.drain().await > 0 {
            app.advance(TimeDelta::minutes(31));
        }
        let runs = app.forge.check_runs(REPO, &head);
        let ends: Vec<_> = runs.iter().map(|run| run.conclusion.as_deref()).collect();
        assert_eq!(ends, [Some("failure"); 2], "request {at} was lost");
        let asked = app.forge.requests().len() - before;
        app.forge.clear_faults();
        app.finish().await;
        if at >= asked {
            assert!(at > 5, "{at} requests");
            return;
        }
    }
}

#[tokio::test]
async fn status_of_a_head_that_was_not_judged_says_so() {
    let app = TestApp::start().await;
    app.forge.create_repo(REPO, contract(&[])).unwrap();
    app.forge.set_role(REPO, WRITER, Some("admin")).unwrap();
    app.forge
        .push(REPO, "fix", [("src/parse.py", "p = 1\n")], AGENT)
        .unwrap();
    let number = app
        .forge
        .open_pull(REPO, NewPull::new("fix", AGENT, "Fix"))
        .unwrap();
    say(&app, number, WRITER, "/frostline status").await;
    let reply = replies(&app.forge, number).remove(0);
    assert!(reply.contains("has not been judged yet"), "{reply}");
    app.finish().await;
}

/// Every request of a command in turn is lost, before or after it took effect.
#[tokio::test]
async fn a_command_whose_requests_get_lost_is_answered_once() {
    for after in [false, true] {
        let mut losses = 0;
        for at in 0.. {
            assert!(at < 60, "no end of requests");
            let (app, number) = desk().await;
            let fault = Fault::next("", "", Answer::HangUp).skip(at);
            app.forge.fault(if after { fault.after() } else { fault });
            let before = app.forge.requests().len();
            let body = "/frostline status\n/frostline recheck";
            let comment = say(&app, number, WRITER, body).await;
            let lost = app.forge.requests().len() - before > at;
            app.forge.clear_faults();
            app.advance(TimeDelta::hours(1));
            app.drain().await;
            let what = format!("request {at}, after: {after}");
            assert_eq!(
                app.forge.reactions(REPO, comment),
                ["eyes", "rocket"],
                "{what}"
            );
            assert_eq!(replies(&app.forge, number).len(), 1, "{what}");
            assert_eq!(asks(&app, number).await.len(), 1, "{what}");
            the_comment(&app.forge, number);
            app.finish().await;
            if !lost {
                break;
            }
            losses += 1;
        }
        assert!(losses >= 7, "{losses} requests");
    }
}

#[tokio::test]
async fn status_of_a_pull_request_whose_head_another_one_speaks_for_is_that_verdict() {
    let (app, number) = desk().await;
    let head = app.forge.head(REPO, number).unwrap();
    app.forge.reset_branch(REPO, "again", &head).unwrap();
    let again = NewPull::new("again", AGENT, "The same again");
    let second = app.open_pull(REPO, again).await;
    app.drain().await;
    say(&app, second, WRITER, "/frostline status").await;
    let reply = replies(&app.forge, second).remove(0);
    assert!(reply.contains("Refused: 1 unmapped path"), "{reply}");
    app.finish().await;
}
