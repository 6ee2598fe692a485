//! Real pytest and Hypothesis: single runs, each of them a trap of the facts that were measured.

use std::path::{Path, PathBuf};

use frostline::lane::bench::{Bench, Run};
use frostline::lane::frameworks::{Frameworks, Generator, Host, Purpose, Task};
use frostline::lane::model::{Failure, Outcome, Phase};
use frostline::lane::process::{Cancel, Limits};
use frostline::lane::sandbox::{Level, Places, Wanted, choose};
use frostline::lane::window::{Honoured, honours_seed};
use frostline::model::NodeId;

use super::isolation::Stage;
use crate::support::third_party::third_party;

/// The interpreter of a virtual environment of `.ci/third-party.sh`.
pub fn python(name: &str) -> Option<PathBuf> {
    third_party(name).map(|folder| folder.join("bin/python"))
}

/// A tree of test files, and a pytest to run them.
pub struct Lab {
    stage: Stage,
    frameworks: Frameworks,
    level: Level,
}

impl Lab {
    pub fn new(environment: &str, files: &[(&str, &str)]) -> Option<Self> {
        Self::at(environment, files, Wanted::From(Level::Bubblewrap), None)
    }

    fn at(
        environment: &str,
        files: &[(&str, &str)],
        wanted: Wanted,
        checkout: Option<&Path>,
    ) -> Option<Self> {
        let python = python(environment)?;
        let stage = Stage::new();
        for (path, text) in files {
            let path = stage.places.tree.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            std::fs::write(path, text).expect("a written file");
        }
        let cancel = Cancel::default();
        let places = &stage.places;
        let (level, _) = choose(wanted, places, &cancel).expect("an isolation");
        let frameworks = Frameworks::new(Host {
            tree: stage.places.tree.clone(),
            commands: Vec::new(),
            program: places.program.clone(),
            search: places.search.clone(),
            ask: places.run.clone(),
            checkout: checkout.map(Path::to_owned),
            python,
            cancel,
        });
        Some(Self {
            stage,
            frameworks,
            level,
        })
    }

    pub fn bench(&self) -> Bench<'_> {
        let places: Places = self.stage.places.clone();
        let limits = Limits {
            timeout_ms: 30_000,
            grace_ms: 300,
            ..Limits::default()
        };
        Bench::new(
            &self.frameworks,
            (places, self.level),
            limits,
            Cancel::default(),
        )
        .expect("a tree")
    }

    fn run(&self, node: &str) -> Run {
        self.seeded(node, 1)
    }

    fn seeded(&self, node: &str, seed: i64) -> Run {
        self.bench().run(&Task {
            node: &id(node),
            seed: Some(seed),
            hash_seed: 0,
            generator: Generator::Hypothesis,
            purpose: Purpose::Vote,
            stored: None,
        })
    }

    fn red(&self, node: &str) -> Failure {
        match self.run(node).outcome {
            Outcome::Red(failure) => failure,
            other => panic!("{node}: {other:?}"),
        }
    }

    #[track_caller]
    fn errored(&self, node: &str, why: &str) {
        match self.run(node).outcome {
            Outcome::Errored { why: said } => assert!(said.contains(why), "{node}: {said}"),
            other => panic!("{node}: {other:?}"),
        }
    }
}

pub fn id(text: &str) -> NodeId {
    text.parse().expect("a node id")
}

const PROPERTIES: &str = r#"
import random
from hypothesis import given, seed, settings, strategies as st
import pytest

def helper(x):
    raise ValueError("bad %d" % x)

@given(st.integers())
def test_red(x):
    if x > 1000:
        helper(x)

@given(st.integers())
def test_green(x):
    assert x == x

@given(st.lists(st.integers()))
def test_two_bugs(x):
    if len(x) > 3:
        raise KeyError("long")
    assert sum(x) <= 100

calls = [0]

@given(st.integers())
def test_flaky(x):
    calls[0] += 1
    assert calls[0] != 5

