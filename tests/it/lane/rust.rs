//! Real cargo and proptest: single runs, each of them a trap of the facts that were measured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use frostline::contract::replay::{self, Subject};
use frostline::contract::seed::Seed;
use frostline::lane::bench::{Bench, Run};
use frostline::lane::classify::Status;
use frostline::lane::frameworks::{Frameworks, Generator, Host, Purpose, Task};
use frostline::lane::model::{Failure, Outcome};
use frostline::lane::process::{Cancel, Limits};
use frostline::lane::sandbox::{Level, Places, Wanted, choose};
use frostline::lane::window::{Honoured, Window, Wish, honours_seed, window};
use frostline::model::NodeId;

const WORKSPACE: &str = r#"
[workspace]
members = ["p"]
exclude = ["broken"]
resolver = "2"
"#;

const MANIFEST: &str = r#"
[package]
name = "p"
version = "0.1.0"
edition = "2021"
[dev-dependencies]
proptest = { version = "1", default-features = false, features = ["std"] }
"#;

const LIB: &str = r#"
mod both;
pub mod lex;

pub fn small(x: u32) -> u32 {
    assert!(x < 1000, "too big {x}");
    x
}

#[cfg(test)]
mod tests {
    #[test]
    fn inside() {
        assert_eq!(env!("CARGO_PKG_NAME"), std::env::var("CARGO_PKG_NAME").unwrap());
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        assert_eq!(folder, env!("CARGO_MANIFEST_DIR"));
        assert_eq!(std::env::current_dir().unwrap(), std::path::Path::new(&folder));
        let tokens = std::env::vars().filter(|(name, _)| name.contains("TOKEN") || name == "CI");
        assert_eq!(tokens.count(), 0);
    }
}
"#;

const LEX: &str = r#"
#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    proptest! {
        #[test]
        fn roundtrip(x in any::<u32>()) {
            prop_assert!(x < 1000, "not {x}");
        }
    }
}
"#;

const PROPS: &str = r#"
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

proptest! {
    #[test]
    fn red(x in any::<u32>(), v in proptest::collection::vec(0u8..5, 0..3)) {
        let _ = v;
        p::small(x);
    }

    #[test]
    fn green(x in any::<u32>()) {
        prop_assert_eq!(x, x);
    }

    #[test]
    fn nested(v in proptest::collection::vec((any::<bool>(), "[a-z]{0,3}"), 0..9)) {
        prop_assert!(v.len() < 3);
    }
}

#[test]
fn fixed_in_source() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    runner.run(&any::<u8>(), |_| Ok(())).unwrap();
}

#[test]
fn plain() {}

#[test]
fn clock() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(now.subsec_nanos() % 2 == 0, "odd at {}", now.subsec_nanos());
}

#[test]
fn map_order() {
    let map: std::collections::HashMap<u8, u8> = (0..8).map(|x| (x, x)).collect();
    let first = *map.keys().next().unwrap();
    assert!(first < 4, "first is {first}");
}

#[test]
fn leaves() {
    std::process::exit(0)
}

#[test]
fn leaves_as_failed() {
    std::process::exit(101)
}

#[test]
fn aborts() {
    std::process::abort()
}

#[test]
#[ignore = "not today"]
fn ignored() {}

#[test]
#[should_panic]
fn panics_as_told() {
    panic!("as told");
}

#[test]
#[should_panic]
fn does_not_panic() {}

#[test]
fn returns_an_error() -> Result<(), String> {
    Err("bad thing".to_owned())
}

#[test]
fn other_thread() {
    let joined = std::thread::spawn(|| panic!("in a thread")).join();
    assert!(joined.is_ok(), "the thread panicked");
}

#[test]
fn loud() {
    for _ in 0..40_000 {
        println!("{}", "x".repeat(100));
    }
}

#[test]
fn writes_into_the_tree() {
    std::fs::write("tests/new.rs", "").unwrap();
}

#[test]
fn writes_into_the_build() {
    let own = std::env::current_exe().unwrap();
    std::fs::write(own.with_extension("x"), "").unwrap();
}

mod deep {
    #[test]
    fn plain() {}
}
"#;

/// Its one case is not the first that runs when cases were saved.
const SAVED: &str = r#"
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

