//! Deliveries that come at the same time, stored by one commit.
//!
//! A commit is on the disk before it is acknowledged, and the disk allows only so many in a second. So
//! whoever comes while another's commit is under way waits, and the next commit takes all that wait.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::PoisonError;

use tokio::sync::{Mutex, oneshot};

use super::{Delivery, Received, Store, StoreError};

/// Deliveries that one transaction takes.
const MOST: usize = 128;

struct Waiting {
    delivery: Delivery,
    answer: oneshot::Sender<Result<Received, StoreError>>,
}

/// Deliveries that wait for a commit.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: std::sync::Mutex<Vec<Waiting>>,
    /// Held by whoever stores what waits.
    turn: Mutex<()>,
}

impl Inbox {
    fn add(&self, delivery: &Delivery) -> oneshot::Receiver<Result<Received, StoreError>> {
        let (answer, answered) = oneshot::channel();
        let delivery = delivery.clone();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(Waiting { delivery, answer });
        answered
    }

    /// The next batch: no two deliveries of it have one id.
    fn take(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids = HashSet::new();
        let most = waiting
            .iter()
            .take(MOST)
            .take_while(|waiting| ids.insert(waiting.delivery.id.0.clone()))
            .count();
        waiting.drain(..most).collect()
    }
}

impl Store {
    /// Stores the delivery and enqueues its tasks in one transaction, which it may share with others.
    /// When this returns, all are on the disk. The jobs are enqueued for a duplicate as well.
    pub async fn receive(&self, delivery: &Delivery) -> Result<Received, StoreError> {
        let inbox = &self.inner.inbox;
        let mut answered = inbox.add(delivery);
        loop {
            // Who is answered while it waits needs no turn, and holds up nobody's.
            let (answer, turn) = tokio::select! {
                biased;
                answer = &mut answered => (answer.ok(), None),
                turn = inbox.turn.lock() => (None, Some(turn)),
            };
            match (answer, turn) {
                (Some(answer), _) => return answer,
                // It waits still: it is in the next batch, or in one soon after. A task of its own: a client
                // that goes breaks off this request, and must not break off what others wait for.
                (None, Some(_turn)) => {
                    let (store, batch) = (self.clone(), inbox.take());
                    tokio::spawn(async move { store.receive_waiting(batch).await })
                        .await
                        .map_err(|_| sqlx::Error::WorkerCrashed)?;
                }
                // Whoever had taken it crashed, perhaps before the commit.
                (None, None) => answered = inbox.add(delivery),
            }
        }
    }

    async fn receive_waiting(&self, batch: Vec<Waiting>) {
        let deliveries: Vec<&Delivery> = batch.iter().map(|waiting| &waiting.delivery).collect();
        let mut answers = match self.receive_all(&deliveries).await {
            Ok(received) => received.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => {
                let shared = Arc::new(error);
                let each = |_| Err(StoreError::Shared(Arc::clone(&shared)));
                deliveries.iter().map(each).collect()
            }
        };
        for (waiting, answer) in batch.into_iter().zip(answers.drain(..)) {
            // Nobody waits when the client has gone.
            let _ = waiting.answer.send(answer);
        }
    }
}
