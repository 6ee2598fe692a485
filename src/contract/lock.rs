//! `fixtures.lock.json`: the digest of every fixture (protocol 3.2). PURE.

use std::collections::BTreeMap;

use crate::model::FileDigest;

/// One pinned fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    pub digest: FileDigest,
    /// 1-based line in the lock file.
    pub line: u32,
}

/// The fixture lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// `fixtures_root`: one, or several.
    pub roots: Vec<String>,
    /// By path from the **repository root**, whichever form the file uses.
    pub files: BTreeMap<String, LockRow>,
}
