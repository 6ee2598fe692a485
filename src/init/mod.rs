//! Proposing a contract (interfaces section 1, `init`). PURE.
//!
//! Order: [`Tree`] of the index, [`layout::manifests`], then a [`Survey`]; its fixtures and its
//! candidates are read by the caller, and a [`Plan`] comes out, with the texts and the [`Report`].
//!
//! Invariants: what is there is kept and only added to; what was already proposed is not proposed again,
//! so that a second run says nothing new; every text that comes out is one that the strict parsers take.

pub mod existing;
pub mod fixtures;
pub mod imports;
pub mod layout;
mod map;
mod paths;
pub mod properties;
mod report;
pub mod tree;
mod write;

use std::collections::BTreeMap;

use existing::Existing;
use fixtures::Roots;
use imports::{Resolver, Sources, Targets};
use layout::Layout;
use map::Guard;
use properties::{Globs, PropertyFile};
use tree::Tree;

pub use report::Report;

use crate::config::repo::{self, Mode, Paths, RepoConfig};
use crate::contract::map::HunkMap;
use crate::contract::{freezes, lock, map as hunk_map};
use crate::gate::PrefixIndex;
use crate::gate::classes::{self, Classifier};
use crate::model::{Class, FileDigest, FixtureEntry, Layer};
use crate::source::Language;

/// A contract file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    /// What is there now.
    pub old: Option<Vec<u8>>,
    pub new: Vec<u8>,
    /// What it holds, for the report: "2 rules".
    pub what: String,
}

/// What the listing and the manifests say, before any source is read.
pub struct Survey<'a> {
    tree: &'a Tree,
    layout: &'a Layout,
    existing: &'a Existing,
    production: Vec<String>,
    tests: Vec<String>,
    fixtures: Roots,
}

impl<'a> Survey<'a> {
    pub fn new(tree: &'a Tree, layout: &'a Layout, existing: &'a Existing) -> Self {
        let (production, tests) = match existing.config {
            Some(_) => (Vec::new(), Vec::new()),
            None => {
                let production = paths::production(tree, layout);
                let tests = paths::tests(tree, &production);
                (production, tests)
            }
        };
        let mut survey = Self {
            tree,
            layout,
            existing,
            production,
            tests,
            fixtures: Roots::default(),
        };
        survey.fixtures = fixtures::roots(tree, &survey.config(Globs::default()));
        survey
    }

    /// The configuration that is there, or the proposed one.
    fn config(&self, globs: Globs) -> RepoConfig {
        match &self.existing.config {
            Some(found) => found.value.clone(),
            None => RepoConfig {
                mode: Mode::Observe,
                paths: Paths {
                    production: self.production.clone(),
                    tests: self.tests.clone(),
                    properties: globs.properties,
                    inline_properties: globs.inline,
                    ..Paths::default()
                },
                ..RepoConfig::default()
            },
        }
    }

    /// The fixtures roots whose entries have to be listed: those of the lock, and the proposed ones.
    pub fn fixture_roots(&self) -> Vec<String> {
        let mut roots = self.locked_roots().to_vec();
        roots.extend(self.fixtures.roots.iter().cloned());
        roots
    }

    fn locked_roots(&self) -> &[String] {
        let lock = self.existing.lock.as_ref();
        lock.map_or(&[][..], |lock| &lock.value.roots)
    }

    /// Takes out the proposed roots that hold what cannot be pinned.
    pub fn drop_opaque(&mut self, entries: &[FixtureEntry]) {
        self.fixtures.drop_opaque(entries);
    }

    /// Roots in force: the lock's, or the proposed ones.
    fn roots(&self) -> Vec<String> {
        match &self.existing.lock {
            Some(lock) => lock.value.roots.clone(),
            None => self.fixtures.roots.clone(),
        }
    }

