//! `frostline demo`, and that what it is made of is used nowhere else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use frostline::demo::forge::Forge;
use frostline::demo::{Stage, play};
use frostline::render::TextStyle;
use frostline::work::Jobs;

use crate::support::forge::assert_described;

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// A forge that believes everything must never be what a server talks to.
#[test]
fn the_fake_forge_is_no_part_of_the_production_path() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    assert!(files.len() > 50, "{} files", files.len());
    let mut users = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&source).expect("below src");
        if inside.starts_with("demo") || inside == Path::new("cli/demo.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a readable source");
        let code: String = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(""))
            .collect::<Vec<_>>()
            .join("\n");
        // `pub mod demo;` in lib.rs and the command's own module in cli declare, and use nothing.
        let uses = [
            "crate::demo",
            "super::demo::forge",
            "demo::forge",
            "{demo",
            " demo,",
            "demo::{",
        ];
        if uses.iter().any(|word| code.contains(word)) {
            users.push(inside.display().to_string());
        }
    }
    assert!(users.is_empty(), "these use the demo: {users:?}");
}

/// The whole story, with every request and answer held against GitHub's own description.
#[tokio::test(flavor = "multi_thread")]
async fn the_story_ends_as_it_must_and_speaks_the_forges_language() {
    let forge = Forge::start_with(crate::support::api::app_key())
        .await
        .expect("a forge");
    let stage = Stage::build(forge, Jobs::new).await.expect("a stage");
    let mut text = Vec::new();
    let style = TextStyle {
        width: 100,
        colour: false,
    };
    play(&stage, &mut text, style)
        .await
        .expect("the expected outcomes");
    stage.forge.assert_clean();
    assert_described(&stage.forge.requests());
    let text = String::from_utf8(text).expect("UTF-8");
    for expected in [
        "✗ frostline: Refused",
        "✓ frostline: Passed",
        "folded away as resolved",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(
        !text.contains("<!--") && !text.contains("<details>"),
        "markup in\n{text}"
    );
    stage.strike().await.expect("a clean end");
}

/// The binary alone, in an empty environment and folder: exit 0, and nothing is left behind.
#[test]
fn the_demo_needs_nothing_and_leaves_nothing() {
    let (folder, temp) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let started = std::time::Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .arg("demo")
        .current_dir(folder.path())
        .env_clear()
        .env("TMPDIR", temp.path())
        .output()
        .unwrap();
    let took = started.elapsed();
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(0), "{text}\n{errors}");
    assert_eq!(errors, "", "a good run says nothing on stderr");
    assert!(text.contains("Both came out as they must"), "{text}");
    assert!(took.as_secs() < 30, "took {took:?}");
    for left in [folder.path(), temp.path()] {
        assert_eq!(std::fs::read_dir(left).unwrap().count(), 0, "in {left:?}");
    }
}

/// Ctrl-C in the middle of the story.
#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_nothing() {
    use std::io::{BufRead as _, BufReader};
    let temp = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .arg("demo")
        .env("TMPDIR", temp.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("1. "), "{first}");
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupt.success());
    // It may have come to its end before the signal arrived.
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(130 | 0 | 2)), "{code:?}");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}
