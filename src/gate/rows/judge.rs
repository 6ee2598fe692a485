//! What a row is worth.

use std::collections::BTreeSet;

use super::{
    Claim, DateTime, Digest, Digests, Files, Form, Row, Rows, Target, Utc, digests, scopes,
};
use crate::contract::evidence::EvidenceRow;
use crate::contract::freezes::FreezeEntry;
use crate::contract::frozen_tests::FrozenTest;
use crate::contract::ledger::LedgerEntry;
use crate::contract::replay;
use crate::contract::seed::Seed;
use crate::gate::case::Case;
use crate::gate::reading::Sides;
use crate::model::{Fact, FreezeState, NodeId, RowTest};

/// Reasons that may freeze a test; the other two block a merge.
const REASONS: [&str; 3] = ["ORDER", "CLOCK", "IO"];
const BLOCKS: [&str; 2] = ["HASH", "SHRINK"];

/// The row that a claim comes to.
pub(super) fn judged<'a>(
    claim: Claim<'a>,
    rows: &Rows<'a>,
    case: &Case<'_>,
    files: Option<&Files<'_>>,
) -> Row<'a> {
    let mut row = claim.row.clone();
    let found = rows.digests(&row.nodeid);
    row.current = found
        .and_then(|found| found.after.known())
        .map(str::to_owned);
    row.target = target(&row, case);
    (row.state, row.why) = state(&claim, rows, case, files, &mut row);
    row
}

/// Without a merged tree every test counts as there: then nothing passes anyway.
fn target(row: &Row<'_>, case: &Case<'_>) -> Target {
    let Some(tree) = case.tree().filter(|_| !row.by_name) else {
        return Target::There;
    };
    let (id, path) = (row.nodeid.as_str(), row.nodeid.path());
    let is_file = matches!(tree.files.get(path), Some(Some(kind)) if kind.is_regular());
    let is_directory = id == path && tree.prefixes.get(&format!("{path}/")) == Some(&true);
    if !is_file && !is_directory {
        return Target::NoFile;
    }
    let found = case.sources().and_then(|sources| sources.rows.get(id));
    match found {
        None => Target::There,
        Some(RowTest::Unsure) => Target::Unsure,
        Some(RowTest::Absent) => Target::NoTest,
    }
}

fn state(
    claim: &Claim<'_>,
    rows: &Rows<'_>,
    case: &Case<'_>,
    files: Option<&Files<'_>>,
    row: &mut Row<'_>,
) -> (FreezeState, String) {
    let problem = claim.problem.clone();
    let problem = problem.or_else(|| other_property(claim, rows));
    if let Some(why) = problem {
        return (FreezeState::Invalid, why);
    }
    if row.dangles() {
        let why = "it names no test of the merged tree".to_owned();
        return (FreezeState::Invalid, why);
    }
    if let Some(at) = row.expires_at
        && has_come(at, case.snapshot.now)
    {
        return (FreezeState::Expired, format!("it expired at {at}"));
    }
    if let Some(stated) = claim.property_digest
        && let Some(void) = other_test(stated, row, files)
    {
        return void;
    }
    let Some(recorded) = row.recorded else {
        return (FreezeState::Unbound, String::new());
    };
    let (now, before) = match digests::form_of(recorded) {
        Ok(Form::Manifest) => match rows.digests(&row.nodeid) {
            Some(Digests { before, after }) => (after.clone(), Some(before.clone())),
            None => (no_tree(), None),
        },
        Ok(Form::Seed) => (seed_form(rows.globs(&row.nodeid), case), None),
        Err(why) => return (FreezeState::Invalid, format!("`fixture_digest`: {why}")),
    };
    by_digest(recorded, now, before, row)
}

/// A void row is the safe answer where nothing is known: the test votes, and covers nothing.
fn by_digest(
    recorded: &str,
    now: Digest,
    before: Option<Digest>,
    row: &mut Row<'_>,
) -> (FreezeState, String) {
    let was_it = before
        .as_ref()
        .and_then(Digest::known)
        .map(|before| before == recorded);
    match now {
        Digest::Is(now) => {
            let is_it = now == recorded;
            row.current = Some(now);
            match (is_it, was_it) {
                (true, Some(false)) => (
                    FreezeState::Open,
                    "valid again: this patch brings back the fixtures that it is about".to_owned(),
                ),
                (true, _) => (FreezeState::Open, String::new()),
                (false, Some(true)) => (
                    FreezeState::Void,
                    "this patch changes the fixtures that it is about".to_owned(),
                ),
                (false, _) => (
                    FreezeState::Void,
                    "its fixtures are not those that it is about".to_owned(),
                ),
            }
        }
        Digest::Never(why) => {
            row.current = None;
            (
                FreezeState::Void,
                format!("its fixtures have no digest: {why}"),
            )
        }
        Digest::Unknown(why) => {
            row.current = None;
            row.unknown = Some(why.clone());
            (
                FreezeState::Void,
                format!("its fixtures could not be had: {why}"),
            )
        }
    }
}

fn no_tree() -> Digest {
    Digest::Unknown("there is no merged tree, or its fixtures could not be had".to_owned())
}

fn seed_form(globs: &[String], case: &Case<'_>) -> Digest {
    let Some(folder) = scopes::folder(globs) else {
        let why = "`sha256:` is of one folder, and the scope is not one; write `manifest-sha256:`";
        return Digest::Never(why.to_owned());
    };
    match case.snapshot.scopes.seed_forms.get(folder) {
        Some(Fact::Known(digest)) => Digest::Is(digest.clone()),
        Some(Fact::Missing(why)) => Digest::Never(why.clone()),
        other => {
            let why = other
                .and_then(Fact::why_not)
                .unwrap_or("it was not computed");
            Digest::Unknown(format!("the seed form of {folder}: {why}"))
        }
    }
}

