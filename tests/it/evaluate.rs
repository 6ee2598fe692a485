//! The job that brings a pull request up to date, against the fake forge: what it decides.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, FileChange, Limits, NewPull};
use frostline::git;
use frostline::model::{
    Author, AuthorKind, ChangeStatus, EntryKind, Fact, Only, Presence, RowTest, Rule, Snapshot,
    Stats, Verdict,
};

use crate::support::world::{AGENT, PERSON, PROPERTY, REPO, World, contract, two_fixtures};

const HOLE: &[(&str, &str)] = &[
    ("src/parse.py", "def parse(x):\n    return x + 1\n"),
    ("app/new.py", "x = 1\n"),
];
const COVERED: &[(&str, &str)] = &[("src/parse.py", "def parse(x):\n    return x + 1\n")];

#[tokio::test]
async fn a_covered_patch_passes_and_says_nothing_more() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    assert_eq!(world.evaluate(number).await, 1);
    let run = world.run(number);
    assert_eq!(run.conclusion.as_deref(), Some("success"), "{run:#?}");
    assert_eq!(run.name, "frostline");
    assert_eq!(world.comments(number), []);
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.author.kind, AuthorKind::Agent);
    assert_eq!(decision.write_set[0].hunks[0].new_start, 2);
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_hole_fails_the_check_annotates_the_hunk_and_is_named_in_the_comment() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    world.evaluate(number).await;
    let run = world.run(number);
    assert_eq!(run.conclusion.as_deref(), Some("failure"));
    assert_eq!(run.annotations.len(), 1, "{:#?}", run.annotations);
    assert_eq!(run.annotations[0]["path"], "app/new.py");
    let comments = world.comments(number);
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0].body.contains("app/new.py"),
        "{}",
        comments[0].body
    );
    assert_eq!(comments[0].minimized, None);
    world.forge.assert_clean();
}

#[tokio::test]
async fn the_check_is_in_progress_before_anything_is_looked_at_once_the_repository_is_known() {
    let world = World::new().await;
    let first = world.pull("first", COVERED);
    world.evaluate(first).await;
    let number = world.pull("second", HOLE);
    let before = world.forge.requests().len();
    world.evaluate(number).await;
    let requests = world.requests_since(before);
    assert_eq!(
        requests[..2],
        [
            format!("GET /repos/{REPO}/pulls/{number}"),
            format!("POST /repos/{REPO}/check-runs")
        ]
    );
}

/// The target: 30 files, 200 fixtures, 3 of them changed since.
#[tokio::test]
async fn a_second_evaluation_takes_at_most_eight_requests_and_an_unchanged_one_five() {
    let fixtures: Vec<(String, Vec<u8>)> = (0..200)
        .map(|n| {
            (
                format!("d{}/f{n}.json", n % 7),
                format!("{{\"n\": {n}}}\n").into_bytes(),
            )
        })
        .collect();
    let world = World::with(contract(&fixtures)).await;
    let files: Vec<(String, String)> = (0..27)
        .map(|n| (format!("app/m{n}.py"), format!("x = {n}\n")))
        .collect();
    let borrow = |files: &[(String, String)]| {
        files
            .iter()
            .map(|(path, text)| (path.clone(), text.clone()))
            .collect::<Vec<_>>()
    };
    world
        .forge
        .push(REPO, "big", borrow(&files), AGENT)
        .unwrap();
    let number = world
        .forge
        .open_pull(REPO, NewPull::new("big", AGENT, "Big"))
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, _) = world.decision(number).await;
    assert_eq!(
        (decision.stats.fixtures, decision.stats.fixtures_hashed),
        (200, 200)
    );

    // The base branch goes on too, so that head and base have diverged.
    world.push("main", &[("README.md", "Parser, newer\n")], PERSON);
    world.evaluate(number).await;
    let changed = (0..3).map(|n| {
        (
            format!("tests/fixtures/d{n}/f{n}.json"),
            format!("{{\"n\": -{n}}}\n"),
        )
    });
    world
        .forge
        .push(REPO, "big", changed.collect::<Vec<_>>(), AGENT)
        .unwrap();
    let before = world.forge.requests().len();
    world.evaluate(number).await;
    let requests = world.requests_since(before);
    assert!(requests.len() <= 8, "{}: {requests:#?}", requests.len());
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.write_set.len(), 30);
    assert_eq!(
        (decision.stats.fixtures, decision.stats.fixtures_hashed),
        (200, 3)
    );
    assert!(decision.stats.forge_requests <= 8);
    assert_eq!(world.comments(number).len(), 1);

    let before = world.forge.requests().len();
    world.evaluate(number).await;
    let unchanged = world.requests_since(before);
    assert!(unchanged.len() <= 5, "{unchanged:#?}");
    eprintln!(
        "forge requests: {} for a second evaluation, {} for an unchanged decision",
        requests.len(),
        unchanged.len()
    );
    world.forge.assert_clean();
}

