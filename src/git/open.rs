//! Opens a repository so that only its own objects and references have a say.
//!
//! Invariant: no configuration of the user or the machine, no environment variable, no replacement
//! object and no include file changes what is read from commits; nothing in the repository is ever
//! executed.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};
use gix::open::{Permissions, permissions};

use super::error::{GitError, one_line};
use super::packs::Bases;

/// Larger objects are not read into memory; bytes.
pub(super) const LARGEST_OBJECT: u64 = 512 * 1024 * 1024;

/// Opens the repository that holds `folder`. Objects that are written afterwards stay in memory.
///
/// A repository of another owner is read as well: unlike git, nothing here runs what a repository
/// names (drivers, hooks, monitors), which is what git's ownership check guards against.
pub(super) fn open(folder: &Path) -> Result<gix::Repository, GitError> {
    open_with(folder, Permissions::isolated())
}

/// The same, with the configuration of user and machine: what is ignored, line ends, filters. What the
/// repository's own configuration would run is still not run, and `GIT_*` variables are not read.
pub(super) fn open_as_user(folder: &Path) -> Result<gix::Repository, GitError> {
    let isolated = Permissions::isolated();
    let permissions = Permissions {
        env: permissions::Environment {
            home: gix::sec::Permission::Allow,
            xdg_config_home: gix::sec::Permission::Allow,
            ..isolated.env
        },
        config: permissions::Config {
            env: false,
            ..permissions::Config::all()
        },
        attributes: permissions::Attributes::all(),
    };
    open_with(folder, permissions)
}

fn open_with(folder: &Path, permissions: Permissions) -> Result<gix::Repository, GitError> {
    let io = |source| GitError::Io {
        path: folder.to_owned(),
        source,
    };
    let start = folder.canonicalize().map_err(io)?;
    let git_dir =
        start
            .ancestors()
            .find_map(repository_at)
            .ok_or_else(|| GitError::NoRepository {
                path: folder.to_owned(),
            })?;
    refuse_sha256(&git_dir)?;
    // Without a limit of our own, a repository that is not trusted whole gets one of 16 MiB.
    let limit = format!("gitoxide.objects.allocLimit={LARGEST_OBJECT}");
    let options = gix::open::Options::isolated()
        .permissions(permissions)
        .with(gix::sec::Trust::Reduced)
        .open_path_as_is(true)
        .config_overrides([
            "gitoxide.objects.noReplace=true",
            "core.useReplaceRefs=false",
            &limit,
        ]);
    let repository = options.open(&git_dir).map_err(|error| GitError::Open {
        path: git_dir.clone(),
        why: one_line(error),
    })?;
    let mut repository = repository.to_thread_local().with_object_memory();
    repository.objects.ignore_replacements = true;
    // Unpacked bases are known by their places in packs, which must stay what they are.
    repository.objects.prevent_pack_unload();
    let bases = Bases::new();
    repository
        .objects
        .set_pack_cache(move || Box::new(bases.clone()));
    Ok(repository)
}

/// The git directory when `folder` is a work tree (its `.git` a folder or a file) or a git directory.
fn repository_at(folder: &Path) -> Option<PathBuf> {
    [folder.join(".git"), folder.to_owned()]
        .into_iter()
        .find(|candidate| candidate.exists() && gix::discover::is_git(candidate).is_ok())
        .and_then(|found| {
            if found.is_file() {
                gix::discover::path::from_gitdir_file(&found).ok()
            } else {
                Some(found)
            }
        })
}

