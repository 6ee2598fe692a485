//! Many blobs by id: GraphQL in batches where that saves requests, REST where it can't be trusted.
//!
//! Invariant: bytes are given out only when their SHA-1 is the id that was asked for. GraphQL cuts text
//! at 512,000 bytes and replaces what is not UTF-8, so whatever does not hash to its id is fetched raw.

use std::collections::BTreeMap;

use serde_json::json;

use crate::forge::ForgeError;
use crate::model::Sha;

use super::client::{Client, Seen};
use super::wire::Pull;

/// Blobs and bytes in one GraphQL request; larger ones time out on the forge's side.
const BATCH: usize = 50;
const BATCH_BYTES: u64 = 2_000_000;
/// A batch this small that still fails is no matter of size: the forge is down.
const SMALLEST_SPLIT: usize = 8;
/// GraphQL cuts text here.
const TEXT_LIMIT: u64 = 500_000;

/// A blob to be fetched. `size` is what the tree says; `None` when it does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub id: Sha,
    pub size: Option<u64>,
}

/// What came of one blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    Bytes(Vec<u8>),
    /// Larger than the limit; bytes, where known.
    TooLarge(Option<u64>),
    /// The forge does not have it, or gave other bytes.
    Unavailable(String),
}

/// The id git gives these bytes as a blob.
pub fn blob_id(bytes: &[u8]) -> Option<Sha> {
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes).ok()?;
    id.to_hex().to_string().parse().ok()
}

fn is(bytes: &[u8], id: &Sha) -> bool {
    blob_id(bytes).as_ref() == Some(id)
}

impl Client {
    /// Fetches each of `wanted` up to `limit` bytes and hands it to `each`, one by one, so that no more
    /// than a batch is in memory. Errors that speak of the connection or of a limit end it.
    pub async fn blobs(
        &self,
        wanted: &[Wanted],
        limit: usize,
        mut each: impl FnMut(&Sha, Fetched),
    ) -> Result<(), ForgeError> {
        let mut raw: Vec<&Wanted> = Vec::new();
        let mut text: Vec<&Wanted> = Vec::new();
        for blob in wanted {
            match blob.size {
                Some(size) if size > limit as u64 => {
                    each(&blob.id, Fetched::TooLarge(Some(size)));
                }
                Some(size) if size > TEXT_LIMIT => raw.push(blob),
                _ => text.push(blob),
            }
        }
        // One blob costs one request either way, and raw is exact.
        if text.len() == 1 {
            raw.append(&mut text);
        }
        let mut batches = batches(text);
        while let Some(batch) = batches.pop() {
            match self.text_batch(&batch, &mut raw, &mut each).await {
                // It broke off before these: half as many may pass.
                Ok(rest) if batch.len() >= SMALLEST_SPLIT => halve(&rest, &mut batches),
                Ok(rest) => raw.extend(rest),
                // The forge gives up on a batch after ten seconds.
                Err(ForgeError::Transient(_)) if batch.len() >= SMALLEST_SPLIT => {
                    halve(&batch, &mut batches);
                }
                Err(ForgeError::Validation(_) | ForgeError::TooLarge { .. }) => {
                    raw.extend(batch);
                }
                Err(error) => return Err(error),
            }
        }
        for blob in raw {
            let fetched = self.raw_blob(blob, limit).await?;
            each(&blob.id, fetched);
        }
        Ok(())
    }

