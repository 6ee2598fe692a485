//! Contract files in the work tree: where they go, and what a lock pins.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

use super::progress::Progress;
use crate::git::Files;
use crate::model::{BlobDigest, Fact, FileDigest};
use crate::render::visible;

/// The digest of every fixture; all of them can be pinned, or none is.
pub fn pinned(files: &Files, roots: &[String]) -> anyhow::Result<BTreeMap<String, FileDigest>> {
    let progress = Progress::start("reading the fixtures");
    let entries = files.below(roots)?;
    let digests = files.digests(&entries);
    drop(progress);
    let mut pinned = BTreeMap::new();
    for entry in &entries {
        let path = visible(&entry.path);
        if let Some(why) = &entry.opaque {
            bail!(
                "{path} cannot be pinned: {why}; make it a plain file under plain attributes, or move it out of the fixtures root"
            );
        }
        match digests.get(&entry.id) {
            Some(Fact::Known(digest)) => {
                pinned.insert(entry.path.clone(), digest.of_file(entry.lfs).clone());
            }
            other => bail!("{path} cannot be pinned: {}", why_not(other)),
        }
    }
    Ok(pinned)
}

pub fn why_not(fact: Option<&Fact<BlobDigest>>) -> &str {
    fact.and_then(Fact::why_not)
        .unwrap_or("its bytes were not read")
}

/// A contract file of the work tree. A link on the way could lead out of it.
pub fn target_in(root: &Path, path: &str) -> anyhow::Result<PathBuf> {
    let mut target = root.to_owned();
    for part in path.split('/') {
        target.push(part);
        let is_link = std::fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_symlink());
        ensure!(
            !is_link,
            "{} is a symlink, and a contract file is never read or written through one; put a folder or file there",
            target.display()
        );
    }
    Ok(target)
}

/// Writes beside the file and renames, so that it is never there in part.
pub fn replace(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = target.parent().unwrap_or(target);
    std::fs::create_dir_all(folder)?;
    let permissions = std::fs::metadata(target).map(|meta| meta.permissions());
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.flush()?;
    match permissions {
        Ok(permissions) => file.as_file().set_permissions(permissions)?,
        Err(_) => readable_by_all(file.as_file())?,
    }
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary file is its owner's alone; a file of a work tree is not.
#[cfg(unix)]
fn readable_by_all(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}