    fn classes(&self, config: &RepoConfig) -> Classifier {
        let map = self.existing.map.as_ref().map(|map| &map.value);
        Classifier::new(config, self.roots(), map)
    }

    /// Source files that can hold properties.
    pub fn candidates(&self) -> Vec<(&'a str, Language)> {
        let classes = self.classes(&self.config(Globs::default()));
        properties::candidates(self.tree, &classes)
    }
}

/// What will be written, and what is told.
pub struct Plan {
    config: RepoConfig,
    /// `None` when the configuration is there already.
    config_text: Option<String>,
    /// Roots of the lock to write; `None` when there is one, or none can be had.
    roots: Option<Vec<String>>,
    /// The whole text of the map, when it is new or has new rules.
    map_text: Option<String>,
    map_what: String,
    report: Report,
}

/// Why a plan came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("{path} holds a map that no rules can be added to; add them by hand, or move it away")]
    Unextendable { path: String },
    #[error("the proposal is no contract ({0}); nothing was written")]
    Invalid(String),
}

impl Plan {
    /// `found` are the property files, and `unread` the candidates that could not be read, with why.
    ///
    /// # Errors
    /// When the map that is there cannot be added to.
    pub fn new(
        survey: &Survey<'_>,
        mut found: Vec<PropertyFile>,
        unread: BTreeMap<String, String>,
        sources: &dyn Sources,
    ) -> Result<Self, PlanError> {
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let without = survey.config(Globs::default());
        let globs = properties::globs(
            survey.tree,
            &without,
            &survey.classes(&without),
            &found,
            &survey.roots(),
        );
        let (config, missing_globs) = match survey.existing.config {
            Some(_) => (without, globs),
            None => (survey.config(globs), Globs::default()),
        };
        let classes = survey.classes(&config);
        let production: Vec<&str> = survey
            .tree
            .files()
            .filter(|path| classes.classify(path) == Class::Production)
            .collect();
        let counts = |file: &&PropertyFile| {
            classes.classify(&file.path) == Class::Property
                || classes.holds_inline_properties(&file.path)
        };
        let resolver = Resolver::new(survey.tree, survey.layout, &production, sources);
        let looked: Vec<(&PropertyFile, Targets)> = found
            .iter()
            .filter(counts)
            .map(|file| (file, resolver.targets(file)))
            .collect();
        let (map_text, map_what, map) = propose_map(survey, &config, &looked, &production)?;
        let roots = match survey.existing.lock {
            None if !config.is_off(Layer::Lock) => {
                survey.fixtures.of_fresh_lock(survey.tree, &config)
            }
            _ => None,
        };
        let lock_off = survey.existing.lock.is_none() && roots.is_none();
        let config_text = match survey.existing.config {
            Some(_) => None,
            None => Some(write::config(&write::Settings {
                production: config.paths.production.clone(),
                globs: Globs {
                    properties: config.paths.properties.clone(),
                    inline: config.paths.inline_properties.clone(),
                },
                tests: config.paths.tests.clone(),
                lock_off,
            })),
        };
        let report = Report::new(report::Parts {
            survey,
            config: &config,
            found: &found,
            looked: &looked,
            missing_globs,
            unread,
            production: &production,
            map: &map,
        });
        Ok(Self {
            config,
            config_text,
            roots,
            map_text,
            map_what,
            report,
        })
    }

    /// The roots that a fresh lock pins.
    pub fn fixture_roots(&self) -> &[String] {
        self.roots.as_deref().unwrap_or_default()
    }

