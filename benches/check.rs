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

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

const FROSTLINE: &str = env!("CARGO_BIN_EXE_frostline");
const RUNS: usize = 7;

const FIXTURES: usize = 12_000;
const FIXTURE_BYTES: usize = 190_000_000 / FIXTURES;
const PRODUCTION: usize = 3_000;
const FILES: usize = 100_000;

/// What one process took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Bytes, at the most; 0 where `/proc` does not tell.
    anonymous: u64,
}

fn main() {
    // `cargo test --benches` asks for a list of tests.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
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
    let costs = repeat(&|| run(repo, FROSTLINE, &check));
    println!(
        "100,000 files, 10 changed: {} (bound 150 ms), RssAnon {}",
        milliseconds(median(&costs)),
        megabytes(&costs)
    );
}

fn check(repo: &Path) -> Vec<&str> {
    let repo = repo.to_str().expect("a plain path");
    vec![
        "check", "--repo", repo, "--base", "main", "--head", "work", "--format", "json",
    ]
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

fn repeat(run: &dyn Fn() -> Cost) -> Vec<Cost> {
    (0..RUNS).map(|_| run()).collect()
}

fn median(costs: &[Cost]) -> Duration {
    let mut walls: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
    walls.sort_unstable();
    walls[walls.len() / 2]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}

fn megabytes(costs: &[Cost]) -> String {
    let most = costs.iter().map(|cost| cost.anonymous).max().unwrap_or(0);
    format!("{:.0} MB (bound 200 MB)", most as f64 / 1_000_000.0)
}

/// Runs a command to its end, looking at its anonymous memory all the while.
fn run(folder: &Path, program: &str, args: &[&str]) -> Cost {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("a program that starts");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut anonymous = 0;
    let code = loop {
        anonymous = anonymous.max(anonymous_memory(&status).unwrap_or(0));
        if let Some(code) = child.try_wait().expect("a child") {
            break code;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let wall = start.elapsed();
    // 0, 1 and 3 are verdicts; 2 is a check that could not run.
    assert!(
        matches!(code.code(), Some(0 | 1 | 3)),
        "{program} {args:?}: {code}"
    );
    Cost { wall, anonymous }
}

fn anonymous_memory(status: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1024)
}

fn git(repo: &Path, args: &[&str]) -> String {
    let output = isolated(repo, args).output().expect("git on the PATH");
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn isolated(repo: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(args)
        .current_dir(repo)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

fn init(repo: &Path) {
    std::fs::create_dir_all(repo).expect("a new folder");
    git(repo, &["init", "--quiet", "--initial-branch=main"]);
}

fn import(repo: &Path, stream: &[u8]) {
    let mut child = isolated(repo, &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git on the PATH");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(stream).expect("git reads the stream");
    drop(pipe);
    assert!(child.wait().expect("git ends").success());
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

/// A commit for `git fast-import`, and the files that it writes.
struct Stream(Vec<u8>);

impl Stream {
    fn commit(&mut self, branch: &str, from: Option<&str>) {
        let _ = write!(
            self.0,
            "commit refs/heads/{branch}\ncommitter A <a@example.com> 1700000000 +0000\ndata 2\nx\n"
        );
        if let Some(from) = from {
            let _ = writeln!(self.0, "from {from}");
        }
    }

    fn file(&mut self, path: &str, bytes: &[u8]) {
        let _ = writeln!(self.0, "M 100644 inline {path}\ndata {}", bytes.len());
        self.0.extend_from_slice(bytes);
        self.0.push(b'\n');
    }

    fn contract(&mut self, lock: &[(String, String)], prefixes: &[String]) {
        self.file(".github/frostline.yml", b"version: 1\n");
        self.file(
            "test/contract/flake-freeze.json",
            b"{\"version\": 1, \"entries\": []}\n",
        );
        let rows: Vec<String> = lock
            .iter()
            .map(|(path, digest)| format!("    \"{path}\": \"{digest}\""))
            .collect();
        let text = format!(
            "{{\n  \"fixtures_root\": \"tests/fixtures\",\n  \"files\": {{\n{}\n  }}\n}}\n",
            rows.join(",\n")
        );
        self.file("test/contract/fixtures.lock.json", text.as_bytes());
        let rules: Vec<String> = prefixes
            .iter()
            .enumerate()
            .map(|(at, prefix)| {
                format!(
                    "    {{\"path_prefix\": \"{prefix}\", \"live_properties\": [\"tests/properties/test_{}.py::test_it\"]}}",
                    at % 100
                )
            })
            .collect();
        let text = format!(
            "{{\n  \"version\": 1,\n  \"rules\": [\n{}\n  ]\n}}\n",
            rules.join(",\n")
        );
        self.file("test/contract/hunk-map.json", text.as_bytes());
        for number in 0..100 {
            self.file(
                &format!("tests/properties/test_{number}.py"),
                b"def test_it():\n    assert True\n",
            );
        }
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
    let prefixes: Vec<String> = (0..PRODUCTION).map(path).collect();
    stream.contract(&lock, &prefixes);
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
    let mut stream = Stream(Vec::new());
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
    stream.contract(
        &lock,
        &(0..50)
            .map(|number| format!("src/part{number:02}/"))
            .collect::<Vec<_>>(),
    );
    stream.commit("work", Some("refs/heads/main"));
    for number in 0..10 {
        stream.file(&path(number * 9_999), b"value = 0\n");
    }
    stream.0
}
