//! Cases that proptest saved when they failed, and that run before any others.

use std::path::Path;

/// proptest's name for the folder, and for the extension beside a source file.
const SAVED: &str = "proptest-regressions";

/// Whether cases are saved for the tests of a source file, in one of the places where proptest looks when
/// it is told no other.
pub(super) fn there_are(tree: &Path, source: &str) -> bool {
    let source = Path::new(source);
    let beside = tree.join(source).with_extension(SAVED);
    let mut folders = source.ancestors().skip(1);
    beside.is_file()
        || folders.any(|folder| {
            let below = source.strip_prefix(folder).unwrap_or(source);
            let parent = folder.parent().unwrap_or(folder);
            let file = tree.join(parent).join(SAVED).join(below);
            file.with_extension("txt").is_file()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_cases_are_found_where_proptest_looks() {
        let tree = tempfile::tempdir().expect("a folder");
        let tree = tree.path();
        for (source, saved) in [
            ("tests/props.rs", "tests/props.proptest-regressions"),
            ("src/lex.rs", "proptest-regressions/lex.txt"),
            (
                "crates/a/src/deep/lex.rs",
                "crates/a/proptest-regressions/deep/lex.txt",
            ),
            ("tests/it/lex.rs", "tests/proptest-regressions/lex.txt"),
        ] {
            assert!(!there_are(tree, source), "{source}");
            let file = tree.join(saved);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(&file, "cc 00").expect("a file");
            assert!(there_are(tree, source), "{source}");
            assert!(!there_are(tree, &source.replace(".rs", "x.rs")), "{source}");
        }
    }
}
