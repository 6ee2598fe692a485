//! Who may give which command. PURE.

use super::{Command, Who};
use crate::model::{Fact, Permission, Tie};

/// Who gave a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub login: String,
    pub id: u64,
    pub is_bot: bool,
    /// What the person may do in the repository now.
    pub permission: Fact<Permission>,
    pub ties: Ties,
}

/// What an account has to do with the patch, as far as rights hang on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ties {
    /// An account of the table of agents.
    pub is_agent: bool,
    pub tie: Fact<Option<Tie>>,
    /// `review.author_may_accept`.
    pub author_may_accept: bool,
}

impl Ties {
    /// Before anybody looked.
    pub fn unknown() -> Self {
        Self {
            is_agent: false,
            tie: Fact::Unavailable("nobody looked".to_owned()),
            author_may_accept: false,
        }
    }
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
        Who::Maintainer => Permission::Maintain,
    };
    match &actor.permission {
        Fact::Known(has) if *has >= least => {}
        Fact::Known(_) => {
            return Err(Denied(format!("`{}` is for {}", row.name, row.who.words())));
        }
        other => {
            return Err(Denied(format!(
                "your rights in this repository could not be read ({})",
                other.why_not().unwrap_or_default()
            )));
        }
    }
    if row.who == Who::Maintainer && actor.ties.is_agent {
        return Err(Denied(format!(
            "`{}` is not for an agent's account",
            row.name
        )));
    }
    if !row.own_barred {
        return Ok(Authorized { command });
    }
    match &actor.ties.tie {
        Fact::Known(None) => Ok(Authorized { command }),
        Fact::Known(Some(_)) if actor.ties.author_may_accept => Ok(Authorized { command }),
        Fact::Known(Some(tie)) => Err(Denied(format!(
            "`{}` is not for who {}",
            row.name,
            tie.words()
        ))),
        other => Err(Denied(format!(
            "who brings this patch could not be told ({})",
            other.why_not().unwrap_or_default()
        ))),
    }
}
