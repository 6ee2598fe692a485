//! Webhooks: signature over raw bytes, then a lenient payload.
//!
//! Invariant: nothing of a body is parsed before its signature was verified. Only [`Secrets::verify`]
//! makes a [`Verified`], and only a [`Verified`] can be parsed.

mod asks;
mod event;
mod groups;
mod places;
mod runs;
mod signature;

pub use asks::{CommentEvent, Press, RerunEvent, ReviewEvent, Sender};
pub use event::{Event, EventError, PullAction, PullEvent, USED, delivery_id};
pub use groups::GroupEvent;
pub use places::{PlaceEvent, What};
pub use runs::NamesakeEvent;
pub use signature::{Secrets, SharedSecrets, SignatureError, Verified, sign};
