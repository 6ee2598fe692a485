//! What the forge told, kept by content: listings of trees, digests and bytes of blobs.
//!
//! Invariant: everything here is keyed by a hash of its content, so that a row is never out of date and
//! losing one costs a request.

use std::collections::BTreeMap;

use sqlx::Row as _;

use crate::model::{BlobDigest, FileDigest, RepoName, Sha};

use super::queue::json;
use super::{Store, StoreError, prune};

/// Listings kept for a repository, and bytes of them. The newest two are kept however large they are.
const LISTINGS: i64 = 16;
const LISTING_BYTES: i64 = 64 << 20;
/// Reading a listing is noted no more often; milliseconds.
const USE_NOTED_EVERY: i64 = 60_000;
/// Ids in one statement; SQLite allows 32,766 parameters.
pub(super) const CHUNK: usize = 500;

/// What is known of a blob without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobFacts {
    pub digest: BlobDigest,
    /// It begins with `#!`.
    pub shebang: bool,
}

/// The name that tables are keyed by.
pub(super) fn repo_key(repo: &RepoName) -> String {
    repo.as_str().to_ascii_lowercase()
}

pub(super) fn placeholders(count: usize) -> String {
    let mut text = "?,".repeat(count);
    text.pop();
    text
}

pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Database(sqlx::Error::Decode(format!("{what} is damaged").into()))
}

impl Store {
    /// The listing of a tree as [`Store::put_listing`] got it. It counts as used now.
    pub async fn listing(&self, repo: &RepoName, id: &Sha) -> Result<Option<Vec<u8>>, StoreError> {
        let (repo, now) = (repo_key(repo), self.now_ms());
        let row = sqlx::query(
            "SELECT entries, used_at FROM tree_listing WHERE repository = ?1 AND id = ?2",
        )
        .bind(&repo)
        .bind(id.as_str())
        .fetch_optional(self.reader())
        .await?;
        let Some(row) = row else { return Ok(None) };
        if now - row.try_get::<i64, _>("used_at")? > USE_NOTED_EVERY {
            let mut tx = self.begin().await?;
            sqlx::query("UPDATE tree_listing SET used_at = ?3 WHERE repository = ?1 AND id = ?2")
                .bind(&repo)
                .bind(id.as_str())
                .bind(now)
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        }
        Ok(Some(row.try_get("entries")?))
    }

    /// The listings of a repository that were used last, the newest first.
    pub async fn newest_listings(
        &self,
        repo: &RepoName,
        most: u32,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT entries FROM tree_listing WHERE repository = ?1
             ORDER BY used_at DESC, id LIMIT ?2",
        )
        .bind(repo_key(repo))
        .bind(most)
        .fetch_all(self.reader())
        .await?)
    }

    /// Keeps a listing; drops those of the repository that were not used for the longest time.
    pub async fn put_listing(
        &self,
        repo: &RepoName,
        id: &Sha,
        entries: &[u8],
    ) -> Result<(), StoreError> {
        let (repo, now) = (repo_key(repo), self.now_ms());
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO tree_listing (repository, id, entries, used_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (repository, id) DO UPDATE
                 SET entries = excluded.entries, used_at = excluded.used_at",
        )
        .bind(&repo)
        .bind(id.as_str())
        .bind(entries)
        .bind(now)
        .execute(&mut *tx)
        .await?;
        sqlx::query(
            "DELETE FROM tree_listing WHERE repository = ?1 AND id NOT IN
                 (SELECT id FROM (
                     SELECT id,
                         row_number() OVER newest AS place,
                         sum(length(entries)) OVER newest AS bytes
                     FROM tree_listing WHERE repository = ?1
                     WINDOW newest AS (ORDER BY used_at DESC, id ROWS UNBOUNDED PRECEDING))
                  WHERE place <= 2 OR place <= ?2 AND bytes <= ?3)",
        )
        .bind(&repo)
        .bind(LISTINGS)
        .bind(LISTING_BYTES)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// What is known of `ids`; those without an entry are not known. What is found counts as used now.
    pub async fn blob_facts(&self, ids: &[Sha]) -> Result<BTreeMap<Sha, BlobFacts>, StoreError> {
        let mut found = BTreeMap::new();
        let (now, mut used) = (self.now_ms(), Vec::new());
        for chunk in ids.chunks(CHUNK) {
            let sql = format!(
                "SELECT id, sha256, lf_sha256, lfs_oid, shebang, used_at FROM blob_digest WHERE id IN ({})",
                placeholders(chunk.len())
            );
            let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
            for id in chunk {
                query = query.bind(id.as_str());
            }
            for row in query.fetch_all(self.reader()).await? {
                let text = |column: &str| row.try_get::<Option<String>, _>(column);
                let digest = |column: &str| match text(column)? {
                    Some(text) => text.parse().map(Some).map_err(|_| damaged("a digest")),
                    None => Ok(None),
                };
                let id: String = row.try_get("id")?;
                let facts = BlobFacts {
                    digest: BlobDigest {
                        sha256: digest("sha256")?.ok_or_else(|| damaged("a digest"))?,
                        lf_sha256: digest("lf_sha256")?,
                        lfs_oid: digest("lfs_oid")?,
                    },
                    shebang: row.try_get("shebang")?,
                };
                if now - row.try_get::<i64, _>("used_at")? > prune::USE_NOTED_EVERY {
                    used.push(id.clone());
                }
                found.insert(id.parse().map_err(|_| damaged("a blob's id"))?, facts);
            }
        }
        if !used.is_empty() {
            let mut tx = self.begin().await?;
            sqlx::query(
                "UPDATE blob_digest SET used_at = ?2
                 WHERE id IN (SELECT value FROM json_each(?1))",
            )
            .bind(json(&used)?)
            .bind(now)
            .execute(&mut *tx)
            .await?;
            tx.commit().await?;
        }
        Ok(found)
    }

    pub async fn put_blob_facts(&self, facts: &[(Sha, BlobFacts)]) -> Result<(), StoreError> {
        if facts.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        for (id, facts) in facts {
            sqlx::query(
                "INSERT INTO blob_digest (id, sha256, lf_sha256, lfs_oid, shebang, used_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING",
            )
            .bind(id.as_str())
            .bind(facts.digest.sha256.as_str())
            .bind(facts.digest.lf_sha256.as_ref().map(FileDigest::as_str))
            .bind(facts.digest.lfs_oid.as_ref().map(FileDigest::as_str))
            .bind(facts.shebang)
            .bind(self.now_ms())
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Bytes of a contract or attribute file. They count as used now.
    pub async fn blob_bytes(&self, id: &Sha) -> Result<Option<Vec<u8>>, StoreError> {
        let row = sqlx::query("SELECT bytes, used_at FROM blob_bytes WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(self.reader())
            .await?;
        let Some(row) = row else { return Ok(None) };
        let now = self.now_ms();
        if now - row.try_get::<i64, _>("used_at")? > prune::USE_NOTED_EVERY {
            let mut tx = self.begin().await?;
            sqlx::query("UPDATE blob_bytes SET used_at = ?2 WHERE id = ?1")
                .bind(id.as_str())
                .bind(now)
                .execute(&mut *tx)
                .await?;
            tx.commit().await?;
        }
        Ok(Some(row.try_get("bytes")?))
    }

    pub async fn put_blob_bytes(&self, id: &Sha, bytes: &[u8]) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO blob_bytes (id, bytes, used_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at",
        )
        .bind(id.as_str())
        .bind(bytes)
        .bind(self.now_ms())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }
}
