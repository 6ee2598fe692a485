//! What is deleted because nobody asks for it any more.
//!
//! Invariant: nothing that can't be had again is deleted while it may still be asked for. Evidence, commands and
//! what the newest evaluation of a pull request, or of an open one's head, decided are kept.

use super::{Store, StoreError};

const DAY: i64 = 24 * 60 * 60 * 1_000;
/// Sources, bytes and listings that were not used for so long cost a request when they are wanted again.
const UNUSED: i64 = 60 * DAY;
/// Digests are small, and dear where a repository holds many fixtures.
const UNUSED_DIGEST: i64 = 180 * DAY;
/// What approvals rest on is needed while a pull request is open, and for some time after: it may be opened
/// again. Without it nothing that was said counts any more.
const CLOSED: i64 = 180 * DAY;
/// What is counted over time: a year can be set against the one before.
const COUNTED: i64 = 2 * 365 * DAY;
/// Bytes of each kind of them that are kept at most, those used last.
const KEPT_BYTES: i64 = 256 << 20;
/// A reading is noted no more often.
pub(super) const USE_NOTED_EVERY: i64 = DAY;

/// Each takes the time before which rows are old.
const AGED: &[(&str, i64)] = &[
    (
        "DELETE FROM job WHERE state = 'done' AND updated_at < ?1",
        7 * DAY,
    ),
    // A pull request that can't be judged is tried again by every sweep.
    (
        "DELETE FROM job WHERE state = 'dead' AND updated_at < ?1",
        30 * DAY,
    ),
    (
        "DELETE FROM head_lease WHERE ?1 > 0 AND NOT EXISTS (
             SELECT 1 FROM job WHERE id = head_lease.job AND fence = head_lease.fence
               AND state = 'running')",
        0,
    ),
    // The forge redelivers for a week at most.
    ("DELETE FROM delivery WHERE received_at < ?1", 30 * DAY),
    ("DELETE FROM merge_group WHERE seen_at < ?1", 30 * DAY),
    (
        "DELETE FROM merge_group_member WHERE ?1 > 0 AND NOT EXISTS (
             SELECT 1 FROM merge_group AS one
             WHERE one.repository = merge_group_member.repository
               AND one.head = merge_group_member.head)",
        0,
    ),
    // No event tells of them again.
    (
        "DELETE FROM foreign_run WHERE seen_at < ?1 AND NOT EXISTS (
             SELECT 1 FROM pull_state AS open
             WHERE open.repository = foreign_run.repository AND open.head = foreign_run.head)",
        90 * DAY,
    ),
    ("DELETE FROM rerun WHERE asked_at < ?1", 30 * DAY),
    ("DELETE FROM patch WHERE judged_at < ?1", COUNTED),
    ("DELETE FROM ledger_size WHERE day * 86400000 < ?1", COUNTED),
    (
        "DELETE FROM shown WHERE published_at < ?1 AND NOT EXISTS (
             SELECT 1 FROM pull_state AS open
             WHERE open.repository = shown.repository AND open.pull = shown.pull)",
        CLOSED,
    ),
    // Who pushed is not known from then on, and is not taken for nobody.
    (
        "INSERT INTO pusher (repository, pull, head, account, seen_at)
         SELECT repository, pull, max(head), 0, max(seen_at) FROM pusher
         WHERE account <> 0 AND seen_at < ?1 AND NOT EXISTS (
             SELECT 1 FROM pull_state AS open
             WHERE open.repository = pusher.repository AND open.pull = pusher.pull)
         GROUP BY repository, pull ON CONFLICT DO NOTHING",
        CLOSED,
    ),
    (
        "DELETE FROM pusher
         WHERE account <> 0 AND seen_at < ?1 AND NOT EXISTS (
             SELECT 1 FROM pull_state AS open
             WHERE open.repository = pusher.repository AND open.pull = pusher.pull)",
        CLOSED,
    ),
    ("DELETE FROM blob_digest WHERE used_at < ?1", UNUSED_DIGEST),
    ("DELETE FROM tree_listing WHERE used_at < ?1", UNUSED),
    ("DELETE FROM blob_bytes WHERE used_at < ?1", UNUSED),
    ("DELETE FROM source_facts WHERE used_at < ?1", UNUSED),
    // A Snapshot is kept for questions about a verdict; they come early.
    (
        "UPDATE evaluation SET snapshot = NULL
         WHERE state = 'done' AND snapshot IS NOT NULL AND updated_at < ?1",
        90 * DAY,
    ),
    (
        "DELETE FROM evaluation
         WHERE state = 'done' AND updated_at < ?1 AND EXISTS (
             SELECT 1 FROM evaluation AS newer
             WHERE newer.repository = evaluation.repository AND newer.pull = evaluation.pull
               AND (newer.created_at, newer.id) > (evaluation.created_at, evaluation.id))
             AND NOT EXISTS (
                 SELECT 1 FROM pull_state AS open
                 WHERE open.repository = evaluation.repository AND open.head = evaluation.head)",
        90 * DAY,
    ),
];

/// Each takes the bytes that are kept.
const SIZED: &[&str] = &[
    "DELETE FROM blob_bytes WHERE id IN (
         SELECT id FROM (
             SELECT id, sum(length(bytes)) OVER (
                 ORDER BY used_at DESC, id ROWS UNBOUNDED PRECEDING) AS total
             FROM blob_bytes)
         WHERE total > ?1)",
    "DELETE FROM source_facts WHERE (id, language, version) IN (
         SELECT id, language, version FROM (
             SELECT id, language, version, sum(octet_length(facts)) OVER (
                 ORDER BY used_at DESC, id, language, version ROWS UNBOUNDED PRECEDING) AS total
             FROM source_facts)
         WHERE total > ?1)",
];

impl Store {
    /// Deletes what is old or too much. Gives the number of rows.
    pub async fn prune(&self) -> Result<u64, StoreError> {
        self.prune_to(KEPT_BYTES).await
    }

    /// [`Store::prune`] with another limit on the bytes of each cache.
    pub async fn prune_to(&self, bytes: i64) -> Result<u64, StoreError> {
        let now = self.now_ms();
        let mut rows = 0;
        let aged = AGED.iter().map(|(sql, age)| (*sql, now - age));
        let sized = SIZED.iter().map(|sql| (*sql, bytes));
        for (sql, bound) in aged.chain(sized) {
            // One transaction each: whoever writes meanwhile does not wait for all of them.
            let mut tx = self.begin().await?;
            let done = sqlx::query(sql).bind(bound).execute(&mut *tx).await?;
            tx.commit().await?;
            rows += done.rows_affected();
        }
        Ok(rows)
    }
}
