//! Commands in comments: which there are, how they are written, and who may give them. PURE.
//!
//! Invariants: a command's name, arguments, rights and help stand in one table ([`COMMANDS`]); only
//! [`authorize`] makes an [`Authorized`], and only an [`Authorized`] is carried out.

mod arguments;
mod grammar;
mod owner;
mod rights;
mod table;

#[cfg(test)]
mod tests;

pub use grammar::{MOST_LINES, Mistake, find, read};
pub use owner::Owner;
pub use rights::{Actor, Authorized, Denied, Ties, authorize};
pub use table::{
    Barred, Button, COMMANDS, LOCK_BUTTON, RECHECK_BUTTON, REOPEN_BUTTON, Row, Who, of_button,
};

use crate::model::NodeId;
use crate::propose::{NewFreeze, Reopening};

/// A command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Help,
    Status,
    /// A path or a node id, as it was written.
    Explain(String),
    Recheck,
    Reopen(Reopening),
    Freeze(NewFreeze),
    Close(NodeId),
    Lock,
    /// A rule of the map: these properties guard the path.
    Map {
        path: String,
        properties: Vec<NodeId>,
    },
    /// A behavior note.
    Note {
        fixture: String,
        text: String,
    },
    /// With a reason.
    Accept(Option<String>),
    /// With a reason.
    Human(Option<String>),
}
