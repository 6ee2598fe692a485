//! Who may give which command, from the signed webhook to what came of it: each kind of actor with each command
//! (interfaces section 7). What rights hang on is judged by a table of its own, beside the rules.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use frostline::command::COMMANDS;
use frostline::demo::forge::{Access, FileChange, NewPull};
use frostline::model::PrNumber;
use frostline::store::{AskResult, AskedLine};

use crate::support::app::TestApp;
use crate::support::world::{PROPERTY, REPO, contract, manifest, two_fixtures};

const TESTS: &str = "tests/properties/test_parse.py";
const LEDGER: &str = "tests/seed_freeze.json";
const FIXTURE: &str = "tests/fixtures/a.json";

/// Every actor, with the role that the account has.
const ACTORS: &[(&str, Option<&str>)] = &[
    // Opened two pull requests; pushed to both.
    ("author", Some("maintain")),
    ("pusher", Some("maintain")),
    // An account that the configuration names an agent's.
    ("agent", Some("maintain")),
    ("bot[bot]", Some("maintain")),
    ("reader", Some("read")),
    ("writer", Some("write")),
    // Named by a row; by their team; named by a row, and without write access by now.
    ("owner", Some("write")),
    ("member", Some("write")),
    ("former", Some("read")),
    ("maintainer", Some("maintain")),
    // Opened a pull request from a fork.
    ("outsider", None),
];

/// Interfaces section 7: who of [`ACTORS`] may give it. What every bot says is no command.
const RIGHTS: &[(&[&str], &str)] = &[
    (
        &["help", "status", "explain"],
        "author pusher agent reader writer owner member former maintainer outsider",
    ),
    (
        &["recheck"],
        "author pusher agent reader writer owner member former maintainer",
    ),
    (&["accept"], "maintainer"),
    (&["human"], "author pusher maintainer"),
    (
        &["lock", "map", "note", "freeze"],
        "writer owner member maintainer",
    ),
    (&["reopen", "close"], "owner member maintainer"),
];

fn may(name: &str, actor: &str) -> bool {
    let row = RIGHTS.iter().find(|(names, _)| names.contains(&name));
    let (_, allowed) = row.unwrap_or_else(|| panic!("no row of {name}"));
    allowed.split(' ').any(|allowed| allowed == actor)
}

/// The test whose row is the actor's.
fn row_of(actor: &str) -> String {
    let own = match actor {
        "member" => "test_team",
        "former" => "test_former",
        _ => "test_roundtrip",
    };
    format!("{TESTS}::{own}")
}

fn row(name: &str, owner: &str) -> serde_json::Value {
    let node = format!("{TESTS}::{name}");
    serde_json::json!({"nodeid": node, "seed": 7, "fixture_digest": manifest(&two_fixtures()),
        "reason": "CLOCK", "replay": format!("pytest {node} --hypothesis-seed=7"),
        "opened_at": "2026-11-01T00:00:00Z", "expires_at": null, "status": "open", "owner": owner})
}

fn ledger(rows: &[serde_json::Value]) -> FileChange {
    let ledger = serde_json::json!({"schema": "seed-freeze-v1", "entries": rows});
    (LEDGER, ledger.to_string()).into()
}

fn repository() -> Vec<FileChange> {
    let names = ["test_roundtrip", "test_team", "test_former", "test_new"];
    let tests: String = names
        .map(|name| format!("def {name}():\n    pass\n"))
        .concat();
    let listed = names.map(|name| format!("{TESTS}::{name}"));
    let map = serde_json::json!({"version": 1, "rules": [
        {"path_prefix": "src/", "live_properties": listed}]});
    let config = "version: 1\napply_to: all\nagents: {logins: [agent], branches: [\"bot/*\"]}\n";
    let mut files = contract(&two_fixtures());
    files.extend([
        ledger(&[
            row("test_roundtrip", "@owner"),
            row("test_team", "@acme/parse"),
            row("test_former", "@former"),
        ]),
        (TESTS, tests).into(),
        ("test/contract/hunk-map.json", map.to_string()).into(),
        (".github/frostline.yml", config).into(),
    ]);
    files
}

struct Desk {
    app: TestApp,
    /// An agent's by its branch: production, and the fixture that the rows are about.
    patch: u64,
    /// The same author's, which a person has to look at.
    review: u64,
    /// From a fork.
    fork: u64,
}

