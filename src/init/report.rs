//! What `init` says at the end: what it found, how much has a property, what it could not map and why,
//! and what to do next.

mod example;
mod page;

use std::collections::{BTreeMap, BTreeSet};

use example::example;
use page::{Page, shortened};

use super::imports::Targets;
use super::properties::{Globs, PropertyFile};
use super::tree::{Tree, parent};
use super::{Change, Survey, counted};
use crate::config::repo::{ApplyTo, RepoConfig};
use crate::contract::map::HunkMap;
use crate::gate::PrefixIndex;
use crate::gate::classes::is_at_or_below;
use crate::model::{Generator, Layer, NodeId};

/// What is told of one proposal.
#[derive(Debug)]
pub struct Report {
    found: Vec<String>,
    /// Property files that map to nothing, by why.
    unmapped_properties: Vec<(String, String)>,
    by_name: Vec<String>,
    /// Files that become class property with other tests in them.
    mixed: Vec<String>,
    /// Files that were left out, with why.
    left_out: Vec<(String, String)>,
    production: usize,
    guarded: usize,
    /// Directories with unguarded production files, most files first.
    holes: Vec<(String, usize)>,
    advice: Vec<String>,
    example: Option<String>,
}

/// What a report is made of.
pub(super) struct Parts<'a> {
    pub survey: &'a Survey<'a>,
    pub config: &'a RepoConfig,
    pub found: &'a [PropertyFile],
    pub looked: &'a [(&'a PropertyFile, Targets)],
    /// Globs that a configuration that is there lacks.
    pub missing_globs: Globs,
    pub unread: BTreeMap<String, String>,
    pub production: &'a [&'a str],
    pub map: &'a HunkMap,
}

impl Report {
    pub(super) fn new(parts: Parts<'_>) -> Self {
        let tree = parts.survey.tree;
        let (guarded, holes) = coverage(&parts);
        let unmapped_properties = parts
            .looked
            .iter()
            .filter_map(|(file, targets)| Some((file.path.clone(), targets.why_not.clone()?)))
            .collect();
        let by_name = parts
            .looked
            .iter()
            .filter(|(_, targets)| targets.by_name)
            .map(|(file, _)| file.path.clone())
            .collect();
        let mixed = parts
            .found
            .iter()
            .filter(|file| !file.is_pure && parts.config.paths.properties.contains(&file.path))
            .map(|file| file.path.clone())
            .collect();
        let mut left_out: Vec<(String, String)> = parts
            .survey
            .layout
            .unread
            .iter()
            .chain(&parts.unread)
            .chain(&parts.survey.fixtures.left_out)
            .map(|(path, why)| (path.clone(), why.clone()))
            .collect();
        if tree.unnameable > 0 {
            let what = counted(tree.unnameable, "path");
            let why = "the contract cannot name them: they are not UTF-8, or hold control characters or backslashes";
            left_out.push((what, why.to_owned()));
        }
        Self {
            found: found(&parts),
            unmapped_properties,
            by_name,
            mixed,
            left_out,
            production: parts.production.len(),
            guarded,
            holes,
            advice: advice(&parts),
            example: parts.found.is_empty().then(|| example(&parts)),
        }
    }

    /// The whole text. `changes` are what was written, or with `is_dry_run` what would be.
    pub fn text(&self, changes: &[Change], is_dry_run: bool) -> String {
        let mut page = Page::default();
        page.lines("Found", &self.found);
        page.changes(changes, is_dry_run);
        page.line("");
        page.line(&format!(
            "{} of {} production files have a property.",
            self.guarded, self.production
        ));
        if self.production == 0 {
            page.line("The gate refuses a branch without production code: set paths.production.");
        }
        if self.guarded > 0 {
            page.line("An import is a proposal, not a proof: read the map before you trust it.");
        }
        let holes = self.holes.iter().map(|(dir, files)| {
            let dir = if dir.is_empty() { "the root" } else { dir };
            format!("{files:>6}  {dir}")
        });
        page.list("Without a property, by directory:", holes.collect());
        let unmapped = self.unmapped_properties.iter();
        page.list(
            "Properties that no production file could be found for:",
            unmapped
                .map(|(path, why)| format!("{path}: {why}"))
                .collect(),
        );
        page.list(
            "Mapped only because the names of test and file agree:",
            self.by_name.clone(),
        );
        page.list(
            "Other tests beside properties; these files cannot change together with production code:",
            self.mixed.clone(),
        );
        let left_out = self.left_out.iter();
        page.list(
            "Left out:",
            left_out
                .map(|(path, why)| format!("{path}: {why}"))
                .collect(),
        );
        for advice in &self.advice {
            page.line("");
            page.text(advice);
        }
        if let Some(example) = &self.example {
            page.line("");
            page.text(example);
        }
        page.next(changes, is_dry_run);
        page.out
    }
}

/// How many production files have a property, and where those are that have none.
fn coverage(parts: &Parts<'_>) -> (usize, Vec<(String, usize)>) {
    let rules: Vec<_> = parts
        .map
        .rules
        .iter()
        .filter(|rule| !rule.live_properties.is_empty())
        .collect();
    let index = PrefixIndex::new(rules.iter().map(|rule| rule.path_prefix.as_str()));
    let mut holes: BTreeMap<&str, usize> = BTreeMap::new();
    for path in parts.production.iter().filter(|path| !index.matches(path)) {
        *holes.entry(parent(path)).or_default() += 1;
    }
    let unguarded: usize = holes.values().sum();
    let mut holes: Vec<(String, usize)> = holes
        .into_iter()
        .map(|(dir, files)| (dir.to_owned(), files))
        .collect();
    holes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    (parts.production.len() - unguarded, holes)
}

