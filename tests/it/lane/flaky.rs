//! Small tests that flake, each for another reason, through real windows; and the windows that their
//! recorded runs make, through the judgement alone.

use std::collections::BTreeMap;

use frostline::lane::bench::{Bench, Run};
use frostline::lane::cause::{Cause, Intervention, Tried, cause, enough};
use frostline::lane::classify::{Scope, Status, Stop, Tally, Verdict, classify, may_start, stop};
use frostline::lane::diagnose::{diagnose, words};
use frostline::lane::frameworks::Generator;
use frostline::lane::model::Outcome;
use frostline::lane::trial::side_by_side;
use frostline::lane::window::{Wish, window};

use super::pytest::{Lab, id};

const FILE: &str = "tests/test_flaky.py";

/// Chance comes from the system: what a test seeds for itself, it does not flake by.
const FLAKY: &str = r#"
import datetime, json, locale, os, random, socket, subprocess, sys, tempfile, threading, time, uuid

def test_clock():
    now = time.time_ns()
    assert now // 1000 % 3, "at %d" % now

def test_elapsed():
    start = time.perf_counter()
    time.sleep(0.001)
    took = time.perf_counter() - start
    assert took < 0.00108, "took %.6f s" % took

def test_hash_order():
    assert next(iter({"a", "b", "c", "d"})) in "ab", "order"

def test_float_sum():
    parts = {"a": 1.0, "b": 1e16, "c": -1e16}
    total = 0.0
    for name in set(parts):
        total += parts[name]
    assert total == 1.0, total

def test_race():
    counter = [0]
    def add():
        for _ in range(200):
            seen = counter[0]
            time.sleep(0)
            counter[0] = seen + 1
    threads = [threading.Thread(target=add) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert counter[0] == 400, "counter is %d" % counter[0]

def test_shared_tmp():
    path = "/tmp/frostline-flaky-shared"
    assert not os.path.exists(path), path
    open(path, "w").close()

def test_port():
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    with socket.socket() as one:
        one.bind(("127.0.0.1", port + os.urandom(1)[0] % 2))

def test_refused():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        if os.urandom(1)[0] % 4:
            socket.create_connection(one.getsockname(), timeout=1)

def test_locale():
    assert "é".encode(locale.getpreferredencoding(False)) == "é".encode()

def test_address():
    thing = object()
    assert id(thing) // 4096 % 2, repr(thing)

def test_temporary_name():
    name = tempfile.mkdtemp()
    assert os.path.basename(name)[3] < "k", "%s holds it" % name

def wild_a(): raise ValueError("a %d" % os.getpid())
def wild_b(): raise KeyError("b")
def wild_c(): raise OSError(5, "c")
def wild_d(): raise RuntimeError("d at %f" % time.time())
def wild_e(): raise TypeError("e")
def wild_f(): raise LookupError("f")
def wild_g(): raise ArithmeticError("g")
def wild_h(): raise AttributeError("h")

def test_wild():
    at = os.urandom(1)[0] % 9
    if at < 8:
        [wild_a, wild_b, wild_c, wild_d, wild_e, wild_f, wild_g, wild_h][at]()

def test_uuid():
    one = str(uuid.uuid4())
    assert one[0] < "8", json.dumps({"id": one})

def test_random():
    assert random.random() < 0.5, "drew %f" % random.random()

READY = []

def test_order_makes_ready():
    READY.append(1)

def test_order():
    assert READY, "nobody made it ready"

def test_leftover_process():
    said = subprocess.run(["pgrep", "-f", "sleep 987654"], stdout=subprocess.PIPE).stdout
    assert not said, "one is left"
    subprocess.Popen(["sleep", "987654"], start_new_session=True)

def test_time_zone():
    assert not datetime.datetime.now().astimezone().utcoffset()

def test_two_sites():
    at = os.urandom(1)[0] % 3
    if at == 1:
        wild_b()
    assert at != 2, "here"
"#;

const HYPOTHESIS: &str = r#"
import os, time
from hypothesis import given, settings, strategies as st

CALLS = [0]

@given(st.integers())
def test_hypothesis_flaky(x):
    CALLS[0] += 1
    assert CALLS[0] != 5 or os.urandom(1)[0] < 100

@settings(deadline=5)
@given(st.integers())
def test_hypothesis_deadline(x):
    time.sleep(0.02)
"#;

use Status::{Divergent, FreezeCandidate, Inconclusive, MergeOk, StableViolation};

/// What the windows of a test may come to. Rates that hang on the machine's load allow more.
const TESTS: &[(&str, &[Status])] = &[
    ("test_clock", MIXED),
    ("test_elapsed", LOADED),
    ("test_hash_order", &[FreezeCandidate]),
    ("test_float_sum", &[FreezeCandidate]),
    ("test_race", LOADED),
    // Each run has files, processes, ports and a time zone of its own: what leaks from one into the next
    // elsewhere does not here.
    ("test_shared_tmp", &[MergeOk]),
    ("test_leftover_process", &[MergeOk]),
    ("test_locale", &[MergeOk]),
    ("test_time_zone", &[MergeOk]),
    ("test_port", MIXED),
    ("test_refused", MIXED),
    ("test_address", MIXED),
    ("test_temporary_name", MIXED),
    ("test_wild", WILD),
    ("test_uuid", MIXED),
    ("test_random", MIXED),
    ("test_order", &[StableViolation]),
    ("test_two_sites", MIXED),
];

/// The same of tests with Hypothesis.
const WITH_HYPOTHESIS: &[(&str, &[Status])] = &[
    ("test_hypothesis_flaky", MIXED),
    ("test_hypothesis_deadline", &[StableViolation]),
];

/// By chance, a window sees one colour only; a single red stays inconclusive.
const MIXED: &[Status] = &[FreezeCandidate, Inconclusive, MergeOk, StableViolation];
const LOADED: &[Status] = MIXED;
/// Few of its windows see one of eight failures in half of the reds.
const WILD: &[Status] = &[Divergent, Inconclusive, FreezeCandidate];

/// What holds whatever a window saw.
fn assert_sound(name: &str, verdict: &Verdict, runs: &[Outcome]) {
    let Tally { green, red, .. } = verdict.tally;
    assert_eq!(verdict.tally.errored, 0, "{name}: {runs:?}");
    let is_sound = match verdict.status {
        MergeOk => red == 0 && green >= 7,
        StableViolation => green == 0 && red >= 2,
        FreezeCandidate => green > 0 && red >= 2,
        Divergent => red >= 3,
        Inconclusive => red > 0,
        _ => false,
    };
    assert!(is_sound, "{name}: {verdict:?}");
}

fn wish<'a>(node: &'a frostline::model::NodeId, generator: Generator) -> Wish<'a> {
    Wish {
        node,
        seed: Some(1),
        generator,
        cap: 30,
        workers: 1,
    }
}

