//! `frostline demo`, and that what it is made of is used nowhere else.

use std::path::{Path, PathBuf};

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