#[tokio::test]
async fn the_same_head_and_base_publish_nothing_new() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    world.evaluate(number).await;
    let writes = |world: &World| {
        let all = world.requests_since(0);
        all.iter().filter(|r| !r.starts_with("GET")).count()
    };
    let before = writes(&world);
    world.evaluate(number).await;
    assert_eq!(writes(&world), before);
    assert_eq!(world.runs(number).len(), 1);
}

#[tokio::test]
async fn a_comment_is_edited_in_place_and_folded_when_all_is_resolved() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    world.evaluate(number).await;
    world.push("fix", &[("app/other.py", "y = 2\n")], AGENT);
    world.evaluate(number).await;
    let comments = world.comments(number);
    assert_eq!(comments.len(), 1);
    assert!(comments[0].body.contains("app/other.py"));
    let gone = ["app/new.py", "app/other.py"].map(FileChange::remove);
    world.forge.push(REPO, "fix", gone, AGENT).unwrap();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
    let comments = world.comments(number);
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].minimized.as_deref(), Some("RESOLVED"));
    assert!(!comments[0].body.contains("app/other.py"));
    world.push("fix", &[("app/new.py", "x = 3\n")], AGENT);
    world.evaluate(number).await;
    let comments = world.comments(number);
    assert_eq!((comments.len(), comments[0].minimized.clone()), (1, None));
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_draft_is_judged_and_its_comment_waits() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    world
        .forge
        .edit_pull(REPO, number, |pull| pull.draft = true)
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    assert_eq!(world.comments(number), []);
    world
        .forge
        .edit_pull(REPO, number, |pull| pull.draft = false)
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.runs(number).len(), 1);
    assert_eq!(world.comments(number).len(), 1);
}

#[tokio::test]
async fn somebody_elses_comment_with_the_marker_is_left_alone() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    let forged = format!("{}\nAll is well.", frostline::render::COMMENT_MARKER);
    world
        .forge
        .add_comment(REPO, number, PERSON, &forged)
        .unwrap();
    world
        .forge
        .add_comment(REPO, number, "other[bot]", &forged)
        .unwrap();
    world.evaluate(number).await;
    let comments = world.comments(number);
    assert_eq!(comments.len(), 3);
    assert_eq!((&comments[0].body, &comments[1].body), (&forged, &forged));
    assert_eq!(comments[2].author, world.forge.bot_login());
}

#[tokio::test]
async fn a_persons_patch_is_bound_only_by_what_keeps_the_branch_consistent() {
    let world = World::new().await;
    let hole = world.pull_by("hole", HOLE, PERSON);
    world.evaluate(hole).await;
    assert_eq!(world.conclusion(hole), "success");
    assert_eq!(world.comments(hole), []);
    let fixture = world.pull_by("fixture", &[("tests/fixtures/a.json", "{}\n")], PERSON);
    world.evaluate(fixture).await;
    assert_eq!(world.conclusion(fixture), "failure");
}

#[tokio::test]
async fn a_trailer_makes_a_persons_patch_an_agents_and_it_stays_so() {
    let world = World::new().await;
    let message = "Fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>";
    world
        .forge
        .push_with_message(REPO, "fix", HOLE.iter().copied(), PERSON, message)
        .unwrap();
    let number = world
        .forge
        .open_pull(REPO, NewPull::new("fix", PERSON, "Fix"))
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    // Rewritten without the trailer.
    let main = world.forge.branch(REPO, "main").unwrap();
    world.forge.reset_branch(REPO, "fix", &main).unwrap();
    world.push("fix", HOLE, PERSON);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, _) = world.decision(number).await;
    assert!(
        decision.author.evidence.starts_with("seen earlier"),
        "{:?}",
        decision.author
    );
    // Another pull request with the same head can't change what the head is.
    let second = world
        .forge
        .open_pull(REPO, NewPull::new("fix", PERSON, "Again"))
        .unwrap();
    world.evaluate(second).await;
    let runs = world.runs(second);
    assert_eq!(runs.last().unwrap().conclusion.as_deref(), Some("failure"));
}

