//! What the sources of blobs say, kept by content.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::Row as _;

use crate::gate::sources::Wanted;
use crate::model::SourceFacts;
use crate::source;

use super::cache::{CHUNK, damaged, placeholders};
use super::{Store, StoreError, prune};

impl Store {
    /// What is known of `wanted`; those without an entry are not known. What is found counts as used now.
    pub async fn source_facts(
        &self,
        wanted: &[Wanted],
    ) -> Result<BTreeMap<Wanted, SourceFacts>, StoreError> {
        let mut found = BTreeMap::new();
        let now = self.now_ms();
        for chunk in wanted.chunks(CHUNK) {
            let mut unnoted = Vec::new();
            let sql = format!(
                "SELECT id, language, facts, used_at FROM source_facts WHERE version = ? AND id IN ({})",
                placeholders(chunk.len())
            );
            let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(source::VERSION);
            for wanted in chunk {
                query = query.bind(wanted.id.as_str());
            }
            let asked: BTreeMap<(&str, String), &Wanted> = chunk
                .iter()
                .map(|wanted| ((wanted.id.as_str(), way(wanted)), wanted))
                .collect();
            for row in query.fetch_all(self.reader()).await? {
                let (id, language): (&str, String) = (row.try_get("id")?, row.try_get("language")?);
                if now - row.try_get::<i64, _>("used_at")? > prune::USE_NOTED_EVERY {
                    unnoted.push(id.to_owned());
                }
                if let Some(wanted) = asked.get(&(id, language)) {
                    let text: &str = row.try_get("facts")?;
                    let facts = serde_json::from_str(text).map_err(|_| damaged("a source"))?;
                    found.insert((*wanted).clone(), facts);
                }
            }
            self.note_sources(&unnoted, now).await?;
        }
        Ok(found)
    }

    async fn note_sources(&self, ids: &[String], now: i64) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE source_facts SET used_at = ? WHERE id IN ({})",
            placeholders(ids.len())
        );
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(now);
        for id in ids {
            query = query.bind(id);
        }
        let mut tx = self.begin().await?;
        query.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }

    pub async fn put_source_facts(
        &self,
        facts: &[(Wanted, Arc<SourceFacts>)],
    ) -> Result<(), StoreError> {
        if facts.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        for (wanted, facts) in facts {
            let text = serde_json::to_string(&**facts).map_err(|_| damaged("a source"))?;
            sqlx::query(
                "INSERT INTO source_facts (id, language, version, facts, used_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (id, language, version) DO NOTHING",
            )
            .bind(wanted.id.as_str())
            .bind(way(wanted))
            .bind(source::VERSION)
            .bind(text)
            .bind(self.now_ms())
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// The name of the language in the table.
fn way(wanted: &Wanted) -> String {
    format!("{:?}", wanted.language)
}
