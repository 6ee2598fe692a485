//! The freezes that a patch voids, for the one comment. PURE.

use std::collections::HashMap;

use super::escape::{Place, code};
use super::words::count;
use crate::command::Owner;
use crate::contract::glob::GlobList;
use crate::model::{Decision, FixtureScope, FreezeRow, FreezeState};

/// Changed files of one scope that are named before the rest is counted.
const FILES_SHOWN: usize = 8;

/// Rows that were about the bytes before the patch, and are not about those after it.
pub fn voided(decision: &Decision) -> Vec<(&FreezeRow, &FixtureScope)> {
    let scopes: HashMap<&str, &FixtureScope> = decision
        .fixtures
        .iter()
        .map(|scope| (scope.nodeid.as_str(), scope))
        .collect();
    let rows = decision.freezes.iter().flatten();
    rows.filter(|row| row.state == FreezeState::Void)
        .filter_map(|row| Some((row, *scopes.get(row.nodeid.as_str())?)))
        .filter(|(_, scope)| scope.before.is_some() && scope.before != scope.after)
        .collect()
}

/// An item: the test, its owner, both digests, the files, and what the owner may do.
pub fn item(decision: &Decision, (row, scope): (&FreezeRow, &FixtureScope)) -> String {
    let digest = |digest: &Option<String>| match digest {
        Some(digest) => code(digest, Place::Line),
        None => "none".to_owned(),
    };
    let node = code(&row.nodeid, Place::Line);
    let reopen = code(&format!("/frostline reopen {}", row.nodeid), Place::Line);
    let close = code(&format!("/frostline close {}", row.nodeid), Place::Line);
    format!(
        "- {node}, owned by {}: it is about {}, and the fixtures are now {}\n  - changed: {}\n  \
         - *Mend:* the owner writes {reopen}, or {close}; or restore the bytes\n",
        owner(row.owner.as_deref()),
        digest(&row.recorded_digest),
        digest(&row.current_digest),
        files(decision, scope),
    )
}

/// Told by name where the row has one that the forge can tell.
pub(super) fn owner(owner: Option<&str>) -> String {
    match owner {
        Some(owner) if Owner::of(owner).is_some() => owner.to_owned(),
        Some(owner) => code(owner, Place::Line),
        None => "nobody".to_owned(),
    }
}

fn files(decision: &Decision, scope: &FixtureScope) -> String {
    let globs = GlobList::new(scope.scope.iter().map(String::as_str)).unwrap_or_default();
    let changed: Vec<&str> = decision
        .write_set
        .iter()
        .map(|change| change.path.as_str())
        .filter(|path| globs.is_match(path))
        .collect();
    let mut text: Vec<String> = changed
        .iter()
        .take(FILES_SHOWN)
        .map(|path| code(path, Place::Line))
        .collect();
    if changed.len() > FILES_SHOWN {
        text.push(count(
            changed.len() - FILES_SHOWN,
            "more file",
            "more files",
        ));
    }
    text.join(", ")
}