static RUN: AtomicU32 = AtomicU32::new(0);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]
    #[test]
    fn once(_x in any::<u32>()) {
        prop_assert_eq!(RUN.fetch_add(1, Ordering::SeqCst), 0);
    }
}
"#;

const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", WORKSPACE),
    ("p/Cargo.toml", MANIFEST),
    ("p/src/lib.rs", LIB),
    ("p/src/lex.rs", LEX),
    ("p/src/both.rs", "#[test]\nfn t() {}\n"),
    ("p/src/main.rs", "mod both;\nfn main() {}\n"),
    ("p/src/loose.rs", "#[test]\nfn t() {}\n"),
    ("p/tests/props.rs", PROPS),
    ("p/tests/saved.rs", SAVED),
    (
        "p/tests/saved.proptest-regressions",
        "cc 0101010101010101010101010101010101010101010101010101010101010101\n",
    ),
    ("p/tests/it/main.rs", "mod deep;\n"),
    ("p/tests/it/deep.rs", "#[test]\nfn t() {}\n"),
    (
        "broken/Cargo.toml",
        "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    ),
    (
        "broken/src/lib.rs",
        "#[test]\nfn t() {\n    let x: u8 = \"no number\";\n}\n",
    ),
    (
        "broken/Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"broken\"\nversion = \"0.1.0\"\n",
    ),
    (
        "loose/Cargo.toml",
        "[package]\nname = \"loose\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    ),
    ("loose/src/lib.rs", "#[test]\nfn t() {}\n"),
];

fn cargo(folder: &Path, args: &[&str]) -> bool {
    let mut cargo = Command::new("cargo");
    cargo.args(args).current_dir(folder).env_remove("CI");
    // Of the build that runs these tests.
    for (name, _) in std::env::vars() {
        if name.starts_with("CARGO_") && name != "CARGO_HOME" {
            cargo.env_remove(name);
        }
    }
    cargo.status().expect("cargo starts").success()
}

/// A tree of files in the folder for what tests build, which a later run finds again: what did not change is
/// not built twice.
fn tree(name: &str, files: &[(&str, &str)]) -> Places {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let places = Places {
        program: PathBuf::from(env!("CARGO_BIN_EXE_frostline")),
        search: std::env::var("PATH").unwrap_or_default(),
        tree: folder.join("tree"),
        built: folder.join("built"),
        run: folder.join("runs"),
        hidden: None,
        needed: Vec::new(),
    };
    for (path, text) in files {
        let path = places.tree.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
        if std::fs::read_to_string(&path).ok().as_deref() != Some(*text) {
            std::fs::write(&path, text).expect("a written file");
        }
    }
    std::fs::create_dir_all(&places.run).expect("a new folder");
    places
}

fn frameworks(places: &Places) -> Frameworks {
    Frameworks::new(Host {
        program: places.program.clone(),
        search: places.search.clone(),
        tree: places.tree.clone(),
        commands: Vec::new(),
        ask: places.run.clone(),
        checkout: None,
        python: "python3".into(),
        cancel: Cancel::default(),
    })
}

fn bench<'a>(frameworks: &'a Frameworks, places: Places, wanted: Wanted) -> Bench<'a> {
    let cancel = Cancel::default();
    let (level, _) = choose(wanted, &places, &cancel).expect("an isolation");
    let limits = Limits {
        timeout_ms: 30_000,
        ..Limits::default()
    };
    Bench::new(frameworks, (places, level), limits, cancel).expect("a tree")
}

/// One package, built once for all tests here.
fn lab() -> &'static Bench<'static> {
    static FRAMEWORKS: OnceLock<Frameworks> = OnceLock::new();
    static LAB: OnceLock<Bench<'static>> = OnceLock::new();
    LAB.get_or_init(|| {
        let places = tree("lane-rust", FILES);
        if !places.tree.join("Cargo.lock").exists() {
            // The tests' own proptest was fetched to build them.
            assert!(cargo(&places.tree, &["generate-lockfile", "--offline"]));
        }
        let frameworks = FRAMEWORKS.get_or_init(|| frameworks(&places));
        bench(frameworks, places, Wanted::From(Level::Bubblewrap))
    })
}

fn id(text: &str) -> NodeId {
    text.parse().expect("a node id")
}

