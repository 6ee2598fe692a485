//! The one table of commands: the grammar, the rights, the help text and the documentation read it. PURE.

use super::Command;
use super::arguments::{self, Wrong};

/// Who may give a command. Ordered: a later one is fewer people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Anyone,
    Reader,
    /// Has write access; no agent's account.
    Writer,
    /// Owns the row and has write access, or maintains or administers the repository; no agent's account.
    Owner,
    /// Maintains or administers the repository; no agent's account.
    Maintainer,
}

impl Who {
    /// For tables and refusals: "people with read access".
    pub fn words(self) -> &'static str {
        match self {
            Self::Anyone => "anyone who can comment",
            Self::Reader => "people with read access",
            Self::Writer => "people with write access",
            Self::Owner => {
                "the row's owner, with write access, and people who maintain or administer the repository"
            }
            Self::Maintainer => "people who maintain or administer the repository",
        }
    }
}

/// Whom a command is not for, whatever their rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    Nobody,
    /// Who brings the patch, unless the configuration allows it.
    OwnPatch,
    /// Who opened or pushed to an open pull request whose write-set concerns what the command is about.
    Concerned,
}

/// A command that is offered.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// As usage lines show them; empty for none.
    pub arguments: &'static str,
    pub who: Who,
    pub barred: Barred,
    /// It is about what was shown when it was given, and waits until that is known to be so still.
    pub bound: bool,
    /// One sentence without a full stop.
    pub help: &'static str,
    /// The command with the rest of its line, trimmed; or why that is no argument of it.
    pub(super) build: fn(&str) -> Result<Command, Wrong>,
}

impl Row {
    /// `/frostline explain PATH|NODEID`.
    pub fn usage(&self) -> String {
        let usage = format!("/frostline {} {}", self.name, self.arguments);
        usage.trim_end().to_owned()
    }
}

fn alone(arguments: &str, command: Command) -> Result<Command, Wrong> {
    match arguments.is_empty() {
        true => Ok(command),
        false => Err(Wrong::new()),
    }
}

pub static HELP: Row = Row {
    name: "help",
    arguments: "",
    who: Who::Anyone,
    barred: Barred::Nobody,
    bound: false,
    help: "lists the commands",
    build: |rest| alone(rest, Command::Help),
};

pub static STATUS: Row = Row {
    name: "status",
    arguments: "",
    who: Who::Anyone,
    barred: Barred::Nobody,
    bound: false,
    help: "says how this pull request was judged, and by what",
    build: |rest| alone(rest, Command::Status),
};

pub static EXPLAIN: Row = Row {
    name: "explain",
    arguments: "PATH|NODEID",
    who: Who::Anyone,
    barred: Barred::Nobody,
    bound: false,
    help: "says what the decision rests on for a changed path, or for a property or freeze",
    build: |rest| match rest.is_empty() {
        true => Err(Wrong::new()),
        false => Ok(Command::Explain(unquoted(rest).to_owned())),
    },
};

pub static RECHECK: Row = Row {
    name: "recheck",
    arguments: "",
    who: Who::Reader,
    barred: Barred::Nobody,
    bound: false,
    help: "evaluates again; where nothing changed, nothing new is published",
    build: |rest| alone(rest, Command::Recheck),
};

pub static ACCEPT: Row = Row {
    name: "accept",
    arguments: "[reason]",
    who: Who::Maintainer,
    barred: Barred::OwnPatch,
    bound: true,
    help: "accepts what needs human review, as it is shown; not for who brings the patch",
    build: |rest| Ok(Command::Accept(reason(rest))),
};

pub static HUMAN: Row = Row {
    name: "human",
    arguments: "[reason]",
    who: Who::Maintainer,
    barred: Barred::Nobody,
    bound: true,
    help: "lifts the evidence that this pull request is an agent's, until there is new evidence",
    build: |rest| Ok(Command::Human(reason(rest))),
};

pub static LOCK: Row = Row {
    name: "lock",
    arguments: "",
    who: Who::Writer,
    barred: Barred::Concerned,
    bound: true,
    help: "opens a pull request with the fixtures of this one and the lock that pins them; not for who brings \
           a patch that changes them",
    build: |rest| alone(rest, Command::Lock),
};

