//! Who may give which command. PURE.

use super::{Barred, Command, Row, Who};
use crate::model::{Fact, Permission, PrNumber, Tie};

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
    /// An open pull request that the account opened or pushed to and whose write-set concerns what the
    /// command is about.
    pub concerned: Fact<Option<PrNumber>>,
    /// Owners of the row that the command is about, as written.
    pub owners: Vec<String>,
    /// The account is one of them, or in one of their teams.
    pub owns: Fact<bool>,
    /// `review.author_may_accept`.
    pub author_may_accept: bool,
}

impl Ties {
    /// Before anybody looked.
    pub fn unknown() -> Self {
        Self {
            is_agent: false,
            tie: Fact::Unavailable("nobody looked".to_owned()),
            concerned: Fact::Unavailable("nobody looked".to_owned()),
            owners: Vec::new(),
            owns: Fact::Unavailable("nobody looked".to_owned()),
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

/// Refusals say who could.
fn may_as_owner(row: &Row, ties: &Ties) -> Result<(), Denied> {
    let owners = match ties.owners.is_empty() {
        true => "it names no owner".to_owned(),
        false => format!("it is owned by {}", ties.owners.join(", ")),
    };
    match &ties.owns {
        Fact::Known(true) => Ok(()),
        Fact::Known(false) => Err(Denied(format!(
            "`{}` is for {} ({owners})",
            row.name,
            row.who.words()
        ))),
        other => Err(Denied(format!(
            "whether you own the row could not be told ({owners}; {})",
            other.why_not().unwrap_or_default()
        ))),
    }
}

/// The one place where it is decided who may do what.
pub fn authorize(command: Command, actor: &Actor) -> Result<Authorized<Command>, Denied> {
    if actor.is_bot {
        return Err(Denied("commands are for people".to_owned()));
    }
    let row = command.row();
    let least = match row.who {
        Who::Anyone => return Ok(Authorized { command }),
        Who::Reader => Permission::Read,
        Who::Writer | Who::Owner => Permission::Write,
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
    if row.who == Who::Owner && !actor.has(Permission::Maintain) {
        may_as_owner(row, &actor.ties)?;
    }
    if row.who >= Who::Writer && actor.ties.is_agent {
        return Err(Denied(format!(
            "`{}` is not for an agent's account",
            row.name
        )));
    }
    let unknown = |fact: Option<&str>| {
        let why = fact.unwrap_or_default();
        Err(Denied(format!(
            "who brings this patch could not be told ({why})"
        )))
    };
    match (row.barred, &actor.ties.tie, &actor.ties.concerned) {
        (Barred::Nobody, _, _)
        | (Barred::OwnPatch, Fact::Known(None), _)
        | (Barred::Concerned, _, Fact::Known(None)) => Ok(Authorized { command }),
        (Barred::OwnPatch, Fact::Known(Some(_)), _) if actor.ties.author_may_accept => {
            Ok(Authorized { command })
        }
        (Barred::OwnPatch, Fact::Known(Some(tie)), _) => Err(Denied(format!(
            "`{}` is not for who {}",
            row.name,
            tie.words()
        ))),
        (Barred::Concerned, _, Fact::Known(Some(pull))) => Err(Denied(format!(
            "`{}` is not for who opened or pushed to pull request {pull}, which is about the same; ask \
             somebody else with the right",
            row.name
        ))),
        (Barred::OwnPatch, tie, _) => unknown(tie.why_not()),
        (Barred::Concerned, _, concerned) => unknown(concerned.why_not()),
    }
}
