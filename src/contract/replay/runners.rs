//! What each runner may be told.

use super::selectors::{selects_go, selects_own_title, selects_rust, selects_titles};
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
    /// Its value is a list of names.
    Names,
    /// Its value is one of these words.
    OneOf(&'static [&'static str]),
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
            Self::Names => value.split(',').all(is_name),
            Self::OneOf(words) => words.contains(&value),
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
    /// By what they mean.
    options: &'static [(Meaning, &'static [&'static str])],
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

// No word of these lists names a file, a module, a configuration or a command: a reporter or a pool by any
// other name would be a module that is loaded. No word makes a red run green: no retries.

static PYTEST: Runner = Runner {
    heads: &[&[]],
    options: &[
        (Meaning::Seed, &["--hypothesis-seed", "--randomly-seed"]),
        (
            Meaning::Name,
            &["--hypothesis-profile", "--hypothesis-verbosity", "--tb"],
        ),
        (Meaning::Plugin, &["-p"]),
        (Meaning::Count, &["-n"]),
        (
            Meaning::Switch,
            &[
                "--hypothesis-show-statistics",
                "--no-header",
                "-q",
                "-v",
                "-vv",
                "-x",
                "-s",
                "-l",
            ],
        ),
    ],
    selects: |_, _| false,
    file: File::None,
};

static CARGO: Runner = Runner {
    heads: &[&["test"], &["nextest", "run"]],
    options: &[
        (Meaning::Selector, &["-E", "--filterset"]),
        (
            Meaning::Name,
            &[
                "-p",
                "--package",
                "--test",
                "--bin",
                "--example",
                "--profile",
                "--cargo-profile",
            ],
        ),
        (Meaning::Names, &["-F", "--features"]),
        (Meaning::Count, &["-j", "--jobs", "--test-threads"]),
        (
            Meaning::OneOf(&["all", "only", "default"]),
            &["--run-ignored"],
        ),
        (
            Meaning::Switch,
            &[
                "--lib",
                "--tests",
                "--workspace",
                "--all-features",
                "--no-default-features",
                "--release",
                "--locked",
                "--offline",
                "--frozen",
                "--no-fail-fast",
                "-q",
                "--quiet",
                "-v",
                "--verbose",
                "--",
                "--exact",
                "--nocapture",
                "--no-capture",
                "--show-output",
                "--ignored",
                "--include-ignored",
            ],
        ),
    ],
    selects: selects_rust,
    file: File::None,
};

static GO: Runner = Runner {
    heads: &[&["test"]],
    options: &[
        (Meaning::Selector, &["-run"]),
        (Meaning::Seed, &["-rapid.seed", "-shuffle"]),
        (
            Meaning::Count,
            &[
                "-count",
                "-parallel",
                "-cpu",
                "-rapid.checks",
                "-rapid.steps",
            ],
        ),
        (Meaning::Name, &["-timeout"]),
        (Meaning::Names, &["-tags"]),
        (Meaning::OneOf(&["readonly", "vendor"]), &["-mod"]),
        (Meaning::OneOf(&["off"]), &["-vet"]),
        (
            Meaning::Switch,
            &[
                "-rapid.nofailfile",
                "-v",
                "-race",
                "-short",
                "-failfast",
                "-json",
            ],
        ),
    ],
    selects: selects_go,
    file: File::Folder,
};

static VITEST: Runner = Runner {
    heads: &[&["run"]],
    options: &[
        (Meaning::Selector, &["-t", "--testNamePattern"]),
        (Meaning::Seed, &["--sequence.seed"]),
        (Meaning::Name, &["--project"]),
        (Meaning::Count, &["--bail", "--testTimeout", "--maxWorkers"]),
        (
            Meaning::OneOf(&["forks", "threads", "vmForks", "vmThreads"]),
            &["--pool"],
        ),
        (
            Meaning::OneOf(&["default", "verbose", "dot", "json", "junit", "tap"]),
            &["--reporter"],
        ),
        (
            Meaning::Switch,
            &["--no-file-parallelism", "--no-color", "--silent"],
        ),
    ],
    selects: selects_titles,
    file: File::Itself,
};

static JEST: Runner = Runner {
    heads: &[&[]],
    options: &[
        (Meaning::Selector, &["-t", "--testNamePattern"]),
        (Meaning::Seed, &["--seed"]),
        (Meaning::Name, &["--selectProjects"]),
        (Meaning::Count, &["-w", "--maxWorkers", "--testTimeout"]),
        (
            Meaning::Switch,
            &[
                "-i",
                "--runInBand",
                "--runTestsByPath",
                "--randomize",
                "--showSeed",
                "--no-cache",
                "--ci",
                "--verbose",
                "--silent",
                "--bail",
                "--no-colors",
            ],
        ),
    ],
    selects: selects_titles,
    file: File::Itself,
};

/// Its own runner, which gets no module to load first.
static NODE: Runner = Runner {
    heads: &[&["--test"]],
    options: &[
        (Meaning::Selector, &["--test-name-pattern"]),
        (Meaning::Count, &["--test-concurrency", "--test-timeout"]),
        (
            Meaning::OneOf(&["spec", "tap", "dot", "junit"]),
            &["--test-reporter"],
        ),
        (Meaning::OneOf(&["process", "none"]), &["--test-isolation"]),
    ],
    selects: selects_own_title,
    file: File::Itself,
};

/// A runner that the configuration allows and that nothing is known of.
static OTHER: Runner = Runner {
    heads: &[&[]],
    options: &[(Meaning::Seed, &["--seed", "-s"])],
    selects: |_, _| false,
    file: File::None,
};

fn by_name(name: &str) -> &'static Runner {
    match name {
        "pytest" => &PYTEST,
        "cargo" => &CARGO,
        "go" => &GO,
        "vitest" => &VITEST,
        "jest" => &JEST,
        "node" => &NODE,
        _ => &OTHER,
    }
}

/// The runner of a line that starts with `name`, and the words behind its subcommand. `npx` starts one of the
/// two that projects install beside themselves.
pub(super) fn of<'w>(
    name: &str,
    rest: &'w [String],
) -> Result<(&'static Runner, &'w [String]), String> {
    let (name, rest) = match (name, rest.split_first()) {
        ("npx", Some((tool, rest))) if matches!(tool.as_str(), "vitest" | "jest") => {
            (tool.as_str(), rest)
        }
        ("npx", _) => return Err("npx has to be followed by `vitest` or `jest`".to_owned()),
        _ => (name, rest),
    };
    let runner = by_name(name);
    Ok((runner, runner.after_head(rest)?))
}

impl Runner {
    /// The words behind the runner's subcommand.
    fn after_head<'w>(&self, words: &'w [String]) -> Result<&'w [String], String> {
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
        let known = || {
            let groups = self.options.iter();
            groups.flat_map(|(meaning, names)| {
                let meaning = *meaning;
                names.iter().map(move |name| Known { name, meaning })
            })
        };
        if let Some(option) = known().find(|option| option.name == word) {
            return Some((option, None));
        }
        known()
            .filter(|option| option.meaning != Meaning::Switch)
            .find_map(|option| {
                let rest = word.strip_prefix(option.name)?;
                let is_letter = option.name.len() == 2 && !rest.starts_with('=');
                let value = if is_letter {
                    Some(rest)
                } else {
                    rest.strip_prefix('=')
                };
                Some((option, Some(value?)))
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
