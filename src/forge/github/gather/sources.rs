//! The sources of the tests, and manifests: fetched by blob id, what they say kept in the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::gate::facts::{Listed, Plan};
use crate::gate::sources::{SourceRead, Survey, Wanted};
use crate::model::{Change, Only, Sha, SourceFacts, Sources};
use crate::source::{self, Language, Reader};

use super::super::blobs::{Fetched, Wanted as Blob};
use super::listing::{Item, Listing};
use super::{GatherError, Gatherer};

impl Gatherer<'_> {
    /// Reads what the sources of the listed properties and of the patch say, and fills in
    /// [`Change::only`].
    pub(super) async fn sources(
        &self,
        listing: &Listing,
        listed: &[Listed<'_>],
        changes: &mut [Change],
        plan: &Plan,
    ) -> Result<Sources, GatherError> {
        let mut manifests = Manifests::of(changes, plan);
        let answers = {
            let entry = |path: &str| listing.get(path).map(Item::entry);
            let mut left = source::BUDGET;
            let mut survey = Survey::new(plan, changes, listed, entry);
            loop {
                let wanted = survey.wanted();
                if wanted.is_empty() && manifests.missing.is_empty() {
                    break;
                }
                let known = self.store.source_facts(&wanted).await?;
                let unseen: Vec<Wanted> = wanted
                    .into_iter()
                    .filter(|wanted| !known.contains_key(wanted))
                    .collect();
                survey.take(
                    known
                        .into_iter()
                        .map(|(wanted, facts)| (wanted, SourceRead::Facts(Arc::new(facts)))),
                );
                let (unseen, too_large) = affordable(listing, unseen, left);
                survey.take(
                    too_large
                        .into_iter()
                        .map(|wanted| (wanted, SourceRead::TooLarge)),
                );
                survey.take(
                    self.fetch_sources(unseen, &mut manifests, &mut left)
                        .await?,
                );
            }
            survey.finish()
        };
        answers.note(changes);
        manifests.note(changes, plan);
        Ok(answers.sources)
    }

    /// Fetches sources and the manifests that are missing in one round. Each wanted source has an answer.
    async fn fetch_sources(
        &self,
        wanted: Vec<Wanted>,
        manifests: &mut Manifests,
        left: &mut u64,
    ) -> Result<Vec<(Wanted, SourceRead)>, GatherError> {
        let mut ways: BTreeMap<Sha, Vec<Language>> = BTreeMap::new();
        for wanted in wanted {
            ways.entry(wanted.id).or_default().push(wanted.language);
        }
        let asked = std::mem::take(&mut manifests.missing);
        let blobs: BTreeSet<&Sha> = ways.keys().chain(&asked).collect();
        let blobs: Vec<Blob> = blobs
            .into_iter()
            .map(|id| Blob {
                id: id.clone(),
                size: None,
            })
            .collect();
        let mut reader = Reader::new();
        let mut found = Vec::new();
        let mut new = Vec::new();
        let ended = self
            .client
            .blobs(&blobs, source::LARGEST, |id, fetched| {
                for language in ways.get(id).into_iter().flatten().copied() {
                    let wanted = Wanted {
                        id: id.clone(),
                        language,
                    };
                    let read = read(&mut reader, language, &fetched, left);
                    if let SourceRead::Facts(facts) = &read {
                        new.push((wanted.clone(), facts.clone()));
                    }
                    found.push((wanted, read));
                }
                if let Fetched::Bytes(bytes) = fetched
                    && asked.contains(id)
                {
                    manifests.bytes.insert(id.clone(), bytes);
                }
            })
            .await;
        self.store.put_source_facts(&new).await?;
        ended?;
        Ok(found)
    }
}

/// Tells what is not even fetched: what is too large by itself, and what comes after `left` bytes.
fn affordable(listing: &Listing, wanted: Vec<Wanted>, mut left: u64) -> (Vec<Wanted>, Vec<Wanted>) {
    let mut sizes: HashMap<Sha, Option<u64>> =
        wanted.iter().map(|w| (w.id.clone(), None)).collect();
    for item in listing.items() {
        if let Some(size) = sizes.get_mut(&item.id) {
            *size = item.size;
        }
    }
    wanted.into_iter().partition(|wanted| {
        // A size that is not told is seen when it is read.
        let size = sizes.get(&wanted.id).copied().flatten().unwrap_or(0);
        let fits = size <= source::LARGEST as u64 && size <= left;
        left -= if fits { size } else { 0 };
        fits
    })
}

fn read(reader: &mut Reader, language: Language, fetched: &Fetched, left: &mut u64) -> SourceRead {
    match fetched {
        Fetched::Bytes(bytes) if bytes.len() > source::LARGEST || bytes.len() as u64 > *left => {
            SourceRead::TooLarge
        }
        Fetched::Bytes(bytes) => {
            *left -= bytes.len() as u64;
            let facts: SourceFacts = reader.read(language, bytes);
            SourceRead::Facts(Arc::new(facts))
        }
        Fetched::TooLarge(_) => SourceRead::TooLarge,
        Fetched::Unavailable(why) => SourceRead::Unavailable(why.clone()),
    }
}

/// Manifests of the write-set, both sides. One that can't be had stays harness whole.
struct Manifests {
    /// To be fetched.
    missing: BTreeSet<Sha>,
    bytes: HashMap<Sha, Vec<u8>>,
}

impl Manifests {
    fn of(changes: &[Change], plan: &Plan) -> Self {
        let asked = changes.iter().filter(|change| plan.needs_texts(change));
        let sides = asked.flat_map(|change| change.base.iter().chain(&change.merged));
        Self {
            missing: sides.map(|entry| entry.id.clone()).collect(),
            bytes: HashMap::new(),
        }
    }

    fn only(&self, change: &Change, plan: &Plan) -> Option<Only> {
        let old = self.bytes.get(&change.base.as_ref()?.id)?;
        let new = self.bytes.get(&change.merged.as_ref()?.id)?;
        plan.only(&change.path, old, new)
    }

    fn note(&self, changes: &mut [Change], plan: &Plan) {
        for change in changes.iter_mut().filter(|change| plan.needs_texts(change)) {
            change.only = self.only(change, plan);
        }
    }
}