    /// The files to write; `fixtures` are the digests below [`Self::fixture_roots`]. Every text has gone
    /// through the parser of its file.
    ///
    /// # Errors
    /// When a text is no contract file: a fault of this program.
    pub fn changes(
        &self,
        existing: &Existing,
        fixtures: &BTreeMap<String, FileDigest>,
    ) -> Result<Vec<Change>, PlanError> {
        let invalid = |error: crate::contract::ContractError| PlanError::Invalid(error.to_string());
        let mut changes = Vec::new();
        let mut add = |layer: Layer, old: Option<&[u8]>, new: Vec<u8>, what: String| {
            changes.push(Change {
                path: self.config.guarded_path(layer).to_owned(),
                old: old.map(<[u8]>::to_vec),
                new,
                what,
            });
        };
        let mut config = self.config.clone();
        if let Some(text) = &self.config_text {
            let path = Layer::Config.default_path();
            config = repo::parse(path, text.as_bytes()).map_err(invalid)?;
            classes::check(&config).map_err(|error| PlanError::Invalid(error.to_string()))?;
            add(
                Layer::Config,
                None,
                text.clone().into_bytes(),
                "mode: observe".to_owned(),
            );
        }
        if let Some(roots) = &self.roots {
            let bytes = lock::write(None, roots, fixtures);
            let path = config.guarded_path(Layer::Lock);
            let written = lock::parse(path, &bytes).map_err(invalid)?;
            if let Some(why) = written
                .roots
                .iter()
                .find_map(|root| fixtures::overlap(&config, root))
            {
                return Err(PlanError::Invalid(why));
            }
            let what = counted(written.files.len(), "fixture");
            add(Layer::Lock, None, bytes, what);
        }
        if existing.freezes.is_none() && !config.is_off(Layer::Freezes) {
            let path = config.guarded_path(Layer::Freezes);
            freezes::parse(path, write::NO_FREEZES.as_bytes()).map_err(invalid)?;
            let bytes = write::NO_FREEZES.as_bytes().to_vec();
            add(Layer::Freezes, None, bytes, "no rows".to_owned());
        }
        if let Some(text) = &self.map_text {
            let path = config.guarded_path(Layer::Map);
            hunk_map::parse(path, text.as_bytes()).map_err(invalid)?;
            let old = existing.map.as_ref().map(|map| map.bytes.as_slice());
            add(
                Layer::Map,
                old,
                text.clone().into_bytes(),
                self.map_what.clone(),
            );
        }
        Ok(changes)
    }

    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// The map's new text (`None` when it stays as it is), what it holds, and the map in force after.
fn propose_map(
    survey: &Survey<'_>,
    config: &RepoConfig,
    looked: &[(&PropertyFile, Targets)],
    production: &[&str],
) -> Result<(Option<String>, String, HunkMap), PlanError> {
    let guards: Vec<Guard<'_>> = looked
        .iter()
        .map(|(file, targets)| Guard {
            file,
            targets: targets.files.clone(),
        })
        .collect();
    let existing = survey.existing.map.as_ref();
    let known = PrefixIndex::new(
        existing
            .iter()
            .flat_map(|map| &map.value.rules)
            .map(|rule| rule.path_prefix.as_str()),
    );
    let rules = map::rules(&guards, production, |path| !known.matches(path));
    let mut all = existing.map_or_else(HunkMap::default, |map| map.value.clone());
    if config.is_off(Layer::Map) {
        return Ok((None, String::new(), all));
    }
    let path = config.guarded_path(Layer::Map);
    let text = match existing {
        None => Some(write::map(&rules)),
        Some(_) if rules.is_empty() => None,
        Some(map) => {
            let unextendable = || PlanError::Unextendable {
                path: path.to_owned(),
            };
            let text = std::str::from_utf8(&map.bytes).map_err(|_| unextendable())?;
            Some(write::appended(text, &rules).ok_or_else(unextendable)?)
        }
    };
    let what = match existing {
        None => counted(rules.len(), "rule"),
        Some(_) => counted(rules.len(), "new rule"),
    };
    if let Some(text) = &text {
        all = hunk_map::parse(path, text.as_bytes())
            .map_err(|error| PlanError::Invalid(error.to_string()))?;
    }
    Ok((text, what, all))
}

/// "1 rule", "2 rules", "no rules".
pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