#[tokio::test]
async fn a_repository_that_has_not_opted_in_gets_one_neutral_check_on_an_agents_head() {
    let world = World::with(vec![("src/a.py", "x = 1\n").into()]).await;
    let number = world.pull("fix", &[("src/a.py", "x = 2\n")]);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "neutral");
    world.push("main", &[("README.md", "more\n")], PERSON);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "neutral");
    assert_eq!(world.comments(number), []);
    let person = world.pull_by("human", &[("src/a.py", "x = 3\n")], PERSON);
    world.evaluate(person).await;
    assert_eq!(world.runs(person), []);
    let trees = world.requests_since(0);
    assert!(!trees.iter().any(|r| r.contains("fixtures")));
    world.forge.assert_clean();
}

#[tokio::test]
async fn observe_is_neutral_and_says_what_it_would_do() {
    let mut files = contract(&two_fixtures());
    files.push((".github/frostline.yml", "mode: observe\n").into());
    let world = World::with(files).await;
    let number = world.pull("fix", HOLE);
    world.evaluate(number).await;
    let run = world.run(number);
    assert_eq!(run.conclusion.as_deref(), Some("neutral"));
    assert!(run.title.unwrap().contains("would refuse"));
}

#[tokio::test]
async fn a_closed_pull_request_gets_nothing() {
    let world = World::new().await;
    let number = world.pull("fix", HOLE);
    world
        .forge
        .edit_pull(REPO, number, |pull| pull.open = false)
        .unwrap();
    assert_eq!(world.evaluate(number).await, 1);
    assert_eq!(world.runs(number), []);
    assert_eq!(world.comments(number), []);
}

#[tokio::test]
async fn a_conflict_is_undetermined_and_fails() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    world.push(
        "main",
        &[("src/parse.py", "def parse(x):\n    return 0\n")],
        PERSON,
    );
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, snapshot) = world.decision(number).await;
    assert!(
        decision
            .findings
            .iter()
            .any(|f| f.rule == Rule::Undetermined)
    );
    assert!(snapshot.merged_tree.why_not().unwrap().contains("conflict"));
    // What head changes is known all the same, with its own entries.
    assert_eq!(snapshot.write_set.known().unwrap().len(), 1);
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_merge_that_is_not_tested_yet_is_waited_for_and_in_the_end_undetermined() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    world.push("main", &[("README.md", "newer\n")], PERSON);
    world
        .forge
        .edit_pull(REPO, number, |pull| pull.merge_delay = 3)
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.runs(number)[0].status, "in_progress");
    world.settle().await;
    assert_eq!(world.conclusion(number), "success");

    let slow = world.pull("slow", COVERED);
    world.push("main", &[("README.md", "newest\n")], PERSON);
    world
        .forge
        .edit_pull(REPO, slow, |pull| pull.merge_delay = 1000)
        .unwrap();
    world.evaluate(slow).await;
    world.settle().await;
    assert_eq!(world.conclusion(slow), "failure");
    assert!(world.run(slow).summary.unwrap().contains("not tested"));
}

#[tokio::test]
async fn a_truncated_tree_is_walked_and_gives_the_same_snapshot() {
    let whole = World::new().await;
    let cut = World::new().await;
    cut.forge.set_limits(Limits {
        tree_entries: 7,
        ..Limits::default()
    });
    let mut snapshots = Vec::new();
    for world in [&whole, &cut] {
        let number = world.pull("fix", HOLE);
        world.evaluate(number).await;
        assert_eq!(world.conclusion(number), "failure");
        snapshots.push(world.decision(number).await.1);
    }
    assert_eq!(snapshots[0].write_set, snapshots[1].write_set);
    assert_eq!(snapshots[0].fixtures, snapshots[1].fixtures);
    assert_eq!(snapshots[0].tree, snapshots[1].tree);
    let truncated = cut
        .forge
        .requests()
        .iter()
        .any(|r| r.answer["truncated"] == true);
    assert!(truncated, "the limit did not bite");
    cut.forge.assert_clean();
}

