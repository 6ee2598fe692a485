//! What ends a need for human review, and what brings it back (protocol 5.3).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;
use std::time::Duration;

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, CheckRun, Fault, NewPull, Webhook};
use frostline::model::{PrNumber, Sha};
use frostline::store::AskResult;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, REPO, contract, two_fixtures};

const PROPERTIES: &str = "tests/properties/test_parse.py";
const WRITER: &str = "wendy";
const MAINTAINER: &str = "max";

struct Desk {
    app: TestApp,
    number: u64,
}

fn properties(body: &str) -> [(&'static str, String); 1] {
    [(
        PROPERTIES,
        format!("def test_roundtrip():\n    assert {body}\n"),
    )]
}

impl Desk {
    /// An agent's pull request that changes a property, which a person has to approve.
    async fn new() -> Self {
        Self::with("", AGENT).await
    }

    async fn with(config: &str, author: &str) -> Self {
        let app = TestApp::start().await;
        let mut files = contract(&two_fixtures());
        let config = format!("version: 1\napply_to: all\n{config}");
        files.push((".github/frostline.yml", config).into());
        app.forge.create_repo(REPO, files).unwrap();
        app.forge.set_role(REPO, WRITER, Some("write")).unwrap();
        app.forge
            .set_role(REPO, MAINTAINER, Some("maintain"))
            .unwrap();
        app.forge
            .push(REPO, "fix", properties("1"), author)
            .unwrap();
        let number = app
            .open_pull(REPO, NewPull::new("fix", author, "Fix"))
            .await;
        app.drain().await;
        let desk = Self { app, number };
        assert_eq!(desk.conclusion(), "action_required");
        desk
    }

    fn head(&self) -> Sha {
        self.app.forge.head(REPO, self.number).unwrap()
    }

    /// The run that counts.
    fn run(&self) -> CheckRun {
        let mut runs = self.app.forge.check_runs(REPO, &self.head());
        let run = runs.pop().expect("a run");
        assert_eq!(run.status, "completed");
        run
    }

    fn conclusion(&self) -> String {
        self.run().conclusion.unwrap()
    }

    fn summary(&self) -> String {
        self.run().summary.unwrap()
    }

    async fn deliver(&self, hook: &Webhook) {
        assert_eq!(self.app.deliver(hook).await, 202);
        self.app.drain().await;
    }

    async fn review(&self, login: &str, state: &str) -> u64 {
        let review = self
            .app
            .forge
            .review(REPO, self.number, login, state)
            .unwrap();
        let hook = self.app.forge.review_webhook(REPO, review, "submitted");
        self.deliver(&hook.unwrap()).await;
        review
    }

    async fn dismiss(&self, review: u64) {
        self.app.forge.dismiss_review(REPO, review).unwrap();
        let hook = self.app.forge.review_webhook(REPO, review, "dismissed");
        self.deliver(&hook.unwrap()).await;
    }

    fn write(&self, login: &str, body: &str) -> (u64, Webhook) {
        let forge = &self.app.forge;
        let comment = forge.add_comment(REPO, self.number, login, body).unwrap();
        (
            comment,
            forge.comment_webhook(REPO, comment, "created").unwrap(),
        )
    }

    /// A command; gives what came of it and the last reaction.
    async fn say(&self, login: &str, body: &str) -> (AskResult, String) {
        let (comment, hook) = self.write(login, body);
        self.deliver(&hook).await;
        (
            self.result().await.expect("a result"),
            self.app.forge.reactions(REPO, comment).pop().unwrap(),
        )
    }

    async fn result(&self) -> Option<AskResult> {
        let repo = REPO.parse().unwrap();
        let mut asks = self
            .app
            .store
            .asks(&repo, PrNumber(self.number))
            .await
            .unwrap();
        asks.pop().unwrap().lines[0].result
    }

    /// A push, told as one of `sender`.
    async fn push_as(&self, sender: &str, body: &str) {
        let forge = &self.app.forge;
        forge.push(REPO, "fix", properties(body), AGENT).unwrap();
        self.synchronize(sender).await;
    }

    async fn synchronize(&self, sender: &str) {
        let forge = &self.app.forge;
        // The forge tells of an account's id with every event about it.
        let (_, told) = self.write(sender, "/frostline nothing");
        let told: serde_json::Value = serde_json::from_slice(&told.body).unwrap();
        let hook = forge
            .pull_webhook(REPO, self.number, "synchronize")
            .unwrap();
        let mut payload: serde_json::Value = serde_json::from_slice(&hook.body).unwrap();
        payload["sender"] = told["sender"].clone();
        let hook = forge.webhook("pull_request", &payload).unwrap();
        self.deliver(&hook).await;
    }

    async fn evaluate(&self) {
        let hook = self.app.forge.pull_webhook(REPO, self.number, "labeled");
        self.deliver(&hook.unwrap()).await;
    }

    /// Merges the base branch into the head, as *Update branch* does.
    async fn update_branch(&self, sender: &str) {
        let dir = self.app.forge.git_dir(REPO);
        let git = |args: &[&str]| {
            let output = Command::new("git")
                .arg("-C")
                .arg(&dir)
                .args(["-c", "user.name=m", "-c", "user.email=m@example.org"])
                .args(args)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let tree = git(&["merge-tree", "--write-tree", "main", "fix"]);
        let merge = git(&[
            "commit-tree",
            &tree,
            "-p",
            "fix",
            "-p",
            "main",
            "-m",
            "Merge",
        ]);
        let forge = &self.app.forge;
        forge
            .reset_branch(REPO, "fix", &merge.parse().unwrap())
            .unwrap();
        self.synchronize(sender).await;
    }
}

#[tokio::test]
async fn an_approval_by_a_writer_ends_it_and_is_shown() {
    let desk = Desk::new().await;
    assert!(desk.summary().contains("`/frostline accept`"));
    desk.review(WRITER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "success");
    let run = desk.run();
    assert!(run.title.unwrap().starts_with("Approved by a person"));
    assert!(desk.summary().contains("Approved by `wendy`"));
    // The same again publishes nothing, and a comment takes nothing back.
    let runs = desk.app.forge.check_runs(REPO, &desk.head()).len();
    desk.app
        .forge
        .review(REPO, desk.number, WRITER, "COMMENTED")
        .unwrap();
    desk.evaluate().await;
    assert_eq!(desk.app.forge.check_runs(REPO, &desk.head()).len(), runs);
    desk.app.finish().await;
}

#[tokio::test]
async fn a_dismissed_approval_counts_no_more() {
    let desk = Desk::new().await;
    let review = desk.review(WRITER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "success");
    desk.dismiss(review).await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.finish().await;
}

#[tokio::test]
async fn a_right_that_is_gone_takes_its_approval_along() {
    let desk = Desk::new().await;
    desk.review(WRITER, "APPROVED").await;
    desk.app
        .forge
        .set_role(REPO, WRITER, Some("triage"))
        .unwrap();
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("wendy has no write access"));
    desk.app.finish().await;
}

#[tokio::test]
async fn readers_strangers_and_agents_approve_nothing() {
    let desk = Desk::with("agents: {logins: [robin]}\n", AGENT).await;
    desk.app.forge.set_role(REPO, "rita", Some("read")).unwrap();
    desk.app
        .forge
        .set_role(REPO, "robin", Some("admin"))
        .unwrap();
    for login in ["rita", "mallory", "robin", "helper[bot]"] {
        desk.review(login, "APPROVED").await;
        assert_eq!(desk.conclusion(), "action_required", "{login}");
    }
    let summary = desk.summary();
    assert!(summary.contains("robin is a bot or an agent"), "{summary}");
    desk.app.finish().await;
}

#[tokio::test]
async fn rights_that_cannot_be_read_approve_nothing() {
    let desk = Desk::new().await;
    desk.app
        .forge
        .fault(Fault::next("GET", "/collaborators/", Answer::Status(403)));
    desk.review(WRITER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("could not be read"));
    // A forge that fails is asked again; until then nothing is approved.
    desk.app
        .forge
        .fault(Fault::next("GET", "/collaborators/", Answer::Status(502)));
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.advance(TimeDelta::hours(1));
    desk.app.drain().await;
    assert_eq!(desk.conclusion(), "success");
    desk.app.finish().await;
}

#[tokio::test]
async fn reviews_that_cannot_be_read_approve_nothing() {
    let desk = Desk::new().await;
    desk.app
        .forge
        .fault(Fault::next("GET", "/reviews", Answer::Status(403)));
    desk.review(WRITER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("the reviews could not be read"));
    desk.app.finish().await;
}

#[tokio::test]
async fn who_brings_the_patch_does_not_approve_it() {
    // A commit's author.
    let desk = Desk::new().await;
    desk.app
        .forge
        .push(REPO, "fix", properties("2"), WRITER)
        .unwrap();
    desk.synchronize(AGENT).await;
    desk.review(WRITER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("is the author of a commit"));
    desk.app.finish().await;

    // A pusher.
    let desk = Desk::new().await;
    desk.push_as(WRITER, "2").await;
    desk.review(WRITER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("pushed to this pull request"));
    desk.review(MAINTAINER, "APPROVED").await;
    assert_eq!(desk.conclusion(), "success");
    desk.app.finish().await;
}

#[tokio::test]
async fn a_push_with_another_key_takes_the_approval_back() {
    let desk = Desk::new().await;
    desk.review(WRITER, "APPROVED").await;
    desk.push_as(AGENT, "3").await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("approved another state"));
    // And the old state brings it back: it is what was approved.
    desk.push_as(AGENT, "1").await;
    assert_eq!(desk.conclusion(), "success");
    desk.app.finish().await;
}

