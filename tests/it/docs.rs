//! The documentation says what is so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use frostline::model::{Effect, Rule};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below `folder` with this extension.
fn files(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            files(&path, extension, into);
        } else if path.extension().is_some_and(|e| e == extension) {
            into.push(path);
        }
    }
}

/// Every page of the documentation.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    files(&root().join("docs"), "md", &mut paths);
    paths
        .iter()
        .map(|path| (path.display().to_string(), read(path)))
        .collect()
}

/// Code spans, and the lines of code blocks.
fn code(markdown: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut in_block = false;
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Code(span) => code.push(span.replace('\n', " ")),
            Event::Text(text) if in_block => code.extend(text.lines().map(str::to_owned)),
            _ => {}
        }
    }
    code
}

/// `frostline … --help`, each once; `None` when there is no such command.
#[derive(Default)]
struct Helps(BTreeMap<Vec<String>, Option<String>>);

impl Helps {
    fn of(&mut self, command: &[String]) -> Option<&str> {
        self.0
            .entry(command.to_vec())
            .or_insert_with(|| {
                let output = Command::new(env!("CARGO_BIN_EXE_frostline"))
                    .args(command)
                    .arg("--help")
                    .output()
                    .expect("the binary runs");
                output
                    .status
                    .success()
                    .then(|| String::from_utf8(output.stdout).expect("help is UTF-8"))
            })
            .as_deref()
    }

    /// What is wrong with a command line that begins with `frostline`, after that word.
    fn fault(&mut self, line: &str) -> Option<String> {
        let mut command: Vec<String> = Vec::new();
        let mut words = line.split_whitespace().peekable();
        loop {
            let help = match self.of(&command) {
                Some(help) => help.to_owned(),
                None => return Some(format!("there is no command {command:?}")),
            };
            let has_commands = help.contains("\nCommands:\n");
            match words.peek() {
                Some(word) if has_commands && !word.starts_with('-') => {
                    let word = words.next().unwrap_or_default();
                    command.push(word.trim_end_matches([',', ';', '.', '…', '|']).to_owned());
                }
                _ => {
                    return words
                        .filter(|word| word.starts_with("--"))
                        .map(|word| word.split('=').next().unwrap_or(word))
                        .find(|flag| !has_flag(&help, flag))
                        .map(|flag| format!("{command:?} has no flag {flag}"));
                }
            }
        }
    }
}

fn has_flag(help: &str, flag: &str) -> bool {
    help.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with('-') && line.split([' ', ',', '=']).any(|word| word == flag)
    })
}

#[test]
fn rules_md_lists_every_rule_in_order_with_its_effect() {
    let text = read("docs/rules.md");
    let listed: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 3, "{line}");
            (cells[0], cells[2])
        })
        .collect();
    let rules: Vec<(String, String)> = Rule::ALL
        .iter()
        .map(|rule| {
            let lowered = match rule.may_be_lowered_to() {
                Some(Effect::Notice) => "°",
                _ => "",
            };
            (
                format!("`{rule}`"),
                format!("`{}`{lowered}", rule.default_effect()),
            )
        })
        .collect();
    let rules: Vec<(&str, &str)> = rules
        .iter()
        .map(|(rule, effect)| (rule.as_str(), effect.as_str()))
        .collect();
    assert_eq!(listed, rules);
}

#[test]
fn the_two_commands_of_the_readme_are_those_that_ci_runs() {
    let readme = read("README.md");
    let commands: Vec<&str> = readme
        .split("```console\n")
        .skip(1)
        .take(2)
        .map(|block| block.split("\n```").next().unwrap_or_default())
        .collect();
    assert_eq!(commands.len(), 2);
    let ci = read(".ci/run");
    for command in commands {
        assert!(command.starts_with("cargo "), "{command:?}");
        assert!(
            ci.lines().any(|line| line == command),
            ".ci/run does not run {command:?}"
        );
    }
}

#[test]
fn commands_and_flags_in_the_documentation_exist() {
    let mut helps = Helps::default();
    let mut seen = 0;
    let mut faults = Vec::new();
    for (page, text) in pages() {
        for line in code(&text) {
            let Some(rest) = line.trim().strip_prefix("frostline ") else {
                continue;
            };
            // `frostline (BRANCH)` is a check-run's name.
            if rest.starts_with('(') {
                continue;
            }
            seen += 1;
            if let Some(fault) = helps.fault(rest) {
                faults.push(format!("{page}: {line}: {fault}"));
            }
        }
    }
    assert!(seen >= 6, "only {seen} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_that_messages_name_exist() {
    let mut sources = Vec::new();
    files(&root().join("src"), "rs", &mut sources);
    let mut helps = Helps::default();
    let mut seen = 0;
    let mut faults = Vec::new();
    for source in sources {
        let text = read(&source);
        for part in text.split("`frostline ").skip(1) {
            let line = part.split(['`', '\n', '"', '{']).next().unwrap_or_default();
            if !line.starts_with(|c: char| c.is_ascii_lowercase() || c == '-') {
                continue;
            }
            seen += 1;
            if let Some(fault) = helps.fault(line.trim_end_matches('\\')) {
                faults.push(format!("{}: frostline {line}: {fault}", source.display()));
            }
        }
    }
    assert!(seen >= 3, "only {seen} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn links_in_the_documentation_lead_to_files() {
    let mut faults = Vec::new();
    for (page, text) in pages() {
        let folder = Path::new(&page).parent().expect("a folder").to_owned();
        for event in Parser::new(&text) {
            let Event::Start(Tag::Link { dest_url, .. }) = event else {
                continue;
            };
            let target = dest_url.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                faults.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(faults.is_empty(), "dead links:\n{}", faults.join("\n"));
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let mut helps = Helps::default();
    assert_eq!(helps.fault("check --base main --head x"), None);
    assert!(helps.fault("check --bases main").is_some());
    assert!(helps.fault("no-such-command").is_some());
}
