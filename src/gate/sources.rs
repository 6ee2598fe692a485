//! Which sources have to be read for a patch, and what they say of it (protocol section 1, "witness").
//! PURE.
//!
//! A gatherer reads what [`Survey::wanted`] names until it names nothing more; then
//! [`Survey::finish`] answers. Facts hang on a blob alone, so that a gatherer may keep them for ever.
//! Invariant: what could not be read never makes a property live.

mod named;
mod needs;
mod properties;
mod rows;
mod tree;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::facts::{Listed, Plan};
use crate::model::{
    Change, Class, Entry, FileDigest, NodeId, Only, PropertyFact, Sha, SourceFacts, Sources,
    TestFileFact,
};
use crate::source::{self, Language};
use named::Named;
use needs::{PACKAGE_FILES, is_support};
use tree::Tree;

/// A blob that has to be read, as text of a language.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wanted {
    pub id: Sha,
    pub language: Language,
}

/// What became of reading one.
#[derive(Debug, Clone)]
pub enum SourceRead {
    Facts(Arc<SourceFacts>),
    /// More than [`source::LARGEST`] bytes, or past what one evaluation reads.
    TooLarge,
    /// Why it could not be had.
    Unavailable(String),
}

impl SourceRead {
    /// The facts of a source that was read and has no syntax error.
    fn whole(&self) -> Option<&SourceFacts> {
        match self {
            Self::Facts(facts) if facts.broken.is_none() => Some(facts),
            _ => None,
        }
    }
}

/// What [`Survey::finish`] found.
#[derive(Debug)]
pub struct Answers {
    pub sources: Sources,
    /// By position in the write-set.
    pub only: BTreeMap<usize, Only>,
}

impl Answers {
    /// Fills in [`Change::only`] of the write-set that was asked for.
    pub fn note(&self, changes: &mut [Change]) {
        for (at, only) in &self.only {
            if let Some(change) = changes.get_mut(*at) {
                change.only = Some(*only);
            }
        }
    }
}

/// One patch's sources.
pub struct Survey<'a, F> {
    plan: &'a Plan,
    changes: &'a [Change],
    /// Of each change.
    classes: Vec<Class>,
    by_path: HashMap<&'a str, usize>,
    /// Files that a test may import, by their names without extensions.
    by_stem: HashMap<&'a str, Vec<&'a str>>,
    properties: BTreeSet<&'a NodeId>,
    /// Tests that rows take the vote of.
    rows: BTreeSet<&'a NodeId>,
    tree: Tree<'a>,
    entry: F,
    read: HashMap<Wanted, SourceRead>,
    /// Files that a file needs, by its path; filled in as they are read.
    needs: BTreeMap<String, Vec<String>>,
    /// What [`Survey::follow`] came to from the files of the listed properties.
    reached: BTreeSet<String>,
    shapes: OnceCell<HashMap<FileDigest, String>>,
    named: Named<'a>,
    /// Files of the write-set that a test may import.
    support: Vec<&'a str>,
    /// Those that it may load by a path that nobody can read: without what is named like a test, which
    /// agents add with most patches.
    loadable: Vec<&'a str>,
    /// A file that a listed property needs loads code by something that no path can be read from.
    loads_anything: bool,
}