#[tokio::test]
async fn an_approval_survives_update_branch_by_whomever_and_the_base_branch_going_on() {
    let desk = Desk::new().await;
    desk.review(WRITER, "APPROVED").await;
    let readme = [("README.md", "Parser, newer\n")];
    desk.app.forge.push(REPO, "main", readme, "bob").unwrap();
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "success");
    let before = desk.head();
    desk.update_branch(WRITER).await;
    assert_ne!(desk.head(), before);
    assert_eq!(desk.conclusion(), "success", "{}", desk.summary());
    desk.app.finish().await;
}

#[tokio::test]
async fn a_request_for_changes_by_a_writer_holds_it_whatever_others_say() {
    let desk = Desk::new().await;
    desk.review(WRITER, "APPROVED").await;
    desk.app.forge.set_role(REPO, "rita", Some("read")).unwrap();
    desk.review("rita", "CHANGES_REQUESTED").await;
    assert_eq!(desk.conclusion(), "success", "a reader holds nothing");
    let no = desk.review(MAINTAINER, "CHANGES_REQUESTED").await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.run().title.unwrap().starts_with("Held by a request"));
    assert!(desk.summary().contains("`max` requests changes"));
    desk.dismiss(no).await;
    assert_eq!(desk.conclusion(), "success");
    // Of one person the newest counts.
    desk.app.forge.advance(Duration::from_secs(2)).unwrap();
    desk.review(WRITER, "CHANGES_REQUESTED").await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.finish().await;
}

