//! Commands that are about what was shown when they were given: they wait for the decision, and are carried
//! out only while that is still what they were about.

use std::collections::BTreeSet;

use crate::command::{self, Actor, Authorized, Barred, Command, Ties, Who};
use crate::config::repo::RepoConfig;
use crate::gate::review::is_agent;
use crate::model::{AuthorKind, Decision, Person, PrNumber, Snapshot, Verdict};
use crate::propose::{self, Proposal, Unproposed};
use crate::render::{headline, told};
use crate::store::{Acceptance, Ask, AskResult, AskedOn, RunKey};

use super::commands::{Commands, waiting};
use super::concern::Subject;
use super::reviews::one;
use super::stop::Stop;

/// What was decided in this attempt, and is not published yet.
pub(super) struct Judged<'a> {
    pub key: &'a RunKey,
    pub decision: &'a Decision,
    /// What it was decided from.
    pub snapshot: &'a Snapshot,
    pub config: &'a RepoConfig,
    /// Names of what speaks for an agent.
    pub evidence: &'a BTreeSet<String>,
}

/// What was carried out, of which the decision does not know yet.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub accepted: bool,
    /// Who lifted the evidence of an agent.
    pub lifted: Option<String>,
}

const MOVED: &str = "the head, the base branch or the decision is not what was shown when this was written; \
                     look at the check as it is now, and repeat the command";

/// What the command proposes; `None` for one that proposes nothing.
fn proposal(
    command: &Command,
    judged: &Judged<'_>,
    pull: PrNumber,
) -> Option<Result<Proposal, Unproposed>> {
    match command {
        Command::Lock => Some(propose::lock(judged.snapshot, pull)),
        Command::Reopen(asked) => Some(propose::reopen(judged.snapshot, judged.decision, asked)),
        Command::Freeze(new) => Some(propose::freeze(judged.snapshot, new)),
        Command::Close(nodeid) => Some(propose::close(judged.snapshot, nodeid)),
        Command::Map { path, properties } => Some(propose::map(judged.snapshot, path, properties)),
        Command::Note { fixture, text } => Some(propose::note(judged.snapshot, fixture, text)),
        _ => None,
    }
}

/// What the command is about.
fn subject(command: &Command, judged: &Judged<'_>, pull: PrNumber) -> Subject {
    let mut subject = Subject::default();
    match command {
        Command::Map { path, properties } => {
            subject.prefixes.push(path.clone());
            subject.nodes.clone_from(properties);
        }
        Command::Note { fixture, .. } => subject.paths.push(fixture.clone()),
        Command::Freeze(new) => subject.nodes.push(new.nodeid.clone()),
        Command::Close(nodeid) => subject.nodes.push(nodeid.clone()),
        Command::Reopen(asked) => {
            let void = propose::void_node(judged.decision, asked);
            subject.nodes.extend(void);
        }
        _ => {
            let proposal = proposal(command, judged, pull).and_then(Result::ok);
            let digests = proposal.into_iter().flat_map(|proposal| proposal.digests);
            subject.paths.extend(digests.map(|row| row.path));
        }
    }
    subject
}

