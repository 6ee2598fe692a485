//! HTTP: the router, the webhook route, health.
