//! Who a row's `owner` is. PURE.

/// An owner that gives a right; a bare word gives none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// `@login`.
    Login(String),
    /// `@organisation/team`.
    Team(String, String),
}

impl Owner {
    /// Reads `@login` or `@org/team`; `None` for any other text.
    pub fn of(text: &str) -> Option<Self> {
        let name = text.strip_prefix('@')?;
        match name.split_once('/') {
            None => is_name(name).then(|| Self::Login(name.to_owned())),
            Some((org, team)) => {
                (is_name(org) && is_name(team)).then(|| Self::Team(org.to_owned(), team.to_owned()))
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=100).contains(&text.len()) && text.bytes().all(good)
}