impl Commands<'_> {
    /// Carries out what waited for a decision.
    pub async fn on_decision(&self, judged: &Judged<'_>) -> Result<Carried, Stop> {
        let mut carried = Carried::default();
        for ask in self.held().await? {
            let actor = self.bound_actor(&ask, judged).await?;
            for (place, line) in waiting(&ask) {
                let on = AskedOn {
                    head: &judged.key.head,
                    base: Some(&judged.decision.base),
                    quiet: ask.quiet.unwrap_or(true),
                };
                let refused = match self
                    .allowed(&ask, place, &line.line, &actor, judged)
                    .await?
                {
                    Ok(command) => {
                        let what = (ask.id, on, place);
                        self.carry_out_bound(&command, &ask, judged, (what, &mut carried))
                            .await?
                    }
                    Err(refused) => Some(refused),
                };
                if let Some((result, why)) = refused {
                    let row = [(place, result, told(&why))];
                    self.store.put_results(ask.id, on, &row).await?;
                }
            }
        }
        Ok(carried)
    }

    async fn bound_actor(&self, ask: &Ask, judged: &Judged<'_>) -> Result<Actor, Stop> {
        let person = Person {
            login: ask.actor.clone(),
            id: ask.actor_id,
            is_bot: false,
        };
        let mut ties = Ties::unknown();
        ties.is_agent = is_agent(&person, &judged.config.agents);
        ties.author_may_accept = judged.config.author_may_accept;
        // Looked at where a person has to approve.
        if let Some(reviews) = &judged.snapshot.reviews {
            ties.tie = reviews.tie_of(ask.actor_id);
        }
        Ok(Actor {
            ties,
            ..self.actor(ask).await?
        })
    }

    /// The command, if its sender may give it and it is about what stands.
    async fn allowed(
        &self,
        ask: &Ask,
        place: usize,
        line: &str,
        actor: &Actor,
        judged: &Judged<'_>,
    ) -> Result<Result<Authorized<Command>, (AskResult, String)>, Stop> {
        let command = match command::read(line, place) {
            Ok(command) => command,
            Err(mistake) => return Ok(Err((AskResult::Mistake, mistake.to_string()))),
        };
        let decision = judged.decision;
        if matches!(command, Command::Accept(_)) && decision.verdict != Verdict::HumanReview {
            let why = format!("there is nothing to accept ({})", headline(decision));
            return Ok(Err((AskResult::Refused, why)));
        }
        let is_person = decision.author.kind == AuthorKind::Person;
        if matches!(command, Command::Human(_)) && is_person {
            let why = "it counts as a person's already".to_owned();
            return Ok(Err((AskResult::Refused, why)));
        }
        let mut actor = actor.clone();
        if command.row().barred == Barred::Concerned {
            let subject = subject(&command, judged, self.number);
            actor.ties.concerned = self.concerned(ask, &subject, judged).await?;
            if command.row().who == Who::Owner {
                let nodes = subject.nodes.iter();
                let owners = nodes.flat_map(|node| propose::owners(judged.snapshot, node));
                actor.ties.owners = owners.collect();
                actor.ties.owns = self.owns(ask, &actor.ties.owners).await?;
            }
        }
        let command = match command::authorize(command, &actor) {
            Ok(command) => command,
            Err(denied) => return Ok(Err((AskResult::Refused, denied.to_string()))),
        };
        let shown = self.store.shown_at(judged.key, ask.created_at).await?;
        let stands = one(&shown).is_some_and(|shown| {
            shown.head == decision.head
                && shown.base.as_ref() == Some(&decision.base)
                && shown.key == decision.decision_key
        });
        Ok(match stands {
            true => Ok(command),
            false => Err((AskResult::Moved, MOVED.to_owned())),
        })
    }

    /// `None` when it was done; else what came of it instead.
    async fn carry_out_bound(
        &self,
        command: &Authorized<Command>,
        ask: &Ask,
        judged: &Judged<'_>,
        (what, carried): ((i64, AskedOn<'_>, usize), &mut Carried),
    ) -> Result<Option<(AskResult, String)>, Stop> {
        let by = |reason: &Option<String>| Acceptance {
            actor: ask.actor.clone(),
            actor_id: ask.actor_id,
            reason: reason.clone(),
            accepted_at: ask.created_at,
        };
        match (command.command(), judged.decision.decision_key.as_deref()) {
            (Command::Accept(reason), Some(key)) => {
                let key = (judged.key, key);
                self.store.accept(key, &by(reason), what).await?;
                carried.accepted = true;
            }
            (Command::Human(reason), _) => {
                self.store
                    .lift(judged.key, judged.evidence, &by(reason), what)
                    .await?;
                carried.lifted = Some(ask.actor.clone());
            }
            (command, _) if let Some(proposal) = proposal(command, judged, self.number) => {
                let (id, on, place) = what;
                let line = ask.lines.get(place).map_or("", |line| line.line.as_str());
                let proposed = match proposal {
                    Ok(proposal) => self.propose(&proposal, (ask, line), judged).await?,
                    Err(why) => Err(why.to_string()),
                };
                match proposed {
                    Ok(answer) => {
                        let row = [(place, AskResult::Done, answer)];
                        self.store.put_results(id, on, &row).await?;
                    }
                    Err(why) => return Ok(Some((AskResult::Refused, why))),
                }
            }
            _ => {
                let why = "it cannot be told what this is about".to_owned();
                return Ok(Some((AskResult::Refused, why)));
            }
        }
        Ok(None)
    }
}
