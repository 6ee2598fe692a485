//! Builds the tests of one package, once for a tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::super::text::plain;
use super::super::{Site, Start, exit_status};
use super::home::Home;
use super::unit::{Binary, Unit};
use crate::digest::pieces;
use crate::lane::process::Ended;
use crate::model::NodeId;

/// What cargo writes about a build is no larger; bytes.
const LARGEST: u64 = 64 * 1024 * 1024;
/// Lines of an error that are told, and characters.
const TOLD: usize = 6;
const LONGEST: usize = 1_500;
/// Libraries whose versions decide which values a seed gives.
const GENERATORS: [&str; 2] = ["proptest", "quickcheck"];

/// Asks the tree's own toolchain, and builds with it; `$1` is the manifest, `$2` and `$3` are written.
const SCRIPT: &str = r#"
{ rustc -vV && rustc --print sysroot; } > "$2" &&
exec cargo test --no-run --tests --offline --locked --message-format=json-render-diagnostics \
  --manifest-path "$1" > "$3"
"#;

/// The folder of the package that a test belongs to, from the tree's root; `.` for the root itself.
pub(super) fn unit(node: &NodeId, site: Site<'_>) -> Result<String, String> {
    let is_file = |path: &Path| {
        std::fs::symlink_metadata(site.tree.join(path)).is_ok_and(|meta| meta.is_file())
    };
    let mut folders = Path::new(node.path()).ancestors().skip(1);
    let folder = folders
        .find(|folder| is_file(&folder.join("Cargo.toml")))
        .ok_or_else(|| format!("no folder above {} has a Cargo.toml", node.path()))?;
    let mut above = folder.ancestors();
    if !above.any(|folder| is_file(&folder.join("Cargo.lock"))) {
        return Err(
            "the repository has no Cargo.lock, so it is not known what would be run; commit it"
                .to_owned(),
        );
    }
    match folder.to_str() {
        Some("") | None => Ok(".".to_owned()),
        Some(folder) => Ok(folder.to_owned()),
    }
}

/// Where a build writes what it says: about the toolchain, and about what it built.
fn answers(unit: &str, site: Site<'_>) -> [PathBuf; 2] {
    let name = pieces([unit.as_bytes()]);
    ["toolchain", "artifacts"].map(|what| {
        let name = format!("{what}-{}", &name.as_str()[..16]);
        site.built.join(name)
    })
}

pub(super) fn start(home: &Home, unit: &str, site: Site<'_>) -> Result<Start, String> {
    home.make(site.built).map_err(|error| error.to_string())?;
    let manifest = site.tree.join(unit).join("Cargo.toml");
    let mut argv = ["sh", "-c", SCRIPT, "sh"].map(str::to_owned).to_vec();
    let files = answers(unit, site);
    argv.extend(
        std::iter::once(&manifest)
            .chain(&files)
            .map(|path| path.to_string_lossy().into_owned()),
    );
    Ok(Start {
        argv,
        env: home.env(site.built),
        cwd: site.tree.to_owned(),
        compiles: true,
        bears_memory_limit: false,
    })
}

/// One line of what cargo says.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<String>,
    /// Of a build script.
    out_dir: Option<String>,
    #[serde(default)]
    linked_paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

/// What was built, once the build has ended.
pub(super) fn read(unit: &str, ended: &Ended, site: Site<'_>) -> Result<Unit, String> {
    let status = exit_status(ended).map_err(|why| format!("its build came to nothing: {why}"))?;
    if status != 0 {
        return Err(format!(
            "its build failed: {}",
            last_words(&ended.output, site)
        ));
    }
    let [toolchain, artifacts] = answers(unit, site);
    let said = |path: &Path| match plain(path, LARGEST) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err("its build says nothing of what it built".to_owned()),
        Err(why) => Err(format!("what its build says of itself: {why}")),
    };
    let toolchain = said(&toolchain)?;
    let messages: Vec<Message> = said(&artifacts)?
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    unit_of(&toolchain, &messages, site)
}

