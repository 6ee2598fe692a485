//! Deliveries that come at the same time, stored by one commit.
//!
//! A commit is on the disk before it is acknowledged, and the disk allows only so many in a second. So
//! whoever comes while another's commit is under way waits, and the next commit takes all that wait.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, PoisonError};

use sqlx::Sqlite;
use sqlx::pool::PoolConnection;
use tokio::sync::oneshot;

use super::{Delivery, Received, Store, StoreError};

/// Deliveries that one transaction takes.
const MOST: usize = 128;

/// Transactions in a row that are made on the connection before others may write.
const IN_A_ROW: usize = 8;

struct Waiting {
    delivery: Delivery,
    answer: oneshot::Sender<Result<Received, StoreError>>,
}

/// Deliveries that wait for a commit.
#[derive(Default)]
pub(super) struct Inbox(std::sync::Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// A task stores what waits, and looks for more until nothing does.
    is_served: bool,
}

impl Inbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// The next batch: no two deliveries of it have one id.
    fn take(&mut self) -> Vec<Waiting> {
        let mut ids = HashSet::new();
        let most = self
            .waiting
            .iter()
            .take(MOST)
            .take_while(|waiting| ids.insert(waiting.delivery.id.0.clone()))
            .count();
        self.waiting.drain(..most).collect()
    }
}

/// Serves the inbox. Whatever ends it, what waits still is answered, and the next delivery is served anew.
struct Server {
    store: Store,
    is_done: bool,
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.is_done {
            *self.store.inner.inbox.queue() = Queue::default();
        }
    }
}

impl Server {
    async fn serve(mut self) {
        loop {
            let mut writer = None;
            for _ in 0..IN_A_ROW {
                let batch = {
                    let mut queue = self.store.inner.inbox.queue();
                    let batch = queue.take();
                    self.is_done = batch.is_empty();
                    queue.is_served = !self.is_done;
                    batch
                };
                if self.is_done {
                    return;
                }
                self.store.receive_waiting(batch, &mut writer).await;
            }
        }
    }
}

impl Store {
    /// Stores the delivery and enqueues its tasks in one transaction, which it may share with others.
    /// When this returns, all are on the disk. The jobs are enqueued for a duplicate as well.
    pub async fn receive(&self, delivery: &Delivery) -> Result<Received, StoreError> {
        let (answer, answered) = oneshot::channel();
        let delivery = delivery.clone();
        let is_served = {
            let mut queue = self.inner.inbox.queue();
            queue.waiting.push(Waiting { delivery, answer });
            std::mem::replace(&mut queue.is_served, true)
        };
        if !is_served {
            // A task of its own: a client that goes must not break off what others wait for.
            let server = Server {
                store: self.clone(),
                is_done: false,
            };
            tokio::spawn(server.serve());
        }
        answered
            .await
            .unwrap_or_else(|_| Err(sqlx::Error::WorkerCrashed.into()))
    }

    async fn receive_waiting(
        &self,
        batch: Vec<Waiting>,
        writer: &mut Option<PoolConnection<Sqlite>>,
    ) {
        let deliveries: Vec<&Delivery> = batch.iter().map(|waiting| &waiting.delivery).collect();
        let mut answers = match self.receive_all(&deliveries, writer).await {
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