impl Desk {
    async fn open() -> Self {
        let app = TestApp::start().await;
        app.forge.create_repo(REPO, repository()).unwrap();
        for (right, access) in [("contents", Access::Write), ("members", Access::Read)] {
            app.forge.set_right(REPO, right, Some(access)).unwrap();
        }
        app.forge.set_team("acme/parse", &["member"]);
        for (login, role) in ACTORS {
            app.forge.set_role(REPO, login, *role).unwrap();
        }
        let files = [(FIXTURE, "2\n"), ("src/a.py", "a = 1\n")];
        let patch = pull(&app, "bot/fix", "author", &files).await;
        let tests = "tests/properties/test_more.py";
        let text = "def test_more():\n    pass\n";
        let review = pull(&app, "bot/tests", "author", &[(tests, text)]).await;
        for (number, branch, change) in [
            (patch, "bot/fix", ("src/a.py", "a = 2\n")),
            (review, "bot/tests", (tests, "def test_more():\n    ...\n")),
        ] {
            app.forge.push(REPO, branch, [change], "pusher").unwrap();
            let hook = app
                .forge
                .pull_webhook_by(REPO, number, "synchronize", "pusher");
            assert_eq!(app.deliver(&hook.unwrap()).await, 202);
            app.drain().await;
        }
        let fork = pull(&app, "theirs", "outsider", &[("src/a.py", "b = 1\n")]).await;
        app.forge
            .edit_pull(REPO, fork, |pull| pull.fork_gone = true)
            .unwrap();
        app.forge
            .advance(std::time::Duration::from_secs(2))
            .unwrap();
        Self {
            app,
            patch,
            review,
            fork,
        }
    }

    /// What came of each line of one comment; `None` where it was none of a person.
    async fn say(&self, number: u64, login: &str, lines: &[String]) -> Option<Vec<AskedLine>> {
        let app = &self.app;
        // A person without write access has ten commands an hour, and a repository sixty.
        app.advance(chrono::TimeDelta::minutes(61));
        let comment = app
            .forge
            .add_comment(REPO, number, login, &lines.join("\n"));
        let hook = app.forge.comment_webhook(REPO, comment.unwrap(), "created");
        let status = app.deliver(&hook.unwrap()).await;
        app.drain().await;
        if status == 204 {
            return None;
        }
        assert_eq!(status, 202);
        let repo = REPO.parse().unwrap();
        let asks = app.store.asks(&repo, PrNumber(number)).await.unwrap();
        Some(asks.last().unwrap().lines.clone())
    }

    /// Each of the lines is carried out, or refused for want of the right.
    async fn check(&self, number: u64, actor: &str, lines: &[String]) {
        let found = self.say(number, actor, lines).await;
        let is_bot = actor.ends_with("[bot]");
        assert_eq!(found.is_none(), is_bot, "{actor}");
        for line in found.into_iter().flatten() {
            let name = line.line.split(' ').nth(1).unwrap();
            let answer = &line.answer;
            match may(name, actor) {
                true => assert_eq!(
                    line.result,
                    Some(AskResult::Done),
                    "{actor} {name}: {answer}"
                ),
                false => {
                    let result = line.result;
                    assert_eq!(result, Some(AskResult::Refused), "{actor} {name}: {answer}");
                    let of_rights = [" is for ", " is not for "];
                    let told = of_rights.iter().any(|words| answer.contains(words));
                    assert!(told, "{actor} {name} is told who could: {answer}");
                }
            }
        }
    }
}

async fn pull(app: &TestApp, branch: &str, author: &str, files: &[(&str, &str)]) -> u64 {
    let files = files.iter().copied();
    app.forge.push(REPO, branch, files, author).unwrap();
    let number = app
        .open_pull(REPO, NewPull::new(branch, author, "Fix"))
        .await;
    app.drain().await;
    number
}

/// Commands on the pull request that the rows are about, as the actor would write them.
fn lines(actor: &str) -> [Vec<String>; 2] {
    let line = |words: &str| format!("/frostline {words}");
    let own = row_of(actor);
    [
        ["help", "status", "explain src/a.py", "recheck", "lock"]
            .map(line)
            .to_vec(),
        [
            format!("map src/new.py {PROPERTY}"),
            format!("note {FIXTURE} \"Two now.\""),
            format!("freeze {TESTS}::test_new seed=7 reason=IO owner=@owner"),
            format!("reopen {own}"),
            format!("close {own}"),
        ]
        .map(|words| line(&words))
        .to_vec(),
    ]
}

