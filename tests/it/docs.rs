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

/// A sentence without its line breaks, as the documentation writes it: capital, full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain(['.']).collect()
}

#[test]
fn rules_md_gives_each_rule_its_why_an_example_and_a_fix() {
    let text = read("docs/rules.md");
    let table: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let mut sections = text.split("\n### ").skip(1);
    for (rule, row) in Rule::ALL.iter().zip(table) {
        let about = frostline::render::about(*rule);
        assert!(row.contains(&format!(" | {} | ", about.when)), "{row}");
        let section = sections
            .next()
            .unwrap_or_else(|| panic!("no section for {rule}"));
        let paragraphs: Vec<String> = section
            .split("\n\n")
            .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
            .take(4)
            .collect();
        let [name, why, example, fix] = paragraphs.as_slice() else {
            panic!("{rule}: {section}");
        };
        assert_eq!(*name, format!("`{rule}`"));
        assert_eq!(*why, format!("**Why.** {}", sentence(about.why)));
        assert!(
            example.starts_with("**Example.** ") && example.len() > 40,
            "{example}"
        );
        assert_eq!(*fix, format!("**Fix.** {}", sentence(about.fix)));
    }
    assert_eq!(sections.next(), None, "a section of no rule");
}

/// `--help` of every command, those with commands of their own before these.
fn reference(command: &[String], helps: &mut Helps, into: &mut String) {
    let help = helps.of(command).expect("a command").to_owned();
    if !command.is_empty() {
        let name = command.join(" ");
        into.push_str(&format!(
            "\n### `frostline {name}`\n\n```text\n{}\n```\n",
            help.trim_end()
        ));
    }
    let commands = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    for line in commands.lines().take_while(|line| line.starts_with("  ")) {
        let mut below = command.to_vec();
        below.extend(line.split_whitespace().next().map(str::to_owned));
        reference(&below, helps, into);
    }
}

/// `FROSTLINE_UPDATE_DOCS=1 cargo test --test it docs::` writes it anew.
#[test]
fn command_line_md_holds_the_help_of_every_command() {
    const PAGE: &str = "docs/command-line.md";
    let text = read(PAGE);
    let begin = text.find("\n### `frostline ").unwrap_or(text.len());
    let mut expected = text[..begin].to_owned();
    reference(&[], &mut Helps::default(), &mut expected);
    let expected: String = expected
        .lines()
        .flat_map(|line| [line.trim_end(), "\n"])
        .collect();
    if std::env::var_os("FROSTLINE_UPDATE_DOCS").is_some() {
        std::fs::write(root().join(PAGE), &expected).expect("a written page");
    } else {
        assert!(
            text == expected,
            "{PAGE} is not what --help prints; FROSTLINE_UPDATE_DOCS=1 writes it anew"
        );
    }
    assert!(
        expected.matches("\n### `frostline ").count() >= 12,
        "too few commands"
    );
}

/// `FROSTLINE_UPDATE_DOCS=1 cargo test --test it docs::` writes it anew.
#[test]
fn commands_md_holds_the_table_of_commands() {
    const PAGE: &str = "docs/commands.md";
    let text = read(PAGE);
    let help = frostline::render::help();
    let table = help.split("\n\n").next().expect("a table");
    let (before, rest) = text.split_once("| command |").expect("a table");
    let (_, after) = rest.split_once("\n\n").expect("more text");
    let expected = format!("{before}{table}\n\n{after}");
    if std::env::var_os("FROSTLINE_UPDATE_DOCS").is_some() {
        std::fs::write(root().join(PAGE), &expected).expect("a written page");
    } else {
        assert!(
            text == expected,
            "{PAGE} is not what the code says; FROSTLINE_UPDATE_DOCS=1 writes it anew"
        );
    }
    assert_eq!(
        table.lines().count(),
        frostline::command::COMMANDS.len() + 2
    );
}

#[test]
fn every_page_of_the_documentation_is_linked_from_the_readme() {
    let readme = read("README.md");
    let mut paths = Vec::new();
    files(&root().join("docs"), "md", &mut paths);
    for path in paths {
        let page = path.strip_prefix(root()).expect("below the root");
        let link = format!("]({})", page.display());
        assert!(readme.contains(&link), "no link to {}", page.display());
    }
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
fn contract_files_in_the_documentation_can_be_read() {
    use frostline::contract::{catalog, freezes, ledger, lock, map};
    let mut seen = BTreeMap::new();
    for page in ["docs/first-use.md", "docs/configuration.md"] {
        let text = read(page);
        for block in text.split("```json\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default().as_bytes();
            let value: serde_json::Value = serde_json::from_slice(block).expect("JSON");
            let (name, fault) = if value.get("schema").is_some() {
                ("ledger", ledger::parse(page, block).err())
            } else if value.get("properties").is_some() {
                ("catalog", catalog::parse(page, block).err())
            } else if value.get("entries").is_some() {
                ("freezes", freezes::parse(page, block).err())
            } else if value.get("rules").is_some() {
                ("map", map::parse(page, block).err())
            } else {
                ("lock", lock::parse(page, block).err())
            };
            assert!(fault.is_none(), "{page}: {fault:?}");
            *seen.entry(name).or_insert(0) += 1;
        }
    }
    assert_eq!(
        seen,
        BTreeMap::from([
            ("catalog", 1),
            ("freezes", 2),
            ("ledger", 1),
            ("lock", 1),
            ("map", 1)
        ])
    );
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let mut helps = Helps::default();
    assert_eq!(helps.fault("check --base main --head x"), None);
    assert!(helps.fault("check --bases main").is_some());
    assert!(helps.fault("no-such-command").is_some());
}