@settings(derandomize=True)
@given(st.integers())
def test_derandomized(x):
    pass

@seed(3)
@given(st.integers())
def test_seeded(x):
    pass

@given(st.data())
def test_drawn(data):
    assert data.draw(st.integers()) < 10**9

def test_random():
    random.random()

@pytest.fixture
def broken():
    raise OSError("no port 8080")

def test_setup(broken):
    pass
"#;

#[test]
fn a_failure_is_told_with_place_type_message_and_example() {
    for environment in ["pytest", "pytest-old"] {
        let Some(lab) = Lab::new(environment, &[("tests/test_p.py", PROPERTIES)]) else {
            return;
        };
        let failure = lab.red("tests/test_p.py::test_red");
        assert_eq!(
            (failure.phase, failure.exceptions.as_slice()),
            (Phase::Call, &["ValueError".to_owned()][..])
        );
        let deepest = failure.frames.last().expect("frames");
        assert_eq!(
            (deepest.file.as_str(), deepest.function.as_str()),
            ("tests/test_p.py", "helper")
        );
        assert_eq!(failure.message, "bad 1001", "{environment}");
        let example = failure.example.clone().expect("an example");
        assert!(
            example.starts_with("test_red(") && example.contains("x=1001"),
            "{environment}: {example}"
        );
        // The same seed on the same tree gives the same example.
        assert_eq!(
            lab.red("tests/test_p.py::test_red"),
            failure,
            "{environment}"
        );

        assert!(
            lab.red("tests/test_p.py::test_flaky")
                .is_flaky_by_its_framework()
        );
        if environment == "pytest-old" {
            // The rest hangs on pytest alone, or on what this version looks for.
            continue;
        }
        let kinds = lab.red("tests/test_p.py::test_two_bugs");
        assert_eq!(kinds.kinds(), ["AssertionError", "KeyError"]);
        let setup = lab.red("tests/test_p.py::test_setup");
        assert_eq!(
            (setup.phase, setup.message.as_str()),
            (Phase::Setup, "no port 8080")
        );
        assert_eq!(
            lab.run("tests/test_p.py::test_green").outcome,
            Outcome::Green
        );
    }
}

#[test]
fn a_seed_is_honoured_where_the_values_say_so() {
    for environment in ["pytest", "pytest-old"] {
        let Some(lab) = Lab::new(environment, &[("tests/test_p.py", PROPERTIES)]) else {
            return;
        };
        let bench = lab.bench();
        let asked = |name: &str| {
            let node = id(&format!("tests/test_p.py::{name}"));
            let generator = bench.generator(&node).expect("it is found");
            (
                generator,
                honours_seed(&bench, (&node, generator), None, &|_| {}),
            )
        };
        assert_eq!(
            asked("test_flaky"),
            (Generator::Hypothesis, Honoured::Yes),
            "{environment}"
        );
        if environment == "pytest-old" {
            let random = asked("test_random");
            assert_eq!(random, (Generator::NoGenerator, Honoured::DoesNotApply));
            continue;
        }
        assert_eq!(asked("test_drawn"), (Generator::Hypothesis, Honoured::Yes));
        assert_eq!(asked("test_random"), (Generator::Randomly, Honoured::Yes));
        for (name, generator) in [
            ("test_derandomized", Generator::Derandomize),
            ("test_seeded", Generator::SeedInSource),
        ] {
            let (found, honoured) = asked(name);
            assert_eq!(found, generator);
            assert!(matches!(honoured, Honoured::No(_)), "{name}: {honoured:?}");
        }
    }
}

const NOT_GREEN: &str = r#"
import os, sys
import pytest

def test_exit():
    os._exit(0)

def test_kill():
    os.kill(os.getpid(), 9)

def test_many():
    for _ in range(100000):
        sys.stdout.write("x" * 1000)

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass

@pytest.mark.xfail(reason="known")
def test_xfailed():
    assert 0

@pytest.mark.xfail
def test_xpassed():
    pass

