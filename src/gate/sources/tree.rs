//! The merged tree, as imports are resolved in it. PURE.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::gate::facts::Listed;
use crate::model::Change;
use crate::source::Files;

/// The merged tree, as imports are resolved in it.
pub(super) struct Tree<'a> {
    listing: &'a [Listed<'a>],
    /// Files that the patch takes away: a test that imports one needed it.
    removed: BTreeSet<&'a str>,
}

impl<'a> Tree<'a> {
    /// `listing` is sorted by path.
    pub fn new(listing: &'a [Listed<'a>], changes: &'a [Change]) -> Self {
        let removed = changes.iter().filter(|change| change.merged.is_none());
        Self {
            listing,
            removed: removed.map(|change| change.path.as_str()).collect(),
        }
    }

    fn from(&self, path: &str) -> usize {
        self.listing.partition_point(|listed| listed.path < path)
    }

    fn removed_from(&self, below: &str) -> impl Iterator<Item = &'_ str> {
        let from = (Bound::Included(below), Bound::Unbounded);
        let removed = self.removed.range::<str, _>(from).copied();
        removed.take_while(move |path| path.starts_with(below))
    }
}

impl Files for Tree<'_> {
    fn is_file(&self, path: &str) -> bool {
        let listed = self.listing.get(self.from(path));
        listed.is_some_and(|listed| listed.path == path && listed.kind.is_regular())
            || self.removed.contains(path)
    }

    fn has_dir(&self, dir: &str) -> bool {
        let below = format!("{dir}/");
        let listed = self.listing.get(self.from(&below));
        listed.is_some_and(|listed| listed.path.starts_with(&below))
            || self.removed_from(&below).next().is_some()
    }

    fn files_in(&self, dir: &str) -> Vec<String> {
        let below = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let mut found = Vec::new();
        let mut at = self.from(&below);
        while let Some(listed) = self.listing.get(at) {
            let Some(rest) = listed.path.strip_prefix(below.as_str()) else {
                break;
            };
            at = match rest.split_once('/') {
                // Past everything in that directory: `0` comes after `/`.
                Some((inner, _)) => self.from(&format!("{below}{inner}0")).max(at + 1),
                None => {
                    if listed.kind.is_regular() {
                        found.push(listed.path.to_owned());
                    }
                    at + 1
                }
            };
        }
        let removed = self.removed_from(&below);
        let removed = removed.filter(|path| !path[below.len()..].contains('/'));
        found.extend(removed.map(str::to_owned));
        found
    }
}
