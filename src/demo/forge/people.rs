//! What people do on the forge beside pushing: they have roles, comment, and press buttons.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::model::{Reaction, Review, State};
use super::{Forge, Webhook, installation_json, routes, shape};
use crate::model::Sha;

impl Forge {
    /// Puts accounts into a team of an organisation: `org/team`.
    pub fn set_team(&self, team: &str, logins: &[&str]) {
        let logins = logins.iter().map(|login| (*login).to_owned()).collect();
        self.shared.state().teams.insert(team.to_owned(), logins);
    }

    /// Gives a role in a repository, or takes it away.
    pub fn set_role(&self, full_name: &str, login: &str, role: Option<&'static str>) -> Result<()> {
        let mut state = self.shared.state();
        let login = state.user(login).login;
        let repo = state.repo_mut(full_name).context("no such repository")?;
        match role {
            Some(role) => repo.people.roles.insert(login, role),
            None => repo.people.roles.remove(&login),
        };
        Ok(())
    }

    /// What was reacted to a comment, in order.
    pub fn reactions(&self, full_name: &str, comment: u64) -> Vec<String> {
        let state = self.shared.state();
        let all = state
            .repo(full_name)
            .map(|repo| &repo.people.reactions[..])
            .unwrap_or_default();
        let of_comment = all.iter().filter(|reaction| reaction.comment == comment);
        of_comment
            .map(|Reaction { content, .. }| content.clone())
            .collect()
    }

    /// Takes a comment away.
    pub fn delete_comment(&self, full_name: &str, comment: u64) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        repo.comments.retain(|known| known.id != comment);
        Ok(())
    }

    /// A signed `issue_comment` webhook about a comment as it stands.
    pub fn comment_webhook(&self, full_name: &str, comment: u64, action: &str) -> Result<Webhook> {
        let mut state = self.shared.state();
        let repo = state.repo(full_name).context("no such repository")?;
        let found = repo.comments.iter().find(|known| known.id == comment);
        let found = found.context("no such comment")?.clone();
        let described = shape::comment(&state, repo, &found);
        let url = format!(
            "{}/repos/{full_name}/pulls/{}",
            state.base_url, found.number
        );
        let payload = json!({
            "action": action,
            "issue": { "number": found.number, "state": "open", "pull_request": { "url": url } },
            "sender": described["user"],
            "comment": described,
        });
        self.signed(&mut state, full_name, "issue_comment", payload)
    }

    /// Reviews a pull request as it stands; gives the review's id.
    pub fn review(&self, full_name: &str, number: u64, login: &str, state: &str) -> Result<u64> {
        let head = self.head(full_name, number)?;
        let mut known = self.shared.state();
        let (id, now) = (known.next_id(), known.now());
        let author = known.user(login).login;
        let repo = known.repo_mut(full_name).context("no such repository")?;
        repo.people.reviews.push(Review {
            id,
            number,
            author,
            state: state.to_owned(),
            head,
            submitted_at: now,
        });
        Ok(id)
    }

    /// Dismisses a review: its verdict is gone.
    pub fn dismiss_review(&self, full_name: &str, review: u64) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        let mut reviews = repo.people.reviews.iter_mut();
        let found = reviews.find(|known| known.id == review);
        "DISMISSED".clone_into(&mut found.context("no such review")?.state);
        Ok(())
    }

    /// A signed `pull_request_review` webhook about a review as it stands.
    pub fn review_webhook(&self, full_name: &str, review: u64, action: &str) -> Result<Webhook> {
        let mut state = self.shared.state();
        let repo = state.repo(full_name).context("no such repository")?;
        let mut reviews = repo.people.reviews.iter();
        let found = reviews.find(|known| known.id == review);
        let found = found.context("no such review")?.clone();
        let mut described = shape::review(&state, repo, &found);
        // Events write it small.
        described["state"] = found.state.to_lowercase().into();
        let pull = routes::pull_json(&mut state, full_name, found.number)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        let payload = json!({
            "action": action,
            "pull_request": pull,
            "sender": described["user"],
            "review": described,
        });
        self.signed(&mut state, full_name, "pull_request_review", payload)
    }

    /// A signed `check_run` webhook about the newest run of a name on a commit.
    pub fn run_webhook(
        &self,
        full_name: &str,
        (head, name): (&Sha, &str),
        action: &str,
        (sender, button): (&str, Option<&str>),
    ) -> Result<Webhook> {
        let mut state = self.shared.state();
        let sender = state.user(sender);
        let repo = state.repo(full_name).context("no such repository")?;
        let mut runs = repo.check_runs.iter().rev();
        let run = runs.find(|run| run.head == *head && run.name == name);
        let run = shape::check_run(&state, repo, run.context("no such run")?);
        let mut payload = json!({
            "action": action,
            "check_run": run,
            "sender": shape::user(&state.base_url, &sender),
        });
        if let Some(button) = button {
            payload["requested_action"] = json!({ "identifier": button });
        }
        self.signed(&mut state, full_name, "check_run", payload)
    }

    /// Adds what every payload has, and signs it.
    pub(super) fn signed(
        &self,
        state: &mut State,
        full_name: &str,
        event: &str,
        mut payload: Value,
    ) -> Result<Webhook> {
        payload["repository"] = routes::repository_json(state, full_name)
            .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        if let Some(installation) = state.installation_of(full_name) {
            payload["installation"] = installation_json(installation.id);
        }
        Webhook::signed(event, &payload, &self.webhook_secret)
    }
}
