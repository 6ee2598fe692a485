//! What people and agents do on the forge: make repositories, push, open pull requests. No webhook is
//! sent by any of it; see [`Forge::pull_webhook`].

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};

use super::Forge;
use super::git::{Bare, FileChange, Signature};
use super::model::{Access, Comment, Installation, Pull, Repo, State, User};
use super::shape;
use crate::model::Sha;

/// Rights that the App asks for.
const RIGHTS: &[(&str, Access)] = &[
    ("checks", Access::Write),
    ("contents", Access::Read),
    ("issues", Access::Write),
    ("merge_queues", Access::Read),
    ("metadata", Access::Read),
    ("pull_requests", Access::Write),
];

/// A pull request to open.
#[derive(Debug, Clone)]
pub struct NewPull<'a> {
    pub head: &'a str,
    pub base: &'a str,
    /// Login; `…[bot]` is a bot.
    pub author: &'a str,
    pub title: &'a str,
    pub body: Option<&'a str>,
    pub draft: bool,
    pub labels: &'a [&'a str],
}

impl<'a> NewPull<'a> {
    /// A pull request into `main` without any extras.
    pub fn new(head: &'a str, author: &'a str, title: &'a str) -> Self {
        Self {
            head,
            base: "main",
            author,
            title,
            body: None,
            draft: false,
            labels: &[],
        }
    }
}

impl Forge {
    /// Makes a repository whose `main` has one commit with `files`, and installs the App on it.
    pub fn create_repo<I>(&self, full_name: &str, files: I) -> Result<Sha>
    where
        I: IntoIterator,
        I::Item: Into<FileChange>,
    {
        let (owner, _) = full_name
            .split_once('/')
            .context("a repository is owner/name")?;
        let mut folder = self.git_dir(full_name);
        let mut state = self.shared.state();
        if folder.exists() {
            // One that has another name by now.
            folder.set_extension(format!("{}.git", state.next_id()));
        }
        let git = Bare::create(&folder)?;
        ensure!(
            state.repo(full_name).is_none(),
            "{full_name} is there already"
        );
        let now = state.now();
        let changes: Vec<FileChange> = files.into_iter().map(Into::into).collect();
        let author = state.user(owner);
        let id = git.commit(&[], &changes, "Start", &signature(&author), now)?;
        git.set_branch("main", &id)?;
        let repo = Repo {
            id: state.next_id(),
            full_name: full_name.to_owned(),
            private: false,
            default_branch: "main".to_owned(),
            allow_rebase_merge: false,
            git: Arc::new(git),
            signed: Default::default(),
            pulls: Default::default(),
            check_runs: Vec::new(),
            comments: Vec::new(),
            issues: Default::default(),
            people: Default::default(),
            required: Vec::new(),
            created_at: now,
        };
        state.repos.insert(full_name.to_lowercase(), repo);
        install(&mut state, owner, full_name);
        Ok(id)
    }

