//! A small repository as a Snapshot, with one thing changed at a time.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::digest;
use crate::gate::facts::{Listed, Plan, layers};
use crate::gate::sources::{SourceRead, Survey};
use crate::model::*;

pub const PARSE: &str = "src/mypkg/parse.py";
pub const PROPERTY_FILE: &str = "tests/properties/test_parse.py";
pub const ROUNDTRIP: &str = "tests/properties/test_parse.py::test_roundtrip";
pub const UNKNOWN: &str = "tests/properties/test_unknown.py::test_unknown_fields";
pub const FIXTURE: &str = "tests/fixtures/ok.json";
pub const LOCK: &str = "test/contract/fixtures.lock.json";
pub const FREEZES: &str = "test/contract/flake-freeze.json";
pub const MAP: &str = "test/contract/hunk-map.json";
pub const CONFIG: &str = ".github/frostline.yml";

/// An object id that stands for some content.
pub fn id_of(content: &str) -> Sha {
    digest::blob(content.as_bytes()).sha256.as_str()[..40]
        .parse()
        .expect("40 digits")
}

/// Files of a tree by path; a link's content is its target.
type Files = BTreeMap<String, (EntryKind, String)>;

#[derive(Clone)]
pub struct Scene {
    base: Files,
    merged: Files,
    pub author: AuthorKind,
    pub opted_in: bool,
    pub lfs: bool,
    pub opaque: Option<String>,
    tweaks: Vec<fn(&mut Snapshot)>,
}

pub fn lock_of(files: &[(&str, &str)]) -> String {
    let rows: serde_json::Map<String, Value> = files
        .iter()
        .map(|(path, content)| {
            let digest = digest::blob(content.as_bytes()).sha256.to_string();
            (
                path.strip_prefix("tests/fixtures/")
                    .expect("below the root")
                    .to_owned(),
                json!(digest),
            )
        })
        .collect();
    json!({"fixtures_root": "tests/fixtures", "files": rows}).to_string()
}

pub fn freeze(nodeid: &str, covers: &[&str]) -> Value {
    json!({"nodeid": nodeid, "reason": "clock jitter", "owner": "@acme/parse", "covers": covers,
           "frozen": true})
}

pub fn freezes_of(rows: &[Value]) -> String {
    json!({"version": 1, "entries": rows}).to_string()
}

pub fn rule(prefix: &str, properties: &[&str]) -> Value {
    json!({"path_prefix": prefix, "live_properties": properties})
}

pub fn map_of(rules: &[Value]) -> String {
    json!({"version": 1, "rules": rules}).to_string()
}

impl Scene {
    /// An opted-in repository that nothing changes in.
    pub fn quiet() -> Self {
        let mut scene = Self {
            base: Files::new(),
            merged: Files::new(),
            author: AuthorKind::Agent,
            opted_in: true,
            lfs: false,
            opaque: None,
            tweaks: Vec::new(),
        };
        let lock = lock_of(&[(FIXTURE, "{}")]);
        let map = map_of(&[rule(PARSE, &[ROUNDTRIP, UNKNOWN])]);
        for (path, content) in [
            (PARSE, "def parse(): ..."),
            (PROPERTY_FILE, "def test_roundtrip(): ..."),
            (
                "tests/properties/test_unknown.py",
                "def test_unknown_fields(): ...",
            ),
            (FIXTURE, "{}"),
            (LOCK, lock.as_str()),
            (FREEZES, freezes_of(&[]).as_str()),
            (MAP, map.as_str()),
        ] {
            scene = scene.on_both(path, content);
        }
        scene
    }

    /// The same, with the parser changed.
    pub fn production() -> Self {
        Self::quiet().change(PARSE, "def parse(): return 1")
    }

    pub fn person(mut self) -> Self {
        self.author = AuthorKind::Person;
        self
    }

    /// A file that base tip and merged tree share.
    pub fn on_both(mut self, path: &str, content: &str) -> Self {
        let file = (EntryKind::File, content.to_owned());
        self.base.insert(path.to_owned(), file.clone());
        self.merged.insert(path.to_owned(), file);
        self
    }

    /// Whether the base tip has the file.
    pub fn has(&self, path: &str) -> bool {
        self.base.contains_key(path)
    }

    /// The patch writes this file.
    pub fn change(self, path: &str, content: &str) -> Self {
        self.put(path, EntryKind::File, content)
    }

    pub fn put(mut self, path: &str, kind: EntryKind, content: &str) -> Self {
        self.merged
            .insert(path.to_owned(), (kind, content.to_owned()));
        self
    }

    pub fn on_base_only(mut self, path: &str, content: &str) -> Self {
        self.base
            .insert(path.to_owned(), (EntryKind::File, content.to_owned()));
        self.merged.remove(path);
        self
    }

