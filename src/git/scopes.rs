//! What fixture scopes and behavior notes need of the merged tree.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::cache::Cache;
use super::error::{GitError, one_line};
use super::tree::Listing;
use super::{digests, fixtures};
use crate::digest::SeedForm;
use crate::gate::facts::{LARGEST_NOTES, Listed, MOST_NOTES, Plan, seed_files};
use crate::gate::scopes::LARGEST_SEED_FORM;
use crate::model::{BlobDigest, Change, Fact, FixtureEntry, ScopeFacts, Sha};

/// The merged tree, and what is known of it.
pub(super) struct Merged<'a> {
    pub repo: &'a gix::Repository,
    pub tree: ObjectId,
    pub listing: &'a Listing,
    pub listed: &'a [Listed<'a>],
    pub fixtures: &'a [FixtureEntry],
}

impl Merged<'_> {
    /// Looks up what the plan asks for; adds to `digests` those of the files that it finds.
    pub fn scopes(
        &self,
        plan: &Plan,
        changes: &[Change],
        digests: &mut BTreeMap<Sha, Fact<BlobDigest>>,
        cache: bool,
    ) -> Result<ScopeFacts, GitError> {
        let wanted = plan.scope_files(self.listed);
        let files = match wanted.is_empty() {
            true => Vec::new(),
            false => fixtures::picked(self.repo, self.tree, self.listing, &wanted)?,
        };
        let replaced = plan.scope_changes(changes);
        let before = match replaced.is_empty() {
            true => Vec::new(),
            false => fixtures::replaced(self.repo, self.tree, &replaced)?,
        };
        if !(files.is_empty() && before.is_empty()) {
            let mut kept = Cache::open(self.repo, cache);
            let all: Vec<FixtureEntry> = files.iter().chain(&before).cloned().collect();
            let (found, _) = digests::of(self.repo, &all, &mut kept);
            kept.save();
            digests.extend(found);
        }
        let seed_forms = plan.seed_folders().into_iter().map(|folder| {
            let files = self.fixtures.iter().chain(&files);
            let form = match seed_files(&folder, files, digests) {
                Ok(files) => self.seed_form(&folder, &files),
                Err(why) => Fact::Missing(why),
            };
            (folder, form)
        });
        let mut facts = ScopeFacts {
            seed_forms: seed_forms.collect(),
            files,
            before,
            ..ScopeFacts::default()
        };
        let notes = plan.notes_to_read(self.listed, changes);
        if !notes.is_empty() {
            match self.notes(&notes.into_iter().collect()) {
                Ok(notes) => {
                    let notes = notes
                        .iter()
                        .map(|(path, text)| (path.as_str(), text.as_slice()));
                    facts.notes = plan.noted(changes, self.fixtures, digests, notes);
                }
                Err(why) => facts.notes_unread = Some(why),
            }
        }
        Ok(facts)
    }

    fn seed_form(&self, folder: &str, files: &[&FixtureEntry]) -> Fact<String> {
        let mut form = SeedForm::default();
        let mut left = LARGEST_SEED_FORM;
        for file in files {
            let id = ObjectId::Sha1(file.id.to_bytes());
            let size = match self.repo.find_header(id) {
                Ok(header) => header.size(),
                Err(error) => return Fact::Unavailable(one_line(error)),
            };
            let Some(rest) = left.checked_sub(size) else {
                let most = LARGEST_SEED_FORM >> 20;
                let why = format!("it has more than {most} MiB; write `manifest-sha256:`");
                return Fact::Missing(why);
            };
            left = rest;
            match self.repo.find_blob(id) {
                Ok(blob) => {
                    let below = file.path.get(folder.len() + 1..).unwrap_or_default();
                    form.add(below.as_bytes(), &blob.data);
                }
                Err(error) => return Fact::Unavailable(one_line(error)),
            }
        }
        Fact::Known(form.finish())
    }

    /// Paths and bytes of the notes, or why they are not read.
    fn notes(&self, wanted: &BTreeSet<&str>) -> Result<Vec<(String, Vec<u8>)>, String> {
        if wanted.len() > MOST_NOTES {
            return Err(format!("there are more than {MOST_NOTES}"));
        }
        let mut notes = Vec::new();
        let mut size = 0;
        for (path, leaf) in self.listing.below(gix::bstr::BStr::new("")) {
            let path = path.to_string();
            if !wanted.contains(path.as_str()) {
                continue;
            }
            let header = self.repo.find_header(leaf.id).map_err(one_line)?;
            size += header.size();
            if size > LARGEST_NOTES {
                return Err(format!("they have more than {} MiB", LARGEST_NOTES >> 20));
            }
            let blob = self.repo.find_blob(leaf.id).map_err(one_line)?;
            notes.push((path, blob.detach().data));
        }
        Ok(notes)
    }
}