#[tokio::test]
async fn a_tree_that_is_cut_at_every_level_is_undetermined() {
    let world = World::new().await;
    world.forge.set_limits(Limits {
        tree_entries: 1,
        ..Limits::default()
    });
    let number = world.pull("fix", COVERED);
    world.evaluate(number).await;
    world.settle().await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.verdict, Verdict::Refuse);
    assert!(
        decision
            .findings
            .iter()
            .any(|f| f.rule == Rule::Undetermined)
    );
}

#[tokio::test]
async fn more_files_than_a_comparison_lists_are_all_in_the_write_set() {
    for limits in [
        Limits {
            compare_files: 300,
            ..Limits::default()
        },
        // The pull request's own list is cut too: trees tell.
        Limits {
            compare_files: 300,
            pull_files: 310,
            ..Limits::default()
        },
    ] {
        let world = World::new().await;
        world.forge.set_limits(limits);
        let files: Vec<(String, String)> = (0..320)
            .map(|n| (format!("app/m{n:03}.py"), format!("x = {n}\n")))
            .collect();
        world.forge.push(REPO, "big", files, AGENT).unwrap();
        let number = world
            .forge
            .open_pull(REPO, NewPull::new("big", AGENT, "Big"))
            .unwrap();
        world.evaluate(number).await;
        let run = world.run(number);
        assert_eq!(run.conclusion.as_deref(), Some("failure"));
        assert_eq!(run.annotations.len(), 320, "each once, in batches");
        let (decision, _) = world.decision(number).await;
        assert_eq!(decision.write_set.len(), 320);
        let with_hunks = decision.write_set.iter().filter(|c| c.hunks.len() == 1);
        assert_eq!(with_hunks.count(), limits.pull_files.min(320));
        world.forge.assert_clean();
    }
}

#[tokio::test]
async fn a_rate_limit_reschedules_the_job_to_its_end() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    let limit = Answer::RateLimited(Duration::from_secs(1800));
    world.forge.fault(Fault::next("GET", "/compare/", limit));
    assert_eq!(world.evaluate(number).await, 1);
    let before = world.forge.requests().len();
    world.advance(Duration::from_secs(1700));
    assert_eq!(
        world.runner().drain().await.unwrap(),
        0,
        "not before the reset"
    );
    assert_eq!(world.forge.requests().len(), before);
    world.advance(Duration::from_secs(200));
    assert_eq!(world.runner().drain().await.unwrap(), 1);
    assert_eq!(world.conclusion(number), "success");
}

#[tokio::test]
async fn a_missing_permission_ends_the_job_and_the_open_check() {
    let world = World::new().await;
    let first = world.pull("first", COVERED);
    world.evaluate(first).await;
    let number = world.pull("fix", COVERED);
    let forbidden = Fault::next("GET", "/compare/", Answer::Status(403));
    world.forge.fault(forbidden);
    world.evaluate(number).await;
    assert_eq!(world.store.queue_counts().await.unwrap().dead, 1);
    let run = world.run(number);
    assert_eq!(run.conclusion.as_deref(), Some("failure"));
    assert_eq!(run.title.as_deref(), Some("Could not evaluate"));
}

#[tokio::test]
async fn when_the_attempts_are_used_up_the_open_check_fails() {
    let world = World::new().await;
    let first = world.pull("first", COVERED);
    world.evaluate(first).await;
    let number = world.pull("fix", COVERED);
    world
        .forge
        .fault(Fault::next("GET", "/compare/", Answer::Status(502)).times(1000));
    world.evaluate(number).await;
    assert_eq!(world.runs(number)[0].status, "in_progress");
    world.settle().await;
    assert_eq!(world.store.queue_counts().await.unwrap().dead, 1);
    let run = world.run(number);
    assert_eq!(run.title.as_deref(), Some("Could not evaluate"));
    // It is evaluated again as soon as something happens.
    world.forge.clear_faults();
    world.evaluate(number).await;
    assert_eq!(
        world.runs(number).last().unwrap().conclusion.as_deref(),
        Some("success")
    );
}

