//! Is the test there that a row names? PURE.

use std::collections::{BTreeMap, BTreeSet};

use super::Survey;
use crate::model::{Entry, NodeId, RowTest};
use crate::source::{self, Held};

impl<F: Fn(&str) -> Option<Entry>> Survey<'_, F> {
    /// Files of the tests that rows name.
    pub(super) fn row_files(&self) -> BTreeSet<&str> {
        self.rows.iter().map(|id| id.path()).collect()
    }

    /// What the merged tree's sources say of those tests. A file that is not there, or has no grammar, is for
    /// the listing of the tree to tell of.
    pub(super) fn row_tests(&self) -> BTreeMap<String, RowTest> {
        let mut found = BTreeMap::new();
        let mut by_file: BTreeMap<&str, Vec<&NodeId>> = BTreeMap::new();
        for id in &self.rows {
            by_file.entry(id.path()).or_default().push(id);
        }
        for (path, ids) in by_file {
            let Some(read) = self.merged_read(path) else {
                continue;
            };
            let held = read.whole().map(Held::new);
            for id in ids {
                let (names, _) = source::names_of(id);
                let is_there = match &held {
                    _ if names.is_empty() => Some(true),
                    Some(held) => held.has(&names),
                    None => None,
                };
                let test = match is_there {
                    Some(true) => continue,
                    Some(false) => RowTest::Absent,
                    None => RowTest::Unsure,
                };
                found.insert(id.to_string(), test);
            }
        }
        found
    }
}
