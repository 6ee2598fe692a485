//! Deliveries of webhooks as the forge keeps them: which arrived, and which are to be made again.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{Forge, Webhook, shape};

/// One attempt to deliver a webhook.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    pub id: u64,
    pub hook: Webhook,
    /// Status of the answer; `None`: there was none.
    pub answer: Option<u16>,
    pub redelivery: bool,
    pub at: DateTime<Utc>,
}

impl Delivery {
    /// As a list has it.
    pub fn item(&self) -> Value {
        let payload: Value = serde_json::from_slice(&self.hook.body).unwrap_or_default();
        let status = match self.answer {
            Some(200..=299) => "OK",
            Some(_) => "Invalid HTTP Response",
            None => "timed out",
        };
        json!({
            "id": self.id, "guid": self.hook.delivery, "delivered_at": shape::time(self.at),
            "redelivery": self.redelivery, "duration": 0.3,
            "status": status, "status_code": self.answer.unwrap_or(0),
            "event": self.hook.event, "action": payload["action"].as_str(),
            "installation_id": payload["installation"]["id"].as_u64(),
            "repository_id": payload["repository"]["id"].as_u64(),
            "throttled_at": null,
        })
    }
}

impl Forge {
    /// Tells the forge how a delivery was answered: by a status, or not at all.
    pub fn note_delivery(&self, hook: &Webhook, answer: Option<u16>) {
        self.note_old_delivery(hook, answer, TimeDelta::zero());
    }

    /// The same of a delivery that was made some time ago.
    pub fn note_old_delivery(&self, hook: &Webhook, answer: Option<u16>, ago: TimeDelta) {
        let mut state = self.shared.state();
        let (id, at) = (state.next_id(), state.now() - ago);
        let redelivery = state
            .deliveries
            .iter()
            .any(|other| other.hook.delivery == hook.delivery);
        state.deliveries.push(Delivery {
            id,
            hook: hook.clone(),
            answer,
            redelivery,
            at,
        });
    }

    /// The webhooks that the App asked to have delivered again, in the order of its asking.
    pub fn take_redeliveries(&self) -> Vec<Webhook> {
        std::mem::take(&mut self.shared.state().redeliveries)
    }
}