    /// Gives those that the answer left out because it asked for too much. What can't be trusted as text
    /// goes to `raw`.
    async fn text_batch<'a>(
        &self,
        batch: &[&'a Wanted],
        raw: &mut Vec<&'a Wanted>,
        each: &mut impl FnMut(&Sha, Fetched),
    ) -> Result<Vec<&'a Wanted>, ForgeError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Blob {
            #[serde(default)]
            is_truncated: bool,
            text: Option<String>,
        }
        let seen = self.seen();
        let pull = seen.as_ref().map(|seen| seen.pull.number);
        let answer = self.query(&query(batch, pull), self.variables()).await?;
        if let Some(seen) = seen {
            self.see(Seen {
                stood_at: stands(&answer.data, &seen.pull).then(|| self.requests()),
                ..seen
            });
        }
        let is_partial = matches!(answer.error, Some(ForgeError::Transient(_)));
        let mut found: BTreeMap<String, Option<Blob>> = match answer.data.get("repository").cloned()
        {
            Some(serde_json::Value::Object(fields)) => fields
                .into_iter()
                .map(|(alias, value)| (alias, serde_json::from_value(value).ok()))
                .collect(),
            _ => BTreeMap::new(),
        };
        let mut rest = Vec::new();
        for (index, blob) in batch.iter().enumerate() {
            let found = found.remove(&format!("b{index}")).flatten();
            let is_left_out = is_partial && found.is_none();
            let bytes = found
                .filter(|found| !found.is_truncated)
                .and_then(|found| found.text)
                .map(String::into_bytes)
                .filter(|bytes| is(bytes, &blob.id));
            match bytes {
                Some(bytes) => each(&blob.id, Fetched::Bytes(bytes)),
                None if is_left_out => rest.push(*blob),
                None => raw.push(blob),
            }
        }
        Ok(rest)
    }

    fn variables(&self) -> serde_json::Value {
        json!({"owner": self.repo().owner(), "name": self.repo().name()})
    }

    async fn raw_blob(&self, wanted: &Wanted, limit: usize) -> Result<Fetched, ForgeError> {
        match self.blob(&wanted.id, limit).await {
            Ok(bytes) if is(&bytes, &wanted.id) => Ok(Fetched::Bytes(bytes)),
            Ok(_) => Ok(Fetched::Unavailable(format!(
                "the forge gave other bytes than those of blob {}",
                wanted.id
            ))),
            Err(ForgeError::TooLarge { .. }) => Ok(Fetched::TooLarge(wanted.size)),
            Err(ForgeError::NotFound(_) | ForgeError::Gone(_) | ForgeError::Validation(_)) => Ok(
                Fetched::Unavailable(format!("the forge does not have blob {}", wanted.id)),
            ),
            Err(error) => Err(error),
        }
    }
}

fn halve<'a>(batch: &[&'a Wanted], batches: &mut Vec<Vec<&'a Wanted>>) {
    let (left, right) = batch.split_at(batch.len() / 2);
    let halves = [right, left].into_iter().filter(|half| !half.is_empty());
    batches.extend(halves.map(<[_]>::to_vec));
}

/// Whether an answer shows the pull request as it was seen before.
fn stands(data: &serde_json::Value, seen: &Pull) -> bool {
    let shown = &data["repository"]["pullRequest"];
    shown["headRefOid"] == seen.head.sha.as_str()
        && shown["baseRefName"] == seen.base.branch.as_str()
        && shown["state"] == "OPEN"
        && seen.state == "open"
        && shown["isDraft"] == seen.draft
}

/// Groups of at most [`BATCH`] blobs and, where sizes are known, [`BATCH_BYTES`].
fn batches(blobs: Vec<&Wanted>) -> Vec<Vec<&Wanted>> {
    let mut batches: Vec<Vec<&Wanted>> = Vec::new();
    let mut bytes = 0;
    for blob in blobs {
        // Unknown sizes are counted as large, so that few of them share a request.
        let size = blob.size.unwrap_or(BATCH_BYTES / 10);
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH && bytes + size <= BATCH_BYTES => {
                batch.push(blob);
                bytes += size;
            }
            _ => {
                batches.push(vec![blob]);
                bytes = size;
            }
        }
    }
    batches
}

/// The blobs and, on the same way, what can overtake the evaluation of a pull request.
fn query(batch: &[&Wanted], pull: Option<u64>) -> String {
    let mut query = String::from(
        "query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {",
    );
    if let Some(pull) = pull {
        query.push_str(&format!(
            " pullRequest(number: {pull}) {{ headRefOid baseRefName state isDraft }}"
        ));
    }
    for (index, blob) in batch.iter().enumerate() {
        // An id is 40 hex digits by its type: nothing to escape.
        query.push_str(&format!(
            " b{index}: object(oid: \"{}\") {{ ... on Blob {{ oid byteSize isBinary isTruncated text }} }}",
            blob.id
        ));
    }
    query.push_str(" } }");
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(n: usize, size: u64) -> Wanted {
        Wanted {
            id: format!("{n:040x}").parse().expect("an id"),
            size: Some(size),
        }
    }

    #[test]
    fn a_blob_id_is_gits() {
        let id = blob_id(b"hello\n").expect("an id");
        assert_eq!(id.as_str(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn batches_are_bounded_by_number_and_by_bytes() {
        let small: Vec<_> = (0..120).map(|n| wanted(n, 10)).collect();
        let sizes: Vec<_> = batches(small.iter().collect())
            .iter()
            .map(Vec::len)
            .collect();
        assert_eq!(sizes, [50, 50, 20]);
        let large: Vec<_> = (0..10).map(|n| wanted(n, 450_000)).collect();
        let sizes: Vec<_> = batches(large.iter().collect())
            .iter()
            .map(Vec::len)
            .collect();
        assert_eq!(sizes, [4, 4, 2]);
    }
}
