//! What keeps a run from everything but its own folder, in four levels, the strongest first.
//!
//! | level | tree | network | other processes |
//! | --- | --- | --- | --- |
//! | bubblewrap | read-only | loopback only | not visible |
//! | user-namespace | read-only (Landlock) | loopback only | not visible |
//! | landlock | read-only | open | visible; signals to them are refused where the kernel can |
//! | plain | compared after each run | open | visible |
//!
//! Invariant: a level is used only after a probe ran in it and found what the table says, and the level
//! is recorded with each result.

mod enter;
mod probe;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::process::{Cancel, How, Limits, Order, run};

pub use enter::{Entry, enter};
pub use probe::check;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Plain,
    Landlock,
    UserNamespace,
    Bubblewrap,
}

impl Level {
    /// The strongest first.
    pub const ALL: [Self; 4] = [
        Self::Bubblewrap,
        Self::UserNamespace,
        Self::Landlock,
        Self::Plain,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::UserNamespace => "user-namespace",
            Self::Landlock => "landlock",
            Self::Plain => "plain",
        }
    }

    /// Nothing outside the machine can be reached.
    pub fn has_no_network(self) -> bool {
        self >= Self::UserNamespace
    }

    /// The tree cannot be written to.
    pub fn keeps_the_tree(self) -> bool {
        self >= Self::Landlock
    }
}

/// Which level is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The strongest that can be had, at or below this one.
    From(Level),
    /// This one or a stronger one; anything else is an error.
    Required(Level),
}

/// Where a run may read and write.
#[derive(Debug, Clone)]
pub struct Places {
    /// This binary.
    pub program: PathBuf,
    /// Where programs are looked for, as of `PATH`.
    pub search: String,
    /// The exported tree; read-only.
    pub tree: PathBuf,
    /// What is built of the tree, once something is; read-only for a run.
    pub built: PathBuf,
    /// The one folder that a run may write to.
    pub run: PathBuf,
    /// The user's home, which a run does not see where that can be kept from it.
    pub hidden: Option<PathBuf>,
    /// What a run needs although it lies below a folder that is hidden; read-only.
    pub needed: Vec<PathBuf>,
}

/// Why no level will do.
#[derive(Debug, thiserror::Error)]
#[error("no isolation at level {} or above can be had here: {why}", wanted.name())]
pub struct NoIsolation {
    wanted: Level,
    why: String,
}

/// The strongest level that is wanted and that works here, and why those above it do not.
///
/// # Errors
/// When a level is required and no such level works.
pub fn choose(
    wanted: Wanted,
    places: &Places,
    cancel: &Cancel,
) -> Result<(Level, Vec<String>), NoIsolation> {
    let mut why_not = Vec::new();
    for level in Level::ALL {
        match wanted {
            Wanted::From(highest) if level > highest => continue,
            Wanted::Required(lowest) if level < lowest => break,
            _ => {}
        }
        match probe::probe(level, places, cancel) {
            Ok(()) => return Ok((level, why_not)),
            Err(why) => why_not.push(format!("{}: {why}", level.name())),
        }
    }
    let wanted = match wanted {
        Wanted::From(level) | Wanted::Required(level) => level,
    };
    Err(NoIsolation {
        wanted,
        why: why_not.join("; "),
    })
}

/// `argv` as it has to be started to run at this level in the tree, and whether what is started then
/// only holds it.
pub fn wrap(level: Level, places: &Places, argv: &[String]) -> (Vec<String>, bool) {
    let mut words: Vec<String> = match level {
        Level::Bubblewrap => bubblewrap(places),
        Level::UserNamespace => user_namespace(places),
        Level::Landlock => entering(
            places,
            &Entry {
                loopback: false,
                first: false,
            },
        ),
        Level::Plain => Vec::new(),
    };
    words.extend(argv.iter().cloned());
    (words, level >= Level::UserNamespace)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn bubblewrap(places: &Places) -> Vec<String> {
    let mut words: Vec<String> = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        // Sockets of services, which no network namespace keeps from being reached.
        "--tmpfs",
        "/run",
    ]
    .map(str::to_owned)
    .into();
    let mut add = |parts: [String; 3]| words.extend(parts.into_iter().filter(|p| !p.is_empty()));
    if let Some(home) = &places.hidden {
        add(["--tmpfs".to_owned(), text(home), String::new()]);
    }
    for path in places.needed.iter().chain([&places.program, &places.tree]) {
        add(["--ro-bind".to_owned(), text(path), text(path)]);
    }
    let built = text(&places.built);
    add(["--ro-bind-try".to_owned(), built.clone(), built]);
    add(["--bind".to_owned(), text(&places.run), text(&places.run)]);
    let rest = [
        "--unshare-all",
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        // Where it is started is where it begins, as at the other levels.
        "--",
    ];
    words.extend(rest.map(str::to_owned));
    words
}

fn user_namespace(places: &Places) -> Vec<String> {
    let mut words: Vec<String> = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        "--pid",
        "--ipc",
        "--uts",
        "--mount",
        "--mount-proc",
        "--fork",
        "--kill-child",
        "--",
    ]
    .map(str::to_owned)
    .into();
    words.extend(entering(
        places,
        &Entry {
            loopback: true,
            first: true,
        },
    ));
    words
}

/// This program once more, to restrict itself before it becomes the run.
fn entering(places: &Places, entry: &Entry) -> Vec<String> {
    let mut words = vec![text(&places.program), "lane-enter".to_owned()];
    if entry.loopback {
        words.push("--loopback".to_owned());
    }
    if entry.first {
        words.push("--first".to_owned());
    }
    words.extend(["--write".to_owned(), text(&places.run), "--".to_owned()]);
    words
}