#[tokio::test]
async fn a_verdict_for_an_overtaken_head_is_not_published() {
    let world = std::sync::Arc::new(World::new().await);
    let first = world.pull("first", COVERED);
    world.evaluate(first).await;
    let number = world.pull("fix", &[("src/parse.py", "def parse(x):\n    return 2\n")]);
    let old = world.forge.head(REPO, number).unwrap();
    // A push while the merged tree is fetched.
    let pusher = world.clone();
    let push = Fault::next("GET", "/git/trees/", Answer::Status(502))
        .after()
        .calling(move || pusher.push("fix", &[("app/new.py", "x = 1\n")], AGENT));
    world.forge.fault(push);
    world.evaluate(number).await;
    world.settle().await;
    let runs = world.forge.check_runs(REPO, &old);
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].conclusion.as_deref(), Some("cancelled"));
    let new = world.forge.head(REPO, number).unwrap();
    assert_ne!(old, new);
    assert!(runs[0].summary.as_deref().unwrap().contains(new.as_str()));
    assert_eq!(world.conclusion(number), "failure");
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_pull_request_into_an_unguarded_branch_is_judged_as_if_into_the_default_branch() {
    let world = World::new().await;
    world.push("feature", &[("docs/a.md", "a\n")], PERSON);
    world
        .forge
        .push(REPO, "stacked", [("app/new.py", "x = 1\n")], AGENT)
        .unwrap();
    let new = NewPull {
        base: "feature",
        ..NewPull::new("stacked", AGENT, "Stacked")
    };
    let number = world.forge.open_pull(REPO, new).unwrap();
    world.evaluate(number).await;
    let run = world.run(number);
    assert_eq!(
        (run.name.as_str(), run.conclusion.as_deref()),
        ("frostline", Some("failure"))
    );
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.into_unguarded.as_deref(), Some("feature"));
    assert_eq!(decision.branch, "main");
    assert_eq!(decision.write_set.len(), 1);
    world.forge.assert_clean();
}

#[tokio::test]
async fn another_guarded_branch_is_judged_by_its_own_tip_under_its_own_name() {
    let mut files = contract(&two_fixtures());
    files.push((".github/frostline.yml", "branches: [release]\n").into());
    let world = World::with(files).await;
    // The release branch's own map guards nothing.
    let map = r#"{"version": 1, "rules": [{"path_prefix": "lib/", "live_properties": ["tests/properties/test_parse.py::test_roundtrip"]}]}"#;
    world.push("release", &[("test/contract/hunk-map.json", map)], PERSON);
    let release = world.forge.branch(REPO, "release").unwrap();
    world.push("backport", COVERED, AGENT);
    world
        .forge
        .reset_branch(REPO, "backport", &release)
        .unwrap();
    world.push("backport", COVERED, AGENT);
    let new = NewPull {
        base: "release",
        ..NewPull::new("backport", AGENT, "Backport")
    };
    let number = world.forge.open_pull(REPO, new).unwrap();
    world.evaluate(number).await;
    let run = world.run(number);
    assert_eq!(run.name, "frostline (release)");
    assert_eq!(run.conclusion.as_deref(), Some("failure"));
    assert!(run.summary.unwrap().contains("unmapped-path"));
    world.forge.assert_clean();
}

const RUST: &str = "pub fn two() -> u8 { 2 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { \
                    assert_eq!(1 + 1, super::two()); }\n}\n";
const PYTHON: &str = "from hypothesis import given, seed\nfrom tests.support.strategies import trees\n\n\n\
                      def test_a(): ...\n\n\ndef test_b(): ...\n";