#[tokio::test]
async fn each_kind_of_actor_may_give_the_commands_of_its_right_and_no_other() {
    let desk = Desk::open().await;
    for (actor, _) in ACTORS {
        for lines in lines(actor) {
            desk.check(desk.patch, actor, &lines).await;
        }
    }
    // What cannot be done twice comes last from who may: then there is nothing left to be done.
    let rightless = |name: &'static str| ACTORS.iter().filter(move |(actor, _)| !may(name, actor));
    for (actor, _) in rightless("accept") {
        let accept = ["/frostline accept seen".to_owned()];
        desk.check(desk.review, actor, &accept).await;
    }
    let accept = ["/frostline accept seen".to_owned()];
    desk.check(desk.review, "maintainer", &accept).await;
    let human = ["/frostline human".to_owned()];
    for (actor, _) in rightless("human") {
        desk.check(desk.patch, actor, &human).await;
    }
    for (at, actor) in ["author", "pusher", "maintainer"].into_iter().enumerate() {
        let branch = format!("bot/more{at}");
        let more = pull(&desk.app, &branch, actor, &[("src/c.py", "c = 1\n")]).await;
        desk.app
            .forge
            .advance(std::time::Duration::from_secs(2))
            .unwrap();
        desk.check(more, actor, &human).await;
    }
    // On their own fork's pull request they have the same rights: none.
    for lines in lines("outsider") {
        desk.check(desk.fork, "outsider", &lines).await;
    }
    desk.app.finish().await;
}

#[test]
fn every_command_is_in_the_table() {
    let told: BTreeSet<&str> = RIGHTS
        .iter()
        .flat_map(|(names, _)| *names)
        .copied()
        .collect();
    let all: BTreeSet<&str> = COMMANDS.iter().map(|row| row.name).collect();
    assert_eq!(told, all);
}

#[tokio::test]
async fn in_a_suspended_installation_no_command_of_anybody_does_anything() {
    let desk = Desk::open().await;
    let app = &desk.app;
    app.forge.set_suspended(REPO, true).unwrap();
    let pulls = || (1..).take_while(|number| app.forge.pull(REPO, *number).is_some());
    let before = pulls().count();
    for lines in lines("maintainer") {
        let comment = app
            .forge
            .add_comment(REPO, desk.patch, "maintainer", &lines.join("\n"));
        let hook = app.forge.comment_webhook(REPO, comment.unwrap(), "created");
        assert_eq!(app.deliver(&hook.unwrap()).await, 202);
    }
    for _ in 0..40 {
        app.drain().await;
        app.advance(chrono::TimeDelta::minutes(31));
    }
    let counts = app.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.running), (0, 0), "nothing hangs");
    assert_eq!(pulls().count(), before);
}

#[tokio::test]
async fn the_rows_of_two_owners_end_only_at_the_word_of_who_is_both_or_maintains() {
    let desk = Desk::open().await;
    let app = &desk.app;
    let node = format!("{TESTS}::test_roundtrip");
    let two = ledger(&[
        row("test_roundtrip", "@owner"),
        row("test_roundtrip", "@acme/parse"),
    ]);
    app.forge.push(REPO, "main", [two], "maintainer").unwrap();
    let push = app.forge.push_webhook(REPO, "main").unwrap();
    assert_eq!(app.deliver(&push).await, 202);
    app.drain().await;
    let close = [format!("/frostline close {node}")];
    let result = async |login: &str| {
        app.forge
            .advance(std::time::Duration::from_secs(2))
            .unwrap();
        let lines = desk.say(desk.patch, login, &close).await.unwrap();
        (lines[0].result, lines[0].answer.clone())
    };
    for one in ["owner", "member"] {
        let (refused, answer) = result(one).await;
        assert_eq!(refused, Some(AskResult::Refused), "{one}: {answer}");
        for owner in ["@owner", "@acme/parse"] {
            assert!(answer.contains(owner), "who could: {answer}");
        }
    }
    app.forge.set_team("acme/parse", &["member", "owner"]);
    let (done, answer) = result("owner").await;
    assert_eq!(done, Some(AskResult::Done), "{answer}");
    let branch = app.forge.pull(REPO, desk.fork + 1).unwrap().head_branch;
    let text = app.forge.file(REPO, &branch, LEDGER).unwrap().unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("test_roundtrip"), "both rows go: {text}");
    desk.app.finish().await;
}
