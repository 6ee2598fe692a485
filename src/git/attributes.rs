//! Attributes from the `.gitattributes` files of one tree, and from nothing else.
//!
//! Invariant: neither the machine's, the user's nor the repository's own attribute files
//! (`info/attributes`, `core.attributesFile`), nor a work tree, has a say.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::glob::pattern::Case;

use super::error::GitError;
use super::tree::{Place, Tree};

/// git passes over longer lines.
const LONGEST_LINE: usize = 2048;
/// git passes over larger files; bytes.
const LARGEST_FILE: u64 = 100 * 1024 * 1024;

/// The state of an attribute that a path has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Set,
    Unset,
    Value(BString),
}

/// Where attribute files come from.
pub(crate) trait Files {
    /// The bytes of the regular file at `path`; `None` when there is none, or one that git passes over.
    fn regular(&self, path: &BStr) -> Result<Option<Vec<u8>>, GitError>;
}

/// The attribute files of a tree of a local repository.
pub(super) struct TreeFiles<'repo> {
    repo: &'repo gix::Repository,
    tree: Tree<'repo>,
}

impl Files for TreeFiles<'_> {
    fn regular(&self, path: &BStr) -> Result<Option<Vec<u8>>, GitError> {
        let unreadable = |why: String| GitError::object(format!("{path:?}"), why);
        // git follows no link from a tree to attributes.
        let id = match self.tree.at(path)? {
            Place::Leaf(leaf) if leaf.kind.is_regular() => leaf.id,
            _ => return Ok(None),
        };
        let header = self
            .repo
            .find_header(id)
            .map_err(|error| unreadable(error.to_string()))?;
        if header.size() > LARGEST_FILE {
            return Ok(None);
        }
        let blob = self
            .repo
            .find_blob(id)
            .map_err(|error| unreadable(error.to_string()))?;
        Ok(Some(blob.detach().data))
    }
}

/// Looks attributes up; cheapest when paths are asked for in their order.
pub(crate) struct Attributes<F> {
    files: F,
    search: Search,
    names: MetadataCollection,
    outcome: Outcome,
    /// Directories whose files are on the stack, outermost first, each with whether it has one.
    directories: Vec<(BString, bool)>,
}

impl<'repo> Attributes<TreeFiles<'repo>> {
    pub fn of(repo: &'repo gix::Repository, tree: ObjectId) -> Result<Self, GitError> {
        let tree = Tree::new(repo, tree);
        Self::from_files(TreeFiles { repo, tree })
    }
}

impl<F: Files> Attributes<F> {
    pub fn from_files(files: F) -> Result<Self, GitError> {
        let mut names = MetadataCollection::default();
        let search =
            Search::new_globals(std::iter::empty::<PathBuf>(), &mut Vec::new(), &mut names)
                .map_err(|error| GitError::object("the built-in attributes", error))?;
        let mut attributes = Self {
            files,
            search,
            names,
            outcome: Outcome::default(),
            directories: Vec::new(),
        };
        attributes.push(BStr::new(""))?;
        Ok(attributes)
    }

    /// Calls `each` with every attribute that is set, unset or has a value at `path`.
    pub fn at(&mut self, path: &BStr, mut each: impl FnMut(&str, State)) -> Result<(), GitError> {
        self.enter(path)?;
        self.outcome.reset();
        self.search.pattern_matching_relative_path(
            path,
            Case::Sensitive,
            Some(false),
            &mut self.outcome,
        );
        for found in self.outcome.iter() {
            let state = match found.assignment.state {
                StateRef::Set => State::Set,
                StateRef::Unset => State::Unset,
                StateRef::Value(value) => State::Value(value.as_bstr().to_owned()),
                StateRef::Unspecified => continue,
            };
            each(found.assignment.name.as_str(), state);
        }
        Ok(())
    }

    /// Brings the files of the directories above `path` on the stack, and no others.
    fn enter(&mut self, path: &BStr) -> Result<(), GitError> {
        while let Some((directory, has_file)) = self.directories.last() {
            let holds = directory.is_empty()
                || (path.starts_with(directory) && path.get(directory.len()) == Some(&b'/'));
            if holds {
                break;
            }
            if *has_file {
                self.search.pop_pattern_list();
            }
            self.directories.pop();
        }
        let known = self
            .directories
            .last()
            .map_or(0, |(directory, _)| directory.len());
        let ends: Vec<usize> = path.find_iter(b"/").collect();
        for end in ends.into_iter().filter(|end| *end > known) {
            self.push(path[..end].as_bstr())?;
        }
        Ok(())
    }

