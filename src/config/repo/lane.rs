//! Reading `lane:`, and the runners that it configures.

use super::parse::{globs, word};
use super::{LaneSettings, RunnerCommand};
use crate::contract::document::{Fault, Kind, Node, quoted};
use crate::contract::glob::{self, GlobError, GlobList};
use crate::contract::reader::{self, Object, suggestion};

/// Runners whose replay lines are known by their own words.
const BUILT_IN: [&str; 7] = ["pytest", "cargo", "go", "vitest", "jest", "node", "npx"];
const PLACEHOLDERS: &[&str] = &["nodeid", "seed", "report"];

/// Names that a replay line may start with, commands that run tests, and how runs are made.
type Lane = (Vec<String>, Vec<RunnerCommand>, LaneSettings);

/// `lane:` is checked; `engine`, `runs` and `network` are not acted on.
pub(super) fn lane(node: &Node<'_>) -> Result<Lane, Fault> {
    let object = Object::of(node, "`lane`")?;
    object.closed(&[
        "engine", "runs", "max_runs", "timeout", "workers", "network", "runners",
    ])?;
    if let Some(engine) = object.get("engine") {
        let text = reader::string(engine, "`engine`")?;
        word(text).map_err(|why| Fault::new(engine.place, format!("`engine`: {why}")))?;
    }
    let mut counts = [None; 4];
    for (key, count) in ["runs", "max_runs", "timeout", "workers"]
        .iter()
        .zip(&mut counts)
    {
        if let Some(node) = object.get(key) {
            *count = Some((reader::integer(node, &format!("`{key}`"), 1)?, node.place));
        }
    }
    if let [Some((runs, _)), Some((max_runs, place)), ..] = counts
        && max_runs < runs
    {
        return Err(Fault::new(
            place,
            format!("`max_runs`: expected at least `runs` ({runs}), found {max_runs}"),
        ));
    }
    if let Some(network) = object.get("network") {
        reader::boolean(network, "`network`")?;
    }
    let [_, max_runs, timeout, workers] = counts.map(|count| count.map(|(value, _)| value));
    let settings = LaneSettings {
        max_runs,
        timeout,
        workers,
    };
    let (names, commands) = runners(&object)?;
    Ok((names, commands, settings))
}

/// Each entry is a name, or a command with a name.
fn runners(object: &Object<'_, '_>) -> Result<(Vec<String>, Vec<RunnerCommand>), Fault> {
    let (mut names, mut commands) = (Vec::new(), Vec::<RunnerCommand>::new());
    let Some(node) = object.get("runners") else {
        return Ok((names, commands));
    };
    for item in reader::list(node, "`runners`")? {
        if !matches!(item.kind, Kind::Object(_)) {
            let name = reader::string(item, "an entry of `runners`")?;
            word(name)
                .map_err(|why| Fault::new(item.place, format!("an entry of `runners`: {why}")))?;
            names.push(name.to_owned());
            continue;
        }
        let command = command(item)?;
        if commands.iter().any(|other| other.name == command.name) {
            return Err(Fault::new(
                item.place,
                format!("`runners`: {} is there twice", quoted(&command.name)),
            ));
        }
        names.push(command.name.clone());
        commands.push(command);
    }
    Ok((names, commands))
}

fn command(node: &Node<'_>) -> Result<RunnerCommand, Fault> {
    let object = Object::of(node, "an entry of `runners`")?;
    object.closed(&["name", "files", "command"])?;
    let name_node = object.need("name")?;
    let name = reader::string(name_node, "`name`")?;
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_part) {
        return Err(Fault::new(
            name_node.place,
            format!(
                "`name`: expected letters, digits, `_`, `-` and `.`, found {}",
                quoted(name)
            ),
        ));
    }
    if BUILT_IN.contains(&name) {
        return Err(Fault::new(
            name_node.place,
            format!(
                "`name`: {} has replay lines of its own form; choose another name",
                quoted(name)
            ),
        ));
    }
    let files_node = object.need("files")?;
    let files = globs(&object, "files")?;
    if files.iter().all(|text| glob::split(text).0) {
        return Err(Fault::new(
            files_node.place,
            "`files`: expected at least one glob that adds",
        ));
    }
    let command_node = object.need("command")?;
    let mut words = Vec::new();
    for item in reader::list(command_node, "`command`")? {
        let text = reader::string(item, "a word of `command`")?;
        check_word(text, words.is_empty()).map_err(|why| Fault::new(item.place, why))?;
        words.push(text.to_owned());
    }
    for needed in ["{nodeid}", "{report}"] {
        if !words.iter().any(|word| word.contains(needed)) {
            return Err(Fault::new(
                command_node.place,
                format!(
                    "`command`: no word holds `{needed}`, {}",
                    why_needed(needed)
                ),
            ));
        }
    }
    Ok(RunnerCommand {
        name: name.to_owned(),
        files,
        command: words,
    })
}

fn why_needed(placeholder: &str) -> &'static str {
    match placeholder {
        "{nodeid}" => "so it would not know which test to run",
        _ => "so it would not know where its JUnit report has to be",
    }
}

fn check_word(text: &str, first: bool) -> Result<(), String> {
    if text.chars().any(char::is_control) || (first && text.trim().is_empty()) {
        return Err(format!(
            "a word of `command`: expected a word without control characters, found {}",
            quoted(text)
        ));
    }
    for part in parts(text) {
        match part {
            Part::Placeholder(name) if first => {
                return Err(format!(
                    "`command`: its first word is the program, and may not hold `{{{name}}}`"
                ));
            }
            Part::Placeholder(name) if !PLACEHOLDERS.contains(&name) => {
                return Err(format!(
                    "a word of `command`: unknown placeholder `{{{name}}}`; {}",
                    suggestion(name, PLACEHOLDERS)
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A piece of a word.
enum Part<'t> {
    Text(&'t str),
    Placeholder(&'t str),
}

/// A word in pieces: `{name}` is a placeholder, other braces are text.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let name = rest[open + 1..]
            .split_once('}')
            .map(|(name, _)| name)
            .filter(|name| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            });
        let Some(name) = name else {
            from = open + 1;
            continue;
        };
        parts.push(Part::Text(&rest[..open]));
        parts.push(Part::Placeholder(name));
        rest = &rest[open + name.len() + 2..];
        from = 0;
    }
    parts.push(Part::Text(rest));
    parts
}

impl RunnerCommand {
    /// It is given the seed.
    pub fn takes_seed(&self) -> bool {
        self.command.iter().any(|word| word.contains("{seed}"))
    }

    /// It runs the tests of the file at `path`. A path that looks like an option is no file's.
    ///
    /// # Errors
    /// When its globs are too many or too large together.
    pub fn is_for(&self, path: &str) -> Result<bool, GlobError> {
        let globs = GlobList::new(self.files.iter().map(String::as_str))?;
        Ok(globs.is_match(path) && !path.starts_with('-'))
    }

    /// The words of one run. A placeholder in what is filled in is text.
    pub fn words(&self, nodeid: &str, seed: &str, report: &str) -> Vec<String> {
        let filled = |word: &String| {
            let parts = parts(word).into_iter().map(|part| match part {
                Part::Text(text) => text,
                Part::Placeholder("nodeid") => nodeid,
                Part::Placeholder("seed") => seed,
                Part::Placeholder(_) => report,
            });
            parts.collect()
        };
        self.command.iter().map(filled).collect()
    }
}