    pub fn remove(mut self, path: &str) -> Self {
        self.merged.remove(path);
        self
    }

    pub fn remove_on_both(mut self, path: &str) -> Self {
        self.base.remove(path);
        self.merged.remove(path);
        self
    }

    pub fn tweak(mut self, tweak: fn(&mut Snapshot)) -> Self {
        self.tweaks.push(tweak);
        self
    }

    pub fn freezing(self, rows: &[Value]) -> Self {
        self.on_both(FREEZES, &freezes_of(rows))
    }

    pub fn mapping(self, rules: &[Value]) -> Self {
        self.on_both(MAP, &map_of(rules))
    }

    pub fn config(self, yaml: &str) -> Self {
        self.on_both(CONFIG, yaml)
    }

    fn fact(files: &Files, path: &str) -> BlobFact {
        match files.get(path) {
            None => BlobFact::Absent,
            Some((kind, content)) if kind.is_regular() => BlobFact::Content {
                id: id_of(content),
                bytes: FileBytes(content.clone().into_bytes()),
            },
            Some(_) => BlobFact::NotRegular("a symlink".to_owned()),
        }
    }

    fn contract(&self) -> BTreeMap<Layer, ContractFile> {
        layers(&Self::fact(&self.base, CONFIG))
            .into_iter()
            .map(|(layer, path)| {
                let base = Self::fact(&self.base, &path);
                let merged = Self::fact(&self.merged, &path);
                let file = ContractFile {
                    merged: (merged != base).then_some(merged),
                    base,
                    path,
                };
                (layer, file)
            })
            .collect()
    }

    fn write_set(&self) -> Vec<Change> {
        let entry = |files: &Files, path: &str| {
            files.get(path).map(|(kind, content)| Entry {
                kind: *kind,
                id: id_of(content),
            })
        };
        let paths: std::collections::BTreeSet<&String> =
            self.base.keys().chain(self.merged.keys()).collect();
        paths
            .into_iter()
            .filter_map(|path| {
                let (base, merged) = (entry(&self.base, path), entry(&self.merged, path));
                let status = match (&base, &merged) {
                    (a, b) if a == b => return None,
                    (None, _) => ChangeStatus::Added,
                    (_, None) => ChangeStatus::Removed,
                    _ => ChangeStatus::Modified,
                };
                let hunk = Hunk {
                    old_start: 10,
                    old_lines: 2,
                    new_start: 10,
                    new_lines: 4,
                };
                let shebang = self
                    .merged
                    .get(path)
                    .is_some_and(|(_, c)| c.starts_with("#!"));
                Some(Change {
                    path: path.clone(),
                    raw_path_hex: None,
                    old_path: None,
                    status,
                    base,
                    merged,
                    hunks: vec![hunk],
                    shebang,
                    only: None,
                    collides_with: None,
                })
            })
            .collect()
    }