/// Both gatherers must mean the same: one history of every kind of change, seen by either.
#[tokio::test]
async fn the_forge_and_the_local_repository_give_the_same_snapshot() {
    let mut files = contract(&two_fixtures());
    let text: String = (0..40).map(|n| format!("line {n}\n")).collect();
    for path in [
        "src/long.py",
        "src/moved.py",
        "lib/mode.py",
        "lib/linked.py",
    ] {
        files.push((path, &text).into());
    }
    files.push(
        (
            ".gitattributes",
            "tests/fixtures/*.txt ident\n*.bin filter=lfs\n",
        )
            .into(),
    );
    files.push(("tests/fixtures/.gitattributes", "*.crlf eol=crlf\n").into());
    files.push(("tests/fixtures/deep/big.txt", "x".repeat(600_000)).into());
    files.push(("tests/fixtures/latin.bin", b"caf\xe9\r\n").into());
    files.push(("tests/fixtures/o.txt", "o\n").into());
    files.push(("tests/fixtures/o.crlf", "o\n").into());
    files.push(("docs/run", "#!/bin/sh\n").into());
    files.push(("pyproject.toml", "[project]\nversion = \"1\"\n").into());
    files.push(("package.json", "{\"scripts\": {\"test\": \"a\"}}\n").into());
    files.push(("src/inline.rs", RUST).into());
    files.push(("tests/properties/test_more.py", PYTHON).into());
    files.push(("tests/support/strategies.py", "trees = 1\n").into());
    let property =
        "from tests.support.strategies import trees\n\n\ndef test_roundtrip():\n    pass\n";
    files.push(("tests/properties/test_parse.py", property).into());
    let row = |nodeid: &str, digest: String| {
        serde_json::json!({"nodeid": nodeid, "seed": 7, "fixture_digest": digest, "reason": "IO", "status": "open",
            "property_digest": "0".repeat(64), "replay": format!("pytest {nodeid} --hypothesis-seed=7")})
    };
    let other = "tests/properties/test_more.py::test_a";
    let rows = [
        row(PROPERTY, format!("sha256:{}", "0".repeat(64))),
        row(other, format!("manifest-sha256:{}", "0".repeat(64))),
    ];
    let ledger = serde_json::json!({"schema": "seed-freeze-v1", "entries": rows});
    files.push(("tests/seed_freeze.json", ledger.to_string()).into());
    let catalog = serde_json::json!({"version": 1, "properties": [
        {"property_id": "a", "nodeid": PROPERTY, "fixtures": ["data/seeded/**"], "owner": "@o"},
        {"property_id": "b", "nodeid": other, "fixtures": ["data/out/*.txt"], "owner": "@o"}]});
    files.push(("test/contract/properties.json", catalog.to_string()).into());
    for path in [
        "data/seeded/a/b",
        "data/seeded/a-b",
        "data/out/1.txt",
        "data/out/2.txt",
    ] {
        files.push((path, path).into());
    }
    files.push(("docs/behavior/a.md", "nothing\n").into());
    let frozen: String = ["test_plain", "test_gone"]
        .map(|name| {
            format!(
                "tests/test_plain.py::{name} unstable_since=2026-01-01 frozen_runs=1 note=\"\"\n"
            )
        })
        .concat();
    files.push(("frozen_tests.txt", frozen).into());
    let world = World::with(files).await;
    let changed = text
        .replace("line 3\n", "line three\n")
        .replace("line 30\n", "");
    let changes = vec![
        FileChange::write("src/long.py", changed.clone()),
        FileChange::remove("src/moved.py"),
        FileChange::write("src/elsewhere.py", text.replace("line 9\n", "line nine\n")),
        FileChange::entry("lib/mode.py", EntryKind::Executable, text.clone()),
        FileChange::entry("lib/linked.py", EntryKind::Symlink, "mode.py"),
        FileChange::entry(
            "vendor/sub",
            EntryKind::Submodule,
            "1234567890123456789012345678901234567890",
        ),
        FileChange::write("docs/run", "#!/bin/bash\n"),
        FileChange::write("pyproject.toml", "[project]\nversion = \"2\"\n"),
        FileChange::write("package.json", "{\"scripts\": {\"test\": \"b\"}}\n"),
        FileChange::write("src/inline.rs", RUST.replace("1 + 1", "2 + 0")),
        FileChange::write(
            "tests/properties/test_more.py",
            PYTHON.replace(
                "def test_b(): ...",
                "@seed(1)\n@given(trees)\ndef test_c(x): ...",
            ),
        ),
        FileChange::write("tests/support/strategies.py", "trees = 2\n"),
        FileChange::write("docs/walk", "no script\n"),
        FileChange::write("data/seeded/a-b", "other\n"),
        FileChange::write("data/out/1.txt", "other\n"),
        FileChange::remove("data/out/2.txt"),
        FileChange::write(
            "docs/behavior/b.md",
            format!(
                "tests/fixtures/new.json {}\n",
                frostline::digest::blob(b"{}\n").sha256
            ),
        ),
        FileChange::write("tests/fixtures/new.json", "{}\n"),
        FileChange::entry("tests/fixtures/link", EntryKind::Symlink, "a.json"),
        FileChange::write("tests/Fixtures/a.json", "{}\n"),
        FileChange::write(
            "test/contract/flake-freeze.json",
            "{\"version\": 1, \"entries\": [] }\n",
        ),
    ];
    for diverged in [false, true] {
        let branch = if diverged { "diverged" } else { "ahead" };
        world
            .forge
            .push(REPO, branch, changes.clone(), AGENT)
            .unwrap();
        if diverged {
            let same = [("src/long.py", changed.as_str()), ("README.md", "newer\n")];
            world.push("main", &same, PERSON);
        }
        let number = world
            .forge
            .open_pull(REPO, NewPull::new(branch, AGENT, "All"))
            .unwrap();
        world.evaluate(number).await;
        let (_, forge) = world.decision(number).await;
        let local = git::gather(&git::Request {
            repo: world.forge.git_dir(REPO),
            base: Some("main".to_owned()),
            head: branch.into(),
            author: Author {
                ..forge.author.clone()
            },
            now: forge.now,
            cache: false,
            lane: None,
        })
        .unwrap();
        assert_same(forge, local);
    }
    world.forge.assert_clean();
}

