//! Real vitest, jest and node with fast-check: single runs, each of them a trap of the facts that were
//! measured, and the commands.

use std::path::PathBuf;
use std::process::Command;

use frostline::contract::evidence;
use frostline::contract::replay::{Subject, parse};
use frostline::lane::bench::{Bench, Found, Run};
use frostline::lane::frameworks::javascript::modules;
use frostline::lane::frameworks::{Frameworks, Generator, Host, Purpose, Task};
use frostline::lane::model::{Failure, Outcome};
use frostline::lane::process::{Cancel, Limits};
use frostline::lane::sandbox::{Level, Wanted, choose};
use frostline::lane::window::{Honoured, honours_seed};
use frostline::model::NodeId;
use serde_json::Value;

use super::isolation::Stage;
use crate::support::repo::TestRepo;
use crate::support::third_party::third_party;

/// A tree of test files with the installed packages of a checkout.
struct Lab {
    stage: Stage,
    frameworks: Frameworks,
    level: Level,
}

const SUM: &str = "export function total(xs) {\n  const sum = xs.reduce((a, b) => a + b, 0);\n  if (sum >= 1000) throw new RangeError('too big ' + sum);\n  return sum;\n}\n";

const PROPERTIES: &str = r#"
import fc from 'fast-check';
import { total } from '../src/sum.js';
describe('outer', () => {
  describe('inner > d2', () => {
    test('sum', () => fc.assert(fc.property(fc.array(fc.nat()), (xs) => { total(xs); })));
    test('green', () => fc.assert(fc.property(fc.nat(), (x) => x >= 0)));
    test('async', () => fc.assert(fc.asyncProperty(fc.nat(), async (x) => x < 100)));
  });
  test('what (is) [this]? a.b|c $1 \\ "d" \'e\' :: f', () => {});
  test('what (is) [this]? axb', () => { throw new Error('another'); });
});
test('fixed', () => fc.assert(fc.property(fc.nat(), () => true), { seed: 42 }));
test('lost', () => { fc.configureGlobal({}); fc.assert(fc.property(fc.nat(), () => true)); });
test('flaky', () => fc.assert(fc.property(fc.nat(), () => { if (Date.now() % 2) throw new Error('now'); })));
test('plain', () => {});
test('thrown', () => { throw new TypeError('no ' + process.env.TMPDIR); });
test('exit', () => process.exit(0));
test.skip('skipped', () => {});
test.todo('later');
describe('a', () => test('same', () => {}));
describe('b', () => test('same', () => {}));
test('write', () => { fs.writeFileSync(new URL('../src/new', import.meta.url), 'x'); });
test('environment', () => { if (process.env.CI || process.env.FROSTLINE_LANE_REPORT) throw new Error('told'); });
"#;

