//! What the benches share: repositories made with `git fast-import`, and processes that are timed.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const FROSTLINE: &str = env!("CARGO_BIN_EXE_frostline");
pub const RUNS: usize = 7;

/// What one process took.
#[derive(Clone, Copy)]
pub struct Cost {
    pub wall: Duration,
    /// Bytes, at the most; 0 where `/proc` does not tell.
    pub anonymous: u64,
}

fn repeat(run: &dyn Fn() -> Cost) -> Vec<Cost> {
    (0..RUNS).map(|_| run()).collect()
}

pub fn median(costs: &[Cost]) -> Duration {
    let mut walls: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
    walls.sort_unstable();
    walls[walls.len() / 2]
}

pub fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1000.0)
}

pub fn megabytes(costs: &[Cost]) -> String {
    let most = costs.iter().map(|cost| cost.anonymous).max().unwrap_or(0);
    format!("{:.0} MB (bound 200 MB)", most as f64 / 1_000_000.0)
}

/// Runs a command to its end, looking at its anonymous memory all the while.
pub fn run(folder: &Path, program: &str, args: &[&str]) -> Cost {
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

pub fn git(repo: &Path, args: &[&str]) -> String {
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

pub fn init(repo: &Path) {
    std::fs::create_dir_all(repo).expect("a new folder");
    git(repo, &["init", "--quiet", "--initial-branch=main"]);
}

pub fn import(repo: &Path, stream: &[u8]) {
    let mut child = isolated(repo, &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git on the PATH");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(stream).expect("git reads the stream");
    drop(pipe);
    assert!(child.wait().expect("git ends").success());
}

/// A commit for `git fast-import`, and the files that it writes.
#[derive(Default)]
pub struct Stream(pub Vec<u8>);

impl Stream {
    pub fn commit(&mut self, branch: &str, from: Option<&str>) {
        let _ = write!(
            self.0,
            "commit refs/heads/{branch}\ncommitter A <a@example.com> 1700000000 +0000\ndata 2\nx\n"
        );
        if let Some(from) = from {
            let _ = writeln!(self.0, "from {from}");
        }
    }

    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        let _ = writeln!(self.0, "M 100644 inline {path}\ndata {}", bytes.len());
        self.0.extend_from_slice(bytes);
        self.0.push(b'\n');
    }

    /// The contract: the lock's rows (path below the root, digest), and the map's (prefix, property).
    pub fn contract(&mut self, lock: &[(String, String)], rules: &[(String, String)]) {
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
        let rules: Vec<String> = rules
            .iter()
            .map(|(prefix, property)| {
                format!(
                    "    {{\"path_prefix\": \"{prefix}\", \"live_properties\": [\"{property}\"]}}"
                )
            })
            .collect();
        let text = format!(
            "{{\n  \"version\": 1,\n  \"rules\": [\n{}\n  ]\n}}\n",
            rules.join(",\n")
        );
        self.file("test/contract/hunk-map.json", text.as_bytes());
    }
}

/// `cargo test --benches` asks for a list of tests.
pub fn is_asked_for_tests() -> bool {
    std::env::args().any(|arg| arg == "--list" || arg == "--test")
}

/// The arguments of a check of the branch `work`.
pub fn check(repo: &Path) -> Vec<&str> {
    let repo = repo.to_str().expect("a plain path");
    vec![
        "check", "--repo", repo, "--base", "main", "--head", "work", "--format", "json",
    ]
}

/// Times one command some times, and prints its median beside its bound.
pub fn bounded(name: &str, bound: Duration, ours: &dyn Fn() -> Cost) {
    let costs = repeat(ours);
    println!(
        "{name}: {} (bound {}), RssAnon {}",
        milliseconds(median(&costs)),
        milliseconds(bound),
        megabytes(&costs)
    );
}
