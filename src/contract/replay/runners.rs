//! What each runner may be told.

use crate::model::NodeId;

/// What a word of a runner means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It stands alone.
    Switch,
    /// Its value is the seed.
    Seed,
    /// Its value names the test in the runner's own way.
    Selector,
    /// Its value is a name: a profile, a package, a verbosity.
    Name,
    /// Its value switches a plugin off, or one of the known ones on.
    Plugin,
    /// Its value is a number.
    Count,
}

/// Plugins that may be switched on: they choose order or seed, and no code of the repository's.
const PLUGINS: [&str; 3] = ["randomly", "pytest_randomly", "xdist"];

impl Meaning {
    /// Whether a value is one of its kind; seeds and selectors are the row's to compare.
    pub fn allows(self, value: &str) -> bool {
        let is_name = |text: &str| {
            let is_part = |b: u8| b.is_ascii_alphanumeric() || b"_-.+:".contains(&b);
            !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_part)
        };
        match self {
            Self::Switch | Self::Seed | Self::Selector => false,
            Self::Name => is_name(value),
            Self::Plugin => match value.strip_prefix("no:") {
                Some(name) => is_name(name),
                None => PLUGINS.contains(&value),
            },
            Self::Count => !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()),
        }
    }
}

/// A word that a runner knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub name: &'static str,
    pub meaning: Meaning,
}

/// A runner and its words.
pub(super) struct Runner {
    /// Words that have to follow its name, in one of these ways; none where it needs none.
    heads: &'static [&'static [&'static str]],
    options: &'static [Known],
    /// Whether a word is the runner's own selector for a test.
    pub selects: fn(&NodeId, &str) -> bool,
    /// It is given the test's file, or its folder, beside the selector.
    file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    None,
    Itself,
    /// As a relative folder: `./pkg/x`.
    Folder,
}

const fn option(name: &'static str, meaning: Meaning) -> Known {
    Known { name, meaning }
}

static PYTEST: Runner = Runner {
    heads: &[&[]],
    options: &[
        option("--hypothesis-seed", Meaning::Seed),
        option("--randomly-seed", Meaning::Seed),
        option("--hypothesis-profile", Meaning::Name),
        option("--hypothesis-verbosity", Meaning::Name),
        option("--hypothesis-show-statistics", Meaning::Switch),
        option("--tb", Meaning::Name),
        option("--no-header", Meaning::Switch),
        option("-p", Meaning::Plugin),
        option("-n", Meaning::Count),
        option("-q", Meaning::Switch),
        option("-v", Meaning::Switch),
        option("-vv", Meaning::Switch),
        option("-x", Meaning::Switch),
        option("-s", Meaning::Switch),
        option("-l", Meaning::Switch),
    ],
    selects: |_, _| false,
    file: File::None,
};

static CARGO: Runner = Runner {
    heads: &[&["test"], &["nextest", "run"]],
    options: &[
        option("-p", Meaning::Name),
        option("--package", Meaning::Name),
        option("--test", Meaning::Name),
        option("--features", Meaning::Name),
        option("--lib", Meaning::Switch),
        option("--release", Meaning::Switch),
        option("--locked", Meaning::Switch),
        option("--offline", Meaning::Switch),
        option("-E", Meaning::Selector),
        option("--", Meaning::Switch),
        option("--exact", Meaning::Switch),
        option("--nocapture", Meaning::Switch),
    ],
    selects: selects_rust,
    file: File::None,
};

static GO: Runner = Runner {
    heads: &[&["test"]],
    options: &[
        option("-run", Meaning::Selector),
        option("-count", Meaning::Count),
        option("-rapid.seed", Meaning::Seed),
        option("-rapid.nofailfile", Meaning::Switch),
        option("-shuffle", Meaning::Seed),
        option("-v", Meaning::Switch),
        option("-race", Meaning::Switch),
    ],
    selects: selects_go,
    file: File::Folder,
};

static VITEST: Runner = Runner {
    heads: &[&["run"]],
    options: &[option("-t", Meaning::Selector)],
    selects: selects_titles,
    file: File::Itself,
};

static JEST: Runner = Runner {
    heads: &[&[]],
    options: &[
        option("-t", Meaning::Selector),
        option("-i", Meaning::Switch),
        option("--seed", Meaning::Seed),
    ],
    selects: selects_titles,
    file: File::Itself,
};

/// A runner that the configuration allows and that nothing is known of.
static OTHER: Runner = Runner {
    heads: &[&[]],
    options: &[option("--seed", Meaning::Seed), option("-s", Meaning::Seed)],
    selects: |_, _| false,
    file: File::None,
};

pub(super) fn by_name(name: &str) -> &'static Runner {
    match name {
        "pytest" => &PYTEST,
        "cargo" => &CARGO,
        "go" => &GO,
        "vitest" => &VITEST,
        "jest" => &JEST,
        _ => &OTHER,
    }
}

