//! Who may give which command. PURE.

use super::{Command, Who};
use crate::model::{Fact, Permission};

/// Who gave a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub login: String,
    pub id: u64,
    pub is_bot: bool,
    /// What the person may do in the repository now.
    pub permission: Fact<Permission>,
}

impl Actor {
    /// Surely at least this permission; what is not known is none.
    pub fn has(&self, least: Permission) -> bool {
        self.permission.known().is_some_and(|has| *has >= least)
    }
}

/// A command that its sender may give. Only [`authorize`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorized<C> {
    command: C,
}

impl<C> Authorized<C> {
    pub fn command(&self) -> &C {
        &self.command
    }
}

/// Why a command is not carried out: one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub String);

/// The one place where it is decided who may do what.
pub fn authorize(command: Command, actor: &Actor) -> Result<Authorized<Command>, Denied> {
    if actor.is_bot {
        return Err(Denied("commands are for people".to_owned()));
    }
    let row = command.row();
    let least = match row.who {
        Who::Anyone => return Ok(Authorized { command }),
        Who::Reader => Permission::Read,
    };
    match &actor.permission {
        Fact::Known(has) if *has >= least => Ok(Authorized { command }),
        Fact::Known(_) => Err(Denied(format!("`{}` is for {}", row.name, row.who.words()))),
        other => Err(Denied(format!(
            "your rights in this repository could not be read ({})",
            other.why_not().unwrap_or_default()
        ))),
    }
}