pub static MAP: Row = Row {
    name: "map",
    arguments: "PATH NODEID…",
    who: Who::Writer,
    barred: Barred::Concerned,
    bound: true,
    help: "opens a pull request that has these properties guard the path, which need not exist yet; not for \
           who brings a patch that concerns them",
    build: |rest| {
        let (path, properties) = arguments::path_and_nodes(rest)?;
        Ok(Command::Map { path, properties })
    },
};

pub static NOTE: Row = Row {
    name: "note",
    arguments: "FIXTURE \"TEXT\"",
    who: Who::Writer,
    barred: Barred::Concerned,
    bound: true,
    help: "opens a pull request with a behavior note for a fixture as this pull request has it; not for who \
           brings a patch that changes it",
    build: |rest| {
        let (fixture, text) = arguments::path_and_text(rest)?;
        Ok(Command::Note { fixture, text })
    },
};

pub static REOPEN: Row = Row {
    name: "reopen",
    arguments: "[NODEID] [reason=ORDER|CLOCK|IO] [seed=N]",
    who: Who::Owner,
    barred: Barred::Concerned,
    bound: true,
    help: "opens a pull request that binds a void row to the fixtures as this pull request \
           has them; the node id may be left out where one row is void; not for who brings a patch that concerns it",
    build: |rest| Ok(Command::Reopen(arguments::reopening(rest)?)),
};

pub static FREEZE: Row = Row {
    name: "freeze",
    arguments: "NODEID seed=N reason=ORDER|CLOCK|IO owner=@OWNER [replay=\"LINE\"]",
    who: Who::Writer,
    barred: Barred::Concerned,
    bound: true,
    help: "opens a pull request with a new row of the seed ledger; not for who brings a patch that concerns it",
    build: |rest| Ok(Command::Freeze(arguments::new_freeze(rest)?)),
};

pub static CLOSE: Row = Row {
    name: "close",
    arguments: "NODEID",
    who: Who::Owner,
    barred: Barred::Concerned,
    bound: true,
    help: "opens a pull request that removes the rows that freeze this very test; not for who brings a patch that \
           concerns it",
    build: |rest| Ok(Command::Close(arguments::one_node(rest)?)),
};

fn reason(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Every command, in the order in which help lists them.
pub static COMMANDS: [&Row; 12] = [
    &HELP, &STATUS, &EXPLAIN, &RECHECK, &ACCEPT, &HUMAN, &REOPEN, &FREEZE, &CLOSE, &LOCK, &MAP,
    &NOTE,
];

impl Command {
    /// What the table says of it.
    pub fn row(&self) -> &'static Row {
        match self {
            Self::Help => &HELP,
            Self::Status => &STATUS,
            Self::Explain(_) => &EXPLAIN,
            Self::Recheck => &RECHECK,
            Self::Accept(_) => &ACCEPT,
            Self::Human(_) => &HUMAN,
            Self::Reopen(_) => &REOPEN,
            Self::Freeze(_) => &FREEZE,
            Self::Close(_) => &CLOSE,
            Self::Lock => &LOCK,
            Self::Map { .. } => &MAP,
            Self::Note { .. } => &NOTE,
        }
    }
}

/// A button on a check-run: the command of the same name, by whoever presses it.
#[derive(Debug)]
pub struct Button {
    /// At most 20 characters.
    pub label: &'static str,
    /// At most 40 characters.
    pub description: &'static str,
    pub row: &'static Row,
}

/// What every finished check-run offers.
pub static RECHECK_BUTTON: Button = Button {
    label: "Re-check",
    description: "Evaluate this commit again",
    row: &RECHECK,
};

/// Where the fixtures of the merged tree are not those of the lock.
pub static LOCK_BUTTON: Button = Button {
    label: "Propose lock",
    description: "Pull request: these fixtures, pinned",
    row: &LOCK,
};

/// Where a freeze is void.
pub static REOPEN_BUTTON: Button = Button {
    label: "Reopen freeze",
    description: "Pull request: bind the void row anew",
    row: &REOPEN,
};

/// The command line that a pressed button stands for, by its identifier (the command's name).
pub fn of_button(identifier: &str) -> Option<String> {
    [&RECHECK_BUTTON, &REOPEN_BUTTON, &LOCK_BUTTON]
        .into_iter()
        .find(|button| button.row.name == identifier)
        .map(|button| format!("/frostline {}", button.row.name))
}

/// People copy names with the backticks around them.
fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('`').and_then(|t| t.strip_suffix('`'));
    match inner {
        Some(inner) if !inner.trim().is_empty() => inner.trim(),
        _ => text,
    }
}
