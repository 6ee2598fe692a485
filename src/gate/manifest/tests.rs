use super::{changes_only_other_keys, is_manifest};

const PYPROJECT: &str = "[project]\nname = \"a\"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n\n[tool.ruff]\nline-length = 80\n";
const CARGO: &str = "[package]\nname = \"a\"\nautotests = true\n\n[dependencies]\nserde = \"1\"\n\n[features]\ndefault = []\n\n[[test]]\nname = \"it\"\n";
const NODE: &str = r#"{"name": "a", "scripts": {"test": "vitest", "build": "tsc"}, "jest": {"bail": 1}, "dependencies": {}}"#;

fn check(path: &str, old: &str, new: &str) -> bool {
    changes_only_other_keys(path, old.as_bytes(), new.as_bytes())
}

/// `text` with one piece replaced, which has to be there.
fn with(text: &str, piece: &str, by: &str) -> String {
    assert!(text.contains(piece), "{piece:?} is not in {text:?}");
    text.replacen(piece, by, 1)
}

#[test]
fn manifests_are_known_by_file_name_in_any_directory() {
    for path in [
        "pyproject.toml",
        "a/b/package.json",
        "x/Cargo.toml",
        "setup.py",
        "m/go.mod",
    ] {
        assert!(is_manifest(path), "{path}");
    }
    for path in [
        "Cargo.lock",
        "cargo.toml",
        "pyproject.toml/x",
        "my-package.json",
        "go.sum",
        "",
    ] {
        assert!(!is_manifest(path), "{path}");
    }
}

