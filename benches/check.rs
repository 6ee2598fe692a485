//! How long `frostline check` takes and how much memory it needs, beside what git needs for the same.
//!
//! `cargo bench --bench check` makes two repositories in a temporary folder with `git fast-import` and
//! times the real binary as whole processes, in turn with its yardstick; medians are printed.
//!
//! - *fixtures*: 12,000 packed fixtures (190 MB, half random bytes, half JSON), 3,000 changed production
//!   files, 3,000 rules in the map. Without a cache against two `git cat-file --batch --buffer | openssl
//!   dgst -sha256` side by side; with known digests against `git diff-tree -r --numstat`.
//! - *files*: 100,000 files, 10 changed, known digests, under 150 ms.
//! - Peak anonymous memory (`RssAnon`) under 200 MB in all of them.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "support.rs"]
mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use support::{
    Cost, FROSTLINE, RUNS, Stream, bounded, check, git, import, init, is_asked_for_tests, median,
    megabytes, milliseconds, run,
};

const FIXTURES: usize = 12_000;
const FIXTURE_BYTES: usize = 190_000_000 / FIXTURES;
const PRODUCTION: usize = 3_000;
const FILES: usize = 100_000;

fn main() {
    if is_asked_for_tests() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    fixtures(&folder.path().join("fixtures"));
    files(&folder.path().join("files"));
}

fn fixtures(repo: &Path) {
    init(repo);
    let ids = {
        import(repo, &fixture_stream());
        git(repo, &["repack", "-a", "-d", "-f", "-q"]);
        let listing = git(
            repo,
            &["ls-tree", "-r", "--object-only", "main", "tests/fixtures"],
        );
        listing.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let halves: Vec<PathBuf> = ids
        .chunks(ids.len().div_ceil(2))
        .enumerate()
        .map(|(at, half)| {
            let path = repo.join(format!("half-{at}"));
            std::fs::write(&path, half.join("\n") + "\n").expect("a list of ids");
            path
        })
        .collect();
    let hash = |path: &Path| {
        format!(
            "git cat-file --batch --buffer < '{}' | openssl dgst -sha256",
            path.display()
        )
    };
    let both = format!("{} & {} & wait", hash(&halves[0]), hash(&halves[1]));
    let check = check(repo);
    report(
        "fixtures, no cache",
        ("cat-file | openssl, twice side by side", 1.0),
        &|| run(repo, FROSTLINE, &[&check[..], &["--no-cache"]].concat()),
        &|| run(repo, "sh", &["-c", &both]),
    );
    run(repo, FROSTLINE, &check);
    report(
        "fixtures, digests known",
        ("git diff-tree -r --numstat", 2.0),
        &|| run(repo, FROSTLINE, &check),
        &|| {
            run(
                repo,
                "git",
                &["diff-tree", "-r", "--numstat", "main", "work"],
            )
        },
    );
}

fn files(repo: &Path) {
    init(repo);
    import(repo, &files_stream());
    git(repo, &["repack", "-a", "-d", "-q"]);
    let check = check(repo);
    run(repo, FROSTLINE, &check);
    bounded(
        "100,000 files, 10 changed",
        Duration::from_millis(150),
        &|| run(repo, FROSTLINE, &check),
    );
}

/// Numbers with a fixed sequence (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn random_bytes(dice: &mut Dice) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..FIXTURE_BYTES.div_ceil(8))
        .flat_map(|_| dice.next().to_le_bytes())
        .collect();
    bytes.truncate(FIXTURE_BYTES);
    bytes
}

fn json_bytes(dice: &mut Dice) -> Vec<u8> {
    let mut text = String::from("[\n");
    while text.len() < FIXTURE_BYTES {
        let number = dice.next();
        let _ = writeln!(
            text,
            "  {{\"id\": {}, \"name\": \"token-{}\", \"kind\": \"{}\", \"weight\": 0.{}}},",
            number % 100_000,
            number >> 48,
            ["identifier", "literal", "operator", "comment"][(number % 4) as usize],
            number % 1000
        );
    }
    text.push_str("  {}\n]\n");
    text.into_bytes()
}