#[tokio::test]
async fn a_request_for_changes_holds_when_its_senders_rights_are_not_known() {
    let desk = Desk::new().await;
    desk.review(WRITER, "APPROVED").await;
    let fault = Fault::next("GET", "/collaborators/mallory", Answer::Status(403));
    desk.app.forge.fault(fault);
    desk.review("mallory", "CHANGES_REQUESTED").await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "success");
    desk.app.finish().await;
}

#[tokio::test]
async fn an_approval_before_the_verdict_was_shown_does_not_count() {
    let desk = Desk::new().await;
    desk.app.forge.advance(Duration::from_secs(60)).unwrap();
    desk.app
        .forge
        .push(REPO, "fix", properties("4"), AGENT)
        .unwrap();
    desk.app
        .forge
        .review(REPO, desk.number, WRITER, "APPROVED")
        .unwrap();
    desk.app.forge.advance(Duration::from_secs(60)).unwrap();
    desk.synchronize(AGENT).await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(desk.summary().contains("approved before it was judged"));
    desk.app.finish().await;
}

#[tokio::test]
async fn accept_by_a_maintainer_does_the_same_and_is_shown_with_its_reason() {
    let desk = Desk::new().await;
    let (result, reaction) = desk.say(WRITER, "/frostline accept").await;
    assert_eq!(
        (result, reaction.as_str()),
        (AskResult::Refused, "confused")
    );
    assert_eq!(desk.conclusion(), "action_required");

    let (result, reaction) = desk
        .say(MAINTAINER, "/frostline accept agreed with @acme/parse")
        .await;
    assert_eq!((result, reaction.as_str()), (AskResult::Done, "rocket"));
    assert_eq!(desk.conclusion(), "success");
    let summary = desk.summary();
    assert!(
        summary.contains("Accepted by `max`: `agreed with @acme/parse`"),
        "{summary}"
    );
    // A push with another key takes it back.
    desk.push_as(AGENT, "5").await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.finish().await;
}