def reports():
    folder = os.path.dirname(os.environ["TMPDIR"])
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".jsonl")]

def test_deletes_its_report():
    for path in reports():
        os.remove(path)

def test_writes_rubbish_into_its_report():
    for path in reports():
        open(path, "ab").write(b"\xff\n")

def test_forges_a_report():
    for path in reports():
        row = '{"row":"phase","id":"x","phase":"call","outcome":"passed","xfail":false}\n'
        open(path, "a").write(row)
    assert 0

def test_forks():
    if os.fork() == 0:
        return
    os.wait()

def test_green():
    pass
"#;

#[test]
fn whatever_is_not_told_as_passed_is_no_pass() {
    let Some(lab) = Lab::new(
        "pytest",
        &[
            ("tests/test_n.py", NOT_GREEN),
            ("tests/test_broken.py", "import nowhere\n"),
        ],
    ) else {
        return;
    };
    for (name, why) in [
        ("test_n.py::test_exit", "no end"),
        ("test_n.py::test_kill", "signal 9"),
        ("test_n.py::test_skipped", "not today"),
        ("test_n.py::test_xfailed", "expected to fail"),
        ("test_n.py::test_xpassed", "and passed"),
        ("test_n.py::test_deletes_its_report", "no report"),
        ("test_n.py::test_writes_rubbish_into_its_report", "report"),
        ("test_n.py::test_forges_a_report", "another test"),
        ("test_n.py::test_nowhere", "no such test"),
        ("test_broken.py::test_x", "nowhere"),
    ] {
        lab.errored(&format!("tests/{name}"), why);
    }
    // A file stands for all of its tests, and is no test.
    for name in [
        "test_n.py::test_many",
        "test_n.py::test_green",
        "test_n.py::test_forks",
    ] {
        assert_eq!(
            lab.run(&format!("tests/{name}")).outcome,
            Outcome::Green,
            "{name}"
        );
    }
}

const IDS: &str = r#"
import pytest

IDS = ["[z]", "]", "x::y", "a]::b[", "", "<lambda>", "a b", "é", "-x", "a|b", "100%", "'q\"", "a/b", "n\nl"]

@pytest.mark.parametrize("v", IDS, ids=IDS)
def test_p(v):
    assert v != "a]::b["

class TestC:
    @pytest.mark.parametrize("v", [1, 1])
    def test_m(self, v):
        pass
"#;

#[test]
fn ids_are_passed_verbatim_and_each_selects_one_test() {
    let path = "tests/we ird/test_q-q.py";
    let Some(lab) = Lab::new("pytest", &[(path, IDS)]) else {
        return;
    };
    for param in ["[z]", "]", "x::y", "\\xe9", "a|b", "'q\"", "a/b", "n\\nl"] {
        let run = lab.run(&format!("{path}::test_p[{param}]"));
        assert_eq!(run.outcome, Outcome::Green, "{param}");
        assert_eq!(run.generator, Some(Generator::NoGenerator));
    }
    assert_eq!(
        lab.red(&format!("{path}::test_p[a]::b[]")).exceptions,
        ["AssertionError"]
    );
    let run = lab.run(&format!("{path}::TestC::test_m[1_0]"));
    let other = lab.run(&format!("{path}::TestC::test_m[10]"));
    let greens = [run, other]
        .into_iter()
        .filter(|run| run.outcome == Outcome::Green);
    assert_eq!(
        greens.count(),
        1,
        "whichever way this version numbers equal parameters"
    );
    // Without its parameter it is two tests.
    lab.errored(&format!("{path}::TestC::test_m"), "2 tests");
}

const FREEZER: &str = r#"
import json, pytest

def pytest_collection_modifyitems(items):
    data = json.load(open("test/contract/flake-freeze.json"))
    frozen = {e["nodeid"] for e in data["entries"] if e.get("frozen")}
    for item in items:
        if item.nodeid in frozen:
            item.add_marker(pytest.mark.skip(reason="frozen flake; zero coverage credit"))
        if item.name == "test_slow":
            item.add_marker(pytest.mark.skip(reason="needs --slow"))
    items[:] = [item for item in items if item.name != "test_deselected"]
