//! The repository of the demo: a small Python project with a contract.

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("project/", $path)))),+]
    };
}

/// Every file of the default branch, (path, content).
pub const FILES: &[(&str, &str)] = files![
    ".github/frostline.yml",
    "README.md",
    "pyproject.toml",
    "src/csvlite/__init__.py",
    "src/csvlite/parse.py",
    "src/csvlite/write.py",
    "test/contract/fixtures.lock.json",
    "test/contract/flake-freeze.json",
    "test/contract/hunk-map.json",
    "tests/fixtures/orders/basic.csv",
    "tests/fixtures/orders/quoted.csv",
    "tests/properties/test_parse.py",
    "tests/properties/test_write.py",
];

pub const PARSER: &str = "src/csvlite/parse.py";
pub const WRITER: &str = "src/csvlite/write.py";
pub const FIXTURE: &str = "tests/fixtures/orders/quoted.csv";

/// The content of one of [`FILES`].
pub fn file(path: &str) -> &'static str {
    FILES
        .iter()
        .find(|(name, _)| *name == path)
        .map_or("", |(_, text)| text)
}

/// The agent's first idea: pad ragged rows instead of refusing them, and let the fixture show it.
pub fn padding_parser() -> String {
    file(PARSER).replace(
        "    for number, row in enumerate(rows, 1):\n        if len(row) != len(rows[0]):\n            raise ParseError(f\"line {number}: {len(row)} fields, expected {len(rows[0])}\")\n    return rows\n",
        "    width = max(map(len, rows), default=0)\n    return [row + [\"\"] * (width - len(row)) for row in rows]\n",
    )
}

/// The fixture that goes with [`padding_parser`].
pub fn ragged_fixture() -> String {
    file(FIXTURE).replace("4,shelf,60\n", "4,shelf\n")
}

/// The agent's second idea: rows are made whole where they are written.
pub fn padding_writer() -> String {
    file(WRITER).replace(
        "def write(rows):\n",
        "def write(rows):\n    width = max(map(len, rows), default=0)\n    rows = [[*row, *[\"\"] * (width - len(row))] for row in rows]\n",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_change_something() {
        assert_ne!(padding_parser(), file(PARSER));
        assert_ne!(ragged_fixture(), file(FIXTURE));
        assert_ne!(padding_writer(), file(WRITER));
    }
}