fn assert_same(mut forge: Snapshot, mut local: Snapshot) {
    for snapshot in [&mut forge, &mut local] {
        snapshot.stats = Stats::default();
        snapshot.repository.clear();
        // Only a forge has rules for branches.
        snapshot.required = None;
        // The forge does not tell how many lines a renamed file had under its old name.
        let Fact::Known(changes) = &mut snapshot.write_set else {
            panic!("{:?}", snapshot.write_set);
        };
        let old: Vec<String> = changes.iter().filter_map(|c| c.old_path.clone()).collect();
        for change in changes.iter_mut().filter(|c| old.contains(&c.path)) {
            change.hunks.clear();
        }
    }
    let rows = |snapshot: &Snapshot| match &snapshot.write_set {
        Fact::Known(changes) => changes.clone(),
        other => panic!("{other:?}"),
    };
    for (a, b) in rows(&forge).iter().zip(&rows(&local)) {
        assert_eq!(a, b);
    }
    assert!(
        rows(&forge)
            .iter()
            .any(|change| change.status == ChangeStatus::Renamed)
    );
    assert!(rows(&forge).iter().any(|change| change.shebang));
    let only = |path: &str| {
        let change = rows(&forge).into_iter().find(|change| change.path == path);
        change.and_then(|change| change.only)
    };
    assert_eq!(only("pyproject.toml"), Some(Only::OtherKeys));
    assert_eq!(only("package.json"), None);
    assert_eq!(only("src/inline.rs"), Some(Only::TestItems));
    let sources = forge.sources.known().expect("sources");
    let file = &sources.files["tests/properties/test_more.py"];
    assert_eq!(
        (file.removed.as_slice(), file.seeds.len()),
        (&["test_b".to_owned()][..], 1)
    );
    let property = &sources.properties[PROPERTY];
    assert!(matches!(property.presence, Presence::Present(_)));
    assert_eq!(
        property.needs.as_deref(),
        Some("tests/support/strategies.py")
    );
    let rows: Vec<_> = sources.rows.iter().collect();
    let gone = "tests/test_plain.py::test_gone".to_owned();
    assert_eq!(rows, [(&gone, &RowTest::Absent)]);
    let scopes = &forge.scopes;
    assert_eq!(scopes, &local.scopes);
    assert!(matches!(
        scopes.seed_forms.get("data/seeded"),
        Some(Fact::Known(_))
    ));
    assert_eq!((scopes.files.len(), scopes.before.len()), (5, 3));
    assert!(scopes.notes.contains_key("tests/fixtures/new.json"));
    assert_eq!(forge.fixtures, local.fixtures);
    assert_eq!(forge.digests, local.digests);
    assert_eq!(forge.tree, local.tree);
    assert_eq!(forge, local);
}