#[tokio::test]
async fn accept_is_for_what_needs_a_person_and_nothing_else() {
    let desk = Desk::new().await;
    let hole = [("app/new.py", "x = 1\n")];
    desk.app.push(REPO, desk.number, "fix", hole).await;
    desk.app.drain().await;
    assert_eq!(desk.conclusion(), "failure");
    let (result, _) = desk.say(MAINTAINER, "/frostline accept").await;
    assert_eq!(result, AskResult::Refused);
    assert_eq!(desk.conclusion(), "failure");
    let bot = desk.app.forge.bot_login();
    let replies = desk.app.forge.comments(REPO, desk.number);
    let reply = replies.iter().rfind(|c| c.author == bot).unwrap();
    assert!(reply.body.contains("nothing to accept"), "{}", reply.body);
    desk.app.finish().await;
}

#[tokio::test]
async fn nobody_accepts_their_own_unless_the_configuration_lets_them() {
    for (config, result, conclusion) in [
        ("", AskResult::Refused, "action_required"),
        (
            "review: {author_may_accept: true}\n",
            AskResult::Done,
            "success",
        ),
    ] {
        let desk = Desk::with(config, MAINTAINER).await;
        assert_eq!(desk.say(MAINTAINER, "/frostline accept").await.0, result);
        assert_eq!(desk.conclusion(), conclusion, "{config}");
        desk.app.finish().await;
    }
}

#[tokio::test]
async fn accept_asks_to_be_repeated_when_the_head_moved_under_it() {
    let desk = Desk::new().await;
    let (comment, hook) = desk.write(MAINTAINER, "/frostline accept");
    // The comment comes late: the head that it was about is gone, and the new one was judged.
    desk.app.forge.advance(Duration::from_secs(60)).unwrap();
    desk.push_as(AGENT, "6").await;
    desk.deliver(&hook).await;
    let reactions = desk.app.forge.reactions(REPO, comment);
    assert_eq!(reactions, ["eyes", "confused"]);
    assert_eq!(desk.result().await, Some(AskResult::Moved));
    assert_eq!(desk.conclusion(), "action_required");
    let bot = desk.app.forge.bot_login();
    let replies = desk.app.forge.comments(REPO, desk.number);
    let reply = replies.iter().rfind(|c| c.author == bot).unwrap();
    assert!(reply.body.contains("repeat the command"), "{}", reply.body);
    // Repeated, it is about what is shown now.
    desk.app.forge.advance(Duration::from_secs(60)).unwrap();
    assert_eq!(
        desk.say(MAINTAINER, "/frostline accept").await.0,
        AskResult::Done
    );
    assert_eq!(desk.conclusion(), "success");
    desk.app.finish().await;
}

