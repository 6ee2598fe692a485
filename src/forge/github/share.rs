//! What each repository uses of its installation's requests.
//!
//! Invariant: a repository that has used most of what an installation may ask leaves the last fifth of it to
//! the others. Kept in memory: after a start the first answers tell it anew.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::forge::ForgeError;
use crate::model::{InstallationId, RepoName};

use super::transport::Rate;

/// The part of the limit that is kept for others, and the part that makes a repository a heavy user.
const RESERVE: u32 = 5;
const HEAVY: u32 = 3;

/// A limit of one installation until it is reset.
#[derive(Debug)]
struct Window {
    rate: Rate,
    used: HashMap<RepoName, u32>,
}

#[derive(Debug, Default)]
pub(super) struct Shares {
    windows: Mutex<HashMap<(InstallationId, String), Window>>,
}

impl Shares {
    /// An error when the repository has had its share and the rest is for others.
    pub fn allow(
        &self,
        installation: InstallationId,
        repo: &RepoName,
        resource: &str,
    ) -> Result<(), ForgeError> {
        self.allow_at(installation, repo, resource, Utc::now().timestamp())
    }

    fn allow_at(
        &self,
        installation: InstallationId,
        repo: &RepoName,
        resource: &str,
        now: i64,
    ) -> Result<(), ForgeError> {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(window) = windows.get(&(installation, resource.to_owned())) else {
            return Ok(());
        };
        let Window { rate, used } = window;
        let spent = used.get(repo).copied().unwrap_or_default();
        let is_over = rate.reset > now
            && rate.remaining <= rate.limit / RESERVE
            && spent > rate.limit / HEAVY;
        let reset = DateTime::from_timestamp(rate.reset, 0).filter(|_| is_over);
        match reset {
            Some(reset) => Err(ForgeError::OverShare {
                until: reset + TimeDelta::seconds(1),
            }),
            None => Ok(()),
        }
    }

    /// Counts an answered request.
    pub fn note(&self, installation: InstallationId, repo: &RepoName, rate: &Rate) {
        self.note_at(installation, repo, rate, Utc::now().timestamp());
    }

    fn note_at(&self, installation: InstallationId, repo: &RepoName, rate: &Rate, now: i64) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|_, window| window.rate.reset > now);
        let window = windows
            .entry((installation, rate.resource.clone()))
            .or_insert_with(|| Window {
                rate: rate.clone(),
                used: HashMap::new(),
            });
        window.rate = rate.clone();
        *window.used.entry(repo.clone()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: InstallationId = InstallationId(1);

    fn rate(remaining: u32) -> Rate {
        Rate {
            resource: "core".to_owned(),
            limit: 100,
            remaining,
            reset: 1_000,
        }
    }

    fn repo(name: &str) -> RepoName {
        name.parse().expect("a name")
    }

    #[test]
    fn who_has_used_most_leaves_the_rest_to_the_others() {
        let shares = Shares::default();
        let (busy, quiet) = (repo("acme/busy"), repo("acme/quiet"));
        for used in 1..=80 {
            shares.note_at(ONE, &busy, &rate(100 - used), 10);
            let may = shares.allow_at(ONE, &busy, "core", 10);
            assert_eq!(may.is_ok(), used < 80, "{used}");
        }
        let until = DateTime::from_timestamp(1_001, 0).expect("a time");
        assert_eq!(
            shares.allow_at(ONE, &busy, "core", 10),
            Err(ForgeError::OverShare { until })
        );
        assert_eq!(shares.allow_at(ONE, &quiet, "core", 10), Ok(()));
        assert_eq!(shares.allow_at(ONE, &busy, "graphql", 10), Ok(()));
        assert_eq!(
            shares.allow_at(InstallationId(2), &busy, "core", 10),
            Ok(())
        );
        // After the reset all begin anew.
        assert_eq!(shares.allow_at(ONE, &busy, "core", 1_000), Ok(()));
        shares.note_at(
            ONE,
            &busy,
            &Rate {
                reset: 4_600,
                ..rate(15)
            },
            1_000,
        );
        assert_eq!(shares.allow_at(ONE, &busy, "core", 1_000), Ok(()));
    }
}