/// A SHA-256 repository is refused by name, before its objects look like garbage.
fn refuse_sha256(git_dir: &Path) -> Result<(), GitError> {
    let common = std::fs::read_to_string(git_dir.join("commondir"))
        .map_or_else(|_| git_dir.to_owned(), |text| git_dir.join(text.trim_end()));
    let path = common.join("config");
    let Ok(text) = std::fs::read(&path) else {
        return Ok(());
    };
    let Ok(config) = gix::config::File::try_from(text.as_bstr()) else {
        return Ok(());
    };
    match config.string("extensions.objectFormat") {
        Some(format) if format.eq_ignore_ascii_case(b"sha256") => Err(GitError::Sha256 {
            path: git_dir.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// A commit and the branch that it was named by.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub commit: ObjectId,
    /// Without remote and `refs/heads/`; the default branch's name when the base is a bare commit.
    pub branch: String,
}

/// The commit that `revision` names; tags are followed.
pub(super) fn commit(repo: &gix::Repository, revision: &str) -> Result<ObjectId, GitError> {
    let Ok(id) = repo.rev_parse_single(BStr::new(revision)) else {
        return Err(unresolved(repo, revision));
    };
    let object = id
        .object()
        .map_err(|error| GitError::object(format!("object {id}"), error))?;
    object
        .peel_to_kind(gix::objs::Kind::Commit)
        .map(|commit| commit.id)
        .map_err(|_| GitError::NoCommitNamed {
            revision: revision.to_owned(),
        })
}

/// Why `revision` names nothing, in words of ours.
fn unresolved(repo: &gix::Repository, revision: &str) -> GitError {
    let is_unborn = repo.head().is_ok_and(|head| head.is_unborn());
    if is_unborn && (revision == "HEAD" || has_no_reference(repo)) {
        return GitError::NoCommitYet;
    }
    let is_short_id = revision.len() < 40 && revision.bytes().all(|b| b.is_ascii_hexdigit());
    GitError::UnknownRevision {
        revision: revision.to_owned(),
        or: match is_short_id {
            true => ", or several ids begin so",
            false => "",
        },
    }
}

fn has_no_reference(repo: &gix::Repository) -> bool {
    repo.references()
        .is_ok_and(|found| found.all().is_ok_and(|mut all| all.next().is_none()))
}

/// The base: the revision given, or the upstream default branch.
pub(super) fn base(repo: &gix::Repository, revision: Option<&str>) -> Result<Base, GitError> {
    let default = default_branch(repo);
    let Some(revision) = revision else {
        let (reference, branch) = default.ok_or_else(|| match has_no_reference(repo) {
            true => GitError::NoCommitYet,
            false => GitError::NoDefaultBranch,
        })?;
        let commit = commit(repo, &reference)?;
        return Ok(Base { commit, branch });
    };
    let commit = commit(repo, revision)?;
    let named = repo.try_find_reference(revision).ok().flatten();
    let branch = named
        .and_then(|reference| branch_name(reference.name().as_bstr()))
        .or(default.map(|(_, branch)| branch))
        .unwrap_or_else(|| revision.to_owned());
    Ok(Base { commit, branch })
}

/// Full reference and branch name of the upstream default branch, else of the local one.
fn default_branch(repo: &gix::Repository) -> Option<(String, String)> {
    let exists = |name: &str| repo.try_find_reference(name).ok().flatten();
    let followed = exists("refs/remotes/origin/HEAD").and_then(|head| {
        let target = head
            .target()
            .try_name()?
            .as_bstr()
            .to_str()
            .ok()?
            .to_owned();
        exists(&target)?;
        let branch = branch_name(target.as_bytes().as_bstr())?;
        Some((target, branch))
    });
    followed.or_else(|| {
        [
            "refs/remotes/origin/main",
            "refs/remotes/origin/master",
            "refs/heads/main",
            "refs/heads/master",
        ]
        .into_iter()
        .find(|name| exists(name).is_some())
        .and_then(|name| Some((name.to_owned(), branch_name(name.into())?)))
    })
}

/// `refs/heads/a/b` → `a/b`; `refs/remotes/origin/a/b` → `a/b`; nothing else is a branch.
fn branch_name(reference: &BStr) -> Option<String> {
    let reference = reference.to_str().ok()?;
    if let Some(branch) = reference.strip_prefix("refs/heads/") {
        return Some(branch.to_owned());
    }
    let (_, branch) = reference.strip_prefix("refs/remotes/")?.split_once('/')?;
    Some(branch.to_owned())
}

/// `owner/name` from the remote `origin`, or the folder's name.
pub(super) fn repository_name(repo: &gix::Repository) -> String {
    let url = repo.config_snapshot().string("remote.origin.url");
    url.and_then(|url| owner_and_name(&url.to_str_lossy()))
        .unwrap_or_else(|| folder_name(repo))
}

/// The last two components of a remote's URL or `host:path`; `None` when it is a local path.
fn owner_and_name(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        None => {
            let (host, path) = url.split_once(':')?;
            if host.contains('/') || host.len() == 1 {
                return None;
            }
            path
        }
    };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, name) = path.rsplit_once('/')?;
    let owner = owner.rsplit('/').next()?;
    let name = format!("{owner}/{name}");
    name.parse::<crate::model::RepoName>().ok()?;
    Some(name)
}

fn folder_name(repo: &gix::Repository) -> String {
    let common = repo.common_dir();
    let folder = match common.file_name() {
        Some(name) if name == ".git" => common.parent().unwrap_or(common),
        _ => common,
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".git").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_url_gives_owner_and_name() {
        for url in [
            "https://github.com/acme/parser.git",
            "https://user:secret@host/acme/parser",
            "ssh://git@host:22/acme/parser.git/",
            "git@github.com:acme/parser.git",
            "https://host/group/acme/parser",
        ] {
            assert_eq!(owner_and_name(url).as_deref(), Some("acme/parser"), "{url}");
        }
        for url in [
            "/srv/git/acme/parser.git",
            "file:///srv/acme/parser",
            "../parser",
            "C:/acme/parser",
            "https://host/parser",
        ] {
            assert_eq!(owner_and_name(url), None, "{url}");
        }
    }

    #[test]
    fn branch_names_lose_their_prefix() {
        assert_eq!(branch_name("refs/heads/a/b".into()).as_deref(), Some("a/b"));
        assert_eq!(
            branch_name("refs/remotes/origin/a/b".into()).as_deref(),
            Some("a/b")
        );
        assert_eq!(branch_name("refs/tags/v1".into()), None);
    }
}