#[tokio::test]
async fn a_frozen_property_is_named_with_its_owner() {
    let mut files = contract(&two_fixtures());
    let freezes = serde_json::json!({"version": 1, "entries": [{
        "nodeid": PROPERTY, "reason": "flaky", "owner": "@alice", "covers": ["src/parse.py"], "frozen": true,
    }]});
    files.push(("test/contract/flake-freeze.json", freezes.to_string()).into());
    let world = World::with(files).await;
    let number = world.pull("fix", COVERED);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, _) = world.decision(number).await;
    assert!(
        decision
            .findings
            .iter()
            .any(|f| f.rule == Rule::CoverageHole)
    );
    assert_eq!(world.comments(number).len(), 1);
}

/// Runs git in the forge's bare repository; gives what it prints.
fn bare_git(world: &World, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(world.forge.git_dir(REPO))
        .args([
            "-c",
            "user.name=Alice",
            "-c",
            "user.email=alice@example.org",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Merges `other` into `branch` and moves the branch there.
fn merge(world: &World, branch: &str, other: &str) {
    let tree = bare_git(world, &["merge-tree", "--write-tree", branch, other]);
    let commit = [
        "commit-tree",
        &tree,
        "-p",
        branch,
        "-p",
        other,
        "-m",
        "Merge",
    ];
    let merge = bare_git(world, &commit).parse().unwrap();
    world.forge.reset_branch(REPO, branch, &merge).unwrap();
}

#[tokio::test]
async fn a_branch_into_which_the_base_was_merged_has_one_merge_base() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    world.push("main", &[("README.md", "newer\n")], PERSON);
    merge(&world, "fix", "main");
    let merged = world.forge.branch(REPO, "main").unwrap();
    world.push("main", &[("README.md", "newest\n")], PERSON);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
    let (_, snapshot) = world.decision(number).await;
    assert_eq!(snapshot.merge_bases, Fact::Known(vec![merged]));
    assert_eq!(snapshot.write_set.known().unwrap().len(), 1);
    world.forge.assert_clean();
}

#[tokio::test]
async fn several_merge_bases_are_undetermined_and_never_taken_for_one() {
    let world = World::new().await;
    let number = world.pull("fix", COVERED);
    bare_git(&world, &["branch", "before", "fix"]);
    world.push("main", &[("README.md", "newer\n")], PERSON);
    bare_git(&world, &["branch", "other", "main"]);
    merge(&world, "fix", "other");
    merge(&world, "main", "before");
    world.push("main", &[("README.md", "newest\n")], PERSON);
    let bases = bare_git(&world, &["merge-base", "--all", "main", "fix"]);
    assert_eq!(bases.lines().count(), 2, "the history is a criss-cross");
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (_, snapshot) = world.decision(number).await;
    assert!(
        snapshot
            .merge_bases
            .why_not()
            .unwrap()
            .contains("several merge bases")
    );
}

#[tokio::test]
async fn unrelated_histories_are_undetermined() {
    let world = World::new().await;
    let tree = bare_git(&world, &["rev-parse", "main^{tree}"]);
    let root = bare_git(&world, &["commit-tree", &tree, "-m", "Root"]);
    world
        .forge
        .reset_branch(REPO, "island", &root.parse().unwrap())
        .unwrap();
    world.push("island", COVERED, AGENT);
    let number = world
        .forge
        .open_pull(REPO, NewPull::new("island", AGENT, "Island"))
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (_, snapshot) = world.decision(number).await;
    assert!(matches!(snapshot.merge_bases, Fact::Missing(_)));
}

#[tokio::test]
async fn every_commit_is_looked_at_for_an_agents_trailer() {
    let world = World::new().await;
    let trailer = "Fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>";
    world
        .forge
        .push_with_message(REPO, "long", HOLE.iter().copied(), PERSON, trailer)
        .unwrap();
    for n in 0..260 {
        let text = format!("{n}\n");
        world.push("long", &[("docs/n.md", text.as_str())], PERSON);
    }
    let number = world
        .forge
        .open_pull(REPO, NewPull::new("long", PERSON, "Long"))
        .unwrap();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, _) = world.decision(number).await;
    assert_eq!(decision.author.kind, AuthorKind::Agent);
    assert!(
        decision.author.evidence.contains("anthropic"),
        "{:?}",
        decision.author
    );
    world.forge.assert_clean();
}