fn task<'a>(node: &'a NodeId, seed: Option<i64>, generator: Generator) -> Task<'a> {
    Task {
        node,
        seed,
        hash_seed: 0,
        generator,
        purpose: Purpose::Vote,
        stored: None,
    }
}

/// With the generator that is found, and the seed where that takes one.
fn seeded(node: &str, seed: i64) -> Run {
    let node = id(node);
    let generator = lab().generator(&node).unwrap_or(Generator::NoGenerator);
    let seed = Some(seed).filter(|_| generator.takes_seed());
    lab().run(&task(&node, seed, generator))
}

#[track_caller]
fn red(node: &str) -> Failure {
    match seeded(node, 1).outcome {
        Outcome::Red(failure) => failure,
        other => panic!("{node}: {other:?}"),
    }
}

#[track_caller]
fn errored(run: Run, why: &str) {
    match run.outcome {
        Outcome::Errored { why: said } => assert!(said.contains(why), "{why}: {said}"),
        other => panic!("{why}: {other:?}"),
    }
}

#[test]
fn a_rust_failure_is_told_with_place_message_and_example() {
    let failure = red("p/tests/props.rs::red");
    assert_eq!(failure.message, "too big 1000");
    assert_eq!(failure.example.as_deref(), Some("x = 1000, v = []"));
    let frames = failure.frames.iter();
    let frames: Vec<(&str, &str)> = frames.map(|f| (&*f.file, &*f.function)).collect();
    assert_eq!(
        frames,
        [("p/tests/props.rs", "red"), ("p/src/lib.rs", "small")]
    );
    // The same seed on the same tree gives the same example.
    assert_eq!(red("p/tests/props.rs::red"), failure);

    let inline = red("p/src/lex.rs::tests::roundtrip");
    assert_eq!(inline.kinds(), ["TestError::Fail"]);
    assert_eq!(inline.example.as_deref(), Some("x = 1000"));
    let nested = red("p/tests/props.rs::nested").example.expect("an example");
    assert!(
        nested.starts_with("v = [") && nested.ends_with(']'),
        "{nested}"
    );
    let thread = red("p/tests/props.rs::other_thread");
    assert_eq!(thread.message, "the thread panicked");
    let result = red("p/tests/props.rs::returns_an_error");
    assert_eq!(
        (result.kinds(), &*result.message),
        (vec!["Error"], "\"bad thing\"")
    );
    assert_eq!(
        red("p/tests/props.rs::does_not_panic").kinds(),
        ["should_panic"]
    );
    for green in [
        "p/tests/props.rs::green",
        "p/tests/props.rs::plain",
        "p/tests/props.rs::deep::plain",
        "p/tests/props.rs::panics_as_told",
        "p/tests/props.rs::loud",
        "p/tests/it/deep.rs::t",
        "p/src/lib.rs::tests::inside",
    ] {
        assert_eq!(seeded(green, 1).outcome, Outcome::Green, "{green}");
    }
}

#[test]
fn whatever_a_test_binary_does_not_tell_as_passed_is_no_pass() {
    for (node, why) in [
        ("p/tests/props.rs::leaves", "left without its harness"),
        (
            "p/tests/props.rs::leaves_as_failed",
            "left without its harness",
        ),
        ("p/tests/props.rs::aborts", "signal 6"),
        ("p/tests/props.rs::ignored", "ignored: not today"),
        ("p/tests/props.rs::nowhere", "no such test"),
        // A name that others begin with, and the modules alone.
        ("p/tests/props.rs::leave", "no such test"),
        ("p/tests/props.rs::deep", "no such test"),
        ("p/src/both.rs::t", "more than one test"),
        ("p/src/loose.rs::t", "no test binary"),
        ("broken/src/lib.rs::t", "error[E0308]: mismatched types"),
        (
            "loose/src/lib.rs::t",
            "current package believes it's in a workspace",
        ),
    ] {
        errored(seeded(node, 1), why);
    }
    let level = lab().level;
    for (node, why) in [
        ("p/tests/props.rs::writes_into_the_tree", "tree"),
        ("p/tests/props.rs::writes_into_the_build", "Os {"),
    ] {
        match seeded(node, 1).outcome {
            Outcome::Red(failure) if level.keeps_the_tree() => {
                assert!(failure.message.contains("unwrap"), "{failure:?}");
            }
            Outcome::Errored { why: said } => assert!(said.contains(why), "{said}"),
            other => panic!("{node}: {other:?}"),
        }
    }
}