    fn push(&mut self, directory: &BStr) -> Result<(), GitError> {
        let mut file = directory.to_owned();
        if !file.is_empty() {
            file.push(b'/');
        }
        file.extend_from_slice(b".gitattributes");
        let has_file = match self.files.regular(file.as_bstr())? {
            Some(bytes) => {
                self.add(directory, &bytes)?;
                true
            }
            None => false,
        };
        self.directories.push((directory.to_owned(), has_file));
        if has_file || directory.is_empty() {
            self.outcome = Outcome::default();
            self.outcome.initialize(&self.names);
        }
        Ok(())
    }

    fn add(&mut self, directory: &BStr, bytes: &[u8]) -> Result<(), GitError> {
        let unreadable =
            |why: String| GitError::object(format!("the attributes of {directory:?}"), why);
        let mut text = Vec::with_capacity(bytes.len());
        for line in bytes.lines_with_terminator() {
            if line.trim_end_with(|c| c == '\n').len() < LONGEST_LINE {
                text.extend_from_slice(line);
            } else {
                text.push(b'\n');
            }
        }
        let folder = gix::path::from_bstr(directory);
        let source = folder
            .map_err(|error| unreadable(error.to_string()))?
            .join(".gitattributes");
        let is_root = directory.is_empty();
        self.search
            .add_patterns_buffer(&text, source, Some(Path::new("")), &mut self.names, is_root)
            .map_err(|error| unreadable(error.to_string()))?;
        Ok(())
    }
}

/// How git merges a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Driver {
    Text,
    Binary,
    Union,
}

/// The `merge` attribute, by the base tip's tree.
pub(super) struct MergeAttributes<'repo> {
    repo: &'repo gix::Repository,
    tree: ObjectId,
    attributes: RefCell<Option<Attributes<TreeFiles<'repo>>>>,
}

impl<'repo> MergeAttributes<'repo> {
    pub fn of(repo: &'repo gix::Repository, tree: ObjectId) -> Self {
        Self {
            repo,
            tree,
            attributes: RefCell::new(None),
        }
    }

    /// The driver for `path`; `Err` when it is one that only the repository's configuration knows.
    pub fn driver(&self, path: &BStr) -> Result<Result<Driver, String>, GitError> {
        let mut slot = self.attributes.borrow_mut();
        let attributes = match slot.as_mut() {
            Some(attributes) => attributes,
            None => slot.insert(Attributes::of(self.repo, self.tree)?),
        };
        let mut driver = Ok(Driver::Text);
        attributes.at(path, |name, state| {
            if name != "merge" {
                return;
            }
            driver = match state {
                State::Set => Ok(Driver::Text),
                State::Unset => Ok(Driver::Binary),
                State::Value(value) if value == "text" => Ok(Driver::Text),
                State::Value(value) if value == "binary" => Ok(Driver::Binary),
                State::Value(value) if value == "union" => Ok(Driver::Union),
                State::Value(value) => Err(format!(
                    "{path:?} is merged by the driver {value:?}, which only a configuration defines"
                )),
            };
        })?;
        Ok(driver)
    }
}

/// What attributes say about a fixture (protocol section 4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FixtureAttributes {
    /// `filter=lfs`.
    pub lfs: bool,
    /// An attribute by which a checkout could differ from the stored bytes.
    pub opaque: Option<String>,
}

/// Attributes by which the bytes that a test reads may differ from those that are stored.
fn changes_bytes(name: &str) -> bool {
    matches!(name, "eol" | "ident" | "working-tree-encoding" | "filter")
        || name.starts_with("export-")
}

impl<F: Files> Attributes<F> {
    pub fn fixture(&mut self, path: &BStr) -> Result<FixtureAttributes, GitError> {
        let mut found = FixtureAttributes::default();
        let mut reasons = Vec::new();
        self.at(path, |name, state| {
            if !changes_bytes(name) {
                return;
            }
            match state {
                State::Unset => {}
                State::Value(value) if name == "filter" && value == "lfs" => found.lfs = true,
                State::Value(value) => reasons.push(format!("the attribute {name}={value}")),
                State::Set => reasons.push(format!("the attribute {name}")),
            }
        })?;
        reasons.sort();
        found.opaque = reasons.into_iter().next();
        Ok(found)
    }
}