fn node(name: &str) -> frostline::model::NodeId {
    id(&format!("{FILE}::{name}"))
}

/// Windows of each test: one takes a minute for all, so more are made when they are asked for.
fn windows() -> usize {
    let asked = std::env::var("FROSTLINE_TEST_WINDOWS").ok();
    asked.map_or(1, |text| text.parse().expect("a number of windows"))
}

#[test]
fn each_flaky_test_ends_in_an_outcome_that_its_cause_allows() {
    let mut recorded = Vec::new();
    for (environment, file, tests) in [
        ("pytest-bare", FLAKY, TESTS),
        ("pytest", HYPOTHESIS, WITH_HYPOTHESIS),
    ] {
        let Some(lab) = Lab::new(environment, &[(FILE, file)]) else {
            return;
        };
        let bench = lab.bench();
        recorded.extend(side_by_side(tests.len(), 2, |at| {
            (tests[at].0, real_windows(&bench, tests[at]))
        }));
    }
    let mut seen = BTreeMap::new();
    for (name, runs) in &recorded {
        sampled_windows(name, runs, &mut seen);
    }
    // Some tests always end alike, or the samples would prove little; which others there are is chance.
    for status in [MergeOk, StableViolation, FreezeCandidate] {
        assert!(seen.contains_key(status.name()), "{seen:?}");
    }
}