#[test]
fn a_package_without_a_lock_is_not_run() {
    let places = tree(
        "lane-rust-unlocked",
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"u\"\nversion = \"0.1.0\"\n",
            ),
            ("src/lib.rs", "#[test]\nfn t() {}\n"),
        ],
    );
    let frameworks = frameworks(&places);
    let bench = bench(&frameworks, places, Wanted::From(Level::Bubblewrap));
    let node = id("src/lib.rs::t");
    errored(
        bench.run(&task(&node, None, Generator::NoGenerator)),
        "no Cargo.lock",
    );
}

#[test]
fn rust_is_built_and_run_at_every_level_that_works() {
    for level in Level::ALL {
        let places = tree(
            &format!("lane-rust-{}", level.name()),
            &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"l\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
                ),
                (
                    "Cargo.lock",
                    "version = 4\n\n[[package]]\nname = \"l\"\nversion = \"0.1.0\"\n",
                ),
                (
                    "src/lib.rs",
                    "#[test]\nfn green() {}\n#[test]\nfn writes() {\n    let own = std::env::current_exe().unwrap();\n    std::fs::write(own.with_extension(\"x\"), \"\").unwrap();\n}\n",
                ),
            ],
        );
        // Of an earlier run, which may have written into it.
        frostline::lane::bench::remove(&places.built);
        let frameworks = frameworks(&places);
        let bench = bench(&frameworks, places, Wanted::From(level));
        let [green, writes] = ["green", "writes"].map(|name| {
            let node = id(&format!("src/lib.rs::{name}"));
            bench
                .run(&task(&node, None, Generator::NoGenerator))
                .outcome
        });
        assert_eq!(green, Outcome::Green, "{level:?}");
        match writes {
            Outcome::Red(_) if bench.level.keeps_the_tree() => {}
            Outcome::Errored { why } if !bench.level.keeps_the_tree() => {
                assert!(why.contains("what was built"), "{why}");
            }
            other => panic!("{level:?}: {other:?}"),
        }
    }
}

fn generator(node: &str) -> (Generator, Honoured) {
    let node = id(node);
    let generator = lab().generator(&node).expect("it is found");
    (
        generator,
        honours_seed(lab(), (&node, generator), None, &|_| {}),
    )
}

#[test]
fn a_seed_of_proptest_is_honoured_where_the_values_say_so() {
    for node in [
        "p/tests/props.rs::green",
        "p/tests/props.rs::red",
        "p/tests/props.rs::nested",
        "p/src/lex.rs::tests::roundtrip",
    ] {
        assert_eq!(
            generator(node),
            (Generator::Proptest, Honoured::Yes),
            "{node}"
        );
    }
    assert_eq!(
        generator("p/tests/props.rs::plain"),
        (Generator::NoGenerator, Honoured::DoesNotApply)
    );
    let (found, honoured) = generator("p/tests/props.rs::fixed_in_source");
    assert!(!matches!(honoured, Honoured::Yes), "{found:?} {honoured:?}");
    // The variable would be left unread, and the values random.
    let run = seeded("p/tests/props.rs::green", -1);
    errored(run, "no negative seed");
}