/// Both in turn, so that a change of the machine's pace hits both.
fn report(
    name: &str,
    (yardstick, bound): (&str, f64),
    ours: &dyn Fn() -> Cost,
    theirs: &dyn Fn() -> Cost,
) {
    ours();
    theirs();
    let (mut our_costs, mut their_costs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        our_costs.push(ours());
        their_costs.push(theirs());
    }
    let (one, two) = (median(&our_costs), median(&their_costs));
    println!(
        "{name}: {}, {yardstick}: {}; ratio {:.2} (bound {bound}), RssAnon {}",
        milliseconds(one),
        milliseconds(two),
        one.as_secs_f64() / two.as_secs_f64(),
        megabytes(&our_costs)
    );
}

fn property(number: usize) -> String {
    format!("tests/properties/test_{}.py::test_it", number % 100)
}

fn properties(stream: &mut Stream) {
    for number in 0..100 {
        let path = format!("tests/properties/test_{number}.py");
        stream.file(&path, b"def test_it():\n    assert True\n");
    }
}

fn source(number: usize, changed: bool) -> Vec<u8> {
    let mut text = String::new();
    for line in 0..80 {
        let mark = if changed && (line == 20 || line == 50) {
            "changed"
        } else {
            "kept"
        };
        let _ = writeln!(
            text,
            "def function_{number}_{line}(argument):  # {mark}\n    return argument + {line}\n"
        );
    }
    text.into_bytes()
}

fn fixture_stream() -> Vec<u8> {
    let mut dice = Dice(1);
    let mut stream = Stream(Vec::with_capacity(FIXTURES * FIXTURE_BYTES * 11 / 10));
    stream.commit("main", None);
    let mut lock = Vec::new();
    for number in 0..FIXTURES {
        let bytes = if number % 2 == 0 {
            random_bytes(&mut dice)
        } else {
            json_bytes(&mut dice)
        };
        let path = format!(
            "{:03}/{number:05}.{}",
            number / 50,
            if number % 2 == 0 { "bin" } else { "json" }
        );
        stream.file(&format!("tests/fixtures/{path}"), &bytes);
        lock.push((path, hex::encode(Sha256::digest(&bytes))));
    }
    let path = |number: usize| format!("src/package{:02}/module{number:04}.py", number / 50);
    let rules: Vec<(String, String)> = (0..PRODUCTION)
        .map(|number| (path(number), property(number)))
        .collect();
    stream.contract(&lock, &rules);
    properties(&mut stream);
    for number in 0..PRODUCTION {
        stream.file(&path(number), &source(number, false));
    }
    stream.commit("work", Some("refs/heads/main"));
    for number in 0..PRODUCTION {
        stream.file(&path(number), &source(number, true));
    }
    stream.0
}

fn files_stream() -> Vec<u8> {
    let mut stream = Stream::default();
    stream.commit("main", None);
    let path = |number: usize| {
        format!(
            "src/part{:02}/package{:03}/module{number:05}.py",
            number / 2000,
            number / 100
        )
    };
    for number in 0..FILES {
        stream.file(&path(number), format!("value = {number}\n").as_bytes());
    }
    let mut lock = Vec::new();
    for number in 0..200 {
        let bytes = format!("{{\"number\": {number}}}\n");
        stream.file(&format!("tests/fixtures/{number}.json"), bytes.as_bytes());
        lock.push((
            format!("{number}.json"),
            hex::encode(Sha256::digest(&bytes)),
        ));
    }
    lock.sort();
    let rules: Vec<(String, String)> = (0..50)
        .map(|number| (format!("src/part{number:02}/"), property(number)))
        .collect();
    stream.contract(&lock, &rules);
    properties(&mut stream);
    stream.commit("work", Some("refs/heads/main"));
    for number in 0..10 {
        stream.file(&path(number * 9_999), b"value = 0\n");
    }
    stream.0
}
