//! Repositories that got another name, or another owner: what is kept goes along.
//!
//! Invariant: the rows under a name are those of one repository, the one that has the name now.

use sqlx::{Sqlite, Transaction};

use crate::model::RepoName;

use super::cache::repo_key;
use super::{RepoKey, Store, StoreError};

/// Of one table: what goes from the name `?1` to `?2`, and what is left because the new name has it.
macro_rules! moves {
    ($($table:literal: $column:literal),* $(,)?) => {
        &[$((
            concat!("UPDATE OR IGNORE ", $table, " SET ", $column, " = ?2 WHERE ", $column, " = ?1"),
            concat!("DELETE FROM ", $table, " WHERE ", $column, " = ?1"),
        )),*]
    };
}

const MOVES: &[(&str, &str)] = moves! {
    "tree_listing": "repository",
    "repository": "name",
    "agent_evidence": "repository",
    "evaluation": "repository",
    "pull_comment": "repository",
    "pull_state": "repository",
    "ask": "repository",
    "shown": "repository",
    "acceptance": "repository",
    "pusher": "repository",
    "branch_state": "repository",
    "lifted": "repository",
    "merge_group": "repository",
    "merge_group_member": "repository",
    "foreign_run": "repository",
    "branch_rule": "repository",
    "rerun": "repository",
    "proposal": "repository",
    "patch": "repository",
    "ledger_size": "repository",
    "void_row": "repository",
    "tracking_issue": "repository",
};

/// What is not worth keeping for a repository that is called nobody knows what.
const PASSING: &[&str] = &[
    "DELETE FROM pull_state WHERE repository = ?1",
    "DELETE FROM branch_state WHERE repository = ?1",
    "DELETE FROM merge_group WHERE repository = ?1",
    "DELETE FROM merge_group_member WHERE repository = ?1",
    "DELETE FROM branch_rule WHERE repository = ?1",
    "DELETE FROM ledger_size WHERE repository = ?1",
    "DELETE FROM void_row WHERE repository = ?1",
    "DELETE FROM tree_listing WHERE repository = ?1",
    "DELETE FROM repository WHERE name = ?1",
];

impl Store {
    /// Notes that the forge's repository `id` is called as `at` says, and brings what was kept under another
    /// name of it along; under `was` too, when the forge said that this leads there. Jobs that run under
    /// the old name lose their leases, `own` excepted. Gives whether there was anything to do.
    pub async fn name_repository(
        &self,
        id: u64,
        at: &RepoKey,
        was: Option<&RepoName>,
        own: Option<i64>,
    ) -> Result<bool, StoreError> {
        let name = repo_key(&at.repo);
        let was = was.map(repo_key).filter(|was| *was != name);
        let known: Option<String> =
            sqlx::query_scalar("SELECT name FROM repository_name WHERE id = ?1")
                .bind(id.cast_signed())
                .fetch_optional(self.reader())
                .await?;
        if was.is_none() && known.as_ref() == Some(&name) {
            return Ok(false);
        }
        let mut tx = self.begin().await?;
        make_room(&mut tx, id, &name).await?;
        for old in known.iter().chain(&was).filter(|old| **old != name) {
            self.end_jobs(&mut tx, old, own).await?;
            move_rows(&mut tx, old, &name).await?;
        }
        sqlx::query("UPDATE pull_state SET installation = ?2 WHERE repository = ?1")
            .bind(&name)
            .bind(at.installation.0.cast_signed())
            .execute(&mut *tx)
            .await?;
        sqlx::query(
            "INSERT INTO repository_name (id, name) VALUES (?1, ?2)
             ON CONFLICT (id) DO UPDATE SET name = excluded.name",
        )
        .bind(id.cast_signed())
        .bind(&name)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        self.wake();
        Ok(true)
    }

    /// Jobs at work under a name that is none any more go back to the queue, where they find out.
    async fn end_jobs(
        &self,
        tx: &mut Transaction<'static, Sqlite>,
        name: &str,
        own: Option<i64>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE job SET lease_until = NULL, run_at = ?3, updated_at = ?3,
                 err = 'the repository has another name now',
                 state = CASE WHEN EXISTS (
                     SELECT 1 FROM job AS next
                     WHERE next.kind = job.kind AND next.key = job.key AND next.state = 'queued')
                 THEN 'done' ELSE 'queued' END
             WHERE state = 'running' AND id <> ?2
               AND (key = ?1 OR substr(key, 1, length(?1) + 1) IN (?1 || '#', ?1 || '@', ?1 || ':'))",
        )
        .bind(name)
        .bind(own.unwrap_or(0))
        .bind(self.now_ms())
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

/// Puts aside what another repository left under the name that `id` has now.
async fn make_room(
    tx: &mut Transaction<'static, Sqlite>,
    id: u64,
    name: &str,
) -> Result<(), StoreError> {
    let other: Option<i64> =
        sqlx::query_scalar("SELECT id FROM repository_name WHERE name = ?1 AND id <> ?2")
            .bind(name)
            .bind(id.cast_signed())
            .fetch_optional(&mut **tx)
            .await?;
    let Some(other) = other else { return Ok(()) };
    let aside = format!("#{other}");
    for statement in PASSING {
        sqlx::query(*statement)
            .bind(name)
            .execute(&mut **tx)
            .await?;
    }
    move_rows(tx, name, &aside).await?;
    sqlx::query("UPDATE repository_name SET name = ?2 WHERE id = ?1")
        .bind(other)
        .bind(&aside)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn move_rows(
    tx: &mut Transaction<'static, Sqlite>,
    old: &str,
    new: &str,
) -> Result<(), StoreError> {
    for statement in [
        // Two open runs for one head can't be: the one of the new name is the newer.
        "UPDATE evaluation SET state = 'done', conclusion = 'cancelled'
         WHERE repository = ?1 AND state = 'open' AND EXISTS (
             SELECT 1 FROM evaluation AS newer
             WHERE newer.repository = ?2 AND newer.state = 'open' AND newer.head = evaluation.head
               AND newer.check_name = evaluation.check_name)",
        "DELETE FROM command WHERE ask IN (
             SELECT here.id FROM ask AS here JOIN ask AS there
             ON there.repository = ?2 AND there.source = here.source WHERE here.repository = ?1)",
    ] {
        sqlx::query(statement)
            .bind(old)
            .bind(new)
            .execute(&mut **tx)
            .await?;
    }
    sqlx::query("DELETE FROM head_lease WHERE repository = ?1")
        .bind(old)
        .execute(&mut **tx)
        .await?;
    for (update, rest) in MOVES {
        sqlx::query(*update)
            .bind(old)
            .bind(new)
            .execute(&mut **tx)
            .await?;
        sqlx::query(*rest).bind(old).execute(&mut **tx).await?;
    }
    Ok(())
}
