//! What people asked for in comments and by buttons, carried out and answered.
//!
//! Invariants: what came of a command is in the store before anybody is told; broken off anywhere, the
//! next attempt goes on where this one stood, and posts no second reply; a command is carried out only
//! with the proof that its sender may give it.

use chrono::TimeDelta;

use crate::command::{self, Actor, Authorized, Command, Ties};
use crate::forge::ForgeError;
use crate::forge::github::{Client, Pull, Reaction};
use crate::model::{Decision, Fact, Permission, PrNumber, Sha};
use crate::render::{self, Answer};
use crate::store::{Ask, AskResult, AskedLine, AskedOn, Store};

use super::stop::Stop;

/// Commands an hour of one person without write access, and of a whole repository.
const MOST_OF_A_PERSON: usize = 10;
const MOST_OF_A_REPOSITORY: usize = 60;
/// Answers that the one comment shows, the newest.
const ANSWERS_SHOWN: u32 = 5;

const CLOSED: &str = "the pull request is closed";
const NOT_NOW: &str = "nothing is shown that this could be about";

/// What came of one line: its place, the result, and what is said of it.
type Outcome = (usize, AskResult, String);

/// The commands of one pull request.
#[derive(Clone, Copy)]
pub(super) struct Commands<'a> {
    pub client: &'a Client,
    pub store: &'a Store,
    pub number: PrNumber,
}