    /// Whether only some may read the repository; a new one is public.
    pub fn set_private(&self, full_name: &str, private: bool) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        repo.private = private;
        Ok(())
    }

    /// Where the bare repository lies.
    pub fn git_dir(&self, full_name: &str) -> std::path::PathBuf {
        self.folder
            .path()
            .join(format!("{}.git", full_name.replace('/', "+")))
    }

    /// Commits `changes` to a branch, which is made from the default branch if there is none.
    pub fn push<I>(&self, full_name: &str, branch: &str, changes: I, author: &str) -> Result<Sha>
    where
        I: IntoIterator,
        I::Item: Into<FileChange>,
    {
        // The branch in the message keeps equal changes of two branches apart.
        let message = format!("Change {branch}");
        self.push_with_message(full_name, branch, changes, author, &message)
    }

    /// [`Forge::push`] with a commit message of one's own (for its trailers).
    pub fn push_with_message<I>(
        &self,
        full_name: &str,
        branch: &str,
        changes: I,
        author: &str,
        message: &str,
    ) -> Result<Sha>
    where
        I: IntoIterator,
        I::Item: Into<FileChange>,
    {
        let changes: Vec<FileChange> = changes.into_iter().map(Into::into).collect();
        let mut state = self.shared.state();
        let (author, now) = (state.user(author), state.now());
        let repo = state.repo(full_name).context("no such repository")?;
        let parent = match repo.git.branch(branch)? {
            Some(tip) => tip,
            None => repo
                .git
                .branch(&repo.default_branch)?
                .context("no default branch")?,
        };
        let id = repo
            .git
            .commit(&[parent], &changes, message, &signature(&author), now)?;
        update_branch(&mut state, full_name, branch, &id)?;
        Ok(id)
    }

    /// Points a branch at a commit that the repository has already (as a forced push does).
    pub fn reset_branch(&self, full_name: &str, branch: &str, to: &Sha) -> Result<()> {
        update_branch(&mut self.shared.state(), full_name, branch, to)
    }

    /// The commit that a branch points at.
    pub fn branch(&self, full_name: &str, branch: &str) -> Result<Sha> {
        let state = self.shared.state();
        let repo = state.repo(full_name).context("no such repository")?;
        repo.git.branch(branch)?.context("no such branch")
    }

    /// The bytes of a file at a branch.
    pub fn file(&self, full_name: &str, branch: &str, path: &str) -> Result<Option<Vec<u8>>> {
        let state = self.shared.state();
        let repo = state.repo(full_name).context("no such repository")?;
        let tip = repo.git.branch(branch)?.context("no such branch")?;
        repo.git.file(&tip, path)
    }

    /// Opens a pull request; no webhook is sent.
    pub fn open_pull(&self, full_name: &str, new: NewPull<'_>) -> Result<u64> {
        open_pull(&mut self.shared.state(), full_name, new)
    }

    /// Changes a pull request; no webhook is sent.
    pub fn edit_pull(
        &self,
        full_name: &str,
        number: u64,
        edit: impl FnOnce(&mut Pull),
    ) -> Result<()> {
        let mut state = self.shared.state();
        let repo = state.repo_mut(full_name).context("no such repository")?;
        edit(
            repo.pulls
                .get_mut(&number)
                .context("no such pull request")?,
        );
        Ok(())
    }

    /// A pull request as it stands.
    pub fn pull(&self, full_name: &str, number: u64) -> Option<Pull> {
        let state = self.shared.state();
        state.repo(full_name)?.pulls.get(&number).cloned()
    }

    /// Message of the commit that a branch points at.
    pub fn message(&self, full_name: &str, branch: &str) -> Result<String> {
        let state = self.shared.state();
        let repo = state.repo(full_name).context("no such repository")?;
        let tip = repo.git.branch(branch)?.context("no such branch")?;
        let info = repo.git.commit_info(&tip)?.context("no such commit")?;
        Ok(info.message)
    }

    /// Head commit of a pull request.
    pub fn head(&self, full_name: &str, number: u64) -> Result<Sha> {
        let state = self.shared.state();
        let repo = state.repo(full_name).context("no such repository")?;
        let pull = repo.pulls.get(&number).context("no such pull request")?;
        repo.head_of(pull)?.context("no such head branch")
    }

    /// Somebody else's comment on a pull request; no webhook is sent.
    pub fn add_comment(
        &self,
        full_name: &str,
        number: u64,
        author: &str,
        body: &str,
    ) -> Result<u64> {
        let mut state = self.shared.state();
        let (now, id) = (state.now(), state.next_id());
        let author = state.user(author).login;
        let repo = state.repo_mut(full_name).context("no such repository")?;
        repo.comments.push(Comment {
            id,
            number,
            author,
            body: body.to_owned(),
            minimized: None,
            created_at: now,
            updated_at: now,
        });
        Ok(id)
    }
}

/// Opens a pull request.
pub(super) fn open_pull(state: &mut State, full_name: &str, new: NewPull<'_>) -> Result<u64> {
    let (now, id) = (state.now(), state.next_id());
    let author = state.user(new.author).login;
    let repo = state.repo_mut(full_name).context("no such repository")?;
    let recorded_base = repo.git.branch(new.base)?.context("no such base branch")?;
    repo.git.branch(new.head)?.context("no such head branch")?;
    let number = repo.next_number();
    let pull = Pull {
        id,
        number,
        title: new.title.to_owned(),
        body: new.body.map(str::to_owned),
        author,
        head_branch: new.head.to_owned(),
        kept_head: None,
        fork_gone: false,
        base_branch: new.base.to_owned(),
        draft: new.draft,
        open: true,
        labels: new.labels.iter().map(|label| (*label).to_owned()).collect(),
        created_at: now,
        updated_at: now,
        recorded_base,
        merge_delay: 0,
        behind: None,
        test_merge: None,
    };
    repo.pulls.insert(number, pull);
    Ok(number)
}

pub(super) fn signature(user: &User) -> Signature {
    Signature {
        name: user.login.clone(),
        email: shape::email_of(user),
    }
}

pub(super) fn install(state: &mut State, account: &str, full_name: &str) {
    let known = state
        .installations
        .values_mut()
        .find(|one| one.account == account);
    if let Some(installation) = known {
        installation.repositories.insert(full_name.to_owned());
        return;
    }
    let id = state.next_id();
    let rights = RIGHTS
        .iter()
        .map(|(name, access)| ((*name).to_owned(), *access));
    state.installations.insert(
        id,
        Installation {
            id,
            account: account.to_owned(),
            permissions: rights.collect(),
            repositories: [full_name.to_owned()].into(),
            suspended: false,
        },
    );
}

/// Moves a branch; the pull requests from it take notice, as they do of a push.
pub(super) fn update_branch(
    state: &mut State,
    full_name: &str,
    branch: &str,
    to: &Sha,
) -> Result<()> {
    let now = state.now();
    let repo = state.repo_mut(full_name).context("no such repository")?;
    repo.git.set_branch(branch, to)?;
    for pull in repo.pulls.values_mut() {
        if pull.open && pull.head_branch == branch {
            pull.updated_at = now;
            if let Some(tip) = repo.git.branch(&pull.base_branch)? {
                pull.recorded_base = tip;
            }
        }
    }
    Ok(())
}
