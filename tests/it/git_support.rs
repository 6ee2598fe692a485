//! Gathering from a test repository.

use chrono::DateTime;
use frostline::git::Request;
use frostline::model::{Author, AuthorKind, Change, Snapshot};

use crate::support::repo::TestRepo;

/// A request for `HEAD` against `main`, by an agent, without a cache.
pub fn request(repo: &TestRepo) -> Request {
    Request {
        repo: repo.path().to_owned(),
        base: Some("main".to_owned()),
        head: "HEAD".into(),
        author: Author {
            kind: AuthorKind::Agent,
            login: None,
            evidence: "a test says so".to_owned(),
        },
        now: DateTime::UNIX_EPOCH,
        cache: false,
        lane: None,
    }
}

/// Gathers.
///
/// # Panics
/// When there is nothing to judge.
pub fn gather(request: &Request) -> Snapshot {
    frostline::git::gather(request).unwrap_or_else(|error| panic!("{error}"))
}

/// The write-set of `HEAD` against `main`.
pub fn write_set(repo: &TestRepo) -> Vec<Change> {
    let snapshot = gather(&request(repo));
    snapshot.write_set.known().expect("a write-set").clone()
}