#[tokio::test]
async fn accept_asks_to_be_repeated_when_the_base_branch_moved_under_it() {
    let desk = Desk::new().await;
    desk.app.forge.advance(Duration::from_secs(60)).unwrap();
    let readme = [("README.md", "Parser, newer\n")];
    desk.app.forge.push(REPO, "main", readme, "bob").unwrap();
    assert_eq!(
        desk.say(MAINTAINER, "/frostline accept").await.0,
        AskResult::Moved
    );
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.forge.advance(Duration::from_secs(60)).unwrap();
    assert_eq!(
        desk.say(MAINTAINER, "/frostline accept").await.0,
        AskResult::Done
    );
    assert_eq!(desk.conclusion(), "success");
    desk.app.finish().await;
}

#[tokio::test]
async fn accept_on_a_closed_pull_request_is_refused() {
    let desk = Desk::new().await;
    desk.app
        .forge
        .edit_pull(REPO, desk.number, |pull| pull.open = false)
        .unwrap();
    let (result, _) = desk.say(MAINTAINER, "/frostline accept").await;
    assert_eq!(result, AskResult::Refused);
    desk.app.finish().await;
}

/// Every request of an acceptance in turn is lost, before or after it took effect.
#[tokio::test]
async fn an_acceptance_whose_requests_get_lost_counts_once() {
    for after in [false, true] {
        let mut losses = 0;
        for at in 0.. {
            assert!(at < 60, "no end of requests");
            let desk = Desk::new().await;
            let app = &desk.app;
            let fault = Fault::next("", "", Answer::HangUp).skip(at);
            app.forge.fault(if after { fault.after() } else { fault });
            let before = app.forge.requests().len();
            let (comment, hook) = desk.write(MAINTAINER, "/frostline accept\n/frostline status");
            desk.deliver(&hook).await;
            let lost = app.forge.requests().len() - before > at;
            app.forge.clear_faults();
            app.advance(TimeDelta::hours(1));
            app.drain().await;
            let what = format!("request {at}, after: {after}");
            assert_eq!(desk.conclusion(), "success", "{what}");
            let reactions = app.forge.reactions(REPO, comment);
            assert_eq!(reactions, ["eyes", "rocket"], "{what}");
            let comments = app.forge.comments(REPO, desk.number);
            let replies = comments
                .iter()
                .filter(|c| c.body.contains("frostline:reply:"));
            assert_eq!(replies.count(), 1, "{what}");
            let runs = app.forge.check_runs(REPO, &desk.head());
            assert_eq!(runs.len(), 2, "{what}: {runs:#?}");
            desk.app.finish().await;
            if !lost {
                break;
            }
            losses += 1;
        }
        assert!(losses >= 10, "{losses} requests");
    }
}

// ---- human ----

const TRAILER: &str = "Fix\n\nCo-authored-by: Cursor <cursoragent@cursor.com>";

/// A person's pull request with a commit that an agent helped with.
async fn helped() -> Desk {
    let app = TestApp::start().await;
    app.forge
        .create_repo(REPO, contract(&two_fixtures()))
        .unwrap();
    app.forge.set_role(REPO, WRITER, Some("write")).unwrap();
    app.forge
        .set_role(REPO, MAINTAINER, Some("maintain"))
        .unwrap();
    app.forge
        .push_with_message(REPO, "fix", properties("1"), "alice", TRAILER)
        .unwrap();
    let number = app
        .open_pull(REPO, NewPull::new("fix", "alice", "Fix"))
        .await;
    app.drain().await;
    let desk = Desk { app, number };
    assert_eq!(desk.conclusion(), "action_required");
    desk
}

