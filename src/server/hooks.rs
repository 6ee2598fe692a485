//! `POST /webhooks/github` (interfaces section 3).
//!
//! The order is: size, signature, headers, JSON. Whoever does not know a secret learns only whether a
//! body is too large.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;

use crate::model::{DeliveryId, RepoName};
use crate::store::{
    AskSource, AskedOf, Delivery, ForeignRun, NewAsk, Pushed, Received, RepoKey, Rerun, Task,
};
use crate::webhook::{Event, NamesakeEvent, PullAction, RerunEvent, delivery_id};

use super::AppState;
use super::body::{BODY_LIMIT, BodyError};
use super::places;

#[derive(Serialize)]
struct Accepted<'a> {
    delivery: &'a str,
    duplicate: bool,
}

/// Goes with the answer to a delivery that was stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) duplicate: bool,
}

#[derive(Serialize)]
struct Refused {
    error: String,
}

fn refuse(status: StatusCode, error: impl Into<String>) -> Response {
    let error = error.into();
    tracing::debug!(%status, error, "webhook refused");
    (status, Json(Refused { error })).into_response()
}

pub(super) async fn receive(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match accept(&state, &parts.headers, body).await {
        Ok(response) | Err(response) => response,
    }
}

async fn accept(state: &AppState, headers: &HeaderMap, body: Body) -> Result<Response, Response> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok());
    let held = state.room.read(body, announced).await.map_err(unread)?;
    let verified = state
        .secrets
        .get()
        .verify(held.bytes.clone(), one(headers, "x-hub-signature-256"))
        .map_err(|error| refuse(StatusCode::UNAUTHORIZED, error.to_string()))?;

    let name = one(headers, "x-github-event")
        .and_then(|value| std::str::from_utf8(value).ok())
        .filter(|name| !name.is_empty())
        .ok_or_else(|| {
            refuse(
                StatusCode::BAD_REQUEST,
                "the header X-GitHub-Event is missing",
            )
        })?;
    let event = Event::parse(name, &verified)
        .map_err(|error| refuse(StatusCode::BAD_REQUEST, error.to_string()))?;
    if event == Event::NoUse || is_own_run(state, &event) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let id = one(headers, "x-github-delivery")
        .and_then(delivery_id)
        .ok_or_else(|| {
            refuse(
                StatusCode::BAD_REQUEST,
                "the header X-GitHub-Delivery is missing, or is no delivery id",
            )
        })?;
    Ok(store(state, delivery(id, name, event)).await)
}

/// The forge tells us of our own check-runs too.
fn is_own_run(state: &AppState, event: &Event) -> bool {
    matches!(event, Event::Namesake(event) if Some(event.app) == state.app_id)
}

/// What an event asks for.
fn delivery(id: DeliveryId, name: &str, event: Event) -> Delivery {
    let mut delivery = Delivery {
        id,
        event: name.to_owned(),
        action: String::new(),
        tasks: Vec::new(),
        pushed: None,
        foreign: None,
        rerun: None,
        ask: None,
    };
    match event {
        Event::Pull(event) => {
            delivery.action = event.action.name().to_owned();
            let pushes = matches!(event.action, PullAction::Opened | PullAction::Synchronize);
            delivery.pushed = event.head.clone().filter(|_| pushes).map(|head| Pushed {
                head,
                account: event.sender.unwrap_or_default(),
            });
            delivery.tasks.push(Task::Pull {
                pull: event.pull,
                head: event.head,
            });
        }
        Event::Comment(event) => {
            delivery.action = "created".to_owned();
            delivery.tasks.push(Task::from(&event.pull));
            let ask = NewAsk {
                source: AskSource::Comment(event.comment),
                actor: event.sender.login,
                actor_id: event.sender.id,
                created_at: Some(event.created_at),
                lines: event.lines,
            };
            delivery.ask = Some((AskedOf::Pull(event.pull), ask));
        }
        Event::Review(event) => {
            delivery.action = event.action.to_owned();
            delivery.tasks.push(Task::from(&event.pull));
        }
        Event::Rerun(event) => rerun(&mut delivery, event),
        Event::Namesake(event) => namesake(&mut delivery, event),
        Event::Place(event) => {
            event.action.clone_into(&mut delivery.action);
            delivery.tasks = places::tasks(event);
        }
        Event::Group(event) => {
            delivery.action = "checks_requested".to_owned();
            delivery.tasks.push(Task::Group {
                repo: RepoKey {
                    installation: event.installation,
                    repo: event.repo,
                },
                group: event.group,
            });
        }
        Event::NoUse => {}
    }
    delivery
}

fn rerun(delivery: &mut Delivery, event: RerunEvent) {
    event.action.clone_into(&mut delivery.action);
    let repo = RepoKey {
        installation: event.installation,
        repo: event.repo,
    };
    delivery.rerun = event.again.map(|check_name| Rerun {
        head: event.head.clone(),
        check_name,
    });
    if let Some(press) = event.button {
        let ask = NewAsk {
            source: AskSource::Button(delivery.id.clone()),
            actor: press.sender.login,
            actor_id: press.sender.id,
            created_at: None,
            lines: vec![press.line],
        };
        delivery.ask = Some((AskedOf::Evaluation(repo.clone(), press.evaluation), ask));
    }
    delivery.tasks.push(Task::Head {
        repo,
        head: event.head,
    });
}

fn namesake(delivery: &mut Delivery, event: NamesakeEvent) {
    event.action.clone_into(&mut delivery.action);
    delivery.foreign = Some(ForeignRun {
        head: event.head.clone(),
        name: event.name,
        app: event.app,
        run: event.run,
    });
    delivery.tasks.push(Task::Head {
        repo: RepoKey {
            installation: event.installation,
            repo: event.repo,
        },
        head: event.head,
    });
}

async fn store(state: &AppState, delivery: Delivery) -> Response {
    match state.store.receive(&delivery).await {
        Ok(received) => {
            tracing::info!(
                delivery = delivery.id.0,
                repository = delivery
                    .tasks
                    .first()
                    .and_then(Task::repo)
                    .map(RepoName::as_str),
                pull_request = delivery.tasks.first().and_then(Task::number).map(|n| n.0),
                action = delivery.action,
                duplicate = received == Received::Duplicate,
                "delivery stored"
            );
            let duplicate = received == Received::Duplicate;
            let accepted = Accepted {
                delivery: &delivery.id.0,
                duplicate,
            };
            let stored = Extension(Stored { duplicate });
            (StatusCode::ACCEPTED, stored, Json(accepted)).into_response()
        }
        Err(error) => {
            tracing::error!(delivery = delivery.id.0, %error, "delivery could not be stored");
            refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "the delivery could not be stored; redeliver it later",
            )
        }
    }
}

fn unread(error: BodyError) -> Response {
    match error {
        BodyError::TooLarge => refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {BODY_LIMIT} bytes"),
        ),
        BodyError::NoRoom => refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "too much is being received; redeliver it later",
        ),
        BodyError::Broken => refuse(StatusCode::BAD_REQUEST, "the body broke off"),
    }
}

/// A header that must be there once: two of a name could be read differently by a proxy.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.as_bytes())
}
