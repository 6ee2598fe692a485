//! Links to decision pages, with the capability that opens the page of a repository that is not public
//! (interfaces section 3).
//!
//! A capability stands for one repository, pull request, head and day, and is good for thirty days from
//! that day. Whoever can see the check-run can see its link, so the page tells no more than the check does.

use chrono::{NaiveDate, TimeDelta};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use url::Url;

use crate::model::{PrNumber, RepoName, Sha};

/// Days that a capability is good for.
const DAYS: i64 = 30;

/// What a link is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    pub repo: &'a RepoName,
    pub pull: PrNumber,
    pub head: &'a Sha,
}

/// Makes and checks links.
#[derive(Clone)]
pub struct Links {
    key: [u8; 64],
    public_url: Option<Url>,
}

impl Links {
    /// `key` is secret; `public_url` is where people reach this server, if that is known.
    pub fn new(key: [u8; 64], public_url: Option<Url>) -> Self {
        Self { key, public_url }
    }

    /// The link to a page, made on `today`; `None` when nobody knows where this server is reached.
    pub fn to(&self, page: Page<'_>, today: NaiveDate) -> Option<String> {
        let base = self.public_url.as_ref()?.as_str().trim_end_matches('/');
        let key = hex::encode(self.capability(page, today).finalize().into_bytes());
        let (repo, pull, head) = (page.repo, page.pull, page.head);
        Some(format!(
            "{base}/{repo}/pull/{pull}?head={head}&day={today}&key={key}"
        ))
    }

    /// Whether `key` is the capability that was made for this page on `day`, and is still good.
    pub fn opens(&self, page: Page<'_>, day: NaiveDate, key: &str, today: NaiveDate) -> bool {
        // A day ahead: clocks of two servers may lie on both sides of midnight.
        let age = today.signed_duration_since(day);
        let is_good = age >= TimeDelta::days(-1) && age < TimeDelta::days(DAYS);
        let given = hex::decode(key).unwrap_or_default();
        is_good && self.capability(page, day).verify_slice(&given).is_ok()
    }

    fn capability(&self, page: Page<'_>, day: NaiveDate) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        // The forge compares names of repositories without case.
        let repo = page.repo.as_str().to_ascii_lowercase();
        let text = format!("page\n{repo}\n{}\n{}\n{day}", page.pull, page.head);
        mac.update(text.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().expect("a date")
    }

    fn key_of(link: &str) -> &str {
        link.rsplit_once("key=").expect("a key").1
    }

    #[test]
    fn a_link_opens_its_own_page_for_thirty_days() {
        let url = "https://frostline.example/app/".parse().expect("a URL");
        let links = Links::new([7; 64], Some(url));
        let (repo, other): (RepoName, RepoName) = (
            "acme/Parser".parse().expect("a name"),
            "acme/other".parse().expect("a name"),
        );
        let (head, newer): (Sha, Sha) = (
            "a".repeat(40).parse().expect("an id"),
            "b".repeat(40).parse().expect("an id"),
        );
        let page = |repo, pull, head| Page {
            repo,
            pull: PrNumber(pull),
            head,
        };
        let own = page(&repo, 7, &head);
        let made = day("2026-11-20");
        let link = links.to(own, made).expect("there is a public URL");
        let expected = format!(
            "https://frostline.example/app/acme/Parser/pull/7?head={head}&day=2026-11-20&key="
        );
        assert!(link.starts_with(&expected), "{link}");
        let key = key_of(&link);
        for today in ["2026-11-19", "2026-11-20", "2026-12-19"] {
            assert!(links.opens(own, made, key, day(today)), "{today}");
        }
        for today in ["2026-11-18", "2026-12-20"] {
            assert!(!links.opens(own, made, key, day(today)), "{today}");
        }
        let lower: RepoName = "acme/parser".parse().expect("a name");
        assert!(links.opens(page(&lower, 7, &head), made, key, made));
        for wrong in [
            page(&other, 7, &head),
            page(&repo, 8, &head),
            page(&repo, 7, &newer),
        ] {
            assert!(!links.opens(wrong, made, key, made), "{wrong:?}");
        }
        assert!(!links.opens(own, day("2026-11-21"), key, made));
        for wrong in ["", "00", &key[..62], &"0".repeat(64)] {
            assert!(!links.opens(own, made, wrong, made), "{wrong}");
        }
        assert!(!Links::new([8; 64], None).opens(own, made, key, made));
        assert_eq!(Links::new([7; 64], None).to(own, made), None);
    }
}