#[test]
fn other_keys_are_other() {
    for (path, text, piece, by) in [
        ("pyproject.toml", PYPROJECT, "[]", "[\"attrs\"]"),
        ("pyproject.toml", PYPROJECT, "80", "100"),
        (
            "p/pyproject.toml",
            PYPROJECT,
            "[tool.ruff]",
            "# a comment\n[tool.ruff]",
        ),
        ("pyproject.toml", PYPROJECT, "name", "version = \"1\"\nname"),
        ("Cargo.toml", CARGO, "\"1\"", "\"2\""),
        (
            "crates/p/Cargo.toml",
            CARGO,
            "name = \"a\"",
            "name = \"a\"\nversion = \"0.2.0\"",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[features]",
            "[dev-dependencies]\nproptest = \"1\"\n[features]",
        ),
        ("package.json", NODE, "{}", r#"{"left-pad": "1"}"#),
        (
            "packages/a/package.json",
            NODE,
            "\"name\": \"a\"",
            "\"name\": \"b\"",
        ),
        ("package.json", NODE, ", ", ",\n  "),
    ] {
        assert!(check(path, text, &with(text, piece, by)), "{path}: {by}");
    }
}

#[test]
fn keys_that_decide_how_tests_run_are_harness() {
    for (path, text, piece, by) in [
        (
            "pyproject.toml",
            PYPROJECT,
            "-q",
            "-q --deselect tests/x.py",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            "[tool.ruff]",
            "[tool.pytest-env]\nA = 1\n[tool.ruff]",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            "[tool.ruff]",
            "[tool.coverage.run]\nbranch = true\n[tool.ruff]",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            "[tool.ruff]",
            "[tool.hypothesis]\na = 1\n[tool.ruff]",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            "[tool.ruff]",
            "[tool.tox]\na = 1\n[tool.ruff]",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            "[tool.pytest.ini_options]",
            "[tool.\"pytest\".ini]",
        ),
        ("Cargo.toml", CARGO, "autotests = true", "autotests = false"),
        (
            "Cargo.toml",
            CARGO,
            "autotests = true",
            "autotests = true\nbuild = \"b.rs\"",
        ),
        ("Cargo.toml", CARGO, "\nautotests = true", ""),
        ("Cargo.toml", CARGO, "default = []", "default = [\"slow\"]"),
        ("Cargo.toml", CARGO, "\"it\"", "\"it\"\ntest = false"),
        (
            "Cargo.toml",
            CARGO,
            "[features]",
            "[lib]\ntest = false\n[features]",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[features]",
            "[[bin]]\nname = \"a\"\ntest = false\n[features]",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[features]",
            "[profile.test]\npanic = \"abort\"\n[features]",
        ),
        (
            "Cargo.toml",
            CARGO,
            "[features]",
            "[project]\nautotests = false\n[features]",
        ),
        ("package.json", NODE, "\"vitest\"", "\"true\""),
        ("package.json", NODE, "\"bail\": 1", "\"bail\": 1.0"),
        (
            "package.json",
            NODE,
            "\"dependencies\"",
            "\"vitest\": {}, \"dependencies\"",
        ),
        (
            "package.json",
            NODE,
            "\"dependencies\"",
            "\"mocha\": {\"grep\": \"a\"}, \"dependencies\"",
        ),
        (
            "package.json",
            NODE,
            r#""test": "vitest", "build": "tsc""#,
            r#""build": "tsc", "test": "vitest""#,
        ),
    ] {
        let new = with(text, piece, by);
        assert!(!check(path, text, &new), "{path}: {by}");
        assert!(!check(path, &new, text), "{path}: {by}, undone");
    }
}

#[test]
fn whole_manifests_and_other_files_are_harness() {
    for path in ["setup.py", "a/go.mod", "Cargo.lock", "tox.ini", ""] {
        assert!(!check(path, "x", "x"), "{path}");
    }
}

#[test]
fn a_version_that_is_not_read_whole_is_harness() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_toml = format!("a = {deep}");
    let deep_header = format!("[{}a]", "a.".repeat(100_000));
    let large = format!("# {}\n", "x".repeat(super::MAX_BYTES));
    for (path, good, bad) in [
        ("pyproject.toml", PYPROJECT, "[tool"),
        (
            "pyproject.toml",
            PYPROJECT,
            "\u{feff}[project]\nname = \"a\"\n",
        ),
        ("pyproject.toml", "", "[tool.x]\n[tool.x]\n"),
        ("pyproject.toml", "", "a = 1\na = 2\n"),
        ("pyproject.toml", "", deep_toml.as_str()),
        ("pyproject.toml", "", deep_header.as_str()),
        ("Cargo.toml", "", large.as_str()),
        ("package.json", "{}", "{\"name\": 1, \"name\": 1}"),
        ("package.json", "{}", "{\"n\": {\"\\u0061\": 1, \"a\": 1}}"),
        ("package.json", "{}", "{} // a comment"),
        ("package.json", "{}", "\u{feff}{}"),
        ("package.json", "{}", "[]"),
        ("package.json", "{}", ""),
        ("package.json", "{}", deep.as_str()),
    ] {
        assert!(!check(path, good, bad), "{path}");
        assert!(!check(path, bad, good), "{path}, undone");
        assert!(!check(path, bad, bad), "{path}, the same");
    }
    assert!(!changes_only_other_keys("Cargo.toml", b"", b"a = \"\xff\""));
}

#[test]
fn a_key_of_an_unexpected_type_is_harness() {
    for (path, text) in [
        ("pyproject.toml", "tool = 1"),
        ("pyproject.toml", "[tool]\npytest = 1"),
        ("pyproject.toml", "[[tool]]\nx = 1"),
        ("Cargo.toml", "package = 1"),
        ("Cargo.toml", "[package]\nautotests = \"no\""),
        ("Cargo.toml", "[package]\nbuild = 1"),
        ("Cargo.toml", "[package]\nautotests.workspace = true"),
        ("Cargo.toml", "[test]\nname = \"it\""),
        ("Cargo.toml", "[[lib]]\nname = \"a\""),
        ("Cargo.toml", "bin = \"a\""),
        ("Cargo.toml", "profile = []"),
        ("Cargo.toml", "features = []"),
        ("package.json", r#"{"scripts": []}"#),
        ("package.json", r#"{"jest": null}"#),
        ("package.json", r#"{"mocha": 1}"#),
    ] {
        assert!(!check(path, text, text), "{path}: {text}");
    }
}