impl Commands<'_> {
    /// Carries out what waits, and answers it.
    pub async fn run(&self, pull: &Pull) -> Result<(), Stop> {
        let repo = self.client.repo();
        for ask in self.store.open_asks(repo, self.number).await? {
            // Once that is known, only what waits for the decision is left.
            if ask.quiet.is_none() {
                self.carry_out(&ask, pull).await?;
            }
        }
        self.answer_all().await
    }

    /// Answers every ask whose lines all have a result.
    pub async fn answer_all(&self) -> Result<(), Stop> {
        let repo = self.client.repo();
        for ask in self.store.open_asks(repo, self.number).await? {
            self.answer(&ask).await?;
        }
        Ok(())
    }

    /// Asks of which only commands are left that wait for the decision.
    pub(super) async fn held(&self) -> Result<Vec<Ask>, Stop> {
        let repo = self.client.repo();
        let mut asks = self.store.open_asks(repo, self.number).await?;
        asks.retain(|ask| ask.quiet.is_some() && waiting(ask).next().is_some());
        Ok(asks)
    }

    /// Nothing was decided that a waiting command could be about.
    pub async fn refuse_waiting(&self, head: &Sha) -> Result<(), Stop> {
        for ask in self.held().await? {
            let refused: Vec<Outcome> = waiting(&ask)
                .map(|(place, _)| (place, AskResult::Refused, render::told(NOT_NOW)))
                .collect();
            let on = AskedOn {
                head,
                base: None,
                quiet: ask.quiet.unwrap_or(true),
            };
            self.store.put_results(ask.id, on, &refused).await?;
        }
        self.answer_all().await
    }

    /// Answers that the one comment shows for the head.
    pub async fn shown(&self, head: &Sha) -> Result<Vec<Answer>, Stop> {
        let key = (self.client.repo(), self.number);
        let asks = self.store.quiet_asks(key, head, ANSWERS_SHOWN).await?;
        Ok(asks.iter().flat_map(answers).collect())
    }

    async fn carry_out(&self, ask: &Ask, pull: &Pull) -> Result<(), Stop> {
        let repo = self.client.repo();
        let all = |result| every_line(ask, result);
        let on = |quiet| AskedOn {
            head: &pull.head.sha,
            base: None,
            quiet,
        };
        let count = self.store.commands_of_the_hour(repo, None).await?;
        if count + ask.lines.len() > MOST_OF_A_REPOSITORY {
            let limited = all(AskResult::Limited);
            self.store.put_results(ask.id, on(true), &limited).await?;
            self.store.end_ask(ask.id).await?;
            return Ok(());
        }
        if !self.show_seen(ask).await? {
            let withdrawn = all(AskResult::Withdrawn);
            self.store.put_results(ask.id, on(true), &withdrawn).await?;
            self.store.end_ask(ask.id).await?;
            return Ok(());
        }
        let actor = self.actor(ask).await?;
        let writes = actor.has(Permission::Write);
        if !writes {
            let own = Some(ask.actor_id);
            let count = self.store.commands_of_the_hour(repo, own).await?;
            if count + ask.lines.len() > MOST_OF_A_PERSON {
                let limited = all(AskResult::Limited);
                self.store.put_results(ask.id, on(true), &limited).await?;
                return Ok(());
            }
        }
        let decision = self.decision().await?;
        let outcomes: Vec<Outcome> = waiting(ask)
            .filter_map(|(place, line)| {
                let (result, answer) = outcome(place, &line.line, &actor, pull, decision.as_ref())?;
                Some((place, result, answer))
            })
            .collect();
        self.store
            .put_results(ask.id, on(!writes), &outcomes)
            .await?;
        Ok(())
    }

    /// False when the comment is gone: whoever takes a command back does not want it.
    async fn show_seen(&self, ask: &Ask) -> Result<bool, Stop> {
        let Some(comment) = ask.comment else {
            return Ok(true);
        };
        match self.client.react(comment, Reaction::Eyes).await {
            Err(ForgeError::NotFound(_) | ForgeError::Gone(_)) => Ok(false),
            other => {
                optional(other, "the reaction")?;
                Ok(true)
            }
        }
    }

    /// Who gave the commands, without ties.
    pub(super) async fn actor(&self, ask: &Ask) -> Result<Actor, Stop> {
        Ok(Actor {
            login: ask.actor.clone(),
            id: ask.actor_id,
            is_bot: false,
            permission: permission(self.client, &ask.actor).await?,
            ties: Ties::unknown(),
        })
    }

    /// The newest decision of the pull request, or of the one that speaks for its head; of whichever head.
    async fn decision(&self) -> Result<Option<Decision>, Stop> {
        let repo = self.client.repo();
        let speaker = self.store.speaker(repo, self.number).await?;
        let judged = speaker.map_or(self.number, |(speaker, _)| speaker);
        let newest = self.store.newest_decision(repo, judged).await?;
        Ok(newest.and_then(|(json, _)| serde_json::from_str(&json).ok()))
    }

    /// Tells the sender what came of an ask whose lines all have a result.
    async fn answer(&self, ask: &Ask) -> Result<(), Stop> {
        if ask.lines.iter().any(|line| line.result.is_none()) {
            return Ok(());
        }
        let answers = answers(ask);
        if ask.quiet == Some(false) && !answers.is_empty() {
            optional(self.reply(ask, &answers).await?, "the reply")?;
        }
        let Some(comment) = ask.comment else {
            return Ok(self.store.end_ask(ask.id).await?);
        };
        let done = ask
            .lines
            .iter()
            .all(|line| line.result == Some(AskResult::Done));
        let reaction = if done {
            Reaction::Rocket
        } else {
            Reaction::Confused
        };
        optional(self.client.react(comment, reaction).await, "the reaction")?;
        Ok(self.store.end_ask(ask.id).await?)
    }

    /// Posts the reply, unless an earlier attempt did whose answer was lost.
    async fn reply(&self, ask: &Ask, answers: &[Answer]) -> Result<Result<(), ForgeError>, Stop> {
        let marker = render::reply_marker(ask.comment, ask.id);
        if ask.replying {
            let bot = self.client.bot_login().await?;
            // The forge's clock and the comment's time are the same; a second for its rounding.
            let since = Some(ask.created_at - TimeDelta::seconds(1));
            let found = self
                .client
                .find_comment(self.number, since, |found| {
                    let by_us = found.user.as_ref().is_some_and(|user| {
                        user.kind == "Bot" && user.login.eq_ignore_ascii_case(bot)
                    });
                    by_us
                        && found
                            .body
                            .as_deref()
                            .is_some_and(|b| b.starts_with(&marker))
                })
                .await?;
            if found.is_some() {
                return Ok(Ok(()));
            }
        }
        self.store.begin_reply(ask.id).await?;
        let body = render::reply(&marker, answers);
        let created = self.client.create_comment(self.number, &body).await;
        Ok(created.map(|_| ()))
    }
}

