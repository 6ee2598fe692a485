//! The sources of the tests, read by blob and kept under `<git dir>/frostline/`.

use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::BStr;

use super::error::one_line;
use super::keep::{Kept, Key, key};
use super::parallel;
use super::tree::Tree;
use crate::gate::facts::{Listed, Plan};
use crate::gate::sources::{Answers, SourceRead, Survey, Wanted};
use crate::model::{Change, SourceFacts};
use crate::source;

const FILE: &str = "sources";
/// A larger file is not ours; bytes.
const LARGEST_FILE: u64 = 256 * 1024 * 1024;

/// Reads what the survey of a patch wants; gives what the sources say.
pub(super) fn survey(
    repo: &gix::Repository,
    plan: &Plan,
    changes: &[Change],
    merged: &Tree<'_>,
    listed: &[Listed<'_>],
    cache: bool,
) -> Answers {
    // A path that is not UTF-8 is found under no name, so nothing it holds is ever live.
    let entry = |path: &str| {
        let leaf = merged.at(BStr::new(path)).ok()?.leaf()?;
        Some(leaf.to_entry())
    };
    let mut survey = Survey::new(plan, changes, listed, entry);
    let mut kept = Kept::open(repo, cache, FILE, &magic(), LARGEST_FILE);
    let mut spent = 0;
    loop {
        let wanted = survey.wanted();
        if wanted.is_empty() {
            break;
        }
        let mut unseen = Vec::new();
        for wanted in wanted {
            let known = kept.get(&key_of(&wanted));
            match known.and_then(|text| serde_json::from_slice::<SourceFacts>(text).ok()) {
                Some(facts) => survey.take([(wanted, SourceRead::Facts(Arc::new(facts)))]),
                None => unseen.push(wanted),
            }
        }
        let mut affordable = Vec::new();
        for wanted in unseen {
            match size(repo, &wanted) {
                Ok(size) if size > source::LARGEST as u64 || spent + size > source::BUDGET => {
                    survey.take([(wanted, SourceRead::TooLarge)]);
                }
                Ok(size) => {
                    spent += size;
                    affordable.push(wanted);
                }
                Err(why) => survey.take([(wanted, SourceRead::Unavailable(why))]),
            }
        }
        let found = parallel::map_blobs(repo, &affordable, |wanted| Some(object(wanted)), read);
        for (wanted, read) in affordable.into_iter().zip(found) {
            if let SourceRead::Facts(facts) = &read
                && let Ok(text) = serde_json::to_vec(&**facts)
            {
                kept.put(key_of(&wanted), text);
            }
            survey.take([(wanted, read)]);
        }
    }
    kept.save();
    survey.finish()
}

fn magic() -> String {
    format!("frostline sources {}\n", source::VERSION)
}

/// The same bytes say different things in different languages.
fn key_of(wanted: &Wanted) -> Key {
    key(&wanted.id, wanted.language as u8)
}

/// Bytes of a blob, or why it could not be had.
fn size(repo: &gix::Repository, wanted: &Wanted) -> Result<u64, String> {
    let header = repo.find_header(object(wanted)).map_err(one_line)?;
    Ok(header.size())
}

fn object(wanted: &Wanted) -> ObjectId {
    ObjectId::Sha1(wanted.id.to_bytes())
}

fn read(repo: &gix::Repository, wanted: &Wanted) -> SourceRead {
    match repo.find_blob(object(wanted)) {
        Ok(blob) => SourceRead::Facts(Arc::new(source::read(wanted.language, &blob.data))),
        Err(error) => SourceRead::Unavailable(one_line(error)),
    }
}
