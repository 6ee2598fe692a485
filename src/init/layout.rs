//! What the manifests say: packages, crates and modules, and the names they are imported by.
//!
//! A manifest that cannot be read is named in the report and takes nothing else with it.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Tree, above, inside, is_aside, join, name, parent};

/// Manifests of more bytes are not read.
pub const LARGEST_MANIFEST: usize = 4 << 20;

const MANIFESTS: &[&str] = &["Cargo.toml", "go.mod", "package.json", "pyproject.toml"];
const SCRIPT_EXTENSIONS: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// A crate of a Cargo workspace, or the only one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crate {
    /// As `use` names it.
    pub name: String,
    /// Its directory; empty at the root.
    pub dir: String,
    /// The library's first file, else the binary's.
    pub root: Option<String>,
}

/// A package of npm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePackage {
    pub name: String,
    pub dir: String,
    /// The file that an import of the bare name reads.
    pub entry: Option<String>,
}

/// A Go module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoModule {
    pub path: String,
    pub dir: String,
}

/// How the repository is laid out.
#[derive(Debug, Default)]
pub struct Layout {
    /// Directories that Python packages are imported from.
    pub python_roots: BTreeSet<String>,
    /// Directories of the outermost Python packages that are no tests.
    pub python_packages: BTreeSet<String>,
    /// Single Python modules that are the project.
    pub python_modules: BTreeSet<String>,
    pub crates: Vec<Crate>,
    pub node: Vec<NodePackage>,
    pub go: Vec<GoModule>,
    /// Manifests that could not be read, with why.
    pub unread: BTreeMap<String, String>,
}

/// The manifests that have to be read.
pub fn manifests(tree: &Tree) -> Vec<&str> {
    tree.files()
        .filter(|path| MANIFESTS.contains(&name(path)) && !is_foreign(path))
        .collect()
}

/// What others wrote, and what tests read.
fn is_foreign(path: &str) -> bool {
    let foreign = [
        "node_modules",
        "vendor",
        "third_party",
        "fixtures",
        "testdata",
    ];
    parent(path).split('/').any(|part| foreign.contains(&part))
}

impl Layout {
    /// `manifests` by path: those of [`manifests`].
    pub fn new(tree: &Tree, manifests: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut layout = Self::default();
        let mut python_names = Vec::new();
        for (path, bytes) in manifests {
            if let Err(why) = layout.manifest(tree, path, bytes, &mut python_names) {
                layout.unread.insert(path.clone(), why);
            }
        }
        // The module with the longest name, or the innermost directory, is the one meant.
        layout
            .go
            .sort_by_key(|module| std::cmp::Reverse(module.path.len()));
        layout.python(tree, &python_names);
        layout
    }