/// What an account may do now; what the forge will not tell is no right.
pub(super) async fn permission(client: &Client, login: &str) -> Result<Fact<Permission>, Stop> {
    match client.permission(login).await {
        Ok(permission) => Ok(Fact::Known(permission)),
        Err(
            error @ (ForgeError::Forbidden(_)
            | ForgeError::Gone(_)
            | ForgeError::Validation(_)
            | ForgeError::Malformed(_)),
        ) => Ok(Fact::Unavailable(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// A locked conversation, or one that is gone, takes no answer; the command was carried out all the same.
fn optional(result: Result<(), ForgeError>, what: &str) -> Result<(), Stop> {
    match result {
        Err(
            error @ (ForgeError::Forbidden(_)
            | ForgeError::Gone(_)
            | ForgeError::NotFound(_)
            | ForgeError::Validation(_)),
        ) => {
            tracing::warn!(%error, "{what} to a command could not be written");
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Lines without a result, by their place.
pub(super) fn waiting(ask: &Ask) -> impl Iterator<Item = (usize, &AskedLine)> {
    let lines = ask.lines.iter().enumerate();
    lines.filter(|(_, line)| line.result.is_none())
}

fn every_line(ask: &Ask, result: AskResult) -> Vec<Outcome> {
    waiting(ask)
        .map(|(place, _)| (place, result, String::new()))
        .collect()
}

fn answers(ask: &Ask) -> Vec<Answer> {
    let said = ask.lines.iter().filter(|line| !line.answer.is_empty());
    said.map(|line| Answer {
        by: ask.actor.clone(),
        command: line.line.clone(),
        text: line.answer.clone(),
    })
    .collect()
}

/// Reads a line, asks for the right, carries it out. `None` for a command that waits for the decision.
fn outcome(
    place: usize,
    line: &str,
    actor: &Actor,
    pull: &Pull,
    decision: Option<&Decision>,
) -> Option<(AskResult, String)> {
    let command = match command::read(line, place) {
        Ok(command) => command,
        Err(mistake) => return Some((AskResult::Mistake, render::told(&mistake.to_string()))),
    };
    if command.row().bound {
        let closed = || (AskResult::Refused, render::told(CLOSED));
        return (pull.state != "open").then(closed);
    }
    Some(match command::authorize(command, actor) {
        Ok(command) => carried_out(&command, pull, decision),
        Err(denied) => (AskResult::Refused, render::told(&denied.to_string())),
    })
}

fn carried_out(
    command: &Authorized<Command>,
    pull: &Pull,
    decision: Option<&Decision>,
) -> (AskResult, String) {
    let head = &pull.head.sha;
    match command.command() {
        Command::Help => (AskResult::Done, render::help()),
        Command::Status => (AskResult::Done, render::status(decision, head)),
        Command::Explain(subject) => match render::explain(decision, head, subject) {
            (true, text) => (AskResult::Done, text),
            (false, text) => (AskResult::Refused, text),
        },
        Command::Recheck if pull.state != "open" => (AskResult::Refused, render::told(CLOSED)),
        // The job that carries this out goes on to evaluate.
        Command::Recheck => (AskResult::Done, String::new()),
        Command::Accept(_)
        | Command::Human(_)
        | Command::Reopen(_)
        | Command::Freeze(_)
        | Command::Close(_)
        | Command::Lock
        | Command::Map { .. }
        | Command::Note { .. } => (AskResult::Refused, render::told(NOT_NOW)),
    }
}