fn unit_of(toolchain: &str, messages: &[Message], site: Site<'_>) -> Result<Unit, String> {
    let release = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("release: "));
    let sysroot = toolchain.lines().last().unwrap_or_default();
    let mut unit = Unit {
        root: PathBuf::new(),
        versions: versions(release.unwrap_or("unknown"), messages),
        binaries: Vec::new(),
        programs: BTreeMap::new(),
        libraries: libraries(sysroot, messages, site),
    };
    for message in messages
        .iter()
        .filter(|message| message.reason == "compiler-artifact")
    {
        let (Some(target), Some(executable)) = (&message.target, &message.executable) else {
            continue;
        };
        if message.profile.as_ref().is_some_and(|profile| profile.test) {
            let (binary, root) = binary(message, target, executable, messages, site)?;
            unit.binaries.push(binary);
            unit.root = root;
        } else {
            unit.programs
                .insert(target.name.clone(), executable.clone());
        }
    }
    Ok(unit)
}

fn versions(release: &str, messages: &[Message]) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::from([("rustc".to_owned(), release.to_owned())]);
    for name in GENERATORS {
        let built = messages.iter().filter(|message| {
            message.reason == "compiler-artifact"
                && message
                    .target
                    .as_ref()
                    .is_some_and(|target| target.name == name)
        });
        // Of several all: which of them a test uses is not known.
        let all: BTreeSet<&str> = built.map(|message| version(&message.package_id)).collect();
        if !all.is_empty() {
            let all: Vec<&str> = all.into_iter().collect();
            versions.insert(name.to_owned(), all.join(" and "));
        }
    }
    versions
}

/// Where the loader looks, as cargo would say: what build scripts made, and the toolchain's own.
fn libraries(sysroot: &str, messages: &[Message], site: Site<'_>) -> Vec<String> {
    let target = site.built.join("target");
    let made = messages.iter().flat_map(|message| &message.linked_paths);
    let made = made.map(|path| path.split_once('=').map_or(path.as_str(), |(_, path)| path));
    let made = made.filter(|path| Path::new(path).starts_with(&target));
    let own = ["debug/deps", "debug"].map(|part| target.join(part).to_string_lossy().into_owned());
    let mut all: Vec<String> = made.map(str::to_owned).chain(own).collect();
    all.push(format!("{sysroot}/lib"));
    all
}

/// A test binary, and the workspace's root from the tree's.
fn binary(
    message: &Message,
    target: &Target,
    executable: &str,
    messages: &[Message],
    site: Site<'_>,
) -> Result<(Binary, PathBuf), String> {
    let in_tree = |path: &Path| {
        let below = path.strip_prefix(site.tree).ok()?;
        let is_plain = |part| matches!(part, Component::Normal(_));
        below.components().all(is_plain).then(|| below.to_owned())
    };
    let name = &target.name;
    let outside = || format!("the test target {name} lies outside of the tree");
    let main = in_tree(&target.src_path).ok_or_else(outside)?;
    let folder = message.manifest_path.parent().unwrap_or(Path::new(""));
    let folder = in_tree(folder).ok_or_else(outside)?;
    let listed = Path::new(executable).with_extension("d");
    let listed = plain(&listed, LARGEST)?;
    let listed = sources(&listed.unwrap_or_default());
    // Sources stand there as the compiler was given them: from the workspace's root, or absolute.
    let first = listed.first().map_or(Path::new(""), Path::new);
    let root = folder.ancestors().find(|root| root.join(first) == main);
    let root = root.map(Path::to_owned);
    let root =
        root.ok_or_else(|| format!("the sources of the test target {name} are not listed"))?;
    let sources = listed.iter().map(|source| match source.strip_prefix('/') {
        Some(_) => in_tree(Path::new(source)).unwrap_or_default(),
        None => root.join(source),
    });
    let mut scripts = messages
        .iter()
        .filter(|other| other.package_id == message.package_id);
    let binary = Binary {
        package: package(&message.package_id),
        version: version(&message.package_id).to_owned(),
        kind: target.kind.first().cloned().unwrap_or_default(),
        name: name.clone(),
        executable: executable.to_owned(),
        out_dir: scripts.find_map(|other| other.out_dir.clone()),
        sources: sources.collect(),
        main,
        folder,
    };
    Ok((binary, root))
}

