//! How full the queue is, for those who watch the server. Reads the indexes of jobs that are not done,
//! so that a week of done ones costs nothing.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::sqlite::SqlitePool;

use crate::metrics::QueueLevels;

use super::{Store, StoreError};

impl Store {
    pub async fn queue_levels(&self) -> Result<QueueLevels, StoreError> {
        queue_levels(self.reader(), self.now_ms()).await
    }
}

/// `now` as the tables keep times.
pub(super) async fn queue_levels(pool: &SqlitePool, now: i64) -> Result<QueueLevels, StoreError> {
    let row = sqlx::query(
        "SELECT
             (SELECT count(*) FROM job WHERE state = 'queued') AS queued,
             (SELECT count(*) FROM job WHERE state = 'running') AS running,
             (SELECT count(*) FROM job WHERE state = 'dead') AS dead,
             (SELECT min(created_at) FROM job WHERE state = 'queued') AS oldest,
             (SELECT min(run_at) FROM job WHERE state = 'queued') AS due",
    )
    .fetch_one(pool)
    .await?;
    let count = |name| row.try_get::<i64, _>(name).map(i64::cast_unsigned);
    let since = |name| {
        row.try_get::<Option<i64>, _>(name).map(|at| {
            let age = now.saturating_sub(at.unwrap_or(now));
            Duration::from_millis(u64::try_from(age).unwrap_or(0))
        })
    };
    Ok(QueueLevels {
        queued: count("queued")?,
        running: count("running")?,
        dead: count("dead")?,
        oldest: since("oldest")?,
        longest_wait: since("due")?,
    })
}