/// The outcomes of the runs of all windows.
fn real_windows(bench: &Bench<'_>, (name, allowed): (&str, &[Status])) -> Vec<Outcome> {
    let node = node(name);
    let generator = bench.generator(&node).expect("a test");
    let mut outcomes = Vec::new();
    for _ in 0..windows() {
        let window = window(bench, wish(&node, generator), &|_: &Run| {});
        let window = window.expect("nobody cancels it");
        let runs: Vec<Outcome> = window.runs.into_iter().map(|run| run.outcome).collect();
        assert_sound(name, &window.verdict, &runs);
        assert!(
            allowed.contains(&window.verdict.status),
            "{name}: {:?}",
            window.verdict
        );
        outcomes.extend(runs);
    }
    outcomes
}

/// 10,000 windows over all tests, drawn from runs that were recorded, with the real stop.
fn sampled_windows(name: &str, runs: &[Outcome], seen: &mut BTreeMap<&'static str, usize>) {
    let mut state = 0x2545_f491_4f6c_dd1d_u64 ^ name.len() as u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % runs.len()
    };
    let count = 10_000 / (TESTS.len() + WITH_HYPOTHESIS.len());
    for _ in 0..count {
        let (mut tally, mut drawn) = (Tally::default(), Vec::new());
        while stop(&tally, 30) == Stop::GoOn {
            assert!(may_start(&tally, 0, 30), "{name}: {tally:?}");
            let outcome = &runs[draw()];
            tally.add(outcome);
            drawn.push(outcome.clone());
        }
        let verdict = classify(Scope::Same, &tally);
        assert_sound(name, &verdict, &drawn);
        *seen.entry(verdict.status.name()).or_default() += 1;
    }
}

/// A mixed window, and what holding conditions still shows of it.
fn diagnosed(lab: &Lab, name: &str, tried: &[Intervention]) -> (Vec<Tried>, usize) {
    let bench = lab.bench();
    let node = node(name);
    let wish = Wish {
        workers: 2,
        ..wish(&node, bench.generator(&node).expect("a test"))
    };
    // Half of its runs are red: four windows of one colour would be a wonder.
    let enough = (0..4)
        .find_map(|_| {
            enough(
                &window(&bench, wish, &|_| {})
                    .expect("a window")
                    .verdict
                    .tally,
            )
        })
        .expect("a mixed window");
    let tried = diagnose(&bench, wish, (tried, enough), &|_, _| {});
    (tried.expect("nobody cancels it"), enough)
}

#[test]
fn a_cause_is_what_makes_the_outcome_the_same_when_it_is_held_still() {
    let Some(lab) = Lab::new("pytest-bare", &[(FILE, FLAKY)]) else {
        return;
    };
    let all = [
        Intervention::HashSeed,
        Intervention::Rng,
        Intervention::Clock,
    ];
    let rows = [
        ("test_hash_order", Intervention::HashSeed, Cause::HashSeed),
        ("test_random", Intervention::Rng, Cause::Rng),
        ("test_clock", Intervention::Clock, Cause::Clock),
    ];
    for (name, right, expected) in rows {
        if let Err(why) = words(right, "/usr/bin:/bin") {
            assert!(std::env::var_os("CI").is_none(), "{why}");
            eprintln!("SKIPPED, {name} was not tried: {why}");
            continue;
        }
        let (tried, enough) = diagnosed(&lab, name, &all);
        let found = tried.iter().find(|one| one.intervention == right);
        let tally = &found.expect("it was tried").tally;
        assert!(
            tally.runs == enough && tally.errored == 0,
            "{name}: {tally:?}"
        );
        // One time in a hundred another condition agrees by chance, and then none is named.
        let (cause, says) = cause(&tried, enough);
        let is_unclear = says.is_some_and(|says| says.starts_with("Unclear"));
        assert!(cause == expected || is_unclear, "{name}: {tried:?}");
        assert!(name != "test_hash_order" || cause == expected, "{tried:?}");
    }
}

#[test]
fn chance_of_the_systems_own_has_no_cause_that_can_be_held_still() {
    let Some(lab) = Lab::new("pytest-bare", &[(FILE, FLAKY)]) else {
        return;
    };
    let (tried, enough) = diagnosed(&lab, "test_port", &[Intervention::HashSeed]);
    // With one condition alone, one time in a hundred it would be named by chance: look at the runs.
    if tried[0].tally.runs < enough {
        assert_eq!(cause(&tried, enough).0, Cause::Unattributed);
    }
    assert!(tried[0].tally.runs >= 2, "{tried:?}");
}
