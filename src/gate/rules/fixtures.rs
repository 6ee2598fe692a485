//! The lock against the merged tree, both ways (protocol 3.2 and 4). PURE.

use std::collections::BTreeSet;

use crate::contract::lock::Lock;
use crate::gate::case::Case;
use crate::gate::classes::is_at_or_below;
use crate::gate::findings::{Draft, Findings};
use crate::model::{BlobDigest, Fact, FileDigest, FixtureEntry, Layer, Rule};

/// What the step's row of the table says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows of the lock in force.
    pub pinned: usize,
    /// Of these, how many the merged tree matches.
    pub matching: usize,
}

/// The lock by itself would not match the fixtures of the merged tree.
const WRITE: &str = "stage it with `git add`, run `frostline lock write`, and land fixture and lock together, \
     in a pull request without production code";
/// The merged tree has these bytes already.
const WRITE_ALONE: &str = "in a pull request of its own, restore what the lock pins, or run `frostline lock write` on bytes that \
     a person has read";

pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) -> Tally {
    lock_shrank(case, findings);
    let (Some(lock), Some(entries)) = (case.lock(), case.snapshot.fixtures.known()) else {
        return Tally::default();
    };
    let mut tally = Tally {
        pinned: lock.files.len(),
        matching: 0,
    };
    let mut present: BTreeSet<&str> = BTreeSet::new();
    for entry in entries {
        if lock
            .roots
            .iter()
            .any(|root| is_at_or_below(&entry.path, root))
        {
            present.insert(&entry.path);
            if one(case, lock, entry, findings) {
                tally.matching += 1;
            }
        }
    }
    for path in lock.files.keys() {
        if !present.contains(path.as_str()) {
            let message = format!(
                "the lock pins a fixture that the merged tree does not have{}",
                blame(case, path)
            );
            let fix = mend(case, path, "restore the file");
            findings.add(Draft::new(Rule::MissingFixture, message, fix).at(path));
        }
    }
    tally
}

/// Judges one entry; `true` when it matches its row.
fn one(case: &Case<'_>, lock: &Lock, entry: &FixtureEntry, findings: &mut Findings<'_>) -> bool {
    if let Some(why) = &entry.opaque {
        let message =
            format!("the bytes that a test reads may not be the bytes that are hashed: {why}");
        let fix =
            "make it a plain file under plain attributes, or move it out of the fixtures root";
        findings.add(Draft::new(Rule::OpaqueFixture, message, fix).at(&entry.path));
        return false;
    }
    let Some(row) = lock.files.get(&entry.path) else {
        let message = format!(
            "a fixture that the lock does not pin{}",
            blame(case, &entry.path)
        );
        let fix = mend(case, &entry.path, "take the file out of the patch");
        findings.add(Draft::new(Rule::UnlockedFixture, message, fix).at(&entry.path));
        return false;
    };
    let digest = match case.snapshot.digests.get(&entry.id) {
        Some(Fact::Known(digest)) => digest,
        Some(other) => {
            undetermined(findings, entry, other.why_not().unwrap_or("unknown"));
            return false;
        }
        None => {
            undetermined(findings, entry, "it was not computed");
            return false;
        }
    };
    if *effective(entry, digest) == row.digest {
        return true;
    }
    let endings = if digest.lf_sha256.as_ref() == Some(&row.digest) {
        "; only line endings differ (the lock was written from a checkout that converts them)"
    } else {
        ""
    };
    let message = format!(
        "the fixture's digest is {}, the lock pins {}{endings}{}",
        short(effective(entry, digest)),
        short(&row.digest),
        blame(case, &entry.path),
    );
    let fix = mend(case, &entry.path, "restore the pinned bytes");
    findings.add(Draft::new(Rule::DigestMismatch, message, fix).at(&entry.path));
    false
}

/// A canonical LFS pointer under `filter=lfs` stands for the bytes that it points to.
fn effective<'a>(entry: &FixtureEntry, digest: &'a BlobDigest) -> &'a FileDigest {
    match &digest.lfs_oid {
        Some(oid) if entry.lfs => oid,
        _ => &digest.sha256,
    }
}

fn short(digest: &FileDigest) -> &str {
    &digest.as_str()[..12]
}

fn undetermined(findings: &mut Findings<'_>, entry: &FixtureEntry, why: &str) {
    let message = format!(
        "could not be had whole: the digest of {}: {why}",
        entry.path
    );
    let fix = "make the object available, then evaluate again";
    findings.add(Draft::new(Rule::Undetermined, message, fix));
}

/// The base branch itself does not match its lock there.
fn is_not_this_patch(case: &Case<'_>, path: &str) -> bool {
    !case.is_audit() && !case.touches(path) && !case.touches_layer(Layer::Lock)
}

fn blame(case: &Case<'_>, path: &str) -> &'static str {
    if is_not_this_patch(case, path) {
        " (not this patch: the base branch has it so already)"
    } else {
        ""
    }
}

fn mend(case: &Case<'_>, path: &str, otherwise: &str) -> String {
    if case.is_audit() || is_not_this_patch(case, path) {
        WRITE_ALONE.to_owned()
    } else {
        format!("{otherwise}; or, when the change is meant, {WRITE}")
    }
}

/// `lock-shrank`: rows that leave the lock.
fn lock_shrank(case: &Case<'_>, findings: &mut Findings<'_>) {
    let lock = &case.reading.lock;
    let proposed = lock.proposed.as_ref().and_then(|read| read.ready());
    let (Some(base), Some(proposed)) = (lock.base.ready(), proposed) else {
        return;
    };
    for path in base
        .files
        .keys()
        .filter(|path| !proposed.files.contains_key(*path))
    {
        let message = "the patch takes this fixture's row out of the lock";
        let fix = "make sure that no test needs the fixture any more";
        findings.add(Draft::new(Rule::LockShrank, message, fix).at(path));
    }
}
