//! Webhooks: signature over raw bytes, then a lenient payload.