#[tokio::test]
async fn human_lifts_the_evidence_until_there_is_new_evidence() {
    let desk = helped().await;
    assert_eq!(
        desk.say(WRITER, "/frostline human").await.0,
        AskResult::Refused
    );
    assert_eq!(desk.conclusion(), "action_required");
    let (result, reaction) = desk
        .say(MAINTAINER, "/frostline human it is Alice's own")
        .await;
    assert_eq!((result, reaction.as_str()), (AskResult::Done, "rocket"));
    assert_eq!(desk.conclusion(), "success");
    assert!(
        desk.summary().contains("max lifted the evidence"),
        "{}",
        desk.summary()
    );
    assert_eq!(
        desk.say(MAINTAINER, "/frostline human").await.0,
        AskResult::Refused,
        "there is nothing left to lift"
    );

    // A person's further commit changes nothing, an agent's does.
    let forge = &desk.app.forge;
    forge.push(REPO, "fix", properties("2"), "alice").unwrap();
    desk.synchronize("alice").await;
    assert_eq!(desk.conclusion(), "success");
    forge
        .push_with_message(REPO, "fix", properties("3"), "alice", TRAILER)
        .unwrap();
    desk.synchronize("alice").await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.finish().await;
}

#[tokio::test]
async fn evidence_stays_when_its_cause_is_gone_and_human_lifts_it_for_good() {
    let app = TestApp::start().await;
    let mut files = contract(&two_fixtures());
    let config = "version: 1\nagents: {labels: [robot]}\n";
    files.push((".github/frostline.yml", config).into());
    app.forge.create_repo(REPO, files).unwrap();
    app.forge.set_role(REPO, MAINTAINER, Some("admin")).unwrap();
    app.forge
        .push(REPO, "fix", properties("1"), "alice")
        .unwrap();
    let new = NewPull {
        labels: &["robot"],
        ..NewPull::new("fix", "alice", "Fix")
    };
    let number = app.open_pull(REPO, new).await;
    app.drain().await;
    let desk = Desk { app, number };
    assert_eq!(desk.conclusion(), "action_required");
    let label = |labels: &[&str]| {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        desk.app
            .forge
            .edit_pull(REPO, number, |pull| pull.labels = labels)
            .unwrap();
    };
    label(&[]);
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "action_required", "it stays");
    assert_eq!(
        desk.say(MAINTAINER, "/frostline human").await.0,
        AskResult::Done
    );
    assert_eq!(desk.conclusion(), "success");
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "success");
    // The same label again is new evidence where it was not there to be lifted.
    label(&["robot"]);
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "action_required");
    desk.app.finish().await;
}

#[tokio::test]
async fn a_pull_request_that_has_had_an_agents_head_stays_an_agents() {
    let desk = {
        let app = TestApp::start().await;
        app.forge
            .create_repo(REPO, contract(&two_fixtures()))
            .unwrap();
        app.forge
            .push(REPO, "fix", properties("1"), "alice")
            .unwrap();
        let number = app
            .open_pull(REPO, NewPull::new("fix", "alice", "Fix"))
            .await;
        app.drain().await;
        Desk { app, number }
    };
    assert_eq!(desk.conclusion(), "success", "a person's");
    let forge = &desk.app.forge;
    let shared = desk.head();
    forge.push(REPO, "fix", properties("2"), "alice").unwrap();
    desk.synchronize("alice").await;
    assert_eq!(desk.conclusion(), "success");
    // An agent opens another one with the head that the first has had.
    forge
        .push(REPO, "other", [("README.md", "x\n")], "alice")
        .unwrap();
    forge.reset_branch(REPO, "other", &shared).unwrap();
    desk.app
        .open_pull(REPO, NewPull::new("other", AGENT, "Other"))
        .await;
    desk.app.drain().await;
    desk.evaluate().await;
    assert_eq!(desk.conclusion(), "action_required");
    assert!(
        desk.summary().contains("has had the same head"),
        "{}",
        desk.summary()
    );
    desk.app.finish().await;
}
