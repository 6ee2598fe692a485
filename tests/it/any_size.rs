//! Pull requests and repositories of any size: the write-set is exact, or the verdict says that it is not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, FileChange, Forge, Limits, NewPull};
use frostline::git;
use frostline::model::{ChangeStatus, Fact, Presence, PropertyFact, Snapshot};

use crate::support::world::{AGENT, PERSON, REPO, World, contract, two_fixtures};

/// Commits to a branch by `git fast-import`, which makes 300,000 entries in a second.
pub fn import(forge: &Forge, branch: &str, from: &str, commands: &str) {
    let directory = forge.git_dir(REPO);
    let start = run_git(forge, &["rev-parse", from]);
    let mut child = Command::new("git")
        .arg("-C")
        .arg(&directory)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let commit = format!(
        "commit refs/heads/{branch}\ncommitter Acme <a@example.org> 1700000000 +0000\ndata 6\nChange\nfrom {start}\n{commands}\ndone\n"
    );
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"feature done\n").unwrap();
    input.write_all(commit.as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let tip = run_git(forge, &["rev-parse", &format!("refs/heads/{branch}")]);
    forge
        .reset_branch(REPO, branch, &tip.parse().unwrap())
        .unwrap();
}

fn run_git(forge: &Forge, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(forge.git_dir(REPO))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn write(commands: &mut String, mode: &str, path: &str, text: &str) {
    write!(
        commands,
        "M {mode} inline {path}\ndata {}\n{text}\n",
        text.len()
    )
    .unwrap();
}

/// What git itself says differs between two commits.
fn differing(forge: &Forge, old: &str, new: &str) -> BTreeSet<String> {
    let told = run_git(
        forge,
        &["diff-tree", "-r", "--no-renames", "--name-only", old, new],
    );
    told.lines().map(str::to_owned).collect()
}

fn paths(snapshot: &Snapshot) -> BTreeSet<String> {
    let changes = snapshot.write_set.known().expect("a write-set");
    changes.iter().map(|change| change.path.clone()).collect()
}

fn open(world: &World, branch: &str) -> u64 {
    let new = NewPull::new(branch, AGENT, "Big");
    world.forge.open_pull(REPO, new).unwrap()
}

/// 12,000 paths in a pull request: 6,000 added, 3,000 changed, 2,000 removed, 1,000 made executable.
pub fn twelve_thousand(forge: &Forge) {
    let path = |n: usize| format!("app/d{:02}/m{n}.py", n % 100);
    let mut base = String::new();
    for n in 0..6_500 {
        write(&mut base, "644", &path(n), &format!("x = {n}\n"));
    }
    import(forge, "main", "main", &base);
    let mut head = String::new();
    for n in 0..3_000 {
        write(&mut head, "644", &path(n), &format!("x = -{n}\n"));
    }
    for n in 3_000..4_000 {
        write(&mut head, "755", &path(n), &format!("x = {n}\n"));
    }
    for n in 4_000..6_000 {
        writeln!(head, "D {}", path(n)).unwrap();
    }
    for n in 10_000..16_000 {
        write(&mut head, "644", &path(n), &format!("y = {n}\n"));
    }
    import(forge, "big", "main", &head);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_of_12_000_files_has_the_exact_write_set() {
    let world = World::new().await;
    twelve_thousand(&world.forge);
    // The base goes on: what the test merge holds is not what head holds.
    world.push("main", &[("README.md", "newer\n")], PERSON);
    let number = open(&world, "big");
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "failure");
    let (decision, snapshot) = world.decision(number).await;
    let expected = differing(&world.forge, "main", "big");
    let mut expected_paths = expected.clone();
    expected_paths.remove("README.md");
    assert_eq!(expected_paths.len(), 12_000);
    assert_eq!(paths(&snapshot), expected_paths);
    let count = |status| {
        let changes = snapshot.write_set.known().unwrap();
        changes
            .iter()
            .filter(|change| change.status == status)
            .count()
    };
    assert_eq!(count(ChangeStatus::Modified), 3_000);
    assert_eq!(count(ChangeStatus::TypeChanged), 1_000);
    assert_eq!(count(ChangeStatus::Removed), 2_000);
    assert_eq!(count(ChangeStatus::Added), 6_000);
    // Annotations end somewhere, and the check says so.
    let run = world.run(number);
    assert_eq!(run.annotations.len(), 1_000);
    let holes = decision
        .coverage
        .iter()
        .filter(|c| c.live < c.min_live)
        .count();
    let summary = run.summary.unwrap();
    let told = format!("{} further places have no annotation", holes - 1_000);
    assert!(
        summary.contains(&told),
        "{holes}: {}",
        &summary[summary.len() - 400..]
    );
    world.forge.assert_clean();
}

/// 300,000 files in 3,000 directories, of which no two are equal.
fn monorepo(forge: &Forge) {
    let mut all = String::with_capacity(20 << 20);
    for top in 0..30 {
        for sub in 0..100 {
            for file in 0..100 {
                let path = format!("app/t{top:02}/s{sub:02}/f{file:02}.py");
                let text = if file == 0 {
                    format!("{top} {sub}\n")
                } else {
                    String::new()
                };
                write(&mut all, "644", &path, &text);
            }
        }
    }
    import(forge, "main", "main", &all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_300_000_entries_is_walked_once_and_then_where_it_differs() {
    let world = World::new().await;
    monorepo(&world.forge);
    let mut change = String::new();
    write(&mut change, "644", "app/t03/s07/f05.py", "changed = 1\n");
    write(&mut change, "644", "app/t17/s99/new.py", "new = 1\n");
    writeln!(change, "D app/t29/s00/f99.py").unwrap();
    // A directory that moves: its tree is known by its id.
    writeln!(change, "R app/t05/s01 lib/moved").unwrap();
    import(&world.forge, "big", "main", &change);
    let number = open(&world, "big");
    let before = world.forge.requests().len();
    world.evaluate(number).await;
    let is_tree = |r: &&String| r.contains("/git/trees/");
    let first = world.requests_since(before).iter().filter(is_tree).count();
    let (_, snapshot) = world.decision(number).await;
    assert_eq!(paths(&snapshot), differing(&world.forge, "main", "big"));
    assert_eq!(paths(&snapshot).len(), 203);

    let mut again = String::new();
    write(&mut again, "644", "app/t11/s50/f50.py", "changed = 2\n");
    import(&world.forge, "small", "main", &again);
    let number = open(&world, "small");
    let before = world.forge.requests().len();
    world.evaluate(number).await;
    let (_, snapshot) = world.decision(number).await;
    assert_eq!(paths(&snapshot), differing(&world.forge, "main", "small"));
    let requests = world.requests_since(before);
    let trees = requests.iter().filter(is_tree).count();
    eprintln!("300,000 entries: {first} trees at first, then {trees}");
    assert!(first <= 50, "{first} trees");
    assert!(trees <= 4, "{requests:#?}");
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_walk_that_breaks_off_goes_on_where_it_was() {
    let world = World::new().await;
    world.forge.set_limits(Limits {
        tree_entries: 40,
        ..Limits::default()
    });
    let files = (0..20).flat_map(|dir| (0..10).map(move |n| (dir, n)));
    let files = files.map(|(dir, n)| (format!("lib/d{dir:02}/f{n}"), format!("{dir} {n}")));
    let files: Vec<FileChange> = files.map(Into::into).collect();
    world.forge.push(REPO, "main", files, PERSON).unwrap();
    let number = world.pull("fix", &[("src/parse.py", "def parse(x):\n    return 2\n")]);
    let trees = |world: &World| {
        let all = world.requests_since(0);
        all.iter().filter(|r| r.contains("/git/trees/")).count()
    };
    let limit = Answer::RateLimited(Duration::from_secs(60));
    world
        .forge
        .fault(Fault::next("GET", "/git/trees/", limit).skip(15));
    world.evaluate(number).await;
    let before = trees(&world);
    assert_eq!(before, 16);
    world.advance(Duration::from_secs(120));
    world.settle().await;
    let whole = {
        let other = World::with(contract(&two_fixtures())).await;
        other.forge.set_limits(Limits {
            tree_entries: 40,
            ..Limits::default()
        });
        let files = (0..20).flat_map(|dir| (0..10).map(move |n| (dir, n)));
        let files = files.map(|(dir, n)| (format!("lib/d{dir:02}/f{n}"), format!("{dir} {n}")));
        let files: Vec<FileChange> = files.map(Into::into).collect();
        other.forge.push(REPO, "main", files, PERSON).unwrap();
        let number = other.pull("fix", &[("src/parse.py", "def parse(x):\n    return 2\n")]);
        other.evaluate(number).await;
        assert_eq!(other.conclusion(number), "success");
        trees(&other)
    };
    assert_eq!(world.conclusion(number), "success");
    let saved = whole + before - trees(&world);
    assert!(
        saved >= 10,
        "{before} and {} in place of {whole}",
        trees(&world) - before
    );
}

/// 40 properties of nearly a MiB each, of which 32 MiB are read.
#[tokio::test(flavor = "multi_thread")]
async fn sources_beyond_the_budget_are_not_fetched_and_guard_nothing_yet() {
    let world = World::new().await;
    let mut commands = String::new();
    let mut rules = Vec::new();
    for n in 0..40 {
        let path = format!("tests/properties/test_{n:02}.py");
        let text = format!("def test_x():\n    pass\n# {n} {}\n", "x".repeat(1_000_000));
        write(&mut commands, "644", &path, &text);
        let source = format!("src/m{n:02}.py");
        write(&mut commands, "644", &source, "x = 1\n");
        let property = format!("{path}::test_x");
        rules.push(serde_json::json!({"path_prefix": source, "live_properties": [property]}));
    }
    let map = serde_json::json!({"version": 1, "rules": rules}).to_string();
    write(&mut commands, "644", "test/contract/hunk-map.json", &map);
    import(&world.forge, "main", "main", &commands);
    let mut change = String::new();
    for n in 0..40 {
        write(&mut change, "644", &format!("src/m{n:02}.py"), "x = 2\n");
    }
    import(&world.forge, "big", "main", &change);
    let number = open(&world, "big");
    world.evaluate(number).await;
    let raw = world.requests_since(0);
    let raw = raw.iter().filter(|r| r.contains("/git/blobs/")).count();
    // Of the others one may have come alone, as bytes.
    assert!((33..=34).contains(&raw), "{raw} MB; 33 are the budget");
    let (_, forge) = world.decision(number).await;
    let sources = forge.sources.known().expect("sources");
    let unread = |fact: &&PropertyFact| matches!(fact.presence, Presence::Unavailable(_));
    assert_eq!(sources.properties.len(), 40);
    assert_eq!(sources.properties.values().filter(unread).count(), 7);
    let local = git::gather(&git::Request {
        repo: world.forge.git_dir(REPO),
        base: Some("main".to_owned()),
        head: "big".into(),
        author: forge.author.clone(),
        now: forge.now,
        cache: false,
        lane: None,
    })
    .unwrap();
    assert_eq!(forge.sources, local.sources, "both read the same");
    assert_eq!(
        world.conclusion(number),
        "failure",
        "what was not read guards nothing"
    );
    // What was read is kept, so that the next evaluation comes to the rest.
    world.push("big", &[("src/m00.py", "x = 3\n")], AGENT);
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
}

/// 10,000 fixtures, of which one changes: nothing is read of the others ever again.
#[tokio::test(flavor = "multi_thread")]
async fn fixtures_that_did_not_change_are_not_asked_for() {
    let fixtures: Vec<(String, Vec<u8>)> = (0..10_000)
        .map(|n| (format!("d{}/f{n}", n % 50), format!("{n}\n").into_bytes()))
        .collect();
    let world = World::with(contract(&fixtures)).await;
    let number = world.pull(
        "first",
        &[("src/parse.py", "def parse(x):\n    return 2\n")],
    );
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
    let blobs = |requests: &[String]| {
        let is = |r: &&String| r.contains("/git/blobs/") || r.ends_with("/graphql");
        requests.iter().filter(is).count()
    };
    let asked = blobs(&world.requests_since(0));
    assert!(asked >= 200, "{asked}");

    let number = world.pull(
        "second",
        &[("src/parse.py", "def parse(x):\n    return 2\n")],
    );
    let before = world.forge.requests().len();
    world.evaluate(number).await;
    assert_eq!(world.conclusion(number), "success");
    assert_eq!(blobs(&world.requests_since(before)), 0);
    let (decision, snapshot) = world.decision(number).await;
    assert_eq!(
        (decision.stats.fixtures, decision.stats.fixtures_hashed),
        (10_000, 0)
    );
    let Fact::Known(found) = &snapshot.fixtures else {
        panic!("{:?}", snapshot.fixtures)
    };
    assert_eq!(found.len(), 10_000);
    world.forge.assert_clean();
}
