//! Webhooks as the forge sends them: signed over the raw body, each with a delivery id of its own.

use anyhow::{Context as _, Result};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;

/// A delivery, ready to be sent; sending it again is what *Redeliver* does.
#[derive(Debug, Clone)]
pub struct Webhook {
    pub event: String,
    pub delivery: String,
    pub body: Vec<u8>,
    /// `sha256=…`
    pub signature: String,
}

impl Webhook {
    /// Signs `payload` with the webhook secret.
    pub fn signed(event: &str, payload: &Value, secret: &str) -> Result<Self> {
        let body = serde_json::to_vec(payload)?;
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes())
            .context("a webhook secret of any length is a key")?;
        mac.update(&body);
        Ok(Self {
            event: event.to_owned(),
            delivery: delivery_id(),
            signature: format!("sha256={}", hex::encode(mac.finalize().into_bytes())),
            body,
        })
    }

    /// Posts it, and gives the status of the answer.
    pub async fn send(&self, url: &str) -> Result<u16> {
        let response = reqwest::Client::new()
            .post(url)
            .header("content-type", "application/json")
            .header("user-agent", "GitHub-Hookshot/fake")
            .header("x-github-event", &self.event)
            .header("x-github-delivery", &self.delivery)
            .header("x-github-hook-id", "1")
            .header("x-hub-signature-256", &self.signature)
            .body(self.body.clone())
            .send()
            .await
            .with_context(|| format!("no answer from {url}"))?;
        Ok(response.status().as_u16())
    }
}

/// A random UUID (version 4).
fn delivery_id() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex::encode(bytes);
    format!(
        "{}-{}-{}-{}-{}",
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..]
    )
}
