//! Writes the files of a tree into an empty folder, without `.git`.
//!
//! Invariant: bytes are those that git stores, and nothing is written outside the folder, whatever the
//! tree holds: links are made and never followed.

use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use gix::bstr::{BStr, ByteSlice as _};

use super::error::GitError;
use super::files::Files;
use super::tree::{Leaf, Listing};
use crate::model::EntryKind;

impl Files {
    /// Writes every file below `into`, which is an empty folder. A submodule is an empty folder; a Git LFS
    /// pointer stays a pointer.
    ///
    /// # Errors
    /// When an object cannot be read, a path is none that git would check out, or a file cannot be
    /// written.
    pub fn export(&self, into: &Path) -> Result<(), GitError> {
        let listing = Listing::of(&self.repo, self.tree)?;
        for (path, leaf) in listing.below(BStr::new("")) {
            self.export_one(path, leaf, into)?;
        }
        Ok(())
    }

    fn export_one(&self, path: &BStr, leaf: Leaf, into: &Path) -> Result<(), GitError> {
        let refused = |why: &str| GitError::object(format!("the entry {path:?}"), why);
        let mut parts: Vec<&[u8]> = path.split_str(b"/").collect();
        if parts.iter().any(|part| !is_plain(part)) {
            return Err(refused("git would not check out a file by this name"));
        }
        let name = parts.pop().unwrap_or_default();
        let io = |at: &Path| {
            let path = at.to_owned();
            move |source| GitError::Io { path, source }
        };
        let mut folder = into.to_owned();
        for part in parts {
            folder.push(OsStr::from_bytes(part));
            match DirBuilder::new().create(&folder) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    // A crafted tree may hold a link and a folder by one name.
                    let is_folder = std::fs::symlink_metadata(&folder).is_ok_and(|m| m.is_dir());
                    if !is_folder {
                        return Err(refused("another entry has the name of its folder"));
                    }
                }
                made => made.map_err(io(&folder))?,
            }
        }
        let file = folder.join(OsStr::from_bytes(name));
        match leaf.kind {
            EntryKind::Submodule => DirBuilder::new().create(&file).map_err(io(&file)),
            EntryKind::Symlink => {
                let target = self.bytes(&super::tree::sha(leaf.id))?;
                std::os::unix::fs::symlink(OsStr::from_bytes(&target), &file).map_err(io(&file))
            }
            EntryKind::File | EntryKind::Executable => {
                let bytes = self.bytes(&super::tree::sha(leaf.id))?;
                let mode = match leaf.kind {
                    EntryKind::Executable => 0o755,
                    _ => 0o644,
                };
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(mode);
                let mut written = options.open(&file).map_err(io(&file))?;
                written.write_all(&bytes).map_err(io(&file))
            }
        }
    }
}

fn is_plain(part: &[u8]) -> bool {
    !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git") && !part.contains(&0)
}