    /// What a gatherer does with the sources and the manifests.
    fn sources(&self, plan: &Plan, write_set: &mut [Change], listing: &[Listed<'_>]) -> Sources {
        let files = self.base.values().chain(self.merged.values());
        let texts: BTreeMap<Sha, &str> = files
            .map(|(_, content)| (id_of(content), content.as_str()))
            .collect();
        let entry = |path: &str| {
            self.merged.get(path).map(|(kind, content)| Entry {
                kind: *kind,
                id: id_of(content),
            })
        };
        let answers = {
            let mut survey = Survey::new(plan, write_set, listing, entry);
            loop {
                let wanted = survey.wanted();
                if wanted.is_empty() {
                    break survey.finish();
                }
                survey.take(wanted.into_iter().map(|wanted| {
                    let facts = crate::source::read(wanted.language, texts[&wanted.id].as_bytes());
                    (wanted, SourceRead::Facts(std::sync::Arc::new(facts)))
                }));
            }
        };
        answers.note(write_set);
        for change in write_set
            .iter_mut()
            .filter(|change| plan.needs_texts(change))
        {
            if let (Some(old), Some(new)) = (&change.base, &change.merged) {
                let (old, new) = (texts[&old.id].as_bytes(), texts[&new.id].as_bytes());
                change.only = plan.only(&change.path, old, new);
            }
        }
        answers.sources
    }

    fn entry_at(&self, files: &Files, path: &str) -> Option<FixtureEntry> {
        let (kind, content) = files.get(path)?;
        Some(FixtureEntry {
            path: path.to_owned(),
            kind: *kind,
            id: id_of(content),
            lfs: self.lfs,
            opaque: (!kind.is_regular()).then(|| "it is a symlink".to_owned()),
        })
    }

    /// What a gatherer does for fixture scopes and behavior notes.
    fn scopes(
        &self,
        plan: &Plan,
        listing: &[Listed<'_>],
        write_set: &[Change],
        fixtures: &[FixtureEntry],
        digests: &BTreeMap<Sha, Fact<BlobDigest>>,
    ) -> ScopeFacts {
        let files: Vec<FixtureEntry> = plan
            .scope_files(listing)
            .into_iter()
            .filter_map(|path| self.entry_at(&self.merged, path))
            .collect();
        let before = plan.scope_changes(write_set);
        let before = before.into_iter();
        let seed_form = |folder: &String| {
            let files = fixtures.iter().chain(&files);
            match crate::gate::facts::seed_files(folder, files, digests) {
                Err(why) => Fact::Missing(why),
                Ok(files) => {
                    let files = files.into_iter().map(|file| {
                        let below = &file.path[folder.len() + 1..];
                        (below.as_bytes(), self.merged[&file.path].1.as_bytes())
                    });
                    Fact::Known(digest::seed_form(files))
                }
            }
        };
        let folders = plan.seed_folders().into_iter();
        let seed_forms = folders.map(|folder| {
            let form = seed_form(&folder);
            (folder, form)
        });
        let notes = plan.notes_to_read(listing, write_set).into_iter();
        let notes = notes.map(|path| (path, self.merged[path].1.as_bytes()));
        ScopeFacts {
            before: before
                .filter_map(|change| self.entry_at(&self.base, &change.path))
                .collect(),
            seed_forms: seed_forms.collect(),
            notes: plan.noted(write_set, fixtures, digests, notes),
            notes_unread: None,
            unread: None,
            files: files.clone(),
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        let contract = self.contract();
        let plan = Plan::new(&contract);
        let listing: Vec<Listed<'_>> = self
            .merged
            .iter()
            .map(|(path, (kind, _))| Listed { path, kind: *kind })
            .collect();
        let mut write_set = self.write_set();
        plan.note_collisions(&mut write_set, &listing);
        let sources = self.sources(&plan, &mut write_set, &listing);
        let roots = plan.fixture_roots();
        let under = |path: &str| {
            roots
                .iter()
                .any(|root| crate::gate::classes::is_at_or_below(path, root))
        };
        let fixtures: Vec<FixtureEntry> = self
            .merged
            .iter()
            .filter(|(path, _)| under(path))
            .map(|(path, (kind, content))| FixtureEntry {
                path: path.clone(),
                kind: *kind,
                id: id_of(content),
                lfs: self.lfs,
                opaque: self
                    .opaque
                    .clone()
                    .or_else(|| (!kind.is_regular()).then(|| "it is a symlink".to_owned())),
            })
            .collect();
        let both = self.base.values().chain(self.merged.values());
        let digests: BTreeMap<Sha, Fact<BlobDigest>> = both
            .map(|(_, content)| {
                (
                    id_of(content),
                    Fact::Known(digest::blob(content.as_bytes())),
                )
            })
            .collect();
        let scopes = self.scopes(&plan, &listing, &write_set, &fixtures, &digests);
        let mut snapshot = Snapshot {
            schema: SNAPSHOT_SCHEMA.to_owned(),
            repository: "acme/parser".to_owned(),
            branch: "main".to_owned(),
            subject: Subject::Patch,
            into_unguarded: None,
            reviews: None,
            proposed_by: None,
            foreign_checks: None,
            required: None,
            lane: None,
            base: id_of("base"),
            head: id_of("head"),
            merge_bases: Fact::Known(vec![id_of("base")]),
            now: "2026-11-30T12:00:00Z".parse().expect("a time"),
            opted_in: self.opted_in,
            author: Author {
                kind: self.author,
                login: None,
                evidence: "told".to_owned(),
            },
            merged_tree: Fact::Known(id_of("merged")),
            write_set: Fact::Known(write_set),
            fixtures: Fact::Known(fixtures),
            digests,
            tree: Fact::Known(plan.tree_facts(&listing)),
            sources: Fact::Known(sources),
            scopes,
            stats: Stats::default(),
            contract,
        };
        for tweak in &self.tweaks {
            tweak(&mut snapshot);
        }
        snapshot
    }

    pub fn decide(&self) -> Decision {
        crate::gate::decide(&self.snapshot())
    }

    #[track_caller]
    pub fn expect(self, verdict: Verdict) -> Decision {
        let decision = self.decide();
        assert_eq!(decision.verdict, verdict, "{:#?}", decision.findings);
        decision
    }
}

impl Decision {
    /// Findings of one rule as (effect, path).
    pub fn of_rule(&self, rule: Rule) -> Vec<(Effect, Option<&str>)> {
        self.findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .map(|finding| (finding.effect, finding.path.as_deref()))
            .collect()
    }

    pub fn message_of(&self, rule: Rule) -> &str {
        self.findings
            .iter()
            .find(|finding| finding.rule == rule)
            .map_or("", |finding| finding.message.as_str())
    }
}
