//! `fixtures.lock.json`: the digest of every fixture (protocol 3.2). PURE.

mod write;

use std::collections::{BTreeMap, BTreeSet};

use super::ContractError;
use super::document::{Fault, Kind, Node, Place, quoted};
use super::glob::{GlobError, GlobList, split, wildcard_free_beginning};
use super::json;
use super::reader::{self, Object};
use crate::model::FileDigest;

pub use write::write;

/// One pinned fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    pub digest: FileDigest,
    /// 1-based line in the lock file.
    pub line: u32,
}

/// The fixture lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// `fixtures_root`: one, or several; none lies inside another.
    pub roots: Vec<String>,
    /// By path from the **repository root**, whichever form the file uses.
    pub files: BTreeMap<String, LockRow>,
    /// Where each of `roots` stands in the file: 1-based line and column.
    pub root_places: Vec<(u32, u32)>,
}

/// Reads the lock at `path` of the repository.
///
/// # Errors
/// The first thing that is not as protocol 3.2 has it. Whether the roots are disjoint from the rest of
/// the contract is for [`check_roots`].
pub fn parse(path: &str, bytes: &[u8]) -> Result<Lock, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<Lock, Fault> {
    let root = json::parse(bytes)?;
    let file = Object::of(&root, "the lock")?;
    file.closed(&["fixtures_root", "files"])?;
    let roots = Roots::read(file.need("fixtures_root")?)?;
    let rows = Object::of(file.need("files")?, "`files`")?;
    // Collected as a list first: a map made of sorted rows, which most locks have, is built in one go.
    let mut files = Vec::with_capacity(rows.members.len());
    for member in rows.members {
        reader::canonical(&member.key, member.place, "a key of `files`")?;
        let path = roots.full_path(&member.key, member.place)?;
        let digest = reader::digest(&member.value, "the digest")?;
        let line = member.place.line;
        files.push((path, LockRow { digest, line }));
    }
    Ok(Lock {
        root_places: roots.places.iter().map(|p| (p.line, p.column)).collect(),
        roots: roots.in_order,
        files: files.into_iter().collect(),
    })
}

/// `fixtures_root`, in either form.
struct Roots {
    in_order: Vec<String>,
    places: Vec<Place>,
    /// As a set, when the file has the list form.
    listed: Option<BTreeSet<String>>,
}

impl Roots {
    fn read(node: &Node<'_>) -> Result<Self, Fault> {
        let nodes = match &node.kind {
            Kind::Text(_) => std::slice::from_ref(node),
            Kind::List(nodes) => nodes,
            _ => {
                let expected = "a path or a list of paths";
                return Err(reader::expected(node, "`fixtures_root`", expected));
            }
        };
        if nodes.is_empty() {
            return Err(Fault::new(
                node.place,
                "`fixtures_root`: expected at least one path, found an empty list",
            ));
        }
        let mut set = BTreeSet::new();
        let mut in_order = Vec::new();
        for root in nodes {
            let text = reader::path(root, "`fixtures_root`")?;
            if !set.insert(text.to_owned()) {
                return Err(Fault::new(
                    root.place,
                    format!("`fixtures_root`: {} is listed twice", quoted(text)),
                ));
            }
            in_order.push(text.to_owned());
        }
        for (root, place) in nodes.iter().zip(&in_order) {
            if let Some(outer) = directories(place).find(|dir| set.contains(*dir)) {
                return Err(Fault::new(
                    root.place,
                    format!(
                        "`fixtures_root`: {} lies inside {}; list one of them",
                        quoted(place),
                        quoted(outer)
                    ),
                ));
            }
        }
        Ok(Self {
            in_order,
            places: nodes.iter().map(|root| root.place).collect(),
            listed: matches!(node.kind, Kind::List(_)).then_some(set),
        })
    }

    /// The path from the repository root that a key of `files` means.
    fn full_path(&self, key: &str, place: Place) -> Result<String, Fault> {
        match &self.listed {
            None => Ok([self.in_order[0].as_str(), key].join("/")),
            Some(roots) if directories(key).any(|dir| roots.contains(dir)) => Ok(key.to_owned()),
            Some(_) => Err(Fault::new(
                place,
                format!(
                    "a key of `files`: {} lies under none of the paths of `fixtures_root` (with a list of roots, keys are paths from the repository root)",
                    quoted(key)
                ),
            )),
        }
    }
}

/// The directories above a path, outermost first.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// What no fixtures root may touch: contract paths, and the globs of properties and of production,
/// built-in and configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Guarded<'a> {
    pub contract: &'a [&'a str],
    pub properties: &'a [&'a str],
    pub production: &'a [&'a str],
}

/// Checks that the roots of the lock at `path` are disjoint from contract, properties and production
/// (protocol 3.2): a root matches none of their globs, and no glob's wildcard-free beginning and no
/// contract path lies at or below it. Production may hold a root with a component `testdata`, as Go
/// packages have it.
///
/// # Errors
/// The first root that is not disjoint, at its place in the lock.
pub fn check_roots(lock: &Lock, guarded: Guarded<'_>, path: &str) -> Result<(), ContractError> {
    let classes = [
        ("properties", guarded.properties),
        ("production", guarded.production),
    ];
    let mut lists = Vec::new();
    for (class, globs) in classes {
        let list = GlobList::new(globs.iter().copied()).map_err(|error| invalid(&error, path))?;
        lists.push((class, globs, list));
    }
    for (root, &(line, column)) in lock.roots.iter().zip(&lock.root_places) {
        let fault = |why: String| {
            let message = format!(
                "`fixtures_root`: {} is not disjoint from the rest: {why}; move the fixtures to a directory of their own",
                quoted(root)
            );
            Err(Fault::new(Place { line, column }, message).in_file(path))
        };
        let at_or_below = |other: &str| {
            let below = other.strip_prefix(root.as_str());
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(file) = guarded.contract.iter().find(|file| at_or_below(file)) {
            return fault(format!("the contract file {} lies in it", quoted(file)));
        }
        for (class, globs, list) in &lists {
            let is_go_testdata = *class == "production" && root.split('/').any(|p| p == "testdata");
            if list.is_match(root) && !is_go_testdata {
                return fault(format!("it lies under the globs of {class}"));
            }
            let inside = globs.iter().find(|glob| {
                let (removes, glob) = split(glob);
                !removes && at_or_below(wildcard_free_beginning(glob))
            });
            if let Some(glob) = inside {
                return fault(format!("the glob {} of {class} lies in it", quoted(glob)));
            }
        }
    }
    Ok(())
}

/// Configured globs are checked when the configuration is read; this is for a caller's own.
fn invalid(error: &GlobError, path: &str) -> ContractError {
    Fault::new(Place::START, error.to_string()).in_file(path)
}
