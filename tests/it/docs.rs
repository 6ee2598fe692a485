//! The documentation says what is so.

use std::path::Path;

use frostline::model::Rule;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn rules_md_lists_every_rule_once_in_order() {
    let text = read("docs/rules.md");
    let listed: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(listed, rules);
}
