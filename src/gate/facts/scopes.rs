//! What a gatherer has to look up for fixture scopes and behavior notes (protocol 3.6, 4 and 5.2).

use std::collections::{BTreeMap, BTreeSet};

use super::{Listed, Plan};
use crate::contract::digests::{self, Form};
use crate::contract::evidence::FROZEN;
use crate::gate::classes::is_at_or_below;
use crate::gate::reading::Judge;
use crate::gate::scopes::{self, GlobIndex};
use crate::model::{BlobDigest, Change, Class, Fact, FileDigest, FixtureEntry, NodeId, Sha};

/// Behavior notes that are read, and bytes of them together.
pub const MOST_NOTES: usize = 2_000;
pub const LARGEST_NOTES: u64 = 16 << 20;

const BOTH: [Judge; 2] = [Judge::BaseTip, Judge::MergedTree];

/// A row as far as it says what has to be looked up.
struct Bound<'a> {
    nodeid: &'a NodeId,
    digest: Option<&'a str>,
    property_digest: Option<&'a str>,
}

impl Plan {
    fn bound(&self) -> Vec<Bound<'_>> {
        let reading = &self.reading;
        let freezes = reading.freezes.readable().flat_map(|list| &list.entries);
        let freezes = freezes.filter(|row| row.frozen).map(|row| Bound {
            nodeid: &row.nodeid,
            digest: row.fixture_digest.as_deref(),
            property_digest: row.property_digest.as_deref(),
        });
        let ledger = reading.ledger.readable().flat_map(|list| &list.entries);
        let ledger = ledger.map(|row| Bound {
            nodeid: &row.nodeid,
            digest: row.fixture_digest.as_deref(),
            property_digest: row.property_digest.as_deref(),
        });
        let evidence = reading.evidence.readable().flat_map(|list| &list.last);
        let evidence = evidence.map(|row| Bound {
            nodeid: &row.nodeid,
            digest: Some(&row.fixture_digest),
            property_digest: None,
        });
        freezes.chain(ledger).chain(evidence).collect()
    }

    /// Every node that a row names, of whatever file.
    pub(super) fn row_nodes(&self) -> BTreeSet<&NodeId> {
        let lists = self.reading.freezes.readable();
        let closed = lists.flat_map(|list| &list.entries).map(|row| &row.nodeid);
        let tests = self.reading.frozen_tests.readable();
        let tests = tests.flat_map(|list| &list.rows).map(|row| &row.nodeid);
        let bound = self.bound();
        let bound = bound.iter().map(|row| row.nodeid);
        bound.chain(closed).chain(tests).collect()
    }

    /// Every test that a row takes the vote of, or means to.
    pub(in crate::gate) fn voteless(&self) -> BTreeSet<&NodeId> {
        let reading = &self.reading;
        let freezes = reading.freezes.readable().flat_map(|list| &list.entries);
        let freezes = freezes.filter(|row| row.frozen).map(|row| &row.nodeid);
        let ledger = reading.ledger.readable().flat_map(|list| &list.entries);
        let ledger = ledger.filter(|row| !row.is_closed()).map(|row| &row.nodeid);
        let evidence = reading.evidence.readable().flat_map(|list| &list.last);
        let evidence = evidence.filter(|row| row.status == FROZEN);
        let tests = reading.frozen_tests.readable().flat_map(|list| &list.rows);
        let tests = tests.map(|row| &row.nodeid);
        let evidence = evidence.map(|row| &row.nodeid);
        freezes.chain(ledger).chain(evidence).chain(tests).collect()
    }

    /// Globs of every scope that is asked about. Where the lock is off, fixtures are only asked about when a
    /// row or a catalog is there.
    fn scope_globs(&self) -> BTreeSet<String> {
        let catalogued = self.catalog_globs();
        let mut globs: BTreeSet<String> = catalogued.into_iter().map(str::to_owned).collect();
        if !globs.is_empty() || !self.fixture_roots().is_empty() || !self.bound().is_empty() {
            globs.extend(
                BOTH.into_iter()
                    .flat_map(|judge| self.reading.default_scope(judge)),
            );
        }
        globs
    }

    pub(super) fn catalog_globs(&self) -> BTreeSet<&str> {
        let rows = self.reading.catalog.readable().flat_map(|c| &c.properties);
        rows.flat_map(|row| &row.fixtures)
            .map(String::as_str)
            .collect()
    }

    /// Which of the catalog's globs match a file of the merged tree. Those of which that is too much to
    /// find out are left out.
    pub(super) fn used_globs(&self, listing: &[Listed<'_>]) -> BTreeMap<String, bool> {
        let globs = self.catalog_globs();
        if globs.is_empty() {
            return BTreeMap::new();
        }
        let index = GlobIndex::new(globs.iter().copied());
        let used = index.used(listing.iter().map(|file| file.path));
        let used = used.unwrap_or_default();
        globs.into_iter().map(str::to_owned).zip(used).collect()
    }

    /// The globs of every scope that is asked about.
    pub fn scopes(&self) -> GlobIndex {
        GlobIndex::new(self.scope_globs().iter().map(String::as_str))
    }

    /// Files of the merged tree, beyond its fixtures, that a scope holds or a row states the digest of.
    pub fn scope_files<'l>(&self, listing: &[Listed<'l>]) -> BTreeSet<&'l str> {
        let roots = self.fixture_roots();
        let globs = self.scope_globs();
        let beyond = globs.iter().map(String::as_str);
        let beyond = beyond.filter(|glob| {
            let folder = glob.strip_suffix("/**");
            folder.is_none_or(|folder| !roots.iter().any(|root| is_at_or_below(folder, root)))
        });
        let globs: Vec<&str> = beyond.collect();
        let index = GlobIndex::new(globs.iter().copied());
        let tests: BTreeSet<&str> = self
            .bound()
            .iter()
            .filter(|row| row.property_digest.is_some())
            .map(|row| row.nodeid.path())
            .collect();
        if globs.is_empty() && tests.is_empty() {
            return BTreeSet::new();
        }
        let mut work = 0;
        let paths = listing.iter().map(|file| file.path);
        paths
            .filter(|path| !roots.iter().any(|root| is_at_or_below(path, root)))
            .filter(|path| tests.contains(path) || !index.matching(path, &mut work).is_empty())
            .collect()
    }

    /// Changes that take away or replace what a scope holds at the base tip.
    pub fn scope_changes<'c>(&self, changes: &'c [Change]) -> Vec<&'c Change> {
        let globs = self.scope_globs();
        if globs.is_empty() {
            return Vec::new();
        }
        let index = GlobIndex::new(globs.iter().map(String::as_str));
        let mut work = 0;
        let replaced = changes
            .iter()
            .filter(|change| change.base.is_some() && change.base != change.merged);
        replaced
            .filter(|change| !index.matching(&change.path, &mut work).is_empty())
            .collect()
    }

    /// Folders that a row states the seed form of.
    pub fn seed_folders(&self) -> BTreeSet<String> {
        let bound = self.bound();
        let is_seed = |row: &&Bound<'_>| {
            row.digest
                .is_some_and(|digest| digests::form_of(digest) == Ok(Form::Seed))
        };
        let mut folders = BTreeSet::new();
        for judge in BOTH {
            let catalog = scopes::by_node(self.reading.catalog.of(judge).ready());
            let default = self.reading.default_scope(judge);
            for row in bound.iter().filter(is_seed) {
                let globs = scopes::globs_of(row.nodeid, &catalog, &default);
                folders.extend(scopes::folder(globs).map(str::to_owned));
            }
        }
        folders
    }

    /// Behavior notes of the merged tree, where a fixture changes.
    pub fn notes_to_read<'l>(&self, listing: &[Listed<'l>], changes: &[Change]) -> Vec<&'l str> {
        let is_fixture = |change: &Change| self.class(&change.path) == Class::Fixture;
        if !changes.iter().any(is_fixture) {
            return Vec::new();
        }
        let regular = listing.iter().filter(|file| file.kind.is_regular());
        let paths = regular.map(|file| file.path);
        paths
            .filter(|path| self.class(path) == Class::Note)
            .collect()
    }

    /// For each changed fixture, the first of the notes that names its path and its new digest.
    pub fn noted<'n>(
        &self,
        changes: &[Change],
        fixtures: &[FixtureEntry],
        found: &BTreeMap<Sha, Fact<BlobDigest>>,
        notes: impl Iterator<Item = (&'n str, &'n [u8])>,
    ) -> BTreeMap<String, String> {
        let changed: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let mut wanted: BTreeMap<FileDigest, Vec<&str>> = BTreeMap::new();
        for fixture in fixtures
            .iter()
            .filter(|fixture| changed.contains(fixture.path.as_str()))
        {
            if let Some(Fact::Known(digest)) = found.get(&fixture.id) {
                let digest = digest.of_file(fixture.lfs).clone();
                wanted.entry(digest).or_default().push(&fixture.path);
            }
        }
        let mut noted = BTreeMap::new();
        for (note, bytes) in notes {
            let text = String::from_utf8_lossy(bytes);
            let words = text.split(|c: char| !c.is_ascii_hexdigit());
            let stated: BTreeSet<FileDigest> = words.filter_map(|word| word.parse().ok()).collect();
            for path in stated
                .iter()
                .filter_map(|digest| wanted.get(digest))
                .flatten()
            {
                if text.contains(path) {
                    noted
                        .entry((*path).to_owned())
                        .or_insert_with(|| note.to_owned());
                }
            }
        }
        noted
    }
}

/// The files of a folder in the order of the seed form.
///
/// # Errors
/// Why the form can never be had: a clause.
pub fn seed_files<'f>(
    folder: &str,
    files: impl Iterator<Item = &'f FixtureEntry>,
    found: &BTreeMap<Sha, Fact<BlobDigest>>,
) -> Result<Vec<&'f FixtureEntry>, String> {
    let mut held = Vec::new();
    for file in files.filter(|file| is_at_or_below(&file.path, folder)) {
        if let Some(why) = &file.opaque {
            return Err(format!("{} is opaque: {why}", file.path));
        }
        let digest = found.get(&file.id).and_then(Fact::known);
        if file.lfs && digest.is_some_and(|digest| digest.lfs_oid.is_some()) {
            let path = &file.path;
            return Err(format!(
                "the bytes of {path} are in Git LFS; write `manifest-sha256:`"
            ));
        }
        if !file.path.ends_with(".pyc") {
            held.push(file);
        }
    }
    held.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
    Ok(held)
}
