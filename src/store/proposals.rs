//! Commits that this App made at people's commands.

use sqlx::Row as _;

use crate::model::{Person, PrNumber, RepoName, Sha};

use super::cache::repo_key;
use super::{Store, StoreError};

/// A commit, before its branch points at it.
#[derive(Debug, Clone, Copy)]
pub struct NewProposal<'a> {
    pub repo: &'a RepoName,
    pub head: &'a Sha,
    pub branch: &'a str,
    /// The command, as it was written.
    pub command: &'a str,
}

impl Store {
    /// Notes that the commit is made for these people.
    pub async fn put_proposal(
        &self,
        new: NewProposal<'_>,
        people: &[Person],
    ) -> Result<(), StoreError> {
        let now = self.now_ms();
        let mut tx = self.begin().await?;
        for person in people {
            sqlx::query(
                "INSERT INTO proposal (repository, head, branch, account, login, command, made_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )
            .bind(repo_key(new.repo))
            .bind(new.head.as_str())
            .bind(new.branch)
            .bind(person.id.cast_signed())
            .bind(&person.login)
            .bind(new.command)
            .bind(now)
            .execute(&mut *tx)
            .await?;
        }
        Ok(tx.commit().await?)
    }

    /// Open pull requests that the account opened, as their newest decision tells, or pushed to; each with
    /// that decision.
    pub async fn brought_by(
        &self,
        repo: &RepoName,
        (login, id): (&str, u64),
    ) -> Result<Vec<(PrNumber, Option<String>)>, StoreError> {
        let rows = sqlx::query(
            "SELECT pull, decision FROM (
                 SELECT open.pull AS pull,
                     (SELECT decision FROM evaluation AS newest
                      WHERE newest.repository = open.repository AND newest.pull = open.pull
                        AND newest.decision IS NOT NULL
                      ORDER BY created_at DESC, id DESC LIMIT 1) AS decision,
                     EXISTS (SELECT 1 FROM pusher
                      WHERE pusher.repository = open.repository AND pusher.pull = open.pull
                        AND pusher.account = ?3) AS pushed
                 FROM pull_state AS open WHERE open.repository = ?1)
             WHERE pushed OR lower(json_extract(decision, '$.author.login')) = lower(?2)
             ORDER BY pull",
        )
        .bind(repo_key(repo))
        .bind(login)
        .bind(id.cast_signed())
        .fetch_all(self.reader())
        .await?;
        rows.iter()
            .map(|row| {
                let number: i64 = row.try_get("pull")?;
                Ok((PrNumber(number.cast_unsigned()), row.try_get("decision")?))
            })
            .collect()
    }

    /// At whose command the commit was made, by account; nobody's when this App did not make it.
    pub async fn proposers(&self, repo: &RepoName, head: &Sha) -> Result<Vec<Person>, StoreError> {
        let rows = sqlx::query(
            "SELECT account, login FROM proposal WHERE repository = ?1 AND head = ?2
             ORDER BY account",
        )
        .bind(repo_key(repo))
        .bind(head.as_str())
        .fetch_all(self.reader())
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Person {
                    id: row.try_get::<i64, _>("account")?.cast_unsigned(),
                    login: row.try_get("login")?,
                    is_bot: false,
                })
            })
            .collect()
    }
}
