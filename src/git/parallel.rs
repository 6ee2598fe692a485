//! Work on many objects with every core, each thread with a handle of its own.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gix::ObjectId;

use super::packs::Places;

/// So many items a thread takes at once.
const BATCH: usize = 16;

/// Calls `work` for every item; the results are in the order of the items.
///
/// `repo` is cloned once for each thread, with what it holds in memory.
pub(super) fn map<T: Sync, R: Send>(
    repo: &gix::Repository,
    items: &[T],
    work: impl Fn(&gix::Repository, &T) -> R + Sync,
) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.min(items.len().div_ceil(BATCH));
    // Each blob is read once; a cache would only copy it.
    let mut own = repo.clone();
    own.object_cache_size(None);
    if threads <= 1 {
        return items.iter().map(|item| work(&own, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(items.len().div_ceil(BATCH)));
    let run = |repo: &gix::Repository| {
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = items.get(start..items.len().min(start + BATCH)) else {
                return;
            };
            if batch.is_empty() {
                return;
            }
            let results: Vec<R> = batch.iter().map(|item| work(repo, item)).collect();
            if let Ok(mut found) = found.lock() {
                found.push((start, results));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let other = own.clone();
            let run = &run;
            scope.spawn(move || run(&other));
        }
        run(&own);
    });
    let mut batches = found
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    batches.sort_unstable_by_key(|(start, _)| *start);
    batches
        .into_iter()
        .flat_map(|(_, results)| results)
        .collect()
}

/// [`map`] for work that reads a blob for each item: in the order in which the blobs lie in their packs,
/// so that the base of a delta was mostly just read. The results are in the order of the items.
pub(super) fn map_blobs<T: Sync, R: Send>(
    repo: &gix::Repository,
    items: &[T],
    blob: impl Fn(&T) -> Option<ObjectId>,
    work: impl Fn(&gix::Repository, &T) -> R + Sync,
) -> Vec<R> {
    let places = Places::of(repo);
    let place = |item: &T| blob(item).and_then(|id| places.get(id));
    let numbered = items.iter().enumerate();
    let mut order: Vec<_> = numbered
        .map(|(number, item)| (place(item), number))
        .collect();
    order.sort_unstable();
    let mut found = map(repo, &order, |repo, (_, number)| {
        (*number, work(repo, &items[*number]))
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, result)| result).collect()
}