/// `property_id` is an identity: where the catalog gives the node another one, the row is not about it.
fn other_property(claim: &Claim<'_>, rows: &Rows<'_>) -> Option<String> {
    let stated = claim.property_id?;
    if rows.catalog.is_empty() {
        return None;
    }
    let id = &claim.row.nodeid;
    let catalog = &rows.catalog;
    let property = catalog
        .get(id.as_str())
        .or_else(|| catalog.get(id.function()));
    match property {
        Some(property) if property.property_id == stated => None,
        Some(property) => Some(format!(
            "`property_id` is {stated:?}, and the catalog calls its test {:?}",
            property.property_id
        )),
        None => Some(format!(
            "`property_id` is {stated:?}, which the catalog does not give its test"
        )),
    }
}

/// `property_digest` is that of the test's file.
fn other_test(
    stated: &str,
    row: &mut Row<'_>,
    files: Option<&Files<'_>>,
) -> Option<(FreezeState, String)> {
    let stated = match digests::file(stated) {
        Ok(stated) => stated,
        Err(why) => return Some((FreezeState::Invalid, format!("`property_digest`: {why}"))),
    };
    let void = |why: String| Some((FreezeState::Void, why));
    match files.and_then(|files| files.digest_of(row.nodeid.path())) {
        Some(Ok(now)) if *now == stated => None,
        Some(Ok(_)) => void("its test's file is not the one that it is about".to_owned()),
        Some(Err(Digest::Never(why))) => void(format!("its test's file has no digest: {why}")),
        other => {
            let why = match other {
                Some(Err(Digest::Unknown(why))) => why,
                _ => format!("the digest of {}: it was not computed", row.nodeid.path()),
            };
            row.unknown = Some(why.clone());
            void(format!("its test's file could not be had: {why}"))
        }
    }
}

/// From the very second on.
fn has_come(at: &str, now: DateTime<Utc>) -> bool {
    DateTime::parse_from_rfc3339(at).is_ok_and(|at| now >= at)
}

/// A merge block is written as a reason.
pub(super) fn blocks(reason: &str) -> Option<String> {
    BLOCKS
        .contains(&reason)
        .then(|| format!("`reason` is {reason}, which blocks a merge and freezes nothing"))
}

/// What is wrong with a reason that has to be one of the three.
pub(super) fn reason(reason: Option<&str>) -> Option<String> {
    match reason {
        None => Some("`reason` is missing".to_owned()),
        Some(reason) if REASONS.contains(&reason) => None,
        Some(reason) => {
            blocks(reason).or_else(|| Some("`reason` is none of ORDER, CLOCK and IO".to_owned()))
        }
    }
}

pub(super) fn digest(text: &str) -> Option<String> {
    let why = digests::form_of(text).err()?;
    Some(format!("`fixture_digest`: {why}"))
}

pub(super) fn replay(
    line: &str,
    nodeid: &NodeId,
    seed: Option<&Seed>,
    runners: &[String],
) -> Option<String> {
    let subject = replay::Subject {
        nodeid,
        seed,
        runners,
    };
    let why = replay::parse(line, subject).err()?;
    Some(format!("`replay`: {why}"))
}

/// Of a row that waits for evidence, and is in order otherwise.
pub(super) const CANDIDATE: &str = "`status` is candidate, which exempts nothing";

/// What keeps a row of the ledger from being a freeze, by itself.
pub(super) fn ledger(row: &LedgerEntry, runners: &[String]) -> Option<String> {
    let missing = |key: &str| Some(format!("`{key}` is missing"));
    let Some(seed) = &row.seed else {
        return missing("seed");
    };
    let Some(recorded) = &row.fixture_digest else {
        return missing("fixture_digest");
    };
    let Some(line) = &row.replay else {
        return missing("replay");
    };
    let status = match row.status.as_deref() {
        Some("open") => None,
        Some("candidate") => Some(CANDIDATE.to_owned()),
        Some(_) => Some("`status` is none of open, candidate and closed".to_owned()),
        None => missing("status"),
    };
    digest(recorded)
        .or_else(|| reason(row.reason.as_deref()))
        .or_else(|| replay(line, &row.nodeid, Some(seed), runners))
        .or(status)
}

/// What the base tip has, where another version is proposed.
pub(super) fn known<T, R>(
    sides: &Sides<T>,
    rows: impl Fn(&T) -> &Vec<R>,
    bare: impl Fn(&R) -> String,
) -> Option<BTreeSet<String>> {
    sides.proposed.as_ref()?;
    let base = sides.base.ready();
    Some(base.into_iter().flat_map(rows).map(bare).collect())
}

pub(super) fn is_added(known: &Option<BTreeSet<String>>, bare: &str) -> bool {
    known.as_ref().is_some_and(|known| !known.contains(bare))
}

// What a row says, wherever it stands in its file.

pub(super) fn bare_freeze(row: &FreezeEntry) -> String {
    format!(
        "{:?}",
        FreezeEntry {
            line: 0,
            ..row.clone()
        }
    )
}

pub(super) fn bare_ledger(row: &LedgerEntry) -> String {
    format!(
        "{:?}",
        LedgerEntry {
            line: 0,
            ..row.clone()
        }
    )
}

pub(super) fn bare_evidence(row: &EvidenceRow) -> String {
    format!(
        "{:?}",
        EvidenceRow {
            line: 0,
            ..row.clone()
        }
    )
}

pub(super) fn bare_test(row: &FrozenTest) -> String {
    format!(
        "{:?}",
        FrozenTest {
            line: 0,
            ..row.clone()
        }
    )
}