/// The sources in a dependency file: the lines that name nothing else, `src/lib.rs:`.
fn sources(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let paths = lines.filter_map(|line| line.strip_suffix(':'));
    paths.map(|path| path.replace("\\ ", " ")).collect()
}

/// `…#name@1.0.0`, `…/name#1.0.0`.
fn package(id: &str) -> String {
    let (place, rest) = id.rsplit_once('#').unwrap_or((id, ""));
    let name = match rest.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    };
    name.to_owned()
}

fn version(id: &str) -> &str {
    let rest = id.rsplit_once('#').map_or(id, |(_, rest)| rest);
    rest.rsplit_once('@').map_or(rest, |(_, version)| version)
}

/// The first error of a build and its last, in one.
fn last_words(output: &str, site: Site<'_>) -> String {
    let tree = site.tree.to_string_lossy();
    let lines: Vec<String> = output
        .lines()
        .map(|line| line.trim().replace(&format!("{tree}/"), ""))
        .map(|line| line.replace(&*tree, "."))
        .filter(|line| !line.is_empty())
        .collect();
    let is_error = |line: &String| line.starts_with("error");
    let first = lines.iter().position(is_error).unwrap_or(0);
    let shown = &lines[first..];
    // The compiler tells a place, and then draws it; cargo tells all in words.
    let place = shown
        .iter()
        .take(TOLD)
        .position(|line| line.starts_with("--> "));
    let shown = &shown[..place.map_or(TOLD, |at| at + 1).min(shown.len())];
    let last = lines
        .iter()
        .skip(first + shown.len())
        .rfind(|line| is_error(line));
    let told: Vec<&str> = shown.iter().chain(last).map(String::as_str).collect();
    let told = told.join(" / ");
    let mut told: String = told.chars().take(LONGEST).collect();
    if output.contains("offline") {
        told.push_str(
            "; a build here has no network: run `cargo fetch --locked` in the checkout first",
        );
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_their_ids() {
        for (id, name, number) in [
            ("path+file:///tmp/px#0.1.0", "px", "0.1.0"),
            ("path+file:///tmp/x#p-q@0.1.0", "p-q", "0.1.0"),
            (
                "registry+https://github.com/rust-lang/crates.io-index#proptest@1.12.0",
                "proptest",
                "1.12.0",
            ),
        ] {
            assert_eq!((package(id).as_str(), version(id)), (name, number), "{id}");
        }
    }

    #[test]
    fn sources_are_read_from_a_dependency_file() {
        let text = "/t/a.d: tests/a.rs tests/b\\ c.rs\n\n/t/a: tests/a.rs\n\ntests/a.rs:\ntests/b\\ c.rs:\n\n# env-dep:X=1:\n";
        assert_eq!(sources(text), ["tests/a.rs", "tests/b c.rs"]);
    }

    #[test]
    fn an_error_of_a_build_is_told_with_its_place_and_its_end() {
        let site = Site {
            tree: Path::new("/t/tree"),
            built: Path::new("/t/built"),
        };
        let compiler = "   Compiling p v0.1.0 (/t/tree)\nwarning: unused\nerror[E0425]: cannot find `g`\n  --> src/a.rs:4:9\n   |\n 4 | g()\n\nerror[E0308]: other\nerror: could not compile `p` (lib test) due to 2 previous errors\nwarning: build failed\n";
        assert_eq!(
            last_words(compiler, site),
            "error[E0425]: cannot find `g` / --> src/a.rs:4:9 / error: could not compile `p` (lib test) due to 2 previous errors"
        );
        let cargo = "error: no matching package named `x` found\nrequired by package `p v0.1.0 (/t/tree)`\nAs a reminder, you're using offline mode (--offline)\n";
        let said = last_words(cargo, site);
        assert!(
            said.starts_with(
                "error: no matching package named `x` found / required by package `p v0.1.0 (.)`"
            ),
            "{said}"
        );
        assert!(said.ends_with("in the checkout first"), "{said}");
        assert_eq!(last_words("killed\n", site), "killed");
        assert_eq!(last_words("", site), "");
    }
}
