//! A merge group, as a merge queue tells of it.

use serde::{Deserialize, Serialize};

use super::{PrNumber, Sha};

/// What a merge queue would make of a branch (protocol 5.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeGroup {
    /// The commit that the branch would become.
    pub head: Sha,
    /// The commit that it comes after: the branch's tip, or the head of the group before.
    pub base: Sha,
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// The repository's.
    pub default_branch: String,
    /// The queue's branch, `gh-readonly-queue/BRANCH/pr-N-SHA`, without `refs/heads/`.
    pub queue_branch: String,
}

impl MergeGroup {
    /// The pull request that the group's head brings, if the queue's branch names one.
    pub fn newest_member(&self) -> Option<PrNumber> {
        let rest = self.queue_branch.strip_prefix("gh-readonly-queue/")?;
        let name = rest.strip_prefix(&self.branch)?.strip_prefix("/pr-")?;
        let (number, sha) = name.split_once('-')?;
        sha.parse::<Sha>().ok()?;
        pull_number(number)
    }
}

/// The pull request that a merge or squash commit of the forge names in its first line: `Merge pull
/// request #N from …`, or `… (#N)`.
pub fn named_pull(message: &str) -> Option<PrNumber> {
    let line = message.lines().next()?.trim_end();
    if let Some(rest) = line.strip_prefix("Merge pull request #") {
        return pull_number(rest.split_once(" from ")?.0);
    }
    let (_, last) = line.rsplit_once("(#")?;
    pull_number(last.strip_suffix(')')?)
}

/// A number that the store can keep; without sign, spaces and leading zeros.
fn pull_number(text: &str) -> Option<PrNumber> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|n| digits && *n > 0)?;
    (i64::try_from(number).is_ok() && !text.starts_with('0')).then_some(PrNumber(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "929f8209d40f77f4abc622a499c93a83babdbe64";

    fn member(branch: &str, queue_branch: &str) -> Option<u64> {
        let group = MergeGroup {
            head: SHA.parse().expect("an id"),
            base: SHA.parse().expect("an id"),
            branch: branch.to_owned(),
            default_branch: "main".to_owned(),
            queue_branch: queue_branch.replace("SHA", SHA),
        };
        group.newest_member().map(|number| number.0)
    }

    #[test]
    fn the_newest_member_is_read_from_the_queues_branch_or_not_at_all() {
        let queue = "gh-readonly-queue";
        assert_eq!(
            member("main", &format!("{queue}/main/pr-104-SHA")),
            Some(104)
        );
        let nested = format!("{queue}/release/pr-7-x/pr-8-SHA");
        assert_eq!(member("release/pr-7-x", &nested), Some(8));
        for (branch, name) in [
            ("main", format!("{queue}/other/pr-1-SHA")),
            ("main", format!("{queue}/main/pr-0-SHA")),
            ("main", format!("{queue}/main/pr-+1-SHA")),
            ("main", format!("{queue}/main/pr-01-SHA")),
            ("main", format!("{queue}/main/pr-99999999999999999999-SHA")),
            ("main", format!("{queue}/main/pr-1-abc")),
            ("main", format!("{queue}/main/pr-1")),
            ("main", "main/pr-1-SHA".to_owned()),
            ("", format!("{queue}/main/pr-1-SHA")),
        ] {
            assert_eq!(member(branch, &name), None, "{name}");
        }
    }

    #[test]
    fn a_commit_names_the_pull_request_that_it_merges() {
        let named = |message| named_pull(message).map(|number| number.0);
        assert_eq!(
            named("Merge pull request #12 from a/b\n\nTitle (#3)"),
            Some(12)
        );
        assert_eq!(named("Revert x (#7) (#8)\n\nbody"), Some(8));
        assert_eq!(named("No number\n\n(#8)"), None);
        assert_eq!(named("Half (#8"), None);
        assert_eq!(named("Sign (#-8)"), None);
        assert_eq!(named("Merge pull request #1x from a/b"), None);
        assert_eq!(named(""), None);
    }
}
