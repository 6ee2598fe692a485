//! `GET /metrics`, and the count of deliveries.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::metrics::CONTENT_TYPE;

use super::AppState;
use super::hooks::Stored;

/// The page is whole also when the database is not: that is when it is wanted.
pub(super) async fn show(State(state): State<AppState>) -> Response {
    let queue = match state.store.queue_levels().await {
        Ok(levels) => Some(levels),
        Err(error) => {
            tracing::warn!(%error, "the queue cannot be measured");
            None
        }
    };
    let ledger = match state.store.ledger_levels().await {
        Ok(levels) => Some(levels),
        Err(error) => {
            tracing::warn!(%error, "the ledgers cannot be measured");
            None
        }
    };
    match state.metrics.text(queue, ledger.as_ref()) {
        Ok(page) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], page).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Counts a delivery by its answer.
pub(super) async fn count_delivery(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let response = next.run(request).await;
    state.metrics.delivery(result(&response), started.elapsed());
    response
}

fn result(response: &Response) -> &'static str {
    match response.status() {
        StatusCode::ACCEPTED => match response.extensions().get() {
            Some(Stored { duplicate: true }) => "duplicate",
            _ => "stored",
        },
        StatusCode::NO_CONTENT => "no_use",
        StatusCode::UNAUTHORIZED => "bad_signature",
        StatusCode::REQUEST_TIMEOUT => "timed_out",
        StatusCode::PAYLOAD_TOO_LARGE => "too_large",
        status if status.is_server_error() => "not_stored",
        _ => "malformed",
    }
}
