//! How long reading the source takes: `cargo bench --bench source`.
//!
//! - *properties*: 2,000 property files of 150 lines and 2,000 rules, one file changed. Cold (nothing kept
//!   from an earlier run) under 1.5 s; warm, when no source is read again.
//! - *init*: `frostline init --dry-run` on 20,000 files, 2,000 of them tests, under 5 s.

#[path = "support.rs"]
mod support;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use support::{FROSTLINE, Stream, bounded, check, git, import, init, is_asked_for_tests, run};

const PROPERTIES: usize = 2_000;
const FILES: usize = 20_000;

fn main() {
    if is_asked_for_tests() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    properties(&folder.path().join("properties"));
    proposal(&folder.path().join("init"));
}

fn properties(repo: &Path) {
    init(repo);
    let mut stream = Stream::default();
    stream.commit("main", None);
    let rules: Vec<(String, String)> = (0..PROPERTIES)
        .map(|number| {
            let property = format!("{}::test_roundtrip_3", test_path(number));
            (module_path(number), property)
        })
        .collect();
    stream.contract(&[], &rules);
    for number in 0..PROPERTIES {
        stream.file(&module_path(number), b"def parse(text):\n    return text\n");
        stream.file(&test_path(number), test_file(number).as_bytes());
    }
    stream.commit("work", Some("refs/heads/main"));
    stream.file(
        &module_path(7),
        b"def parse(text):\n    return text.strip()\n",
    );
    import(repo, &stream.0);
    git(repo, &["repack", "-a", "-d", "-q"]);
    let check = check(repo);
    let cold = [&check[..], &["--no-cache"]].concat();
    bounded(
        "2,000 property files, cold",
        Duration::from_millis(1500),
        &|| run(repo, FROSTLINE, &cold),
    );
    run(repo, FROSTLINE, &check);
    bounded(
        "2,000 property files, warm",
        Duration::from_millis(150),
        &|| run(repo, FROSTLINE, &check),
    );
}

fn proposal(repo: &Path) {
    init(repo);
    let mut stream = Stream::default();
    stream.commit("main", None);
    for number in 0..PROPERTIES {
        stream.file(&test_path(number), test_file(number).as_bytes());
    }
    for number in 0..FILES - PROPERTIES {
        let text = test_file(number).replace("def test_", "def make_");
        stream.file(&module_path(number), text.as_bytes());
    }
    import(repo, &stream.0);
    git(repo, &["reset", "--hard", "--quiet", "main"]);
    let folder = repo.to_str().expect("a plain path");
    bounded("init, 20,000 files", Duration::from_secs(5), &|| {
        run(repo, FROSTLINE, &["init", "--repo", folder, "--dry-run"])
    });
}

fn module_path(number: usize) -> String {
    format!("src/pkg/part{:02}/module{number:05}.py", number / 1000)
}

fn test_path(number: usize) -> String {
    format!(
        "tests/properties/part{:02}/test_{number:05}.py",
        number / 100
    )
}

/// About 150 lines.
fn test_file(number: usize) -> String {
    let mut text = format!(
        "from hypothesis import given, strategies as st\n\n\
         from pkg.part{:02}.module{number:05} import parse\n\n\n",
        number / 1000
    );
    for test in 0..12 {
        let _ = writeln!(
            text,
            "@given(st.text(), st.lists(st.integers(min_value=0, max_value={test})))\n\
             def test_roundtrip_{test}(text, numbers):\n\
             \x20   \"\"\"What is parsed is what was printed, whatever stands around it.\"\"\"\n\
             \x20   table = {{\"first\": [1, 2, 3], \"second\": {{\"a\": text}}}}\n\
             \x20   for number in numbers:\n\
             \x20       if number % 2 == 0:\n\
             \x20           table[str(number)] = parse(text) + str(number)\n\
             \x20       else:\n\
             \x20           table.pop(\"first\", None)\n\
             \x20   assert parse(text) == text, (text, numbers, {number})\n\n"
        );
    }
    text
}