impl Lab {
    /// A tree for one runner: its properties are in `tests/p.test.js`.
    fn new(runner: &str) -> Option<Self> {
        let package = match runner {
            "node" => r#"{"type": "module", "scripts": {"test": "node --test"}}"#.to_owned(),
            "jest" => r#"{"devDependencies": {"jest": "30"}}"#.to_owned(),
            _ => format!(r#"{{"type": "module", "devDependencies": {{"{runner}": "4"}}}}"#),
        };
        let (sum, text) = match runner {
            "jest" => (
                SUM.replace("export function", "exports.total = function"),
                PROPERTIES
                    .replace(
                        "import fc from 'fast-check'",
                        "const fs = require('fs'); const fc = require('fast-check')",
                    )
                    .replace(
                        "import { total } from '../src/sum.js'",
                        "const { total } = require('../src/sum.js')",
                    )
                    .replace(
                        "new URL('../src/new', import.meta.url)",
                        "__dirname + '/../src/new'",
                    ),
            ),
            "node" => (
                SUM.to_owned(),
                format!(
                    "import fs from 'node:fs';\nimport {{ test, describe }} from 'node:test';\n{PROPERTIES}"
                ),
            ),
            _ => (
                SUM.to_owned(),
                format!(
                    "import fs from 'node:fs';\nimport {{ test, describe, expect }} from 'vitest';\n{PROPERTIES}test('snapshot', () => expect(1).toMatchSnapshot());\ntest.fails('inverted', () => {{ throw new Error('x'); }});\ntest('again', {{ retry: 2 }}, () => {{ if (!globalThis.seen) {{ globalThis.seen = 1; throw new Error('first'); }} }});\n"
                ),
            ),
        };
        Self::of(&[
            ("package.json", &package),
            ("src/sum.js", &sum),
            ("tests/p.test.js", &text),
        ])
    }

    fn of(files: &[(&str, &str)]) -> Option<Self> {
        Self::at(Wanted::From(Level::Bubblewrap), files)
    }

    fn at(wanted: Wanted, files: &[(&str, &str)]) -> Option<Self> {
        let checkout = third_party("javascript")?;
        let mut stage = Stage::new();
        stage.places.tree = stage.places.tree.canonicalize().expect("a tree");
        for (path, text) in files {
            let path = stage.places.tree.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            std::fs::write(path, text).expect("a written file");
        }
        let checkout = checkout.canonicalize().expect("a checkout");
        let needed = modules::link(&stage.places.tree, &checkout).expect("links");
        stage.places.needed = needed;
        let cancel = Cancel::default();
        let places = &stage.places;
        let (level, _) = choose(wanted, places, &cancel).expect("a level");
        let frameworks = Frameworks::new(Host {
            program: places.program.clone(),
            search: places.search.clone(),
            tree: places.tree.clone(),
            commands: Vec::new(),
            ask: places.run.clone(),
            checkout: Some(checkout),
            python: PathBuf::from("python3"),
            cancel,
        });
        Some(Self {
            stage,
            frameworks,
            level,
        })
    }

    fn bench(&self) -> Bench<'_> {
        let limits = Limits {
            timeout_ms: 60_000,
            grace_ms: 300,
            ..Limits::default()
        };
        let places = (self.stage.places.clone(), self.level);
        Bench::new(&self.frameworks, places, limits, Cancel::default()).expect("a tree")
    }

    fn run(&self, name: &str, seed: i64) -> Run {
        let generator = Generator::FastCheck;
        self.bench().run(&Task {
            node: &id(name),
            seed: Some(seed),
            hash_seed: 0,
            generator,
            purpose: Purpose::Vote,
            stored: None,
        })
    }

