//! `GET /healthz`: the process answers. `GET /readyz`: it can take deliveries and works on them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;

use super::AppState;

pub(super) async fn alive() -> &'static str {
    "ok\n"
}

#[derive(Serialize)]
pub(super) struct Ready {
    database: &'static str,
    queue: &'static str,
}

/// 200 if all is well, else 503; the body says which part is not.
pub(super) async fn ready(State(state): State<AppState>) -> (StatusCode, Json<Ready>) {
    let word = |ok| if ok { "ok" } else { "problem" };
    let database = match state.store.ping().await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "not ready: the database cannot be read");
            false
        }
    };
    let queue = state.pulse.beats();
    let status = if database && queue {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let ready = Ready {
        database: word(database),
        queue: word(queue),
    };
    (status, Json(ready))
}
