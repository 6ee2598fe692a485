//! The installed packages of the user's checkout, for a tree that was exported without them.
//!
//! Each `node_modules` of the checkout is made again in the tree, package by package, as links. A link of the
//! checkout that leads back into it is a workspace: it is led to the same folder of the tree, so that a test
//! gets the code that is judged. A package that itself needs a workspace would find the checkout's; it is
//! left out, and a test that needs it fails to load.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::text::plain;

const MODULES: &str = "node_modules";
/// Folders of a tree that are looked at.
const FOLDERS: usize = 100_000;
/// Bytes of a package's `package.json`.
const LARGEST: u64 = 1024 * 1024;

/// Links the packages of `checkout` into `tree`, wherever the tree has a `package.json` and no packages of its
/// own; both paths are canonical. Returns the folders that a run has to be able to read.
///
/// # Errors
/// When a folder cannot be read, or a link not be made.
pub fn link(tree: &Path, checkout: &Path) -> Result<Vec<PathBuf>> {
    let mut needed = Vec::new();
    for folder in packages(tree)? {
        let below = folder.strip_prefix(tree).unwrap_or(Path::new(""));
        let from = checkout.join(below).join(MODULES);
        if !from.is_dir() || std::fs::symlink_metadata(folder.join(MODULES)).is_ok() {
            continue;
        }
        let links = Links {
            tree,
            checkout,
            from: &from,
        };
        links.make(&folder.join(MODULES), &mut needed)?;
        needed.push(from);
    }
    Ok(needed)
}

/// The folders of a tree that have a `package.json`, outside of packages.
fn packages(tree: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        seen += 1;
        if seen > FOLDERS {
            return Err(Error::other(format!(
                "the tree has more than {FOLDERS} folders"
            )));
        }
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && entry.file_name() != MODULES {
                folders.push(entry.path());
            } else if kind.is_file() && entry.file_name() == "package.json" {
                found.push(folder.clone());
            }
        }
    }
    Ok(found)
}

struct Links<'a> {
    tree: &'a Path,
    checkout: &'a Path,
    /// The `node_modules` that is made again.
    from: &'a Path,
}

/// Where a link is led to.
enum Target {
    Package(PathBuf),
    /// The folder of the tree, where it has it.
    Workspace(PathBuf),
}

impl Links<'_> {
    fn make(&self, to: &Path, needed: &mut Vec<PathBuf>) -> Result<()> {
        let mut targets = BTreeMap::new();
        for (name, path) in entries(self.from)? {
            if let Some(target) = self.target(&path, needed)? {
                targets.insert(name, target);
            }
        }
        let tainted = tainted(&targets);
        std::fs::create_dir(to)?;
        for (name, target) in &targets {
            let (Target::Package(path) | Target::Workspace(path)) = target;
            if tainted.contains(name.as_str()) || !path.exists() {
                continue;
            }
            let place = to.join(name);
            if let Some(scope) = place.parent() {
                std::fs::create_dir_all(scope)?;
            }
            symlink(path, place)?;
        }
        Ok(())
    }

    fn target(&self, path: &Path, needed: &mut Vec<PathBuf>) -> Result<Option<Target>> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            // A link to nothing is no package.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(match real.strip_prefix(self.checkout) {
            Ok(below) if below.components().any(|part| part.as_os_str() == MODULES) => {
                Target::Package(path.to_owned())
            }
            Ok(below) => Target::Workspace(self.tree.join(below)),
            Err(_) => {
                needed.push(real);
                Target::Package(path.to_owned())
            }
        }))
    }
}

/// The packages of a `node_modules` by name, those of a scope as `@scope/name`.
fn entries(modules: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(modules)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('@') && entry.file_type()?.is_dir() {
            for inner in std::fs::read_dir(entry.path())? {
                let inner = inner?;
                if let Ok(last) = inner.file_name().into_string() {
                    found.push((format!("{name}/{last}"), inner.path()));
                }
            }
        } else {
            found.push((name, entry.path()));
        }
    }
    Ok(found)
}