    #[track_caller]
    fn red(&self, name: &str, seed: i64) -> Failure {
        match self.run(name, seed).outcome {
            Outcome::Red(failure) => failure,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[track_caller]
    fn errored(&self, name: &str, why: &str) {
        match self.run(name, 3).outcome {
            Outcome::Errored { why: said } => assert!(said.contains(why), "{name}: {said}"),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[track_caller]
    fn green(&self, name: &str) {
        assert_eq!(self.run(name, 3).outcome, Outcome::Green, "{name}");
    }
}

fn id(name: &str) -> NodeId {
    format!("tests/p.test.js::{name}")
        .parse()
        .expect("a node id")
}

const SUM_ID: &str = "outer::inner > d2::sum";

/// What every runner has to do alike.
fn runs_alike(lab: &Lab) {
    let failure = lab.red(SUM_ID, 3);
    assert_eq!(failure.exceptions, ["RangeError"]);
    assert_eq!(failure.message, "too big 1000");
    assert_eq!(failure.example.as_deref(), Some("[[1000]]"));
    let deepest = failure.frames.last().expect("a frame");
    assert_eq!(
        (deepest.file.as_str(), deepest.line),
        ("src/sum.js", 3),
        "{failure:?}"
    );
    assert!(deepest.function.ends_with("total"), "{deepest:?}");
    lab.green(r#"outer::what (is) [this]? a.b|c $1 \ "d" 'e' \:\: f"#);
    lab.errored("skipped", "skipped");
    lab.errored("later", "todo");
    if lab.level.keeps_the_tree() {
        let failure = lab.red("write", 3);
        assert!(failure.message.contains("EROFS") || failure.message.contains("EACCES"));
    }
}

/// What is told by our own hooks and judgement, and not by the runner.
fn runs_alike_again(lab: &Lab) {
    // The same seed on the same tree fails alike.
    assert_eq!(lab.red(SUM_ID, 3), lab.red(SUM_ID, 3));
    let thrown = lab.red("thrown", 3);
    assert_eq!(
        (thrown.exceptions.as_slice(), thrown.message.as_str()),
        (&["TypeError".to_owned()][..], "no /tmp/run")
    );
    lab.green("outer::inner > d2::green");
    lab.green("environment");
    lab.errored("missing", "no such test");
}

/// A, A, B on the streams of values, and what is no generator that takes a seed.
fn seeds_are_told(lab: &Lab) {
    let bench = lab.bench();
    let found = |name: &str| bench.find(&id(name));
    assert_eq!(found(SUM_ID), Ok(Found::Test(Generator::FastCheck)));
    assert_eq!(found("plain"), Ok(Found::Test(Generator::NoGenerator)));
    assert_eq!(found("fixed"), Ok(Found::Test(Generator::SeedInSource)));
    let honoured =
        |name: &str| honours_seed(&bench, (&id(name), Generator::FastCheck), None, &|_| {});
    // The stream hangs neither on where a test fails nor on whether it does.
    assert_eq!(honoured("flaky"), Honoured::Yes);
    assert_eq!(honoured("outer::inner > d2::async"), Honoured::Yes);
    match honoured("lost") {
        Honoured::No(why) => assert!(why.contains("other values"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn node_runs_exactly_one_test_with_its_seed() {
    let Some(lab) = Lab::new("node") else { return };
    runs_alike(&lab);
    runs_alike_again(&lab);
    seeds_are_told(&lab);
    lab.errored("exit", "no such test");
    // Its pattern looks at a test's own name alone.
    lab.errored("a::same", "ran 2 tests where one was asked for");
}

#[test]
fn jest_runs_exactly_one_test_with_its_seed() {
    let Some(lab) = Lab::new("jest") else { return };
    runs_alike(&lab);
    runs_alike_again(&lab);
    seeds_are_told(&lab);
    lab.errored("exit", "no report");
    lab.green("a::same");
}

#[test]
fn vitest_runs_exactly_one_test_with_its_seed() {
    let Some(lab) = Lab::new("vitest") else {
        return;
    };
    runs_alike(&lab);
    lab.errored("inverted", "expected to fail");
    lab.errored("again", "more than once");
    // Another process would end with status 0; vitest takes the call for a failure.
    assert!(lab.red("exit", 3).message.contains("process.exit"));
    // A snapshot that is not there is not written, and no pass.
    assert!(!matches!(lab.run("snapshot", 3).outcome, Outcome::Green));
    let bench = lab.bench();
    let node = id(SUM_ID);
    let honoured = honours_seed(&bench, (&node, Generator::FastCheck), None, &|_| {});
    assert_eq!(honoured, Honoured::Yes);
}

#[test]
fn packages_are_found_at_every_level() {
    for level in Level::ALL {
        let files = [
            ("package.json", r#"{"type": "module"}"#),
            (
                "tests/p.test.js",
                "import { test } from 'node:test';\nimport fc from 'fast-check';\ntest('t', () => fc.assert(fc.property(fc.nat(), () => true)));\n",
            ),
        ];
        let Some(lab) = Lab::at(Wanted::From(level), &files) else {
            return;
        };
        lab.green("t");
    }
}

/// `@fast-check/vitest` and `@fast-check/jest` put the seed behind the title.
#[test]
fn a_title_that_ends_with_the_seed_is_found_by_its_own_text() {
    let property =
        "test.prop([fc.nat()])('small', (x) => { if (x >= 1000) throw new RangeError('big'); });\n";
    let import = format!("import {{ test, fc }} from '@fast-check/vitest';\n{property}");
    let require = format!("const {{ test, fc }} = require('@fast-check/jest');\n{property}");
    let Some(lab) = Lab::of(&[
        ("package.json", "{}"),
        (
            "web/package.json",
            r#"{"type": "module", "devDependencies": {"vitest": "4"}}"#,
        ),
        ("web/t.test.js", &import),
        ("lib/package.json", r#"{"devDependencies": {"jest": "30"}}"#),
        ("lib/t.test.js", &require),
    ]) else {
        return;
    };
    for node in ["web/t.test.js::small", "lib/t.test.js::small"] {
        let node: NodeId = node.parse().expect("a node id");
        let bench = lab.bench();
        assert_eq!(
            bench.find(&node),
            Ok(Found::Test(Generator::FastCheck)),
            "{node}"
        );
        let task = Task {
            node: &node,
            seed: Some(3),
            hash_seed: 0,
            generator: Generator::FastCheck,
            purpose: Purpose::Vote,
            stored: None,
        };
        let run = bench.run(&task);
        assert_eq!(
            run.outcome.failure().expect("a red").message,
            "big",
            "{node}"
        );
        let line = bench.replay_line(&task).expect("a line");
        let subject = Subject {
            nodeid: &node,
            seed: None,
            runners: &["vitest".to_owned(), "jest".to_owned()],
        };
        let stored = parse(&line, subject).expect("a replay line");
        let again = bench.run(&Task {
            seed: None,
            stored: Some(&stored),
            ..task
        });
        assert_eq!(again.outcome, run.outcome, "{line}");
    }
}

#[test]
fn the_repository_s_own_configuration_and_setup_files_stay_in_force() {
    let config = "import { defineConfig } from 'vitest/config';\nexport default defineConfig(() => ({ test: { globals: true, setupFiles: ['./setup.ts'] }, resolve: { alias: { '@': __dirname } } }));\n";
    let test = "import { one } from '@/one';\nimport fc from 'fast-check';\ntest('own', () => { expect(globalThis.ready + one).toBe(2); fc.assert(fc.property(fc.nat(), () => true)); });\n";
    let jest =
        r#"{"devDependencies": {"jest": "30"}, "jest": {"setupFilesAfterEnv": ["./setup.js"]}}"#;
    let own = "const fc = require('fast-check');\ntest('own', () => { if (!globalThis.ready) throw new Error('no setup'); fc.assert(fc.property(fc.nat(), () => true)); });\n";
    let Some(lab) = Lab::of(&[
        ("package.json", r#"{"private": true}"#),
        (
            "web/package.json",
            r#"{"type": "module", "devDependencies": {"vitest": "4"}}"#,
        ),
        ("web/vitest.config.ts", config),
        ("web/setup.ts", "(globalThis as any).ready = 1;\n"),
        ("web/one.ts", "export const one: number = 1;\n"),
        ("web/t.test.ts", test),
        ("lib/package.json", jest),
        ("lib/setup.js", "globalThis.ready = 1;\n"),
        ("lib/t.test.js", own),
    ]) else {
        return;
    };
    for node in ["web/t.test.ts::own", "lib/t.test.js::own"] {
        let found = lab.bench().find(&node.parse().expect("a node id"));
        assert_eq!(found, Ok(Found::Test(Generator::FastCheck)), "{node}");
    }
}

#[test]
fn the_commands_work_in_a_repository_with_installed_packages() {
    let Some(installed) = third_party("javascript") else {
        return;
    };
    let repo = TestRepo::new();
    let test = "import { test } from 'node:test';\nimport fc from 'fast-check';\nimport { least } from '@acme/lib';\ntest('sums [a]', () => fc.assert(fc.property(fc.nat(), (x) => x < least)));\ntest('flaky', () => fc.assert(fc.property(fc.nat(), () => { if (process.hrtime.bigint() % 97n === 0n) throw new Error('clock'); })));\n";
    repo.write(
        "package.json",
        r#"{"type": "module", "scripts": {"test": "node --test"}}"#,
    )
    .write(".gitignore", "node_modules\n")
    .write(
        "lib/package.json",
        r#"{"name": "@acme/lib", "type": "module", "main": "index.js"}"#,
    )
    .write("lib/index.js", "export const least = 1000;\n")
    .write("tests/a.test.js", test)
    .write(
        ".github/frostline.yml",
        "version: 1\nlane:\n  runners: [node]\n",
    )
    .commit("tests");
    // A workspace is the tree's own, whatever the work tree holds.
    repo.write("lib/index.js", "export const least = 5;\n");
    let modules = repo.path().join("node_modules");
    std::fs::create_dir_all(modules.join("@acme")).expect("a scope");
    for (target, name) in [
        (installed.join("node_modules/fast-check"), "fast-check"),
        (installed.join("node_modules/pure-rand"), "pure-rand"),
        (repo.path().join("lib"), "@acme/lib"),
    ] {
        std::os::unix::fs::symlink(target, modules.join(name)).expect("a link");
    }
    let node = "tests/a.test.js::sums [a]";
    let lane = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
            .arg("lane")
            .args(args)
            .current_dir(repo.path())
            .env("CI", "true")
            .output()
            .expect("the binary runs");
        let json = serde_json::from_slice::<Value>(&output.stdout).unwrap_or(Value::Null);
        (
            output.status.code(),
            json,
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, probe, told) = lane(&["probe", node]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(probe["framework"], "node:test");
    assert_eq!(probe["versions"]["fast-check"], "4.11.0");
    assert_eq!(probe["seed_honoured"], "yes");

    let (code, row, told) = lane(&["window", node, "--seed", "7", "--workers", "1"]);
    assert_eq!(
        (code, &row["status"]),
        (Some(1), &Value::from("stable-violation")),
        "{told}"
    );
    assert_eq!(row["example"], "[1000]");
    let line = row["replay"].as_str().expect("a line");
    assert_eq!(
        line,
        r"FC_SEED=7 node --test '--test-name-pattern=^sums \[a\]$' tests/a.test.js"
    );
    let nodeid: NodeId = node.parse().expect("a node id");
    let subject = Subject {
        nodeid: &nodeid,
        seed: None,
        runners: &["node".to_owned()],
    };
    parse(line, subject).expect("a replay line");
    evidence::parse("e.jsonl", format!("{row}\n").as_bytes()).expect("a row of evidence");

    let file = repo.beside("row.json");
    std::fs::write(&file, row.to_string()).expect("a row");
    let (code, replayed, told) = lane(&["replay", "--row", &file.to_string_lossy()]);
    assert_eq!(
        (code, &replayed["reproduced"]),
        (Some(0), &Value::from(true)),
        "{told}"
    );
    assert!(!told.contains("no ledger takes"), "{told}");
    // Of a flaky one: never all well with a red, and what recurs took its seed.
    let (_, row, told) = lane(&["window", "tests/a.test.js::flaky", "--seed", "7"]);
    match row["status"].as_str() {
        Some("merge-ok") => assert_eq!(row["failures"], 0, "{told}"),
        Some("freeze-candidate") => assert_eq!(row["seed_honoured"], true, "{told}"),
        other => assert_eq!(other, Some("inconclusive"), "{told}"),
    }
    let status = repo.git(&["status", "--porcelain"]);
    assert_eq!(status.trim(), "M lib/index.js", "the work tree was touched");
}
