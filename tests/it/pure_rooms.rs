//! `architecture.md` section 2: PURE rooms read no file, clock, environment or socket.

use std::path::{Path, PathBuf};

const PURE: &[&str] = &[
    "src/model",
    "src/contract",
    "src/config/repo",
    "src/gate",
    "src/digest",
    "src/command",
    "src/propose",
    "src/render",
    "src/source",
    "src/init",
    "src/publish/plan.rs",
    "src/lane/action.rs",
    "src/lane/cause.rs",
    "src/lane/classify",
    "src/lane/example.rs",
    "src/lane/junit",
    "src/lane/model.rs",
    "src/lane/results.rs",
    "src/lane/router.rs",
    "src/lane/signature",
];

const FORBIDDEN: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Utc::now",
    "Local::now",
    "tokio",
    "octocrab",
    "sqlx",
    "axum",
    "gix",
    "reqwest",
    "tempfile",
    "rand::",
    "crate::cli",
    "crate::forge",
    "crate::git",
    "crate::store",
    "crate::work",
    "crate::server",
    "crate::webhook",
    "crate::demo",
    "crate::config::server",
    "publish::apply",
];

fn rust_files(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a readable room") {
            let path = entry.expect("a readable entry").path();
            // Tests hold texts of other programs; they are no part of the room.
            if !path.ends_with("tests") {
                rust_files(&path, into);
            }
        }
    } else if path.extension().is_some_and(|ext| ext == "rs") {
        into.push(path.to_owned());
    }
}

/// Words of the code, without line comments, and with `use std::{fs, …}` spelled out.
fn code_of(text: &str) -> String {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n");
    let mut spelled = code.clone();
    for part in code.split("std::{").skip(1) {
        let group = part.split(';').next().unwrap_or("");
        for name in group.split(|c: char| !c.is_alphanumeric() && c != '_') {
            spelled.push_str(&format!("\nstd::{name}"));
        }
    }
    spelled
}

fn offences(text: &str) -> Vec<&'static str> {
    let code = code_of(text);
    FORBIDDEN
        .iter()
        .copied()
        .filter(|word| {
            code.match_indices(word).any(|(at, _)| {
                let before = code[..at].chars().next_back();
                let after = code[at + word.len()..].chars().next();
                let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !inside(before) && (word.ends_with(':') || !inside(after))
            })
        })
        .collect()
}

#[test]
fn pure_rooms_are_pure() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for room in PURE {
        let path = root.join(room);
        assert!(path.exists(), "{room} is gone; mend the list");
        rust_files(&path, &mut files);
    }
    assert!(files.len() > 10, "the rooms hold {} files", files.len());
    let bad: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).expect("a readable source");
            offences(&text)
                .into_iter()
                .map(|word| format!("{}: {word}", file.display()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(bad.is_empty(), "impure:\n{}", bad.join("\n"));
}

#[test]
fn the_check_sees_impurity_however_it_is_spelled() {
    assert_eq!(offences("use std::fs;"), ["std::fs"]);
    assert_eq!(
        offences("use std::{collections::BTreeMap, fs::File};"),
        ["std::fs"]
    );
    assert_eq!(offences("let now = chrono::Utc::now();"), ["Utc::now"]);
    assert_eq!(offences("fn f() { ::tokio::spawn(x) }"), ["tokio"]);
    assert!(offences("// std::fs is forbidden\nlet instantiate = 1;").is_empty());
}