impl<'a, F: Fn(&str) -> Option<Entry>> Survey<'a, F> {
    /// `listing` is the merged tree's, sorted by path; `entry` looks one of its files up.
    pub fn new(plan: &'a Plan, changes: &'a [Change], listing: &'a [Listed<'a>], entry: F) -> Self {
        let classes: Vec<Class> = changes
            .iter()
            .map(|change| plan.class(&change.path))
            .collect();
        let mut by_stem: HashMap<&str, Vec<&str>> = HashMap::new();
        for (change, class) in changes.iter().zip(&classes) {
            let name = change.path.rsplit('/').next().unwrap_or_default();
            let stem = name.split('.').next().unwrap_or_default();
            if is_support(*class, &change.path) && !PACKAGE_FILES.contains(&stem) {
                by_stem.entry(stem).or_default().push(&change.path);
            }
        }
        let by_path = changes.iter().enumerate();
        let by_path = by_path.map(|(at, change)| (change.path.as_str(), at));
        let support = changes.iter().zip(&classes);
        let support = support.filter(|(change, class)| is_support(**class, &change.path));
        let support: Vec<&str> = support.map(|(change, _)| change.path.as_str()).collect();
        let loadable = support.iter().copied();
        let loadable = loadable.filter(|path| !plan.is_named_like_a_test(path));
        Self {
            named: Named::new(changes, &classes),
            plan,
            changes,
            classes,
            by_path: by_path.collect(),
            by_stem,
            properties: plan.listed_properties(),
            rows: plan.voteless(),
            tree: Tree::new(listing, changes),
            entry,
            read: HashMap::new(),
            needs: BTreeMap::new(),
            reached: BTreeSet::new(),
            shapes: OnceCell::new(),
            loadable: loadable.collect(),
            support,
            loads_anything: false,
        }
    }

    /// Takes in what was read.
    pub fn take(&mut self, read: impl IntoIterator<Item = (Wanted, SourceRead)>) {
        self.read.extend(read);
    }

    /// What has to be read next, the files of listed properties first and those of rows last; empty when all was read.
    pub fn wanted(&mut self) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for path in self.property_files() {
            wanted.extend(self.merged(path));
            wanted.extend(self.base(path));
        }
        for (at, change) in self.changes.iter().enumerate() {
            if self.reads(at) {
                wanted.extend(self.merged(&change.path));
                wanted.extend(self.base(&change.path));
            }
        }
        if !self.support.is_empty() {
            wanted.extend(self.follow());
        }
        let wanted = self.unread(wanted);
        if !wanted.is_empty() {
            return wanted;
        }
        // Last, lest they use up what an evaluation may read.
        let files = self
            .row_files()
            .into_iter()
            .filter_map(|path| self.merged(path));
        self.unread(files.collect())
    }

    fn unread(&self, mut wanted: Vec<Wanted>) -> Vec<Wanted> {
        let mut seen = HashSet::new();
        wanted.retain(|wanted| !self.read.contains_key(wanted) && seen.insert(wanted.clone()));
        wanted
    }

    /// What the sources say.
    pub fn finish(self) -> Answers {
        let needs = self.needs_of_all();
        let undeclared = self.undeclared();
        let declarer = |path: &str| {
            let mut parts = path.strip_suffix(".rs")?.split('/');
            parts.find_map(|part| undeclared.get(part).copied())
        };
        let mut properties = BTreeMap::new();
        for id in &self.properties {
            let (presence, unchanged) = self.property(id);
            let fact = PropertyFact {
                presence,
                unchanged,
                edited: self.is_edited(id),
                needs: needs
                    .get(id.path())
                    .copied()
                    .or_else(|| declarer(id.path()))
                    .map(str::to_owned),
            };
            properties.insert(id.to_string(), fact);
        }
        let mut files = BTreeMap::new();
        let mut only = BTreeMap::new();
        for (at, change) in self.changes.iter().enumerate() {
            if !self.reads(at) {
                continue;
            }
            if self.classes[at] == Class::Production
                && let Some(less) = self.changes_only_tests(change)
            {
                only.insert(at, less);
            }
            let fact = self.test_file(change);
            if fact != TestFileFact::default() {
                files.insert(change.path.clone(), fact);
            }
        }
        let own = self.property_files();
        let needed = self
            .reached
            .iter()
            .filter(|path| !own.contains(path.as_str()) && self.change(path).is_some());
        let sources = Sources {
            rows: self.row_tests(),
            needed: needed.cloned().collect(),
            properties,
            files,
        };
        Answers { sources, only }
    }

    fn property_files(&self) -> BTreeSet<&'a str> {
        self.properties.iter().map(|id| id.path()).collect()
    }

    /// Whether both sides of a change are looked at: tests, and Rust's production with its own tests.
    fn reads(&self, at: usize) -> bool {
        let change = &self.changes[at];
        match self.classes[at] {
            Class::Property | Class::Test => true,
            Class::Production => {
                Language::of_path(&change.path) == Some(Language::Rust)
                    && change.base.is_some()
                    && change.merged.is_some()
            }
            _ => false,
        }
    }

    fn change(&self, path: &str) -> Option<&'a Change> {
        self.by_path.get(path).map(|at| &self.changes[*at])
    }

    /// The blob at `path` of the merged tree.
    fn merged(&self, path: &str) -> Option<Wanted> {
        source_of(path, (self.entry)(path).as_ref())
    }

    /// The blob at `path` of the base tip, where the patch changes it.
    fn base(&self, path: &str) -> Option<Wanted> {
        source_of(path, self.change(path)?.base.as_ref())
    }

    fn merged_read(&self, path: &str) -> Option<&SourceRead> {
        self.read.get(&self.merged(path)?)
    }

    fn base_facts(&self, path: &str) -> Option<&SourceFacts> {
        self.read.get(&self.base(path)?)?.whole()
    }

    fn merged_facts(&self, path: &str) -> Option<&SourceFacts> {
        self.merged_read(path)?.whole()
    }

    /// Whether a change of a production file leaves everything outside of test items as it is.
    fn changes_only_tests(&self, change: &Change) -> Option<Only> {
        let (before, after) = (change.base.as_ref()?, change.merged.as_ref()?);
        if before.id == after.id || before.kind != after.kind {
            return None;
        }
        let before = self.base_facts(&change.path)?;
        let after = self.merged_facts(&change.path)?;
        if before.rest != after.rest {
            None
        } else if before.frame == after.frame {
            Some(Only::TestItems)
        } else {
            Some(Only::TestSupport)
        }
    }

    /// For each module that a file of the write-set no longer declares as the base tip does: that file.
    fn undeclared(&self) -> HashMap<&str, &str> {
        let mut found = HashMap::new();
        for change in self.changes {
            let before = self.base_facts(&change.path);
            let before = before.map_or(&[][..], |facts| facts.modules.as_slice());
            let after = self.merged_facts(&change.path);
            let after = after.map_or(&[][..], |facts| facts.modules.as_slice());
            for declared in before.iter().filter(|declared| !after.contains(declared)) {
                found.insert(declared.name.as_str(), change.path.as_str());
            }
        }
        found
    }

    fn test_file(&self, change: &Change) -> TestFileFact {
        let language = Language::of_path(&change.path);
        let tests = |facts: &'_ SourceFacts| -> BTreeSet<String> {
            let tests = facts
                .items
                .iter()
                .filter(|item| language.is_some_and(|language| source::is_test(language, item)));
            tests.map(|item| item.names.join("::")).collect()
        };
        let before = self.base_facts(&change.path).map(tests).unwrap_or_default();
        let after = self.merged_facts(&change.path);
        let kept = after.map(tests).unwrap_or_default();
        let seeds: BTreeSet<u32> = after
            .into_iter()
            .flat_map(|facts| facts.items.iter().filter_map(|item| item.seed))
            .collect();
        let unread = |source: Option<Wanted>| {
            let read = source.and_then(|source| self.read.get(&source));
            read.is_some_and(|read| !matches!(read, SourceRead::Facts(_)))
        };
        TestFileFact {
            removed: before.difference(&kept).cloned().collect(),
            unread: unread(self.base(&change.path)) || unread(self.merged(&change.path)),
            seeds: seeds.into_iter().collect(),
            reads: self
                .merged_facts(&change.path)
                .and_then(|facts| self.named.by(facts))
                .or_else(|| self.named.by(self.base_facts(&change.path)?))
                .map(str::to_owned),
        }
    }
}

/// Where pytest looks for a `conftest.py` that a test file gets without naming it.
pub(super) fn conftests(path: &str) -> impl Iterator<Item = String> + '_ {
    let dirs = path.rmatch_indices('/').map(|(at, _)| &path[..=at]);
    dirs.chain(std::iter::once(""))
        .map(|dir| format!("{dir}conftest.py"))
}

fn source_of(path: &str, entry: Option<&Entry>) -> Option<Wanted> {
    let entry = entry.filter(|entry| entry.kind.is_regular())?;
    Some(Wanted {
        id: entry.id.clone(),
        language: Language::of_path(path)?,
    })
}