fn found(parts: &Parts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let packages = parts.survey.layout.in_words();
    if !packages.is_empty() {
        lines.push(packages.join(", "));
    }
    lines.push(counted(parts.production.len(), "production file"));
    let properties: usize = parts.found.iter().map(|file| file.ids.len()).sum();
    if properties == 0 {
        lines.push("no properties: no test with generated inputs".to_owned());
    } else {
        let generators: BTreeSet<Generator> = parts
            .found
            .iter()
            .flat_map(|file| file.generators.iter().copied())
            .collect();
        let names: Vec<&str> = generators.into_iter().map(generator_name).collect();
        let with = match names.is_empty() {
            true => " (by marker)".to_owned(),
            false => format!(" ({})", names.join(", ")),
        };
        let kind = if properties == 1 {
            "property"
        } else {
            "properties"
        };
        let files = counted(parts.found.len(), "file");
        lines.push(format!("{properties} {kind} in {files}{with}"));
    }
    let roots = parts.survey.roots();
    if roots.is_empty() {
        lines.push("no fixtures that can be pinned".to_owned());
    } else {
        let count: usize = roots
            .iter()
            .map(|root| parts.survey.tree.below(root).count())
            .sum();
        lines.push(format!(
            "{} below {}",
            counted(count, "fixture"),
            roots.join(", ")
        ));
    }
    let classes = parts.survey.classes(parts.config);
    let goldens = parts
        .survey
        .tree
        .files()
        .filter(|path| classes.classify(path) == crate::model::Class::Golden)
        .count();
    if goldens > 0 {
        lines.push(counted(goldens, "golden"));
    }
    lines
}

fn generator_name(generator: Generator) -> &'static str {
    match generator {
        Generator::Hypothesis => "Hypothesis",
        Generator::Proptest => "proptest",
        Generator::Quickcheck => "quickcheck",
        Generator::FastCheck => "fast-check",
        Generator::Rapid => "rapid",
        Generator::GoFuzz => "Go fuzz targets",
    }
}

/// What a person has to do because files that are there are not touched, and whom the gate binds.
fn advice(parts: &Parts<'_>) -> Vec<String> {
    let mut advice = Vec::new();
    let existing = parts.survey.existing;
    let config = Layer::Config.default_path();
    for (key, globs) in [
        ("properties", &parts.missing_globs.properties),
        ("inline_properties", &parts.missing_globs.inline),
    ] {
        if !globs.is_empty() {
            let globs: Vec<String> = globs.iter().map(|glob| format!("    - {glob:?}")).collect();
            advice.push(format!(
                "{config} is there and stays as it is. Files that hold properties and do not count yet; add to `paths:`\n  {key}:\n{}",
                shortened(globs).join("\n")
            ));
        }
    }
    if let Some(lock) = &existing.lock {
        advice.extend(lock_advice(parts, &lock.value));
    }
    if existing.map.is_some() {
        let listed: BTreeSet<&NodeId> = parts
            .map
            .rules
            .iter()
            .flat_map(|rule| &rule.live_properties)
            .collect();
        let unlisted: Vec<String> = parts
            .found
            .iter()
            .flat_map(|file| &file.ids)
            .filter(|id| !listed.contains(id))
            .map(|id| format!("  {id}"))
            .collect();
        if !unlisted.is_empty() {
            let path = parts.config.guarded_path(Layer::Map);
            advice.push(format!(
                "In no rule of {path}; rules that are there are not changed:\n{}",
                shortened(unlisted).join("\n")
            ));
        }
    }
    if parts.config.apply_to == ApplyTo::Agents {
        advice.push(format!(
            "Do agents push under people's accounts here? Then set `apply_to: all` in {config}: an agent\nthat leaves no trace looks like the person, and by default people are not bound by every rule."
        ));
    }
    advice
}

fn lock_advice(parts: &Parts<'_>, lock: &crate::contract::lock::Lock) -> Vec<String> {
    let tree: &Tree = parts.survey.tree;
    let mut advice = Vec::new();
    let unlocked = lock
        .roots
        .iter()
        .flat_map(|root| tree.below(root))
        .filter(|path| !lock.files.contains_key(*path))
        .count();
    let gone = lock.files.keys().filter(|path| !tree.has(path)).count();
    if unlocked + gone > 0 {
        advice.push(format!(
            "The lock differs from what is staged: {} not in it, {gone} of it gone.\nLook at them, then run `frostline lock write`.",
            counted(unlocked, "fixture")
        ));
    }
    let new: Vec<String> = parts
        .survey
        .fixtures
        .roots
        .iter()
        .filter(|root| !lock.roots.iter().any(|other| is_at_or_below(root, other)))
        .map(|root| format!("  {root}"))
        .collect();
    if !new.is_empty() {
        let path = parts.config.guarded_path(Layer::Lock);
        advice.push(format!(
            "Looks like fixtures, and is not pinned; add to `fixtures_root` in {path}, then run `frostline lock write`:\n{}",
            shortened(new).join("\n")
        ));
    }
    advice
}