    fn manifest(
        &mut self,
        tree: &Tree,
        path: &str,
        bytes: &[u8],
        python_names: &mut Vec<(String, String)>,
    ) -> Result<(), String> {
        if bytes.len() > LARGEST_MANIFEST {
            return Err(format!("it has {} bytes", bytes.len()));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let dir = parent(path);
        match name(path) {
            "Cargo.toml" => {
                let manifest = toml_table(text)?;
                self.crates.extend(crate_of(tree, dir, &manifest));
            }
            "pyproject.toml" => {
                let manifest = toml_table(text)?;
                let names = [
                    &["project", "name"][..],
                    &["tool", "poetry", "name"],
                    &["tool", "flit", "module", "name"],
                ];
                python_names.extend(
                    names
                        .iter()
                        .filter_map(|keys| text_at(&manifest, keys))
                        .map(|name| (dir.to_owned(), name.replace(['-', '.'], "_"))),
                );
            }
            "package.json" => {
                let manifest: serde_json::Value = serde_json::from_str(text)
                    .map_err(|error| format!("it is no JSON at line {}", error.line()))?;
                if let Some(name) = manifest.get("name").and_then(|name| name.as_str()) {
                    self.node.push(NodePackage {
                        name: name.to_owned(),
                        dir: dir.to_owned(),
                        entry: node_entry(tree, dir, &manifest),
                    });
                }
            }
            _ => self.go.extend(go_module(text).map(|path| GoModule {
                path,
                dir: dir.to_owned(),
            })),
        }
        Ok(())
    }

    fn python(&mut self, tree: &Tree, names: &[(String, String)]) {
        let is_package = |dir: &str| tree.has(&join(dir, "__init__.py"));
        for path in tree.files().filter(|path| name(path) == "__init__.py") {
            let dir = parent(path);
            let outermost = above(path).find(|dir| is_package(dir));
            if outermost == Some(dir) {
                self.python_roots.insert(parent(dir).to_owned());
                if !is_aside(path) {
                    self.python_packages.insert(dir.to_owned());
                }
            }
        }
        if tree.has_below("src") {
            self.python_roots.insert("src".to_owned());
        }
        for (dir, name) in names {
            for base in ["", "src"] {
                let module = join(&join(dir, base), &format!("{name}.py"));
                if tree.has(&module) {
                    self.python_roots.insert(parent(&module).to_owned());
                    self.python_modules.insert(module);
                }
            }
        }
        self.python_roots.insert(String::new());
    }

    /// The crate that a file belongs to.
    pub fn crate_of(&self, path: &str) -> Option<&Crate> {
        let crates = self.crates.iter();
        crates
            .filter(|found| inside(path, &found.dir).is_some())
            .max_by_key(|found| found.dir.len())
    }

    /// The npm package that a file belongs to.
    pub fn node_package_of(&self, path: &str) -> Option<&NodePackage> {
        let packages = self.node.iter();
        packages
            .filter(|found| inside(path, &found.dir).is_some())
            .max_by_key(|found| found.dir.len())
    }

    /// Whether a file belongs to a Go module.
    pub fn is_in_go_module(&self, path: &str) -> bool {
        let mut modules = self.go.iter();
        modules.any(|module| inside(path, &module.dir).is_some())
    }

    /// What was found, in words: "2 crates, 1 Go module".
    pub fn in_words(&self) -> Vec<String> {
        let python = self.python_packages.len() + self.python_modules.len();
        [
            (python, "Python package"),
            (self.crates.len(), "crate"),
            (self.node.len(), "npm package"),
            (self.go.len(), "Go module"),
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| super::counted(*count, what))
        .collect()
    }
}

fn toml_table(text: &str) -> Result<toml::Table, String> {
    text.parse::<toml::Table>()
        .map_err(|error| format!("it is no TOML: {}", error.message()))
}

fn text_at<'t>(table: &'t toml::Table, keys: &[&str]) -> Option<&'t str> {
    let (last, path) = keys.split_last()?;
    let mut table = table;
    for key in path {
        table = table.get(*key)?.as_table()?;
    }
    table.get(*last)?.as_str()
}

fn crate_of(tree: &Tree, dir: &str, manifest: &toml::Table) -> Option<Crate> {
    let package = text_at(manifest, &["package", "name"])?;
    let name = text_at(manifest, &["lib", "name"]).unwrap_or(package);
    let stated = text_at(manifest, &["lib", "path"]);
    let roots = [stated, Some("src/lib.rs"), Some("src/main.rs")];
    Some(Crate {
        name: name.replace('-', "_"),
        dir: dir.to_owned(),
        root: roots
            .into_iter()
            .flatten()
            .map(|path| join(dir, path))
            .find(|path| tree.has(path)),
    })
}

/// The `module` line.
fn go_module(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find_map(|line| line.strip_prefix("module"))?;
    let path = line.split("//").next()?.trim().trim_matches('"');
    (!path.is_empty()).then(|| path.to_owned())
}

/// What the manifest states, when it is tracked; else where sources usually begin.
fn node_entry(tree: &Tree, dir: &str, manifest: &serde_json::Value) -> Option<String> {
    let text = |key: &str| manifest.get(key).and_then(|value| value.as_str());
    let exports = manifest.get("exports");
    let dot = exports.and_then(|exports| exports.get(".").unwrap_or(exports).as_str());
    let stated = [text("source"), dot, text("module"), text("main")];
    stated
        .into_iter()
        .flatten()
        .map(|path| join(dir, path.trim_start_matches("./")))
        .find(|path| tree.has(path))
        .or_else(|| {
            let starts = ["src/index", "index", "lib/index", "src/main"];
            starts
                .iter()
                .find_map(|start| script(tree, &join(dir, start)))
        })
}

/// The script file that `path` names, with or without its extension, or as a directory.
pub fn script(tree: &Tree, path: &str) -> Option<String> {
    if tree.has(path) {
        return Some(path.to_owned());
    }
    // TypeScript imports `./a.js` and means `./a.ts`.
    let bare = match path.rsplit_once('.') {
        Some((bare, "js" | "jsx" | "mjs" | "cjs")) => bare,
        _ => path,
    };
    let with = |base: &str| {
        SCRIPT_EXTENSIONS
            .iter()
            .map(|extension| format!("{base}.{extension}"))
            .find(|path| tree.has(path))
    };
    with(bare).or_else(|| with(&join(path, "index")))
}
