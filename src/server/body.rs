//! Reads a request's body into memory, within limits.
//!
//! A body is read before its signature can be verified, so what strangers send is bounded twice: each
//! body by [`BODY_LIMIT`], and all bodies of a moment together by [`Room`].

use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest body in bytes; the forge sends none above it.
pub const BODY_LIMIT: usize = 25 * 1024 * 1024;

/// What all bodies that are being read may take together, in KiB.
const ROOM_KIB: usize = 256 * 1024;

/// What every body has from its start: most are no larger, and need not grow.
const FIRST_KIB: usize = 32;

/// Memory for bodies; cheap to clone.
#[derive(Clone)]
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_KIB)))
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyError {
    TooLarge,
    /// Too much is being read already.
    NoRoom,
    /// The client broke off.
    Broken,
}

/// A body in memory. Its room is free again when it is dropped.
pub(crate) struct Held {
    pub(crate) bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl Room {
    /// Reads `body` whole. `announced` is its Content-Length, if it had one.
    pub(crate) async fn read(
        &self,
        mut body: Body,
        announced: Option<u64>,
    ) -> Result<Held, BodyError> {
        if let Some(length) = announced.filter(|length| *length > BODY_LIMIT as u64) {
            if length <= 2 * BODY_LIMIT as u64 {
                discard(body).await;
            }
            return Err(BodyError::TooLarge);
        }
        let mut room = self.take(FIRST_KIB)?;
        let first = announced.unwrap_or(0).min(FIRST_KIB as u64 * 1024);
        let mut bytes = BytesMut::with_capacity(usize::try_from(first).unwrap_or(0));
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > BODY_LIMIT {
                drop((bytes, room));
                discard(body).await;
                return Err(BodyError::TooLarge);
            }
            let held = room.num_permits() * 1024;
            if bytes.len() + data.len() > held {
                // Twice as much each time, as the buffer grows.
                let more = held.max(data.len()).div_ceil(1024);
                room.merge(self.take(more)?);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Held {
            bytes: bytes.freeze(),
            _room: room,
        })
    }

    fn take(&self, kib: usize) -> Result<OwnedSemaphorePermit, BodyError> {
        let kib = u32::try_from(kib).map_err(|_| BodyError::NoRoom)?;
        Arc::clone(&self.0)
            .try_acquire_many_owned(kib)
            .map_err(|_| BodyError::NoRoom)
    }
}

/// Reads on for a while without keeping anything: a client that is still sending when the connection
/// is closed does not get to see the answer.
async fn discard(mut body: Body) {
    let mut left = BODY_LIMIT;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, bytes::Bytes::len);
        if length > left {
            return;
        }
        left -= length;
    }
}
