//! What other Apps do at the same commits, and which checks count.

use anyhow::{Context as _, Result};

use super::Forge;
use super::model::{CheckRun, Required};
use crate::model::Sha;

impl Forge {
    /// A green check-run of another App; gives its id.
    pub fn run_by(&self, full_name: &str, app: u64, (head, name): (&Sha, &str)) -> Result<u64> {
        let mut state = self.shared.state();
        let (now, id) = (state.now(), state.next_id());
        let suite = state.suite(full_name, app, head);
        let run = CheckRun {
            id,
            app,
            name: name.to_owned(),
            head: head.clone(),
            suite,
            status: "completed".to_owned(),
            conclusion: Some("success".to_owned()),
            external_id: None,
            details_url: None,
            title: None,
            summary: None,
            text: None,
            annotations: Vec::new(),
            actions: Vec::new(),
            started_at: Some(now),
            completed_at: Some(now),
        };
        let repo = state.repo_mut(full_name).context("no such repository")?;
        repo.check_runs.push(run);
        Ok(id)
    }

    /// Its App gives a check-run another name.
    pub fn rename_run(&self, full_name: &str, id: u64, name: &str) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        let mut runs = repo.check_runs.iter_mut();
        let run = runs.find(|run| run.id == id).context("no such run")?;
        name.clone_into(&mut run.name);
        Ok(())
    }

    /// Sets what the repository's branches require.
    pub fn require(&self, full_name: &str, required: Vec<Required>) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        repo.required = required;
        Ok(())
    }
}