/// Packages that need a workspace, or a package that does.
fn tainted(targets: &BTreeMap<String, Target>) -> BTreeSet<&str> {
    let mut of_checkout: BTreeSet<&str> = targets
        .iter()
        .filter(|(_, target)| matches!(target, Target::Workspace(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    let mut tainted = BTreeSet::new();
    if of_checkout.is_empty() {
        return tainted;
    }
    let mut needs: Vec<(&str, Vec<String>)> = targets
        .iter()
        .filter_map(|(name, target)| match target {
            Target::Package(path) => Some((name.as_str(), dependencies(path))),
            Target::Workspace(_) => None,
        })
        .collect();
    loop {
        let before = tainted.len();
        needs.retain(|(name, needed)| {
            let clean = !needed.iter().any(|one| of_checkout.contains(one.as_str()));
            if !clean {
                tainted.insert(*name);
            }
            clean
        });
        of_checkout.extend(&tainted);
        if tainted.len() == before {
            return tainted;
        }
    }
}

fn dependencies(package: &Path) -> Vec<String> {
    let text = plain(&package.join("package.json"), LARGEST);
    let text = text.ok().flatten().unwrap_or_default();
    let about: Value = serde_json::from_str(&text).unwrap_or_default();
    ["dependencies", "peerDependencies", "optionalDependencies"]
        .iter()
        .filter_map(|kind| about[kind].as_object())
        .flat_map(|names| names.keys().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
    }

    fn at(path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    #[test]
    fn packages_are_linked_and_workspaces_led_to_the_tree() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let (tree, checkout, elsewhere) = (root.join("tree"), root.join("co"), root.join("else"));
        write(&elsewhere, &[("linked/package.json", "{}")]);
        write(
            &tree,
            &[
                ("package.json", "{}"),
                ("packages/lib/index.js", "of the tree"),
                ("packages/app/package.json", "{}"),
                ("packages/own/package.json", "{}"),
                ("packages/own/node_modules/a/index.js", "committed"),
            ],
        );
        write(
            &checkout,
            &[
                ("node_modules/a/package.json", "{}"),
                ("node_modules/@s/b/package.json", "{}"),
                (
                    "node_modules/plugin/package.json",
                    r#"{"peerDependencies": {"@acme/lib": "1"}}"#,
                ),
                (
                    "node_modules/preset/package.json",
                    r#"{"dependencies": {"plugin": "1"}}"#,
                ),
                ("node_modules/.store/c/package.json", "{}"),
                ("packages/lib/index.js", "of the checkout"),
                ("packages/new/index.js", "not in the tree"),
                ("packages/app/node_modules/d/package.json", "{}"),
                ("packages/own/node_modules/a/index.js", "installed"),
            ],
        );
        let modules = checkout.join("node_modules");
        std::fs::create_dir(modules.join("@acme")).expect("a scope");
        for (target, name) in [
            (checkout.join("packages/lib"), "@acme/lib"),
            (checkout.join("packages/new"), "@acme/new"),
            (modules.join(".store/c"), "c"),
            (elsewhere.join("linked"), "linked"),
            (root.join("nowhere"), "gone"),
        ] {
            symlink(target, modules.join(name)).expect("a link");
        }
        let needed = link(&tree, &checkout).expect("links");
        let inside = tree.join("node_modules");
        for (name, target) in [
            ("a", Some(modules.join("a"))),
            ("@s/b", Some(modules.join("@s/b"))),
            ("c", Some(modules.join(".store/c"))),
            ("linked", Some(elsewhere.join("linked"))),
            ("@acme/lib", Some(tree.join("packages/lib"))),
            ("@acme/new", None),
            ("gone", None),
            ("plugin", None),
            ("preset", None),
            (
                "../packages/app/node_modules/d",
                Some(checkout.join("packages/app/node_modules/d")),
            ),
            (
                "../packages/own/node_modules/a",
                Some(tree.join("packages/own/node_modules/a")),
            ),
        ] {
            assert_eq!(at(&inside.join(name)), target, "{name}");
        }
        for folder in [
            modules,
            elsewhere.join("linked"),
            checkout.join("packages/app/node_modules"),
        ] {
            assert!(needed.contains(&folder), "{}", folder.display());
        }
        // A tree without packages, and a checkout without any, need nothing.
        let empty = root.join("empty");
        write(&empty, &[("src/a.py", "")]);
        assert_eq!(
            link(&empty, &checkout).expect("nothing"),
            Vec::<PathBuf>::new()
        );
        assert_eq!(link(&tree, &empty).expect("nothing"), Vec::<PathBuf>::new());
    }
}