impl Runner {
    /// The words behind the runner's subcommand.
    pub fn after_head<'w>(&self, words: &'w [String]) -> Result<&'w [String], String> {
        let behind = |head: &&[&str]| {
            let found = words.get(..head.len())?;
            (found.iter().map(String::as_str).eq(head.iter().copied()))
                .then(|| &words[head.len()..])
        };
        self.heads.iter().find_map(behind).ok_or_else(|| {
            let heads: Vec<String> = self.heads.iter().map(|head| head.join(" ")).collect();
            format!(
                "its runner has to be followed by `{}`",
                heads.join("` or `")
            )
        })
    }

    /// The word as an option, with the value that is joined to it by `=` (or, to one letter, by nothing).
    pub fn option<'w>(&self, word: &'w str) -> Option<(Known, Option<&'w str>)> {
        let exact = self.options.iter().find(|option| option.name == word);
        if let Some(option) = exact {
            return Some((*option, None));
        }
        self.options
            .iter()
            .filter(|option| option.meaning != Meaning::Switch)
            .find_map(|option| {
                let rest = word.strip_prefix(option.name)?;
                let is_letter = option.name.len() == 2 && !rest.starts_with('=');
                let value = if is_letter {
                    Some(rest)
                } else {
                    rest.strip_prefix('=')
                };
                Some((*option, Some(value?)))
            })
    }

    pub fn names_file(&self, id: &NodeId, word: &str) -> bool {
        let path = id.path();
        match self.file {
            File::None => false,
            File::Itself => word == path,
            File::Folder => match path.rsplit_once('/') {
                Some((folder, _)) => word.strip_prefix("./") == Some(folder),
                None => word == ".",
            },
        }
    }
}

/// What follows the path of a node id, without its parameter.
fn names(id: &NodeId) -> &str {
    let names = id.function().get(id.path().len()..).unwrap_or_default();
    names.trim_start_matches("::")
}

/// The path of a test's function: module names may stand before those of the id, which start in its file.
fn selects_rust(id: &NodeId, word: &str) -> bool {
    let names = names(id);
    let is_function = |text: &str| {
        let before = text.strip_suffix(names);
        let is_path = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_:".contains(&b))
        };
        !names.is_empty()
            && before.is_some_and(|before| {
                before.is_empty() || (before.ends_with("::") && is_path(before))
            })
    };
    let inside = || {
        let (before, test) = word.strip_suffix(')')?.split_once("test(=")?;
        let binary = before.strip_suffix(" & ").map(|binary| {
            let name = binary
                .strip_prefix("binary_id(")
                .and_then(|name| name.strip_suffix(')'));
            name.is_some_and(|name| !name.contains(['(', ')', '&', '|', ' ']))
        });
        Some(is_function(test) && (before.is_empty() || binary == Some(true)))
    };
    is_function(word) || inside() == Some(true)
}

/// `^TestX$/^sub$`.
fn selects_go(id: &NodeId, word: &str) -> bool {
    let names = names(id);
    let pattern: Vec<String> = names
        .split("::")
        .map(|name| format!("^{}$", literal(name)))
        .collect();
    !names.is_empty() && word == pattern.join("/")
}

/// `^outer inner sum$`, or with ` > ` between the titles.
fn selects_titles(id: &NodeId, word: &str) -> bool {
    let names = names(id).replace(r"\:\:", "\u{0}");
    let titles: Vec<String> = names
        .split("::")
        .map(|title| literal(&title.replace('\u{0}', "::")))
        .collect();
    !names.is_empty()
        && [" ", " > "]
            .iter()
            .any(|between| word == format!("^{}$", titles.join(between)))
}

/// A text as a regular expression that means it.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '_' | '-' | ' ') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
