//! Packs: where objects lie in them, and the bases of deltas that were unpacked.

use std::sync::{Arc, Mutex};

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::cache::DecodeEntry;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::odb::pack::index::File as Index;

/// Unpacked bases of deltas are kept up to so many bytes, whatever the number of threads.
const BASES: usize = 64 * 1024 * 1024;
/// A larger one would drive out too many others; bytes.
const LARGEST_BASE: usize = BASES / 16;
/// With more packs than this, looking into each for every object costs more than it saves.
const MOST_PACKS: usize = 64;

/// Where objects lie in the packs of a repository.
pub(super) struct Places(Vec<Index>);

impl Places {
    /// Without those packs whose index cannot be read: a place serves for an order only.
    pub fn of(repo: &gix::Repository) -> Self {
        let store = repo.objects.store_ref();
        let mut folders = vec![store.path().to_owned()];
        folders.extend(store.alternate_db_paths().unwrap_or_default());
        let mut paths: Vec<_> = folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder.join("pack")).ok())
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "idx"))
            .collect();
        paths.sort_unstable();
        if paths.len() > MOST_PACKS {
            return Self(Vec::new());
        }
        let index = |path| Index::at(path, repo.object_hash()).ok();
        Self(paths.into_iter().filter_map(index).collect())
    }

    /// Pack and offset; `None` for a loose object.
    pub fn get(&self, id: ObjectId) -> Option<(usize, u64)> {
        self.0.iter().enumerate().find_map(|(number, index)| {
            let at = index.lookup(id)?;
            Some((number, index.pack_offset_at_index(at)))
        })
    }
}

/// Unpacked bases, for all threads together: what one has unpacked, no other unpacks again.
#[derive(Clone)]
pub(super) struct Bases(Arc<Mutex<MemoryCappedHashmap>>);

impl Bases {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(MemoryCappedHashmap::new(BASES))))
    }
}

impl DecodeEntry for Bases {
    fn put(&mut self, pack: u32, offset: u64, data: &[u8], kind: Kind, compressed_size: usize) {
        if data.len() <= LARGEST_BASE
            && let Ok(mut bases) = self.0.lock()
        {
            bases.put(pack, offset, data, kind, compressed_size);
        }
    }

    fn get(&mut self, pack: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        self.0.lock().ok()?.get(pack, offset, out)
    }
}