#[test]
fn saved_cases_run_too_and_no_seed_decides() {
    let node = "p/tests/saved.rs::once";
    let (found, honoured) = generator(node);
    assert_eq!(found, Generator::ProptestSaved);
    match honoured {
        Honoured::No(why) => assert!(why.contains("saved cases"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(red(node).message.contains("assertion failed"));
    // Without them it is green.
    let node = id(node);
    let run = lab().run(&task(&node, Some(1), Generator::Proptest));
    assert_eq!(run.outcome, Outcome::Green);
}

fn run_window(node: &str) -> Window {
    let node = id(node);
    let generator = lab().generator(&node).expect("it is found");
    let wish = Wish {
        node: &node,
        seed: Some(1).filter(|_| generator.takes_seed()),
        generator,
        cap: 30,
        workers: 2,
    };
    window(lab(), wish, &|_| {}).expect("not cancelled")
}

#[test]
fn windows_of_rust_tests_are_short_and_tell_noise_from_failure() {
    assert_eq!(
        lab().generator(&id("p/tests/props.rs::green")),
        Ok(Generator::Proptest)
    );
    let started = Instant::now();
    let green = run_window("p/tests/props.rs::green");
    let took = started.elapsed();
    eprintln!("7 runs of a built property took {} ms", took.as_millis());
    assert_eq!(
        (green.verdict.status, green.runs.len()),
        (Status::MergeOk, 7)
    );
    // A compiler in the window would take longer by far.
    assert!(took.as_secs() < 10, "{took:?}");
    let red = run_window("p/tests/props.rs::red");
    assert_eq!(red.verdict.status, Status::StableViolation);
    for node in ["p/tests/props.rs::clock", "p/tests/props.rs::map_order"] {
        let flaky = run_window(node).verdict;
        let allowed = [
            Status::FreezeCandidate,
            Status::Inconclusive,
            Status::MergeOk,
        ];
        let with_red = flaky.tally.red > 0;
        assert!(
            allowed.contains(&flaky.status) || flaky.tally.green == 0,
            "{node}: {flaky:?}"
        );
        assert!(
            !(with_red && flaky.status == Status::MergeOk),
            "{node}: {flaky:?}"
        );
    }
}

#[test]
fn a_rust_replay_line_runs_again_as_it_is_stored() {
    let node = id("p/src/lex.rs::tests::roundtrip");
    let own = lab().run(&task(&node, Some(7), Generator::Proptest));
    let line = lab()
        .replay_line(&task(&node, Some(7), Generator::Proptest))
        .expect("a line");
    assert_eq!(
        line,
        "PROPTEST_RNG_SEED=7 cargo test -p p --lib lex::tests::roundtrip -- --exact"
    );
    let seed = Seed::Integer(7);
    let runners = ["cargo".to_owned()];
    let subject = Subject {
        nodeid: &node,
        seed: Some(&seed),
        runners: &runners,
    };
    let stored = replay::parse(&line, subject).expect("a line that may be stored");
    let again = lab().run(&Task {
        stored: Some(&stored),
        ..task(&node, None, Generator::NoGenerator)
    });
    let (own, again) = (own.outcome, again.outcome);
    let example = |outcome: &Outcome| outcome.failure().and_then(|f| f.example.clone());
    assert_eq!(example(&own).as_deref(), Some("x = 1000"));
    assert_eq!(example(&again), example(&own), "{again:?}");
}

/// quickcheck is no package of the project's own: it is fetched when a test needs it.
#[test]
fn quickcheck_is_told_to_take_no_seed() {
    let places = tree(
        "lane-quickcheck",
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"q\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dev-dependencies]\nquickcheck = { version = \"=1.1.0\", default-features = false }\n",
            ),
            (
                "src/lib.rs",
                "#[cfg(test)]\nmod tests {\n    quickcheck::quickcheck! {\n        fn small(x: u32) -> bool { x < 3 }\n    }\n}\n",
            ),
        ],
    );
    if !cargo(&places.tree, &["fetch"]) {
        let what = "quickcheck could not be fetched";
        assert!(std::env::var_os("CI").is_none(), "{what}");
        eprintln!("SKIPPED, quickcheck was not run: {what}");
        return;
    }
    let frameworks = frameworks(&places);
    let bench = bench(&frameworks, places, Wanted::From(Level::Bubblewrap));
    let node = id("src/lib.rs::tests::small");
    assert_eq!(bench.generator(&node), Ok(Generator::Quickcheck));
    let honoured = honours_seed(&bench, (&node, Generator::Quickcheck), None, &|_| {});
    assert!(
        matches!(&honoured, Honoured::No(why) if why.contains("takes no seed")),
        "{honoured:?}"
    );
    match bench.run(&task(&node, None, Generator::Quickcheck)).outcome {
        Outcome::Red(failure) => assert_eq!(failure.example.as_deref(), Some("(3)")),
        other => panic!("{other:?}"),
    }
    let versions = bench.versions(&node).expect("versions");
    assert_eq!(versions["quickcheck"], "1.1.0");
    assert!(versions.contains_key("rustc"));
}