"#;

#[test]
fn frozen_tests_run_although_the_repository_skips_them() {
    let tests = "import pytest\ndef test_frozen(): assert 0\ndef test_slow(): pass\ndef test_deselected(): pass\n@pytest.mark.skip(reason='flaky')\ndef test_in_source(): pass\n";
    let freezes = r#"{"version": 1, "entries": [{"nodeid": "tests/test_f.py::test_frozen", "frozen": true}]}"#;
    let Some(lab) = Lab::new(
        "pytest",
        &[
            ("conftest.py", FREEZER),
            ("tests/test_f.py", tests),
            ("test/contract/flake-freeze.json", freezes),
        ],
    ) else {
        return;
    };
    let run = lab.run("tests/test_f.py::test_frozen");
    assert!(matches!(run.outcome, Outcome::Red(_)), "{:?}", run.outcome);
    assert_eq!(run.neutralised, ["frozen flake; zero coverage credit"]);
    assert_eq!(
        lab.run("tests/test_f.py::test_deselected").outcome,
        Outcome::Green
    );
    lab.errored("tests/test_f.py::test_slow", "needs --slow");
    lab.errored("tests/test_f.py::test_in_source", "flaky");
}

#[test]
fn code_of_the_checkout_is_not_taken_for_code_of_the_tree() {
    let checkout = tempfile::tempdir().expect("a folder");
    let checkout = checkout.path().canonicalize().expect("a path");
    std::fs::write(checkout.join("mine.py"), "").expect("a file");
    let conftest = format!(
        "import sys\nsys.path.append({:?})\n",
        checkout.display().to_string()
    );
    let tests = "def test_a():\n    import mine\n";
    let files = [
        ("conftest.py", conftest.as_str()),
        ("tests/test_a.py", tests),
    ];
    let plain = Wanted::From(Level::Plain);
    let Some(lab) = Lab::at("pytest", &files, plain, Some(&checkout)) else {
        return;
    };
    lab.errored(
        "tests/test_a.py::test_a",
        "mine.py, which is of the checkout",
    );
    let with_own = [files[0], files[1], ("mine.py", "")];
    let lab = Lab::at("pytest", &with_own, plain, Some(&checkout)).expect("was there");
    assert_eq!(lab.run("tests/test_a.py::test_a").outcome, Outcome::Green);
}

#[test]
fn a_run_that_writes_into_the_tree_counts_for_nothing() {
    let tests = "def test_w():\n    open('tests/new.py', 'w').write('x')\ndef test_ok(): pass\n";
    let files = [("tests/test_w.py", tests)];
    let Some(lab) = Lab::at("pytest", &files, Wanted::From(Level::Plain), None) else {
        return;
    };
    assert_eq!(lab.run("tests/test_w.py::test_ok").outcome, Outcome::Green);
    lab_errors_for_good(&lab.bench());
    let lab = Lab::new("pytest", &files).expect("was there");
    if lab.level.keeps_the_tree() {
        assert_eq!(
            lab.red("tests/test_w.py::test_w").exceptions.len(),
            1,
            "refused by the system"
        );
    }
}

/// Once the tree is another one, no later run of this bench is of it.
fn lab_errors_for_good(bench: &Bench<'_>) {
    for node in ["tests/test_w.py::test_w", "tests/test_w.py::test_ok"] {
        let run = bench.run(&Task {
            node: &id(node),
            seed: None,
            hash_seed: 0,
            generator: Generator::Hypothesis,
            purpose: Purpose::Vote,
            stored: None,
        });
        match run.outcome {
            Outcome::Errored { why } => assert!(why.contains("into the tree"), "{why}"),
            other => panic!("{node}: {other:?}"),
        }
    }
}
