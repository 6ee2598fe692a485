//! What fixture scopes and behavior notes need of the merged tree.

use std::collections::BTreeMap;

use super::listing::{Item, Listing};
use super::objects::{self, Objects};
use super::{GatherError, Gatherer};
use crate::digest::SeedForm;
use crate::gate::facts::{LARGEST_NOTES, Listed, MOST_NOTES, Plan, seed_files};
use crate::gate::scopes::LARGEST_SEED_FORM;
use crate::model::{BlobDigest, BlobFact, Change, Entry, Fact, FixtureEntry, ScopeFacts, Sha};

/// The merged tree, and what is known of it.
pub(super) struct Merged<'a> {
    pub listing: &'a Listing,
    pub listed: &'a [Listed<'a>],
    pub fixtures: &'a [FixtureEntry],
}

impl Gatherer<'_> {
    /// Looks up what the plan asks for; adds to `digests` those of the files that it finds.
    pub(super) async fn scopes(
        &self,
        merged: Merged<'_>,
        plan: &Plan,
        changes: &[Change],
        digests: &mut BTreeMap<Sha, Fact<BlobDigest>>,
    ) -> Result<ScopeFacts, GatherError> {
        let listing = merged.listing;
        let wanted = plan.scope_files(merged.listed);
        let files: Vec<&Item> = wanted.iter().filter_map(|path| listing.get(path)).collect();
        let replaced: Vec<Item> = plan
            .scope_changes(changes)
            .into_iter()
            .filter_map(|change| Some(item(&change.path, change.base.as_ref()?)))
            .collect();
        let both: Vec<&Item> = files.iter().copied().chain(&replaced).collect();
        let mut facts = ScopeFacts::default();
        if !both.is_empty() {
            let attributes = objects::attribute_items(listing, &both);
            let regular = both.iter().copied().filter(|item| item.kind.is_regular());
            let found = self
                .objects(&attributes, &regular.collect::<Vec<_>>())
                .await?;
            let replaced: Vec<&Item> = replaced.iter().collect();
            for (items, entries) in [(&files, &mut facts.files), (&replaced, &mut facts.before)] {
                match objects::fixtures(listing, items, &found) {
                    Fact::Known(known) => *entries = known,
                    other => facts.unread = other.why_not().map(str::to_owned),
                }
            }
            for entries in [&facts.files, &facts.before] {
                digests.extend(objects::digests(&Fact::Known(entries.clone()), &found));
            }
        }
        for folder in plan.seed_folders() {
            let held = merged.fixtures.iter().chain(&facts.files);
            let form = match seed_files(&folder, held, digests) {
                Ok(files) => self.seed_form(listing, &folder, &files).await?,
                Err(why) => Fact::Missing(why),
            };
            facts.seed_forms.insert(folder, form);
        }
        let notes = plan.notes_to_read(merged.listed, changes);
        let notes: Vec<&Item> = notes
            .into_iter()
            .filter_map(|path| listing.get(path))
            .collect();
        if !notes.is_empty() {
            match self.bytes(&notes, LARGEST_NOTES, MOST_NOTES).await? {
                Ok(found) => {
                    let notes = notes.iter().filter_map(|item| {
                        Some((item.path.as_str(), bytes_of(&found, &item.id).ok()?))
                    });
                    let notes: Vec<(&str, &[u8])> = notes.collect();
                    facts.notes = plan.noted(changes, merged.fixtures, digests, notes.into_iter());
                }
                Err(why) => facts.notes_unread = Some(why),
            }
        }
        Ok(facts)
    }

    async fn seed_form(
        &self,
        listing: &Listing,
        folder: &str,
        files: &[&FixtureEntry],
    ) -> Result<Fact<String>, GatherError> {
        let items: Vec<&Item> = files
            .iter()
            .filter_map(|file| listing.get(&file.path))
            .collect();
        let found = match self.bytes(&items, LARGEST_SEED_FORM, usize::MAX).await? {
            Ok(found) => found,
            Err(why) => return Ok(Fact::Missing(format!("{why}; write `manifest-sha256:`"))),
        };
        let mut form = SeedForm::default();
        for item in items {
            match bytes_of(&found, &item.id) {
                Ok(bytes) => {
                    let below = item.path.get(folder.len() + 1..).unwrap_or_default();
                    form.add(below.as_bytes(), bytes);
                }
                Err(why) => return Ok(Fact::Unavailable(why)),
            }
        }
        Ok(Fact::Known(form.finish()))
    }

    /// The bytes of some files, or why they are not fetched: by what the listing says of their sizes.
    async fn bytes(
        &self,
        items: &[&Item],
        largest: u64,
        most: usize,
    ) -> Result<Result<Objects, String>, GatherError> {
        let size: u64 = items.iter().map(|item| item.size.unwrap_or(0)).sum();
        if items.len() > most {
            return Ok(Err(format!("there are more than {most} files")));
        }
        if size > largest {
            return Ok(Err(format!("they have more than {} MiB", largest >> 20)));
        }
        Ok(Ok(self.objects(items, &[]).await?))
    }
}

fn item(path: &str, entry: &Entry) -> Item {
    Item {
        path: path.to_owned(),
        kind: entry.kind,
        id: entry.id.clone(),
        size: None,
    }
}

fn bytes_of<'o>(objects: &'o Objects, id: &Sha) -> Result<&'o [u8], String> {
    match objects.content(id) {
        Some(BlobFact::Content { bytes, .. }) => Ok(&bytes.0),
        Some(BlobFact::Unavailable(why)) => Err(why.clone()),
        _ => Err(format!("blob {id} could not be had")),
    }
}
